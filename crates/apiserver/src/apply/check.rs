//! Checks that an object fits its schema well enough to be merged.

use super::element::PathElement;
use super::go;
use super::shape::{ListShape, MapShape, Node, ScalarShape, Shape};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Whether a list may name the same item twice. What is stored may; what is applied may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duplicates {
    Allowed,
    Refused,
}

/// Refuses a value that does not fit, in the words of a real server.
pub(crate) fn check(value: &Value, node: Node<'_>, duplicates: Duplicates) -> Result<(), String> {
    let mut checker = Checker { path: String::new(), duplicates, misfits: Vec::new() };
    checker.visit(value, node);
    match checker.misfits.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!(
            "errors:\n{}",
            many.iter().map(|text| format!("  {text}")).collect::<Vec<_>>().join("\n")
        )),
    }
}

struct Checker {
    path: String,
    duplicates: Duplicates,
    misfits: Vec<String>,
}

impl Checker {
    fn refuse(&mut self, why: impl std::fmt::Display) {
        let misfit = match self.path.as_str() {
            "" => why.to_string(),
            path => format!("{path}: {why}"),
        };
        self.misfits.push(misfit);
    }

    fn below(&mut self, step: impl std::fmt::Display, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(&step.to_string());
        visit(self);
        self.path.truncate(length);
    }

    fn visit(&mut self, value: &Value, node: Node<'_>) {
        match (node.shape(Some(value)), value) {
            (_, Value::Null) => {}
            (Shape::Map(map), Value::Object(fields)) => self.visit_fields(fields, &map),
            (Shape::Map(_), value) => {
                self.refuse(format_args!("expected map, got &{{{}}}", go::plain(value)));
            }
            (Shape::List(list), Value::Array(items)) => self.visit_items(items, &list),
            (Shape::List(_), value) => {
                self.refuse(format_args!("expected list, got &{{{}}}", go::plain(value)));
            }
            (Shape::Scalar(scalar), value) => self.visit_scalar(value, scalar),
        }
    }

    fn visit_scalar(&mut self, value: &Value, scalar: ScalarShape) {
        match (scalar, value) {
            (ScalarShape::Numeric, Value::Number(_))
            | (ScalarShape::Text, Value::String(_))
            | (ScalarShape::Boolean, Value::Bool(_))
            | (ScalarShape::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => {}
            (ScalarShape::Numeric, value) => {
                self.refuse(format_args!("expected numeric (int or float), got {}", go::type_of(value)));
            }
            (ScalarShape::Text, value) => self.refuse(format_args!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                go::syntax(value)
            )),
            (ScalarShape::Boolean, value) => {
                self.refuse(format_args!("expected boolean, got &{{{}}}", go::plain(value)));
            }
            (ScalarShape::Any, value) => {
                self.refuse(format_args!("expected any scalar, got &{{{}}}", go::plain(value)));
            }
        }
    }

    fn visit_items(&mut self, items: &[Value], list: &ListShape<'_>) {
        let mut seen: BTreeSet<PathElement> = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let step = if list.atomic() {
                PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))
            } else {
                match list.step_to(item) {
                    Ok(step) => step,
                    Err(why) => return self.refuse(format_args!("element {index}: {why}")),
                }
            };
            if !seen.insert(step.clone()) && self.duplicates == Duplicates::Refused {
                self.refuse(format_args!("duplicate entries for key {step}"));
            }
            self.below(step, |checker| checker.visit(item, list.item));
        }
    }

    fn visit_fields(&mut self, fields: &Map<String, Value>, map: &MapShape<'_>) {
        for (name, value) in fields {
            let step = PathElement::field(name);
            match map.field(name) {
                Some(node) => self.below(step, |checker| checker.visit(value, node)),
                // A real server looks no further.
                None => return self.below(step, |checker| checker.refuse("field not declared in schema")),
            }
        }
    }
}
