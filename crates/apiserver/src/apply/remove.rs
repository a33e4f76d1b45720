//! Removes fields and items from an object.

use super::element::PathElement;
use super::fieldset::FieldSet;
use super::shape::{ListShape, MapShape, Node, Shape};
use serde_json::{Map, Value};

/// The value without the paths of the set. Where nothing is left of an object or a list, `null` is.
pub(crate) fn remove(value: &Value, paths: &FieldSet, node: Node<'_>) -> Value {
    match (node.shape(Some(value)), value) {
        (Shape::Scalar(_), value) => value.clone(),
        (Shape::List(list), Value::Array(items)) if !list.atomic() => remove_items(items, paths, &list),
        (Shape::Map(map), Value::Object(fields)) if !map.atomic => remove_fields(fields, paths, &map),
        (Shape::List(_) | Shape::Map(_), _) => Value::Null,
    }
}

fn remove_items(items: &[Value], paths: &FieldSet, list: &ListShape<'_>) -> Value {
    let mut rest = Vec::with_capacity(items.len());
    for item in items {
        let Ok(step) = list.step_to(item) else {
            rest.push(item.clone());
            continue;
        };
        if !paths.members.contains(&step) {
            rest.push(remove_below(item, &step, paths, list.item));
        }
    }
    if rest.is_empty() { Value::Null } else { Value::Array(rest) }
}

fn remove_fields(fields: &Map<String, Value>, paths: &FieldSet, map: &MapShape<'_>) -> Value {
    let mut rest = Map::new();
    for (name, value) in fields {
        let step = PathElement::field(name);
        if !paths.members.contains(&step) {
            let value = match map.field(name) {
                Some(node) => remove_below(value, &step, paths, node),
                None => value.clone(),
            };
            rest.insert(name.clone(), value);
        }
    }
    if rest.is_empty() { Value::Null } else { Value::Object(rest) }
}

fn remove_below(value: &Value, step: &PathElement, paths: &FieldSet, node: Node<'_>) -> Value {
    match paths.children.get(step) {
        Some(below) => remove(value, below, node),
        None => value.clone(),
    }
}
