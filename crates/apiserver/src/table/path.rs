//! Paths of columns.

use serde_json::Value;

/// Follows a path such as `.metadata.labels.example\.com/name` or `.status.conditions[?(@.type=="Ready")].reason`.
pub(super) fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = object;
    for name in path_parts(path) {
        value = match name.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
            Some((name, index)) => element(value.get(name)?, index)?,
            None => value.get(&name)?,
        };
    }
    Some(value)
}

/// By its number, or the first with this text under a key.
fn element<'a>(list: &'a Value, index: &str) -> Option<&'a Value> {
    let Some(filter) = index.strip_prefix("?(@.").and_then(|rest| rest.strip_suffix(')')) else {
        return list.get(index.parse::<usize>().ok()?);
    };
    let (key, text) = filter.split_once("==")?;
    let text = text.trim().trim_matches(['"', '\'']);
    list.as_array()?.iter().find(|item| item.get(key.trim()).and_then(Value::as_str) == Some(text))
}

fn path_parts(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_inside = false;
    let mut characters = path.trim_start_matches('.').chars();
    while let Some(character) = characters.next() {
        is_inside = match character {
            '[' => true,
            ']' => false,
            _ => is_inside,
        };
        match (character, parts.last_mut()) {
            ('.', _) if !is_inside => parts.push(String::new()),
            ('\\', Some(part)) => part.extend(characters.next()),
            (character, Some(part)) => part.push(character),
            (_, None) => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_may_have_dots_in_names() {
        let object = json!({ "metadata": { "labels": { "a.b/c": "x" } }, "list": [{ "n": 1 }] });
        assert_eq!(find(&object, ".metadata.labels.a\\.b/c"), Some(&json!("x")));
        assert_eq!(find(&object, ".list[0].n"), Some(&json!(1)));
        assert_eq!(find(&object, ".nothing.here"), None);
    }

    #[test]
    fn an_element_is_found_by_the_text_of_a_key() {
        let object =
            json!({ "conditions": [{ "type": "A", "reason": "a" }, { "type": "B", "reason": "b" }] });
        assert_eq!(find(&object, ".conditions[?(@.type==\"B\")].reason"), Some(&json!("b")));
        assert_eq!(find(&object, ".conditions[?(@.type=='A')].reason"), Some(&json!("a")));
        assert_eq!(find(&object, ".conditions[?(@.type==\"C\")].reason"), None);
    }
}
