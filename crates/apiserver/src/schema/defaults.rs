//! Defaults: what stands for a value that is missing or, where that is not allowed, `null`.

use super::Schema;
use serde_json::Value;

/// Fills in what is missing.
///
/// `null` where the schema does not allow it is replaced by the default, or dropped when there is none; in lists it
/// stays, to be refused later.
pub(crate) fn default(schema: &Schema, value: &mut Value) {
    drop_nulls(Some(schema), value);
    fill(schema, value);
}

/// Drops the nulls that no default replaces.
fn drop_nulls(schema: Option<&Schema>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let schema = schema.and_then(|schema| schema.field(name));
                !(value.is_null()
                    && schema.is_some_and(|schema| !schema.nullable && schema.default.is_none()))
            });
            for (name, value) in fields.iter_mut() {
                drop_nulls(schema.and_then(|schema| schema.field(name)), value);
            }
        }
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.items.as_deref());
            items.iter_mut().for_each(|item| drop_nulls(schema, item));
        }
        _ => {}
    }
}

/// Fills in what is missing, and drops nothing.
pub(crate) fn fill(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                match fields.get_mut(name) {
                    None => {
                        fields.insert(name.clone(), default.clone());
                    }
                    Some(value) if value.is_null() && !property.nullable => *value = default.clone(),
                    Some(_) => {}
                }
            }
            for (name, value) in fields.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    fill(property, value);
                } else if let Some(values) = &schema.additional_properties {
                    fill_element(values, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                items.iter_mut().for_each(|item| fill_element(schema, item));
            }
        }
        _ => {}
    }
}

/// A value of a map or an item of a list: it is there, so only its `null` can be replaced.
fn fill_element(schema: &Schema, value: &mut Value) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
    fill(schema, value);
}
