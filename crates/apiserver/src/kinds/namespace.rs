//! Namespaces: what they begin with, and how they end.

use crate::{
    encode,
    error::{ApiError, GroupResource},
    meta,
    policy::Controller,
    resource::StorageKey,
    server::Server,
    store::Key,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Where namespaces are kept.
pub(crate) fn namespaces() -> StorageKey {
    StorageKey { group: String::new(), plural: "namespaces".to_owned() }
}

pub(super) fn prepare_create(object: &mut Value) {
    object["spec"] = json!({ "finalizers": ["kubernetes"] });
    object["status"] = json!({ "phase": "Active" });
}

pub(super) fn prepare_update(object: &mut Value, old: &Value) {
    // Its finalizers change only through `finalize`.
    object["spec"] = old["spec"].clone();
}

/// Every namespace can be selected by its name.
pub(super) fn default(object: &mut Value) {
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for fields in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
        fields.entry("lastTransitionTime").or_insert(Value::Null);
    }
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    if let Some(spec) = spec.filter(|spec| spec.get("finalizers") == Some(&json!([]))) {
        spec.remove("finalizers");
    }
    let name = meta::text(object, "name").to_owned();
    if name.is_empty() {
        return;
    }
    let labels = meta::metadata(object).entry("labels").or_insert_with(|| json!({}));
    if let Some(labels) = labels.as_object_mut() {
        labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
    }
}

pub(super) fn check_delete(object: &Value) -> Result<(), ApiError> {
    let name = meta::text(object, "name");
    if matches!(name, "default" | "kube-system" | "kube-public") {
        let what = GroupResource { group: "", resource: "namespaces" };
        return Err(ApiError::forbidden(what, name, "this namespace may not be deleted"));
    }
    Ok(())
}

pub(super) fn prepare_deletion(object: &mut Value) {
    object["status"]["phase"] = json!("Terminating");
}

impl Server {
    /// Fills a namespace with what every namespace has, or empties it.
    pub(crate) fn tend_namespace(&mut self, name: &str, now: Timestamp) {
        let Some(stored) = self.store.get(&namespaces(), &Key::new("", name)) else { return };
        let Ok(namespace) = encode::read(&stored.bytes) else { return };
        if meta::is_deleting(&namespace) {
            self.empty_namespace(name, namespace, now);
            return;
        }
        let account =
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" } });
        self.ensure("serviceaccounts", name, "default", account, now);
        let bundle = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": { "ca.crt": self.root_ca },
            "metadata": {
                "name": "kube-root-ca.crt",
                "annotations": { "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters." }
            }
        });
        self.ensure("configmaps", name, "kube-root-ca.crt", bundle, now);
    }

    fn ensure(&mut self, plural: &str, namespace: &str, name: &str, mut object: Value, now: Timestamp) {
        let kind = StorageKey { group: String::new(), plural: plural.to_owned() };
        if self.store.get(&kind, &Key::new(namespace, name)).is_some() {
            return;
        }
        let Some(resource) = self.kinds.stored_at(&kind).cloned() else { return };
        let uid = self.new_uid();
        meta::prepare_create(&mut object, namespace, &uid, now);
        self.keep_quietly(&resource, object);
    }

    fn empty_namespace(&mut self, name: &str, mut namespace: Value, now: Timestamp) {
        let kinds: Vec<_> = self.kinds.all().filter(|resource| resource.namespaced).cloned().collect();
        let mut left = false;
        for resource in kinds {
            let kind = resource.storage();
            // The other face of a kind sees the same objects.
            if self.kinds.stored_at(&kind).is_none_or(|keeper| keeper.group != resource.group) {
                continue;
            }
            let objects: Vec<Value> = self
                .store
                .list(&kind, Some(name), None)
                .filter_map(|(_, stored)| encode::read(&stored.bytes).ok())
                .collect();
            for object in objects {
                if meta::is_deleting(&object) {
                    continue;
                }
                if !self.controller_may_delete(Controller::Namespace, &resource, &object) {
                    self.chores.hold_namespace(name);
                } else {
                    self.delete_quietly(&resource, object, false, now);
                }
            }
            left |= self.store.any_in(&kind, name);
        }
        if left {
            return;
        }
        let finalizers = namespace["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
        let others: Vec<Value> =
            finalizers.into_iter().filter(|finalizer| finalizer != "kubernetes").collect();
        namespace["spec"] = if others.is_empty() { json!({}) } else { json!({ "finalizers": others }) };
        if let Some(resource) = self.kinds.stored_at(&namespaces()).cloned() {
            self.let_go(&resource, namespace);
        }
    }
}
