//! Every way to write, and subresources.

use super::*;

pub fn writes() -> Vec<Case> {
    let fixed = || {
        policy(vec![
            json!({ "expression": "object == null || !has(object.data) || !('bad' in object.data)", "message": "bad" }),
        ])
    };
    let bad = || json!({ "data": { "bad": "" } });
    let kept = || {
        policy(vec![
            json!({ "expression": "object != null || !has(oldObject.metadata.labels) || oldObject.metadata.labels['keep'] != 'yes'", "message": "kept",
        "messageExpression": "'kept ' + oldObject.metadata.name + (has(request.name) ? ' by name' : ' among all')" }),
        ])
    };
    let labelled =
        |name: &str, value: &str| with(map(name), json!({ "metadata": { "labels": { "keep": value } } }));
    vec![
        policed(
            "denies_every_way_to_write",
            fixed(),
            [
                create(CONFIG_MAPS, map("a")),
                create(CONFIG_MAPS, config_map("b", json!({ "bad": "" }))).is(422),
                create(CONFIG_MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "g-" }, "data": { "bad": "" } }))
                    .is(422)
                    .ignore("/body/message")
                    .ignore("/body/details"),
                update(of("a"), config_map("a", json!({ "bad": "" }))).is(422),
                merge(of("a"), bad()).is(422),
                strategic(of("a"), bad()).is(422),
                json_patch(of("a"), json!([{ "op": "add", "path": "/data/bad", "value": "" }])).is(422),
                apply(of("a"), "me", config_map("a", json!({ "bad": "" }))).is(422),
                apply(of("new"), "me", config_map("new", json!({ "bad": "" }))).is(422),
                get(of("a")),
                get(of("new")).is(404),
            ],
        ),
        policed(
            "speaks_before_what_is_there_and_after_what_is_wrong",
            fixed(),
            [
                create(CONFIG_MAPS, map("a")),
                create(CONFIG_MAPS, config_map("a", json!({ "bad": "" }))).is(422),
                create(CONFIG_MAPS, config_map("a", json!({ "bad": "", "not ok": "" }))).is(422),
                update(of("none"), config_map("none", json!({ "bad": "" }))).is(404),
                update(of("a"), with(config_map("a", json!({ "bad": "" })), json!({ "metadata": { "resourceVersion": "1" } }))).is(409),
                create(CONFIG_MAPS, config_map("a", json!({ "bad": "" }))).by_user("{ns}-nobody").is(403),
            ],
        ),
        policed(
            "denies_a_write_that_changes_nothing",
            with(fixed(), json!({ "spec": { "matchConditions": [{ "name": "c", "expression": "request.operation != 'CREATE' || object.metadata.name == 'probe'" }] } })),
            [
                create(CONFIG_MAPS, config_map("a", json!({ "bad": "" }))),
                merge(of("a"), json!({})).is(422),
                delete(of("a")),
            ],
        ),
        policed(
            "denies_the_removal_of_the_last_finalizer",
            policy(vec![json!({ "expression": "object == null || !has(object.metadata.deletionTimestamp) || has(object.metadata.finalizers)", "message": "held" })]),
            [
                create(CONFIG_MAPS, with(map("a"), json!({ "metadata": { "finalizers": ["example.com/a"] } }))),
                delete(of("a")),
                merge(of("a"), json!({ "metadata": { "finalizers": null } })).is(422),
                delete(format!("{BINDINGS}/{{ns}}")),
                create(format!("{CONFIG_MAPS}?dryRun=All"), map("probe")).until_code(201),
                merge(of("a"), json!({ "metadata": { "finalizers": null } })),
            ],
        ),
        policed(
            "denies_deletions",
            kept(),
            [
                create(CONFIG_MAPS, labelled("a", "yes")),
                delete(of("a")).is(422),
                delete(format!("{}?dryRun=All", of("a"))).is(422),
                delete_with(of("a"), json!({ "preconditions": { "uid": "other" } })).is(409),
                delete(of("none")).is(404),
                delete(format!("{CONFIG_MAPS}?labelSelector=keep=yes")).is(422),
                get(of("a")),
                merge(of("a"), json!({ "metadata": { "labels": { "keep": "no" } } })),
                delete(of("a")),
            ],
        ),
        case(
            "policy::denies_deletions_of_custom_objects",
            [
                create(POLICIES, with(kept(), json!({ "spec": { "matchConstraints": { "resourceRules": [
                    rule("", json!(["configmaps"]), json!(["CREATE"])),
                    { "apiGroups": ["{group}"], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["widgets"] }
                ] } } }))),
                create(BINDINGS, binding(json!(["Deny"]))),
                probed(),
                create(WIDGETS, with(widget("a", json!({})), json!({ "metadata": { "labels": { "keep": "yes" } } }))),
                create(WIDGETS, widget("b", json!({}))),
                delete(format!("{WIDGETS}/a")).is(422),
                delete(format!("{WIDGETS}/b")),
                delete(format!("{WIDGETS}?labelSelector=keep")).is(422),
                get(format!("{WIDGETS}/a")),
            ],
        ),
        case(
            "policy::holds_a_namespace_that_ends",
            [
                create(NAMESPACES, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}-ends" } })),
                create("/api/v1/namespaces/{ns}-ends/configmaps", labelled("a", "yes")),
                create(
                    POLICIES,
                    with(
                        kept(),
                        json!({ "spec": { "matchConstraints": { "namespaceSelector": { "matchLabels": {
                            "kubernetes.io/metadata.name": "{ns}-ends"
                        } } } } }),
                    ),
                ),
                create(BINDINGS, binding(json!(["Deny"]))),
                create("/api/v1/namespaces/{ns}-ends/configmaps?dryRun=All", map("probe")).until_code(422),
                delete(format!("{NAMESPACES}/{{ns}}-ends")),
                // As soon as it is being emptied, what may go is gone.
                get("/api/v1/namespaces/{ns}-ends/serviceaccounts/default").until_code(404),
                get("/api/v1/namespaces/{ns}-ends/configmaps/a"),
                delete(format!("{BINDINGS}/{{ns}}")),
                get(format!("{NAMESPACES}/{{ns}}-ends")).until_code(404),
            ],
        ),
        policed(
            "does_not_see_reviews",
            with(policy(vec![says("'matched'")]), json!({ "spec": { "matchConstraints": { "resourceRules": [
                rule("", json!(["configmaps"]), json!(["CREATE"])),
                { "apiGroups": ["authorization.k8s.io"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"] }
            ] } } })),
            [create(
                "/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews",
                json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "metadata": { "namespace": "{ns}" },
                    "spec": { "user": "u", "resourceAttributes": { "namespace": "{ns}", "verb": "get", "resource": "configmaps" } } }),
            )
            .ignore("/body/metadata")],
        ),
    ]
}

pub fn subresources() -> Vec<Case> {
    let of_widgets = |resources: Value| {
        with(
            policy(vec![json!({
                "expression": "object.kind != 'Widget' || !has(object.status) || !has(object.status.phase) || object.status.phase != 'Bad'",
                "message": "failed",
                "messageExpression": "request.subResource + ' ' + request.requestSubResource + ' ' + request.kind.kind + ' ' + string(has(oldObject.status))"
            })]),
            json!({ "spec": { "matchConstraints": { "resourceRules": [
                rule("", json!(["configmaps"]), json!(["CREATE"])),
                { "apiGroups": ["{group}"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": resources }
            ] } } }),
        )
    };
    let status = |phase: &str| json!({ "status": { "phase": phase } });
    vec![
        policed(
            "sees_the_status",
            of_widgets(json!(["widgets/status"])),
            [
                create(WIDGETS, widget("a", json!({}))),
                merge(format!("{WIDGETS}/a/status"), status("Bad")).is(422),
                merge(format!("{WIDGETS}/a/status"), status("Good")),
                apply_by_force(format!("{WIDGETS}/a/status"), "me", with(widget("a", json!({})), status("Bad"))).is(422),
                merge(format!("{WIDGETS}/a"), json!({ "spec": { "size": 3 } })),
            ],
        ),
        policed(
            "does_not_see_the_status_of_a_rule_without",
            of_widgets(json!(["widgets"])),
            [
                create(WIDGETS, widget("a", json!({}))),
                merge(format!("{WIDGETS}/a/status"), status("Bad")),
                merge(format!("{WIDGETS}/a"), json!({ "spec": { "size": 3 } })).is(422).ignore("/body"),
            ],
        ),
        policed(
            "sees_all_subresources",
            of_widgets(json!(["widgets/*"])),
            [create(WIDGETS, widget("a", json!({}))), merge(format!("{WIDGETS}/a/status"), status("Bad")).is(422)],
        ),
        policed(
            "sees_requests_for_tokens",
            with(
                policy(vec![json!({
                    "expression": "object.kind != 'TokenRequest' || object.spec.expirationSeconds <= 3600", "message": "failed",
                    "messageExpression": "request.name + ' ' + request.subResource + ' ' + request.kind.group + ' ' + request.kind.kind + ' ' + request.resource.resource + ' ' + string(object.spec.expirationSeconds)"
                })]),
                json!({ "spec": { "matchConstraints": { "resourceRules": [
                    rule("", json!(["configmaps", "serviceaccounts/token"]), json!(["CREATE"]))
                ] } } }),
            ),
            [
                create(format!("{ACCOUNTS}/default/token"), json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 7200 } })).is(422),
                create(format!("{ACCOUNTS}/default/token"), json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 3600 } })).ignore("/body"),
            ],
        ),
    ]
}
