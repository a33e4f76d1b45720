//! The fields that people change: those of each kind's spec, from its schema, and the labels and annotations that operators read.

use super::value::{items_of, meaning, rules_of};
use allotment_api::{
    crds,
    names::{annotation, tenant},
};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// No schema of ours is deeper.
const DEEPEST: usize = 12;

/// A kind that people write.
pub(crate) struct Kind {
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) group: String,
    /// Of the spec.
    pub(super) schema: Value,
    pub(super) fields: Vec<Field>,
}

/// A field that people change.
pub(super) struct Field {
    /// As in `spec.secretRef.key`, `spec.taints[0].effect` and `metadata.annotations.allotment.dev/pause`.
    pub(super) path: String,
    /// What it is about.
    pub(super) meaning: String,
    pub(super) schema: Value,
    pub(super) is_required: bool,
}

/// The groups whose kinds people write in each play.
const KYMA: [&str; 2] = ["operator.kyma-project.io", "control-plane.kyma-project.io"];

impl Kind {
    pub(crate) fn is_openmcp(&self) -> bool {
        !KYMA.contains(&self.group.as_str())
    }
}

/// All of them. What a provider offers, and what the platform says about Shoots and locks, is not people's to change.
pub(crate) fn kinds() -> &'static [Kind] {
    static KINDS: OnceLock<Vec<Kind>> = OnceLock::new();
    KINDS.get_or_init(|| {
        let all = crds::all();
        let all = all.iter().map(|crd| json!(crd));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kinds = all.map(|crd| {
            let kind = text(&crd["spec"]["names"]["kind"]);
            let version = &crd["spec"]["versions"][0];
            let schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"].clone();
            let mut fields = Vec::new();
            walk(&schema, "spec", ("spec", true), DEEPEST, &mut fields);
            let group = text(&crd["spec"]["group"]);
            fields.extend(marks(&group, &kind));
            Kind { plural: text(&crd["spec"]["names"]["plural"]), kind, group, schema, fields }
        });
        let is_people = |kind: &Kind| kind.group != "allotment.dev" && kind.kind != "ClusterProfile";
        kinds.filter(is_people).collect()
    })
}

/// Every field of a schema, whole objects and lists as well as what is in them.
fn walk(
    schema: &Value,
    path: &str,
    (about, is_required): (&str, bool),
    depth: usize,
    found: &mut Vec<Field>,
) {
    if path != "spec" {
        found.push(Field {
            path: path.to_owned(),
            meaning: about.to_owned(),
            schema: schema.clone(),
            is_required,
        });
    }
    if depth == 0 {
        return;
    }
    let required = schema["required"].as_array();
    let rules = rules_of(schema);
    if rules.contains(&"self == oldSelf") {
        return;
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let kept = format!("has(self.{name}) == has(oldSelf.{name})");
        // What is there and what is not stays so: neither can be changed.
        let is_kept = rules.iter().any(|rule| {
            rule.starts_with(&kept) && rule.ends_with(&format!("self.{name} == oldSelf.{name})"))
        });
        if is_kept || rules_of(inner).contains(&"self == oldSelf") {
            continue;
        }
        let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
        walk(inner, &format!("{path}.{name}"), (meaning(about, name), is_required), depth - 1, found);
    }
    if schema["items"].is_object() {
        walk(&items_of(schema), &format!("{path}[0]"), (about, false), depth - 1, found);
    }
    if schema["additionalProperties"].is_object() {
        walk(&schema["additionalProperties"], &format!("{path}.key0"), (about, false), depth - 1, found);
    }
}

/// Labels and annotations that operators read, where whoever has the object may write them.
fn marks(group: &str, kind: &str) -> Vec<Field> {
    let label = |name: &str, values: Value| mark("labels", name, values);
    let note = |name: &str| mark("annotations", name, json!(["true", "false", "1", ""]));
    let operation =
        || mark("annotations", "openmcp.cloud/operation", json!(["reconcile", "ignore", "", "x"]));
    match (KYMA.contains(&group), kind) {
        (true, "Cluster") => vec![
            label(tenant::PLAN, json!(["aws", "trial", "gold"])),
            label(tenant::GLOBAL_ACCOUNT_ID, json!(["t1", "t2", "t3"])),
            label(tenant::SUBACCOUNT_ID, json!(["s1", "s2"])),
            label(tenant::INSTANCE_ID, json!(["i1", "i2"])),
            note(annotation::RECONCILE),
            note(annotation::PAUSE),
            note(annotation::ADOPT_SHOOT),
            note(annotation::CONFIRM_DELETION),
            note(annotation::RELEASE_SHOOT),
        ],
        (true, "KubeconfigRequest") => vec![note(annotation::ROTATE), note(annotation::REVOKE)],
        (true, _) => Vec::new(),
        (false, "ClusterConfig") => Vec::new(),
        (false, _) => vec![operation()],
    }
}

fn mark(part: &str, name: &str, values: Value) -> Field {
    Field {
        path: format!("metadata.{part}.{name}"),
        meaning: name.to_owned(),
        schema: json!({ "type": "string", "enum": values }),
        is_required: false,
    }
}

/// A step on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Field(&'a str),
    /// The first of a list.
    First,
}

pub(super) fn steps(path: &str) -> Vec<Step<'_>> {
    for part in ["labels", "annotations"] {
        let name = path.strip_prefix("metadata.").and_then(|it| it.strip_prefix(part)?.strip_prefix('.'));
        if let Some(name) = name {
            return vec![Step::Field("metadata"), Step::Field(part), Step::Field(name)];
        }
    }
    let mut steps = Vec::new();
    for word in path.split('.') {
        let name = word.trim_end_matches("[0]");
        steps.push(Step::Field(name));
        let depth = (word.len() - name.len()) / "[0]".len();
        steps.extend(std::iter::repeat_n(Step::First, depth));
    }
    steps
}

/// Sets what a path leads to, or removes it where there is no value. What is missing on the way is made, with what `fill` makes of
/// the schema for whatever else has to be there.
pub(super) fn put(
    at: &mut Value,
    schema: &Value,
    steps: &[Step<'_>],
    to: &Value,
    fill: &mut dyn FnMut(&Value, &str) -> Value,
) {
    let Some((step, rest)) = steps.split_first() else {
        *at = to.clone();
        return;
    };
    match step {
        Step::Field(name) => {
            let is_new = !at.is_object();
            if is_new && to.is_null() {
                return;
            }
            if is_new {
                *at = json!({});
            }
            let Some(fields) = at.as_object_mut() else { return };
            if to.is_null() && (rest.is_empty() || !fields.contains_key(*name)) {
                fields.remove(*name);
                return;
            }
            let inner = match &schema["properties"][*name] {
                Value::Null => &schema["additionalProperties"],
                inner => inner,
            };
            put(fields.entry(*name).or_insert(Value::Null), inner, rest, to, fill);
            let required = schema["required"].as_array().filter(|_| is_new);
            for missing in required.into_iter().flatten().filter_map(Value::as_str) {
                if !fields.contains_key(missing) {
                    fields.insert(missing.to_owned(), fill(&schema["properties"][missing], missing));
                }
            }
        }
        Step::First => {
            if !at.is_array() && to.is_null() {
                return;
            }
            if !at.is_array() {
                *at = json!([]);
            }
            let Some(items) = at.as_array_mut() else { return };
            if to.is_null() && (rest.is_empty() || items.is_empty()) {
                drop(items.drain(..1.min(items.len())));
                return;
            }
            if items.is_empty() {
                items.push(Value::Null);
            }
            if let Some(first) = items.first_mut() {
                put(first, &schema["items"], rest, to, fill);
            }
        }
    }
}

/// What a path leads to.
pub(super) fn get<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    steps(path).into_iter().try_fold(object, |at, step| match step {
        Step::Field(name) => at.get(name),
        Step::First => at.get(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_schema_is_found() {
        let fields = |kind: &str, is_openmcp: bool| {
            let kind = kinds().iter().find(|it| it.kind == kind && it.is_openmcp() == is_openmcp).unwrap();
            kind.fields.iter().map(|field| field.path.as_str()).collect::<Vec<_>>()
        };
        for (kind, is_openmcp, paths) in [
            (
                "KubeconfigRequest",
                false,
                ["spec.secretRef", "spec.secretRef.key", "spec.role.rules[0].verbs[0]"],
            ),
            ("Cluster", false, ["spec.oidcConfig", "spec.infrastructure.labels.key0", "spec.core.purpose"]),
            ("AccessRequest", true, ["spec.ttl", "spec.token.roleRefs[0].name", "spec.oidc.clientID"]),
        ] {
            let found = fields(kind, is_openmcp);
            for path in paths {
                assert!(found.contains(&path), "{kind} {path}: {found:?}");
            }
        }
    }

    #[test]
    fn what_is_missing_on_the_way_is_made() {
        let schema = json!({ "properties": { "spec": { "properties": { "list": { "items": {
            "required": ["name"], "properties": { "name": {}, "key": {} },
        } } } } } });
        let mut fill = |_: &Value, _: &str| json!("filled");
        let mut object = json!({ "spec": {} });
        let path = "spec.list[0].key";
        put(&mut object, &schema, &steps(path), &json!("k"), &mut fill);
        assert_eq!(object, json!({ "spec": { "list": [{ "key": "k", "name": "filled" }] } }));
        assert_eq!(get(&object, path), Some(&json!("k")));
        put(&mut object, &schema, &steps(path), &Value::Null, &mut fill);
        assert_eq!(object, json!({ "spec": { "list": [{ "name": "filled" }] } }));
        put(&mut object, &schema, &steps("spec.other.key"), &Value::Null, &mut fill);
        put(&mut object, &schema, &steps("spec.list[0]"), &Value::Null, &mut fill);
        assert_eq!(object, json!({ "spec": { "list": [] } }));
        assert_eq!(steps("metadata.labels.a.b/c").last(), Some(&Step::Field("a.b/c")));
    }
}
