//! Create, update and patch: from what a client sent to what is kept.
//!
//! The order is that of a real server: read, take out what is unknown, put in defaults, note who owns which field, check,
//! keep. A write that changes nothing is not kept, and its answer has the old resourceVersion.

mod checks;
mod fields;
mod patches;

use crate::{
    apply,
    body::read_body,
    encode,
    error::ApiError,
    kinds, meta,
    planted::Planted,
    resource::Resource,
    schema,
    server::{Answer, Call, Server},
    store::{Key, Stored},
    table,
};
use checks::{check_named, check_options, wants_name};
use fields::repeated_fields;
use serde_json::{Value, json};

/// Tries to find a free generated name before giving up, as a real server does.
const GENERATE_NAME_TRIES: usize = 8;

impl Server {
    pub(crate) fn create(&mut self, call: &Call) -> Result<Answer, ApiError> {
        if !call.name.is_empty() || call.resource.namespaced && call.namespace.is_empty() {
            return Err(ApiError::no_such_method());
        }
        check_options(call)?;
        let body = read_body(call)?;
        let mut warnings = repeated_fields(call)?;
        let (created, _) = self.create_object(call, body, &mut warnings)?;
        Ok(Answer::json(201, encode_for(call, &created)?).with_warnings(warnings))
    }

    /// Creates an object, and says whether it was kept.
    pub(crate) fn create_object(
        &mut self,
        call: &Call,
        mut object: Value,
        warnings: &mut Vec<String>,
    ) -> Result<(Value, bool), ApiError> {
        let resource = call.resource.clone();
        meta::check_identity(&object, &resource, &call.namespace, "")?;
        if !meta::text(&object, "resourceVersion").is_empty() {
            return Err(apply::unexpected(
                "resourceVersion should not be set on objects to be created".to_owned(),
            ));
        }
        self.check_place(call, meta::text(&object, "name"))?;
        object["apiVersion"] = json!(resource.api_version());
        object["kind"] = json!(resource.kind);
        let uid = self.new_uid();
        meta::prepare_create(&mut object, &call.namespace, &uid, call.now);
        self.tidy(call, &mut object, warnings)?;
        if resource.status && resource.typed.is_none() {
            object.as_object_mut().map(|fields| fields.remove("status"));
        }
        kinds::default(&mut object, &resource);
        self.prepare(call, None, &mut object)?;
        let api_version = resource.api_version();
        apply::update(None, &mut object, &apply_context(call, &api_version));
        if resource.status {
            object.as_object_mut().map(|fields| fields.remove("status"));
        }
        // A name that is generated comes after what the client wants.
        self.name_object(&mut object, call)?;
        kinds::prepare_create(&mut object, &resource);
        if resource.is_custom() {
            meta::metadata(&mut object).insert("generation".into(), json!(1));
        }
        warnings.extend(self.warnings(None, &object, &resource));
        let (created, kept) = self.finish(call, None, object)?;
        warnings.extend(meta::finalizer_warnings(&created, None, &resource));
        Ok((created, kept))
    }

    /// Checks and keeps. Both new and old are whole objects in the version of the call.
    fn finish(
        &mut self,
        call: &Call,
        old: Option<&Value>,
        mut new: Value,
    ) -> Result<(Value, bool), ApiError> {
        let resource = call.resource.clone();
        self.admit(call, old, &mut new, if old.is_some() { "update" } else { "create" })?;
        self.check_rbac_write(call, old, &new)?;
        let errors = self.validate(call, old, &new);
        if !errors.is_empty() {
            return Err(ApiError::invalid(
                &resource.storage().group,
                &resource.kind,
                meta::text(&new, "name"),
                errors,
            ));
        }
        if old.is_none() {
            self.check_may_create(call)?;
        }
        self.enforce(call, old, Some(&new))?;
        if old.is_none() {
            self.check_name_is_free(call, &new)?;
        } else if old == Some(&new) && !self.has(Planted::UnchangedWriteKept) {
            // An extension has put back all that was changed.
            return Ok((new, false));
        }
        if resource.is_custom() {
            schema::write_whole(&mut new);
        }
        if call.query.dry_run(call.verb.options())? && !self.has(Planted::DryRunKept) {
            return Ok((new, false));
        }
        let kept = self.keep(&resource, new)?;
        Ok((kept, true))
    }

    /// Writes an object to the store under the next revision.
    pub(crate) fn keep(&mut self, resource: &Resource, mut object: Value) -> Result<Value, ApiError> {
        if resource.group == "events.k8s.io" {
            object = kinds::event::to_core(object);
        }
        resource.prepare_to_keep(&mut object);
        let revision = self.store.next_revision().to_string();
        meta::metadata(&mut object).insert("resourceVersion".into(), json!(revision));
        let key = Key::new(meta::text(&object, "namespace"), meta::text(&object, "name"));
        let bytes = encode::object(&object)?;
        let storage = resource.storage();
        self.store.put(&storage, key.clone(), bytes, meta::labels(&object));
        self.noticed(&storage, &key, Some(&object));
        if resource.kept_as().is_some() {
            resource.adopt(&mut object);
        }
        Ok(object)
    }

    pub(crate) fn update(&mut self, call: &Call) -> Result<Answer, ApiError> {
        wants_name(call)?;
        check_options(call)?;
        let body = read_body(call)?;
        meta::check_identity(&body, &call.resource, &call.namespace, &call.name)?;
        check_named(call, &body)?;
        let mut warnings = repeated_fields(call)?;
        let Ok(stored) = self.stored(call) else {
            return self.create_by_update(call, body, &mut warnings);
        };
        let old = self.read_as(call, &stored.bytes.clone())?;
        let new = self.change(call, &old, body, &mut warnings, Ownership::Track)?;
        Ok(Answer::json(200, encode_for(call, &new)?).with_warnings(warnings))
    }

    /// Few kinds may be created by an update; the others are not found.
    fn create_by_update(
        &mut self,
        call: &Call,
        body: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Answer, ApiError> {
        let resource = &call.resource;
        let creatable = resource.group == "rbac.authorization.k8s.io"
            || resource.group == "coordination.k8s.io"
            || resource.plural == "events";
        if !creatable || !call.subresource.is_empty() {
            return Err(ApiError::not_found(resource.group_resource(), &call.name));
        }
        let mut body = body;
        meta::metadata(&mut body).remove("resourceVersion");
        let (created, _) = self.create_object(call, body, warnings)?;
        Ok(Answer::json(201, encode_for(call, &created)?))
    }

    /// The common part of update and patch: `new` is what the client wants the object to be.
    pub(crate) fn change(
        &mut self,
        call: &Call,
        old: &Value,
        mut new: Value,
        warnings: &mut Vec<String>,
        ownership: Ownership,
    ) -> Result<Value, ApiError> {
        let resource = call.resource.clone();
        self.check_preconditions(call, old, &new)?;
        new["apiVersion"] = json!(resource.api_version());
        new["kind"] = json!(resource.kind);
        self.check_unknown(call, &mut new, warnings)?;
        if !self.has(Planted::StatusWrittenWithObject) && resource.typed.is_none() {
            keep_other_half(call, &mut new, old);
        }
        meta::keep_on_update(&mut new, old);
        self.tidy(call, &mut new, warnings)?;
        kinds::default(&mut new, &resource);
        self.prepare(call, Some(old), &mut new)?;
        meta::metadata(&mut new).insert("resourceVersion".into(), old["metadata"]["resourceVersion"].clone());
        if ownership == Ownership::Track && !self.has(Planted::OwnersNotTracked) {
            let api_version = resource.api_version();
            apply::update(Some(old), &mut new, &apply_context(call, &api_version));
        }
        if resource.typed.is_some() {
            keep_other_half_of_typed(call, &mut new, old);
        }
        if resource.is_custom() && self.changes_generation(call, &new, old) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
            meta::metadata(&mut new).insert("generation".into(), json!(generation));
        }
        kinds::prepare_update(&mut new, old, &resource);
        apply::keep_times(old, &mut new);
        // What an extension makes of a write may differ though the write does not.
        if new == *old && resource.typed.is_none() && !self.has(Planted::UnchangedWriteKept) {
            // Policies may be against a write that changes nothing.
            self.enforce(call, Some(old), Some(&new))?;
            return Ok(new);
        }
        if meta::is_deleting(old) && meta::finalizers(&new).is_empty() {
            return self.finish_deletion(call, old, new);
        }
        warnings.extend(self.warnings(Some(old), &new, &resource));
        let (kept, _) = self.finish(call, Some(old), new)?;
        warnings.extend(meta::finalizer_warnings(&kept, Some(old), &resource));
        Ok(kept)
    }

    /// The last finalizer is gone from an object that was deleted.
    fn finish_deletion(&mut self, call: &Call, old: &Value, mut new: Value) -> Result<Value, ApiError> {
        self.admit(call, Some(old), &mut new, "update")?;
        let errors = self.validate(call, Some(old), &new);
        if !errors.is_empty() {
            return Err(ApiError::invalid(&call.resource.group, &call.resource.kind, &call.name, errors));
        }
        self.enforce(call, Some(old), Some(&new))?;
        if !call.query.dry_run(call.verb.options())? {
            // Watchers are told of the object as it was when it was still held.
            self.discard(&call.resource, old.clone())?;
        }
        Ok(new)
    }

    /// Takes out what is unknown and puts in what is missing.
    fn tidy(&self, call: &Call, object: &mut Value, warnings: &mut Vec<String>) -> Result<(), ApiError> {
        self.check_unknown(call, object, warnings)?;
        meta::drop_empty(object);
        warnings.extend(meta::merge_owners(object));
        if call.resource.is_custom() && !self.has(Planted::DefaultsLeftOut) {
            match call.is_apply() {
                // What is applied is never read again, so its nulls stay.
                true => schema::fill(&call.resource.schema, object),
                false => schema::default(&call.resource.schema, object),
            }
        }
        Ok(())
    }

    fn name_object(&mut self, object: &mut Value, call: &Call) -> Result<(), ApiError> {
        let prefix = meta::text(object, "generateName").to_owned();
        if !meta::text(object, "name").is_empty() || prefix.is_empty() {
            return Ok(());
        }
        // With the suffix, a generated name stays below the length of a label.
        let prefix: String = prefix.chars().take(58).collect();
        for _ in 0..GENERATE_NAME_TRIES {
            let name = format!("{prefix}{}", self.new_suffix());
            let key = Key::new(&call.namespace, &name);
            if self.store.get(&call.resource.storage(), &key).is_none() {
                meta::metadata(object).insert("name".into(), json!(name));
                return Ok(());
            }
        }
        Err(ApiError::no_name_left(call.resource.group_resource(), &prefix))
    }

    /// Whether a change makes a new generation: everything but metadata and status counts.
    fn changes_generation(&self, call: &Call, new: &Value, old: &Value) -> bool {
        if self.has(Planted::GenerationBumpedByStatus) {
            return true;
        }
        call.subresource.is_empty()
            && spec_differs(new, old, call.resource.status)
            && !self.has(Planted::GenerationNotBumped)
    }

    /// What is stored, in the version of the call.
    fn read_as(&self, call: &Call, bytes: &bytes::Bytes) -> Result<Value, ApiError> {
        let mut object = encode::read(bytes)?;
        if call.resource.group == "events.k8s.io" {
            object = kinds::event::from_core(object);
        }
        call.resource.adopt(&mut object);
        Ok(object)
    }
}

/// What the managed fields of a write are worked out with.
pub(crate) fn apply_context<'a>(call: &'a Call, api_version: &'a str) -> apply::Context<'a> {
    let ignored = match (call.resource.status, call.subresource.as_str()) {
        // Whoever sends the other half comes to own it, though it is not kept.
        _ if call.resource.typed.is_some() => apply::FieldSet::default(),
        (true, "") => apply::FieldSet::of_fields(&[&["status"]]),
        (true, "status") if call.resource.is_custom() => {
            apply::FieldSet::of_fields(&[&["spec"], &["metadata"]])
        }
        (true, "status") => apply::FieldSet::of_fields(&[&["spec"]]),
        _ => apply::FieldSet::default(),
    };
    apply::Context {
        schema: &call.resource.schema,
        api_version,
        kind: &call.resource.kind,
        manager: &call.manager,
        subresource: &call.subresource,
        now: call.now,
        ignored,
        empty: kinds::empty(&call.resource),
    }
}

/// Who sees to the managed fields of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// The change is an ordinary one: what differs belongs to who wrote it.
    Track,
    /// Server-side apply has seen to it.
    Done,
}

/// A write to the status leaves the rest alone, and the other way round.
fn keep_other_half(call: &Call, new: &mut Value, old: &Value) {
    if !call.resource.status {
        return;
    }
    if call.subresource == "status" {
        let status = new.get("status").cloned();
        let managed = new["metadata"].get("managedFields").cloned();
        *new = old.clone();
        let fields = new.as_object_mut();
        fields.map(|fields| match status {
            Some(status) => fields.insert("status".into(), status),
            None => fields.remove("status"),
        });
        match managed {
            Some(managed) => drop(meta::metadata(new).insert("managedFields".into(), managed)),
            None => drop(meta::metadata(new).remove("managedFields")),
        }
    } else if let Some(fields) = new.as_object_mut() {
        match old.get("status") {
            Some(status) => drop(fields.insert("status".into(), status.clone())),
            None => drop(fields.remove("status")),
        }
    }
}

/// The same for a kind that is read into a type, where a write to the status may change the metadata.
fn keep_other_half_of_typed(call: &Call, new: &mut Value, old: &Value) {
    let (Some(fields), Some(old)) = (new.as_object_mut(), old.as_object()) else { return };
    if !call.resource.status {
        return;
    }
    let status = call.subresource == "status";
    let kept = |field: &str| field != "metadata" && (field == "status") != status;
    fields.retain(|field, _| !kept(field));
    fields.extend(
        old.iter().filter(|(field, _)| kept(field)).map(|(field, value)| (field.clone(), value.clone())),
    );
}

/// Whether anything but metadata differs, and the status where it is written apart.
fn spec_differs(new: &Value, old: &Value, status_apart: bool) -> bool {
    let rest = |object: &Value| -> Vec<(String, Value)> {
        let fields = object.as_object().into_iter().flatten();
        fields
            .filter(|(key, _)| match key.as_str() {
                "metadata" | "apiVersion" | "kind" => false,
                "status" => !status_apart,
                _ => true,
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    rest(new) != rest(old)
}

/// What was written, in the form that the client wants.
fn encode_for(call: &Call, object: &Value) -> Result<bytes::Bytes, ApiError> {
    let mut object = object.clone();
    if call.resource.group == "events.k8s.io" && object["apiVersion"] == "v1" {
        object = kinds::event::from_core(object);
    }
    let bytes = encode::object(&object)?;
    if call.form == encode::Form::Whole {
        return Ok(bytes);
    }
    let stored = Stored { revision: 0, bytes, labels: Box::default() };
    match call.form {
        encode::Form::Table(include) => table::of_one(&stored, &call.resource, include, call.now),
        form => encode::show(&stored, &call.resource, form),
    }
}
