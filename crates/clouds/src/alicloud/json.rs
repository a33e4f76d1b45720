//! Paths into answers. Older services wrap lists (`{"Vpcs": {"Vpc": [...]}}`), newer ones do not; a path names every key, and lists on
//! the way are gone through.

use crate::Refusal;
use serde_json::Value;

/// Parses an answer.
pub(super) fn parse(body: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(body).map_err(|_| Refusal::Transient { why: "the answer is not JSON".to_owned() })
}

/// Everything at a path. None if a key on the way is missing: nobody knows what it would hold.
pub(super) fn find<'a>(value: &'a Value, path: &str) -> Option<Vec<&'a Value>> {
    let mut found = vec![value];
    for key in path.split('/') {
        let mut next = Vec::new();
        for value in found {
            match value.get(key)? {
                Value::Null => return None,
                Value::Array(values) => next.extend(values),
                value => next.push(value),
            }
        }
        found = next;
    }
    Some(found)
}

/// The texts at a path, numbers and truths among them; empty texts are none.
pub(super) fn texts(value: &Value, path: &str) -> Vec<String> {
    find(value, path).unwrap_or_default().into_iter().filter_map(as_text).collect()
}

/// The first text at a path.
pub(super) fn text(value: &Value, path: &str) -> Option<String> {
    texts(value, path).into_iter().next()
}

/// A number at a path.
pub(super) fn number(value: &Value, path: &str) -> Option<u64> {
    text(value, path).and_then(|text| text.parse().ok())
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_goes_through_lists_and_a_missing_key_is_not_an_empty_list() {
        let answer = json!({ "A": { "B": [{ "C": 1 }, { "C": true }] }, "Empty": { "B": [] }, "Null": null });
        assert_eq!(texts(&answer, "A/B/C"), ["1", "true"]);
        assert_eq!(find(&answer, "Empty/B"), Some(Vec::new()));
        assert_eq!(find(&answer, "A/X"), None);
        assert_eq!(find(&answer, "Null/B"), None);
        assert_eq!(find(&json!({ "A": [{ "B": [1] }, {}] }), "A/B"), None, "one of them hides something");
    }
}
