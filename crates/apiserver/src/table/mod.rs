//! Tables: what `kubectl get` shows.

mod age;
mod builtin;
mod path;

pub(crate) use builtin::columns as builtin_columns;

use crate::{encode, error::ApiError, meta, openapi, request::Query, resource::Resource, store::Stored};
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

/// A column of a kind.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// `string`, `integer`, `date`, …
    pub type_: String,
    /// As OpenAPI has it; empty for none.
    pub format: String,
    /// What is in it.
    pub description: String,
    /// Above 0, only `-o wide` shows it.
    pub priority: i64,
    /// Where it comes from.
    pub source: Source,
}

/// Where the cells of a column come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// What is at a path: `.spec.provider`. A `date` is shown as an age.
    Path(String),
    /// What is made of an object now.
    Computed(fn(&Value, Timestamp) -> Value),
}

impl Column {
    /// The name of an object: the first column of nearly every kind.
    pub fn of_name() -> Self {
        Self {
            name: "Name".to_owned(),
            type_: "string".to_owned(),
            format: "name".to_owned(),
            description: openapi::about_metadata("name"),
            priority: 0,
            source: Source::Computed(|object, _| json!(meta::text(object, "name"))),
        }
    }

    /// How old an object is: the last column of a kind that does not say which it has.
    pub fn of_age() -> Self {
        Self {
            name: "Age".to_owned(),
            type_: "date".to_owned(),
            format: String::new(),
            description: openapi::about_metadata("creationTimestamp"),
            priority: 0,
            source: Source::Path(".metadata.creationTimestamp".to_owned()),
        }
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let path = match &self.source {
            Source::Path(path) => path,
            Source::Computed(compute) => return compute(object, now),
        };
        let Some(found) = path::find(object, path) else { return Value::Null };
        match (self.type_.as_str(), found) {
            (_, Value::Null) => Value::Null,
            ("date", Value::String(time)) => match time.parse::<Timestamp>() {
                Ok(time) => json!(age::age(time, now)),
                Err(_) => json!("<invalid>"),
            },
            ("integer", Value::Number(number)) => json!(number),
            ("number", Value::Number(number)) => json!(number),
            ("boolean", Value::Bool(flag)) => json!(flag),
            (_, Value::String(text)) => json!(text),
            (_, other) => json!(other.to_string()),
        }
    }
}

/// What of an object stands beside its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    /// What a query asks for.
    pub(crate) fn of(query: &Query) -> Result<Self, ApiError> {
        match query.get("includeObject").unwrap_or_default() {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::Nothing),
            "Object" => Ok(Self::Object),
            other => Err(ApiError::bad_request(format!("unrecognized includeObject value: {other:?}"))),
        }
    }
}

/// A table with these rows. `metadata` is that of the list, or of nothing.
pub(crate) fn table(resource: &Resource, metadata: Value, rows: Vec<Value>) -> Value {
    let columns = resource.columns.iter().map(|column| {
        json!({
            "name": column.name, "type": column.type_, "format": column.format,
            "description": column.description, "priority": column.priority,
        })
    });
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": columns.collect::<Vec<_>>(), "rows": rows,
    })
}

/// The row of an object.
pub(crate) fn row(object: &Value, resource: &Resource, include: Include, now: Timestamp) -> Value {
    let cells: Vec<Value> = resource.columns.iter().map(|column| column.cell(object, now)).collect();
    let beside = match include {
        Include::Nothing => Value::Null,
        Include::Metadata => json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
        }),
        Include::Object => object.clone(),
    };
    json!({ "cells": cells, "object": beside })
}

/// A table with one row, as a get or an event of a watch has it.
pub(crate) fn of_one(
    stored: &Stored,
    resource: &Resource,
    include: Include,
    now: Timestamp,
) -> Result<Bytes, ApiError> {
    let object = encode::read(&encode::show(stored, resource, encode::Form::Whole)?)?;
    let metadata = json!({ "resourceVersion": meta::text(&object, "resourceVersion") });
    Ok(Bytes::from(table(resource, metadata, vec![row(&object, resource, include, now)]).to_string()))
}
