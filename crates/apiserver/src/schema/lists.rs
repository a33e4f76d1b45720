//! Lists that are sets or maps: no item twice.

use super::path::Path;
use super::{ListType, Schema};
use crate::error::{FieldError, FieldErrorKind};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Refuses items that are there twice.
pub(super) fn duplicates(schema: &Schema, path: &Path<'_>, value: &Value, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if let Some(values) = &schema.additional_properties {
                for (name, value) in fields {
                    duplicates(values, &path.key(name), value, errors);
                }
            }
            for (name, value) in fields {
                if let Some(property) = schema.properties.get(name) {
                    duplicates(property, &path.field(name), value, errors);
                }
            }
        }
        Value::Array(items) => {
            match &schema.list_type {
                ListType::Atomic => {}
                ListType::Set => repeated(items.iter().map(Some)).into_iter().for_each(|index| {
                    errors.push(duplicate(&path.index(index), items[index].clone()));
                }),
                ListType::Map(keys) => map_duplicates(keys, path, items, errors),
            }
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    duplicates(schema, &path.index(index), item, errors);
                }
            }
        }
        _ => {}
    }
}

fn map_duplicates(keys: &[String], path: &Path<'_>, items: &[Value], errors: &mut Vec<FieldError>) {
    let stranger = items.iter().enumerate().find(|(_, item)| !item.is_null() && !item.is_object());
    if let Some((index, item)) = stranger {
        errors.push(FieldError::new(
            path.index(index).to_field(),
            FieldErrorKind::Invalid,
            item.clone(),
            "must be an object for an array of list-type map",
        ));
        return;
    }
    let identities: Vec<Value> = items
        .iter()
        .map(|item| {
            let fields: Map<String, Value> =
                keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone()))).collect();
            Value::Object(fields)
        })
        .collect();
    for index in repeated(identities.iter().map(Some)) {
        errors.push(duplicate(&path.index(index), identities[index].clone()));
    }
}

fn duplicate(path: &Path<'_>, value: Value) -> FieldError {
    FieldError::new(path.to_field(), FieldErrorKind::Duplicate, value, "")
}

/// The index of every value's second appearance; a third one is not named.
fn repeated<'a>(values: impl Iterator<Item = Option<&'a Value>>) -> Vec<usize> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut indices = Vec::new();
    for (index, value) in values.enumerate() {
        // A value's JSON is its identity: keys are in order.
        let times = seen.entry(value.map(Value::to_string).unwrap_or_default()).or_default();
        *times += 1;
        if *times == 2 {
            indices.push(index);
        }
    }
    indices
}
