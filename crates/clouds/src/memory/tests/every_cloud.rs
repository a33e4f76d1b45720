//! The same for each cloud.

use super::*;
use crate::Page;
use allotment_core::cleanup::{Count, CountName, Left, kinds::table};

const OTHER: &str = "shoot--p--other";

/// A cloud with one account, in two places, and the leftovers of a Shoot in one of them.
fn filled_with(name: CloudName) -> MemoryCloud {
    let cloud = MemoryCloud::new();
    cloud.add_account(name, account(), [HERE, THERE]);
    for (item, nature) in leftovers_of_shoot(name, &account(), SHOOT, &HERE) {
        cloud.put(&account(), item, nature);
    }
    cloud
}

#[test]
fn ids_of_leftovers_are_unique_and_every_kind_is_in_the_table() {
    for name in CloudName::ALL {
        let mut seen = BTreeSet::new();
        for shoot in [SHOOT, OTHER] {
            let left = leftovers_of_shoot(name, &account(), shoot, &HERE);
            assert!(left.len() > 20, "{name}: {} items", left.len());
            for (item, _) in left {
                let kind =
                    table(name).kind(item.kind.as_str()).unwrap_or_else(|| panic!("{name} {}", item.kind));
                let is_regional = matches!(kind.scope, allotment_core::cleanup::Scope::Regional);
                assert_eq!(is_regional, !item.place.is_global(), "{name}: {}", item.key());
                assert!(seen.insert(item.key()), "{name}: {} is there twice", item.key());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_account_is_empty_and_nothing_in_it_is_touched() {
    for name in CloudName::ALL {
        let cloud = MemoryCloud::new();
        cloud.add_account(name, account(), [HERE, THERE]);
        assert!(!cloud.items(&account()).is_empty(), "{name}: a new account has something in it");
        let cleaned = Cleaner::on(&cloud, name).clean().await;
        assert!(matches!(cleaned.verdict, Verdict::Empty(_)), "{name}: {:?}", cleaned.verdict);
        assert!(cloud.deletions(&account()).is_empty(), "{name}");
    }
}

/// Without the blockers, and without what takes time, one pass would do.
#[tokio::test(start_paused = true)]
async fn the_leftovers_of_a_shoot_are_cleaned_in_waves_and_proven_gone() {
    for name in CloudName::ALL {
        let cloud = filled_with(name);
        let came_with = {
            let new = MemoryCloud::new();
            new.add_account(name, account(), [HERE, THERE]);
            keys(&new.items(&account()))
        };
        let cleaner = Cleaner::on(&cloud, name);
        let planned = cleaner.plan().await;
        assert!(planned.immovable.is_empty(), "{name}: {:?}", planned.immovable);
        assert!(planned.waves.len() > 1, "{name}: {planned:?}");
        let cleaned = cleaner.clean().await;
        let refused = cleaned.passes.concat();
        assert!(matches!(cleaned.verdict, Verdict::Empty(_)), "{name}: {:?} {refused:?}", cleaned.verdict);
        assert_eq!(keys(&cloud.items(&account())), came_with, "{name}");
        assert!(
            cloud.deletions(&account()).iter().all(|deletion| !came_with.contains(&deletion.item)),
            "{name}"
        );
        assert!(cleaned.passes.len() > 1, "{name}: one pass did it all");
        let is_blocked = |refused: &RefusedItem| matches!(refused.refusal, Refusal::Blocked { .. });
        assert!(refused.iter().all(is_blocked), "{name}: {refused:?}");
    }
}

/// Each kind of each table: whoever may not list it never knows.
#[tokio::test(start_paused = true)]
async fn an_account_with_one_unknown_cell_is_never_empty() {
    for name in CloudName::ALL {
        for kind in table(name).kinds {
            let cloud = MemoryCloud::new();
            cloud.add_account(name, account(), [HERE]);
            cloud.set_faults(&account(), Faults { denied: [kind.name()].into(), ..Faults::default() });
            let cleaned = Cleaner::on(&cloud, name).clean().await;
            let Verdict::Unknown(unknown) = &cleaned.verdict else {
                // An item whose whole nobody may list is undecided, and left.
                assert!(matches!(cleaned.verdict, Verdict::Left(_)), "{name} {}", kind.name);
                continue;
            };
            let permission = kind.list.last().copied();
            assert!(
                unknown.iter().any(|cell| cell.missing.as_deref() == permission),
                "{name} {}: {unknown:?}",
                kind.name
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_with_one_unknown_count_is_never_empty() {
    for name in CloudName::ALL {
        for count in table(name).counts {
            let cloud = MemoryCloud::new();
            cloud.add_account(name, account(), [HERE]);
            cloud
                .set_faults(&account(), Faults { denied_counts: [count.name()].into(), ..Faults::default() });
            let cleaned = Cleaner::on(&cloud, name).clean().await;
            let Verdict::Unknown(unknown) = &cleaned.verdict else { panic!("{name} {}", count.name) };
            assert!(
                unknown.iter().all(|cell| cell.missing.as_deref() == Some(count.permission)),
                "{unknown:?}"
            );
        }
    }
}

/// The disk of a workload, which every cloud counts somewhere.
fn hidden_disk(name: CloudName) -> Item {
    let (kind, place) = match name {
        CloudName::Aws => ("Volume", HERE),
        CloudName::Azure => ("Disk", Place::GLOBAL),
        CloudName::Gcp => ("Disk", HERE),
        CloudName::OpenStack => ("Volume", HERE),
        // Disks are in no count of Alibaba Cloud; interfaces are.
        CloudName::Alicloud => ("NetworkInterface", HERE),
    };
    let item = Item::new(KindName::of(kind), place, ItemId::of("hidden-x")).with(attribute::CLUSTER, SHOOT);
    if name == CloudName::Azure { item.with(attribute::LOCATION, HERE.as_str()) } else { item }
}

#[tokio::test(start_paused = true)]
async fn counts_see_an_item_that_its_list_hides() {
    for name in CloudName::ALL {
        let cloud = MemoryCloud::new();
        cloud.add_account(name, account(), [HERE, THERE]);
        let hidden = hidden_disk(name);
        cloud.put(&account(), hidden.clone(), Nature { hidden: true, ..Nature::default() });
        let cleaned = Cleaner::on(&cloud, name).clean().await;
        let Verdict::Left(left) = &cleaned.verdict else { panic!("{name}: {:?}", cleaned.verdict) };
        let is_here = |left: &Left| matches!(left, Left::Witness { place, .. } if *place == HERE);
        assert!(left.iter().all(is_here) && !left.is_empty(), "{name}: {left:?}");
        assert_eq!(keys(&cloud.leftovers(&account())), [hidden.key()].into(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn quotas_add_up_gigabytes_and_kinds_without_a_row() {
    let name = CloudName::Gcp;
    let cloud = filled_with(name);
    let strange = Item::new(KindName::of("Interconnect"), Place::GLOBAL, ItemId::of("interconnects/x"));
    cloud.put(&account(), strange, Nature::default());
    let client = cloud.client(name, &account(), history());
    let (here, project) = (client.counts(&HERE).await, client.counts(&Place::GLOBAL).await);
    let number =
        |counts: &std::collections::BTreeMap<_, Count>, count| match counts.get(&CountName::of(count)) {
            Some(Count::Known { number }) => *number,
            other => panic!("{count}: {other:?}"),
        };
    assert_eq!(number(&here, "region.DISKS_TOTAL_GB"), 100);
    assert_eq!(number(&here, "region.INSTANCES"), 1);
    assert_eq!(number(&client.counts(&THERE).await, "region.INSTANCES"), 0);
    assert_eq!(number(&project, "project.INTERCONNECTS"), 1);
    assert_eq!(number(&project, "project.NETWORKS"), 2);
    let cleaned = Cleaner::on(&cloud, name).clean().await;
    assert!(matches!(&cleaned.verdict, Verdict::Left(left) if left.len() == 1), "{:?}", cleaned.verdict);
}

#[tokio::test(start_paused = true)]
async fn a_group_waits_for_items_of_others_in_its_network() {
    let cloud = filled_with(CloudName::Azure);
    let client = cloud.client(CloudName::Azure, &account(), history());
    let group = |id: String| Item::new(KindName::of("ResourceGroup"), Place::GLOBAL, ItemId::new(id));
    let of_shoot = group(format!("resourcegroups/{SHOOT}"));
    let refusal = client.delete(&of_shoot).await.unwrap_err();
    let by = refusal.blocked_by().unwrap();
    assert!(by.contains("jumphost-nic"), "{by}");
    client.delete(&group(format!("resourcegroups/tools-of-{SHOOT}"))).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    client.delete(&of_shoot).await.unwrap();
    let page = client.list(&Place::GLOBAL, &KindName::of("ResourceGroup"), None).await.unwrap();
    let Page::Items { items, .. } = page else { panic!("{page:?}") };
    let shown = items.iter().find(|item| item.key() == of_shoot.key()).unwrap();
    assert_eq!(shown.attribute(attribute::STATE), Some("Deleting"));
    sleep(Duration::from_secs(90)).await;
    let left = cloud.leftovers(&account());
    let is_in_group = |item: &&Item| item.id.as_str().starts_with("resourcegroups/");
    assert_eq!(left.iter().filter(is_in_group).count(), 0, "{left:?}");
    assert_eq!(left.len(), 2, "the role and the deleted vault are in no group: {left:?}");
}

#[tokio::test(start_paused = true)]
async fn an_account_of_another_cloud_is_refused() {
    let cloud = filled_with(CloudName::Gcp);
    let refusal = cloud.client(CloudName::Azure, &account(), history()).whoami().await.unwrap_err();
    assert_eq!(refusal.code(), "SubscriptionNotFound");
}
