//! Items that keep each other, and deletions that take time.

use super::*;
use crate::Page;

async fn delete(cloud: &MemoryCloud, place: &Place, kind: &'static str, id: &str) -> Result<(), Refusal> {
    let item = Item::new(KindName::of(kind), place.clone(), ItemId::new(id));
    cloud.client(CloudName::Aws, &account(), history()).delete(&item).await
}

fn state(cloud: &MemoryCloud, id: &str) -> Option<String> {
    let items = cloud.items(&account());
    let item = items.iter().find(|item| item.id.as_str() == id)?;
    Some(item.attribute(attribute::STATE).unwrap_or_default().to_owned())
}

#[tokio::test(start_paused = true)]
async fn an_item_in_use_is_refused_and_its_user_is_named() {
    let cloud = filled();
    let cases = [
        ("SecurityGroup", "sg-nodes", "Instance i-shoot--p--c"),
        ("ElasticIp", "eipalloc", "NatGateway nat-shoot--p--c"),
        ("InternetGateway", "igw", "NatGateway nat-shoot--p--c"),
        ("Volume", "vol-root", "Instance i-shoot--p--c"),
        ("NetworkInterface", "eni-node", "Instance i-shoot--p--c"),
        ("Subnet", "subnet-nodes", "Instance i-shoot--p--c"),
        ("DhcpOptions", "dopt", "Vpc vpc-shoot--p--c"),
    ];
    for (kind, prefix, blocker) in cases {
        let refusal = delete(&cloud, &HERE, kind, &format!("{prefix}-{SHOOT}")).await.unwrap_err();
        assert_eq!(refusal.code(), "DependencyViolation", "{kind}");
        assert_eq!(refusal.blocked_by(), Some(blocker), "{kind}");
    }
    let nodes = format!("{SHOOT}-nodes");
    let refusal = delete(&cloud, &Place::GLOBAL, "Role", &nodes).await.unwrap_err();
    assert_eq!(refusal.blocked_by(), Some("InstanceProfile shoot--p--c-nodes"));
    delete(&cloud, &Place::GLOBAL, "InstanceProfile", &nodes).await.unwrap();
    delete(&cloud, &Place::GLOBAL, "Role", &nodes).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn groups_that_refer_to_each_other_go_after_their_rules() {
    let cloud = fresh();
    for group in ["sg-1", "sg-2"] {
        cloud.put(&account(), tagged("SecurityGroup", group), Nature::default());
    }
    for (rule, group, other) in
        [("sgr-12", "sg-1", "sg-2"), ("sgr-21", "sg-2", "sg-1"), ("sgr-11", "sg-1", "sg-1")]
    {
        let rule = tagged("SecurityGroupRule", rule);
        let rule = rule.with(attribute::GROUP, group).with(attribute::REFERENCED_GROUP, other);
        cloud.put(&account(), rule, Nature::default());
    }
    let refusal = delete(&cloud, &HERE, "SecurityGroup", "sg-1").await.unwrap_err();
    assert_eq!(refusal.blocked_by(), Some("SecurityGroupRule sgr-21"));
    delete(&cloud, &HERE, "SecurityGroupRule", "sgr-21").await.unwrap();
    delete(&cloud, &HERE, "SecurityGroup", "sg-1").await.unwrap();
    delete(&cloud, &HERE, "SecurityGroup", "sg-2").await.unwrap();
    assert!(cloud.leftovers(&account()).is_empty(), "rules go with their groups");
}

#[tokio::test(start_paused = true)]
async fn parts_go_with_their_vpc_and_not_alone() {
    let cloud = fresh();
    let vpc = tagged("Vpc", "vpc-x");
    cloud.put(&account(), vpc.clone(), Nature::default());
    for part in models::aws::parts_of_vpc(&HERE, "vpc-x", "x") {
        cloud.put(&account(), part, Nature::default());
    }
    for (kind, id) in [("RouteTable", "rtb-main-x"), ("SecurityGroup", "sg-default-x")] {
        assert_eq!(delete(&cloud, &HERE, kind, id).await.unwrap_err().code(), "CannotDelete");
    }
    cloud.client(CloudName::Aws, &account(), history()).delete(&vpc).await.unwrap();
    assert!(cloud.leftovers(&account()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_terminated_instance_frees_its_volumes_when_it_is_gone() {
    let cloud = filled();
    let [instance, data, root] = ["i", "vol-data", "vol-root"].map(|prefix| format!("{prefix}-{SHOOT}"));
    assert_eq!(state(&cloud, &data).as_deref(), Some("in-use"));
    delete(&cloud, &HERE, "Instance", &instance).await.unwrap();
    delete(&cloud, &HERE, "Instance", &instance).await.unwrap();
    assert_eq!(cloud.deletions(&account()).len(), 1);
    assert_eq!(state(&cloud, &instance).as_deref(), Some("shutting-down"));
    assert!(delete(&cloud, &HERE, "Volume", &data).await.is_err());
    sleep(Duration::from_secs(45)).await;
    assert_eq!(state(&cloud, &instance), None, "it is gone");
    assert_eq!(state(&cloud, &root), None, "it went with its instance");
    assert_eq!(state(&cloud, &data).as_deref(), Some("available"));
    let shown = listed(&cloud, "Instance").await;
    assert_eq!(shown[0].attribute(attribute::STATE), Some("terminated"));
    sleep(models::aws::MODEL.states.shown_when_gone).await;
    assert!(listed(&cloud, "Instance").await.is_empty());
    delete(&cloud, &HERE, "Volume", &data).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deletion_may_never_end() {
    let cloud = fresh();
    cloud.put(&account(), tagged("NatGateway", "nat-x"), Nature::slow(Duration::MAX));
    delete(&cloud, &HERE, "NatGateway", "nat-x").await.unwrap();
    sleep(Duration::from_secs(30 * 24 * 3600)).await;
    assert_eq!(state(&cloud, "nat-x").as_deref(), Some("deleting"));
}

#[tokio::test(start_paused = true)]
async fn lists_have_pages_of_two() {
    let cloud = filled();
    let client = cloud.client(CloudName::Aws, &account(), history());
    let (mut token, mut sizes) = (None, Vec::new());
    loop {
        let page = client.list(&HERE, &KindName::of("Subnet"), token.as_ref()).await.unwrap();
        let Page::Items { items, next } = page else { panic!("{page:?}") };
        sizes.push(items.len());
        token = next;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [2, 2, 2]);
}

async fn listed(cloud: &MemoryCloud, kind: &'static str) -> Vec<Item> {
    let page = cloud
        .client(CloudName::Aws, &account(), history())
        .list(&HERE, &KindName::of(kind), None)
        .await
        .unwrap();
    let Page::Items { items, .. } = page else { panic!("{page:?}") };
    items
}
