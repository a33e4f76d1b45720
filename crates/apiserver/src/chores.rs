//! What a cluster does by itself: collects garbage, ends namespaces, serves new kinds, keeps aggregated roles.
//!
//! Real clusters have controllers for this, which take their time. Here it is a list of chores, and
//! [`Server::do_chore`] does one of them: a shell does them when it likes, a simulation when its script says so.

use crate::{
    apply,
    auth::rbac,
    delete::{FOREGROUND, ORPHAN},
    encode, kinds, meta,
    planted::Planted,
    policy::Controller,
    resource::{Resource, StorageKey},
    server::Server,
    store::Key,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An object of any kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectId {
    pub(crate) kind: StorageKey,
    pub(crate) key: Key,
}

/// Something that is to be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Chore {
    /// See whether the owners of an object are still there.
    CheckOwners(ObjectId),
    /// See whether an object that waits for its dependents may go.
    CheckDependents(ObjectId),
    /// Fill a namespace with what every namespace has, or empty it.
    Namespace(String),
    /// Serve a kind, or end it.
    Definition(String),
    /// Put together the aggregated roles.
    AggregateRoles,
    /// See whether the account of a Secret with a token is still there.
    AccountSecret(Key),
}

/// What is to be done, and who depends on whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chores {
    queue: VecDeque<Chore>,
    queued: BTreeSet<Chore>,
    /// Those that a policy is in the way of. They are tried again after the next write.
    held: BTreeSet<Chore>,
    /// By the UID of an owner.
    dependents: BTreeMap<String, BTreeSet<ObjectId>>,
    /// The owners of an object, so that they can be forgotten.
    owners: BTreeMap<ObjectId, Vec<String>>,
}

impl Chores {
    fn push(&mut self, chore: Chore) {
        if self.queued.insert(chore.clone()) {
            self.queue.push_back(chore);
        }
    }

    /// Puts off emptying a namespace.
    pub(crate) fn hold_namespace(&mut self, name: &str) {
        self.held.insert(Chore::Namespace(name.to_owned()));
    }

    fn pop(&mut self) -> Option<Chore> {
        let chore = self.queue.pop_front()?;
        self.queued.remove(&chore);
        Some(chore)
    }
}

impl Server {
    /// Does one chore, and says whether there was one.
    pub fn do_chore(&mut self, now: Timestamp) -> bool {
        let Some(chore) = self.chores.pop() else { return false };
        match chore {
            Chore::CheckOwners(id) => self.check_owners(&id, now),
            Chore::CheckDependents(id) => self.check_dependents(&id, now),
            Chore::Namespace(name) => self.tend_namespace(&name, now),
            Chore::Definition(name) => self.tend_definition(&name, now),
            Chore::AggregateRoles => self.aggregate_roles(now),
            Chore::AccountSecret(key) => self.check_account_of(&key, now),
        }
        true
    }

    /// Does all there is to do.
    pub fn do_chores(&mut self, now: Timestamp) {
        while self.do_chore(now) {}
    }

    /// An object was written or removed.
    pub(crate) fn noticed(&mut self, kind: &StorageKey, key: &Key, object: Option<&Value>) {
        let id = ObjectId { kind: kind.clone(), key: key.clone() };
        self.note_owners(&id, object);
        self.rbac_noticed(kind, key, object);
        self.policies.noticed(kind, key, object);
        for chore in std::mem::take(&mut self.chores.held) {
            self.chores.push(chore);
        }
        match (kind.group.as_str(), kind.plural.as_str()) {
            ("", "namespaces") => self.chores.push(Chore::Namespace(key.name.to_string())),
            ("apiextensions.k8s.io", "customresourcedefinitions") => {
                self.chores.push(Chore::Definition(key.name.to_string()));
            }
            ("", "secrets") if object.is_some_and(|object| object["type"] == kinds::ACCOUNT_TOKEN) => {
                self.chores.push(Chore::AccountSecret(key.clone()));
            }
            ("", "serviceaccounts") if object.is_none() => {
                for key in self.secrets_of(key) {
                    self.chores.push(Chore::AccountSecret(key));
                }
            }
            ("rbac.authorization.k8s.io", "clusterroles") => self.chores.push(Chore::AggregateRoles),
            _ => {}
        }
        if object.is_none() && !key.namespace.is_empty() {
            // Perhaps the last one of a namespace that is to go, or of a kind.
            self.chores.push(Chore::Namespace(key.namespace.to_string()));
        }
        let ending =
            |resource: &std::sync::Arc<Resource>| resource.defined.as_ref().is_some_and(|it| it.ending);
        if object.is_none() && self.kinds.stored_at(kind).is_some_and(ending) {
            self.chores.push(Chore::Definition(format!("{}.{}", kind.plural, kind.group)));
        }
    }

    fn note_owners(&mut self, id: &ObjectId, object: Option<&Value>) {
        for uid in self.chores.owners.remove(id).unwrap_or_default() {
            if let Some(dependents) = self.chores.dependents.get_mut(&uid) {
                dependents.remove(id);
                if dependents.is_empty() {
                    self.chores.dependents.remove(&uid);
                }
            }
        }
        let Some(object) = object else { return };
        let owners = object["metadata"]["ownerReferences"].as_array();
        let uids: Vec<String> = owners
            .into_iter()
            .flatten()
            .filter_map(|owner| owner["uid"].as_str().map(str::to_owned))
            .collect();
        if !uids.is_empty() {
            for uid in &uids {
                self.chores.dependents.entry(uid.clone()).or_default().insert(id.clone());
            }
            self.chores.owners.insert(id.clone(), uids);
            self.chores.push(Chore::CheckOwners(id.clone()));
        }
        if meta::is_deleting(object)
            && meta::finalizers(object).iter().any(|name| name == FOREGROUND || name == ORPHAN)
        {
            self.chores.push(Chore::CheckDependents(id.clone()));
        }
    }

    /// An object is gone: its dependents have to be looked at, and owners that waited for it.
    pub(crate) fn owner_gone(&mut self, object: &Value) {
        for id in self.chores.dependents.get(meta::text(object, "uid")).cloned().unwrap_or_default() {
            self.chores.push(Chore::CheckOwners(id));
        }
        for owner in object["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
            if let Some(id) = self.owner_id(owner, meta::text(object, "namespace")) {
                self.chores.push(Chore::CheckDependents(id));
            }
        }
    }

    /// Where an owner would be.
    fn owner_id(&self, owner: &Value, namespace: &str) -> Option<ObjectId> {
        let (group, version) = match owner["apiVersion"].as_str()?.split_once('/') {
            Some((group, version)) => (group, version),
            None => ("", owner["apiVersion"].as_str()?),
        };
        let resource = self.kinds.by_kind(group, version, owner["kind"].as_str()?)?;
        let namespace = if resource.namespaced { namespace } else { "" };
        Some(ObjectId { kind: resource.storage(), key: Key::new(namespace, owner["name"].as_str()?) })
    }

    fn object(&self, id: &ObjectId) -> Option<Value> {
        encode::read(&self.store.get(&id.kind, &id.key)?.bytes).ok()
    }

    fn resource_of(&self, id: &ObjectId) -> Option<std::sync::Arc<Resource>> {
        self.kinds.stored_at(&id.kind).cloned()
    }

    /// An object whose owners are all gone goes too; one that still has some forgets the others.
    fn check_owners(&mut self, id: &ObjectId, now: Timestamp) {
        let Some(mut object) = self.object(id) else { return };
        let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        if owners.is_empty() || meta::is_deleting(&object) {
            return;
        }
        let namespace = meta::text(&object, "namespace").to_owned();
        let state = |owner: &Value| -> Option<Value> {
            // A kind that is not served may be served again: not a reason to delete anything.
            let Some(id) = self.owner_id(owner, &namespace) else { return Some(json!({})) };
            self.object(&id)
                .filter(|found| meta::text(found, "uid") == owner["uid"].as_str().unwrap_or_default())
        };
        let waiting = |owner: &Value| {
            meta::is_deleting(owner) && meta::finalizers(owner).iter().any(|name| name == FOREGROUND)
        };
        let states: Vec<Option<Value>> = owners.iter().map(state).collect();
        let solid = states.iter().flatten().any(|owner| !waiting(owner));
        let gone = states.iter().any(Option::is_none);
        let some_wait = states.iter().flatten().any(waiting);
        let Some(resource) = self.resource_of(id) else { return };
        if solid {
            if gone || some_wait {
                let left: Vec<Value> = owners
                    .iter()
                    .zip(&states)
                    .filter(|(_, state)| state.as_ref().is_some_and(|owner| !waiting(owner)))
                    .map(|(owner, _)| owner.clone())
                    .collect();
                meta::metadata(&mut object).insert("ownerReferences".into(), json!(left));
                self.keep_as_collector(&resource, object, now);
            }
            return;
        }
        if self.has(Planted::GarbageStays) {
            return;
        }
        if !self.controller_may_delete(Controller::GarbageCollector, &resource, &object) {
            self.chores.held.insert(Chore::CheckOwners(id.clone()));
            return;
        }
        // Dependents of dependents go first, if that was wanted of the owner.
        self.delete_quietly(&resource, object, some_wait, now);
    }

    /// An owner that waits for its dependents goes when none is left that blocks it, or when they have forgotten it.
    fn check_dependents(&mut self, id: &ObjectId, now: Timestamp) {
        let Some(mut object) = self.object(id) else { return };
        if !meta::is_deleting(&object) {
            return;
        }
        let uid = meta::text(&object, "uid").to_owned();
        let finalizers = meta::finalizers(&object);
        let dependents: Vec<ObjectId> =
            self.chores.dependents.get(&uid).into_iter().flatten().cloned().collect();
        let Some(resource) = self.resource_of(id) else { return };
        if finalizers.iter().any(|name| name == ORPHAN) {
            for dependent in dependents
                .iter()
                .filter(|_| !self.has(Planted::OrphansCollected))
                .cloned()
                .collect::<Vec<_>>()
            {
                self.forget_owner(&dependent, &uid, now);
            }
            remove_finalizer(&mut object, ORPHAN);
            self.let_go(&resource, object);
            return;
        }
        if !finalizers.iter().any(|name| name == FOREGROUND) {
            return;
        }
        let blocks = |dependent: &ObjectId| {
            let found = self.object(dependent);
            let owners =
                found.as_ref().and_then(|found| found["metadata"]["ownerReferences"].as_array().cloned());
            owners
                .into_iter()
                .flatten()
                .any(|owner| owner["uid"] == json!(uid) && owner["blockOwnerDeletion"] == json!(true))
        };
        if dependents.iter().any(blocks) && !self.has(Planted::ForegroundDoesNotWait) {
            for dependent in dependents {
                self.check_owners(&dependent, now);
            }
            return;
        }
        remove_finalizer(&mut object, FOREGROUND);
        self.let_go(&resource, object);
    }

    fn forget_owner(&mut self, id: &ObjectId, uid: &str, now: Timestamp) {
        let (Some(mut object), Some(resource)) = (self.object(id), self.resource_of(id)) else { return };
        if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
            owners.retain(|owner| owner["uid"] != json!(uid));
        }
        if object["metadata"]["ownerReferences"].as_array().is_some_and(Vec::is_empty) {
            meta::metadata(&mut object).remove("ownerReferences");
        }
        self.keep_as_collector(&resource, object, now);
    }

    /// Keeps an object that is on its way out, or takes it out if nothing holds it any more.
    pub(crate) fn let_go(&mut self, resource: &Resource, object: Value) {
        if meta::is_deleting(&object)
            && meta::finalizers(&object).is_empty()
            && !kinds::has_own_finalizers(&object, resource)
        {
            // What cannot be encoded was never kept.
            let _ = self.discard(resource, object);
        } else {
            self.keep_quietly(resource, object);
        }
    }

    /// Keeps an object that the garbage collector has changed, and notes that it was the collector.
    fn keep_as_collector(&mut self, resource: &Resource, mut object: Value, now: Timestamp) {
        let key = Key::new(meta::text(&object, "namespace"), meta::text(&object, "name"));
        let before = self.object(&ObjectId { kind: resource.storage(), key });
        let api_version = resource.api_version();
        let context = apply::Context {
            schema: &resource.schema,
            api_version: &api_version,
            kind: &resource.kind,
            manager: "kube-controller-manager",
            subresource: "",
            now,
            ignored: apply::FieldSet::default(),
            empty: kinds::empty(resource),
        };
        apply::update(before.as_ref(), &mut object, &context);
        self.keep_quietly(resource, object);
    }

    /// Keeps an object as a controller would. What changes nothing is not kept: it would be noticed, and be a chore again.
    pub(crate) fn keep_quietly(&mut self, resource: &Resource, object: Value) {
        let key = Key::new(meta::text(&object, "namespace"), meta::text(&object, "name"));
        let id = ObjectId { kind: resource.storage(), key };
        if self.object(&id).as_ref() != Some(&object) {
            // What cannot be encoded was never kept.
            let _ = self.keep(resource, object);
        }
    }

    /// Deletes an object as a controller would.
    pub(crate) fn delete_quietly(
        &mut self,
        resource: &Resource,
        mut object: Value,
        foreground: bool,
        now: Timestamp,
    ) {
        if foreground && !meta::finalizers(&object).iter().any(|name| name == FOREGROUND) {
            let mut finalizers = meta::finalizers(&object);
            finalizers.push(FOREGROUND.to_owned());
            meta::metadata(&mut object).insert("finalizers".into(), json!(finalizers));
        }
        if meta::finalizers(&object).is_empty() && !kinds::has_own_finalizers(&object, resource) {
            let _ = self.discard(resource, object);
            return;
        }
        if !meta::is_deleting(&object) {
            let generation = object["metadata"]["generation"].as_i64();
            let metadata = meta::metadata(&mut object);
            metadata.insert("deletionTimestamp".into(), meta::time(now));
            metadata.insert("deletionGracePeriodSeconds".into(), json!(0));
            if let Some(generation) = generation {
                metadata.insert("generation".into(), json!(generation + 1));
            }
            kinds::prepare_deletion(&mut object, resource, now);
            self.keep_quietly(resource, object);
        }
    }

    /// The Secrets that hold tokens of an account.
    fn secrets_of(&self, account: &Key) -> Vec<Key> {
        let of_account = |secret: &Value| {
            secret["type"] == kinds::ACCOUNT_TOKEN && kinds::account_of(secret) == &*account.name
        };
        let secrets = self.store.list(&core("secrets"), Some(&account.namespace), None);
        secrets
            .filter(|(_, stored)| encode::read(&stored.bytes).is_ok_and(|secret| of_account(&secret)))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// A Secret with a token goes when its account is not there.
    fn check_account_of(&mut self, key: &Key, now: Timestamp) {
        let id = ObjectId { kind: core("secrets"), key: key.clone() };
        let Some(secret) = self.object(&id).filter(|secret| !meta::is_deleting(secret)) else { return };
        let account = Key::new(&key.namespace, kinds::account_of(&secret));
        if self.store.get(&core("serviceaccounts"), &account).is_none()
            && let Some(resource) = self.resource_of(&id)
        {
            self.delete_quietly(&resource, secret, false, now);
        }
    }

    fn aggregate_roles(&mut self, now: Timestamp) {
        let kind = StorageKey { group: rbac::GROUP.to_owned(), plural: "clusterroles".to_owned() };
        let stale: Vec<(String, Value)> = self
            .rbac
            .stale_aggregates()
            .into_iter()
            .map(|(name, rules)| (name.to_owned(), rules.iter().map(rbac::PolicyRule::to_json).collect()))
            .collect();
        for (name, rules) in stale {
            let id = ObjectId { kind: kind.clone(), key: Key::new("", &name) };
            let (Some(role), Some(resource)) = (self.object(&id), self.resource_of(&id)) else { continue };
            let applied = json!({
                "apiVersion": resource.api_version(), "kind": resource.kind,
                "metadata": { "name": name }, "rules": rules,
            });
            let api_version = resource.api_version();
            let context = apply::Context {
                schema: &resource.schema,
                api_version: &api_version,
                kind: &resource.kind,
                manager: "clusterrole-aggregation-controller",
                subresource: "",
                now,
                ignored: apply::FieldSet::default(),
                empty: kinds::empty(&resource),
            };
            // What is stored fits its schema, and by force nobody is in the way.
            if let Ok(role) = apply::apply(Some(&role), &applied, &context, true) {
                self.keep_quietly(&resource, role);
            }
        }
    }

    /// RBAC learns of roles and bindings as they change.
    fn rbac_noticed(&mut self, kind: &StorageKey, key: &Key, object: Option<&Value>) {
        if kind.group != rbac::GROUP {
            return;
        }
        let Some(kind) = rbac::Kind::ALL.into_iter().find(|of| of.resource() == kind.plural) else { return };
        match object {
            Some(object) => self.rbac.upsert(kind, &key.namespace, &key.name, object),
            None => self.rbac.remove(kind, &key.namespace, &key.name),
        }
    }
}

fn core(plural: &str) -> StorageKey {
    StorageKey { group: String::new(), plural: plural.to_owned() }
}

fn remove_finalizer(object: &mut Value, finalizer: &str) {
    let left: Vec<String> = meta::finalizers(object).into_iter().filter(|name| name != finalizer).collect();
    let metadata = meta::metadata(object);
    match left.is_empty() {
        true => drop(metadata.remove("finalizers")),
        false => drop(metadata.insert("finalizers".into(), json!(left))),
    }
}
