//! Version 2 of OpenAPI, made of version 3: it can say less.

use super::types::PLACE;
use serde_json::{Map, Value, json};

/// The same as version 2 has it.
pub(super) fn document(third: &Value) -> Value {
    let paths: Map<String, Value> = fields(&third["paths"])
        .map(|(path, item)| {
            (path.clone(), fields(item).map(|(name, part)| (name.clone(), path_part(name, part))).collect())
        })
        .collect();
    let definitions: Map<String, Value> =
        fields(&third["components"]["schemas"]).map(|(name, of)| (name.clone(), schema(of))).collect();
    json!({ "swagger": "2.0", "info": third["info"], "paths": paths, "definitions": definitions })
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn path_part(name: &str, part: &Value) -> Value {
    if name == "parameters" {
        return part.as_array().into_iter().flatten().map(parameter).collect();
    }
    let content = fields(&part["requestBody"]["content"]);
    let consumes: Vec<&String> = content.map(|(media_type, _)| media_type).collect();
    let body = fields(&part["requestBody"]["content"])
        .next()
        .map(|(_, content)| json!({ "name": "body", "in": "body", "required": true, "schema": schema(&content["schema"]) }));
    let parameters: Vec<Value> =
        part["parameters"].as_array().into_iter().flatten().map(parameter).chain(body).collect();
    let answer = schema(&part["responses"]["200"]["content"]["application/json"]["schema"]);
    json!({
        "consumes": consumes, "produces": ["application/json"], "parameters": parameters,
        "responses": { "200": { "description": "OK", "schema": answer } },
        "x-kubernetes-action": part["x-kubernetes-action"],
        "x-kubernetes-group-version-kind": part["x-kubernetes-group-version-kind"],
    })
}

fn parameter(third: &Value) -> Value {
    let mut second = third.clone();
    second["type"] = third["schema"]["type"].clone();
    if let Some(fields) = second.as_object_mut() {
        fields.remove("schema");
    }
    second
}

/// Without what version 2 has no words for.
fn schema(third: &Value) -> Value {
    let Some(from) = third.as_object() else { return third.clone() };
    let mut second = Map::new();
    for (name, value) in from {
        match name.as_str() {
            "anyOf" | "oneOf" | "not" | "nullable" | "allOf" => {}
            "$ref" => {
                let name = value.as_str().and_then(|place| place.strip_prefix(PLACE)).unwrap_or_default();
                second.insert("$ref".to_owned(), json!(format!("#/definitions/{name}")));
            }
            "properties" => {
                let below: Map<String, Value> =
                    fields(value).map(|(name, of)| (name.clone(), schema(of))).collect();
                second.insert(name.clone(), below.into());
            }
            "items" | "additionalProperties" => {
                second.insert(name.clone(), schema(value));
            }
            _ => {
                second.insert(name.clone(), value.clone());
            }
        }
    }
    // A reference stands in a list by itself in version 3 only so that a description can stand beside it.
    if let Some([only]) = from.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
        && let Value::Object(only) = schema(only)
    {
        second.extend(only);
    }
    // kubectl stumbles over the rest of something that may be null or may have any field.
    let flag = |name: &str| from.get(name) == Some(&Value::Bool(true));
    let (nullable, open) = (flag("nullable"), flag("x-kubernetes-preserve-unknown-fields"));
    if nullable || open {
        ["properties", "items"].iter().for_each(|name| drop(second.remove(*name)));
    }
    let type_ = second.get("type").and_then(Value::as_str).unwrap_or_default();
    if nullable || open && type_ == "object" || type_ == "array" && !second.contains_key("items") {
        second.remove("type");
    }
    Value::Object(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_to_definitions() {
        let third = json!({
            "type": "object", "anyOf": [], "properties": {
                "metadata": { "description": "d", "allOf": [{ "$ref": "#/components/schemas/a.B" }] },
                "nothing": { "type": "string", "nullable": true, "description": "n" },
                "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            },
        });
        let second = json!({
            "type": "object", "properties": {
                "metadata": { "description": "d", "$ref": "#/definitions/a.B" }, "nothing": { "description": "n" },
                "any": { "x-kubernetes-preserve-unknown-fields": true },
            },
        });
        assert_eq!(schema(&third), second);
    }
}
