//! Issuers are access: they are withheld where administrators are.

use super::*;

const CONFIG_MAP: &str = "/spec/kubernetes/kubeAPIServer/structuredAuthentication/configMapName";

fn said(status: &ClusterStatus) -> Option<(ConditionStatus, &str, &str)> {
    let said = crate::condition::find(&status.conditions, "OIDCApplied")?;
    Some((said.status, said.reason.as_str(), said.message.as_str()))
}

fn issuer(host: &str) -> Value {
    json!({"clientID": "c", "issuerURL": format!("https://{host}.example.com")})
}

fn config_map(world: &World) -> Option<Value> {
    world.shoot.as_ref().unwrap().pointer(CONFIG_MAP).cloned()
}

type Change = fn(&mut World);

/// No new administrator is given: the namespace has another tenant, or access is locked.
fn ways() -> [(Change, Change, &'static str); 2] {
    [
        (
            |world| world.role = NamespaceRole::Tenants([crate::pool::Tenant::new("t-2")].into()),
            |world| world.role = NamespaceRole::Tenants([crate::pool::Tenant::new("t-1")].into()),
            "withheld: namespace kcp does not belong to tenant t-1",
        ),
        (
            |world| world.is_locked = true,
            |world| world.is_locked = false,
            "withheld: access is locked by the platform",
        ),
    ]
}

#[test]
fn a_new_issuer_is_withheld_until_access_is_given_again() {
    for (withhold, give, why) in ways() {
        let mut world = World::ready();
        withhold(&mut world);
        world.cluster["spec"]["oidcConfig"] = issuer("new");
        world.cluster["metadata"]["generation"] = json!(2);
        let status = world.rest();
        let (holds, reason, message) = said(&status).unwrap();
        assert_eq!((holds, reason), (ConditionStatus::False, "Withheld"));
        assert!(message.starts_with(why) && message.ends_with("the Shoot gets no issuer"), "{message}");
        assert_eq!(status.phase, Some(ClusterPhase::Ready));
        assert_eq!(world.rest(), status, "once is enough");
        give(&mut world);
        world.update();
        assert!(config_map(&world).is_some());
        assert_eq!(said(&world.rest()).unwrap().1, "Applied");
    }
}

#[test]
fn the_issuers_of_a_shoot_stay_as_they_are_whatever_else_changes() {
    for (withhold, _, why) in ways() {
        let mut world = World::ready();
        world.cluster["spec"]["oidcConfig"] = issuer("old");
        world.update();
        world.rest();
        let before = config_map(&world).unwrap();
        withhold(&mut world);
        assert_eq!(said(&world.rest()).unwrap().1, "Applied", "nothing else is asked for");
        world.is_due = true;
        assert!(matches!(world.decide().step, Step::CheckIssuers(_)), "it is still put back");
        world.is_due = false;
        for (field, value) in
            [("oidcConfig", issuer("other")), ("additionalOidcConfigs", json!([issuer("more")]))]
        {
            world.cluster["spec"][field] = value;
            let status = world.rest();
            let (_, reason, message) = said(&status).unwrap();
            assert_eq!(reason, "Withheld");
            assert!(
                message.starts_with(why) && message.ends_with("keeps the issuers that it has"),
                "{message}"
            );
        }
        world.cluster["spec"]["infrastructure"]["machineType"] = json!("m5.xlarge");
        world.cluster["metadata"]["generation"] = json!(2);
        let Step::Update(apply) = world.decide().step else { panic!("no update") };
        assert_eq!(apply.authentication, None);
        world.update();
        assert_eq!(config_map(&world), Some(before));
        world.rest();
        // Taking access away is always possible.
        world.cluster["spec"]["oidcConfig"] = Value::Null;
        world.cluster["spec"]["additionalOidcConfigs"] = json!([]);
        world.update();
        assert_eq!(config_map(&world), None);
        assert_eq!(said(&world.rest()), None);
    }
}

#[test]
fn a_cluster_that_is_made_under_a_lock_has_no_issuer() {
    let mut world = World::bound();
    world.is_live = true;
    world.is_locked = true;
    world.cluster["spec"]["oidcConfig"] = issuer("new");
    world.create();
    assert_eq!(config_map(&world), None);
}
