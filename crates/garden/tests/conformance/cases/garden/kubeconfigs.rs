//! `shoots/adminkubeconfig` and `shoots/viewerkubeconfig`.

use super::{INTERNAL_SECRETS, SHOOTS, shoot};
use crate::{plots::client_ca, script::*};
use serde_json::{Value, json};

const PLACE: &str = "/body/metadata/managedFields";
const UNMANAGED: &str = "an issued kubeconfig does not say who manages the fields of the request for it";

pub fn cases() -> Vec<Case> {
    let path = |what: &str| format!("{SHOOTS}/a/{what}kubeconfig");
    let mut all: Vec<Case> = Vec::new();
    for (what, kind) in [("admin", "AdminKubeconfigRequest"), ("viewer", "ViewerKubeconfigRequest")] {
        let request = |seconds: Value| json!({ "apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": kind, "spec": { "expirationSeconds": seconds } });
        all.push(case(
            format!("garden::{what}_kubeconfig_is_issued"),
            ready().into_iter().chain([
                create(path(what), request(json!(600))).until_code(201).differs(PLACE, UNMANAGED),
                create(path(what), request(Value::Null)).differs(PLACE, UNMANAGED),
                create(path(what), request(json!(10 * 24 * 3600))).differs(PLACE, UNMANAGED),
                create(path(what), request(json!(600))).by_user("somebody").is(403),
            ]),
        ));
        all.push(case(
            format!("garden::{what}_kubeconfig_lives_long_enough"),
            ready().into_iter().chain([
                create(path(what), request(json!(599))).is(422),
                create(path(what), request(json!(-1))).is(422),
                create(path(what), request(json!(4_294_967_296_i64))).is(422),
            ]),
        ));
    }
    let admin = || json!({ "apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": "AdminKubeconfigRequest", "spec": {} });
    all.extend([
        case("garden::kubeconfig_needs_an_address", [
            create(SHOOTS, shoot("a")),
            create(path("admin"), admin()).is(422),
            create(format!("{SHOOTS}/none/adminkubeconfig"), admin()).is(404),
        ]),
        case("garden::kubeconfig_needs_an_authority", [
            create(SHOOTS, shoot("a")),
            addressed(),
            create(path("admin"), admin()).is(500),
        ]),
        case("garden::kubeconfig_is_only_created", [
            create(SHOOTS, shoot("a")),
            get(path("admin")).is(405),
            create(path("admin"), json!({ "apiVersion": "authentication.gardener.cloud/v1alpha1", "kind": "ViewerKubeconfigRequest" })).is(400),
        ]),
    ]);
    all
}

fn addressed() -> Step {
    merge(
        format!("{SHOOTS}/a/status"),
        json!({ "status": { "advertisedAddresses": [
        { "name": "external", "url": "https://api.example.com" }, { "name": "service-account-issuer", "url": "https://issuer.example.com" },
        { "name": "internal", "url": "https://internal.example.com:444/path" },
    ] } }),
    )
}

/// A Shoot for which kubeconfigs can be issued.
fn ready() -> Vec<Step> {
    let bundle = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a.ca-cluster" }, "data": { "ca.crt": "a bundle" } });
    vec![
        create(SHOOTS, shoot("a")),
        addressed(),
        create(INTERNAL_SECRETS, client_ca("a")),
        create("/api/v1/namespaces/{ns}/configmaps", bundle),
    ]
}
