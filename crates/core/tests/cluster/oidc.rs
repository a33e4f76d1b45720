//! Who may log in.

use crate::stage::Stage;
use allotment_api::kyma::{ClusterCondition, Provider};
use serde_json::{Value, json};

fn with(config: Value) -> Stage {
    Stage::new(Provider::Gcp).with("spec.oidcConfig", config)
}

fn good() -> Value {
    json!({ "issuerURL": "https://issuer.example.org", "clientID": "kyma" })
}

fn but(field: &str, value: Value) -> Stage {
    let mut config = good();
    config[field] = value;
    with(config)
}

fn jwt(stage: &Stage) -> Value {
    let authentication = stage.render().unwrap().authentication.unwrap();
    let config: Value = serde_json::from_str(&authentication.config).unwrap();
    config["jwt"][0].clone()
}

#[test]
fn prefixes_are_those_of_the_old_flags() {
    let user = |claim: Value, prefix: Value| {
        let mut config = good();
        config["usernameClaim"] = claim;
        config["usernamePrefix"] = prefix;
        jwt(&with(config))["claimMappings"]["username"].clone()
    };
    let issuer = "https://issuer.example.org#";
    assert_eq!(user(json!(null), json!(null)), json!({ "claim": "sub", "prefix": issuer }));
    assert_eq!(user(json!("email"), json!(null)), json!({ "claim": "email", "prefix": "" }));
    assert_eq!(user(json!("sub"), json!("-")), json!({ "claim": "sub", "prefix": "" }));
    assert_eq!(user(json!("sub"), json!("x:")), json!({ "claim": "sub", "prefix": "x:" }));
    assert_eq!(jwt(&with(good()))["claimMappings"].get("groups"), None);
}

#[test]
fn no_issuer_makes_anybody_a_user_or_a_group_of_kubernetes_own() {
    for config in [
        good(),
        json!({ "issuerURL": "https://i.example.org", "clientID": "c", "usernamePrefix": "-", "groupsClaim": "groups" }),
    ] {
        let rules = jwt(&with(config))["userValidationRules"].clone();
        assert_eq!(rules[0]["expression"], "!user.username.startsWith('system:')");
        assert_eq!(rules[1]["expression"], "user.groups.all(group, !group.startsWith('system:'))");
    }
}

#[test]
fn nothing_is_dropped() {
    let claims = jwt(&but("requiredClaims", json!({ "b": "2", "a": "1" })))["claimValidationRules"].clone();
    assert_eq!(
        claims,
        json!([{ "claim": "a", "requiredValue": "1" }, { "claim": "b", "requiredValue": "2" }])
    );
    let bundle = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    assert_eq!(jwt(&but("caBundle", json!(bundle)))["issuer"]["certificateAuthority"], bundle);
}

#[test]
fn another_content_is_another_name_and_another_shoot() {
    let name = |stage: &Stage| {
        let rendered = stage.render().unwrap();
        let name = rendered.authentication.unwrap().name;
        let kubernetes = &rendered.shoot["spec"]["kubernetes"];
        assert_eq!(kubernetes["kubeAPIServer"]["structuredAuthentication"]["configMapName"], name);
        name
    };
    let one = name(&with(good()));
    assert_eq!(one, name(&with(good())));
    assert_ne!(one, name(&but("groupsClaim", json!("groups"))));
    let none = Stage::new(Provider::Gcp).render().unwrap();
    assert_eq!(none.authentication, None);
    assert_eq!(none.shoot["spec"]["kubernetes"].get("kubeAPIServer"), None);
}

#[test]
fn algorithms_that_are_accepted_anyway_are_noted() {
    let notes = |algorithms: Value| but("signingAlgs", algorithms).render().unwrap().notes;
    let noted = notes(json!(["RS256", "ES256"]));
    assert_eq!(noted.len(), 1);
    assert_eq!(noted[0].about, ClusterCondition::OidcApplied);
    assert_eq!(
        noted[0].to_string(),
        "spec.oidcConfig.signingAlgs: the list cannot be narrowed to RS256, ES256: the API server accepts ES256, \
         ES384, ES512, PS256, PS384, PS512, RS256, RS384, RS512"
    );
    let all = json!(["ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"]);
    assert_eq!(notes(all), []);
    assert_eq!(notes(json!([])), []);
}

#[test]
fn what_a_server_would_not_start_with_is_refused() {
    let long = "must have a host, and no user, query, fragment or space";
    for (field, value, problem) in [
        ("issuerURL", json!(null), "spec.oidcConfig.issuerURL: is missing".to_owned()),
        (
            "issuerURL",
            json!("http://issuer.example.org"),
            "spec.oidcConfig.issuerURL: \"http://issuer.example.org\" is not an https address; allowed: https://…"
                .to_owned(),
        ),
        ("issuerURL", json!("https://"), format!("spec.oidcConfig.issuerURL: \"https://\" {long}")),
        ("issuerURL", json!("https://a@b"), format!("spec.oidcConfig.issuerURL: \"https://a@b\" {long}")),
        ("issuerURL", json!("https://b?c"), format!("spec.oidcConfig.issuerURL: \"https://b?c\" {long}")),
        (
            "clientID",
            json!(null),
            "spec.oidcConfig.clientID: is missing: tokens must be issued for somebody".to_owned(),
        ),
        (
            "signingAlgs",
            json!(["RS256", "none"]),
            "spec.oidcConfig.signingAlgs[1]: \"none\" is not a signing algorithm that kube-apiserver knows; allowed: \
             ES256, ES384, ES512, PS256, PS384, PS512, RS256, RS384, RS512"
                .to_owned(),
        ),
        ("caBundle", json!("x"), "spec.oidcConfig.caBundle: has no certificate in PEM".to_owned()),
        (
            "requiredClaims",
            json!({ "": "x" }),
            "spec.oidcConfig.requiredClaims: has a claim without a name".to_owned(),
        ),
    ] {
        let stage = but(field, value);
        assert_eq!(stage.problem(), problem);
        assert_eq!(stage.problems()[0].about, ClusterCondition::OidcApplied);
    }
    let twice = with(good()).with("spec.additionalOidcConfigs", json!([good()]));
    assert_eq!(
        twice.problem(),
        "spec.additionalOidcConfigs[0].issuerURL: https://issuer.example.org is there twice"
    );
}
