//! What a tenant's ClusterConfig may change, and in which accounts Shoots are made.

use super::*;
use crate::openmcp::policy::Openmcp;

fn patch(path: &str, value: Value) -> Value {
    json!({"patchOptions": {"createMissingOnAdd": true}, "patches": [{"op": "add", "path": path, "value": value}]})
}

/// ClusterConfigs that tenants may not use, and the field that is refused.
fn refused() -> Vec<(Value, &'static str)> {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "name": "victim"});
    vec![
        (
            patch("/spec/region", json!("other")),
            "spec.region: may not be patched: the ProviderConfig decides",
        ),
        (patch("/spec/seedSelector", json!({"matchLabels": {"a": "b"}})), "spec.seedSelector"),
        (
            patch("/spec/dns/providers/-", json!({"type": "t", "secretName": "victim"})),
            "spec.dns.providers[t].secretName",
        ),
        (patch("/spec/provider/infrastructureConfig", json!({})), "spec.provider.infrastructureConfig"),
        (
            patch("/spec/provider/workers/0/providerConfig", json!({"a": 1})),
            "spec.provider.workers[w].providerConfig",
        ),
        (patch("/spec/kubernetes/version", json!("1.30.0")), "use spec.kubernetes.version of the Cluster"),
        (patch("metadata.annotations[shoot.gardener.cloud/ignore]", json!("true")), "metadata.annotations"),
        (json!({"extensions": [{"type": "some"}]}), "spec.extensions[some].type"),
        (
            json!({"extensions": [{"type": "shoot-oidc-service", "disabled": true}]}),
            "spec.extensions[shoot-oidc-service].disabled",
        ),
        (json!({"resources": [{"name": "r", "resourceRef": secret}]}), "spec.resources[r].resourceRef"),
        (
            json!({"patches": [{"op": "remove", "path": "/spec/extensions"}]}),
            "spec.extensions[shoot-oidc-service].type",
        ),
        (
            json!({"patches": [{"op": "copy", "from": "/spec/provider/type", "path": "/spec/schedulerName"}]}),
            "spec.schedulerName",
        ),
    ]
}

#[test]
fn a_cluster_config_of_a_tenant_changes_only_what_tenants_may_change() {
    for (config, words) in refused() {
        let mut world = World::new();
        world.configure("mine", config.clone());
        world.look();
        let (_, reason, message) = world.condition("ShootManagement");
        assert!(world.garden.is_empty() && reason == "ConfigurationProblem", "{config}");
        assert!(message.contains("ClusterConfig mine: ") && message.contains(words), "{words}: {message}");
    }
    let mut world = World::new();
    world.configure("mine", patch("/spec/provider/workers/0/maximum", json!(5)));
    world.configure(
        "pools",
        patch(
            "/spec/provider/workers/-",
            json!({"name": "v", "minimum": 1, "maximum": 1, "zones": ["a"], "machine": {"type": "m"}}),
        ),
    );
    world.look();
    assert_eq!(world.shoot()["spec"]["provider"]["workers"].as_array().unwrap().len(), 2);
}

#[test]
fn the_account_is_the_provider_configs_for_everybody() {
    for policy in [Policy::default(), Policy::trusted()] {
        for field in ["credentialsBindingName", "secretBindingName"] {
            let mut world = World::new();
            world.policy = policy.clone();
            world.template()["spec"]["credentialsBindingName"] = json!("account");
            world.configure("mine", patch(&format!("/spec/{field}"), json!("victim")));
            world.look();
            assert!(world.garden.is_empty());
            let message = world.condition("ShootManagement").2;
            assert!(message.contains(field) && message.contains("the ProviderConfig decides"), "{message}");
        }
    }
}

#[test]
fn the_platform_may_patch_what_it_could_before() {
    for (config, words) in refused() {
        let mut world = World::new();
        world.policy = Policy::trusted();
        world.configure("mine", config);
        world.look();
        assert_eq!(world.garden.len(), 1, "{words}: {}", world.condition("ShootManagement").2);
    }
}

#[test]
fn references_can_be_allowed_by_name() {
    let mut world = World::new();
    let references = json!([{"kind": "Extension", "name": "some", "namespaces": ["n"]}]);
    world.policy.openmcp =
        Openmcp { references: serde_json::from_value(references).unwrap(), ..Openmcp::default() };
    world.configure("mine", json!({"extensions": [{"type": "some"}]}));
    world.look();
    assert_eq!(world.garden.len(), 1, "{}", world.condition("ShootManagement").2);
}

#[test]
fn a_shoot_that_is_there_stays_as_it_is() {
    let mut world = ready();
    let writes = world.writes;
    world.configure("mine", patch("/spec/seedSelector", json!({"matchLabels": {"a": "b"}})));
    world.look();
    assert_eq!(world.writes, writes);
    assert!(world.condition("ShootManagement").2.ends_with("the Shoot stays as it is"));
}

#[test]
fn a_patch_that_bends_the_shoot_stops_before_the_next_config() {
    let mut world = World::new();
    world.policy = Policy::trusted();
    world.configure("bent", json!({"patches": [{"op": "replace", "path": "/spec", "value": "x"}]}));
    world.configure("next", json!({"extensions": [{"type": "some"}]}));
    world.look();
    assert!(world.condition("ShootManagement").2.contains("spec: must be an object"));
}

fn account(labels: Value, quarantine: Option<&str>) -> Account {
    Account::Found {
        labels: serde_json::from_value(labels).unwrap(),
        quarantine: quarantine.map(str::to_owned),
    }
}

#[test]
fn no_shoot_is_made_in_an_account_that_is_not_for_it() {
    let belongs = json!({"namespaces": {"n": ["t-1"]}});
    for (account, tenancy, words) in [
        (Account::Missing, json!({}), "has no CredentialsBinding account"),
        (Account::Unreadable("403: no".to_owned()), json!({}), "the right to get credentialsbindings"),
        (account(json!({"dirty": "true"}), None), json!({}), "waits to be cleaned"),
        (account(json!({"dirty": "false"}), None), json!({}), "waits to be cleaned"),
        (account(json!({"internal": "true"}), None), json!({}), "keeps it from tenants"),
        (account(json!({}), Some("bad key")), json!({}), "quarantine (bad key)"),
        (account(json!({"tenantName": "t-1"}), None), json!({}), "does not belong to"),
        (account(json!({"tenantName": "t-2"}), None), belongs.clone(), "does not belong to"),
        (account(json!({"tenantName": "t-1"}), None), json!({"mode": "trusted"}), "does not belong to"),
        (account(json!({"tenantName": "t-1"}), None), belongs, ""),
        (account(json!({"hyperscalerType": "aws", "shared": "true"}), None), json!({}), ""),
        (account(json!({}), None), json!({}), ""),
    ] {
        let mut world = World::new();
        world.template()["spec"]["credentialsBindingName"] = json!("account");
        world.policy.tenancy = serde_json::from_value(tenancy).unwrap();
        world.account = account.clone();
        let (steps, _) = world.look();
        assert!(steps.contains(&"read CredentialsBinding account live".to_owned()), "{steps:?}");
        let (_, reason, message) = world.condition("ShootManagement");
        assert_eq!(world.garden.is_empty(), !words.is_empty(), "{account:?}: {message}");
        assert!(words.is_empty() || reason == "ConfigurationProblem" && message.contains(words), "{message}");
    }
}

#[test]
fn a_shoot_stays_in_its_account_and_does_not_move_into_a_bad_one() {
    let mut world = World::new();
    world.template()["spec"]["credentialsBindingName"] = json!("account");
    world.look();
    world.settle();
    world.look();
    assert_eq!(world.phase(), "Ready");
    // Its account became dirty: it stays, and is brought in line as before.
    world.account = account(json!({"dirty": "true"}), None);
    world.template()["spec"]["provider"]["workers"][0]["maximum"] = json!(7);
    world.look();
    assert_eq!(world.shoot()["spec"]["provider"]["workers"][0]["maximum"], 7);
    world.settle();
    world.look();
    let writes = world.writes;
    world.template()["spec"]["credentialsBindingName"] = json!("other");
    world.look();
    assert_eq!(world.writes, writes);
    let message = world.condition("ShootManagement").2;
    assert!(message.contains("CredentialsBinding other") && message.contains("stays as it is"), "{message}");
}
