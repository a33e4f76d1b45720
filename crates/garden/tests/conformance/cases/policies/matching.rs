//! Which writes a policy is about.

use super::*;

pub fn matching() -> Vec<Case> {
    let constraints =
        |more: Value| with(policy(vec![says("'matched'")]), json!({ "spec": { "matchConstraints": more } }));
    let labelled =
        |name: &str, value: &str| with(map(name), json!({ "metadata": { "labels": { "l": value } } }));
    let all = |resources: Value| json!([{ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": resources, "scope": "Namespaced" }]);
    vec![
        policed(
            "matches_operations",
            constraints(json!({ "resourceRules": [rule("", json!(["configmaps"]), json!(["UPDATE"])), with(rule("", json!(["configmaps"]), json!(["CREATE"])), json!({ "resourceNames": ["probe", "named"] }))] })),
            [
                create(CONFIG_MAPS, map("a")),
                create(CONFIG_MAPS, map("named")).is(422),
                merge(of("a"), json!({ "data": { "k": "w" } })).is(422),
                delete(of("a")),
                create(SECRETS, secret("s", json!({}))),
            ],
        ),
        policed(
            "leaves_out_what_is_excluded",
            constraints(json!({
                "resourceRules": all(json!(["*"])),
                "excludeResourceRules": [
                    with(rule("", json!(["configmaps"]), json!(["*"])), json!({ "resourceNames": ["free"] })),
                    rule("", json!(["secrets"]), json!(["*"])),
                    rule("coordination.k8s.io", json!(["*"]), json!(["CREATE"]))
                ]
            })),
            [
                create(CONFIG_MAPS, map("a")).is(422),
                create(CONFIG_MAPS, map("free")),
                create(SECRETS, secret("s", json!({}))),
                create(ACCOUNTS, json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "a" } })).is(422),
                create(LEASES, json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "l" } })),
                merge(format!("{LEASES}/l"), json!({ "spec": { "holderIdentity": "me" } })).is(422),
                create(WIDGETS, widget("w", json!({}))).is(422),
            ],
        ),
        case(
            "policy::matches_labels_of_new_and_old",
            [
                create(
                    POLICIES,
                    constraints(json!({ "objectSelector": { "matchExpressions": [{ "key": "l", "operator": "In", "values": ["yes"] }] } })),
                ),
                create(CONFIG_MAPS, labelled("c", "yes")),
                create(BINDINGS, binding(json!(["Deny"]))),
                create(format!("{CONFIG_MAPS}?dryRun=All"), labelled("probe", "yes")).until_code(422),
                create(CONFIG_MAPS, labelled("a", "no")),
                create(CONFIG_MAPS, labelled("b", "yes")).is(422),
                merge(of("a"), json!({ "metadata": { "labels": { "l": "yes" } } })).is(422),
                merge(of("c"), json!({ "metadata": { "labels": { "l": "no" } } })).is(422),
                delete(of("a")),
            ],
        ),
        policed(
            "matches_scopes",
            constraints(json!({ "resourceRules": [with(rule("", json!(["configmaps", "namespaces"]), json!(["CREATE", "UPDATE"])), json!({ "scope": "Namespaced" }))] })),
            [
                create(CONFIG_MAPS, map("a")).is(422),
                merge(format!("{NAMESPACES}/{{ns}}"), json!({ "metadata": { "labels": { "l": "yes" } } })),
            ],
        ),
        case(
            "policy::matches_what_is_in_no_namespace",
            [
                create(POLICIES, with(policy(vec![says("'matched ' + string(has(request.namespace)) + ' ' + string(namespaceObject == null)")]), json!({ "spec": { "matchConstraints": {
                    "resourceRules": [{ "apiGroups": ["{group}"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["gadgets"], "resourceNames": ["{ns}"], "scope": "Cluster" }]
                } } }))),
                create(BINDINGS, binding(json!(["Deny"]))),
                create(format!("{GADGETS}?dryRun=All"), gadget("{ns}", json!({}))).until_code(422),
                create(GADGETS, gadget("{ns}-other", json!({}))),
            ],
        ),
        case(
            "policy::is_limited_by_its_binding",
            [
                create(POLICIES, policy(vec![says("'matched'")])),
                create(BINDINGS, with(binding(json!(["Deny"])), json!({ "spec": { "matchResources": {
                    "resourceRules": [rule("", json!(["configmaps", "secrets"]), json!(["CREATE"]))],
                    "excludeResourceRules": [with(rule("", json!(["configmaps"]), json!(["CREATE"])), json!({ "resourceNames": ["free"] }))],
                    "objectSelector": { "matchLabels": { "l": "yes" } }
                } } }))),
                create(format!("{CONFIG_MAPS}?dryRun=All"), labelled("probe", "yes")).until_code(422),
                create(CONFIG_MAPS, labelled("a", "no")),
                create(CONFIG_MAPS, labelled("free", "yes")),
                create(CONFIG_MAPS, labelled("b", "yes")).is(422),
                merge(of("free"), json!({ "data": { "k": "w" } })),
                create(SECRETS, with(secret("s", json!({})), json!({ "metadata": { "labels": { "l": "yes" } } }))),
            ],
        ),
        policed(
            "does_not_match_another_namespace",
            constraints(json!({ "resourceRules": [rule("", json!(["configmaps", "namespaces"]), json!(["CREATE"]))] })),
            [
                create(format!("{NAMESPACES}?dryRun=All"), json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}-2" } })),
                create("/api/v1/namespaces/default/configmaps?dryRun=All", map("{ns}")),
            ],
        ),
        policed(
            "matches_the_other_face_of_a_kind",
            with(
                policy(vec![says(
                    "[request.kind.group, request.requestKind.group, request.resource.group, request.requestResource.group, \
                     string(object.apiVersion), string(object.note), string(has(object.message))].join(' ')",
                )]),
                json!({ "spec": { "matchConstraints": { "resourceRules": [
                    rule("", json!(["configmaps"]), json!(["CREATE"])), rule("events.k8s.io", json!(["events"]), json!(["CREATE"]))
                ] } } }),
            ),
            [create(EVENTS, json!({
                "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" }, "reason": "R", "type": "Normal", "message": "m",
                "involvedObject": { "kind": "ConfigMap", "name": "a", "namespace": "{ns}" }
            })).is(422)],
        ),
        policed(
            "matches_exactly_if_it_says_so",
            constraints(json!({ "matchPolicy": "Exact", "resourceRules": [
                rule("", json!(["configmaps"]), json!(["CREATE"])), rule("events.k8s.io", json!(["events"]), json!(["CREATE"]))
            ] })),
            [create(EVENTS, json!({
                "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" }, "reason": "R", "type": "Normal", "message": "m",
                "involvedObject": { "kind": "ConfigMap", "name": "a", "namespace": "{ns}" }
            }))],
        ),
        case(
            "policy::does_not_match_policies",
            [
                create(POLICIES, with(policy(vec![says("'matched'")]), json!({ "spec": { "matchConstraints": {
                    "resourceRules": [
                        rule("", json!(["configmaps"]), json!(["CREATE"])),
                        with(rule("admissionregistration.k8s.io", json!(["*"]), json!(["*"])), json!({ "resourceNames": ["{ns}", "{ns}-2"] }))
                    ]
                } } }))),
                create(BINDINGS, binding(json!(["Deny"]))),
                probed(),
                create(POLICIES, with(policy(vec![]), json!({ "metadata": { "name": "{ns}-2" } }))),
                merge(format!("{BINDINGS}/{{ns}}"), json!({ "metadata": { "labels": { "l": "yes" } } })),
                delete(format!("{BINDINGS}/{{ns}}")),
            ],
        ),
    ]
}
