//! What a garden does not take as a Shoot.

use super::{FIRST_WRITE, SHOOTS, set, shoot, shoot_with};
use crate::script::*;
use serde_json::{Value, json};

const PATCHED: &str = "a refusal of a patch shows the fields of the object in another order";

pub fn cases() -> Vec<Case> {
    let mut all = created();
    all.extend(changed());
    all.extend(unknown_fields());
    all
}

/// A Shoot that is refused when it is made.
fn refused(what: &str, code: u16, pointer: &str, value: Value) -> Case {
    case(format!("garden::shoot_with_{what}"), [create(SHOOTS, shoot_with("a", pointer, value)).is(code)])
}

fn created() -> Vec<Case> {
    let workers = "/spec/provider/workers";
    let twice = || {
        let worker = shoot("a")["spec"]["provider"]["workers"][0].clone();
        json!([worker, worker])
    };
    vec![
        refused("a_long_name", 422, "/metadata/name", json!("a-name-that-is-long")),
        refused("two_hyphens", 422, "/metadata/name", json!("a--b")),
        // One fault at a time: the real server names them in any order.
        refused("a_bad_label", 422, "/metadata/labels", json!({ "-bad-": "x" })),
        refused("a_bad_label_value", 422, "/metadata/labels", json!({ "good": "no good" })),
        refused("no_such_profile", 500, "/spec/cloudProfile/name", json!("none")),
        refused("no_such_binding", 403, "/spec/credentialsBindingName", json!("none")),
        refused("no_binding", 422, "/spec/credentialsBindingName", Value::Null),
        refused("a_secret_binding", 422, "/spec/secretBindingName", json!("account")),
        refused("no_such_region", 403, "/spec/region", json!("mars-1")),
        refused("no_region", 422, "/spec/region", Value::Null),
        refused("no_such_version", 403, "/spec/kubernetes/version", json!("1.35.99")),
        refused("a_profile_name_too", 500, "/spec/cloudProfileName", json!("aws")),
        refused("a_capital_purpose", 422, "/spec/purpose", json!("Production")),
        refused("another_provider", 403, "/spec/provider/type", json!("gcp")),
        refused("no_networking", 422, "/spec/networking", Value::Null),
        refused("overlapping_networks", 403, "/spec/networking/pods", json!("10.250.0.0/16")),
        refused("no_such_network", 403, "/spec/networking/type", json!("flannel")),
        refused("no_such_extension", 403, "/spec/extensions", json!([{ "type": "none" }])),
        refused("a_toleration", 403, "/spec/tolerations", json!([{ "key": "special" }])),
        refused(
            "no_such_resource",
            403,
            "/spec/resources",
            json!([{ "name": "r", "resourceRef": { "apiVersion": "v1", "kind": "Secret", "name": "none" } }]),
        ),
        refused(
            "no_such_authentication",
            403,
            "/spec/kubernetes/kubeAPIServer",
            json!({ "structuredAuthentication": { "configMapName": "none" } }),
        ),
        refused("addons", 422, "/spec/addons", json!({ "nginxIngress": { "enabled": true } })),
        refused("a_worker_twice", 422, workers, twice()),
        refused(
            "a_long_worker_name",
            422,
            "/spec/provider/workers/0/name",
            json!("a-worker-of-many-letters"),
        ),
        refused("fewer_machines_than_zones", 422, "/spec/provider/workers/0/maximum", json!(2)),
        refused("no_such_machine", 403, "/spec/provider/workers/0/machine/type", json!("huge")),
        refused("no_such_image", 403, "/spec/provider/workers/0/machine/image/name", json!("windows")),
        refused(
            "no_such_zone",
            403,
            "/spec/provider/workers/0/zones",
            json!(["eu-central-1a", "eu-central-1z"]),
        ),
        refused("no_such_volume", 403, "/spec/provider/workers/0/volume/type", json!("floppy")),
        refused("a_volume_without_a_unit", 422, "/spec/provider/workers/0/volume/size", json!("80")),
        refused("a_field_of_another_type", 400, "/spec/provider", json!("aws")).map_last(|step| {
            step.differs(
                "/body/message",
                "Go names the struct that it reads; the fields of a garden are not known by their structs",
            )
        }),
        case(
            "garden::shoot_in_no_project",
            [
                create("/apis/core.gardener.cloud/v1beta1/namespaces/garden/shoots", {
                    let mut shoot = shoot("a");
                    shoot["metadata"]["namespace"] = json!("garden");
                    shoot
                })
                .is(403),
                create("/apis/core.gardener.cloud/v1beta1/namespaces/{ns}-none/shoots", {
                    let mut shoot = shoot("a");
                    shoot["metadata"]["namespace"] = json!("{ns}-none");
                    shoot
                })
                .is(404),
            ],
        ),
    ]
}

fn changed() -> Vec<Case> {
    let path = format!("{SHOOTS}/a");
    let change = |what: &str, code: u16, pointer: &str, value: Value| {
        let mut patch = json!({});
        set(&mut patch, pointer, value);
        case(
            format!("garden::shoot_change_of_{what}"),
            [create(SHOOTS, shoot("a")), merge(path.clone(), patch).is(code), get(path.clone())],
        )
    };
    vec![
        change("region", 422, "/spec/region", json!("eu-west-1")),
        change("provider", 422, "/spec/provider/type", json!("gcp")),
        change("network", 422, "/spec/networking/type", json!("cilium")),
        change("pods", 422, "/spec/networking/pods", json!("10.112.0.0/13")),
        change("version_down", 422, "/spec/kubernetes/version", json!("1.34.7")),
        change("version_up", 200, "/spec/kubernetes/version", json!("1.36.0")),
        change("binding_to_none", 403, "/spec/credentialsBindingName", json!("none")),
        change("binding_away", 422, "/spec/credentialsBindingName", Value::Null),
        change("workers_away", 422, "/spec/provider/workers", json!([])),
        change("seed", 500, "/spec/seedName", json!("none")),
    ]
}

fn unknown_fields() -> Vec<Case> {
    let coloured = || shoot_with("a", "/spec/colour", json!("red"));
    let path = |query: &str| format!("{SHOOTS}/a?fieldValidation={query}");
    vec![
        case(
            "garden::shoot_unknown_fields",
            [
                create(format!("{SHOOTS}?fieldValidation=Strict"), coloured()).is(400),
                create(format!("{SHOOTS}?fieldValidation=Ignore&dryRun=All"), coloured()),
                create(format!("{SHOOTS}?fieldValidation=Warn"), coloured()),
            ],
        ),
        case(
            "garden::shoot_unknown_fields_in_a_patch",
            [
                create(SHOOTS, shoot("a")),
                merge(path("Strict"), json!({ "spec": { "colour": "red" } }))
                    .is(422)
                    .differs("/body/message", PATCHED)
                    .differs("/body/details/causes/0/message", PATCHED),
                merge(path("Warn"), json!({ "spec": { "colour": "red" } }))
                    .differs("/body/metadata/resourceVersion", FIRST_WRITE),
                merge(path("Ignore"), json!({ "spec": { "colour": "red" } }))
                    .differs("/body/metadata/resourceVersion", FIRST_WRITE),
            ],
        ),
    ]
}
