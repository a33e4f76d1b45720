//! What the derive gets wrong about schemas, put right in one place.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use schemars::{Schema, SchemaGenerator, json_schema};

/// Formats that an API server knows; it warns about every other one (`uint8`, `uint32`, …).
const KNOWN_FORMATS: [&str; 6] = ["int32", "int64", "float", "double", "date-time", "byte"];

/// Takes out of a derived CRD what would make an API server warn, or a client stumble:
/// - `nullable`: the derive puts it on every `Option`, and with it `null` is stored where nothing was meant;
/// - `null` among the values of an enum, over which `kubectl apply` of a List fails;
/// - formats that only Rust knows;
/// - values of maps that are as long as one likes.
pub fn tidy(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        if let Some(root) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            tidy_schema(root);
        }
    }
    crd
}

/// The longest text in a field that has no bound of its own: longer than any name, address or version.
const LONGEST_TEXT: i64 = 4096;

/// The longest list, and the largest map, without a bound of its own.
const MOST_ENTRIES: i64 = 1024;

/// Puts a bound on every text, list and map that has none, so that nobody fills an object with megabytes. For kinds that follow
/// an upstream, whose own fields have no bounds; `larger` names fields that hold more, with their bound.
pub fn bound(mut crd: CustomResourceDefinition, larger: &[(&str, i64)]) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        if let Some(root) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            for part in ["spec", "status"] {
                if let Some(schema) = root.properties.as_mut().and_then(|fields| fields.get_mut(part)) {
                    bound_schema(schema, part, larger);
                }
            }
        }
    }
    crd
}

fn bound_schema(schema: &mut JSONSchemaProps, name: &str, larger: &[(&str, i64)]) {
    let own = larger.iter().find(|(field, _)| *field == name).map(|(_, most)| *most);
    match schema.type_.as_deref() {
        Some("string") if schema.enum_.is_none() => {
            schema.max_length.get_or_insert(own.unwrap_or(LONGEST_TEXT));
        }
        Some("array") => {
            schema.max_items.get_or_insert(own.unwrap_or(MOST_ENTRIES));
        }
        Some("object") if schema.additional_properties.is_some() => {
            schema.max_properties.get_or_insert(own.unwrap_or(MOST_ENTRIES));
        }
        _ => {}
    }
    for (name, child) in schema.properties.iter_mut().flatten() {
        bound_schema(child, name, larger);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(child)) = &mut schema.additional_properties {
        bound_schema(child, "", larger);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(child)) = &mut schema.items {
        bound_schema(child, "", larger);
    }
}

/// Lets a field of the spec be `null`, for the rare one where a server-side apply must be able to say so.
pub fn allow_null(mut crd: CustomResourceDefinition, field: &str) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let root = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let spec = root.and_then(|root| root.properties.as_mut()?.get_mut("spec"));
        if let Some(schema) = spec.and_then(|spec| spec.properties.as_mut()?.get_mut(field)) {
            schema.nullable = Some(true);
        }
    }
    crd
}

fn tidy_schema(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    if let Some(values) = &mut schema.enum_ {
        values.retain(|value| !value.0.is_null());
    }
    if schema.format.as_deref().is_some_and(|format| !KNOWN_FORMATS.contains(&format)) {
        schema.format = None;
    }
    for child in schema.properties.iter_mut().flat_map(|properties| properties.values_mut()) {
        tidy_schema(child);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(child)) = &mut schema.additional_properties {
        // The derive has no way to say it.
        if child.type_.as_deref() == Some("string") && child.enum_.is_none() {
            child.max_length.get_or_insert(LONGEST_TEXT);
        }
        tidy_schema(child);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(child)) => tidy_schema(child),
        Some(JSONSchemaPropsOrArray::Schemas(children)) => children.iter_mut().for_each(tidy_schema),
        None => {}
    }
}

/// The schema of a value that somebody else defines, kept as it is.
pub fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}
