//! A lock takes cluster-admin back, and nothing that a tenant writes keeps it.

use super::*;

fn said(status: &ClusterStatus) -> Option<(ConditionStatus, &str)> {
    let said = crate::condition::find(&status.conditions, "AdministratorsApplied")?;
    Some((said.status, said.reason.as_str()))
}

/// Two users are administrators, and then comes the lock.
fn locked() -> World {
    let mut world = World::ready();
    world.cluster["spec"]["administrators"] = json!(["a", "b"]);
    assert!(matches!(world.decide().step, Step::Administrate(users) if users.len() == 2));
    world.administrators = Some(Ok(()));
    assert_eq!(world.rest().administrators, ["a", "b"]);
    world.administrators = None;
    world.rest();
    world.is_locked = true;
    world
}

/// It is taken back; returns the status.
fn take_back(world: &mut World) -> ClusterStatus {
    let decision = world.decide();
    assert_eq!(decision.step, Step::Administrate(Vec::new()));
    assert_eq!(said(&decision.status), Some((ConditionStatus::False, "Applying")));
    world.cluster["status"] = json!(decision.status);
    world.administrators = Some(Ok(()));
    let status = world.rest();
    world.administrators = None;
    assert!(status.administrators.is_empty());
    assert_eq!(said(&status), Some((ConditionStatus::True, "Locked")));
    status
}

#[test]
fn a_lock_takes_cluster_admin_back_and_its_end_gives_it_again() {
    let mut world = locked();
    let status = take_back(&mut world);
    assert_eq!(status.phase, Some(ClusterPhase::Ready));
    assert_eq!(world.rest(), status, "once is enough");
    world.is_locked = false;
    assert_eq!(world.decide().step, Step::Administrate(vec!["a".to_owned(), "b".to_owned()]));
}

#[test]
fn a_tenant_does_not_keep_administrators_with_what_a_tenant_can_write() {
    let changes: [fn(&mut World); 5] = [
        |world| world.annotate(annotation::PAUSE, "true"),
        |world| world.cluster["spec"]["infrastructure"]["machineType"] = json!("none"),
        |world| world.cluster["spec"]["administrators"] = json!(["a", "b", "c"]),
        |world| world.delete(),
        |world| world.operation(json!({"state": "Processing", "progress": 10})),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut world = locked();
        change(&mut world);
        world.cluster["metadata"]["generation"] = json!(2);
        let decision = world.decide();
        assert_eq!(decision.step, Step::Administrate(Vec::new()), "{number}");
        assert_eq!(
            decision.status.observed_generation,
            Some(1),
            "the change is not observed by that: {number}"
        );
        world.cluster["status"] = json!(decision.status);
        world.administrators = Some(Ok(()));
        let status = world.decide().status;
        assert!(status.administrators.is_empty(), "{number}");
        assert_eq!(said(&status), Some((ConditionStatus::True, "Locked")), "{number}");
    }
}

#[test]
fn a_cluster_that_cannot_be_reached_is_tried_again() {
    let mut world = locked();
    world.administrators = Some(Err("no answer".to_owned()));
    let decision = world.decide();
    assert_eq!(said(&decision.status), Some((ConditionStatus::False, "Unreachable")));
    assert_eq!((decision.again, decision.status.administrators.len()), (Some(Duration::from_mins(1)), 2));
    world.cluster["status"] = json!(decision.status);
    world.administrators = None;
    take_back(&mut world);
}

#[test]
fn nobody_becomes_administrator_while_it_is_locked() {
    let mut world = World::ready();
    world.is_locked = true;
    world.cluster["spec"]["administrators"] = json!(["a"]);
    take_back(&mut world);
    // A cluster that is not there yet.
    let mut world = World::bound();
    world.is_locked = true;
    world.cluster["spec"]["administrators"] = json!(["a"]);
    world.is_live = true;
    world.create();
    let status = world.rest();
    assert_eq!(said(&status), Some((ConditionStatus::True, "Locked")));
    // Nothing is said where nobody is to be one.
    let mut world = World::ready();
    world.is_locked = true;
    assert_eq!(said(&world.rest()), None);
}

#[test]
fn a_list_that_is_emptied_under_a_lock_leaves_no_condition() {
    let mut world = locked();
    take_back(&mut world);
    world.cluster["spec"]["administrators"] = json!([]);
    assert_eq!(said(&world.rest()), None);
}
