//! Finds what changed between two objects.

use super::element::{PathElement, equal};
use super::fieldset::FieldSet;
use super::shape::{ListShape, MapShape, Node, Shape};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What changed between two objects. No path is in more than one of the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub removed: FieldSet,
    pub modified: FieldSet,
    pub added: FieldSet,
}

impl Changes {
    /// Finds them.
    pub(super) fn between(old: &Value, new: &Value, node: Node<'_>) -> Self {
        let mut comparison = Comparison { path: Vec::new(), changes: Self::default() };
        comparison.visit(Some(old), Some(new), node);
        comparison.changes
    }

    /// Those that are not at or below the given paths.
    pub(super) fn without(self, ignored: &FieldSet) -> Self {
        Self {
            removed: self.removed.recursive_difference(ignored),
            modified: self.modified.recursive_difference(ignored),
            added: self.added.recursive_difference(ignored),
        }
    }
}

struct Comparison {
    path: Vec<PathElement>,
    changes: Changes,
}

impl Comparison {
    /// One of both is there.
    fn visit(&mut self, old: Option<&Value>, new: Option<&Value>, node: Node<'_>) {
        let was_leaf = match (old, new) {
            (Some(before), Some(after)) if !node.same_kind(before, after) => {
                self.visit_as(old, new, &node.shape(old));
                self.visit_as(old, new, &node.shape(new))
            }
            (old, Some(_)) => self.visit_as(old, new, &node.shape(new)),
            (old, None) => self.visit_as(old, new, &node.shape(old)),
        };
        if !was_leaf {
            match (old, new) {
                (None, _) => self.changes.added.insert(&self.path),
                (_, None) => self.changes.removed.insert(&self.path),
                _ => {}
            }
        }
    }

    /// Whether it was one value.
    fn visit_as(&mut self, old: Option<&Value>, new: Option<&Value>, shape: &Shape<'_>) -> bool {
        match shape {
            Shape::Scalar(_) => {}
            Shape::List(list) => {
                let (before, after) = (items_of(old), items_of(new));
                let empty = before.is_empty() && after.is_empty();
                if !list.atomic() && !empty {
                    self.visit_items(before, after, list);
                    return false;
                }
            }
            Shape::Map(map) => {
                let none = Map::new();
                let (before, after) = (fields_of(old).unwrap_or(&none), fields_of(new).unwrap_or(&none));
                let empty = before.is_empty() && after.is_empty();
                if !map.atomic && !empty {
                    self.visit_fields(before, after, map);
                    return false;
                }
            }
        }
        self.leaf(old, new);
        true
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, _) => self.changes.added.insert(&self.path),
            (_, None) => self.changes.removed.insert(&self.path),
            (Some(old), Some(new)) if !equal(old, new) => self.changes.modified.insert(&self.path),
            _ => {}
        }
    }

    fn visit_fields(&mut self, before: &Map<String, Value>, after: &Map<String, Value>, map: &MapShape<'_>) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let Some(node) = map.field(name) else { continue };
            self.path.push(PathElement::field(name));
            self.visit(before.get(name), after.get(name), node);
            self.path.pop();
        }
    }

    fn visit_items(&mut self, before: &[Value], after: &[Value], list: &ListShape<'_>) {
        let (before, after) = (by_step(before, list), by_step(after, list));
        let steps: BTreeSet<&PathElement> = before.keys().chain(after.keys()).collect();
        for step in steps {
            let old = before.get(step).map_or(&[] as &[&Value], Vec::as_slice);
            let new = after.get(step).map_or(&[] as &[&Value], Vec::as_slice);
            self.path.push(step.clone());
            match (old, new) {
                (old @ ([] | [_]), new @ ([] | [_])) => {
                    self.visit(old.first().copied(), new.first().copied(), list.item);
                }
                // Items that are there more than once are one value together.
                ([_, _, ..], [_, _, ..]) => {
                    if old.len() != new.len() || !old.iter().zip(new).all(|(old, new)| equal(old, new)) {
                        self.changes.modified.insert(&self.path);
                    }
                }
                ([_, _, ..], new) => {
                    if let [new] = new {
                        self.visit(None, Some(new), list.item);
                    }
                    self.changes.removed.insert(&self.path);
                }
                (old, [_, _, ..]) => {
                    if let [old] = old {
                        self.visit(Some(old), None, list.item);
                    }
                    self.changes.added.insert(&self.path);
                }
            }
            self.path.pop();
        }
    }
}

fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields_of(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn by_step<'a>(items: &'a [Value], list: &ListShape<'_>) -> BTreeMap<PathElement, Vec<&'a Value>> {
    let mut by_step: BTreeMap<PathElement, Vec<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(step) = list.step_to(item) {
            by_step.entry(step).or_default().push(item);
        }
    }
    by_step
}
