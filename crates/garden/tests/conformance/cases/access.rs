//! RBAC as it is enforced, and as it is asked about.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

fn role(kind: &str, name: &str, rules: Value) -> Value {
    json!({ "apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": { "name": name }, "rules": rules })
}

fn bind(kind: &str, name: &str, role_kind: &str, role: &str, subject: Value) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": { "name": name },
        "roleRef": { "apiGroup": RBAC, "kind": role_kind, "name": role }, "subjects": [subject]
    })
}

fn user(name: &str) -> Value {
    json!({ "kind": "User", "apiGroup": RBAC, "name": name })
}

fn group(name: &str) -> Value {
    json!({ "kind": "Group", "apiGroup": RBAC, "name": name })
}

fn readers() -> [Step; 2] {
    [
        create(
            ROLES,
            role(
                "Role",
                "reader",
                json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] }]),
            ),
        ),
        create(ROLE_BINDINGS, bind("RoleBinding", "readers", "Role", "reader", user("{ns}-alice"))),
    ]
}

pub fn cases() -> Vec<Case> {
    let mut all = enforced();
    all.extend(cluster_wide());
    all.extend(aggregated());
    all.extend(escalation());
    all.extend(reviews());
    all.extend(impersonation());
    all
}

fn enforced() -> Vec<Case> {
    let with_readers = |rest: Vec<Step>| readers().into_iter().chain(rest).collect::<Vec<_>>();
    let root = format!("{CONFIG_MAPS}/kube-root-ca.crt");
    vec![
        case(
            "rbac::a_role_lets_read",
            with_readers(vec![
                get(root.clone())
                    .by_user("{ns}-alice")
                    .until_code(200)
                    .ignore("/body/metadata/managedFields"),
                get(CONFIG_MAPS).by_user("{ns}-alice").ignore("/body/items/0/metadata/managedFields"),
                create(CONFIG_MAPS, config_map("a", json!({}))).by_user("{ns}-alice").is(403),
                get(SECRETS).by_user("{ns}-alice").is(403),
                get("/api/v1/configmaps").by_user("{ns}-alice").is(403),
                get("/api/v1/namespaces/default/configmaps").by_user("{ns}-alice").is(403),
                get(root.clone()).by_user("{ns}-bob").is(403),
            ]),
        ),
        case(
            "rbac::a_binding_that_goes_takes_the_right_with_it",
            with_readers(vec![
                get(root.clone()).by_user("{ns}-alice").until_code(200).ignore("/body"),
                delete(format!("{ROLE_BINDINGS}/readers")),
                get(root.clone()).by_user("{ns}-alice").until_code(403),
            ]),
        ),
        case(
            "rbac::names_limit_a_rule",
            vec![
                create(
                    ROLES,
                    role(
                        "Role",
                        "one",
                        json!([{ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"], "verbs": ["get", "update", "patch", "create"] }]),
                    ),
                ),
                create(ROLE_BINDINGS, bind("RoleBinding", "one", "Role", "one", user("{ns}-alice"))),
                create(CONFIG_MAPS, config_map("mine", json!({}))),
                get(format!("{CONFIG_MAPS}/mine")).by_user("{ns}-alice").until_code(200),
                get(root.clone()).by_user("{ns}-alice").is(403),
                create(CONFIG_MAPS, config_map("mine", json!({}))).by_user("{ns}-alice").is(403),
                merge(format!("{CONFIG_MAPS}/mine"), json!({ "data": { "k": "v" } })).by_user("{ns}-alice"),
            ],
        ),
        case(
            "rbac::subresources_are_apart",
            vec![
                create(
                    ROLES,
                    role(
                        "Role",
                        "w",
                        json!([{ "apiGroups": ["{group}"], "resources": ["widgets/status"], "verbs": ["patch", "get"] }]),
                    ),
                ),
                create(ROLE_BINDINGS, bind("RoleBinding", "w", "Role", "w", user("{ns}-alice"))),
                create(WIDGETS, widget("a", json!({}))),
                get(format!("{WIDGETS}/a/status")).by_user("{ns}-alice").until_code(200),
                merge(format!("{WIDGETS}/a/status"), json!({ "status": { "phase": "P" } }))
                    .by_user("{ns}-alice"),
                merge(format!("{WIDGETS}/a"), json!({})).by_user("{ns}-alice").is(403),
                get(format!("{WIDGETS}/a")).by_user("{ns}-alice").is(403),
            ],
        ),
        case(
            "rbac::groups",
            vec![
                create(
                    ROLES,
                    role("Role", "r", json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }])),
                ),
                create(ROLE_BINDINGS, bind("RoleBinding", "r", "Role", "r", group("{ns}-staff"))),
                get(CONFIG_MAPS)
                    .by(Who::As("{ns}-carol".into(), vec!["{ns}-staff".into()]))
                    .until_code(200)
                    .ignore("/body/items/0/metadata/managedFields"),
                create(CONFIG_MAPS, config_map("a", json!({})))
                    .by(Who::As("{ns}-carol".into(), vec!["{ns}-staff".into()])),
                get(CONFIG_MAPS).by(Who::As("{ns}-carol".into(), vec!["{ns}-guests".into()])).is(403),
            ],
        ),
        case(
            "rbac::apply_that_creates_needs_to_create",
            vec![
                create(
                    ROLES,
                    role(
                        "Role",
                        "p",
                        json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch", "get"] }]),
                    ),
                ),
                create(ROLE_BINDINGS, bind("RoleBinding", "p", "Role", "p", user("{ns}-alice"))),
                get(root).by_user("{ns}-alice").until_code(200).ignore("/body"),
                apply(format!("{CONFIG_MAPS}/a"), "one", config_map("a", json!({})))
                    .by_user("{ns}-alice")
                    .is(403),
                create(CONFIG_MAPS, config_map("a", json!({}))),
                apply(format!("{CONFIG_MAPS}/a"), "one", config_map("a", json!({ "k": "v" })))
                    .by_user("{ns}-alice"),
            ],
        ),
    ]
}

fn cluster_wide() -> Vec<Case> {
    vec![
        case(
            "rbac::a_cluster_role_in_one_namespace",
            [
                create(
                    CLUSTER_ROLES,
                    role(
                        "ClusterRole",
                        "{ns}-r",
                        json!([{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["list"] }]),
                    ),
                ),
                create(ROLE_BINDINGS, bind("RoleBinding", "r", "ClusterRole", "{ns}-r", user("{ns}-alice"))),
                get(SECRETS).by_user("{ns}-alice").until_code(200),
                get("/api/v1/secrets").by_user("{ns}-alice").is(403),
            ],
        ),
        case(
            "rbac::a_cluster_role_everywhere",
            [
                create(
                    CLUSTER_ROLES,
                    role(
                        "ClusterRole",
                        "{ns}-r",
                        json!([
                            { "apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"] },
                            { "nonResourceURLs": ["/metrics", "/healthz/*"], "verbs": ["get"] }
                        ]),
                    ),
                ),
                create(
                    CLUSTER_ROLE_BINDINGS,
                    bind("ClusterRoleBinding", "{ns}-r", "ClusterRole", "{ns}-r", user("{ns}-alice")),
                ),
                get("/api/v1/namespaces/{ns}").by_user("{ns}-alice").until_code(200),
                get("/api/v1/namespaces").by_user("{ns}-alice").is(403),
                get("/metrics/other").by_user("{ns}-alice").is(403),
            ],
        ),
        case(
            "rbac::the_role_of_a_binding_stays",
            [
                create(ROLE_BINDINGS, bind("RoleBinding", "b", "Role", "one", user("x"))),
                merge(format!("{ROLE_BINDINGS}/b"), json!({ "roleRef": { "name": "two" } })).is(422),
                merge(format!("{ROLE_BINDINGS}/b"), json!({ "subjects": null })),
            ],
        ),
        case(
            "rbac::objects_that_are_not_valid",
            [
                create(
                    ROLES,
                    role(
                        "Role",
                        "r",
                        json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": [] }]),
                    ),
                )
                .is(422),
                create(ROLES, role("Role", "r", json!([{ "verbs": ["get"] }]))).is(422),
                create(ROLES, role("Role", "r", json!([{ "nonResourceURLs": ["/x"], "verbs": ["get"] }])))
                    .is(422),
                create(ROLE_BINDINGS, bind("RoleBinding", "b", "Thing", "r", user("x"))).is(422),
                create(ROLE_BINDINGS, bind("RoleBinding", "b", "Role", "", user("x"))).is(422),
                create(
                    ROLE_BINDINGS,
                    bind("RoleBinding", "b", "Role", "r", json!({ "kind": "Robot", "name": "x" })),
                )
                .is(422),
                create(
                    ROLE_BINDINGS,
                    bind("RoleBinding", "b", "Role", "r", json!({ "kind": "ServiceAccount", "name": "x" })),
                ),
                create(CLUSTER_ROLE_BINDINGS, bind("ClusterRoleBinding", "{ns}-b", "Role", "r", user("x")))
                    .is(422),
                create(
                    ROLE_BINDINGS,
                    bind("RoleBinding", "c", "Role", "r", json!({ "kind": "User", "name": "x" })),
                ),
            ],
        ),
    ]
}

fn aggregated() -> Vec<Case> {
    let sum = || {
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": { "name": "{ns}-sum" }, "rules": [],
            "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "add-to": "{ns}" } }] }
        })
    };
    let part = |name: &str, resource: &str| {
        let mut role = role(
            "ClusterRole",
            name,
            json!([{ "apiGroups": [""], "resources": [resource], "verbs": ["get"] }]),
        );
        role["metadata"]["labels"] = json!({ "add-to": "{ns}" });
        role
    };
    let whole = format!("{CLUSTER_ROLES}/{{ns}}-sum");
    vec![
        case(
            "rbac::aggregated_roles_gather_rules",
            [
                get("/api/v1/namespaces/{ns}"),
                create(CLUSTER_ROLES, sum()),
                create(CLUSTER_ROLES, part("{ns}-a", "configmaps")),
                create(CLUSTER_ROLES, part("{ns}-b", "secrets")),
                get(whole.clone()).until(Until::Count("/rules", 2)),
                delete(format!("{CLUSTER_ROLES}/{{ns}}-a")),
                get(whole).until(Until::Count("/rules", 1)),
            ],
        ),
        case(
            "rbac::aggregated_roles_can_be_used",
            [
                create(CLUSTER_ROLES, part("{ns}-a", "configmaps")),
                create(CLUSTER_ROLES, sum()),
                create(
                    CLUSTER_ROLE_BINDINGS,
                    bind("ClusterRoleBinding", "{ns}-sum", "ClusterRole", "{ns}-sum", user("{ns}-alice")),
                ),
                get(format!("{CONFIG_MAPS}/kube-root-ca.crt"))
                    .by_user("{ns}-alice")
                    .until_code(200)
                    .ignore("/body"),
                get(format!("{SECRETS}/x")).by_user("{ns}-alice").is(403),
            ],
        ),
        case(
            "rbac::the_roles_of_every_cluster",
            [
                get(format!("{CLUSTER_ROLES}/cluster-admin")).ignore("/body/metadata/managedFields"),
                get(format!("{CLUSTER_ROLES}/system:discovery")).ignore("/body/metadata/managedFields"),
                get(format!("{CLUSTER_ROLES}/system:basic-user")).ignore("/body/metadata/managedFields"),
                get(format!("{CLUSTER_ROLE_BINDINGS}/cluster-admin")).ignore("/body/metadata/managedFields"),
                get(format!("{CLUSTER_ROLES}/view"))
                    .ignore("/body/metadata/managedFields")
                    .ignore("/body/rules"),
            ],
        ),
    ]
}

fn escalation() -> Vec<Case> {
    let writer = || {
        create(
            ROLES,
            role(
                "Role",
                "w",
                json!([
                    { "apiGroups": [RBAC], "resources": ["roles", "rolebindings"], "verbs": ["create", "update", "patch"] },
                    { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] }
                ]),
            ),
        )
    };
    let bound = || create(ROLE_BINDINGS, bind("RoleBinding", "w", "Role", "w", user("{ns}-alice")));
    vec![case(
        "rbac::nobody_gives_more_than_they_have",
        [
            writer(),
            bound(),
            create(
                format!("{ROLES}?dryRun=All"),
                role(
                    "Role",
                    "fine",
                    json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] }]),
                ),
            )
            .by_user("{ns}-alice")
            .until_code(201),
            create(
                ROLES,
                role(
                    "Role",
                    "more",
                    json!([{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }]),
                ),
            )
            .by_user("{ns}-alice")
            .is(403),
            create(
                ROLE_BINDINGS,
                bind("RoleBinding", "more", "ClusterRole", "cluster-admin", user("{ns}-alice")),
            )
            .by_user("{ns}-alice")
            .is(403),
            create(ROLE_BINDINGS, bind("RoleBinding", "none", "Role", "missing", user("{ns}-alice")))
                .by_user("{ns}-alice")
                .is(404),
            create(ROLE_BINDINGS, bind("RoleBinding", "same", "Role", "w", user("{ns}-bob")))
                .by_user("{ns}-alice"),
        ],
    )]
}

fn review(kind: &str, plural: &str, spec: Value) -> Step {
    create(
        format!("{REVIEWS}/{plural}"),
        json!({ "apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec }),
    )
}

fn reviews() -> Vec<Case> {
    let may = |verb: &str, resource: &str| json!({ "resourceAttributes": { "namespace": "{ns}", "verb": verb, "resource": resource } });
    let mine = |spec: Value| {
        review("SelfSubjectAccessReview", "selfsubjectaccessreviews", spec).by_user("{ns}-alice")
    };
    let of = |spec: Value| review("SubjectAccessReview", "subjectaccessreviews", spec);
    let with = |mut spec: Value, field: &str, value: Value| {
        spec[field] = value;
        spec
    };
    let with_readers = |rest: Vec<Step>| readers().into_iter().chain(rest).collect::<Vec<_>>();
    vec![
        case("reviews::may_i", with_readers(vec![
            mine(may("get", "configmaps")).until(Until::Is("/status/allowed", json!(true))),
            mine(may("delete", "configmaps")),
            mine(json!({ "nonResourceAttributes": { "path": "/apis", "verb": "get" } })),
            mine(json!({ "nonResourceAttributes": { "path": "/secret", "verb": "get" } })),
            review("SelfSubjectAccessReview", "selfsubjectaccessreviews", may("delete", "configmaps")),
        ])),
        case("reviews::may_they", with_readers(vec![
            of(with(may("get", "configmaps"), "user", json!("{ns}-alice"))).until(Until::Is("/status/allowed", json!(true))),
            of(with(may("get", "configmaps"), "user", json!("{ns}-bob"))),
            of(with(may("get", "secrets"), "groups", json!(["system:masters"]))),
            of(may("get", "configmaps")).is(422),
            of(with(json!({}), "user", json!("x"))).is(422),
            of(with(may("get", "configmaps"), "user", json!("x"))).by_user("{ns}-alice").is(403),
        ])),
        case("reviews::in_a_namespace", with_readers(vec![
            create("/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews", json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "metadata": { "namespace": "{ns}" }, "spec": with(may("get", "configmaps"), "user", json!("{ns}-alice")) })).until(Until::Is("/status/allowed", json!(true))),
        ])),
        case("reviews::what_may_i", with_readers(vec![
            mine(may("get", "configmaps")).until(Until::Is("/status/allowed", json!(true))),
            review("SelfSubjectRulesReview", "selfsubjectrulesreviews", json!({ "namespace": "{ns}" })).by_user("{ns}-alice"),
            review("SelfSubjectRulesReview", "selfsubjectrulesreviews", json!({ "namespace": "" })).is(400),
        ])),
        case("reviews::who_am_i", [
            create("/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" })).by(Who::As("{ns}-alice".into(), vec!["staff".into()])),
            get("/apis/authentication.k8s.io/v1/selfsubjectreviews").is(405),
            get("/api/v1/namespaces/{ns}"),
        ]),
    ]
}

fn impersonation() -> Vec<Case> {
    vec![
        case(
            "impersonation::of_groups_and_accounts",
            [
                get("/api/v1/namespaces/{ns}").by(Who::As("anybody".into(), vec!["system:masters".into()])),
                get("/api/v1/namespaces/{ns}")
                    .by(Who::As("system:serviceaccount:{ns}:default".into(), vec![]))
                    .is(403),
                create(
                    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                    json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" }),
                )
                .by(Who::As("system:serviceaccount:{ns}:default".into(), vec![])),
                get("/api/v1/namespaces/{ns}").by(Who::As("system:anonymous".into(), vec![])).is(403),
            ],
        ),
        case(
            "impersonation::only_for_who_may",
            [
                create(
                    ACCOUNTS,
                    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "bot" } }),
                ),
                create(
                    "/api/v1/namespaces/{ns}/serviceaccounts/bot/token",
                    json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} }),
                )
                .save("token", "/status/token"),
                get("/api/v1/namespaces/{ns}").by_token("{token}").is(403),
            ],
        ),
    ]
}
