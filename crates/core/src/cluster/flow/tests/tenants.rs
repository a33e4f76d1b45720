//! Requests that the operator did not make, and whose status somebody forged.

use super::*;

#[test]
fn no_shoot_is_made_for_a_request_in_the_name_of_another_tenant() {
    let mut world = World::bound();
    world.is_live = true;
    for (selector, label, reason) in [
        ("victim", json!({}), "OtherTenant"),
        ("globalaccount:victim", json!({}), "OtherTenant"),
        ("shared", json!({"globalaccountid": "victim"}), "OtherTenant"),
        ("t-1", json!({"globalaccountid": "victim"}), "TenantsDiffer"),
    ] {
        let request = world.request.as_mut().unwrap();
        request["spec"]["subscriptionSelector"] = json!(selector);
        request["metadata"]["labels"] = label;
        let decision = world.decide();
        assert_eq!(decision.step, Step::Rest, "{selector}");
        assert_eq!(provisioned(&decision.status).1, reason, "{selector}");
    }
    world.role = NamespaceRole::Platform;
    assert!(matches!(world.decide().step, Step::Create(_)), "the platform asks for any tenant");
}

#[test]
fn a_shoot_that_is_there_stays_when_its_namespace_loses_the_tenant() {
    let mut world = World::ready();
    world.role = NamespaceRole::Tenants([crate::pool::Tenant::new("t-2")].into());
    let status = world.rest();
    assert_eq!(status.phase, Some(ClusterPhase::Ready));
}
