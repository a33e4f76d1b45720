//! CredentialsBindings, SecretBindings and InternalSecrets.

use super::{BINDINGS, INTERNAL_SECRETS, NO_WARNING, SECRET_BINDINGS, SHOOTS, shoot, shoot_with};
use crate::script::*;
use serde_json::{Value, json};

pub fn cases() -> Vec<Case> {
    let mut all = credentials_bindings();
    all.extend(secret_bindings());
    all.extend(internal_secrets());
    all
}

fn binding(name: &str) -> Value {
    json!({
        "apiVersion": "security.gardener.cloud/v1alpha1", "kind": "CredentialsBinding",
        "metadata": { "name": name }, "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": "account", "namespace": "{ns}" },
    })
}

fn other(name: &str, pointer: &str, value: Value) -> Value {
    let mut binding = binding(name);
    super::set(&mut binding, pointer, value);
    binding
}

fn credentials_bindings() -> Vec<Case> {
    let path = |name: &str| format!("{BINDINGS}/{name}");
    let labels = |labels: Value| json!({ "metadata": { "labels": labels } });
    vec![
        case("garden::binding_is_created_and_read", [
            create(BINDINGS, binding("b")),
            get(path("b")),
            get(BINDINGS),
            get(path("none")).is(404),
            create(BINDINGS, binding("b")).is(409),
            delete(path("b")),
        ]),
        case("garden::binding_carries_the_state_of_a_pool", [
            watch("pool", &format!("{BINDINGS}?labelSelector=hyperscalerType=aws,!tenantName")),
            merge(path("account"), labels(json!({ "hyperscalerType": "aws" }))).save("rv", "/metadata/resourceVersion"),
            merge(path("account"), json!({ "metadata": { "resourceVersion": "{rv}", "labels": { "tenantName": "t1" } } })),
            merge(path("account"), json!({ "metadata": { "resourceVersion": "{rv}", "labels": { "tenantName": "t2" } } })).is(409),
            merge(path("account"), labels(json!({ "dirty": "true", "tenantName": null }))),
            collect("pool", 3),
        ]),
        case("garden::binding_may_not_change", [
            create(BINDINGS, binding("b")).save("rv", "/metadata/resourceVersion"),
            merge(path("b"), json!({ "provider": { "type": "gcp" } })).is(422),
            merge(path("b"), json!({ "credentialsRef": { "name": "other" } })).is(422),
            merge(path("b"), json!({ "quotas": [{ "name": "q", "namespace": "{ns}" }] })).is(422),
            update(path("b"), binding("b")).is(422),
                update(path("b"), other("b", "/metadata", json!({ "name": "b", "resourceVersion": "{rv}", "labels": { "a": "b" } }))),
                update(path("b"), other("b", "/metadata/resourceVersion", json!("{rv}"))).is(409),
            ]),
        case("garden::binding_is_applied", [
            apply(path("b"), "first", binding("b")),
            apply(path("b"), "first", other("b", "/metadata/labels", json!({ "a": "b" }))),
            apply(path("b"), "second", json!({
                "apiVersion": "security.gardener.cloud/v1alpha1", "kind": "CredentialsBinding",
                "metadata": { "name": "b", "labels": { "a": "c" } },
            })).is(409),
            apply(path("b"), "first", binding("b")),
        ]),
        case("garden::binding_to_nothing", [
            create(BINDINGS, other("b", "/credentialsRef/name", json!("none"))).is(403),
            create(BINDINGS, other("b", "/credentialsRef/kind", json!("ConfigMap"))).is(422),
            create(BINDINGS, other("b", "/credentialsRef/namespace", Value::Null)).is(422),
            create(BINDINGS, other("b", "/credentialsRef", Value::Null)).is(422),
            create(BINDINGS, other("b", "/provider", Value::Null)).is(422),
            create(BINDINGS, other("b", "/provider/type", json!("aws,gcp"))).is(422),
        ]),
        case("garden::binding_to_an_internal_secret", [
            create(INTERNAL_SECRETS, json!({
                "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "metadata": { "name": "i" },
            })),
            create(BINDINGS, other("b", "/credentialsRef", json!({
                "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "name": "i", "namespace": "{ns}",
            })))
            .until_code(201),
        ]),
        case("garden::binding_of_another_provider", [
            create(BINDINGS, other("b", "/provider/type", json!("gcp"))),
            create(SHOOTS, shoot_with("a", "/spec/credentialsBindingName", json!("b"))).until_code(403)
                .until(Until::Is("/details/name", json!("a"))),
        ]),
        case("garden::binding_in_use_goes", [
            create(BINDINGS, binding("b")),
            create(SHOOTS, shoot_with("a", "/spec/credentialsBindingName", json!("b"))).until_code(201),
            delete(path("b")),
            merge(format!("{SHOOTS}/a?dryRun=All"), json!({ "metadata": { "labels": { "a": "b" } } })).until_code(500),
        ]),
        case("garden::binding_by_somebody_else", [
            create(BINDINGS, binding("b")).by_user("somebody").is(403),
            get(path("account")).by_user("somebody").is(403),
            create(SHOOTS, shoot("a")).by_user("somebody").is(403),
        ]),
    ]
}

fn secret_bindings() -> Vec<Case> {
    let path = |name: &str| format!("{SECRET_BINDINGS}/{name}");
    let binding = |name: &str, provider: Value| {
        json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "SecretBinding", "metadata": { "name": name },
            "provider": provider, "secretRef": { "name": "account", "namespace": "{ns}" },
        })
    };
    let aws = || json!({ "type": "aws" });
    vec![
        case(
            "garden::secret_binding_is_created_and_read",
            [
                create(SECRET_BINDINGS, binding("b", aws())),
                get(path("b")),
                get(SECRET_BINDINGS),
                merge(path("b"), json!({ "metadata": { "labels": { "a": "b" } } })),
                create(SECRET_BINDINGS, binding("b", aws())).is(409).differs("/warnings", NO_WARNING),
                delete(path("b")),
                get(path("b")).is(404),
            ],
        ),
        case(
            "garden::secret_binding_may_not_change",
            [
                create(SECRET_BINDINGS, binding("b", aws())),
                merge(path("b"), json!({ "provider": { "type": "gcp" } })).is(422),
                merge(path("b"), json!({ "secretRef": { "name": "other" } })).is(422),
            ],
        ),
        case(
            "garden::secret_binding_to_nothing",
            [
                create(SECRET_BINDINGS, binding("b", Value::Null)).is(422),
                create(SECRET_BINDINGS, binding("b", json!({ "type": "" }))).is(422),
                create(SECRET_BINDINGS, {
                    let mut binding = binding("b", aws());
                    binding["secretRef"]["name"] = json!("none");
                    binding
                })
                .is(403)
                .differs("/warnings", NO_WARNING),
            ],
        ),
    ]
}

fn internal_secrets() -> Vec<Case> {
    let path = |name: &str| format!("{INTERNAL_SECRETS}/{name}");
    let secret = |name: &str| json!({ "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "metadata": { "name": name } });
    let with = |name: &str, field: &str, value: Value| {
        let mut secret = secret(name);
        secret[field] = value;
        secret
    };
    vec![
        case(
            "garden::internal_secret_is_created_and_read",
            [
                create(INTERNAL_SECRETS, with("s", "stringData", json!({ "k": "v" }))),
                get(path("s")),
                merge(path("s"), json!({ "stringData": { "l": "w" } })),
                update(path("s"), with("s", "data", json!({ "k": "dg==" }))),
                get(INTERNAL_SECRETS),
                delete(path("s")),
            ],
        ),
        case(
            "garden::internal_secret_keeps_its_type",
            [
                create(INTERNAL_SECRETS, secret("s")),
                merge(path("s"), json!({ "type": "other" })).is(422),
                create(INTERNAL_SECRETS, with("t", "type", json!("kubernetes.io/tls"))).is(422),
                create(INTERNAL_SECRETS, with("t", "data", json!({ "not a key": "dg==" }))).is(422),
            ],
        ),
        case(
            "garden::internal_secret_may_be_immutable",
            [
                create(INTERNAL_SECRETS, with("s", "immutable", json!(true))),
                merge(path("s"), json!({ "data": { "k": "dg==" } })).is(422),
                merge(path("s"), json!({ "immutable": false })).is(422),
                merge(path("s"), json!({ "metadata": { "labels": { "a": "b" } } })),
            ],
        ),
        case(
            "garden::internal_secret_is_applied",
            [
                apply(path("s"), "first", with("s", "data", json!({ "k": "dg==" }))),
                apply(path("s"), "second", with("s", "data", json!({ "l": "dg==" }))),
                apply(path("s"), "second", with("s", "data", json!({ "k": "dw==" }))).is(409),
            ],
        ),
    ]
}
