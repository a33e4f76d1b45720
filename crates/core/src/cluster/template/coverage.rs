//! Whether the table of fields knows every field that a server has.

use super::fields::{Class, all, below, class};
use serde_json::Value;
use std::collections::BTreeSet;

/// How the table of fields compares with the schema of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Fields of the server that have no row, or are allowed as a whole though there is more below them.
    pub undecided: Vec<String>,
    /// Rows about fields that the server does not have.
    pub unknown: Vec<String>,
}

/// Compares the table with the schema of a Shoot, as OpenAPI has it. References within the schema must be resolved.
pub fn coverage(shoot: &Value) -> Coverage {
    let (mut undecided, mut seen) = (Vec::new(), BTreeSet::new());
    visit("spec".to_owned(), &shoot["properties"]["spec"], &mut undecided, &mut seen);
    let rows = all().map(|(path, _)| path).filter(|path| path.starts_with("spec."));
    let unknown = rows.filter(|path| !seen.contains(*path)).map(str::to_owned).collect();
    Coverage { undecided, unknown }
}

fn visit(path: String, schema: &Value, undecided: &mut Vec<String>, seen: &mut BTreeSet<String>) {
    let items = &schema["items"];
    let (fields, place) = match items["properties"].as_object() {
        Some(fields) => (Some(fields), format!("{path}[]")),
        None => (schema["properties"].as_object(), path.clone()),
    };
    let found = class(&path);
    if found.is_some() {
        seen.insert(path.clone());
    }
    match (found, fields) {
        (Some(Class::Allowed), None) if is_plain(schema) => (),
        (Some(Class::Allowed), _) => undecided.push(path),
        (Some(_), _) => (),
        (None, Some(fields)) if !fields.is_empty() => {
            fields.iter().for_each(|(name, field)| visit(below(&place, name), field, undecided, seen));
        }
        (None, _) => undecided.push(path),
    }
}

/// Whether a value has nothing below it that somebody else reads in another way: a number, a text, or a list or map of them.
fn is_plain(schema: &Value) -> bool {
    let is_object = schema["type"] == "object";
    let values = &schema["additionalProperties"];
    let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let is_map_of_plain = values.is_object() && values["properties"].is_null() && values["type"] != "object";
    !is_open && (!is_object || is_map_of_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_nobody_decided_about_is_found() {
        let object = |fields: Value| json!({ "type": "object", "properties": fields });
        let text = json!({ "type": "string" });
        let pool = object(json!({ "name": text, "maximum": text, "newOne": text }));
        let spec = object(json!({
            "purpose": text,
            "region": text,
            "futureField": text,
            "resources": { "type": "array", "items": object(json!({ "name": text, "other": object(json!({})) })) },
            "provider": object(json!({ "workers": { "type": "array", "items": pool } })),
            "hibernation": object(json!({ "enabled": object(json!({ "nested": text })) })),
            "networking": object(json!({ "type": { "type": "object" } })),
            "seedSelector": object(json!({ "whatever": text })),
        }));
        let Coverage { undecided, unknown } = coverage(&object(json!({ "spec": spec })));
        let expected = [
            "spec.futureField",
            "spec.hibernation.enabled",
            "spec.networking.type",
            "spec.provider.workers[].newOne",
            "spec.resources[].other",
        ];
        assert_eq!(undecided, expected);
        assert!(unknown.contains(&"spec.dns.domain".to_owned()), "{unknown:?}");
        assert!(!unknown.contains(&"spec.purpose".to_owned()));
    }
}
