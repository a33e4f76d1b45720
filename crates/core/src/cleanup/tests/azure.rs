//! The rules of Azure.

use super::*;
use serde_json::json;

const OURS: &str = "arn:aws:iam::123456789012:user/gardener";

fn here(kind: &'static str, id: &str, attributes: &str) -> Item {
    item(kind, id, &format!("place=global {attributes}"))
}

fn azure(found: &[Item]) -> Inventory {
    with(empty(Cloud::Azure, at(0)), found)
}

fn immovable(plan: &Plan) -> Vec<&str> {
    plan.immovable.iter().map(|left| left.item.id.as_str()).collect()
}

fn kept(plan: &Plan) -> Vec<&str> {
    plan.kept.iter().map(|kept| kept.item.id.as_str()).collect()
}

#[test]
fn a_group_takes_its_resources_along() {
    let found = [
        here("ResourceGroup", "resourcegroups/shoot", "name=shoot--p--c"),
        here("VirtualNetwork", "vnet", "resourceGroup=resourcegroups/shoot"),
        here("Subnet", "subnet", "resourceGroup=resourcegroups/shoot network=vnet"),
        here("Disk", "disk", "resourceGroup=resourcegroups/shoot"),
        here("Resource", "vault", "resourceGroup=resourcegroups/shoot type=microsoft.keyvault/vaults"),
        here("Lock", "lock", "resourceGroup=resourcegroups/shoot"),
    ];
    let plan = plan(&azure(&found), &Keep::default(), None);
    assert_eq!(deleted(&plan), ["lock", "resourcegroups/shoot"], "the lock first");
    assert_eq!(plan.leaving.len(), 4);
}

#[test]
fn only_what_clusters_made_leaves_a_group_that_somebody_brought() {
    let net = "resourceGroup=resourcegroups/net";
    let network = "resourcegroups/net/providers/microsoft.network/virtualnetworks/vnet";
    let found = [
        here("ResourceGroup", "resourcegroups/net", "name=net"),
        here("VirtualNetwork", network, net),
        here("Subnet", "nodes", &format!("{net} network={network} cluster=shoot--p--c-nodes")),
        here("Subnet", "theirs", &format!("{net} network={network}")),
        here("LoadBalancer", "balancer", &format!("{net} cluster=shoot--p--c")),
        here("LoadBalancer", "whose", net),
        here("Lock", "lock", net),
        here("RoleAssignment", "grant", &format!("{net} scope=below creator=somebody")),
    ];
    let mut keep = Keep::default();
    let config = json!({ "networks": { "vnet": { "name": "Vnet", "resourceGroup": "Net" } } });
    keep.add_existing(Cloud::Azure, "shoot--p--c", &config);
    let plan = plan(&azure(&found), &keep, None);
    assert_eq!(deleted(&plan), ["balancer", "nodes"]);
    assert_eq!(immovable(&plan), ["whose", "lock", "grant", "theirs"]);
    assert_eq!(kept(&plan), ["resourcegroups/net", network]);
}

#[test]
fn a_resource_that_people_keep_keeps_its_group() {
    let address = "resourcegroups/ips/providers/microsoft.network/publicipaddresses/a";
    let found = [
        here("ResourceGroup", "resourcegroups/ips", "name=ips"),
        here("PublicIpAddress", address, "resourceGroup=resourcegroups/ips"),
        here("PublicIpAddress", "other", "resourceGroup=resourcegroups/ips"),
    ];
    let mut keep = Keep::default();
    keep.add(
        "/subscriptions/1/resourceGroups/IPs/providers/Microsoft.Network/publicIPAddresses/A",
        "a person named it",
    );
    let plan = plan(&azure(&found), &keep, None);
    assert_eq!(deleted(&plan), [] as [&str; 0], "the group would take the address along");
    assert_eq!(immovable(&plan), ["other"]);
}

#[test]
fn what_came_into_a_group_of_the_baseline_goes() {
    let watcher = "resourceGroup=resourcegroups/networkwatcherrg type=microsoft.network/networkwatchers";
    let before = [
        here("ResourceGroup", "resourcegroups/logs", "name=logs"),
        here("Resource", "workspace", "resourceGroup=resourcegroups/logs incarnation=2020"),
        here("ResourceGroup", "resourcegroups/networkwatcherrg", "name=NetworkWatcherRG"),
    ];
    let baseline = Baseline::take(&azure(&before), None);
    let after = [
        here("ResourceGroup", "resourcegroups/logs", "name=logs"),
        here("Resource", "workspace", "resourceGroup=resourcegroups/logs incarnation=2020"),
        here("Resource", "added", "resourceGroup=resourcegroups/logs incarnation=2026"),
        here("Disk", "disk", "resourceGroup=resourcegroups/logs"),
        here("Lock", "lock", "resourceGroup=resourcegroups/logs"),
        here("ResourceGroup", "resourcegroups/networkwatcherrg", "name=NetworkWatcherRG"),
        here("Resource", "watcher", watcher),
        here(
            "Resource",
            "flowlog",
            "resourceGroup=resourcegroups/networkwatcherrg type=microsoft.network/networkwatchers/flowlogs",
        ),
    ];
    let plan = plan(&azure(&after), &Keep::default(), Some(&baseline));
    assert_eq!(deleted(&plan), ["lock", "disk", "added", "flowlog"]);
    assert!(plan.immovable.is_empty() && kept(&plan).contains(&"watcher"));
}

#[test]
fn roles_and_policies_go_if_these_credentials_made_them() {
    let ours = format!("creator={OURS}");
    let found = [
        here("RoleAssignment", "inherited", &format!("scope=above {ours}")),
        here("RoleAssignment", "gardener", &format!("scope=account principal={OURS} creator=admin")),
        here("RoleAssignment", "given", &format!("scope=account principal=friend {ours}")),
        here("RoleAssignment", "owners", "scope=account principal=owners creator=admin"),
        here(
            "RoleAssignment",
            "orphan",
            "scope=below principal=x creator=y resourceGroup=resourcegroups/gone",
        ),
        here("PolicyAssignment", "deny", &format!("scope=account name=SecurityCenterBuiltIn {ours}")),
        here("PolicyAssignment", "defender", "scope=account name=SecurityCenterBuiltIn creator=azure"),
        here("RoleDefinition", "custom", "scope=account creator=admin"),
        here("RoleDefinition", "made", &format!("scope=account {ours}")),
    ];
    let plan = plan(&azure(&found), &Keep::default(), None);
    assert_eq!(deleted(&plan), ["given", "orphan", "deny", "made"]);
    assert_eq!(immovable(&plan), ["owners"]);
    assert_eq!(kept(&plan), ["defender", "gardener", "inherited", "custom"]);
}

#[test]
fn a_kept_item_explains_the_count_of_its_location_and_of_no_other() {
    let network = here("VirtualNetwork", "vnet", "location=eu-1");
    let mut keep = Keep::default();
    keep.add("vnet", "named");
    let judge = |place: &'static str| {
        let found = std::slice::from_ref(&network);
        let (first, second) = (azure(found), with(empty(Cloud::Azure, at(1000)), found));
        let mut witness = zero(Cloud::Azure, at(1010));
        let counts = witness.counts.get_mut(&Place::of(place)).unwrap();
        counts.insert(CountName::of("network.virtual-networks"), Count::Known { number: 1 });
        let assume_absent = BTreeSet::new();
        verdict(&Question {
            first: &first,
            second: &second,
            witness: &witness,
            keep: &keep,
            baseline: None,
            settle: SETTLE,
            assume_absent: &assume_absent,
        })
    };
    assert!(matches!(judge("eu-1"), Verdict::Empty(_)));
    assert!(matches!(judge("us-1"), Verdict::Left(_)), "another network, which no list shows");
}

#[test]
fn a_vault_that_cannot_be_purged_keeps_the_account() {
    let found =
        [here("DeletedVault", "vault", "lockedBy=purgeProtection"), here("DeletedVault", "other", "")];
    let plan = plan(&azure(&found), &Keep::default(), None);
    assert_eq!((deleted(&plan), immovable(&plan)), (vec!["other"], vec!["vault"]));
}
