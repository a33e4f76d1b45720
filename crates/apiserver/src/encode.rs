//! Objects as bytes: what is stored, and what is shown of it.

use crate::{
    error::ApiError,
    kinds::event,
    request::{Query, Verb},
    resource::Resource,
    store::Stored,
    table::Include,
};
use bytes::{BufMut, Bytes, BytesMut};
use serde_json::Value;

/// Room for a small object. One that is larger grows it a few times, which costs less than measuring first.
const USUAL_BYTES: usize = 512;

/// Writes an object with its version and kind in front, so that a list can leave them out without reading the rest. The bytes
/// take no more room than they need: most of them are kept for long.
pub(crate) fn object(object: &Value) -> Result<Bytes, ApiError> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    bytes.extend_from_slice(prefix(text(object, "apiVersion"), text(object, "kind")).as_bytes());
    for (key, value) in object.as_object().into_iter().flatten() {
        if key == "apiVersion" || key == "kind" {
            continue;
        }
        bytes.push(b',');
        write(&mut bytes, key)?;
        bytes.push(b':');
        write(&mut bytes, value)?;
    }
    bytes.push(b'}');
    Ok(Bytes::from(bytes.into_boxed_slice()))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn write<T: serde::Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T) -> Result<(), ApiError> {
    serde_json::to_writer(bytes, value).map_err(ApiError::internal)
}

fn prefix(api_version: &str, kind: &str) -> String {
    format!("{{\"apiVersion\":{},\"kind\":{}", Value::from(api_version), Value::from(kind))
}

/// How a client wants to see objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Whole,
    /// `PartialObjectMetadata`.
    Metadata,
    /// A `Table`, for people, with this beside the cells.
    Table(Include),
}

impl Form {
    /// What an `Accept` header and a query ask for.
    pub(crate) fn of(accept: &str, query: &Query) -> Result<Self, ApiError> {
        if accept.contains("as=PartialObjectMetadata") && accept.contains("g=meta.k8s.io") {
            return Ok(Self::Metadata);
        }
        if accept.contains("as=Table") && accept.contains("g=meta.k8s.io") {
            return Ok(Self::Table(Include::of(query)?));
        }
        Ok(Self::Whole)
    }
}

/// An object as a resource shows it: in its own version, whole or only its metadata.
pub(crate) fn show(stored: &Stored, resource: &Resource, form: Form) -> Result<Bytes, ApiError> {
    let own = prefix(&resource.api_version(), &resource.kind);
    if form == Form::Whole && stored.bytes.starts_with(own.as_bytes()) {
        return Ok(stored.bytes.clone());
    }
    object(&convert(read(&stored.bytes)?, resource, form))
}

/// The same as one item of a list: kinds that are built in leave version and kind out.
pub(crate) fn item(stored: &Stored, resource: &Resource, form: Form) -> Result<Bytes, ApiError> {
    let bytes = show(stored, resource, form)?;
    let own = prefix(&resource.api_version(), &resource.kind);
    if resource.is_untyped() || form != Form::Whole || !bytes.starts_with(own.as_bytes()) {
        return Ok(bytes);
    }
    let mut rest = BytesMut::with_capacity(bytes.len() - own.len());
    rest.put_u8(b'{');
    // After the prefix comes a comma, or the end of an object that has nothing else.
    rest.put_slice(bytes.slice(own.len()..).strip_prefix(b",").unwrap_or(b"}"));
    Ok(rest.freeze())
}

fn convert(object: Value, resource: &Resource, form: Form) -> Value {
    let mut object = match resource.group.as_str() {
        "events.k8s.io" => event::from_core(object),
        _ => object,
    };
    if form == Form::Metadata {
        return serde_json::json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"].take()
        });
    }
    resource.adopt(&mut object);
    object
}

/// Reads what is stored, as a resource has it.
pub(crate) fn read_as(stored: &Stored, resource: &Resource) -> Result<Value, ApiError> {
    Ok(convert(read(&stored.bytes)?, resource, Form::Whole))
}

/// Reads what is stored.
pub(crate) fn read(bytes: &Bytes) -> Result<Value, ApiError> {
    serde_json::from_slice(bytes).map_err(ApiError::internal)
}

/// Refuses a client that takes nothing that a real server has to offer.
pub(crate) fn check_accept(accept: &str, resource: &Resource, verb: Verb) -> Result<(), ApiError> {
    const OFFERED: [&str; 3] =
        ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
    let taken = |clause: &str| {
        let media_type = clause.split(';').next().unwrap_or_default().trim();
        matches!(media_type, "" | "*" | "*/*" | "application/*") || OFFERED.contains(&media_type)
    };
    if accept.split(',').any(taken) {
        return Ok(());
    }
    let offered = OFFERED.join(", ");
    if resource.defined.is_some() {
        return Err(ApiError::not_acceptable(format!(
            "only the following media types are accepted: {offered}"
        )));
    }
    let streams = match verb {
        Verb::List | Verb::Watch => {
            ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
        }
        _ => "",
    };
    let mut error = ApiError::not_acceptable(format!(
        "406: Not Acceptable\n\nAvailable representations: {offered}{streams}"
    ));
    error.details = Some(Box::default());
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn version_and_kind_come_first_and_the_rest_stays() {
        let value = json!({ "data": { "a": "b" }, "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "name": "n" } });
        let bytes = object(&value).unwrap();
        assert!(bytes.starts_with(br#"{"apiVersion":"v1","kind":"ConfigMap","data""#), "{bytes:?}");
        assert_eq!(read(&bytes).unwrap(), value);
    }

    #[test]
    fn a_client_may_want_only_metadata_or_a_table() {
        let of = |accept: &str, query: &str| Form::of(accept, &Query::parse(query));
        let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
        assert_eq!(of(metadata, "").unwrap(), Form::Metadata);
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(of(table, "").unwrap(), Form::Table(Include::Metadata));
        assert_eq!(of(table, "includeObject=Object").unwrap(), Form::Table(Include::Object));
        assert!(of(table, "includeObject=Half").is_err());
    }
}
