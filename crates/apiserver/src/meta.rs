//! The rules that every object's metadata keeps.

use crate::{
    apply::go,
    error::{ApiError, FieldError, FieldErrorKind},
    names::{self, Unit},
    resource::{Nature, Resource},
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// What the annotations of an object may come to.
const ANNOTATIONS_LIMIT_BYTES: usize = 256 * 1024;

/// A text of the metadata; empty where it is not there.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// A text anywhere in an object, by its JSON pointer; empty where it is not there.
pub(crate) fn text_at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The metadata, made if it is not there.
pub(crate) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    let Value::Object(fields) = object else {
        *object = json!({});
        return metadata(object);
    };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if !metadata.is_object() {
        *metadata = json!({});
    }
    match metadata {
        Value::Object(metadata) => metadata,
        _ => unreachable!("it was made an object just above"),
    }
}

/// The finalizers.
pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    let list = object["metadata"]["finalizers"].as_array();
    list.into_iter().flatten().filter_map(|finalizer| finalizer.as_str().map(str::to_owned)).collect()
}

/// Whether it is on its way out.
pub(crate) fn is_deleting(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// The labels, as the store keeps them.
pub(crate) fn labels(object: &Value) -> Box<[(Box<str>, Box<str>)]> {
    let labels = object["metadata"]["labels"].as_object();
    labels
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or_default().into()))
        .collect()
}

/// A time as objects have it.
pub(crate) fn time(now: Timestamp) -> Value {
    json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// What a new object gets from the server, whatever the client said.
pub(crate) fn prepare_create(object: &mut Value, namespace: &str, uid: &str, now: Timestamp) {
    let metadata = metadata(object);
    for field in
        ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation", "resourceVersion"]
    {
        metadata.remove(field);
    }
    metadata.insert("uid".into(), json!(uid));
    metadata.insert("creationTimestamp".into(), time(now));
    if namespace.is_empty() {
        metadata.remove("namespace");
    } else {
        metadata.insert("namespace".into(), json!(namespace));
    }
}

/// What an update cannot change: it is taken from the old object.
pub(crate) fn keep_on_update(new: &mut Value, old: &Value) {
    let old = &old["metadata"];
    let metadata = metadata(new);
    for field in [
        "uid",
        "creationTimestamp",
        "namespace",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        match old.get(field) {
            Some(value) => drop(metadata.insert(field.into(), value.clone())),
            None => drop(metadata.remove(field)),
        }
    }
    metadata.remove("selfLink");
}

/// Checks the metadata of an object.
pub(crate) fn validate(object: &Value, resource: &Resource) -> Vec<FieldError> {
    let mut errors = Vec::new();
    validate_name(object, resource, &mut errors);
    validate_labels(object, &mut errors);
    validate_annotations(object, &mut errors);
    validate_owners(object, &mut errors);
    let finalizers = finalizers(object);
    for finalizer in &finalizers {
        errors.extend(invalid("metadata.finalizers", finalizer, names::key_errors(finalizer)));
    }
    let strict =
        matches!(resource.group.as_str(), "" | "rbac.authorization.k8s.io") && resource.plural != "events";
    for (n, finalizer) in finalizers.iter().enumerate().filter(|_| strict) {
        if !finalizer.contains('/') && !is_standard_finalizer(finalizer) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified".to_owned();
            errors.extend(invalid(&format!("metadata.finalizers[{n}]"), finalizer, vec![detail]));
        }
    }
    errors
}

/// One error for each thing that is wrong with a text.
fn invalid(field: &str, text: &str, wrong: Vec<String>) -> impl Iterator<Item = FieldError> {
    wrong.into_iter().map(move |why| FieldError::new(field, FieldErrorKind::Invalid, text, why))
}

/// What is said about new finalizers of custom resources that others might use as well.
pub(crate) fn finalizer_warnings(new: &Value, old: Option<&Value>, resource: &Resource) -> Vec<String> {
    if resource.defined.is_none() {
        return Vec::new();
    }
    let known = old.map(finalizers).unwrap_or_default();
    let mut added: Vec<String> =
        finalizers(new).into_iter().filter(|finalizer| !known.contains(finalizer)).collect();
    added.sort_unstable();
    added.dedup();
    added.retain(|finalizer| !finalizer.contains('/') && !is_standard_finalizer(finalizer));
    let warning = |finalizer: &String| {
        let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
        )
    };
    added.iter().map(warning).collect()
}

fn is_standard_finalizer(finalizer: &str) -> bool {
    matches!(finalizer, "orphan" | "foregroundDeletion" | "kubernetes")
}

fn validate_name(object: &Value, resource: &Resource, errors: &mut Vec<FieldError>) {
    let prefix = text(object, "generateName");
    if !prefix.is_empty() {
        // A prefix may end in what a name may not end in; what stands before that is not looked at either.
        let checked = match prefix.strip_suffix('-').and_then(|start| start.char_indices().next_back()) {
            Some((last, _)) => format!("{}a", &prefix[..last]),
            None => prefix.to_owned(),
        };
        errors.extend(invalid("metadata.generateName", prefix, name_errors(&checked, resource)));
    }
    let name = text(object, "name");
    if name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(FieldError::bare("metadata.name", FieldErrorKind::Required, detail));
        return;
    }
    errors.extend(invalid("metadata.name", name, name_errors(name, resource)));
}

/// What is wrong with a name, as the kind wants it.
fn name_errors(name: &str, resource: &Resource) -> Vec<String> {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("rbac.authorization.k8s.io", _) | (_, "events") => names::path_segment_errors(name),
        ("", "namespaces") => names::label_errors(name, Unit::Characters),
        _ if resource.nature == Nature::Review => Vec::new(),
        _ => names::subdomain_errors(name, Unit::Characters),
    }
}

fn validate_labels(object: &Value, errors: &mut Vec<FieldError>) {
    for (key, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        errors.extend(invalid("metadata.labels", key, names::key_errors(key)));
        errors.extend(invalid("metadata.labels", value, names::value_errors(value)));
    }
}

fn validate_annotations(object: &Value, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in object["metadata"]["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        errors.extend(invalid("metadata.annotations", key, names::key_errors(&key.to_ascii_lowercase())));
    }
    if size > ANNOTATIONS_LIMIT_BYTES {
        let detail = format!("may not be more than {ANNOTATIONS_LIMIT_BYTES} bytes");
        errors.push(FieldError::bare("metadata.annotations", FieldErrorKind::TooLong, detail));
    }
}

fn validate_owners(object: &Value, errors: &mut Vec<FieldError>) {
    let mut controllers = Vec::new();
    for owner in object["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
        for (field, detail) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                let path = format!("metadata.ownerReferences.{field}");
                errors.push(FieldError::new(path, FieldErrorKind::Invalid, "", detail));
            }
        }
        if owner["controller"] == json!(true) {
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            controllers.push(format!("{}/{}", text("kind"), text("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let shown = go::owners(&object["metadata"]["ownerReferences"]);
        let detail = format!(
            "{shown}: Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
        );
        errors.push(FieldError::bare("metadata.ownerReferences", FieldErrorKind::Invalid, detail));
    }
}

/// Checks what may not be changed about an object that is on its way out.
pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if is_deleting(old) {
        let before = finalizers(old);
        let added: Vec<String> =
            finalizers(new).into_iter().filter(|finalizer| !before.contains(finalizer)).collect();
        if !added.is_empty() {
            let list = added.iter().map(|finalizer| format!("{finalizer:?}")).collect::<Vec<_>>().join(", ");
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{list}}}"
            );
            errors.push(FieldError::bare("metadata.finalizers", FieldErrorKind::Forbidden, detail));
        }
    }
    errors
}

/// Checks that a body is about the object that the path names.
pub(crate) fn check_identity(
    body: &Value,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> Result<(), ApiError> {
    let named = text(body, "name");
    if !name.is_empty() && !named.is_empty() && named != name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({named}) does not match the name on the URL ({name})"
        )));
    }
    let placed = text(body, "namespace");
    if resource.namespaced && !placed.is_empty() && placed != namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Takes out of the metadata what is empty: it is the same as what is not there.
pub(crate) fn drop_empty(object: &mut Value) {
    let metadata = metadata(object);
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let empty = match metadata.get(field) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            metadata.remove(field);
        }
    }
}

/// Of several references that are the same only the first is kept, with a warning.
pub(crate) fn merge_owners(object: &mut Value) -> Option<String> {
    let owners = metadata(object).get_mut("ownerReferences")?.as_array_mut()?;
    let mut seen: Vec<Value> = Vec::new();
    let mut twice: Vec<String> = Vec::new();
    owners.retain(|owner| {
        let known = seen.contains(owner);
        match known {
            true => twice.push(owner["uid"].as_str().unwrap_or_default().to_owned()),
            false => seen.push(owner.clone()),
        }
        !known
    });
    twice.dedup();
    (!twice.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            twice.join(", ")
        )
    })
}
