//! A write as policies see it: `object`, `oldObject`, `request`, `namespaceObject`.

use super::matching::namespace_of;
use crate::{
    auth::User,
    kinds, meta,
    request::Verb,
    resource::Resource,
    schema::ResourceCheck,
    server::{Call, Server},
};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A write that is about to happen.
#[derive(Clone, Debug)]
pub(crate) struct Admission<'a> {
    pub(crate) resource: &'a Arc<Resource>,
    /// Group, version and kind of the object.
    pub(crate) kind: [&'a str; 3],
    /// That of a namespace is itself.
    pub(crate) namespace: &'a str,
    /// Empty where many objects are deleted at once.
    pub(crate) name: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) operation: Operation,
    pub(crate) object: Option<&'a Value>,
    pub(crate) old: Option<&'a Value>,
    pub(crate) user: &'a User,
    pub(crate) options: Value,
    pub(crate) dry_run: bool,
}

impl<'a> Admission<'a> {
    pub(super) fn of(
        call: &'a Call,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
        options: Value,
        dry_run: bool,
    ) -> Self {
        let resource = &call.resource;
        let name = match (call.verb, new) {
            (Verb::DeleteCollection, _) => "",
            (_, Some(new)) if call.name.is_empty() => meta::text(new, "name"),
            _ => &call.name,
        };
        let admission = Self {
            resource,
            kind: [&resource.group, &resource.version, &resource.kind],
            namespace: &call.namespace,
            name,
            subresource: &call.subresource,
            operation: match (old, new) {
                (_, None) => Operation::Delete,
                (None, _) => Operation::Create,
                _ => Operation::Update,
            },
            object: new,
            old,
            user: &call.user,
            options,
            dry_run,
        };
        match admission.is_namespace() {
            true => Self { namespace: name, ..admission },
            false => admission,
        }
    }

    pub(super) fn is_namespace(&self) -> bool {
        self.resource.group.is_empty() && self.resource.plural == "namespaces"
    }

    fn request(&self, matched: &Resource) -> Value {
        let kind =
            |[group, version, kind]: [&str; 3]| json!({ "group": group, "version": version, "kind": kind });
        let named = |resource: &Resource| json!({ "group": resource.group, "version": resource.version, "resource": resource.plural });
        let own_kind = self.kind[0] == self.resource.group && self.kind[2] == self.resource.kind;
        let mut request = json!({
            "kind": match own_kind {
                true => kind([&matched.group, &matched.version, &matched.kind]),
                false => kind(self.kind),
            },
            "resource": named(matched), "requestKind": kind(self.kind), "requestResource": named(self.resource),
            "operation": self.operation.as_str(), "userInfo": self.user.to_json(), "dryRun": self.dry_run,
            "options": self.options,
        });
        for (field, text) in [
            ("name", self.name),
            ("namespace", self.namespace),
            ("subResource", self.subresource),
            ("requestSubResource", self.subresource),
        ] {
            if !text.is_empty() {
                request[field] = json!(text);
            }
        }
        request
    }
}

/// What the names of expressions stand for, but for the parameters.
pub(super) struct View<'a> {
    pub(super) object: Cow<'a, Value>,
    pub(super) old: Cow<'a, Value>,
    pub(super) request: Value,
    pub(super) namespace: Value,
    pub(super) user: &'a User,
    pub(super) request_resource: ResourceCheck,
}

impl<'a> View<'a> {
    pub(super) fn of(admission: &Admission<'a>, matched: &Arc<Resource>, server: &Server) -> Self {
        let shown = |object: Option<&'a Value>| match object {
            None => Cow::Owned(Value::Null),
            Some(object) if Arc::ptr_eq(matched, admission.resource) => Cow::Borrowed(object),
            Some(object) => Cow::Owned(converted(object, matched)),
        };
        Self {
            object: shown(admission.object),
            old: shown(admission.old),
            request: admission.request(matched),
            namespace: namespace_of(admission, server).map_or(Value::Null, shown_namespace),
            user: admission.user,
            request_resource: ResourceCheck {
                group: admission.resource.group.clone(),
                resource: admission.resource.plural.clone(),
                subresource: admission.subresource.to_owned(),
                namespace: admission.namespace.to_owned(),
                name: admission.name.to_owned(),
            },
        }
    }
}

/// An object in another version of its kind.
fn converted(object: &Value, resource: &Resource) -> Value {
    let mut object = match (resource.plural.as_str(), resource.group.as_str()) {
        ("events", "events.k8s.io") => kinds::event::from_core(object.clone()),
        ("events", "") => kinds::event::to_core(object.clone()),
        _ => object.clone(),
    };
    object["apiVersion"] = json!(resource.api_version());
    object
}

/// An object that is kept, in the version of a request.
pub(super) fn in_version_of(resource: &Resource, object: &Value) -> Value {
    let mut object = object.clone();
    if resource.group == "events.k8s.io" {
        object = kinds::event::from_core(object);
    }
    resource.adopt(&mut object);
    object
}

/// What policies see of a namespace: neither version and kind nor who manages or owns it.
fn shown_namespace(mut namespace: Value) -> Value {
    if let Some(fields) = namespace.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    let metadata = meta::metadata(&mut namespace);
    metadata.remove("managedFields");
    metadata.remove("ownerReferences");
    namespace
}

/// `options` of a create or update: what the query says.
pub(super) fn write_options(call: &Call, is_update: bool) -> Value {
    let kind = if is_update { "UpdateOptions" } else { "CreateOptions" };
    let mut options = json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" });
    for field in ["fieldManager", "fieldValidation"] {
        if let Some(text) = call.query.get(field) {
            options[field] = json!(text);
        }
    }
    if let Some(text) = call.query.get("dryRun") {
        options["dryRun"] = json!([text]);
    }
    options
}

/// `options` of a deletion.
pub(super) fn delete_options(options: &Value) -> Value {
    let mut options = options.clone();
    options["kind"] = json!("DeleteOptions");
    options["apiVersion"] = json!("meta.k8s.io/v1");
    options
}
