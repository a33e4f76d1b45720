//! What every kind has in common, tried on every kind.

use super::shared::*;
use crate::script::*;
use serde_json::{Value, json};

/// A kind, and how to try it.
struct Kind {
    /// As cases are called.
    name: &'static str,
    path: &'static str,
    /// A good object.
    object: fn(&str) -> Value,
    /// How it may be called, given a letter.
    called: fn(&str) -> String,
    /// Two merge patches that do not agree on one field.
    changes: [fn() -> Value; 2],
}

fn plain_name(letter: &str) -> String {
    format!("{letter}-name")
}

/// Outside of namespaces, names of different cases must not meet.
fn own_name(letter: &str) -> String {
    format!("{{ns}}-{letter}")
}

fn rbac(kind: &str, name: &str, rest: Value) -> Value {
    let mut object =
        json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": { "name": name } });
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    object
}

fn rules(verb: &str) -> Value {
    json!({ "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": [verb] }] })
}

fn binding(kind: &str, role: &str, name: &str) -> Value {
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": "some" });
    rbac(
        kind,
        name,
        json!({ "roleRef": role, "subjects": [{ "kind": "User", "name": "bound", "apiGroup": "rbac.authorization.k8s.io" }] }),
    )
}

fn subjects(name: &str) -> Value {
    json!({ "subjects": [{ "kind": "Group", "name": name, "apiGroup": "rbac.authorization.k8s.io" }] })
}

fn event(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": name }, "type": "Normal", "reason": "Tried", "message": "m",
        "involvedObject": { "kind": "ConfigMap", "apiVersion": "v1", "namespace": "{ns}", "name": "some" },
        "source": { "component": "conformance" }, "firstTimestamp": "2020-01-01T00:00:00Z",
        "lastTimestamp": "2020-01-01T00:00:00Z", "count": 1
    })
}

const KINDS: [Kind; 12] = [
    Kind {
        name: "configmap",
        path: CONFIG_MAPS,
        object: |name| config_map(name, json!({ "k": "v" })),
        called: plain_name,
        changes: [|| json!({ "data": { "k": "1" } }), || json!({ "data": { "k": "2" } })],
    },
    Kind {
        name: "secret",
        path: SECRETS,
        object: |name| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "data": { "k": "dg==" } }),
        called: plain_name,
        changes: [|| json!({ "data": { "k": "MQ==" } }), || json!({ "data": { "k": "Mg==" } })],
    },
    Kind {
        name: "namespace",
        path: NAMESPACES,
        object: |name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }),
        called: own_name,
        changes: [
            || json!({ "metadata": { "annotations": { "k": "1" } } }),
            || json!({ "metadata": { "annotations": { "k": "2" } } }),
        ],
    },
    Kind {
        name: "serviceaccount",
        path: ACCOUNTS,
        object: |name| json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name } }),
        called: plain_name,
        changes: [
            || json!({ "automountServiceAccountToken": true }),
            || json!({ "automountServiceAccountToken": false }),
        ],
    },
    Kind {
        name: "event",
        path: EVENTS,
        object: event,
        called: plain_name,
        changes: [|| json!({ "message": "1", "count": 2 }), || json!({ "message": "2", "count": 3 })],
    },
    Kind {
        name: "lease",
        path: LEASES,
        object: |name| {
            json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": name },
                "spec": { "holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z" }
            })
        },
        called: plain_name,
        changes: [
            || json!({ "spec": { "holderIdentity": "1" } }),
            || json!({ "spec": { "holderIdentity": "2" } }),
        ],
    },
    Kind {
        name: "role",
        path: ROLES,
        object: |name| rbac("Role", name, rules("get")),
        called: plain_name,
        changes: [|| rules("list"), || rules("watch")],
    },
    Kind {
        name: "rolebinding",
        path: ROLE_BINDINGS,
        object: |name| binding("RoleBinding", "Role", name),
        called: plain_name,
        changes: [|| subjects("1"), || subjects("2")],
    },
    Kind {
        name: "clusterrole",
        path: CLUSTER_ROLES,
        object: |name| rbac("ClusterRole", name, rules("get")),
        called: own_name,
        changes: [|| rules("list"), || rules("watch")],
    },
    Kind {
        name: "clusterrolebinding",
        path: CLUSTER_ROLE_BINDINGS,
        object: |name| binding("ClusterRoleBinding", "ClusterRole", name),
        called: own_name,
        changes: [|| subjects("1"), || subjects("2")],
    },
    Kind {
        name: "definition",
        path: DEFINITIONS,
        object: |name| {
            let plural = name.split('.').next().unwrap_or_default();
            definition(
                plural,
                &format!("Kind{}", plural.replace("things", "")),
                json!({ "type": "object", "properties": { "spec": { "type": "object" } } }),
            )
        },
        called: |letter| format!("{letter}things.{{ns}}.example.com"),
        changes: [
            || json!({ "metadata": { "annotations": { "k": "1" } } }),
            || json!({ "metadata": { "annotations": { "k": "2" } } }),
        ],
    },
    Kind {
        name: "widget",
        path: WIDGETS,
        object: |name| widget(name, json!({ "color": "red" })),
        called: plain_name,
        changes: [|| json!({ "spec": { "size": 2 } }), || json!({ "spec": { "size": 3 } })],
    },
];

/// What is tried on a kind.
type Family = fn(&Kind) -> Vec<Step>;

pub fn cases() -> Vec<Case> {
    let families: [(&str, Family); 13] = [
        ("created_read_and_listed", created_read_and_listed),
        ("updated", updated),
        ("patched_by_merge", patched_by_merge),
        ("patched_by_json", patched_by_json),
        ("applied", applied),
        ("deleted", deleted),
        ("deleted_in_bulk", deleted_in_bulk),
        ("watched", watched),
        ("forbidden", forbidden),
        ("dry_run", dry_run),
        ("invalid", invalid),
        ("held_by_a_finalizer", held_by_a_finalizer),
        ("metadata_only", metadata_only),
    ];
    KINDS
        .iter()
        .flat_map(|kind| {
            families.iter().map(move |(name, steps)| case(format!("{}::{name}", kind.name), steps(kind)))
        })
        .collect()
}

impl Kind {
    fn at(&self, letter: &str) -> String {
        format!("{}/{}", self.path, (self.called)(letter))
    }

    fn labelled(&self, letter: &str) -> Value {
        let mut object = (self.object)(&(self.called)(letter));
        object["metadata"]["labels"] = json!({ "of": "{ns}" });
        object
    }

    fn changed(&self, letter: &str, change: usize) -> Value {
        let mut object = self.labelled(letter);
        json_merge(&mut object, &self.changes[change]());
        object
    }

    /// Creates an object and, where servers finish that by themselves, waits for it.
    fn made(&self, letter: &str) -> Vec<Step> {
        let mut steps = vec![
            create(self.path, self.labelled(letter))
                .save("uid", "/metadata/uid")
                .save("version", "/metadata/resourceVersion"),
        ];
        if self.name == "definition" {
            steps.push(
                get(self.at(letter))
                    .until(Until::Is("/status/conditions/1/status", json!("True")))
                    .save("version", "/metadata/resourceVersion"),
            );
        }
        steps
    }

    /// What the server does to a definition by itself comes at its own time.
    fn is_restless(&self) -> bool {
        matches!(self.name, "definition" | "namespace")
    }
}

fn json_merge(object: &mut Value, patch: &Value) {
    match (object, patch) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (key, change) in changes {
                json_merge(fields.entry(key.clone()).or_insert(Value::Null), change);
            }
        }
        (object, patch) => *object = patch.clone(),
    }
}

fn created_read_and_listed(kind: &Kind) -> Vec<Step> {
    let mut steps = kind.made("a");
    steps.push(get(kind.at("a")));
    steps.push(create(kind.path, kind.labelled("a")).is(409));
    steps.extend(kind.made("b"));
    steps.push(get(format!("{}?labelSelector=of={{ns}}", kind.path)));
    steps.push(get(format!("{}?labelSelector=of={{ns}}&limit=1", kind.path)));
    steps.push(get(format!("{}?fieldSelector=metadata.name={}", kind.path, (kind.called)("b"))));
    steps.push(get(kind.at("c")).is(404));
    steps
}

fn updated(kind: &Kind) -> Vec<Step> {
    let versioned = |change: usize, version: &str| {
        let mut object = kind.changed("a", change);
        object["metadata"]["resourceVersion"] = json!(version);
        object
    };
    let mut steps = kind.made("a");
    steps.push(update(kind.at("a"), versioned(0, "{version}")).save("next", "/metadata/resourceVersion"));
    steps.push(update(kind.at("a"), versioned(1, "{version}")).is(409));
    steps.push(update(kind.at("a"), versioned(0, "{next}")));
    let unconditional = update(kind.at("a"), kind.changed("a", 1));
    steps.push(match kind.name {
        "definition" | "widget" | "lease" => unconditional.is(422),
        _ => unconditional,
    });
    let mut stranger = versioned(1, "{next}");
    stranger["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    steps.push(update(kind.at("a"), stranger).is(409));
    let missing = update(kind.at("c"), kind.changed("c", 0));
    steps.push(match kind.name {
        "event" | "lease" | "role" | "rolebinding" | "clusterrole" | "clusterrolebinding" => missing.is(201),
        _ => missing.is(404),
    });
    steps
}

fn patched_by_merge(kind: &Kind) -> Vec<Step> {
    let mut steps = kind.made("a");
    steps.push(merge(kind.at("a"), kind.changes[0]()));
    steps.push(merge(kind.at("a"), kind.changes[0]()));
    steps.push(merge(kind.at("a"), json!({ "metadata": { "labels": { "of": null, "new": "x" } } })));
    let mut stale = kind.changes[1]();
    stale["metadata"]["resourceVersion"] = json!("1");
    steps.push(merge(kind.at("a"), stale).is(409));
    steps.push(merge(kind.at("a"), json!({ "metadata": { "labels": { "l": "not valid!" } } })).is(422));
    steps.push(merge(kind.at("c"), kind.changes[1]()).is(404));
    steps
}

fn patched_by_json(kind: &Kind) -> Vec<Step> {
    let label = |value: &str| json!({ "op": "replace", "path": "/metadata/labels/of", "value": value });
    let test = |value: &str| json!({ "op": "test", "path": "/metadata/labels/of", "value": value });
    let mut steps = kind.made("a");
    steps.push(json_patch(kind.at("a"), json!([test("{ns}"), label("x")])));
    steps.push(json_patch(kind.at("a"), json!([test("{ns}"), label("y")])).is(422));
    steps
        .push(json_patch(kind.at("a"), json!([{ "op": "remove", "path": "/metadata/labels/none" }])).is(422));
    steps.push(json_patch(kind.at("a"), json!([label("not valid!")])).is(422));
    steps.push(json_patch(kind.at("c"), json!([label("x")])).is(404));
    steps
}

fn applied(kind: &Kind) -> Vec<Step> {
    let mut invalid = kind.changed("a", 0);
    invalid["metadata"]["labels"] = json!({ "l": "not valid!" });
    let mut steps = vec![apply(kind.at("a"), "one", kind.changed("a", 0)).is(201)];
    if kind.name == "definition" {
        steps.push(get(kind.at("a")).until(Until::Is("/status/conditions/1/status", json!("True"))));
    }
    steps.extend([
        apply(kind.at("a"), "one", kind.changed("a", 0)),
        apply(kind.at("a"), "two", kind.changed("a", 1)).is(409),
        apply_by_force(kind.at("a"), "two", kind.changed("a", 1)),
        apply(kind.at("a"), "one", kind.changed("a", 0)).is(409),
        // A conflict is seen before what is invalid.
        apply(kind.at("a"), "one", invalid.clone()).is(409),
        apply_by_force(kind.at("a"), "one", invalid).is(422),
    ]);
    steps
}

fn deleted(kind: &Kind) -> Vec<Step> {
    let mut steps = kind.made("a");
    let other = "00000000-0000-0000-0000-000000000000";
    steps.push(delete_with(kind.at("a"), json!({ "preconditions": { "uid": other } })).is(409));
    steps.push(delete_with(kind.at("a"), json!({ "preconditions": { "resourceVersion": "1" } })).is(409));
    steps.push(delete_with(kind.at("a"), json!({ "preconditions": { "uid": "{uid}" } })));
    steps.push(get(kind.at("a")).until_code(404));
    steps.push(delete(kind.at("a")).is(404));
    steps
}

fn deleted_in_bulk(kind: &Kind) -> Vec<Step> {
    let mut steps = kind.made("a");
    steps.extend(kind.made("b"));
    let mut other = (kind.object)(&(kind.called)("c"));
    other["metadata"]["labels"] = json!({ "other": "{ns}" });
    steps.push(create(kind.path, other));
    let all = format!("{}?labelSelector=of={{ns}}", kind.path);
    if kind.name == "namespace" {
        steps.push(delete(all).is(405));
        return steps;
    }
    steps.push(delete(all.clone()));
    steps.push(get(all).until(Until::Count("/items", 0)));
    steps.push(get(kind.at("c")).ignore(if kind.is_restless() { "/body" } else { "/nothing" }));
    steps
}

fn watched(kind: &Kind) -> Vec<Step> {
    let mut steps = Vec::new();
    let list = format!("{}?labelSelector=of={{ns}}", kind.path);
    if kind.is_restless() {
        steps.extend(kind.made("a"));
        steps.push(get(list.clone()).save("from", "/metadata/resourceVersion"));
        steps.push(watch("w", &format!("{list}&resourceVersion={{from}}")));
        steps.push(merge(kind.at("a"), kind.changes[0]()));
        steps.push(collect("w", 1));
        return steps;
    }
    steps.push(get(list.clone()).save("from", "/metadata/resourceVersion"));
    steps.push(watch("w", &format!("{list}&resourceVersion={{from}}")));
    steps.extend(kind.made("a"));
    steps.push(merge(kind.at("a"), kind.changes[0]()));
    steps.push(merge(kind.at("a"), json!({ "metadata": { "labels": { "of": "other" } } })));
    steps.push(merge(kind.at("a"), json!({ "metadata": { "labels": { "of": "{ns}" } } })));
    steps.push(delete(kind.at("a")));
    steps.push(collect("w", 5));
    steps
}

fn forbidden(kind: &Kind) -> Vec<Step> {
    let object = || kind.labelled("a");
    let mut steps = vec![
        create(kind.path, object()),
        get(kind.at("a")),
        get(kind.at("unknown")),
        get(kind.path),
        watch("w", kind.path),
        update(kind.at("a"), object()),
        merge(kind.at("a"), json!({})),
        json_patch(kind.at("a"), json!([])),
        apply(kind.at("a"), "one", object()),
        delete(kind.at("a")),
        delete(kind.path),
        get(format!("{}/status", kind.at("a"))),
    ];
    for step in &mut steps {
        *step = step.clone().by_user("eve").is(403);
    }
    // Without it the suite would not give this case its own namespace, and refusals name one.
    steps.push(get("/api/v1/namespaces/{ns}"));
    steps
}

fn dry_run(kind: &Kind) -> Vec<Step> {
    let dry = |path: String| format!("{path}?dryRun=All");
    let mut steps = vec![
        create(dry(kind.path.to_owned()), kind.labelled("a")),
        get(kind.at("a")).is(404),
        apply(dry(kind.at("a")), "one", kind.labelled("a")).is(201),
        get(kind.at("a")).is(404),
    ];
    steps.extend(kind.made("a"));
    steps.push(merge(dry(kind.at("a")), kind.changes[0]()));
    steps.push(delete(dry(kind.at("a"))));
    steps.push(get(kind.at("a")));
    steps.push(create(dry(kind.path.to_owned()), kind.labelled("a")).is(409));
    steps.push(merge(format!("{}?dryRun=Some", kind.at("a")), kind.changes[0]()).is(422));
    steps
}

fn invalid(kind: &Kind) -> Vec<Step> {
    let with = |field: &str, value: Value| {
        let mut object = kind.labelled("a");
        object["metadata"][field] = value;
        object
    };
    let mut steps = vec![
        create(kind.path, with("labels", json!({ "-l": "x" }))).is(422),
        create(kind.path, with("annotations", json!({ "a b": "x" }))).is(422),
        create(kind.path, with("finalizers", json!(["not qualified!"]))).is(422),
        create(kind.path, with("ownerReferences", json!([{ "kind": "X" }]))).is(422),
        // Kinds that are looked up by the name of something else take any name that fits into a path.
        create(kind.path, with("name", json!("Not/Valid"))).is(422),
        create(kind.path, with("name", json!(""))).is(422),
    ];
    steps.extend(kind.made("a"));
    let mut changed = with("labels", json!({ "l": "not valid!" }));
    changed["metadata"]["resourceVersion"] = json!("{version}");
    steps.push(update(kind.at("a"), changed).is(422));
    steps.push(update(kind.at("a"), with("name", json!("other"))).is(400));
    steps
}

fn held_by_a_finalizer(kind: &Kind) -> Vec<Step> {
    let mut steps = kind.made("a");
    if kind.name == "namespace" {
        // Namespaces are emptied first; their own cases show it.
        steps.push(merge(kind.at("a"), json!({ "metadata": { "finalizers": ["example.com/held"] } })));
        steps.push(merge(kind.at("a"), json!({ "metadata": { "finalizers": null } })));
        return steps;
    }
    steps.push(merge(kind.at("a"), json!({ "metadata": { "finalizers": ["example.com/held"] } })));
    steps.push(delete(kind.at("a")));
    let quiet = |step: Step| if kind.name == "definition" { step.ignore("/body") } else { step };
    steps.push(quiet(get(kind.at("a"))));
    steps.push(quiet(delete(kind.at("a"))));
    if kind.name != "definition" {
        steps.push(
            merge(
                kind.at("a"),
                json!({ "metadata": { "finalizers": ["example.com/held", "example.com/new"] } }),
            )
            .is(422),
        );
    }
    steps.push(quiet(merge(kind.at("a"), json!({ "metadata": { "finalizers": null } }))));
    steps.push(get(kind.at("a")).until_code(404));
    steps
}

fn metadata_only(kind: &Kind) -> Vec<Step> {
    const OBJECT: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    const LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let mut steps = kind.made("a");
    let list = format!("{}?labelSelector=of={{ns}}", kind.path);
    steps.push(get(kind.at("a")).accept(OBJECT));
    steps.push(get(list.clone()).accept(LIST).save("from", "/metadata/resourceVersion"));
    steps.push(watch("w", &format!("{list}&resourceVersion={{from}}")).accept(OBJECT));
    steps.push(merge(kind.at("a"), kind.changes[0]()).accept(OBJECT));
    steps.push(collect("w", 1));
    steps
}
