//! Lists in a strategic merge patch.

use super::{
    DIRECTIVE, ELEMENT_ORDER, Fields, Strategy, expected, merge_fields, no_merge_key, unknown_directive,
    without_directives,
};
use crate::apply::{go, unexpected};
use crate::error::ApiError;
use crate::schema::Schema;
use serde_json::Value;

/// The items of a list with those of the patch merged in, or taken away.
pub(super) fn merge(
    items: Vec<Value>,
    patch: Vec<Value>,
    schema: Option<&Schema>,
    is_deletion: bool,
) -> Result<Vec<Value>, ApiError> {
    let strategy = Strategy::of(schema);
    if strategy == Strategy::Replace && !is_deletion {
        return Ok(patch);
    }
    if items.is_empty() && patch.is_empty() {
        return Ok(items);
    }
    if !are_objects(&items, &patch)? {
        if is_deletion {
            return Ok(items.into_iter().filter(|item| !patch.contains(item)).collect());
        }
        let mut all: Vec<Value> = Vec::with_capacity(items.len() + patch.len());
        for item in items.iter().chain(&patch) {
            if !all.contains(item) {
                all.push(item.clone());
            }
        }
        return arrange(all, &patch, &items, None);
    }
    let Strategy::MergeBy(key) = strategy else {
        return Err(unexpected("cannot merge lists without merge key for struct".to_owned()));
    };
    let (items, patch) = follow_directives(items, patch, key)?;
    let merged =
        merge_objects(items.clone(), &patch, key, schema.and_then(|schema| schema.items.as_deref()))?;
    arrange(merged, &patch, &items, Some(key))
}

/// Follows `$setElementOrder`: merges the lists that it names, and puts them in order.
pub(super) fn set_order(
    target: &mut Fields,
    patch: &mut Fields,
    schema: Option<&Schema>,
) -> Result<(), ApiError> {
    let directives: Vec<String> =
        patch.keys().filter(|name| name.starts_with(ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let order = match patch.remove(&directive) {
            Some(Value::Array(order)) => order,
            other => return Err(expected("[]interface {}", &other.unwrap_or_default())),
        };
        let Some((ELEMENT_ORDER, name)) = directive.split_once('/') else { return Err(bad_order()) };
        let below = schema.and_then(|schema| schema.field(name));
        let key = match Strategy::of(below) {
            Strategy::MergeBy(key) => Some(key),
            Strategy::Replace | Strategy::MergeValues => None,
        };
        let items = list(target.get(name))?;
        let changes = list(patch.get(name))?;
        check_order(changes.as_deref().unwrap_or_default(), &order, key)?;
        let merged = match (items.clone(), changes.clone()) {
            (None, None) => continue,
            (Some(items), None) => items,
            (None, Some(changes)) => changes.into_iter().filter_map(without_directives).collect(),
            (Some(items), Some(changes)) => merge(items, changes, below, false)?,
        };
        let (items, changes) = (items.unwrap_or_default(), changes.unwrap_or_default());
        are_objects(&items, &changes)?;
        let before = key.map_or_else(|| items.clone(), |key| as_left_behind(&items, &changes, key));
        target.insert(name.to_owned(), Value::Array(arrange(merged, &order, &before, key)?));
        patch.remove(name);
    }
    Ok(())
}

/// The list that a real server takes for the old one: it merges in place, so that what is new stands where something
/// was deleted.
fn as_left_behind(items: &[Value], changes: &[Value], key: &str) -> Vec<Value> {
    let mut place = items.to_vec();
    let mut used = place.len();
    let (deletions, merges): (Vec<&Value>, Vec<&Value>) =
        changes.iter().partition(|change| change.get(DIRECTIVE).is_some());
    if deletions.iter().any(|change| change[DIRECTIVE] != "delete") {
        return place;
    }
    for deletion in deletions {
        while let Some(at) = place[..used].iter().position(|item| same(item, deletion, Some(key))) {
            let moved = place[at + 1..used].to_vec();
            place.splice(at..used - 1, moved);
            used -= 1;
        }
    }
    for change in merges {
        let known = place[..used].iter().any(|item| same(item, change, Some(key)));
        if let Some(free) = place.get_mut(used).filter(|_| !known) {
            *free = change.clone();
            used += 1;
        }
    }
    place
}

fn bad_order() -> ApiError {
    ApiError::bad_request("invalid patch format of setElementOrder list")
}

fn list(value: Option<&Value>) -> Result<Option<Vec<Value>>, ApiError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => Err(expected("[]interface {}", other)),
    }
}

/// Whether the items are objects. All must be of the same type, and none a list.
fn are_objects(items: &[Value], patch: &[Value]) -> Result<bool, ApiError> {
    let mut all = items.iter().chain(patch);
    let Some(first) = all.next() else {
        return Err(unexpected("no elements in any of the given slices".to_owned()));
    };
    if first.is_array() {
        return Err(ApiError {
            code: 422,
            reason: "Invalid",
            message: "the server rejected our request due to an error in our request".to_owned(),
            details: Some(Box::default()),
        });
    }
    if all.any(|item| go::type_of(item) != go::type_of(first)) {
        let lists = format!("[{} {}]", go::list(items), go::list(patch));
        return Err(unexpected(format!("list element types are not identical: {lists}")));
    }
    Ok(first.is_object())
}

/// Follows the directives among the items of the patch. The rest of it is still to be merged.
fn follow_directives(
    mut items: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), ApiError> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut replace = false;
    for change in patch {
        let Value::Object(fields) = &change else { continue };
        match fields.get(DIRECTIVE) {
            None => rest.push(change),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    let value = fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
                    items.retain(|item| item.get(key) != Some(value));
                }
                Some("replace") => replace = true,
                Some("merge") => {
                    return Err(unexpected("merging lists cannot yet be specified in the patch".to_owned()));
                }
                _ => return Err(unknown_directive(directive, fields)),
            },
        }
    }
    Ok(if replace { (rest, Vec::new()) } else { (items, rest) })
}

fn merge_objects(
    mut items: Vec<Value>,
    patch: &[Value],
    key: &str,
    schema: Option<&Schema>,
) -> Result<Vec<Value>, ApiError> {
    for change in patch {
        let Value::Object(fields) = change else { continue };
        let value = fields.get(key).ok_or_else(|| no_merge_key(fields, key))?;
        match items.iter_mut().find(|item| item.get(key) == Some(value)) {
            Some(Value::Object(item)) => {
                *item = merge_fields(std::mem::take(item), fields.clone(), schema)?;
            }
            _ => items.push(change.clone()),
        }
    }
    Ok(items)
}

/// The items of a patch must come in the order that it sets.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), ApiError> {
    if order.is_empty() {
        return Ok(());
    }
    let mut order_left = order.iter();
    for change in patch {
        if let Some(key) = key {
            let fields = change.as_object().ok_or_else(|| expected("map[string]interface {}", change))?;
            if fields.contains_key(DIRECTIVE) {
                continue;
            }
            if !fields.contains_key(key) {
                return Err(no_merge_key(fields, key));
            }
        }
        if !order_left.any(|item| same(item, change, key)) {
            return Err(unexpected(format!(
                "The order in patch list:\n{}\n doesn't match {ELEMENT_ORDER} list:\n{}\n",
                go::list(patch),
                go::list(order)
            )));
        }
    }
    Ok(())
}

fn same(left: &Value, right: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => left.get(key) == right.get(key),
        None => left == right,
    }
}

/// Puts items in order: those that the patch names come in its order; the others come in the order they had, before
/// the first that they were before.
fn arrange(
    merged: Vec<Value>,
    patch_order: &[Value],
    live_order: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, ApiError> {
    if let Some(key) = key {
        for item in merged.iter().chain(patch_order) {
            let fields = item.as_object().ok_or_else(|| expected("map[string]interface {}", item))?;
            if !fields.contains_key(key) {
                return Err(no_merge_key(fields, key));
            }
        }
    }
    let position = |order: &[Value], item: &Value| order.iter().position(|other| same(other, item, key));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| position(patch_order, item).is_some());
    named.sort_by_key(|item| position(patch_order, item));
    others.sort_by_key(|item| position(live_order, item));

    let mut arranged = Vec::with_capacity(named.len() + others.len());
    let mut named = named.into_iter().peekable();
    for other in others {
        let place = position(live_order, &other);
        while let Some(next) =
            named.next_if(|next| !matches!((place, position(live_order, next)), (Some(l), Some(r)) if l < r))
        {
            arranged.push(next);
        }
        arranged.push(other);
    }
    arranged.extend(named);
    Ok(arranged)
}
