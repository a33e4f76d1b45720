//! Merges what is applied into what is there.

use super::element::PathElement;
use super::shape::{ListShape, MapShape, Node, Shape};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What is there with what is applied on top. Nothing is removed.
pub(crate) fn merge(live: &Value, applied: &Value, node: Node<'_>) -> Value {
    merge_some(live, applied, node).unwrap_or(Value::Null)
}

fn merge_some(live: &Value, applied: &Value, node: Node<'_>) -> Option<Value> {
    match node.shape(Some(applied)) {
        Shape::Scalar(_) => Some(applied.clone()),
        Shape::List(list) => {
            let (before, after) = (items_of(live), items_of(applied));
            // If both are empty the applied one wins as a whole: `null` and `[]` are not the same.
            if list.atomic() || (before.is_empty() && after.is_empty()) {
                return Some(applied.clone());
            }
            let items = merge_items(before, after, &list);
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Shape::Map(map) => {
            let none = Map::new();
            let (before, after) = (live.as_object().unwrap_or(&none), applied.as_object().unwrap_or(&none));
            if map.atomic || (before.is_empty() && after.is_empty()) {
                return Some(applied.clone());
            }
            let fields = merge_fields(before, after, &map);
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
    }
}

fn items_of(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn merge_fields(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    map: &MapShape<'_>,
) -> Map<String, Value> {
    let mut merged = before.clone();
    for (name, applied) in after {
        let value = match (before.get(name), map.field(name)) {
            (Some(live), Some(node)) => merge_some(live, applied, node),
            _ => Some(applied.clone()),
        };
        match value {
            Some(value) => merged.insert(name.clone(), value),
            None => merged.remove(name),
        };
    }
    merged
}

/// The items of both lists. Those that are in both come in the order of the applied one; those that are only in the
/// live one stay where they are relative to their neighbours.
fn merge_items(before: &[Value], after: &[Value], list: &ListShape<'_>) -> Vec<Value> {
    let before = Indexed::new(before, list);
    let after = Indexed::new(after, list);
    // The items of both that are still to come, in the order in which they will.
    let mut shared: VecDeque<&PathElement> =
        after.steps.iter().filter(|step| before.by_step.contains_key(step)).collect();
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    let mut merged = Vec::with_capacity(before.steps.len().max(after.steps.len()));
    let (mut left, mut right) = (0, 0);
    loop {
        let (old, new) = (before.steps.get(left), after.steps.get(right));
        if let (Some(old), Some(new)) = (old, new) {
            if old == new {
                done.insert(old);
                merged.extend(merge_item(&before, &after, old, list));
                (left, right) = (left + 1, right + 1);
                shared.pop_front();
                continue;
            }
            let not_now = shared.front().is_some_and(|next| *next != old);
            if after.by_step.contains_key(old) && not_now {
                left += 1;
                continue;
            }
        }
        if let Some(old) = old {
            if !after.by_step.contains_key(old) {
                merged.extend(before.items.get(left).map(|item| (*item).clone()));
                left += 1;
                continue;
            }
            if done.contains(old) {
                left += 1;
            }
        }
        let Some(new) = new else {
            // All items of the applied list are merged; those of the live one that are left were among them.
            if left >= before.steps.len() {
                return merged;
            }
            continue;
        };
        done.insert(new);
        merged.extend(merge_item(&before, &after, new, list));
        right += 1;
        if shared.front().is_some_and(|next| *next == new) {
            shared.pop_front();
        }
    }
}

/// A list with the steps to its items.
struct Indexed<'a> {
    steps: Vec<PathElement>,
    items: Vec<&'a Value>,
    /// Nothing for an item that is there more than once: such items are not merged but replaced.
    by_step: BTreeMap<PathElement, Option<&'a Value>>,
}

impl<'a> Indexed<'a> {
    fn new(list: &'a [Value], shape: &ListShape<'_>) -> Self {
        let mut indexed = Self { steps: Vec::new(), items: Vec::new(), by_step: BTreeMap::new() };
        for item in list {
            let Ok(step) = shape.step_to(item) else { continue };
            indexed.by_step.entry(step.clone()).and_modify(|known| *known = None).or_insert(Some(item));
            indexed.steps.push(step);
            indexed.items.push(item);
        }
        indexed
    }

    fn get(&self, step: &PathElement) -> Option<&'a Value> {
        self.by_step.get(step).copied().flatten()
    }
}

fn merge_item(
    before: &Indexed<'_>,
    after: &Indexed<'_>,
    step: &PathElement,
    list: &ListShape<'_>,
) -> Option<Value> {
    match (before.get(step), after.get(step)) {
        (Some(live), Some(applied)) => merge_some(live, applied, list.item),
        (_, Some(applied)) => Some(applied.clone()),
        (live, None) => live.cloned(),
    }
}
