//! What becomes of access that the policies do not allow, or no longer.

use super::*;

fn refuse(world: &mut World) {
    world.access = serde_json::from_value(json!({"policies": [{"namespaces": ["b"]}]})).unwrap();
}

#[test]
fn access_that_is_no_longer_allowed_ends_at_its_expiry_and_is_not_renewed() {
    let mut world = World::issued();
    refuse(&mut world);
    world.is_look_due = true;
    for seconds in [1, 2880, 3500] {
        world.after(seconds);
        let decision = world.decide();
        assert!(!decision.is_maintained && !decision.is_failed, "it is not put back either");
        assert_eq!(decision.again, Some(Duration::from_secs(3600 - u64::try_from(seconds).unwrap())));
        let status = world.rest();
        assert_eq!(status.phase, Some(KubeconfigPhase::Issued));
        assert_eq!(holds(&status, "Ready"), Some((ConditionStatus::True, "NotRenewed".to_owned())));
        let told = holds(&status, "PolicyAllowed");
        assert_eq!(told, Some((ConditionStatus::False, "NoLongerAllowed".to_owned())));
        assert_eq!(world.states(), [TokenState::Published]);
    }
    world.after(3600);
    world.record();
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
    world.is_withdrawn = true;
    let decision = world.decide();
    assert_eq!((decision.step, decision.status.phase), (Step::Clear, Some(KubeconfigPhase::Denied)));
    assert_eq!(holds(&decision.status, "PolicyAllowed").unwrap().1, "Denied");
}

#[test]
fn access_that_is_allowed_again_goes_on() {
    let mut world = World::issued();
    let before = world.rest();
    refuse(&mut world);
    world.rest();
    world.access = Access::default();
    assert_eq!(world.rest(), before);
}

/// The change is refused; the access that was granted before it stays until it ends.
#[test]
fn a_request_that_is_changed_to_something_refused_gets_nothing_new() {
    let mut world = World::issued();
    world.request["metadata"]["generation"] = json!(2);
    world.request["spec"]["clusterRole"]["rules"][0]["resources"] = json!(["secrets"]);
    let status = world.rest();
    assert_eq!(holds(&status, "PolicyAllowed").unwrap().1, "NoLongerAllowed");
    assert_eq!(status.observed_generation, Some(1));
    world.request["spec"]["clusterRole"]["rules"][0]["resources"] = json!(["nodes"]);
    assert_eq!(world.decide().step, Step::Record, "another change is granted");
}

#[test]
fn a_rotation_gives_no_new_access_where_it_is_refused() {
    let mut world = World::issued();
    refuse(&mut world);
    world.annotate(annotation::ROTATE, "true");
    world.rest();
    assert_eq!(world.states(), [TokenState::Published]);
}

#[test]
fn a_token_that_was_begun_is_ended() {
    let mut world = World::issued();
    world.after(2880);
    world.record();
    assert_eq!(world.states(), [TokenState::Published, TokenState::Asked]);
    refuse(&mut world);
    world.record();
    assert_eq!(world.states(), [TokenState::Published, TokenState::Ending]);
    assert!(matches!(world.decide().step, Step::End { is_urgent: true, .. }));
    world.is_waiting = true;
    assert_eq!(world.decide().again, Some(TRY_AGAIN));
    (world.is_waiting, world.is_ended) = (false, true);
    world.rest();
    assert_eq!(world.states(), [TokenState::Published]);
    // Without any that was handed out there is nothing to wait for.
    let mut world = World::new();
    world.record();
    refuse(&mut world);
    world.record();
    assert_eq!(world.states(), [TokenState::Ending]);
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
}

#[test]
fn a_request_that_was_never_allowed_gets_nothing() {
    let mut world = World::new();
    refuse(&mut world);
    let status = world.rest();
    assert_eq!((status.phase, status.tokens.len()), (Some(KubeconfigPhase::Denied), 0));
}

#[test]
fn revoking_does_not_wait_for_the_end() {
    let mut world = World::issued();
    refuse(&mut world);
    world.annotate(annotation::REVOKE, "true");
    world.record();
    assert!(matches!(world.decide().step, Step::Withdraw(_)));
}

/// Somebody wrote a status that names tokens of others: nothing was granted with them, so nothing stays valid.
#[test]
fn tokens_that_are_not_the_requests_keep_nothing_issued() {
    let mut world = World::issued();
    assert!(!world.with(|view| has_foreign_tokens(view.request)));
    refuse(&mut world);
    world.request["status"]["tokens"] =
        json!([{"secret": "victim-1", "state": "Published", "expirationTimestamp": "2099-01-01T00:00:00Z"}]);
    assert!(world.with(|view| has_foreign_tokens(view.request)));
    let decision = world.decide();
    assert_eq!((decision.step, decision.status.phase), (Step::Clear, Some(KubeconfigPhase::Denied)));
    assert!(decision.status.tokens.is_empty() && !decision.is_failed);
}

#[test]
fn tokens_that_are_not_the_requests_are_replaced_by_its_own() {
    let mut world = World::issued();
    world.request["status"]["tokens"] =
        json!([{"secret": "victim-1", "state": "Published", "expirationTimestamp": "2099-01-01T00:00:00Z"}]);
    world.record();
    assert!(!world.with(|view| has_foreign_tokens(view.request)));
    world.is_granted = false;
    world.issue();
    assert_eq!(world.states(), [TokenState::Published]);
}
