//! ServiceAccounts and their tokens.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

const TOKEN: &str = "/api/v1/namespaces/{ns}/serviceaccounts/bot/token";
const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const REVIEW: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

fn account() -> Step {
    create(ACCOUNTS, json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "bot" } }))
        .save("uid", "/metadata/uid")
}

fn request(spec: Value) -> Step {
    create(TOKEN, json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec }))
        .save("token", "/status/token")
}

fn who_am_i() -> Step {
    create(WHO, json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" }))
}

fn review(token: &str, audiences: Value) -> Step {
    create(REVIEW, json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token, "audiences": audiences } }))
        .ignore("/body/spec/token")
}

fn bound_to(kind: &str, name: &str, uid: &str) -> Value {
    json!({ "boundObjectRef": { "apiVersion": "v1", "kind": kind, "name": name, "uid": uid } })
}

pub fn cases() -> Vec<Case> {
    vec![
        case(
            "tokens::let_an_account_in",
            [
                account(),
                request(json!({})),
                who_am_i().by_token("{token}"),
                get(format!("{CONFIG_MAPS}/x")).by_token("{token}").is(403),
            ],
        ),
        case(
            "tokens::end_with_their_account",
            [
                account(),
                request(json!({})),
                who_am_i().by_token("{token}"),
                delete(format!("{ACCOUNTS}/bot")),
                who_am_i().by_token("{token}").until_code(401),
                request(json!({})).is(404),
            ],
        ),
        case(
            "tokens::do_not_work_for_a_new_account_of_the_same_name",
            [
                account(),
                request(json!({})),
                delete(format!("{ACCOUNTS}/bot")),
                account(),
                who_am_i().by_token("{token}").until_code(401),
            ],
        ),
        case(
            "tokens::end_with_the_secret_they_are_bound_to",
            [
                account(),
                create(SECRETS, secret("s", json!({}))).save("secret", "/metadata/uid"),
                request(bound_to("Secret", "s", "{secret}")),
                who_am_i().by_token("{token}"),
                delete(format!("{SECRETS}/s")),
                who_am_i().by_token("{token}").until_code(401),
            ],
        ),
        case(
            "tokens::bound_to_what_is_not_there",
            [
                account(),
                request(bound_to("Secret", "none", "")).is(404),
                create(SECRETS, secret("s", json!({}))),
                request(bound_to("Secret", "s", "00000000-0000-0000-0000-000000000000")).is(409),
                request(bound_to("ConfigMap", "s", "")).is(400),
            ],
        ),
        case(
            "tokens::have_audiences",
            [
                account(),
                request(json!({ "audiences": ["one", "two"] })),
                who_am_i().by_token("{token}").is(401),
                review("{token}", json!(["two", "three"])),
                review("{token}", json!(["three"])),
                review("{token}", json!([])),
            ],
        ),
        case(
            "tokens::expire",
            [
                account(),
                request(json!({ "expirationSeconds": 600 })),
                request(json!({ "expirationSeconds": 86400 })),
                request(json!({ "expirationSeconds": 599 })).is(422),
                request(json!({ "expirationSeconds": 5_000_000_000_i64 })).is(422),
            ],
        ),
        case(
            "tokens::are_reviewed",
            [
                account(),
                request(json!({})),
                review("{token}", Value::Null),
                review("not-a-token", Value::Null),
                review("", Value::Null).is(400),
            ],
        ),
        case(
            "tokens::that_are_not_tokens",
            [
                get("/api/v1/namespaces/{ns}").by_token("abc").is(401),
                get("/api/v1/namespaces/{ns}").by_token("a.b.c").is(401),
                get("/api/v1/namespaces/{ns}").by(Who::Nobody).is(403),
                get("/version").by(Who::Nobody).ignore("/body"),
            ],
        ),
        case(
            "tokens::only_for_who_may_ask",
            [
                account(),
                request(json!({})).by_user("eve").is(403),
                create(
                    "/api/v1/namespaces/{ns}/serviceaccounts/none/token",
                    json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} }),
                )
                .is(404),
                create(TOKEN, json!({ "apiVersion": "v1", "kind": "ConfigMap" })).is(400),
                get(TOKEN).is(405),
            ],
        ),
        case(
            "tokens::act_with_the_rights_of_the_account",
            [
                account(),
                request(json!({})),
                create(
                    ROLES,
                    json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "reader" }, "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create"] }] }),
                ),
                create(
                    ROLE_BINDINGS,
                    json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "bot" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" }, "subjects": [{ "kind": "ServiceAccount", "name": "bot", "namespace": "{ns}" }] }),
                ),
                create(format!("{CONFIG_MAPS}?dryRun=All"), config_map("own", json!({})))
                    .by_token("{token}")
                    .until_code(201),
                create(CONFIG_MAPS, config_map("own", json!({}))).by_token("{token}"),
                get(format!("{CONFIG_MAPS}/own")).by_token("{token}"),
                delete(format!("{CONFIG_MAPS}/own")).by_token("{token}").is(403),
                get(CONFIG_MAPS).by_token("{token}").is(403),
            ],
        ),
        case(
            "tokens::in_a_secret_the_old_way",
            [
                account(),
                create(
                    SECRETS,
                    json!({ "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": { "name": "s", "annotations": { "kubernetes.io/service-account.name": "none" } } }),
                ),
                get(format!("{SECRETS}/s")).until_code(404),
            ],
        ),
    ]
}
