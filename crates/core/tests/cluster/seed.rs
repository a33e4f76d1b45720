//! The example of the fourth document: accepted as it is, and not rolled out, for its issuer is none.

use crate::stage::Stage;
use allotment_api::{condition::ConditionStatus, kyma::Provider};
use serde_json::{Value, json};

const SEED: &str = include_str!("../../../../examples/cluster-with-bad-issuer.yaml");

fn seed() -> Stage {
    let mut stage = Stage::new(Provider::Aws);
    stage.cluster = serde_saphyr::from_str::<Value>(SEED).unwrap();
    stage.cluster["metadata"]["uid"] = json!("seed");
    // Its times are words: no server takes a status from a user, and none reads this one.
    stage.cluster["status"] = json!(null);
    stage
}

/// The document's own values, whatever the example beside it has become.
fn nonsense() -> Stage {
    seed().with(
        "spec.oidcConfig",
        json!({
            "clientID": "asdf", "groupsClaim": "asdf", "issuerURL": "asdf", "signingAlgs": ["adsf"],
            "usernameClaim": "asdf", "usernamePrefix": "asdf",
        }),
    )
}

#[test]
fn its_issuer_and_its_algorithm_stop_it_and_nothing_else() {
    let fields: Vec<String> = nonsense().problems().into_iter().map(|problem| problem.field).collect();
    assert_eq!(fields, ["spec.oidcConfig.issuerURL", "spec.oidcConfig.signingAlgs[0]"]);
    let verdicts = nonsense().render().unwrap_err().verdicts();
    let types: Vec<&str> = verdicts.iter().map(|verdict| verdict.type_).collect();
    assert_eq!(types, ["ClusterProvisioned", "OIDCApplied"]);
    for verdict in verdicts {
        assert_eq!(verdict.status, ConditionStatus::False);
        assert!(verdict.message.starts_with("spec.oidcConfig.issuerURL: \"asdf\" is not an https address"));
    }
}

#[test]
fn with_an_issuer_it_is_what_was_asked_for() {
    let mut stage = nonsense();
    stage.set("spec.oidcConfig.issuerURL", json!("https://issuer.example.org"));
    stage.set("spec.oidcConfig.signingAlgs", json!(["RS256"]));
    let rendered = stage.render().unwrap();
    let spec = &rendered.shoot["spec"];
    assert_eq!(spec["purpose"], "production");
    assert_eq!(spec["region"], "eu-central-1");
    assert_eq!(spec["credentialsBindingName"], "account-1");
    assert_eq!(spec["extensions"], json!([{ "type": "shoot-networking-filter", "disabled": true }]));
    let worker = &spec["provider"]["workers"][0];
    assert_eq!(worker["machine"]["type"], "m5.2xlarge");
    assert_eq!((&worker["minimum"], &worker["maximum"]), (&json!(5), &json!(5)));
    assert_eq!(worker["zones"], json!(["eu-central-1a", "eu-central-1b", "eu-central-1c"]));
    assert_eq!(rendered.shoot["metadata"]["labels"]["allotment.dev/subscription-request"], "request-uid");
    assert_eq!(rendered.notes.len(), 1);
}
