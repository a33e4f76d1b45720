//! Which old value belongs to a new one. A refusal of a value that did not change is tolerated, and a rule about a
//! change needs to know what changed.

use super::{ListType, Schema, Type};
use serde_json::Value;

/// A value, the old value that belongs to it, and the schema of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Correlated<'a> {
    pub new: &'a Value,
    pub old: &'a Value,
    pub schema: &'a Schema,
}

impl<'a> Correlated<'a> {
    /// The pair for a field, if both have it and the schema knows it.
    pub(super) fn field(&self, name: &str) -> Option<Correlated<'a>> {
        let new = self.new.as_object()?.get(name)?;
        let old = self.old.as_object()?.get(name)?;
        Some(Correlated { new, old, schema: self.schema.field(name)? })
    }

    /// The pair for an item: only lists that are maps have one.
    pub(super) fn item(&self, index: usize) -> Option<Correlated<'a>> {
        let new = self.new.as_array()?.get(index)?;
        let old = old_item(self.schema, self.old.as_array()?, new)?;
        Some(Correlated { new, old, schema: self.schema.items.as_deref()? })
    }

    /// Whether nothing changed, as far as the schema can tell: fields that it does not know count as a change.
    pub(super) fn unchanged(&self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                match self.schema.list_type {
                    ListType::Map(_) => {
                        (0..new.len()).all(|index| self.item(index).is_some_and(|item| item.unchanged()))
                    }
                    ListType::Atomic | ListType::Set => new == old,
                }
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new.keys().all(|name| self.field(name).is_some_and(|field| field.unchanged()))
            }
            (new, old) => new == old,
        }
    }
}

/// The item of the old list with the same keys.
pub(super) fn old_item<'a>(schema: &Schema, old: &'a [Value], new: &Value) -> Option<&'a Value> {
    let ListType::Map(keys) = &schema.list_type else { return None };
    if schema.type_ != Some(Type::Array) || keys.is_empty() {
        return None;
    }
    let wanted = keys_of(keys, new)?;
    old.iter().find(|item| keys_of(keys, item).is_some_and(|keys| keys == wanted))
}

fn keys_of<'a>(keys: &[String], item: &'a Value) -> Option<Vec<&'a Value>> {
    let item = item.as_object()?;
    keys.iter()
        .map(|key| item.get(key).filter(|value| value.is_string() || value.is_number() || value.is_boolean()))
        .collect()
}
