//! Pruning: fields that the schema does not know are dropped, and named.

use super::{Schema, object_meta};
use serde_json::Value;

/// Drops unknown fields and returns their paths: `spec.foo`, `spec.list[0].x`. Those in the metadata of embedded
/// resources come last.
///
/// `apiVersion`, `kind` and `metadata` of the object itself are left alone.
pub(crate) fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut dropped = Dropped { path: String::new(), paths: Vec::new() };
    dropped.prune(Some(schema), true, value);
    dropped.paths.sort_unstable();
    let mut paths = std::mem::take(&mut dropped.paths);
    dropped.metadata(schema, false, value);
    dropped.paths.sort_unstable();
    paths.append(&mut dropped.paths);
    paths
}

struct Dropped {
    /// Where we are; cut back after every step.
    path: String,
    paths: Vec<String>,
}

fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

impl Dropped {
    fn prune(&mut self, schema: Option<&Schema>, resource: bool, value: &mut Value) {
        if let Some(schema) = schema.filter(|schema| schema.preserve_unknown_fields) {
            return self.preserve(schema, resource, value);
        }
        let embedded = resource || schema.is_some_and(|schema| schema.embedded_resource);
        match value {
            Value::Object(fields) => fields.retain(|name, value| {
                if embedded && is_meta(name) {
                    return true;
                }
                let property = schema.and_then(|schema| schema.field(name));
                if property.is_some() || schema.is_some_and(Schema::has_additional) {
                    self.below_field(name, |this| this.prune(property, false, value));
                    return true;
                }
                self.below_field(name, |this| this.paths.push(this.path.clone()));
                false
            }),
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.items.as_deref());
                for (index, item) in items.iter_mut().enumerate() {
                    self.below_index(index, |this| this.prune(schema, false, item));
                }
            }
            _ => {}
        }
    }

    /// Nothing is dropped here, but below fields that the schema knows pruning goes on.
    fn preserve(&mut self, schema: &Schema, resource: bool, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    if (resource || schema.embedded_resource) && is_meta(name) {
                        continue;
                    }
                    let property = schema.field(name);
                    if property.is_some() || schema.has_additional() {
                        self.below_field(name, |this| this.prune(property, false, value));
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = &schema.items else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.below_index(index, |this| this.preserve(schema, false, item));
                }
            }
            _ => {}
        }
    }

    fn metadata(&mut self, schema: &Schema, embedded: bool, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    if embedded && name == "metadata" {
                        self.below_field(name, |this| this.prune(Some(object_meta()), false, value));
                    } else if let Some(property) = schema.field(name) {
                        self.below_field(name, |this| {
                            this.metadata(property, property.embedded_resource, value);
                        });
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = &schema.items else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.below_index(index, |this| this.metadata(schema, schema.embedded_resource, item));
                }
            }
            _ => {}
        }
    }

    fn below_field(&mut self, name: &str, then: impl FnOnce(&mut Self)) {
        let before = self.path.len();
        if before > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        then(self);
        self.path.truncate(before);
    }

    fn below_index(&mut self, index: usize, then: impl FnOnce(&mut Self)) {
        let before = self.path.len();
        self.path.push_str(&format!("[{index}]"));
        then(self);
        self.path.truncate(before);
    }
}
