//! The fields of Gardener's kinds, from the tables in `fields/`.
//!
//! A table is YAML: an object is a map from field to type, a list has one item that is the type of all of them, `"*"`
//! stands for every key of a map. A type is a word: `string`, `int`, `number`, `bool`, `bytes`, `quantity`,
//! `intOrString`, `any` (an object that Gardener itself does not look into, and that is one value) or the name of another entry. A default
//! stands behind the type, as in `bool = true`. How server-side apply merges stands behind the name of a field:
//! `workers(name)` is a list whose items are told apart by their name, `secretRef(atomic)` a map that is one value; all
//! other lists are one value.

use allotment_apiserver::error::FieldError;
use serde_json::{Map, Value, json};

const TABLES: [&str; 4] = [
    include_str!("fields/shared.yaml"),
    include_str!("fields/shoot.yaml"),
    include_str!("fields/cloudprofile.yaml"),
    include_str!("fields/others.yaml"),
];

/// The types of all tables.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Reads the tables.
    pub(super) fn read() -> Result<Self, FieldsError> {
        let mut types = Map::new();
        for table in TABLES {
            let table: Map<String, Value> =
                serde_saphyr::from_str(table).map_err(|error| FieldsError(error.to_string()))?;
            types.extend(table);
        }
        Ok(Self(types))
    }

    /// The schema of a kind, as OpenAPI has it.
    pub(super) fn schema(&self, kind: &str) -> Result<Value, FieldsError> {
        self.named(kind)
    }

    fn named(&self, name: &str) -> Result<Value, FieldsError> {
        if let Some(table) = self.0.get(name) {
            return self.described(table);
        }
        let table = self.0.get(&format!("{name}(atomic)"));
        let table = table.ok_or_else(|| FieldsError(format!("there is no type {name}")))?;
        Ok(atomic(self.described(table)?))
    }

    fn described(&self, table: &Value) -> Result<Value, FieldsError> {
        match table {
            Value::String(word) => self.word(word),
            Value::Array(items) => {
                let item = items.first().ok_or_else(|| FieldsError("a list of nothing".to_owned()))?;
                Ok(json!({ "type": "array", "items": self.described(item)? }))
            }
            Value::Object(fields) => self.object(fields),
            other => Err(FieldsError(format!("{other} is no type"))),
        }
    }

    fn object(&self, fields: &Map<String, Value>) -> Result<Value, FieldsError> {
        let mut schema = json!({ "type": "object" });
        for (field, table) in fields {
            let (name, merge) = match field.split_once('(') {
                Some((name, merge)) => (name, merge.trim_end_matches(')')),
                None => (field.as_str(), ""),
            };
            let mut described = self.described(table)?;
            match merge {
                "" => {}
                "atomic" => described = atomic(described),
                key => {
                    described["x-kubernetes-list-type"] = json!("map");
                    described["x-kubernetes-list-map-keys"] = json!([key]);
                }
            }
            match name {
                "*" => schema["additionalProperties"] = described,
                name => schema["properties"][name] = described,
            }
        }
        Ok(schema)
    }

    fn word(&self, word: &str) -> Result<Value, FieldsError> {
        let (word, default) = match word.split_once(" = ") {
            Some((word, "true")) => (word, Some(Value::Bool(true))),
            Some((word, text)) => (word, Some(Value::String(text.to_owned()))),
            None => (word, None),
        };
        let mut schema = match word {
            "string" => json!({ "type": "string" }),
            "bytes" => json!({ "type": "string", "format": "byte" }),
            "int" => json!({ "type": "integer" }),
            "number" => json!({ "type": "number" }),
            "bool" => json!({ "type": "boolean" }),
            "quantity" | "intOrString" => json!({ "x-kubernetes-int-or-string": true }),
            "any" => atomic(json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })),
            name => self.named(name)?,
        };
        if let Some(default) = default {
            schema["default"] = default;
        }
        Ok(schema)
    }
}

fn atomic(mut schema: Value) -> Value {
    schema["x-kubernetes-map-type"] = json!("atomic");
    schema
}

/// A table that cannot be read. A test reads them all.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the fields of Gardener's kinds: {0}")]
pub struct FieldsError(String);

impl FieldsError {
    /// The server does not take the schema of a kind.
    pub(super) fn of_schema(kind: &str, errors: &[FieldError]) -> Self {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Self(format!("{kind}: {}", errors.join(", ")))
    }
}
