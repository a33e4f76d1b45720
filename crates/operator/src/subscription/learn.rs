//! How the index learns from followers, and what has to be looked at then.

use super::request::is_refused;
use super::{
    Task,
    credentials::{Credential, credential},
    index::{BindingRef, Index, PoolEntry, RequestName, ShootFact},
};
use crate::runtime::{
    census::{self, Standing},
    keep,
    kept::{Progress, number},
};
use allotment_api::{
    gardener::{CredentialsBinding, OperationState, SecretBinding, Shoot, ShootStatus},
    kyma::{BindingKind, SubscriptionPhase, SubscriptionRequest},
    names::{annotation, label},
};
use allotment_core::{
    marks,
    pool::{AccountName, Entry, RequestUid, tenant_of},
};
use kube::{ResourceExt, api::ObjectMeta};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// As many requests with marks are remembered until they are told about.
const MOST_MARKED: usize = 1000;

/// Error codes of Gardener that say that credentials do not work.
const REFUSED_CODES: [&str; 2] = ["ERR_INFRA_UNAUTHENTICATED", "ERR_INFRA_UNAUTHORIZED"];

/// The kinds that are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// In the garden.
    CredentialsBindings,
    /// In the garden.
    SecretBindings,
    /// In the garden, their metadata, where the pool is made of them.
    Secrets,
    /// In the garden.
    Shoots,
    /// In the control plane.
    Requests,
}

impl keep::Index for Index {
    type Followed = Followed;
    type Task = Task;

    fn is_complete(&self) -> bool {
        self.is_pool_complete() && self.requests.is_listed()
    }

    fn kept(&mut self, what: Followed) -> &mut dyn Progress {
        match what {
            Followed::CredentialsBindings => &mut self.credentials_bindings,
            Followed::SecretBindings => &mut self.secret_bindings,
            Followed::Secrets => &mut self.secrets,
            Followed::Shoots => &mut self.shoots,
            Followed::Requests => &mut self.requests,
        }
    }

    fn returned(&mut self, what: Followed, metadata: &ObjectMeta) {
        if matches!(what, Followed::Requests) {
            self.returned.insert(RequestName {
                namespace: metadata.namespace.clone().unwrap_or_default(),
                name: metadata.name.clone().unwrap_or_default(),
            });
        }
    }

    fn listed(&mut self, what: Followed) -> Vec<Task> {
        match what {
            Followed::CredentialsBindings => {
                let gone = self.credentials_bindings.missing().into_iter();
                gone.flat_map(|name| self.forget_binding(BindingRef::Credentials(name))).collect()
            }
            Followed::SecretBindings => {
                let gone = self.secret_bindings.missing().into_iter();
                gone.flat_map(|name| self.forget_binding(BindingRef::Secret(name))).collect()
            }
            Followed::Secrets => {
                let gone = self.secrets.missing().into_iter();
                gone.flat_map(|name| self.forget_secret(&name)).collect()
            }
            Followed::Shoots => {
                let gone = self.shoots.missing().into_iter();
                gone.flat_map(|name| self.forget_shoot(&name)).collect()
            }
            Followed::Requests => {
                let gone = self.requests.missing().into_iter();
                gone.flat_map(|name| self.forget_request(&name)).collect()
            }
        }
    }
}

impl Index {
    /// A CredentialsBinding is there.
    pub fn learn_credentials_binding(&mut self, binding: &CredentialsBinding) -> Vec<Task> {
        let reference = &binding.spec.credentials_ref;
        let credential = credential(&reference.kind, &reference.namespace, &reference.name);
        self.learn_binding(BindingRef::Credentials(binding.name_any()), credential, &binding.metadata)
    }

    /// A SecretBinding is there.
    pub fn learn_secret_binding(&mut self, binding: &SecretBinding) -> Vec<Task> {
        let own = binding.namespace().unwrap_or_default();
        let namespace = binding.spec.secret_ref.namespace.as_deref().unwrap_or(&own);
        let credential = credential("Secret", namespace, &binding.spec.secret_ref.name);
        self.learn_binding(BindingRef::Secret(binding.name_any()), credential, &binding.metadata)
    }

    /// A Secret of the pool is there.
    pub fn learn_secret(&mut self, metadata: &ObjectMeta) -> Vec<Task> {
        let name = metadata.name.clone().unwrap_or_default();
        let credential = credential("Secret", metadata.namespace.as_deref().unwrap_or_default(), &name);
        let is_current = self.secrets.current(&name).is_some();
        self.secrets.insert(name.clone(), credential.clone());
        let account = AccountName::new(name);
        if is_current && self.knows_newer(&account, metadata) {
            return Vec::new();
        }
        self.learn_entry(account, credential, metadata)
    }

    /// An entry is as we have just written it: the watch need not have told yet.
    pub(super) fn learn_written(&mut self, account: &AccountName, metadata: &ObjectMeta) {
        let credential = self.entries.get(account).map(|known| known.credential.clone());
        if let Some(credential) = credential.filter(|_| !self.knows_newer(account, metadata)) {
            self.learn_entry(account.clone(), credential, metadata);
        }
    }

    /// A CredentialsBinding is gone.
    pub fn forget_credentials_binding(&mut self, name: &str) -> Vec<Task> {
        self.forget_binding(BindingRef::Credentials(name.to_owned()))
    }

    /// A SecretBinding is gone.
    pub fn forget_secret_binding(&mut self, name: &str) -> Vec<Task> {
        self.forget_binding(BindingRef::Secret(name.to_owned()))
    }

    /// A binding is gone.
    pub(super) fn forget_binding(&mut self, binding: BindingRef) -> Vec<Task> {
        let gone = match &binding {
            BindingRef::Credentials(name) => self.credentials_bindings.remove(name),
            BindingRef::Secret(name) => self.secret_bindings.remove(name),
        };
        if let Some(credential) = &gone {
            remove_from(&mut self.bindings_of, credential, &binding);
        }
        match self.account_named_by(&binding) {
            Some(account) => self.forget_entry(&account),
            None => gone.map(|credential| self.relist_all(&credential)).unwrap_or_default(),
        }
    }

    /// A Secret of the pool is gone.
    pub fn forget_secret(&mut self, name: &String) -> Vec<Task> {
        self.secrets.remove(name);
        self.forget_entry(&AccountName::new(name))
    }

    /// A Shoot is there.
    pub fn learn_shoot(&mut self, shoot: &Shoot) -> Vec<Task> {
        let (name, fact) = (shoot.name_any(), shoot_fact(shoot));
        let before = self.shoots.insert(name.clone(), fact.clone());
        if before.as_ref() == Some(&fact) {
            return Vec::new();
        }
        let mut tasks = Vec::new();
        if let Some(before) = before {
            tasks.extend(self.touched_by(&before));
            self.unlink(&name, &before);
            self.deleting_shoots -= usize::from(before.deleting);
        }
        self.deleting_shoots += usize::from(fact.deleting);
        if let Some(binding) = &fact.binding {
            self.shoots_on.entry(binding.clone()).or_default().insert(name);
        }
        tasks.extend(self.touched_by(&fact));
        self.relist_touched(tasks)
    }

    /// A Shoot is gone.
    pub fn forget_shoot(&mut self, name: &String) -> Vec<Task> {
        let Some(fact) = self.shoots.remove(name) else { return Vec::new() };
        self.unlink(name, &fact);
        self.deleting_shoots -= usize::from(fact.deleting);
        let tasks = self.touched_by(&fact);
        self.relist_touched(tasks)
    }

    /// A request is there.
    #[must_use = "others wait for this"]
    pub fn learn_request(&mut self, request: SubscriptionRequest) -> Vec<Task> {
        let name = RequestName::of(&request);
        if self.requests.is_past(&name, &request.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        self.request_names.insert(RequestUid::new(request.uid().unwrap_or_default()), name.clone());
        let admitted = self.census.set(&name, counted(&request));
        let request = Arc::new(request);
        if self.marked.len() < MOST_MARKED && marks::of_subscription(&request).is_some() {
            self.marked.insert(name.clone(), request.clone());
        }
        let relisted = self.learn_use(&name, Some(request.as_ref()));
        let before = self.requests.insert(name.clone(), request);
        let replaced = self.forget_uid_of(before, &name).map(Task::Orphan);
        let requests = std::iter::once(name).chain(admitted).map(Task::Request);
        requests.chain(replaced).chain(relisted).collect()
    }

    /// A request is gone.
    #[must_use = "others wait for this"]
    pub fn forget_request(&mut self, name: &RequestName) -> Vec<Task> {
        self.returned.remove(name);
        let before = self.requests.remove(name);
        let admitted = self.census.set(name, None).into_iter().map(Task::Request);
        let relisted = self.learn_use(name, None);
        admitted.chain(self.forget_uid_of(before, name).map(Task::Orphan)).chain(relisted).collect()
    }

    /// Forgets the UID of a request that is not there any more, and returns it.
    fn forget_uid_of(
        &mut self,
        before: Option<Arc<SubscriptionRequest>>,
        name: &RequestName,
    ) -> Option<RequestUid> {
        let uid = |request: &Arc<SubscriptionRequest>| RequestUid::new(request.uid().unwrap_or_default());
        let now = self.requests.get(name).map(uid);
        let old = before.as_ref().map(uid).filter(|old| now.as_ref() != Some(old))?;
        self.request_names.remove(&old);
        Some(old)
    }

    fn learn_binding(
        &mut self,
        binding: BindingRef,
        credential: Credential,
        metadata: &ObjectMeta,
    ) -> Vec<Task> {
        let (kept, name) = match &binding {
            BindingRef::Credentials(name) => (&mut self.credentials_bindings, name),
            BindingRef::Secret(name) => (&mut self.secret_bindings, name),
        };
        let is_current = kept.current(name).is_some();
        let before = kept.insert(name.clone(), credential.clone());
        let before = before.filter(|before| *before != credential);
        if let Some(before) = &before {
            remove_from(&mut self.bindings_of, before, &binding);
        }
        self.bindings_of.entry(credential.clone()).or_default().insert(binding.clone());
        match self.account_named_by(&binding) {
            Some(account) if is_current && self.knows_newer(&account, metadata) => Vec::new(),
            Some(account) => self.learn_entry(account, credential, metadata),
            // Shoots on it are in the accounts with the same credentials.
            None => {
                let mut tasks = before.map(|before| self.relist_all(&before)).unwrap_or_default();
                tasks.extend(self.relist_all(&credential));
                tasks
            }
        }
    }

    fn knows_newer(&self, account: &AccountName, metadata: &ObjectMeta) -> bool {
        self.entries.get(account).is_some_and(|known| {
            metadata.uid.as_deref() == Some(known.uid.as_str())
                && number(metadata.resource_version.as_deref()) < number(Some(&known.version))
        })
    }

    fn learn_entry(
        &mut self,
        account: AccountName,
        credential: Credential,
        metadata: &ObjectMeta,
    ) -> Vec<Task> {
        let fresh = self.entry_of(credential.clone(), metadata);
        let entry = &fresh.entry;
        let was_free = self.is_listed_as_free(&account);
        let before = self.entries.get(&account).map(|known| known.credential.clone());
        let is_anothers = self.entries.get(&account).is_some_and(|known| known.entry.tenant != entry.tenant);
        self.unlist(&account);
        if entry.tenant.is_some() || entry.dirty {
            self.taken.remove(&account);
        }
        let mut tasks = vec![Task::Account(account.clone())];
        // Whether their assignments are proven depends on it.
        let users = self.used_by.get(&credential).filter(|_| is_anothers).into_iter().flatten();
        tasks.extend(users.map(|(request, _)| Task::Request(request.clone())));
        if let Some(tenant) = &entry.tenant {
            self.held.entry(tenant.clone()).or_default().insert(account.clone());
        }
        if let Some(pool) = entry.pool.as_ref().filter(|_| !entry.internal) {
            let size = self.sizes.entry(pool.clone()).or_default();
            size.accounts += 1;
            size.quarantined += usize::from(entry.quarantine.is_some());
        }
        self.accounts_of.entry(credential.clone()).or_default().insert(account.clone());
        let is_shared = fresh.entry.is_shared();
        self.entries.insert(account.clone(), fresh);
        self.learn_credential_of_users(&account, &credential);
        let listed = self.relist(&account);
        tasks.extend(listed.filter(|_| !was_free || is_shared));
        // Those with the same credentials may be free now, or not any more.
        if let Some(before) = before.filter(|before| *before != credential) {
            tasks.extend(self.relist_all(&before));
        }
        tasks.extend(self.relist_others(&credential, &account));
        tasks
    }

    /// An entry as it was read from the server just now.
    pub fn read_entry(&self, account: &AccountName, metadata: &ObjectMeta) -> PoolEntry {
        let known = self.entries.get(account).map(|entry| entry.credential.clone());
        self.entry_of(known.unwrap_or_else(|| "".into()), metadata)
    }

    fn entry_of(&self, credential: Credential, metadata: &ObjectMeta) -> PoolEntry {
        let labels = metadata.labels.clone().unwrap_or_default();
        let annotation = |name: &str| metadata.annotations.as_ref().and_then(|all| all.get(name));
        let quarantine = annotation(annotation::QUARANTINE);
        PoolEntry {
            entry: Entry::read(&labels, quarantine.map(String::as_str), &self.keys),
            labels,
            stuck: annotation(annotation::CLEANUP_STUCK).cloned(),
            version: metadata.resource_version.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            created: metadata.creation_timestamp.as_ref().map(|time| time.0),
            credential,
        }
    }

    fn forget_entry(&mut self, account: &AccountName) -> Vec<Task> {
        self.unlist(account);
        self.taken.remove(account);
        let gone = self.entries.remove(account);
        let mut tasks = vec![Task::Account(account.clone())];
        tasks.extend(gone.map(|gone| self.relist_all(&gone.credential)).unwrap_or_default());
        tasks
    }

    /// Takes an account out of the lists that follow from its entry.
    fn unlist(&mut self, account: &AccountName) {
        let Some(before) = self.entries.get(account) else { return };
        remove_from(&mut self.accounts_of, &before.credential, account);
        if let Some(size) = before
            .entry
            .pool
            .as_ref()
            .filter(|_| !before.entry.internal)
            .and_then(|pool| self.sizes.get_mut(pool))
        {
            size.accounts -= 1;
            size.quarantined -= usize::from(before.entry.quarantine.is_some());
        }
        if let Some(tenant) = &before.entry.tenant {
            remove_from(&mut self.held, tenant, account);
        }
        if let Some(pool) = before.entry.pool.clone() {
            self.unlist_from(&pool, account);
        }
    }

    fn unlink(&mut self, shoot: &String, fact: &ShootFact) {
        if let Some(binding) = &fact.binding {
            remove_from(&mut self.shoots_on, binding, shoot);
        }
    }

    /// What a change of this Shoot may matter to.
    pub(super) fn touched_by(&self, fact: &ShootFact) -> Vec<Task> {
        let mut accounts = BTreeSet::new();
        if let Some(binding) = &fact.binding {
            accounts.extend(self.account_named_by(binding));
            let credential = self.credential_of(binding);
            let same = credential.and_then(|credential| self.accounts_of.get(credential));
            accounts.extend(same.into_iter().flatten().cloned());
        }
        let request = fact.request.as_ref().and_then(|uid| self.request_names.get(uid));
        let tasks = accounts.into_iter().map(Task::Account);
        tasks.chain(request.cloned().map(Task::Request)).collect()
    }

    /// The account whose entry is this binding, if bindings of its kind are the pool's entries.
    fn account_named_by(&self, binding: &BindingRef) -> Option<AccountName> {
        match (self.kind, binding) {
            (BindingKind::CredentialsBinding, BindingRef::Credentials(name))
            | (BindingKind::SecretBinding, BindingRef::Secret(name)) => Some(AccountName::new(name)),
            _ => None,
        }
    }
}

impl RequestName {
    /// Where a request is.
    pub fn of(request: &SubscriptionRequest) -> Self {
        Self { namespace: request.namespace().unwrap_or_default(), name: request.name_any() }
    }
}

/// What counts towards the caps on waiting requests: those that have no account and may get one.
fn counted(request: &SubscriptionRequest) -> Option<census::Entry> {
    let phase = request.status.as_ref().and_then(|status| status.phase);
    let counts = matches!(phase, None | Some(SubscriptionPhase::Waiting)) || is_refused(request);
    let is_going = request.metadata.deletion_timestamp.is_some();
    (counts && !is_going).then(|| census_entry(request))
}

/// A request, as it is judged by the caps on waiting requests.
pub(super) fn census_entry(request: &SubscriptionRequest) -> census::Entry {
    let is_waiting =
        request.status.as_ref().is_some_and(|status| status.phase == Some(SubscriptionPhase::Waiting));
    census::Entry {
        namespace: request.namespace().unwrap_or_default(),
        tenant: tenant_of(&request.spec.subscription_selector).map(|tenant| tenant.to_string()),
        created: request.metadata.creation_timestamp.as_ref().map(|time| time.0),
        standing: Standing::new(is_waiting, is_refused(request)),
    }
}

fn shoot_fact(shoot: &Shoot) -> ShootFact {
    let spec = &shoot.spec;
    let credentials = spec.credentials_binding_name.clone().map(BindingRef::Credentials);
    let status = shoot.status.as_ref();
    let state = status.and_then(|status| status.last_operation.as_ref()).map(|operation| operation.state);
    ShootFact {
        binding: credentials.or_else(|| spec.secret_binding_name.clone().map(BindingRef::Secret)),
        request: shoot.labels().get(label::SUBSCRIPTION_REQUEST).map(RequestUid::new),
        refused: status.is_some_and(refuses),
        succeeded: state == Some(OperationState::Succeeded),
        deleting: shoot.metadata.deletion_timestamp.is_some(),
    }
}

fn refuses(status: &ShootStatus) -> bool {
    let mut codes = status.last_errors.iter().flat_map(|error| &error.codes);
    codes.any(|code| REFUSED_CODES.contains(&code.as_str()))
}

pub(super) fn remove_from<K: Ord + Clone, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(set) = map.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            map.remove(key);
        }
    }
}
