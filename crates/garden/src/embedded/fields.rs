//! The fields of Gardener's kinds, from the tables in `fields/`.
//!
//! A table is YAML: an object is a map from field to type, a list has one item that is the type of all of them, `"*"`
//! stands for every key of a map. A type is a word: `string`, `int`, `number`, `bool`, `bytes`, `quantity`,
//! `intOrString`, `any` (an object that Gardener itself does not look into, and that is one value) or the name of another entry. A default
//! stands behind the type, as in `bool = true`. How server-side apply merges stands behind the name of a field:
//! `workers(name)` is a list whose items are told apart by their name, `secretRef(atomic)` a map that is one value; all
//! other lists are one value.

use allotment_apiserver::schema::{Bounds, ListType, Schema, Type};
use serde_json::{Map, Value};

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

    /// The schema of a kind: its own fields, and those that every object has.
    pub(super) fn schema(&self, kind: &str) -> Result<Schema, FieldsError> {
        let mut schema = self.named(kind)?;
        for field in ["apiVersion", "kind"] {
            schema.properties.insert(field.to_owned(), plain(Type::String));
        }
        schema.properties.insert("metadata".to_owned(), plain(Type::Object));
        Ok(schema)
    }

    fn named(&self, name: &str) -> Result<Schema, FieldsError> {
        for suffix in ["", "(atomic)"] {
            if let Some(table) = self.0.get(&format!("{name}{suffix}")) {
                let schema = self.described(table)?;
                return Ok(Schema { atomic_map: !suffix.is_empty(), ..schema });
            }
        }
        Err(FieldsError(format!("there is no type {name}")))
    }

    fn described(&self, table: &Value) -> Result<Schema, FieldsError> {
        match table {
            Value::String(word) => self.word(word),
            Value::Array(items) => {
                let item = items.first().ok_or_else(|| FieldsError("a list of nothing".to_owned()))?;
                let items = Some(Box::new(self.described(item)?));
                Ok(Schema { items, ..plain(Type::Array) })
            }
            Value::Object(fields) => self.object(fields),
            other => Err(FieldsError(format!("{other} is no type"))),
        }
    }

    fn object(&self, fields: &Map<String, Value>) -> Result<Schema, FieldsError> {
        let mut schema = plain(Type::Object);
        for (field, table) in fields {
            let (name, merge) = match field.split_once('(') {
                Some((name, merge)) => (name, merge.trim_end_matches(')')),
                None => (field.as_str(), ""),
            };
            let mut described = self.described(table)?;
            match merge {
                "" => {}
                "atomic" => described.atomic_map = true,
                key => described.list_type = ListType::Map(vec![key.to_owned()]),
            }
            if name == "*" {
                schema.additional_properties = Some(Box::new(described));
            } else {
                schema.properties.insert(name.to_owned(), described);
            }
        }
        Ok(schema)
    }

    fn word(&self, word: &str) -> Result<Schema, FieldsError> {
        let (word, default) = match word.split_once(" = ") {
            Some((word, "true")) => (word, Some(Value::Bool(true))),
            Some((word, text)) => (word, Some(Value::String(text.to_owned()))),
            None => (word, None),
        };
        let schema = match word {
            "string" => plain(Type::String),
            "bytes" => {
                let bounds = Bounds { format: Some("byte".to_owned()), ..Bounds::default() };
                Schema { bounds, ..plain(Type::String) }
            }
            "int" => plain(Type::Integer),
            "number" => plain(Type::Number),
            "bool" => plain(Type::Boolean),
            "quantity" | "intOrString" => Schema { int_or_string: true, ..Schema::default() },
            "any" => Schema { preserve_unknown_fields: true, atomic_map: true, ..plain(Type::Object) },
            name => self.named(name)?,
        };
        Ok(Schema { default, ..schema })
    }
}

fn plain(type_: Type) -> Schema {
    Schema { type_: Some(type_), ..Schema::default() }
}

/// A table that cannot be read. A test reads them all.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the fields of Gardener's kinds: {0}")]
pub struct FieldsError(String);
