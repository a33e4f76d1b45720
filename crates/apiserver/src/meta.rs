//! The rules that every object's metadata keeps.

use crate::{
    apply::go,
    error::{ApiError, FieldError, FieldErrorKind},
    resource::Resource,
    selector::{is_dns_label, is_dns_subdomain, is_label_key, is_name_part},
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// What the annotations of an object may come to.
const ANNOTATIONS_LIMIT_BYTES: usize = 256 * 1024;

const SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const KEY_RULE: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// A text of the metadata; empty where it is not there.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
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
    for (n, finalizer) in finalizers(object).iter().enumerate() {
        if !is_label_key(finalizer) {
            errors.push(FieldError::new(
                "metadata.finalizers",
                FieldErrorKind::Invalid,
                finalizer.as_str(),
                KEY_RULE,
            ));
        }
        if !finalizer.contains('/')
            && !matches!(finalizer.as_str(), "orphan" | "foregroundDeletion" | "kubernetes")
            && matches!(resource.group.as_str(), "" | "rbac.authorization.k8s.io")
            && resource.plural != "events"
        {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            errors.push(FieldError::new(
                format!("metadata.finalizers[{n}]"),
                FieldErrorKind::Invalid,
                finalizer.as_str(),
                detail,
            ));
        }
    }
    validate_owners(object, &mut errors);
    errors
}

fn validate_name(object: &Value, resource: &Resource, errors: &mut Vec<FieldError>) {
    let prefix = text(object, "generateName");
    if !prefix.is_empty() {
        // A prefix may end in what a name may not end in.
        let checked = match prefix.strip_suffix('-') {
            Some(start) if !start.is_empty() => format!("{start}a"),
            _ => prefix.to_owned(),
        };
        check_name(&checked, prefix, "metadata.generateName", resource, errors);
    }
    let name = text(object, "name");
    if name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(FieldError::bare("metadata.name", FieldErrorKind::Required, detail));
        return;
    }
    check_name(name, name, "metadata.name", resource, errors);
}

/// Checks a name as the kind wants it. What is shown may differ from what is checked.
fn check_name(name: &str, shown: &str, field: &str, resource: &Resource, errors: &mut Vec<FieldError>) {
    let invalid = |detail: &str| FieldError::new(field, FieldErrorKind::Invalid, shown, detail);
    if resource.group == "rbac.authorization.k8s.io" || resource.plural == "events" {
        if matches!(name, "." | "..") {
            errors.push(invalid(&format!("may not be '{name}'")));
        }
        for character in ['/', '%'] {
            if name.contains(character) {
                errors.push(invalid(&format!("may not contain '{character}'")));
            }
        }
    } else if resource.group.is_empty() && resource.plural == "namespaces" {
        if name.len() > 63 {
            errors.push(invalid("must be no more than 63 bytes"));
        }
        if !is_dns_label(&name[..name.len().min(63)]) {
            errors.push(invalid(LABEL_RULE));
        }
    } else if resource.nature == crate::resource::Nature::Review {
    } else {
        if name.len() > 253 {
            errors.push(invalid("must be no more than 253 bytes"));
        }
        if !is_dns_subdomain(name) && name.len() <= 253 {
            errors.push(invalid(SUBDOMAIN_RULE));
        }
    }
}

fn validate_labels(object: &Value, errors: &mut Vec<FieldError>) {
    for (key, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        if key.split_once('/').is_some_and(|(_, name)| name.is_empty()) {
            let detail = "name part must be non-empty";
            errors.push(FieldError::new("metadata.labels", FieldErrorKind::Invalid, key.as_str(), detail));
        }
        if !is_label_key(key) {
            errors.push(FieldError::new("metadata.labels", FieldErrorKind::Invalid, key.as_str(), KEY_RULE));
        }
        let value = value.as_str().unwrap_or_default();
        if value.len() > 63 {
            errors.push(FieldError::new(
                "metadata.labels",
                FieldErrorKind::Invalid,
                value,
                "must be no more than 63 bytes",
            ));
        } else if !value.is_empty() && !is_name_part(value) {
            errors.push(FieldError::new("metadata.labels", FieldErrorKind::Invalid, value, VALUE_RULE));
        }
    }
}

fn validate_annotations(object: &Value, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in object["metadata"]["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        if !is_label_key(&key.to_ascii_lowercase()) {
            errors.push(FieldError::new(
                "metadata.annotations",
                FieldErrorKind::Invalid,
                key.as_str(),
                KEY_RULE,
            ));
        }
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
