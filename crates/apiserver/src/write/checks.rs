//! What a write has to be like: its options, its place, its preconditions, and the object itself.

use super::fields::FieldValidation;
use crate::{
    apply,
    auth::rbac::Attributes,
    encode,
    error::{ApiError, FieldError, FieldErrorKind},
    kinds, meta,
    planted::Planted,
    policy,
    request::Verb,
    schema,
    server::{Call, Server},
    store::Key,
};
use serde_json::{Value, json};

/// The longest name that a field manager may have.
const FIELD_MANAGER_LIMIT_BYTES: usize = 128;

impl Server {
    /// Whoever creates by a patch or an update needs the right to create, too.
    pub(super) fn check_may_create(&self, call: &Call) -> Result<(), ApiError> {
        if call.verb == Verb::Create {
            return Ok(());
        }
        let attributes = Attributes {
            verb: Verb::Create.as_str(),
            group: &call.resource.group,
            resource: &call.resource.plural,
            subresource: &call.subresource,
            namespace: &call.namespace,
            name: &call.name,
            path: None,
        };
        self.authorize(&call.user, &attributes)
    }

    pub(super) fn check_name_is_free(&self, call: &Call, object: &Value) -> Result<(), ApiError> {
        let name = meta::text(object, "name");
        let key = Key::new(&call.namespace, name);
        let Some(stored) = self.store.get(&call.resource.storage(), &key) else { return Ok(()) };
        let generated = !meta::text(object, "generateName").is_empty();
        let mut error = match generated {
            true => ApiError::no_name_left(call.resource.group_resource(), name),
            false => ApiError::already_exists(call.resource.group_resource(), name),
        };
        if meta::is_deleting(&encode::read(&stored.bytes)?) {
            error.message.insert_str(0, "object is being deleted: ");
        }
        Err(error)
    }

    pub(super) fn validate(&self, call: &Call, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
        let resource = &call.resource;
        let mut errors = meta::validate(new, resource);
        if let Some(old) = old.filter(|_| !self.has(Planted::NewFinalizerWhileDeleting)) {
            errors.extend(meta::validate_update(new, old));
        }
        errors.extend(kinds::validate(new, old, resource));
        if errors.is_empty() && resource.group == policy::GROUP {
            errors.extend(self.unreadable_params(call, old, new));
        }
        if resource.is_custom() {
            errors.extend(match call.subresource.as_str() {
                "status" => resource.schema.field("status").zip(new.get("status")).map_or_else(
                    Vec::new,
                    |(schema, status)| {
                        schema::validate_at("status", schema, status, old.map(|old| &old["status"]))
                    },
                ),
                _ => schema::validate(&resource.schema, new, old),
            });
            let rules = resource
                .rules
                .as_ref()
                .filter(|rules| !rules.is_empty() && !self.has(Planted::RulesNotChecked));
            match rules {
                Some(_) if schema::blocks_rules(&errors) => errors.push(schema::rules_not_checked()),
                Some(rules) => errors.extend(rules.check(new, old)),
                None => {}
            }
        }
        errors
    }

    /// An object goes only into a namespace that is there and stays, and it is of a kind that stays.
    pub(super) fn check_place(&self, call: &Call, name: &str) -> Result<(), ApiError> {
        let resource = &call.resource;
        if resource.defined.as_ref().is_some_and(|defined| defined.ending) {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(ApiError::forbidden(resource.group_resource(), name, why));
        }
        if !resource.namespaced {
            return Ok(());
        }
        if call.namespace.is_empty() {
            return Err(ApiError::bad_request("an empty namespace may not be set during creation"));
        }
        let namespaces = kinds::namespaces();
        let Some(stored) = self.store.get(&namespaces, &Key::new("", &call.namespace)) else {
            let what = crate::error::GroupResource { group: "", resource: "namespaces" };
            return Err(ApiError::not_found(what, &call.namespace));
        };
        let namespace = encode::read(&stored.bytes)?;
        if !meta::is_deleting(&namespace) || self.has(Planted::EndingNamespaceTakesMore) {
            return Ok(());
        }
        let why = format!(
            "unable to create new content in namespace {} because it is being terminated",
            call.namespace
        );
        let mut error = ApiError::forbidden(resource.group_resource(), name, why);
        if let Some(details) = &mut error.details {
            details.causes.push(crate::error::Cause {
                reason: "NamespaceTerminating",
                message: format!("namespace {} is being terminated", call.namespace),
                field: "metadata.namespace".to_owned(),
            });
        }
        Err(error)
    }

    /// Refuses a write that was meant for another object, or for an older one.
    pub(super) fn check_preconditions(&self, call: &Call, old: &Value, new: &Value) -> Result<(), ApiError> {
        let what = call.resource.group_resource();
        let (uid, version) = (meta::text(new, "uid"), meta::text(new, "resourceVersion"));
        let (is_uid, is_version) = (meta::text(old, "uid"), meta::text(old, "resourceVersion"));
        if !uid.is_empty() && uid != is_uid && !self.has(Planted::UidPreconditionIgnored) {
            if call.verb == Verb::Patch {
                return Err(immutable(call, "metadata.uid", uid));
            }
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {is_uid}",
                storage_path(call)
            );
            return Err(ApiError::conflict(what, &call.name, why));
        }
        if call.verb == Verb::Update && version.is_empty() && kinds::wants_version(&call.resource) {
            let detail = "must be specified for an update";
            let field = "metadata.resourceVersion";
            let error = FieldError::new(field, FieldErrorKind::Invalid, json!(0), detail);
            return Err(ApiError::invalid(what.group, what.resource, &call.name, vec![error]));
        }
        let deleted_at = meta::text(new, "deletionTimestamp");
        if !deleted_at.is_empty() && meta::text(old, "deletionTimestamp").is_empty() {
            return Err(immutable(call, "metadata.deletionTimestamp", deleted_at));
        }
        if !version.is_empty() && version.parse::<u64>().is_err() {
            return Err(apply::unexpected(format!("strconv.ParseUint: parsing {version:?}: invalid syntax")));
        }
        if !version.is_empty() && version != is_version && !self.has(Planted::ConflictNotSeen) {
            return Err(ApiError::modified(what, &call.name));
        }
        Ok(())
    }
}

/// Refuses options that make no sense, before anything else is looked at.
pub(super) fn check_options(call: &Call) -> Result<(), ApiError> {
    call.query.dry_run(call.verb.options())?;
    FieldValidation::of(call)?;
    if call.query.get("fieldManager").is_some_and(|manager| manager.len() > FIELD_MANAGER_LIMIT_BYTES) {
        let detail = format!("may not be more than {FIELD_MANAGER_LIMIT_BYTES} bytes");
        let error = FieldError::bare("fieldManager", FieldErrorKind::TooLong, detail);
        return Err(ApiError::invalid("meta.k8s.io", call.verb.options(), "", vec![error]));
    }
    Ok(())
}

/// A path of all objects cannot be changed.
pub(super) fn wants_name(call: &Call) -> Result<(), ApiError> {
    match (call.name.as_str(), call.resource.defined.is_some()) {
        ("", true) => Err(ApiError::bad_request("name must be provided")),
        ("", false) => Err(ApiError::no_such_method()),
        _ => Ok(()),
    }
}

/// What changes an object has to name it.
pub(super) fn check_named(call: &Call, object: &Value) -> Result<(), ApiError> {
    if !meta::text(object, "name").is_empty() {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "the name of the object ({} based on URL) was undeterminable: name must be provided",
        call.name
    )))
}

pub(super) fn immutable(call: &Call, field: &str, value: &str) -> ApiError {
    let error = FieldError::new(field, FieldErrorKind::Invalid, value, "field is immutable");
    ApiError::invalid(&call.resource.group, &call.resource.kind, &call.name, vec![error])
}

/// Where a real server would keep the object.
pub(super) fn storage_path(call: &Call) -> String {
    let Call { resource, namespace, name, .. } = call;
    let parts = [
        "/registry",
        if resource.is_custom() { &resource.group } else { "" },
        &resource.plural,
        namespace,
        name,
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}
