//! Tokens that are asked for again and again.

use super::*;

#[test]
fn too_many_tokens_for_one_cause_wait_and_what_is_published_stays() {
    let mut world = World::issued();
    world.is_published = false;
    assert_eq!(world.decide().step, Step::Record, "somebody took the kubeconfig away");
    let until = world.now + SignedDuration::from_mins(2);
    world.no_token_before = Some(until);
    let decision = world.decide();
    assert_eq!(decision.step, Step::Rest);
    assert_eq!(decision.again, Some(Duration::from_mins(2)));
    assert!(!decision.is_failed, "it is waited for, and not tried");
    let expected = (ConditionStatus::False, "TooManyTokens".to_owned());
    assert_eq!(holds(&decision.status, "Ready"), Some(expected));
    // A changed request has a kubeconfig that works.
    world.is_published = true;
    world.request["metadata"]["generation"] = json!(7);
    let decision = world.decide();
    let expected = (ConditionStatus::True, "RotationDelayed".to_owned());
    assert_eq!((decision.step, holds(&decision.status, "Ready")), (Step::Rest, Some(expected)));
    world.now = until;
    assert_eq!(world.decide().step, Step::Record);
}
