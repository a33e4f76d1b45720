//! JSON patch, RFC 6902, with the leniences of a real server: `replace` of a field that is not there adds it, `copy`
//! of one that is not there copies null, and indices below zero count from the end.

use super::{Decoding, must_be_object, read};
use crate::apply::depth::{MAX_DEPTH, nests_deeper};
use crate::apply::go;
use crate::error::ApiError;
use serde_json::{Map, Value};

/// How many operations a patch may have, as with a real server.
const MAX_OPERATIONS: usize = 10_000;

/// How much a patch may copy, as with a real server: an object that is copied into itself doubles every time.
const MAX_COPIED_BYTES: usize = 3 << 20;

/// Reads the body of a request.
pub(crate) fn decode(body: &[u8], decoding: Decoding) -> Result<Value, ApiError> {
    let refuse = |why: String| match decoding {
        Decoding::Lenient => ApiError::bad_request(why),
        Decoding::Checked => ApiError::bad_request(format!("error decoding patch: {why}")),
    };
    let (patch_type, operation_type) = match decoding {
        Decoding::Lenient => ("jsonpatch.Patch", "jsonpatch.Operation"),
        Decoding::Checked => ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp"),
    };
    let cannot = |value: &Value, target: &str| {
        refuse(format!("json: cannot unmarshal {} into Go {target}", go::json_word(value)))
    };
    let patch = read(body).map_err(refuse)?;
    let operations = match &patch {
        Value::Array(operations) => operations.as_slice(),
        Value::Null => &[],
        other => return Err(cannot(other, &format!("value of type {patch_type}"))),
    };
    for operation in operations {
        match operation {
            Value::Null => {}
            Value::Object(fields) if decoding == Decoding::Checked => {
                let odd = ["op", "path", "from"].iter().find_map(|name| {
                    let value = fields.get(*name)?;
                    (!value.is_string() && !value.is_null()).then_some((name, value))
                });
                if let Some((name, value)) = odd {
                    return Err(cannot(value, &format!("struct field jsonPatchOp.{name} of type string")));
                }
            }
            Value::Object(_) => {}
            other => return Err(cannot(other, &format!("value of type {operation_type}"))),
        }
    }
    if operations.len() > MAX_OPERATIONS {
        return Err(ApiError::too_large(format_args!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    Ok(patch)
}

/// The fields of operations that mean nothing, as warnings and strict refusals name them.
pub(crate) fn unknown_fields(patch: &Value) -> Vec<String> {
    let known = ["op", "path", "from", "value"];
    let operations = patch.as_array().map_or(&[] as &[Value], Vec::as_slice);
    let fields = operations.iter().enumerate().flat_map(|(index, operation)| {
        operation.as_object().into_iter().flat_map(Map::keys).map(move |name| (index, name))
    });
    fields
        .filter(|(_, name)| !known.contains(&name.as_str()))
        .map(|(index, name)| format!("json patch unknown field \"[{index}].{name}\""))
        .collect()
}

/// The object with the operations applied.
pub(crate) fn apply(target: &Value, patch: &Value) -> Result<Value, ApiError> {
    let mut document = target.clone();
    let mut copied_bytes = 0;
    for operation in patch.as_array().map_or(&[] as &[Value], Vec::as_slice) {
        perform(&mut document, operation, &mut copied_bytes).ok_or_else(rejected)?;
    }
    must_be_object(document)
}

/// 422, without a word about why: a real server keeps that to itself.
fn rejected() -> ApiError {
    ApiError {
        code: 422,
        reason: "Invalid",
        message: "the server rejected our request due to an error in our request".to_owned(),
        details: Some(Box::default()),
    }
}

/// Nothing if the operation does not apply.
fn perform(document: &mut Value, operation: &Value, copied_bytes: &mut usize) -> Option<()> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let value = operation.get("value");
    let path = text("path")?;
    match text("op")? {
        "add" => add(document, path, value.cloned().unwrap_or_default()),
        "remove" => take(document, path).map(|_| ()),
        "replace" => replace(document, path, value.cloned().unwrap_or_default()),
        "move" => {
            let value = take(document, text("from")?)?;
            add(document, path, value)
        }
        "copy" => {
            let value = get(document, text("from")?)?.cloned().unwrap_or_default();
            *copied_bytes += value.to_string().len();
            if *copied_bytes > MAX_COPIED_BYTES {
                return None;
            }
            add(document, path, value)
        }
        "test" => {
            let found = if path.is_empty() { Some(&*document) } else { get(document, path)? };
            (found.unwrap_or(&Value::Null) == value.unwrap_or(&Value::Null)).then_some(())
        }
        _ => None,
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Option<()> {
    // Operation by operation an object could get deeper than anybody can read.
    let levels = MAX_DEPTH.checked_sub(path.matches('/').count())?;
    if nests_deeper(&value, levels) {
        return None;
    }
    let (container, key) = find(document, path)?;
    match container {
        Container::Object(fields) => {
            fields.insert(key, value);
        }
        Container::List(items) if key == "-" => items.push(value),
        Container::List(items) => {
            let index = index(&key, items.len() + 1)?;
            items.insert(index, value);
        }
    }
    Some(())
}

fn replace(document: &mut Value, path: &str, value: Value) -> Option<()> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return None;
        }
        *document = value;
        return Some(());
    }
    let levels = MAX_DEPTH.checked_sub(path.matches('/').count())?;
    if nests_deeper(&value, levels) {
        return None;
    }
    match find(document, path)? {
        (Container::Object(fields), key) => {
            fields.insert(key, value);
        }
        (Container::List(items), key) => {
            let index = index(&key, items.len())?;
            *items.get_mut(index)? = value;
        }
    }
    Some(())
}

fn take(document: &mut Value, path: &str) -> Option<Value> {
    match find(document, path)? {
        (Container::Object(fields), key) => fields.remove(&key),
        (Container::List(items), key) => {
            let index = index(&key, items.len())?;
            Some(items.remove(index))
        }
    }
}

/// Nothing if there is nowhere to look; nothing inside if the field is not there.
fn get<'a>(document: &'a mut Value, path: &str) -> Option<Option<&'a Value>> {
    match find(document, path)? {
        (Container::Object(fields), key) => Some(fields.get(&key)),
        (Container::List(items), key) => {
            let index = index(&key, items.len())?;
            Some(items.get(index))
        }
    }
}

enum Container<'a> {
    Object(&'a mut Map<String, Value>),
    List(&'a mut Vec<Value>),
}

/// The object or list that holds what a path leads to, and the last step.
fn find<'a>(document: &'a mut Value, path: &str) -> Option<(Container<'a>, String)> {
    // What stands before the first slash is not looked at.
    let (_, path) = path.split_once('/')?;
    let mut steps: Vec<String> = path.split('/').map(unescape).collect();
    let last = steps.pop()?;
    let mut at = document;
    for step in steps {
        at = match at {
            Value::Object(fields) => fields.get_mut(&step)?,
            Value::Array(items) => {
                let index = index(&step, items.len())?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    match at {
        Value::Object(fields) => Some((Container::Object(fields), last)),
        Value::Array(items) => Some((Container::List(items), last)),
        _ => None,
    }
}

fn unescape(step: &str) -> String {
    // One pass: what one escape makes is not the start of another.
    let mut parts = step.split('~');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        if let Some(rest) = part.strip_prefix('1') {
            text + "/" + rest
        } else if let Some(rest) = part.strip_prefix('0') {
            text + "~" + rest
        } else {
            text + "~" + part
        }
    })
}

/// An index below the bound; one below zero counts from the bound.
fn index(key: &str, bound: usize) -> Option<usize> {
    let index: i64 = key.parse().ok()?;
    let bound = i64::try_from(bound).ok()?;
    let index = if index < 0 { index + bound } else { index };
    usize::try_from(index).ok().filter(|_| index < bound)
}
