//! What is otherwise in two versions of an object, field by field, for people.

use serde::Serialize;
use serde_json::{Map, Value};
use std::{collections::BTreeSet, fmt};

/// The members by which the entries of a list are told apart.
const KEYS: [&str; 2] = ["name", "type"];

/// A field that is otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Its path, such as `spec.provider.workers[cpu-worker-0].maximum`.
    pub field: String,
    /// What it was; none where it is new.
    pub before: Option<Value>,
    /// What it is; none where it is gone.
    pub after: Option<Value>,
}

/// Every field that is otherwise, in the order of its path. Entries of lists that have names are compared by name.
///
/// ```
/// use allotment_core::cluster::differences;
/// use serde_json::json;
/// let (before, after) = (json!({"spec": {"workers": [{"name": "a", "maximum": 3}]}}), json!({"spec": {"workers": [{"name": "a", "maximum": 5}]}}));
/// assert_eq!(differences(&before, &after)[0].to_string(), "spec.workers[a].maximum: 3 -> 5");
/// ```
pub fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), Some(before), Some(after), &mut found);
    found
}

fn compare(field: String, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Difference>) {
    match (before, after) {
        (before, after) if before == after => (),
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            for key in both(before.keys(), after.keys()) {
                compare(join(&field, key), before.get(key), after.get(key), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => match (named(before), named(after)) {
            (Some(before), Some(after)) => {
                for name in both(before.keys(), after.keys()) {
                    compare(format!("{field}[{name}]"), before.get(name), after.get(name), found);
                }
            }
            _ => found.push(Difference {
                field,
                before: Some(Value::Array(before.clone())),
                after: Some(Value::Array(after.clone())),
            }),
        },
        (before, after) => found.push(Difference { field, before: before.cloned(), after: after.cloned() }),
    }
}

/// The entries by their names, if all have one, and another one each.
fn named(items: &[Value]) -> Option<Map<String, Value>> {
    KEYS.iter().find_map(|key| {
        let entries = items.iter().map(|item| Some((item.get(key)?.as_str()?.to_owned(), item.clone())));
        let entries: Map<String, Value> = entries.collect::<Option<_>>()?;
        (entries.len() == items.len()).then_some(entries)
    })
}

fn both<'k>(
    before: impl Iterator<Item = &'k String>,
    after: impl Iterator<Item = &'k String>,
) -> BTreeSet<&'k String> {
    before.chain(after).collect()
}

/// A key with a dot or a slash in it, as those of annotations, is put in brackets.
fn join(field: &str, key: &str) -> String {
    match (field, key.contains(['.', '/'])) {
        ("", _) => key.to_owned(),
        (field, true) => format!("{field}[{key}]"),
        (field, false) => format!("{field}.{key}"),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, before, after } = self;
        match (before, after) {
            (None, Some(after)) => write!(f, "{field}: + {after}"),
            (Some(before), None) => write!(f, "{field}: - {before}"),
            (before, after) => {
                let word =
                    |value: &Option<Value>| value.as_ref().map(ToString::to_string).unwrap_or_default();
                write!(f, "{field}: {} -> {}", word(before), word(after))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(before: Value, after: Value) -> Vec<String> {
        differences(&before, &after).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn fields_come_go_and_change() {
        let before = json!({"a": 1, "b": {"c": "x", "gone": true}, "same": [1]});
        let after = json!({"a": 2, "b": {"c": "x", "new": null}, "same": [1]});
        assert_eq!(shown(before, after), ["a: 1 -> 2", "b.gone: - true", "b.new: + null"]);
    }

    #[test]
    fn entries_are_told_apart_by_name_whatever_their_order() {
        let pool = |name: &str, most: i32| json!({"name": name, "maximum": most});
        let before = json!({"workers": [pool("a", 1), pool("b", 2)], "extensions": [{"type": "e"}]});
        let after = json!({"workers": [pool("b", 3), pool("a", 1), {"name": "c"}], "extensions": []});
        assert_eq!(
            shown(before, after),
            [
                "extensions[e]: - {\"type\":\"e\"}",
                "workers[b].maximum: 2 -> 3",
                "workers[c]: + {\"name\":\"c\"}",
            ]
        );
    }

    #[test]
    fn lists_without_names_are_one_value() {
        assert_eq!(shown(json!({"z": ["a"]}), json!({"z": ["a", "b"]})), ["z: [\"a\"] -> [\"a\",\"b\"]"]);
        assert_eq!(
            shown(json!({"l": {}}), json!({"l": {"allotment.dev/x": "1"}})),
            ["l[allotment.dev/x]: + \"1\""]
        );
    }
}
