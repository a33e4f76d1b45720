//! Whole cleanings.

use super::*;
use allotment_core::cleanup::{Count, CountName, Left};

#[tokio::test(start_paused = true)]
async fn a_new_account_is_empty_and_nothing_in_it_is_touched() {
    let cloud = fresh();
    let cleaner = Cleaner::of(&cloud);
    let plan = cleaner.plan().await;
    assert!(plan.is_empty(), "{plan:?}");
    let cleaned = cleaner.clean().await;
    assert!(matches!(cleaned.verdict, Verdict::Empty(_)), "{:?}", cleaned.verdict);
    assert!(cloud.deletions(&account()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_leftovers_of_a_shoot_are_cleaned_and_proven_gone() {
    let came_with = keys(&fresh().items(&account()));
    let cloud = filled();
    assert_eq!(cloud.leftovers(&account()).len(), left_by_shoot().len());
    let cleaned = Cleaner::of(&cloud).clean().await;
    assert!(matches!(cleaned.verdict, Verdict::Empty(_)), "{:?}", cleaned.verdict);
    assert!(cloud.leftovers(&account()).is_empty());
    assert_eq!(keys(&cloud.items(&account())), came_with);
    assert!(cloud.deletions(&account()).iter().all(|deletion| !came_with.contains(&deletion.item)));
    assert!(cleaned.passes.len() > 1, "the interface of the load balancer goes after the first pass");
    let blocked = cleaned.passes.concat();
    assert!(blocked.iter().all(|refused| refused.refusal.code() == "DependencyViolation"), "{blocked:?}");
}

#[tokio::test(start_paused = true)]
async fn the_cloud_still_shows_gone_instances_and_their_tags() {
    let cleaned = Cleaner::of(&filled()).clean().await;
    let states = cleaned.second.items().filter_map(|item| item.attribute(attribute::STATE));
    let states: BTreeSet<&str> = states.collect();
    assert!(states.contains("terminated") && states.contains("deleted"), "{states:?}");
    let count = cleaned.witness.count(&HERE, &CountName::of("tagged-resources"));
    let Count::Seen { ids } = count else { panic!("{count:?}") };
    assert_eq!(ids, ["i-shoot--p--c", "nat-shoot--p--c"].map(str::to_owned).into());
}

#[tokio::test(start_paused = true)]
async fn a_hidden_item_is_never_overlooked() {
    let role = Item::new(KindName::of("Role"), Place::GLOBAL, ItemId::new(format!("{SHOOT}-nodes")));
    let interface = Item::new(KindName::of("NetworkInterface"), HERE, ItemId::of("eni-x"));
    let vpc = Item::new(KindName::of("Vpc"), HERE, ItemId::of("vpc-x"));
    let unknown_kind = tagged("TransitGateway", "tgw-x");
    for item in [tagged("Volume", "vol-x"), interface, vpc, role, unknown_kind] {
        let cloud = filled();
        cloud.put(&account(), item.clone(), Nature { hidden: true, ..Nature::default() });
        let cleaned = Cleaner::of(&cloud).clean().await;
        let Verdict::Left(left) = &cleaned.verdict else { panic!("{}: {:?}", item.id, cleaned.verdict) };
        let names = |left: &Left| match left {
            Left::Witness { ids, .. } => ids.contains(item.id.as_str()),
            Left::Listing(_) => false,
        };
        assert!(left.iter().any(names), "{}: {left:?}", item.id);
        assert_eq!(keys(&cloud.leftovers(&account())), [item.key()].into());
    }
}

#[tokio::test(start_paused = true)]
async fn a_hidden_item_blocks_others() {
    let cloud = filled();
    let interface = tagged("NetworkInterface", "eni-x").with("subnet", format!("subnet-nodes-{SHOOT}"));
    cloud.put(&account(), interface, Nature { hidden: true, ..Nature::default() });
    let cleaned = Cleaner::of(&cloud).clean().await;
    let refused = cleaned.passes.last().unwrap();
    let subnet = refused.iter().find(|refused| refused.key.kind.as_str() == "Subnet").unwrap();
    assert_eq!(subnet.refusal.blocked_by(), Some("NetworkInterface eni-x"));
    assert!(!matches!(cleaned.verdict, Verdict::Empty(_)));
}

#[tokio::test(start_paused = true)]
async fn an_item_that_refuses_stays_and_is_reported() {
    let cloud = filled();
    let refusal = Refusal::Locked { code: "SnapshotLocked".to_owned(), by: "a policy".to_owned() };
    let snapshot = tagged("Snapshot", "snap-x");
    let refuses = Nature { refuses: Some(refusal.clone()), ..Nature::default() };
    cloud.put(&account(), snapshot.clone(), refuses);
    let cleaned = Cleaner::of(&cloud).clean().await;
    assert_eq!(cleaned.passes.len(), MOST_PASSES);
    let key = snapshot.key();
    assert_eq!(cleaned.passes.last(), Some(&vec![RefusedItem { key: key.clone(), refusal }]));
    assert_eq!(keys(&cloud.leftovers(&account())), [key.clone()].into());
    let Verdict::Left(left) = cleaned.verdict else { panic!("{:?}", cleaned.verdict) };
    assert!(left.contains(&Left::Listing(key)));
}

#[tokio::test(start_paused = true)]
async fn an_item_that_appears_while_the_account_settles_is_found() {
    let cloud = fresh();
    let volume = tagged("Volume", "vol-late");
    let late = Nature { appears_after: Duration::from_secs(300), ..Nature::default() };
    cloud.put(&account(), volume.clone(), late);
    let cleaned = Cleaner::of(&cloud).clean().await;
    assert!(cleaned.passes.is_empty(), "the first listing shows nothing");
    let Verdict::Left(left) = cleaned.verdict else { panic!("{:?}", cleaned.verdict) };
    assert_eq!(left[0], Left::Listing(volume.key()));
}

#[tokio::test(start_paused = true)]
async fn accounts_do_not_touch_each_other() {
    let cloud = filled();
    let other = CloudAccountId::of("999999999999");
    cloud.add_account(CloudName::Aws, other.clone(), [HERE]);
    for (item, nature) in left_by_shoot() {
        cloud.put(&other, item, nature);
    }
    let before = cloud.items(&other);
    let cleaned = Cleaner::of(&cloud).clean().await;
    assert!(matches!(cleaned.verdict, Verdict::Empty(_)), "{:?}", cleaned.verdict);
    assert_eq!(cloud.items(&other), before);
    assert!(cloud.deletions(&other).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tenants_rule_leaves_the_default_group_and_shared_subnets_stay() {
    let cloud = fresh();
    let group = format!("sg-default-{}-{HERE}", account());
    let rule = Item::new(KindName::of("SecurityGroupRule"), HERE, ItemId::of("sgr-x"));
    cloud.put(&account(), rule.with(attribute::GROUP, group), Nature::default());
    let shared = Item::new(KindName::of("Subnet"), HERE, ItemId::of("subnet-x"));
    let shared = shared.with(attribute::OWNER, "999999999999");
    cloud.put(&account(), shared.clone(), Nature::default());
    let cleaned = Cleaner::of(&cloud).clean().await;
    assert!(matches!(cleaned.verdict, Verdict::Empty(_)), "{:?}", cleaned.verdict);
    assert_eq!(keys(&cloud.leftovers(&account())), [shared.key()].into());
    assert!(
        cloud.client(CloudName::Aws, &account(), history()).delete(&shared).await.is_err(),
        "its owner deletes it"
    );
}
