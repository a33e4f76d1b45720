//! The patches of ClusterConfigs: JSON patches (RFC 6902) over a clean Shoot, with two options and a second way to write paths.

use allotment_api::openmcp::gardener::{JsonPatch, PatchOperation, PatchOptions};
use serde_json::{Map, Value};

/// Applies patches in order, all of them or none. The error says which one failed, and why.
pub(super) fn apply(shoot: &mut Value, patches: &[JsonPatch], options: PatchOptions) -> Result<(), String> {
    let mut patched = shoot.clone();
    for (number, patch) in patches.iter().enumerate() {
        apply_one(&mut patched, patch, options)
            .map_err(|why| format!("patches[{number}] ({} {}): {why}", word(patch.op), patch.path))?;
    }
    *shoot = patched;
    Ok(())
}

fn word(operation: PatchOperation) -> &'static str {
    match operation {
        PatchOperation::Test => "test",
        PatchOperation::Remove => "remove",
        PatchOperation::Add => "add",
        PatchOperation::Replace => "replace",
        PatchOperation::Move => "move",
        PatchOperation::Copy => "copy",
    }
}

fn apply_one(shoot: &mut Value, patch: &JsonPatch, options: PatchOptions) -> Result<(), String> {
    let path = path(&patch.path)?;
    let value = || patch.value.clone().ok_or("it has no value");
    let from = || patch.from.as_deref().ok_or_else(|| "it has no from".to_owned()).and_then(self::path);
    match patch.op {
        PatchOperation::Test => match find(shoot, &path)? == &value()? {
            true => Ok(()),
            false => Err("the value is another one".to_owned()),
        },
        PatchOperation::Remove => match take(shoot, &path) {
            Err(_) if options.ignore_missing_on_remove => Ok(()),
            taken => taken.map(drop),
        },
        PatchOperation::Add => put(shoot, &path, value()?, options.create_missing_on_add),
        PatchOperation::Replace => {
            *find_mut(shoot, &path)? = value()?;
            Ok(())
        }
        PatchOperation::Move => {
            let from = from()?;
            if path.len() > from.len() && path.starts_with(&from) {
                return Err("nothing can be moved into itself".to_owned());
            }
            let moved = take(shoot, &from)?;
            put(shoot, &path, moved, options.create_missing_on_add)
        }
        PatchOperation::Copy => {
            let copied = find(shoot, &from()?)?.clone();
            put(shoot, &path, copied, options.create_missing_on_add)
        }
    }
}

/// The steps of a path: a JSON pointer (`/spec/region`), or names with dots (`spec.region`, `metadata.labels[a.b/c]`), where a
/// backslash takes its meaning from the character behind it.
fn path(text: &str) -> Result<Vec<String>, String> {
    if let Some(pointer) = text.strip_prefix('/') {
        return Ok(pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect());
    }
    let (mut steps, mut step, mut is_open) = (Vec::new(), None::<String>, false);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                let next = characters.next().ok_or("the path ends with a backslash")?;
                step.get_or_insert_default().push(next);
            }
            '[' if !is_open => {
                is_open = true;
                steps.extend(step.take());
            }
            ']' if is_open => {
                is_open = false;
                steps.push(step.take().unwrap_or_default());
            }
            '.' if !is_open => steps.extend(step.take()),
            other => step.get_or_insert_default().push(other),
        }
    }
    if is_open {
        return Err("a bracket in the path is not closed".to_owned());
    }
    steps.extend(step);
    if steps.is_empty() { Err("the path is empty".to_owned()) } else { Ok(steps) }
}

fn find<'a>(value: &'a Value, path: &[String]) -> Result<&'a Value, String> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Object(members) => members.get(step).ok_or_else(|| missing(step)),
        Value::Array(items) => index(step).and_then(|place| items.get(place)).ok_or_else(|| missing(step)),
        _ => Err(missing(step)),
    })
}

fn find_mut<'a>(value: &'a mut Value, path: &[String]) -> Result<&'a mut Value, String> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Object(members) => members.get_mut(step).ok_or_else(|| missing(step)),
        Value::Array(items) => {
            index(step).and_then(|place| items.get_mut(place)).ok_or_else(|| missing(step))
        }
        _ => Err(missing(step)),
    })
}

fn take(value: &mut Value, path: &[String]) -> Result<Value, String> {
    let (last, above) = path.split_last().ok_or("the path is empty")?;
    match find_mut(value, above)? {
        Value::Object(members) => members.remove(last).ok_or_else(|| missing(last)),
        Value::Array(items) => match index(last).filter(|place| *place < items.len()) {
            Some(place) => Ok(items.remove(place)),
            None => Err(missing(last)),
        },
        _ => Err(missing(last)),
    }
}

fn put(shoot: &mut Value, path: &[String], value: Value, makes_parents: bool) -> Result<(), String> {
    let (last, above) = path.split_last().ok_or("the path is empty")?;
    if makes_parents {
        make(shoot, above, last);
    }
    match find_mut(shoot, above)? {
        Value::Object(members) => {
            members.insert(last.clone(), value);
            Ok(())
        }
        Value::Array(items) => {
            let place = if last == "-" { Some(items.len()) } else { index(last) };
            match place.filter(|place| *place <= items.len()) {
                Some(place) => {
                    items.insert(place, value);
                    Ok(())
                }
                None => Err(format!("{last} is no place in a list of {}", items.len())),
            }
        }
        _ => Err(format!("what is above {last} has no members")),
    }
}

/// Makes what is missing above: a list where the next step is a place in one, else an object.
fn make(shoot: &mut Value, above: &[String], last: &str) {
    let mut value = shoot;
    for (number, step) in above.iter().enumerate() {
        let next = above.get(number + 1).map_or(last, String::as_str);
        let empty = || match next {
            "-" | "0" => Value::Array(Vec::new()),
            _ => Value::Object(Map::new()),
        };
        let child = match value {
            Value::Object(members) => members.entry(step.clone()).or_insert_with(empty),
            Value::Array(items) => {
                let place = if step == "-" { Some(items.len()) } else { index(step) };
                let Some(place) = place.filter(|place| *place <= items.len()) else { return };
                if place == items.len() {
                    items.push(empty());
                }
                match items.get_mut(place) {
                    Some(child) => child,
                    None => return,
                }
            }
            _ => return,
        };
        value = child;
    }
}

/// A place in a list, without leading zeros.
fn index(step: &str) -> Option<usize> {
    let is_number = step == "0" || !step.starts_with(['0', '+']);
    step.parse().ok().filter(|_| is_number)
}

fn missing(step: &str) -> String {
    format!("there is no {step}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn patched(shoot: Value, patches: Value, options: Value) -> Result<Value, String> {
        let mut shoot = shoot;
        let patches: Vec<JsonPatch> = serde_json::from_value(patches).unwrap();
        apply(&mut shoot, &patches, serde_json::from_value(options).unwrap()).map(|()| shoot)
    }

    #[test]
    fn every_operation_does_what_the_rfc_says() {
        let shoot = || json!({"spec": {"list": ["a", "c"], "x": {"y": 1}}});
        for (patch, expected) in [
            (json!({"op": "add", "path": "/spec/list/1", "value": "b"}), json!(["a", "b", "c"])),
            (json!({"op": "add", "path": "/spec/list/-", "value": "d"}), json!(["a", "c", "d"])),
            (json!({"op": "remove", "path": "/spec/list/0"}), json!(["c"])),
            (json!({"op": "replace", "path": "/spec/list", "value": []}), json!([])),
            (json!({"op": "move", "path": "/spec/list/0", "from": "/spec/list/1"}), json!(["c", "a"])),
            (json!({"op": "copy", "path": "/spec/list", "from": "/spec/x"}), json!({"y": 1})),
            (json!({"op": "test", "path": "/spec/x/y", "value": 1}), json!(["a", "c"])),
        ] {
            let after = patched(shoot(), json!([patch]), json!({})).unwrap();
            assert_eq!(after["spec"]["list"], expected, "{patch}");
        }
        for patch in [
            json!({"op": "add", "path": "/spec/none/x", "value": 1}),
            json!({"op": "add", "path": "/spec/list/9", "value": 1}),
            json!({"op": "add", "path": "/spec/list/01", "value": 1}),
            json!({"op": "replace", "path": "/spec/none", "value": 1}),
            json!({"op": "remove", "path": "/spec/none"}),
            json!({"op": "move", "path": "/spec/x/z", "from": "/spec/x"}),
            json!({"op": "test", "path": "/spec/x/y", "value": 2}),
            json!({"op": "add", "path": "/spec/x"}),
        ] {
            assert!(patched(shoot(), json!([patch]), json!({})).is_err(), "{patch}");
        }
    }

    #[test]
    fn options_make_parents_and_forgive_what_is_missing() {
        let add = json!([{"op": "add", "path": "/spec/a/b/-", "value": 1}]);
        let made = patched(json!({}), add, json!({"createMissingOnAdd": true})).unwrap();
        assert_eq!(made, json!({"spec": {"a": {"b": [1]}}}));
        let remove = json!([{"op": "remove", "path": "spec.a"}]);
        assert_eq!(patched(json!({}), remove, json!({"ignoreMissingOnRemove": true})).unwrap(), json!({}));
    }

    #[test]
    fn all_or_none() {
        let mut shoot = json!({"a": 1});
        let patches: Vec<JsonPatch> = serde_json::from_value(json!([
            {"op": "replace", "path": "/a", "value": 2}, {"op": "remove", "path": "/b"},
        ]))
        .unwrap();
        let why = apply(&mut shoot, &patches, PatchOptions::default()).unwrap_err();
        assert_eq!(why, "patches[1] (remove /b): there is no b");
        assert_eq!(shoot, json!({"a": 1}));
    }

    #[test]
    fn x2_paths_with_dots_brackets_and_escapes_lose_no_character() {
        for (text, steps) in [
            ("/spec/a~1b/~0c", ["spec", "a/b", "~c"]),
            ("spec.region.x", ["spec", "region", "x"]),
            (r"metadata.labels[a.b/c]", ["metadata", "labels", "a.b/c"]),
            (r"a[b\.cd].e", ["a", "b.cd", "e"]),
            (r"a[b\]c][0]", ["a", "b]c", "0"]),
            (r"metadata.a\.b.c", ["metadata", "a.b", "c"]),
        ] {
            assert_eq!(path(text).unwrap(), steps, "{text}");
        }
        for bad in ["", r"a\", "a[b"] {
            assert!(path(bad).is_err(), "{bad}");
        }
    }
}
