//! CustomResourceDefinitions: kinds that come and go while the server runs.

use crate::{
    apply, encode,
    error::{FieldError, FieldErrorKind},
    meta,
    names::{self, Unit},
    resource::{Nature, Resource, StorageKey},
    schema::{CompiledRules, Schema},
    server::Server,
    store::Key,
    table::{Column, default_columns},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;

/// Holds a definition until the objects of its kind are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn definitions() -> StorageKey {
    StorageKey { group: "apiextensions.k8s.io".to_owned(), plural: "customresourcedefinitions".to_owned() }
}

/// What a definition that does not say so means.
pub(super) fn default(object: &mut Value) {
    let kind = object["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(names) = object["spec"]["names"].as_object_mut() {
        names.entry("listKind").or_insert_with(|| json!(format!("{kind}List")));
        names.entry("singular").or_insert_with(|| json!(kind.to_ascii_lowercase()));
    }
    for version in object["spec"]["versions"].as_array_mut().into_iter().flatten() {
        drop_empty(&mut version["schema"]["openAPIV3Schema"]);
    }
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.entry("conversion").or_insert_with(|| json!({ "strategy": "None" }));
    }
}

/// Takes out of a schema what is empty: it is the same as what is not there.
fn drop_empty(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    for name in ["properties", "required", "enum", "allOf", "anyOf", "oneOf"] {
        let empty = match fields.get(name) {
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::Array(list)) => list.is_empty(),
            _ => false,
        };
        if empty {
            fields.remove(name);
        }
    }
    for child in fields.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        drop_empty(child.1);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(child) = fields.get_mut(name) {
            drop_empty(child);
        }
    }
}

/// What a new definition gets from the server.
pub(super) fn prepare_create(object: &mut Value) {
    meta::metadata(object).insert("generation".into(), json!(1));
    let stored: Vec<Value> = versions(object)
        .filter(|version| version["storage"] == json!(true))
        .map(|v| v["name"].clone())
        .collect();
    object["status"] = json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": stored });
}

pub(super) fn prepare_update(object: &mut Value, old: &Value) {
    if object["spec"] != old["spec"] {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
        meta::metadata(object).insert("generation".into(), json!(generation));
    }
}

/// A definition that is deleted waits until the objects of its kind are gone.
pub(super) fn prepare_deletion(object: &mut Value, now: Timestamp) {
    let mut finalizers = meta::finalizers(object);
    if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        finalizers.push(CLEANUP.to_owned());
        meta::metadata(object).insert("finalizers".into(), json!(finalizers));
    }
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    if !object["status"]["conditions"].is_array() {
        object["status"]["conditions"] = json!([]);
    }
    if let Some(conditions) = object["status"]["conditions"].as_array_mut() {
        conditions.push(condition("Terminating", "InstanceDeletionPending", message, now));
    }
}

fn versions(object: &Value) -> impl Iterator<Item = &Value> {
    object["spec"]["versions"].as_array().into_iter().flatten()
}

pub(super) fn validate(new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let spec = &new["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural, name) =
        (text(&spec["group"]), text(&spec["names"]["plural"]), meta::text(new, "name"));
    let mut errors = Vec::new();
    if !name.is_empty() && name != format!("{plural}.{group}") {
        errors.push(FieldError::new(
            "metadata.name",
            FieldErrorKind::Invalid,
            name,
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    if group.is_empty() {
        errors.push(FieldError::bare("spec.group", FieldErrorKind::Required, ""));
    } else if !names::subdomain_errors(&group, Unit::Characters).is_empty() {
        errors.push(FieldError::new(
            "spec.group",
            FieldErrorKind::Invalid,
            group.as_str(),
            "must be a DNS subdomain",
        ));
    } else if !group.contains('.') {
        errors.push(FieldError::new(
            "spec.group",
            FieldErrorKind::Invalid,
            group.as_str(),
            "should be a domain with at least one dot",
        ));
    }
    if !matches!(spec["scope"].as_str(), Some("Namespaced" | "Cluster")) {
        let detail = "supported values: \"Cluster\", \"Namespaced\"";
        errors.push(FieldError::new(
            "spec.scope",
            FieldErrorKind::NotSupported,
            text(&spec["scope"]),
            detail,
        ));
    }
    if versions(new).filter(|version| version["storage"] == json!(true)).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::new(
            "spec.versions",
            FieldErrorKind::Invalid,
            spec["versions"].clone(),
            detail,
        ));
    }
    for (n, version) in versions(new).enumerate() {
        // A real server tells of the only version as if there were no others, as there once were none.
        let at = match versions(new).count() {
            1 => "spec.validation.openAPIV3Schema".to_owned(),
            _ => format!("spec.versions[{n}].schema.openAPIV3Schema"),
        };
        let schema = &version["schema"]["openAPIV3Schema"];
        if schema.is_null() {
            errors.push(FieldError::bare(at, FieldErrorKind::Required, "schemas are required"));
            continue;
        }
        let below = |error: FieldError| {
            let field = if error.field.is_empty() { at.clone() } else { format!("{at}.{}", error.field) };
            FieldError { field, ..error }
        };
        match Schema::from_json(schema) {
            Ok(schema) => errors.extend(CompiledRules::new(&schema).err().into_iter().flatten().map(below)),
            Err(found) => errors.extend(found.into_iter().map(below)),
        }
    }
    if let Some(old) = old.filter(|old| is_established(old)) {
        for (field, value, before) in [
            ("spec.scope", &spec["scope"], &old["spec"]["scope"]),
            ("spec.names.kind", &spec["names"]["kind"], &old["spec"]["names"]["kind"]),
        ] {
            if value != before {
                errors.push(FieldError::new(
                    field,
                    FieldErrorKind::Invalid,
                    value.clone(),
                    "field is immutable",
                ));
            }
        }
    }
    errors
}

fn is_established(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

impl Server {
    /// Serves the kind of a definition, or ends it.
    pub(crate) fn tend_definition(&mut self, name: &str, now: Timestamp) {
        let found = self
            .store
            .get(&definitions(), &Key::new("", name))
            .and_then(|stored| encode::read(&stored.bytes).ok());
        let Some(mut object) = found else {
            if let Some((plural, group)) = name.split_once('.')
                && self
                    .kinds
                    .all()
                    .any(|kind| kind.from_definition && kind.group == group && kind.plural == plural)
            {
                self.kinds.unregister(group, plural);
            }
            return;
        };
        if meta::is_deleting(&object) {
            self.end_definition(object, now);
            return;
        }
        for resource in resources(&object) {
            self.kinds.register(resource);
        }
        let before = object.clone();
        let names = object["spec"]["names"].clone();
        object["status"]["acceptedNames"] = names;
        if !is_established(&object) {
            object["status"]["conditions"] = json!([
                condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
                condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
            ]);
        }
        if object != before
            && let Some(resource) = self.kinds.stored_at(&definitions()).cloned()
        {
            let api_version = resource.api_version();
            let context = apply::Context {
                schema: &resource.schema,
                api_version: &api_version,
                kind: &resource.kind,
                manager: "kube-apiserver",
                subresource: "status",
                now,
                ignored: apply::FieldSet::default(),
                empty: super::empty(&resource),
            };
            apply::update(Some(&before), &mut object, &context);
            self.keep_quietly(&resource, object);
        }
    }

    fn end_definition(&mut self, mut object: Value, now: Timestamp) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = StorageKey {
            group: text(&object["spec"]["group"]),
            plural: text(&object["spec"]["names"]["plural"]),
        };
        let objects: Vec<Value> = self
            .store
            .list(&kind, None, None)
            .filter_map(|(_, stored)| encode::read(&stored.bytes).ok())
            .collect();
        if let Some(resource) = self.kinds.stored_at(&kind).cloned() {
            for object in objects.into_iter().filter(|object| !meta::is_deleting(object)) {
                self.delete_quietly(&resource, object, false, now);
            }
        }
        if self.store.count(&kind) > 0 {
            return;
        }
        let left: Vec<String> =
            meta::finalizers(&object).into_iter().filter(|finalizer| finalizer != CLEANUP).collect();
        match left.is_empty() {
            true => drop(meta::metadata(&mut object).remove("finalizers")),
            false => drop(meta::metadata(&mut object).insert("finalizers".into(), json!(left))),
        }
        self.kinds.unregister(&kind.group, &kind.plural);
        if let Some(resource) = self.kinds.stored_at(&definitions()).cloned() {
            self.let_go(&resource, object);
        }
    }
}

fn condition(type_: &str, reason: &str, message: &str, now: Timestamp) -> Value {
    json!({ "type": type_, "status": "True", "reason": reason, "message": message, "lastTransitionTime": meta::time(now) })
}

/// The columns that a version asks for.
fn columns(version: &Value) -> Vec<Column> {
    let Some(list) = version["additionalPrinterColumns"].as_array() else { return default_columns() };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list.iter()
        .map(|column| Column {
            name: text(&column["name"]),
            type_: text(&column["type"]),
            format: text(&column["format"]),
            description: text(&column["description"]),
            priority: column["priority"].as_i64().unwrap_or_default(),
            path: text(&column["jsonPath"]),
        })
        .collect()
}

/// The kind of a definition, in each version that is served. It was checked before it was kept.
fn resources(object: &Value) -> Vec<Resource> {
    let spec = &object["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect();
    let names = &spec["names"];
    versions(object)
        .filter(|version| version["served"] == json!(true))
        .filter_map(|version| {
            let schema = Schema::from_json(&version["schema"]["openAPIV3Schema"]).ok()?;
            let rules = CompiledRules::new(&schema).ok()?;
            let selectable = version["selectableFields"].as_array().into_iter().flatten();
            Some(Resource {
                group: text(&spec["group"]),
                version: text(&version["name"]),
                kind: text(&names["kind"]),
                list_kind: text(&names["listKind"]),
                plural: text(&names["plural"]),
                singular: text(&names["singular"]),
                short_names: texts(&names["shortNames"]),
                categories: texts(&names["categories"]),
                namespaced: spec["scope"] == "Namespaced",
                status: version["subresources"].get("status").is_some(),
                schema: Arc::new(schema),
                rules: Some(Arc::new(rules)),
                selectable_fields: selectable.map(|field| text(&field["jsonPath"])).collect(),
                columns: columns(version),
                openapi: Some(Arc::new(version["schema"]["openAPIV3Schema"].clone())),
                nature: Nature::Custom,
                from_definition: true,
                typed: None,
            })
        })
        .collect()
}
