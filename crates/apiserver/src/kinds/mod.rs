//! The kinds that every cluster has, and what is particular about them.

mod admission;
mod builtin;
mod definition;
pub(crate) mod event;
mod namespace;
mod plain;
pub(crate) mod version;

pub(crate) use builtin::token_request;
pub(crate) use namespace::namespaces;
pub(crate) use plain::{ACCOUNT_TOKEN, account_of};

use crate::{
    auth::rbac,
    error::{ApiError, FieldError},
    policy,
    resource::{Resource, StorageKey},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

/// The kinds that are served.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds(BTreeMap<(String, String, String), Arc<Resource>>);

impl Kinds {
    /// Those that every cluster has.
    pub(crate) fn builtin() -> Self {
        let mut kinds = Self::default();
        builtin::resources().into_iter().for_each(|resource| kinds.register(resource));
        kinds
    }

    /// Serves a kind.
    pub(crate) fn register(&mut self, resource: Resource) {
        let key = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
        self.0.insert(key, Arc::new(resource));
    }

    /// Serves a kind that came with a definition no longer, in any version.
    pub(crate) fn unregister_defined(&mut self, group: &str, plural: &str) {
        self.0.retain(|(of_group, _, of_plural), resource| {
            of_group != group || of_plural != plural || resource.defined.is_none()
        });
    }

    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.0.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    pub(crate) fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.0
            .values()
            .find(|resource| resource.group == group && resource.version == version && resource.kind == kind)
    }

    /// The kind whose objects are kept here.
    pub(crate) fn stored_at(&self, storage: &StorageKey) -> Option<&Arc<Resource>> {
        let here =
            |resource: &&Arc<Resource>| resource.group == storage.group && resource.plural == storage.plural;
        let kept = |resource: &&Arc<Resource>| resource.kept_as().is_none();
        self.0.values().filter(here).find(kept).or_else(|| self.0.values().find(here))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.0.values()
    }
}

/// What is there in every object of a kind, whatever the client says: nobody owns it.
pub(crate) fn empty(resource: &Resource) -> Option<&Value> {
    if let Some(typed) = &resource.typed {
        return Some(&typed.zero);
    }
    static SPEC: LazyLock<Value> = LazyLock::new(|| json!({ "spec": {} }));
    static SPEC_AND_STATUS: LazyLock<Value> = LazyLock::new(|| json!({ "spec": {}, "status": {} }));
    static EVENT: LazyLock<Value> = LazyLock::new(|| empty_event(true));
    static NEW_EVENT: LazyLock<Value> = LazyLock::new(|| empty_event(false));
    static DEFINITION: LazyLock<Value> =
        LazyLock::new(|| json!({ "spec": { "names": {} }, "status": { "acceptedNames": {} } }));
    match place(resource) {
        ("", "namespaces") | (policy::GROUP, policy::POLICIES) => Some(&SPEC_AND_STATUS),
        ("", "events") => Some(&EVENT),
        ("events.k8s.io", "events") => Some(&NEW_EVENT),
        ("coordination.k8s.io", "leases") | (policy::GROUP, policy::BINDINGS) => Some(&SPEC),
        ("apiextensions.k8s.io", "customresourcedefinitions") => Some(&DEFINITION),
        _ => None,
    }
}

fn empty_event(core: bool) -> Value {
    let mut event = json!({});
    event::default(&mut event, core);
    event
}

/// Whether a deletion is answered with the object that is gone.
pub(crate) fn returns_deleted(resource: &Resource) -> bool {
    place(resource) == ("", "serviceaccounts")
}

/// Whether an update must say which version it is about.
pub(crate) fn wants_version(resource: &Resource) -> bool {
    if let Some(typed) = &resource.typed {
        return !typed.unconditional_updates;
    }
    resource.is_custom()
        || matches!(
            place(resource),
            ("coordination.k8s.io", "leases")
                | ("apiextensions.k8s.io", "customresourcedefinitions")
                | (policy::GROUP, _)
        )
}

/// What an object of a kind means that does not say so. This is seen as the client's own wish.
pub(crate) fn default(object: &mut Value, resource: &Resource) {
    match place(resource) {
        ("", "secrets") => plain::default_secret(object),
        ("", "configmaps") => plain::drop_empty(object, &["data", "binaryData"]),
        ("", "namespaces") => namespace::default(object),
        ("coordination.k8s.io", "leases") => plain::default_lease(object),
        (_, "events") => event::default(object, resource.group.is_empty()),
        ("apiextensions.k8s.io", "customresourcedefinitions") => definition::default(object),
        (policy::GROUP, policy::POLICIES) => admission::default_policy(object),
        (policy::GROUP, policy::BINDINGS) => admission::default(object),
        (rbac::GROUP, _) => {
            if let Some(kind) = rbac::Kind::named(&resource.kind) {
                rbac::set_defaults(kind, object);
            }
        }
        _ => {}
    }
}

/// What a new object of a kind gets from the server.
pub(crate) fn prepare_create(object: &mut Value, resource: &Resource) {
    match place(resource) {
        ("", "namespaces") => {
            namespace::default(object);
            namespace::prepare_create(object);
        }
        (rbac::GROUP, "roles" | "clusterroles") => null_if_empty(object, "rules"),
        ("apiextensions.k8s.io", "customresourcedefinitions") => definition::prepare_create(object),
        (policy::GROUP, _) => admission::prepare_create(object, resource.status),
        _ => {}
    }
}

/// A list that is always shown, and kept in a form that does not tell none from empty.
fn null_if_empty(object: &mut Value, field: &str) {
    if object[field].as_array().is_none_or(Vec::is_empty) {
        object[field] = Value::Null;
    }
}

/// What a changed object of a kind gets from the server.
pub(crate) fn prepare_update(object: &mut Value, old: &Value, resource: &Resource) {
    match place(resource) {
        ("", "namespaces") => namespace::prepare_update(object, old),
        (rbac::GROUP, "roles" | "clusterroles") => null_if_empty(object, "rules"),
        ("apiextensions.k8s.io", "customresourcedefinitions") => definition::prepare_update(object, old),
        (policy::GROUP, _) => admission::prepare_update(object, old),
        _ => {}
    }
}

/// What a kind wants of its objects.
pub(crate) fn validate(new: &Value, old: Option<&Value>, resource: &Resource) -> Vec<FieldError> {
    match place(resource) {
        ("", "secrets") => plain::validate_secret(new, old),
        (_, "events") => event::validate(new, old, resource.group.is_empty()),
        ("", "configmaps") => plain::validate_config_map(new, old),
        ("coordination.k8s.io", "leases") => plain::validate_lease(new),
        ("apiextensions.k8s.io", "customresourcedefinitions") => definition::validate(new, old),
        (policy::GROUP, _) => admission::validate(new, &resource.kind),
        (rbac::GROUP, _) => {
            rbac::Kind::named(&resource.kind).map(|kind| rbac::validate(kind, new, old)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// What is odd about an object, and allowed.
pub(crate) fn warnings(old: Option<&Value>, new: &Value, resource: &Resource) -> Vec<String> {
    match place(resource) {
        ("", "secrets") => plain::secret_warnings(new),
        ("apiextensions.k8s.io", "customresourcedefinitions") => definition::warnings(old, new),
        _ => Vec::new(),
    }
}

/// Whether an object may be deleted at all.
pub(crate) fn check_delete(object: &Value, resource: &Resource) -> Result<(), ApiError> {
    match place(resource) {
        ("", "namespaces") => namespace::check_delete(object),
        _ => Ok(()),
    }
}

/// Whether an object is held by something of its kind's own.
pub(crate) fn has_own_finalizers(object: &Value, resource: &Resource) -> bool {
    match place(resource) {
        ("", "namespaces") => object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty()),
        ("apiextensions.k8s.io", "customresourcedefinitions") => !crate::meta::is_deleting(object),
        _ => false,
    }
}

/// What an object that is on its way out gets.
pub(crate) fn prepare_deletion(object: &mut Value, resource: &Resource, now: Timestamp) {
    match place(resource) {
        ("", "namespaces") => namespace::prepare_deletion(object),
        ("apiextensions.k8s.io", "customresourcedefinitions") => definition::prepare_deletion(object, now),
        _ => {}
    }
}

/// Whether all objects of a kind may be deleted with one request.
pub(crate) fn can_delete_collection(resource: &Resource) -> bool {
    place(resource) != ("", "namespaces")
}

fn place(resource: &Resource) -> (&str, &str) {
    (&resource.group, &resource.plural)
}
