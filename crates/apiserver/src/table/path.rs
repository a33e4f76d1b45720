//! Paths of columns.

use serde_json::Value;

/// Follows a path such as `.metadata.labels.example\.com/name`.
pub(super) fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = object;
    for name in path_parts(path) {
        value = match name.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
            Some((name, index)) => value.get(name)?.get(index.parse::<usize>().ok()?)?,
            None => value.get(&name)?,
        };
    }
    Some(value)
}

fn path_parts(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = path.trim_start_matches('.').chars();
    while let Some(character) = characters.next() {
        match (character, parts.last_mut()) {
            ('.', _) => parts.push(String::new()),
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
}
