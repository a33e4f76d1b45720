//! Reading and writing objects that come as JSON. What is absent, null or of another type reads as nothing: the schema
//! has had its say before.

use serde_json::{Map, Value, json};

/// What is at a JSON pointer; null is nothing.
pub(super) fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    value.pointer(pointer).filter(|found| !found.is_null())
}

/// A text, empty where there is none, as in Go.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    at(value, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A list, empty where there is none.
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    at(value, pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A list of texts.
pub(super) fn texts<'a>(value: &'a Value, pointer: &str) -> Vec<&'a str> {
    items(value, pointer).iter().filter_map(Value::as_str).collect()
}

/// Whether something is true.
pub(super) fn is_true(value: &Value, pointer: &str) -> bool {
    at(value, pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// A number, 0 where there is none, as in Go.
pub(super) fn number(value: &Value, pointer: &str) -> i64 {
    at(value, pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// Writes at a JSON pointer, and makes the objects on the way there.
pub(super) fn put(value: &mut Value, pointer: &str, new: Value) {
    let mut place = value;
    for field in pointer.split('/').skip(1) {
        place = object(place).entry(field).or_insert(Value::Null);
    }
    *place = new;
}

/// Writes at a JSON pointer unless something is there.
pub(super) fn put_default(value: &mut Value, pointer: &str, default: Value) {
    if at(value, pointer).is_none() {
        put(value, pointer, default);
    }
}

/// Removes the field at the end of a JSON pointer.
pub(super) fn remove(value: &mut Value, pointer: &str) {
    if let Some((parent, field)) = pointer.rsplit_once('/')
        && let Some(Value::Object(fields)) = value.pointer_mut(parent)
    {
        fields.remove(field);
    }
}

/// Puts in what is missing, at every depth. Lists are not looked into.
pub(super) fn fill(value: &mut Value, defaults: &Value) {
    match defaults {
        Value::Object(defaults) => {
            let fields = object(value);
            for (name, default) in defaults {
                fill(fields.entry(name.as_str()).or_insert(Value::Null), default);
            }
        }
        default if value.is_null() => *value = default.clone(),
        _ => {}
    }
}

/// An annotation, empty where there is none.
pub(super) fn annotation<'a>(value: &'a Value, name: &str) -> &'a str {
    value["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

/// Sets an annotation.
pub(super) fn annotate(value: &mut Value, name: &str, text: &str) {
    entry(value, "annotations").insert(name.to_owned(), json!(text));
}

/// Takes an annotation away.
pub(super) fn unannotate(value: &mut Value, name: &str) {
    if at(value, "/metadata/annotations").is_some() {
        entry(value, "annotations").remove(name);
        if entry(value, "annotations").is_empty() {
            remove(value, "/metadata/annotations");
        }
    }
}

/// The labels, made if there are none.
pub(super) fn labels(value: &mut Value) -> &mut Map<String, Value> {
    entry(value, "labels")
}

fn entry<'a>(value: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    let metadata = object(object(value).entry("metadata").or_insert(Value::Null));
    object(metadata.entry(name).or_insert(Value::Null))
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("it was made an object just above"),
    }
}
