//! Accounts whose cloud does not answer as it should.

use super::*;
use allotment_core::cleanup::{Cell, CountName};

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_listed_is_unknown() {
    for (kind, permission) in [("KeyPair", "ec2:DescribeKeyPairs"), ("Role", "iam:GetRole")] {
        let cloud = fresh();
        let denied = [KindName::of(kind)].into();
        cloud.set_faults(&account(), Faults { denied, ..Faults::default() });
        let cleaned = Cleaner::of(&cloud).clean().await;
        let Verdict::Unknown(unknown) = cleaned.verdict else { panic!("{:?}", cleaned.verdict) };
        assert!(unknown.iter().all(|cell| cell.missing.as_deref() == Some(permission)), "{unknown:?}");
        assert!(cloud.deletions(&account()).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_count_that_is_denied_is_unknown() {
    let cloud = fresh();
    let denied_counts = [CountName::of("tagged-resources")].into();
    cloud.set_faults(&account(), Faults { denied_counts, ..Faults::default() });
    let cleaned = Cleaner::of(&cloud).clean().await;
    let Verdict::Unknown(unknown) = cleaned.verdict else { panic!("{:?}", cleaned.verdict) };
    assert!(unknown.iter().all(|cell| cell.missing.as_deref() == Some("ec2:DescribeTags")), "{unknown:?}");
}

#[tokio::test(start_paused = true)]
async fn without_a_history_roles_are_unknown() {
    let cloud = filled();
    let client = cloud.client(CloudName::Aws, &account(), ShootHistory::Incomplete);
    let inventory = take_inventory(&client, &|| Timestamp::UNIX_EPOCH).await.unwrap();
    let role = inventory.cell(&Place::GLOBAL, &KindName::of("Role"));
    assert!(matches!(role, Cell::Unknown { missing: None, .. }), "{role:?}");
}

#[tokio::test(start_paused = true)]
async fn a_place_that_is_disabled_later_hides_its_items() {
    let cloud = filled();
    let cleaner = Cleaner::of(&cloud);
    let first = cleaner.list().await;
    cloud.set_faults(&account(), Faults { disabled: [HERE].into(), ..Faults::default() });
    let second = cleaner.list().await;
    assert_eq!(first.enabled_places(), [HERE, THERE]);
    assert_eq!(second.enabled_places(), [THERE]);
    assert_eq!(cloud.leftovers(&account()).len(), left_by_shoot().len());
}

#[tokio::test(start_paused = true)]
async fn deletions_whose_answers_are_lost_happen_once() {
    let cloud = filled();
    cloud.set_faults(&account(), Faults { lost_answers: 7, ..Faults::default() });
    let cleaned = Cleaner::of(&cloud).clean().await;
    assert!(matches!(cleaned.verdict, Verdict::Empty(_)), "{:?}", cleaned.verdict);
    let is_lost = |refused: &&RefusedItem| refused.refusal.code() == "Transient";
    assert_eq!(cleaned.passes.concat().iter().filter(is_lost).count(), 7);
    let deletions = cloud.deletions(&account());
    let deleted: BTreeSet<_> = deletions.iter().map(|deletion| &deletion.item).collect();
    assert_eq!(deleted.len(), deletions.len());
}

#[tokio::test(start_paused = true)]
async fn throttled_calls_are_counted_and_change_nothing() {
    let cloud = filled();
    let before = cloud.items(&account());
    cloud.set_faults(&account(), Faults { throttled: 2, ..Faults::default() });
    let client = cloud.client(CloudName::Aws, &account(), history());
    let throttled = Err(Refusal::Throttled { after: None });
    assert_eq!(client.whoami().await.map(|_| ()), throttled);
    assert_eq!(client.delete(&tagged("Snapshot", &format!("snap-data-{SHOOT}"))).await, throttled);
    assert_eq!(client.whoami().await.unwrap().account, account());
    assert_eq!((cloud.calls(), cloud.items(&account())), (3, before));
}

#[tokio::test(start_paused = true)]
async fn revoked_credentials_are_refused_everywhere() {
    let cloud = filled();
    let client = cloud.client(CloudName::Aws, &account(), history());
    cloud.set_faults(&account(), Faults { revoked: true, ..Faults::default() });
    assert_eq!(client.whoami().await.unwrap_err().code(), "AuthFailure");
    assert_eq!(client.places().await.unwrap_err().code(), "AuthFailure");
    assert_eq!(client.delete(&tagged("Volume", "vol-x")).await.unwrap_err().code(), "AuthFailure");
    let counts = client.counts(&HERE).await;
    assert!(!counts.is_empty());
    assert!(counts.values().all(|count| matches!(count, allotment_core::cleanup::Count::Refused { .. })));
    cloud.set_faults(&account(), Faults::default());
    assert!(client.whoami().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn credentials_that_lead_elsewhere_act_there() {
    let cloud = filled();
    let other = CloudAccountId::of("999999999999");
    cloud.add_account(CloudName::Aws, other.clone(), [HERE]);
    let key = tagged("KeyPair", "key-x");
    cloud.put(&account(), key.clone(), Nature::default());
    cloud.put(&other, key.clone(), Nature::default());
    cloud.set_faults(&account(), Faults { acts_as: Some(other.clone()), ..Faults::default() });
    let cleaner = Cleaner::of(&cloud);
    assert_eq!(cleaner.list().await.account, other);
    let deleted: Vec<_> = cleaner.plan().await.deletions().map(|planned| planned.item.key()).collect();
    assert_eq!(deleted, [key.key()]);
    cleaner.client.delete(&key).await.unwrap();
    assert_eq!(cloud.deletions(&other).len(), 1);
    assert!(cloud.deletions(&account()).is_empty());
    assert!(cloud.items(&account()).iter().any(|item| item.key() == key.key()));
}

#[tokio::test(start_paused = true)]
async fn calls_take_time_and_one_that_is_dropped_does_nothing() {
    let cloud = filled();
    cloud.set_faults(&account(), Faults { latency: Duration::from_secs(2), ..Faults::default() });
    let client = cloud.client(CloudName::Aws, &account(), history());
    let snapshot = tagged("Snapshot", &format!("snap-data-{SHOOT}"));
    let dropped = tokio::time::timeout(Duration::from_secs(1), client.delete(&snapshot)).await;
    assert!(dropped.is_err() && cloud.deletions(&account()).is_empty());
    let start = Instant::now();
    client.delete(&snapshot).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(cloud.deletions(&account()), [Deletion { item: snapshot.key(), at: Instant::now() }]);
}

#[tokio::test(start_paused = true)]
async fn an_account_that_was_never_added_is_refused() {
    let refusal =
        MemoryCloud::new().client(CloudName::Aws, &account(), history()).whoami().await.unwrap_err();
    assert_eq!(refusal.code(), "InvalidClientTokenId");
}
