//! Patches: what they make of an object, and server-side apply.

use super::{
    Ownership, apply_context,
    checks::{check_named, check_options, wants_name},
    encode_for,
    fields::{FieldValidation, unknown_fields},
};
use crate::{
    apply,
    body::{media_type, read_applied, read_merged, read_patched, refused_patch, shown, unsupported_patch},
    error::{ApiError, FieldError, FieldErrorKind},
    kinds, meta, patch,
    planted::Planted,
    server::{Answer, Call, Server},
};
use serde_json::{Value, json};

impl Server {
    pub(crate) fn patch(&mut self, call: &Call) -> Result<Answer, ApiError> {
        wants_name(call)?;
        check_options(call)?;
        if call.query.get("force").is_some() && !call.is_apply() {
            let detail = "may not be specified for non-apply patch";
            let error = FieldError::bare("force", FieldErrorKind::Forbidden, detail);
            return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", vec![error]));
        }
        if call.is_apply() {
            return self.server_side_apply(call);
        }
        let stored = self.stored(call)?.bytes.clone();
        let old = self.read_as(call, &stored)?;
        let decoding = match FieldValidation::of(call)? {
            FieldValidation::Ignore => patch::Decoding::Lenient,
            FieldValidation::Warn | FieldValidation::Strict => patch::Decoding::Checked,
        };
        let resource = &call.resource;
        // What is wrong with the patch itself is told before what is wrong with what it makes.
        let mut warnings = Vec::new();
        let new = match media_type(call) {
            "application/json-patch+json" => {
                let patch = patch::json::decode(&call.body, decoding)?;
                let patched = patch::json::apply(&old, &patch)?;
                if decoding == patch::Decoding::Checked {
                    warnings = patch::json::unknown_fields(&patch);
                }
                read_patched(patched, &old, resource)?
            }
            "application/merge-patch+json" => {
                let patched = patch::merge::apply(&old, &patch::merge::decode(&call.body, decoding)?)?;
                read_patched(patched, &old, resource)?
            }
            "application/strategic-merge-patch+json" if !resource.is_untyped() => {
                let patch = patch::strategic::decode(&call.body)?;
                read_merged(patch::strategic::apply(&old, &patch, &resource.schema)?, &patch, resource)?
            }
            _ => return Err(unsupported_patch(call)),
        };
        check_named(call, &new)?;
        meta::check_identity(&new, &call.resource, &call.namespace, &call.name)?;
        if FieldValidation::of(call)? == FieldValidation::Strict {
            let own = unknown_fields(call, &mut new.clone());
            let texts: Vec<String> = warnings.drain(..).chain(own).collect();
            if !texts.is_empty() {
                let why = format!("strict decoding error: {}", texts.join(", "));
                return Err(refused_patch(shown(&new, &old, resource), why));
            }
        }
        let new = self.change(call, &old, new, &mut warnings, Ownership::Track)?;
        Ok(Answer::json(200, encode_for(call, &new)?).with_warnings(warnings))
    }

    fn server_side_apply(&mut self, call: &Call) -> Result<Answer, ApiError> {
        if call.query.get("fieldManager").is_none() {
            let detail = "is required for apply patch";
            let error = FieldError::bare("fieldManager", FieldErrorKind::Required, detail);
            return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", vec![error]));
        }
        let applied = read_applied(call)?;
        meta::check_identity(&applied, &call.resource, &call.namespace, &call.name)?;
        let mut warnings = Vec::new();
        let wanted = applied;
        let api_version = call.resource.api_version();
        let context = apply_context(call, &api_version);
        let force = call.query.flag("force") || self.has(Planted::ApplyAlwaysForced);
        let Ok(stored) = self.stored(call) else {
            return self.create_by_apply(call, wanted, &context, force, warnings);
        };
        let old = self.read_as(call, &stored.bytes.clone())?;
        self.check_preconditions(call, &old, &wanted)?;
        let new = apply::apply(Some(&old), &wanted, &context, force)?;
        check_named(call, &new)?;
        let new = self.change(call, &old, new, &mut warnings, Ownership::Done)?;
        Ok(Answer::json(200, encode_for(call, &new)?).with_warnings(warnings))
    }

    fn create_by_apply(
        &mut self,
        call: &Call,
        applied: Value,
        context: &apply::Context<'_>,
        force: bool,
        mut warnings: Vec<String>,
    ) -> Result<Answer, ApiError> {
        let resource = call.resource.clone();
        if !call.subresource.is_empty() {
            return Err(ApiError::not_found(resource.group_resource(), &call.name));
        }
        if !meta::text(&applied, "uid").is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                meta::text(&applied, "uid")
            );
            return Err(ApiError::conflict(resource.group_resource(), &call.name, why));
        }
        self.check_place(call, &call.name)?;
        let mut object = apply::apply(None, &applied, context, force)?;
        check_named(call, &object)?;
        let uid = self.new_uid();
        meta::prepare_create(&mut object, &call.namespace, &uid, call.now);
        self.tidy(call, &mut object, &mut warnings)?;
        if resource.status {
            object.as_object_mut().map(|fields| fields.remove("status"));
        }
        kinds::default(&mut object, &resource);
        self.prepare(call, None, &mut object)?;
        kinds::prepare_create(&mut object, &resource);
        if resource.is_custom() {
            meta::metadata(&mut object).insert("generation".into(), json!(1));
        }
        warnings.extend(self.warnings(None, &object, &resource));
        let (created, _) = self.finish(call, None, object)?;
        warnings.extend(meta::finalizer_warnings(&created, None, &resource));
        Ok(Answer::json(201, encode_for(call, &created)?).with_warnings(warnings))
    }
}
