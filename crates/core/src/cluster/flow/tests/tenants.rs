//! Namespaces that lose their tenant, and requests that the operator did not make.

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

fn administrators(status: &ClusterStatus) -> Option<(&str, &str)> {
    let said = crate::condition::find(&status.conditions, "AdministratorsApplied")?;
    Some((said.reason.as_str(), said.message.as_str()))
}

#[test]
fn a_status_says_from_whom_cluster_admin_is_withheld() {
    let mut world = World::ready();
    world.cluster["status"]["administrators"] = json!(["ann"]);
    world.cluster["spec"]["administrators"] = json!(["ann", "bob", "cyd"]);
    world.role = NamespaceRole::Tenants([crate::pool::Tenant::new("t-2")].into());
    let status = world.rest();
    assert_eq!(status.administrators, ["ann"]);
    let (reason, message) = administrators(&status).unwrap();
    assert!(
        reason == "Withheld" && message.starts_with("withheld from 2 of 3 users: namespace kcp does not"),
        "{message}"
    );
    assert_eq!(world.rest(), status, "once is enough");
    // Nobody else is asked for any more.
    world.cluster["spec"]["administrators"] = json!(["ann"]);
    assert_eq!(administrators(&world.rest()), Some(("Applied", "1 user has cluster-admin")));
    world.cluster["spec"]["administrators"] = json!(["ann", "bob"]);
    world.rest();
    world.role = NamespaceRole::Tenants([crate::pool::Tenant::new("t-1")].into());
    assert!(matches!(world.decide().step, Step::Administrate(users) if users == ["ann", "bob"]));
}

/// A Cluster for a shared account that names no tenant.
fn shared() -> World {
    let mut world = World::new();
    world.cluster["spec"]["infrastructure"]["subscriptionSelector"] = json!("shared");
    world.cluster["metadata"]["labels"] = json!({"plan": "aws"});
    let Step::Ask(request) = world.decide().step else { panic!("no request") };
    let mut request = json!(request);
    request["metadata"]["uid"] = json!("of-the-request");
    request["status"] = json!({"phase": "Bound", "gardenerSecretName": "aws-shared-01"});
    world.request = Some(request);
    world.made()
}

#[test]
fn a_cluster_is_of_the_tenant_that_it_was_made_for_whoever_gets_the_namespace() {
    let mut world = shared();
    assert_eq!(world.shoot.as_ref().unwrap()["metadata"]["annotations"][annotation::TENANT], "t-1");
    world.role = NamespaceRole::Tenants([crate::pool::Tenant::new("t-2")].into());
    world.cluster["spec"]["administrators"] = json!(["new"]);
    for label in [json!({"plan": "aws"}), json!({"plan": "aws", "globalaccountid": "t-2"})] {
        world.cluster["metadata"]["labels"] = label;
        let status = world.rest();
        assert!(status.administrators.is_empty());
        assert_eq!(administrators(&status).unwrap().0, "Withheld");
        let said = crate::condition::find(&status.conditions, "TenantAllowed").unwrap();
        assert_eq!((said.status, said.reason.as_str()), (ConditionStatus::False, "OtherTenant"));
        assert!(!said.message.contains("t-1"), "{}", said.message);
    }
    // The platform hands it over.
    world.shoot.as_mut().unwrap()["metadata"]["annotations"][annotation::TENANT] = json!("t-2");
    world.update();
    assert!(matches!(world.decide().step, Step::Administrate(users) if users == ["new"]));
}

#[test]
fn a_shoot_that_does_not_know_its_tenant_yet_is_told() {
    let mut world = shared();
    let annotations = &mut world.shoot.as_mut().unwrap()["metadata"]["annotations"];
    annotations.as_object_mut().unwrap().remove(annotation::TENANT);
    world.has_turn = false;
    assert!(world.decide().waits_for_turn, "all of them at once would be a storm");
    world.has_turn = true;
    world.update();
    assert_eq!(world.shoot.as_ref().unwrap()["metadata"]["annotations"][annotation::TENANT], "t-1");
    world.rest();
    // A namespace of the platform has no tenant of its own.
    let mut world = World::bound();
    world.role = NamespaceRole::Platform;
    world.is_live = true;
    world.create();
    assert_eq!(world.shoot.as_ref().unwrap()["metadata"]["annotations"].get(annotation::TENANT), None);
}
