//! The columns of the kinds that every cluster has.

use super::{Column, Source, age::age};
use crate::{kinds::event, meta, openapi};
use jiff::Timestamp;
use serde_json::{Value, json};

type Compute = fn(&Value, Timestamp) -> Value;

/// What `kubectl get` shows of a kind.
pub(crate) fn columns(group: &str, kind: &str) -> Vec<Column> {
    let about = |field: &str| openapi::about(group, kind, field);
    let name = Column::of_name;
    match kind {
        "Namespace" => vec![
            name(),
            text("Status", "The status of the namespace", |namespace, _| at(namespace, "/status/phase")),
            age_column(),
        ],
        "ConfigMap" => vec![name(), text("Data", about("data"), count_config_map), age_column()],
        "Secret" => vec![
            name(),
            text("Type", about("type"), |secret, _| at(secret, "/type")),
            text("Data", about("data"), |secret, _| json!(length(&secret["data"]))),
            age_column(),
        ],
        "ServiceAccount" => vec![name(), age_column()],
        "Lease" => vec![
            name(),
            text("Holder", about("spec.holderIdentity"), |lease, _| at(lease, "/spec/holderIdentity")),
            age_column(),
        ],
        "RoleBinding" => binding("roleBinding", about("roleRef")),
        "ClusterRoleBinding" => binding("clusterRoleBinding", about("roleRef")),
        "Event" => event_columns(),
        "ValidatingAdmissionPolicy" => vec![
            name(),
            Column {
                type_: "integer".to_owned(),
                ..text(
                    "Validations",
                    "Validations indicates the number of validation rules defined in this configuration",
                    |policy, _| json!(policy["spec"]["validations"].as_array().map_or(0, Vec::len)),
                )
            },
            text(
                "ParamKind",
                "ParamKind specifies the kind of resources used to parameterize this policy",
                param_kind,
            ),
            age_column(),
        ],
        "ValidatingAdmissionPolicyBinding" => vec![
            name(),
            text(
                "PolicyName",
                "PolicyName indicates the policy definition which the policy binding binded to",
                |binding, _| at(binding, "/spec/policyName"),
            ),
            text(
                "ParamRef",
                "ParamRef indicates the param resource which sets the configuration param",
                param_ref,
            ),
            age_column(),
        ],
        _ => vec![name(), created_at()],
    }
}

fn text(name: &str, description: impl Into<String>, compute: Compute) -> Column {
    Column {
        name: name.to_owned(),
        type_: "string".to_owned(),
        format: String::new(),
        description: description.into(),
        priority: 0,
        source: Source::Computed(compute),
    }
}

fn wide(name: &str, description: impl Into<String>, compute: Compute) -> Column {
    Column { priority: 1, ..text(name, description, compute) }
}

fn age_column() -> Column {
    let since = |object: &Value, now| json!(since(&object["metadata"]["creationTimestamp"], now));
    Column { type_: "string".to_owned(), source: Source::Computed(since), ..Column::of_age() }
}

fn created_at() -> Column {
    let time = |object: &Value, _| json!(meta::text(object, "creationTimestamp"));
    Column { name: "Created At".to_owned(), source: Source::Computed(time), ..Column::of_age() }
}

fn binding(what: &str, about_role: String) -> Vec<Column> {
    let whom = |name: &str, compute| wide(name, format!("{name} in the {what}"), compute);
    vec![
        Column::of_name(),
        text("Role", about_role, role),
        age_column(),
        whom("Users", |binding, _| subjects(binding, "User")),
        whom("Groups", |binding, _| subjects(binding, "Group")),
        whom("ServiceAccounts", |binding, _| subjects(binding, "ServiceAccount")),
    ]
}

/// Both faces of an Event are shown alike.
fn event_columns() -> Vec<Column> {
    let about = |field: &str| openapi::about("", "Event", field);
    vec![
        text("Last Seen", about("lastTimestamp"), |event, now| json!(Seen::of(event).last(now))),
        text("Type", about("type"), |event, _| at(event, "/type")),
        text("Reason", about("reason"), |event, _| at(event, "/reason")),
        text("Object", about("involvedObject"), |event, _| involved(&core(event))),
        wide("Subobject", about("involvedObject.fieldPath"), |event, _| {
            at(&core(event), "/involvedObject/fieldPath")
        }),
        wide("Source", about("source"), |event, _| source(&core(event))),
        text("Message", about("message"), |event, _| json!(meta::text_at(&core(event), "/message").trim())),
        wide("First Seen", about("firstTimestamp"), |event, now| json!(Seen::of(event).first(now))),
        wide("Count", about("count"), |event, _| json!(Seen::of(event).count())),
        Column { priority: 1, ..Column::of_name() },
    ]
}

fn at(object: &Value, pointer: &str) -> Value {
    json!(meta::text_at(object, pointer))
}

fn param_kind(policy: &Value, _: Timestamp) -> Value {
    match policy["spec"].get("paramKind") {
        None => json!("<unset>"),
        Some(kind) => {
            json!(format!("{}/{}", meta::text_at(kind, "/apiVersion"), meta::text_at(kind, "/kind")))
        }
    }
}

fn param_ref(binding: &Value, _: Timestamp) -> Value {
    let Some(param) = binding["spec"].get("paramRef") else { return json!("<unset>") };
    match (meta::text_at(param, "/namespace"), meta::text_at(param, "/name")) {
        (_, "") => json!(selector(&param["selector"])),
        ("", name) => json!(format!("*/{name}")),
        (namespace, name) => json!(format!("{namespace}/{name}")),
    }
}

/// A label selector as Go shows it.
fn selector(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels: String =
        labels.map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default())).collect();
    let requirements = selector["matchExpressions"].as_array().into_iter().flatten();
    let requirements: String = requirements
        .map(|requirement| {
            let values = requirement["values"].as_array().into_iter().flatten();
            let values: Vec<&str> = values.filter_map(Value::as_str).collect();
            let (key, operator) =
                (meta::text_at(requirement, "/key"), meta::text_at(requirement, "/operator"));
            format!(
                "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},",
                values.join(" ")
            )
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )
}

fn length(map: &Value) -> usize {
    map.as_object().map_or(0, serde_json::Map::len)
}

fn count_config_map(map: &Value, _: Timestamp) -> Value {
    json!(length(&map["data"]) + length(&map["binaryData"]))
}

fn role(binding: &Value, _: Timestamp) -> Value {
    json!(format!("{}/{}", meta::text_at(binding, "/roleRef/kind"), meta::text_at(binding, "/roleRef/name")))
}

fn subjects(binding: &Value, kind: &str) -> Value {
    let of_kind = binding["subjects"].as_array().into_iter().flatten().filter(|whom| whom["kind"] == *kind);
    let names: Vec<String> = of_kind
        .map(|whom| match kind {
            "ServiceAccount" => {
                format!("{}/{}", meta::text_at(whom, "/namespace"), meta::text_at(whom, "/name"))
            }
            _ => meta::text_at(whom, "/name").to_owned(),
        })
        .collect();
    json!(names.join(", "))
}

/// An Event as `v1` has it.
fn core(event: &Value) -> Value {
    if event.get("regarding").is_some() { event::to_core(event.clone()) } else { event.clone() }
}

fn involved(event: &Value) -> Value {
    let kind = meta::text_at(event, "/involvedObject/kind").to_lowercase();
    match meta::text_at(event, "/involvedObject/name") {
        "" => json!(kind),
        name => json!(format!("{kind}/{name}")),
    }
}

fn source(event: &Value) -> Value {
    let first = |one: &str, other: &str| match meta::text_at(event, one) {
        "" => meta::text_at(event, other).to_owned(),
        text => text.to_owned(),
    };
    let component = first("/source/component", "/reportingComponent");
    match first("/source/host", "/reportingInstance") {
        instance if instance.is_empty() => json!(component),
        instance => json!(format!("{component}, {instance}")),
    }
}

/// When and how often an Event was seen. Old clients say so in one way, new ones in another.
struct Seen(Value);

impl Seen {
    fn of(event: &Value) -> Self {
        Self(core(event))
    }

    fn first(&self, now: Timestamp) -> String {
        match &self.0["firstTimestamp"] {
            Value::Null => since(&self.0["eventTime"], now),
            time => since(time, now),
        }
    }

    fn last(&self, now: Timestamp) -> String {
        match (&self.0["series"], &self.0["lastTimestamp"]) {
            (Value::Null, Value::Null) => self.first(now),
            (Value::Null, time) => since(time, now),
            (series, _) => since(&series["lastObservedTime"], now),
        }
    }

    fn count(&self) -> i64 {
        match &self.0["series"] {
            // One that happened once has no count in the new group.
            Value::Null => self.0["count"].as_i64().filter(|count| *count != 0).unwrap_or(1),
            series => series["count"].as_i64().unwrap_or_default(),
        }
    }
}

fn since(time: &Value, now: Timestamp) -> String {
    match time.as_str().and_then(|time| time.parse().ok()) {
        Some(time) => age(time, now),
        None => "<unknown>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(group: &str, kind: &str, object: &Value) -> String {
        let now: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
        let cells: Vec<String> = columns(group, kind)
            .iter()
            .map(|column| format!("{}={}", column.name, column.cell(object, now)))
            .collect();
        cells.join(" ").replace('"', "")
    }

    #[test]
    fn of_what_people_look_at_most() {
        let rbac = "rbac.authorization.k8s.io";
        let metadata = json!({ "name": "n", "creationTimestamp": "2026-01-01T00:00:00Z" });
        let subjects = json!([
            { "kind": "User", "name": "ann" }, { "kind": "User", "name": "bob" },
            { "kind": "ServiceAccount", "name": "s", "namespace": "a" },
        ]);
        for (group, kind, fields, text) in [
            (
                "",
                "ConfigMap",
                json!({ "data": { "a": "" }, "binaryData": { "b": "" } }),
                "Name=n Data=2 Age=60m",
            ),
            ("", "ConfigMap", json!({}), "Name=n Data=0 Age=60m"),
            ("", "Secret", json!({ "type": "Opaque" }), "Name=n Type=Opaque Data=0 Age=60m"),
            ("", "Namespace", json!({ "status": { "phase": "Active" } }), "Name=n Status=Active Age=60m"),
            ("", "ServiceAccount", json!({}), "Name=n Age=60m"),
            ("coordination.k8s.io", "Lease", json!({ "spec": {} }), "Name=n Holder= Age=60m"),
            (rbac, "Role", json!({}), "Name=n Created At=2026-01-01T00:00:00Z"),
            (
                rbac,
                "RoleBinding",
                json!({ "roleRef": { "kind": "Role", "name": "r" }, "subjects": subjects }),
                "Name=n Role=Role/r Age=60m Users=ann, bob Groups= ServiceAccounts=a/s",
            ),
        ] {
            let mut object = fields;
            object["metadata"] = metadata.clone();
            assert_eq!(shown(group, kind, &object), text, "{kind}");
        }
    }

    #[test]
    fn of_events_of_both_groups() {
        let mut event = json!({
            "metadata": { "name": "e" }, "type": "Normal", "reason": "Bound", "message": " done \n", "count": 3,
            "involvedObject": { "kind": "Pod", "name": "p", "fieldPath": "spec" },
            "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:59:00Z", "eventTime": null,
            "source": { "component": "me", "host": "here" },
        });
        let told = "Last Seen=60s Type=Normal Reason=Bound Object=pod/p Subobject=spec Source=me, here Message=done \
                    First Seen=60m Count=3 Name=e";
        assert_eq!(shown("", "Event", &event), told);
        assert_eq!(shown("events.k8s.io", "Event", &event::from_core(event.clone())), told);
        event["series"] = json!({ "count": 9, "lastObservedTime": "2026-01-01T00:58:00.000000Z" });
        assert!(shown("", "Event", &event).starts_with("Last Seen=2m "));
        assert!(shown("", "Event", &event).contains(" Count=9 "));
    }
}
