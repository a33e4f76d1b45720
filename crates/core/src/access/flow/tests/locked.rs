//! A lock ends access, and nothing that a tenant writes lifts it.

use super::*;

/// Everything is taken out of the cluster.
fn withdraw(world: &mut World) -> KubeconfigRequestStatus {
    world.record();
    assert!(world.states().iter().all(|state| *state == TokenState::Ending));
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
    world.is_withdrawn = true;
    let decision = world.decide();
    assert_eq!(decision.step, if world.is_published { Step::Clear } else { Step::Rest });
    world.request["status"] = json!(decision.status);
    (world.is_published, world.is_withdrawn, world.is_granted) = (false, false, false);
    world.rest()
}

#[test]
fn a_lock_revokes_and_its_end_grants_anew() {
    let mut world = World::issued();
    world.is_locked = true;
    let status = withdraw(&mut world);
    assert_eq!(status.phase, Some(KubeconfigPhase::Revoked));
    assert_eq!(holds(&status, "Locked"), Some((ConditionStatus::True, "Locked".to_owned())));
    assert_eq!(holds(&status, "Revoked"), Some((ConditionStatus::True, "Revoked".to_owned())));
    assert_eq!(holds(&status, "Ready"), Some((ConditionStatus::False, "Locked".to_owned())));
    for value in ["false", "true", "false"] {
        world.annotate(annotation::REVOKE, value);
        world.annotate(annotation::ROTATE, value);
        assert_eq!(world.rest(), status, "the annotations change nothing");
    }
    world.request["metadata"]["generation"] = json!(2);
    world.rest();
    world.is_locked = false;
    world.annotate(annotation::ROTATE, "false");
    world.record();
    assert_eq!(world.states(), [TokenState::Asked]);
    world.issue();
    let status = world.rest();
    assert_eq!((holds(&status, "Locked"), holds(&status, "Revoked")), (None, None));
}

/// Revoked by both: the annotation still holds when the lock is gone.
#[test]
fn an_annotation_outlives_a_lock() {
    let mut world = World::issued();
    world.annotate(annotation::REVOKE, "true");
    world.is_locked = true;
    withdraw(&mut world);
    world.is_locked = false;
    let status = world.rest();
    assert_eq!(holds(&status, "Ready").unwrap().1, "Revoked");
    assert_eq!(holds(&status, "Locked"), None);
}

#[test]
fn nothing_is_granted_while_it_is_locked() {
    let mut world = World::new();
    world.is_locked = true;
    let status = world.rest();
    assert_eq!((status.phase, status.tokens.len()), (Some(KubeconfigPhase::Revoked), 0));
    // One that was begun is taken back as well.
    let mut world = World::new();
    world.record();
    world.is_locked = true;
    withdraw(&mut world);
}

/// Neither a refusal, nor another Shoot, nor no Cluster keeps a lock from being seen to.
#[test]
fn a_lock_comes_first() {
    let changes: [fn(&mut World); 3] = [
        |world| world.access = serde_json::from_value(json!({"policies": [{"namespaces": ["b"]}]})).unwrap(),
        |world| world.cluster.as_mut().unwrap()["status"]["shootUID"] = json!("s-2"),
        |world| world.cluster = None,
    ];
    for change in changes {
        let mut world = World::issued();
        change(&mut world);
        world.is_locked = true;
        assert_eq!(holds(&withdraw(&mut world), "Locked").unwrap().0, ConditionStatus::True);
    }
}

#[test]
fn a_lock_says_when_a_cluster_cannot_be_reached() {
    let mut world = World::issued();
    world.is_locked = true;
    world.record();
    world.hitch = Some(unreachable());
    let decision = world.decide();
    assert!(decision.is_failed && !decision.status.tokens.is_empty());
    assert_eq!(holds(&decision.status, "Locked").unwrap().0, ConditionStatus::True);
    assert_eq!(holds(&decision.status, "Revoked"), Some((ConditionStatus::False, "Unreachable".to_owned())));
}

#[test]
fn a_lock_looks_into_the_cluster_whatever_the_status_says() {
    let mut world = World::new();
    (world.is_locked, world.is_swept) = (true, false);
    assert!(
        matches!(world.decide().step, Step::Withdraw(_)),
        "the status names no tokens, and may be forged"
    );
    world.is_withdrawn = true;
    assert!(!matches!(world.decide().step, Step::Withdraw(_)));
    (world.is_withdrawn, world.is_swept) = (false, true);
    assert!(!matches!(world.decide().step, Step::Withdraw(_)), "once is enough");
}

#[test]
fn a_deleted_request_is_looked_for_whatever_the_status_says() {
    let mut world = World::new();
    world.is_swept = false;
    world.request["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
    world.hitch = Some(Hitch {
        reason: "Unreachable",
        message: "it does not answer".to_owned(),
        is_gone: false,
        is_shut: false,
    });
    assert_eq!(world.decide().step, Step::LetGo, "it is not waited for because of what may not be there");
}
