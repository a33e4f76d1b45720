//! Strategic merge patch, for kinds that are built in: lists are merged by the keys that the schema names.
//!
//! A list that is a map is merged by the first of its keys, a set by its values; any other list is replaced.
//! Directives say otherwise: `$patch`, `$retainKeys`, `$setElementOrder/…`, `$deleteFromPrimitiveList/…`.
//!
//! Custom resources have no such patch: a caller answers 415.

mod lists;

use super::read;
use crate::apply::{go, unexpected};
use crate::error::ApiError;
use crate::schema::{ListType, Schema};
use serde_json::{Map, Value};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";

type Fields = Map<String, Value>;

/// Reads the body of a request.
pub(crate) fn decode(body: &[u8]) -> Result<Value, ApiError> {
    match read(body).map_err(ApiError::bad_request)? {
        patch @ Value::Object(_) => Ok(patch),
        Value::Null => Ok(Value::Object(Map::new())),
        other => Err(ApiError::bad_request(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go::json_word(&other)
        ))),
    }
}

/// The object with the patch applied.
pub(crate) fn apply(target: &Value, patch: &Value, schema: &Schema) -> Result<Value, ApiError> {
    let target = target.as_object().cloned().unwrap_or_default();
    let patch = patch.as_object().cloned().unwrap_or_default();
    Ok(Value::Object(merge_fields(target, patch, Some(schema))?))
}

/// How a list is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy<'a> {
    Replace,
    MergeValues,
    MergeBy(&'a str),
}

impl<'a> Strategy<'a> {
    fn of(schema: Option<&'a Schema>) -> Self {
        match schema.map(|schema| &schema.list_type) {
            Some(ListType::Set) => Self::MergeValues,
            Some(ListType::Map(keys)) => keys.first().map_or(Self::Replace, |key| Self::MergeBy(key)),
            Some(ListType::Atomic) | None => Self::Replace,
        }
    }
}

fn merge_fields(mut target: Fields, mut patch: Fields, schema: Option<&Schema>) -> Result<Fields, ApiError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Fields::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut target, &mut patch)?;
    lists::set_order(&mut target, &mut patch, schema)?;
    for (name, patch) in patch {
        let (name, is_deletion) = match deletion_list(&name)? {
            Some(list) => (list.to_owned(), true),
            None => (name, false),
        };
        if patch.is_null() {
            target.remove(&name);
            continue;
        }
        let below = schema.and_then(|schema| schema.field(&name));
        let merged = match (target.remove(&name), patch) {
            (Some(Value::Object(fields)), Value::Object(patch)) => {
                Some(Value::Object(merge_fields(fields, patch, below)?))
            }
            (Some(Value::Array(items)), Value::Array(patch)) => {
                Some(Value::Array(lists::merge(items, patch, below, is_deletion)?))
            }
            // Nothing to delete from.
            (found, _) if is_deletion => found,
            (_, patch) => without_directives(without_nulls(patch)),
        };
        if let Some(merged) = merged {
            target.insert(name, merged);
        }
    }
    Ok(target)
}

/// Drops the fields that the patch does not want to keep.
fn retain_keys(target: &mut Fields, patch: &mut Fields) -> Result<(), ApiError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let bad = || ApiError::bad_request("invalid patch format of retainKeys");
    let keys = keys.as_array().ok_or_else(bad)?;
    let retained = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
    let unlisted = patch.iter().any(|(name, value)| {
        !value.is_null()
            && !name.starts_with(DELETE_FROM_LIST)
            && !name.starts_with(ELEMENT_ORDER)
            && !retained(name)
    });
    if unlisted {
        return Err(bad());
    }
    target.retain(|name, _| retained(name));
    Ok(())
}

/// The list that a directive deletes values from.
fn deletion_list(name: &str) -> Result<Option<&str>, ApiError> {
    if !name.starts_with(DELETE_FROM_LIST) {
        return Ok(None);
    }
    match name.split_once('/') {
        Some((DELETE_FROM_LIST, list)) => Ok(Some(list)),
        _ => Err(ApiError::bad_request("invalid patch format of primitive list")),
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

/// What is left when everything with a directive is gone.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => Some(
            fields.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?))).collect(),
        ),
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        value => Some(value),
    }
}

fn unknown_directive(directive: &Value, patch: &Fields) -> ApiError {
    let map = go::plain(&Value::Object(patch.clone()));
    unexpected(format!("unknown patch type: {} in map: {map}", go::plain(directive)))
}

fn no_merge_key(item: &Fields, key: &str) -> ApiError {
    let map = go::plain(&Value::Object(item.clone()));
    unexpected(format!("map: {map} does not contain declared merge key: {key}"))
}

fn expected(what: &str, found: &Value) -> ApiError {
    let found = match found {
        Value::Null => "%!s(<nil>)",
        found => go::type_of(found),
    };
    unexpected(format!("expected a {what}, but received a {found}"))
}
