//! CustomResourceDefinitions: kinds that come and go while the server runs.

mod names;
mod validation;

pub(super) use validation::validate;

use crate::{
    apply, encode,
    kinds::version,
    meta,
    resource::{Defined, Nature, Resource, StorageKey},
    schema::{self, CompiledRules, Schema},
    server::Server,
    store::Key,
    table::{Column, Source},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

/// Holds a definition until the objects of its kind are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn definitions() -> StorageKey {
    StorageKey { group: "apiextensions.k8s.io".to_owned(), plural: "customresourcedefinitions".to_owned() }
}

/// What a definition that does not say so means.
pub(super) fn default(object: &mut Value) {
    let kind = object["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    if let Some(names) = object["spec"]["names"].as_object_mut() {
        let mut fill = |field: &str, default: String| {
            if names.get(field).and_then(Value::as_str).is_none_or(str::is_empty) && !kind.is_empty() {
                names.insert(field.to_owned(), json!(default));
            }
        };
        fill("listKind", format!("{kind}List"));
        fill("singular", kind.to_ascii_lowercase());
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
    let stored: Vec<Value> =
        storage_version(object).map(|version| version["name"].clone()).into_iter().collect();
    object["status"] = json!({ "conditions": null, "acceptedNames": { "plural": "", "kind": "" }, "storedVersions": stored });
}

pub(super) fn prepare_update(object: &mut Value, old: &Value) {
    if object["spec"] != old["spec"] {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
        meta::metadata(object).insert("generation".into(), json!(generation));
    }
    let stored = storage_version(object).map(|version| version["name"].clone());
    if let (Some(stored), Some(all)) = (stored, object["status"]["storedVersions"].as_array_mut())
        && !all.contains(&stored)
    {
        all.push(stored);
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
        conditions.push(condition("Terminating", true, "InstanceDeletionPending", message, now));
    }
}

fn versions(object: &Value) -> impl Iterator<Item = &Value> {
    object["spec"]["versions"].as_array().into_iter().flatten()
}

/// The version that objects are kept in.
fn storage_version(object: &Value) -> Option<&Value> {
    versions(object).find(|version| version["storage"] == true)
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
            if let Some((plural, group)) = name.split_once('.') {
                self.kinds.unregister_defined(group, plural);
                self.reconsider_names(group, name, now);
            }
            return;
        };
        if !meta::is_deleting(&object) {
            let before = object.clone();
            names::accept(&mut object, &self.names_in_use(&before), now);
            let renamed = object["status"]["acceptedNames"] != before["status"]["acceptedNames"];
            self.keep_status(&before, &mut object, now);
            if renamed {
                self.reconsider_names(meta::text_at(&object, "/spec/group"), name, now);
            }
        }
        self.serve_definition(&object);
        if meta::is_deleting(&object) {
            self.end_definition(object, now);
        }
    }

    /// What the other definitions of the group are called.
    fn names_in_use(&self, object: &Value) -> names::InUse {
        let mut in_use = names::InUse::default();
        for other in self.definitions_of(meta::text_at(object, "/spec/group")) {
            if meta::text(&other, "name") != meta::text(object, "name") {
                in_use.add(&other["status"]["acceptedNames"]);
            }
        }
        in_use
    }

    fn definitions_of(&self, group: &str) -> Vec<Value> {
        let all = self.store.list(&definitions(), None, None);
        all.filter_map(|(_, stored)| encode::read(&stored.bytes).ok())
            .filter(|definition| definition["spec"]["group"] == group)
            .collect()
    }

    /// A name may have become free: others of the group that wait for one look again.
    fn reconsider_names(&mut self, group: &str, except: &str, now: Timestamp) {
        for other in self.definitions_of(group) {
            let name = meta::text(&other, "name");
            if name != except && other["status"]["acceptedNames"] != other["spec"]["names"] {
                self.tend_definition(name, now);
            }
        }
    }

    fn keep_status(&mut self, before: &Value, object: &mut Value, now: Timestamp) {
        let Some(resource) = self.kinds.stored_at(&definitions()).cloned().filter(|_| object != before)
        else {
            return;
        };
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
        apply::update(Some(before), object, &context);
        self.keep_quietly(&resource, object.clone());
    }

    /// Serves a kind in the versions that its definition now has, if its names are its own.
    fn serve_definition(&mut self, object: &Value) {
        let (group, plural) =
            (meta::text_at(object, "/spec/group"), meta::text_at(object, "/spec/names/plural"));
        let kind = StorageKey { group: group.to_owned(), plural: plural.to_owned() };
        let is_new = self.kinds.stored_at(&kind).is_none();
        self.kinds.unregister_defined(group, plural);
        if !is_established(object) {
            return;
        }
        if is_new {
            self.store.begin(&kind);
        }
        for resource in resources(object) {
            self.kinds.register(resource);
        }
        let schema = storage_version(object)
            .and_then(|version| Schema::from_json(&version["schema"]["openAPIV3Schema"]).ok());
        if let Some(schema) = schema {
            self.bring_up_to_date(&kind, &schema);
        }
    }

    /// Objects are read as the schema of today has them. A real server does so with every read; here it is done once,
    /// when the schema changes.
    fn bring_up_to_date(&mut self, kind: &StorageKey, schema: &Schema) {
        let mut changed = Vec::new();
        for (key, stored) in self.store.list(kind, None, None) {
            let Ok(object) = encode::read(&stored.bytes) else { continue };
            let mut current = object.clone();
            schema::prune(schema, &mut current);
            schema::default(schema, &mut current);
            if current != object
                && let Ok(bytes) = encode::object(&current)
            {
                changed.push((key.clone(), bytes));
            }
        }
        for (key, bytes) in changed {
            self.store.rewrite(kind, &key, bytes);
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
        self.kinds.unregister_defined(&kind.group, &kind.plural);
        if let Some(resource) = self.kinds.stored_at(&definitions()).cloned() {
            self.let_go(&resource, object);
        }
    }
}

fn condition(type_: &str, status: bool, reason: &str, message: &str, now: Timestamp) -> Value {
    let status = if status { "True" } else { "False" };
    json!({ "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": meta::time(now) })
}

/// The columns that a version asks for.
fn columns(version: &Value) -> Vec<Column> {
    let Some(list) = version["additionalPrinterColumns"].as_array() else {
        return vec![Column::of_name(), Column::of_age()];
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let own = list.iter().map(|column| Column {
        name: text(&column["name"]),
        type_: text(&column["type"]),
        format: text(&column["format"]),
        description: text(&column["description"]),
        priority: column["priority"].as_i64().unwrap_or_default(),
        source: Source::Path(text(&column["jsonPath"])),
    });
    std::iter::once(Column::of_name()).chain(own).collect()
}

/// What those are told who use a version that is on its way out.
fn deprecation(object: &Value, version: &Value) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(warning) = version["deprecationWarning"].as_str() {
        return Some(warning.to_owned());
    }
    let (group, kind) = (meta::text_at(object, "/spec/group"), meta::text_at(object, "/spec/names/kind"));
    let name = version["name"].as_str().unwrap_or_default();
    let better = versions(object)
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .filter_map(|other| other["name"].as_str())
        .filter(|other| version::compare(name, other).is_lt())
        .max_by(|left, right| version::compare(left, right));
    let instead = better.map(|better| format!("; use {group}/{better} {kind}")).unwrap_or_default();
    Some(format!("{group}/{name} {kind} is deprecated{instead}"))
}

/// The kind of a definition, in each version that is served. It was checked before it was kept.
/// Formats that nobody will check, and that were not there before.
pub(super) fn warnings(old: Option<&Value>, new: &Value) -> Vec<String> {
    let formats = |object: &Value| -> BTreeSet<String> {
        let schemas = versions(object).map(|version| &version["schema"]["openAPIV3Schema"]);
        schemas.flat_map(schema::unrecognized_formats).collect()
    };
    let known = old.map(formats).unwrap_or_default();
    formats(new).difference(&known).map(|format| format!("unrecognized format {format:?}")).collect()
}

fn resources(object: &Value) -> Vec<Resource> {
    let spec = &object["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect();
    let names = &object["status"]["acceptedNames"];
    let kept = storage_version(object).and_then(|version| {
        let schema = Schema::from_json(&version["schema"]["openAPIV3Schema"]).ok()?;
        Some((text(&version["name"]), Arc::new(schema)))
    });
    versions(object)
        .filter(|version| version["served"] == true)
        .filter_map(|version| {
            let schema = Schema::from_json(&version["schema"]["openAPIV3Schema"]).ok()?;
            let rules = CompiledRules::new(&schema).ok()?;
            let selectable = version["selectableFields"].as_array().into_iter().flatten();
            let defined = Defined {
                deprecation: deprecation(object, version),
                ending: meta::is_deleting(object),
                kept_as: kept.clone().filter(|(kept, _)| version["name"] != **kept),
            };
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
                defined: Some(defined),
                typed: None,
            })
        })
        .collect()
}
