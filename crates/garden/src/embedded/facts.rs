//! What a decision may look at beyond the object itself.

use super::{json::text, kinds::CORE};
use allotment_apiserver::{
    auth::{Attributes, User},
    extension::Objects,
};
use serde_json::Value;

/// The other objects of the garden, and who may do what.
pub trait Facts {
    /// An object.
    fn get(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value>;

    /// All objects of a kind, in one namespace or in all.
    fn list(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Value>;

    /// Whether somebody may do something.
    fn allowed(&self, user: &User, attributes: &Attributes<'_>) -> bool;
}

impl Facts for Objects<'_> {
    fn get(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        Objects::get(self, group, plural, namespace, name)
    }

    fn list(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Value> {
        Objects::list(self, group, plural, namespace)
    }

    fn allowed(&self, user: &User, attributes: &Attributes<'_>) -> bool {
        Objects::allowed(self, user, attributes)
    }
}

/// The project that a namespace belongs to: Gardener goes by `spec.namespace` alone.
pub(super) fn project_of(facts: &dyn Facts, namespace: &str) -> Option<Value> {
    let projects = facts.list(CORE, "projects", None);
    projects.into_iter().find(|project| text(project, "/spec/namespace") == namespace)
}
