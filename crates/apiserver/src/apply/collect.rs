//! Collects the paths that an object is made of.

use super::element::PathElement;
use super::fieldset::FieldSet;
use super::shape::{ListShape, MapShape, Node, Shape};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// All paths that whoever wrote a value owns.
pub(crate) fn paths_of(value: &Value, node: Node<'_>) -> FieldSet {
    let mut collector = Collector { path: Vec::new(), set: FieldSet::default() };
    collector.visit(value, node);
    collector.set
}

struct Collector {
    path: Vec<PathElement>,
    set: FieldSet,
}

impl Collector {
    fn visit(&mut self, value: &Value, node: Node<'_>) {
        match node.shape(Some(value)) {
            Shape::Scalar(_) => self.set.insert(&self.path),
            Shape::List(list) if list.atomic() => self.set.insert(&self.path),
            Shape::Map(map) if map.atomic => self.set.insert(&self.path),
            Shape::List(list) => {
                if let Value::Array(items) = value {
                    self.visit_items(items, &list);
                }
            }
            Shape::Map(map) => {
                if let Value::Object(fields) = value {
                    self.visit_fields(fields, &map);
                }
            }
        }
    }

    fn visit_items(&mut self, items: &[Value], list: &ListShape<'_>) {
        let steps: Vec<Option<PathElement>> = items.iter().map(|item| list.step_to(item).ok()).collect();
        let mut seen = BTreeSet::new();
        let twice: BTreeSet<&PathElement> =
            steps.iter().flatten().filter(|step| !seen.insert(*step)).collect();
        for step in &twice {
            self.path.push((*step).clone());
            self.set.insert(&self.path);
            self.path.pop();
        }
        for (item, step) in items.iter().zip(&steps) {
            let Some(step) = step.as_ref().filter(|step| !twice.contains(step)) else { continue };
            self.path.push(step.clone());
            self.visit(item, list.item);
            self.set.insert(&self.path);
            self.path.pop();
        }
    }

    fn visit_fields(&mut self, fields: &Map<String, Value>, map: &MapShape<'_>) {
        for (name, value) in fields {
            let declared = map.declared(name);
            let Some(node) = declared.or(map.element) else { continue };
            self.path.push(PathElement::field(name));
            self.visit(value, node);
            // What is empty is owned as such; what is not declared is owned like the item of a list.
            let empty = match value {
                Value::Null => true,
                Value::Object(fields) => fields.is_empty(),
                _ => false,
            };
            if empty || declared.is_none() {
                self.set.insert(&self.path);
            }
            self.path.pop();
        }
    }
}
