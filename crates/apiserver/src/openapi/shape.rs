//! Kinds that come without a document of their own: which fields they have is known, what these mean is not.

use crate::schema::Schema;
use serde_json::{Map, Value, json};

/// What a schema says about fields and their types.
pub(super) fn of(schema: &Schema) -> Value {
    let mut shape = Map::new();
    if let Some(type_) = schema.type_ {
        shape.insert("type".to_owned(), json!(type_.name()));
    }
    if !schema.properties.is_empty() {
        let properties: Map<String, Value> =
            schema.properties.iter().map(|(name, below)| (name.clone(), of(below))).collect();
        shape.insert("properties".to_owned(), properties.into());
    }
    for (name, below) in [("items", &schema.items), ("additionalProperties", &schema.additional_properties)] {
        if let Some(below) = below {
            shape.insert(name.to_owned(), of(below));
        }
    }
    for (name, said) in [
        ("x-kubernetes-preserve-unknown-fields", schema.preserve_unknown_fields),
        ("x-kubernetes-int-or-string", schema.int_or_string),
    ] {
        if said {
            shape.insert(name.to_owned(), json!(true));
        }
    }
    if !schema.required.is_empty() {
        shape.insert("required".to_owned(), json!(schema.required));
    }
    shape.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_what_was_read() {
        let text = json!({ "type": "string" });
        let shape = json!({
            "type": "object", "required": ["a"], "properties": {
                "a": { "type": "array", "items": text }, "b": { "type": "object", "additionalProperties": text },
                "c": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            },
        });
        assert_eq!(of(&Schema::from_json(&shape).unwrap()), shape);
    }
}
