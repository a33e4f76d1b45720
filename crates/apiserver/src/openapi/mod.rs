//! OpenAPI: what `kubectl explain` reads, and where clients look up what a server can do.

mod paths;
pub(crate) mod protobuf;
mod second;
mod shape;
mod types;

use crate::{
    discovery::VERSION,
    error::ApiError,
    resource::{Nature, Resource},
    server::Server,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use types::{OBJECT_META, PLACE, Schemas, types};

/// What is said of a field of a kind that every cluster has: `spec.holderIdentity`.
pub(crate) fn about(group: &str, kind: &str, field: &str) -> String {
    let Some(mut schema) = types::name(group, "v1", kind).and_then(|name| types().get(&name)) else {
        return String::new();
    };
    let mut description = &Value::Null;
    for name in field.split('.') {
        let property = &schema["properties"][name];
        description = &property["description"];
        schema = referred(property).and_then(|name| types().get(name)).unwrap_or(property);
    }
    description.as_str().unwrap_or_default().to_owned()
}

/// What is said of a field that the metadata of every object has.
pub(crate) fn about_metadata(field: &str) -> String {
    let described =
        types().get(OBJECT_META).and_then(|meta| meta["properties"][field]["description"].as_str());
    described.unwrap_or_default().to_owned()
}

/// The name of the type that a property refers to.
fn referred(property: &Value) -> Option<&str> {
    let reference = property.get("$ref").or_else(|| property.pointer("/allOf/0/$ref"))?;
    reference.as_str()?.strip_prefix(PLACE)
}

impl Server {
    /// `/openapi/v3`: where the documents are. An address changes with what is there.
    pub(crate) fn openapi_index(&self) -> Value {
        let paths: BTreeMap<String, Value> = self
            .kinds
            .all()
            .map(|resource| {
                let place = place(resource);
                let address = format!("/openapi/v3/{place}?hash={}", self.revision());
                (place, json!({ "serverRelativeURL": address }))
            })
            .collect();
        json!({ "paths": paths })
    }

    /// `/openapi/v3/apis/…`: the kinds of one group and version.
    pub(crate) fn openapi_document(&self, wanted: &str) -> Result<Value, ApiError> {
        let kinds: Vec<&Arc<Resource>> =
            self.kinds.all().filter(|resource| place(resource) == wanted).collect();
        if kinds.is_empty() {
            return Err(ApiError::no_such_path());
        }
        Ok(document(&kinds))
    }

    /// The same in binary.
    pub(crate) fn openapi_second_binary(&self) -> Vec<u8> {
        protobuf::document(&self.openapi_second())
    }

    /// `/openapi/v2`: everything at once, as it was written before there was version 3.
    pub(crate) fn openapi_second(&self) -> Value {
        second::document(&document(&self.kinds.all().collect::<Vec<_>>()))
    }
}

fn document(kinds: &[&Arc<Resource>]) -> Value {
    let (mut paths, mut schemas) = (BTreeMap::new(), Schemas::new());
    for resource in kinds {
        paths.extend(paths::of(resource));
        schemas.insert(model(resource), schema(resource));
    }
    add_what_is_referred_to(&mut schemas);
    json!({
        "openapi": "3.0.0", "info": { "title": "Kubernetes", "version": VERSION },
        "paths": paths, "components": { "schemas": schemas },
    })
}

/// Where a kind is: `api/v1`, `apis/apps/v1`.
fn place(resource: &Resource) -> String {
    match resource.group.as_str() {
        "" => format!("api/{}", resource.version),
        group => format!("apis/{group}/{}", resource.version),
    }
}

/// What the type of a kind is called: `com.example.v1.Widget`.
fn model(resource: &Resource) -> String {
    let Resource { group, version, kind, .. } = resource;
    types::name(group, version, kind).unwrap_or_else(|| {
        let group: Vec<&str> = group.rsplit('.').collect();
        format!("{}.{version}.{kind}", group.join("."))
    })
}

fn group_version_kind(resource: &Resource) -> Value {
    json!({ "group": resource.group, "version": resource.version, "kind": resource.kind })
}

fn schema(resource: &Resource) -> Value {
    let Resource { group, version, kind, .. } = resource;
    let mut schema = match types::name(group, version, kind).and_then(|name| types().get(&name)) {
        Some(known) => known.clone(),
        None => custom(resource),
    };
    schema["x-kubernetes-group-version-kind"] = json!([group_version_kind(resource)]);
    schema
}

/// The schema of a definition, with the fields that every object has.
fn custom(resource: &Resource) -> Value {
    let mut schema = match &resource.openapi {
        Some(schema) if schema.is_object() => (**schema).clone(),
        Some(_) => json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
        None => shape::of(&resource.schema),
    };
    if resource.nature == Nature::Custom {
        add_common_fields(&mut schema);
    }
    complete_embedded(&mut schema);
    schema
}

fn add_common_fields(schema: &mut Value) {
    let common = types::name("", "v1", "ConfigMap").and_then(|name| types().get(&name));
    if let Some(common) = common {
        for field in ["apiVersion", "kind", "metadata"] {
            schema["properties"][field] = common["properties"][field].clone();
        }
    }
}

/// Objects within objects have these fields too.
fn complete_embedded(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for below in fields.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        complete_embedded(below.1);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below) = fields.get_mut(name) {
            complete_embedded(below);
        }
    }
    if schema["x-kubernetes-embedded-resource"] == true {
        add_common_fields(schema);
    }
}

/// A document is whole by itself.
fn add_what_is_referred_to(schemas: &mut Schemas) {
    let mut wanted = BTreeSet::new();
    schemas.values().for_each(|schema| references(schema, &mut wanted));
    while let Some(name) = wanted.pop_first() {
        if let Some(schema) = types().get(&name).filter(|_| !schemas.contains_key(&name)) {
            references(schema, &mut wanted);
            schemas.insert(name, schema.clone());
        }
    }
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            found.extend(reference.and_then(|it| it.strip_prefix(PLACE)).map(str::to_owned));
            fields.values().for_each(|below| references(below, found));
        }
        Value::Array(list) => list.iter().for_each(|below| references(below, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_described() {
        assert!(about("", "ConfigMap", "data").starts_with("Data contains the configuration data"));
        assert!(about("", "Event", "involvedObject.fieldPath").contains("desiredState"));
        assert!(about_metadata("name").contains("unique within a namespace"));
        assert_eq!(about("example.com", "Widget", "data"), "");
    }
}
