//! What is known of the pool: entries, Shoots and requests, kept in memory from watches, in the form the decisions need.
//!
//! A Shoot is a few words here: its name, its binding, whose request it is for, and whether its cloud refuses the
//! credentials. The index says what to look at when something changes; it is never the last word (see `act`).

use super::{
    Task,
    credentials::{Credential, CredentialsKind, CredentialsName},
    uses::Uses,
};
use crate::{
    ledger::Observed,
    planted::{Bed, Planted},
    runtime::{census::Census, kept::Kept},
    tenancy::NamespaceRoles,
};
use allotment_api::kyma::{BindingKind, SubscriptionRequest};
use allotment_core::pool::{AccountName, Entry, LabelKeys, Occupied, PoolKey, RequestUid, Shoots, Tenant};
use jiff::Timestamp;
use kube::api::ObjectMeta;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// A SubscriptionRequest by its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A binding of either kind by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BindingRef {
    Credentials(String),
    Secret(String),
}

/// A pool entry.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolEntry {
    /// What its labels say.
    pub entry: Entry,
    /// The labels themselves.
    pub labels: BTreeMap<String, String>,
    /// Its version: what a write to it is conditional on.
    pub version: String,
    /// Its UID.
    pub uid: String,
    /// The reason why its cleaning is stuck, from the annotation.
    pub stuck: Option<String>,
    /// When it was made.
    pub(crate) created: Option<Timestamp>,
    /// The credentials behind it.
    pub(super) credential: Credential,
}

/// What is kept of a Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShootFact {
    pub(super) binding: Option<BindingRef>,
    /// The request that it is for, from our label.
    pub request: Option<RequestUid>,
    /// The cloud refuses the credentials.
    pub refused: bool,
    /// The last operation succeeded.
    pub succeeded: bool,
    /// It is being deleted.
    pub(super) deleting: bool,
}

/// How large a pool is, internal accounts left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolSize {
    /// All of its accounts.
    pub accounts: usize,
    /// Those that are in quarantine.
    pub quarantined: usize,
}

/// Everything that is known.
#[derive(Debug)]
pub struct Index {
    pub(super) kind: BindingKind,
    pub(super) keys: LabelKeys,
    pub(super) entries: BTreeMap<AccountName, PoolEntry>,
    pub(super) credentials_bindings: Kept<String, Credential>,
    pub(super) secret_bindings: Kept<String, Credential>,
    pub(super) secrets: Kept<String, Credential>,
    pub(super) shoots: Kept<String, ShootFact>,
    pub(super) requests: Kept<RequestName, Arc<SubscriptionRequest>>,
    pub(super) bindings_of: BTreeMap<Credential, BTreeSet<BindingRef>>,
    pub(super) accounts_of: BTreeMap<Credential, BTreeSet<AccountName>>,
    /// The account that each request has by its status, by the credentials. An entry can be deleted and made again by another name;
    /// its credentials are still used.
    pub(super) used_by: BTreeMap<Credential, BTreeMap<RequestName, AccountName>>,
    /// The same by request.
    pub(super) uses: Uses,
    pub(super) shoots_on: BTreeMap<BindingRef, BTreeSet<String>>,
    pub(super) request_names: BTreeMap<RequestUid, RequestName>,
    pub(super) free: BTreeMap<PoolKey, BTreeSet<AccountName>>,
    pub(super) shared: BTreeMap<PoolKey, BTreeSet<AccountName>>,
    /// Accounts that would be free or shared by their labels, and are not to be had; see `occupied.rs`.
    pub(super) occupied: BTreeMap<PoolKey, BTreeMap<AccountName, Occupied>>,
    /// How many Shoots are being deleted.
    pub(super) deleting_shoots: usize,
    /// Kept for pools that have run empty too: they say 0.
    pub(super) sizes: BTreeMap<PoolKey, PoolSize>,
    pub(super) held: BTreeMap<Tenant, BTreeSet<AccountName>>,
    /// Requests that wait, or may have to.
    pub(super) census: Census<RequestName>,
    /// Claimed a moment ago: the watch has not shown the label yet. Saves the ledger from being asked in vain.
    pub(super) taken: BTreeSet<AccountName>,
    /// Requests with finalizers or ownerReferences in our name, to be told so: the garbage collector may take them before anybody reads
    /// a status.
    pub(super) marked: BTreeMap<RequestName, Arc<SubscriptionRequest>>,
    /// Requests that are back though their deletion was seen.
    pub(super) returned: BTreeSet<RequestName>,
    pub(crate) planted: Bed,
}

impl Index {
    /// Nothing is known yet.
    pub fn new(kind: BindingKind, keys: LabelKeys) -> Self {
        Self {
            kind,
            keys,
            entries: BTreeMap::new(),
            credentials_bindings: Kept::default(),
            secret_bindings: Kept::default(),
            secrets: Kept::default(),
            shoots: Kept::default(),
            requests: Kept::default(),
            bindings_of: BTreeMap::new(),
            accounts_of: BTreeMap::new(),
            used_by: BTreeMap::new(),
            uses: Uses::default(),
            shoots_on: BTreeMap::new(),
            request_names: BTreeMap::new(),
            free: BTreeMap::new(),
            shared: BTreeMap::new(),
            occupied: BTreeMap::new(),
            deleting_shoots: 0,
            sizes: BTreeMap::new(),
            held: BTreeMap::new(),
            census: Census::default(),
            taken: BTreeSet::new(),
            marked: BTreeMap::new(),
            returned: BTreeSet::new(),
            planted: Bed::default(),
        }
    }

    /// Requests count for the tenants that their namespaces have.
    pub(super) fn counting_by(mut self, roles: Arc<NamespaceRoles>) -> Self {
        self.census = self.census.counting_by(roles);
        self
    }

    /// A request whose marks nobody was told about yet.
    pub(super) fn take_marked(&mut self, name: &RequestName) -> Option<Arc<SubscriptionRequest>> {
        self.marked.remove(name)
    }

    /// An entry.
    pub fn entry(&self, account: &AccountName) -> Option<&PoolEntry> {
        self.entries.get(account)
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = (&AccountName, &PoolEntry)> {
        self.entries.iter()
    }

    /// A request.
    pub fn request(&self, name: &RequestName) -> Option<Arc<SubscriptionRequest>> {
        self.requests.get(name).cloned()
    }

    /// A request by its UID.
    pub fn request_of(&self, uid: &RequestUid) -> Option<Arc<SubscriptionRequest>> {
        self.request(self.request_names.get(uid)?)
    }

    /// All requests.
    pub fn requests(&self) -> impl Iterator<Item = (&RequestName, &Arc<SubscriptionRequest>)> {
        self.requests.iter()
    }

    /// The first free accounts of a pool, by name.
    pub fn free(&self, pool: &PoolKey, most: usize) -> Vec<AccountName> {
        let free = self.free.get(pool).into_iter().flatten();
        free.filter(|account| !self.taken.contains(account)).take(most).cloned().collect()
    }

    /// The accounts of a shared pool.
    pub fn shared(&self, pool: &PoolKey) -> Vec<AccountName> {
        self.shared.get(pool).into_iter().flatten().cloned().collect()
    }

    /// Every pool that has entries, and how many free or shared accounts each has; a pool without any says 0.
    pub fn pools(&self) -> BTreeMap<PoolKey, usize> {
        let mut pools: BTreeMap<PoolKey, usize> = self.sizes.keys().map(|pool| (pool.clone(), 0)).collect();
        for (pool, accounts) in self.free.iter().chain(&self.shared) {
            let count = accounts.iter().filter(|account| !self.taken.contains(account)).count();
            pools.insert(pool.clone(), count);
        }
        pools
    }

    /// How many accounts each tenant has, as the labels have it.
    pub fn accounts_per_tenant(&self) -> impl Iterator<Item = (&Tenant, usize)> {
        self.held.iter().map(|(tenant, accounts)| (tenant, accounts.len()))
    }

    /// How large a pool is.
    pub fn size_of(&self, pool: &PoolKey) -> PoolSize {
        self.sizes.get(pool).copied().unwrap_or_default()
    }

    /// Whether the status of a request names an account.
    pub(super) fn is_named_by_a_request(&self, account: &AccountName) -> bool {
        let credential = self.entries.get(account).map(|known| &known.credential);
        credential.is_some_and(|credential| self.used_by.contains_key(credential))
    }

    /// The accounts in quarantine.
    pub fn quarantined(&self) -> usize {
        self.sizes.values().map(|size| size.quarantined).sum()
    }

    /// The Shoots in an account, by name.
    pub fn shoots_in(&self, account: &AccountName) -> impl Iterator<Item = (&String, &ShootFact)> {
        let by_name = [BindingRef::Credentials(account.to_string()), BindingRef::Secret(account.to_string())];
        let own = by_name.into_iter().filter(move |binding| self.is_own(binding));
        let credential = self.entries.get(account).map(|entry| &entry.credential);
        let mut bindings: BTreeSet<BindingRef> = own.collect();
        bindings.extend(
            credential.and_then(|credential| self.bindings_of.get(credential)).into_iter().flatten().cloned(),
        );
        let names =
            bindings.into_iter().flat_map(|binding| self.shoots_on.get(&binding).into_iter().flatten());
        names.filter_map(|name| Some((name, self.shoots.get(name)?)))
    }

    /// The Shoots in an account, counted.
    pub fn count_shoots(&self, account: &AccountName) -> Shoots {
        self.shoots_in(account).fold(Shoots::default(), |count, (_, shoot)| Shoots {
            all: count.all + 1,
            refused: count.refused + u32::from(shoot.refused),
            succeeded: count.succeeded + u32::from(shoot.succeeded),
        })
    }

    /// The Shoots in an account that are not for a request that exists.
    pub fn count_foreign(&self, account: &AccountName) -> u32 {
        let is_foreign = |shoot: &ShootFact| {
            !shoot.request.as_ref().is_some_and(|request| self.request_names.contains_key(request))
        };
        let foreign = self.shoots_in(account).filter(|(_, shoot)| is_foreign(shoot)).count();
        u32::try_from(foreign).unwrap_or(u32::MAX)
    }

    /// The Shoots in an account that are not for a request that exists, where this one does not count any more.
    pub fn count_foreign_but(&self, account: &AccountName, request: &RequestUid) -> u32 {
        let own =
            self.shoots_in(account).filter(|(_, shoot)| shoot.request.as_ref() == Some(request)).count();
        let known = self.request_names.contains_key(request);
        let own = if known { 0 } else { u32::try_from(own).unwrap_or(u32::MAX) };
        self.count_foreign(account).saturating_sub(own)
    }

    /// What the ledger has to know of accounts that a request could be put into, and of free ones that share credentials.
    /// `assigned`: where requests are, as far as this process was told.
    pub(super) fn observe(
        &self,
        counted: &[AccountName],
        free: &[AccountName],
        assigned: &BTreeMap<RequestUid, AccountName>,
    ) -> BTreeMap<AccountName, Observed> {
        let shared = |account: &&AccountName| !self.twins_of(account).is_empty();
        let accounts = counted.iter().chain(free.iter().filter(shared));
        accounts.map(|account| (account.clone(), self.observe_one(account, assigned))).collect()
    }

    fn observe_one(&self, account: &AccountName, assigned: &BTreeMap<RequestUid, AccountName>) -> Observed {
        let (twins, contested) = (self.twins_of(account), self.is_contested(account));
        let mut observed = Observed { twins, contested, ..Observed::default() };
        let mut seen = BTreeSet::new();
        for (_, shoot) in self.shoots_in(account) {
            match &shoot.request {
                // An assignment stands for one Shoot.
                Some(request) if seen.insert(request) => {
                    let place = assigned.get(request);
                    let is_here = place.is_some_and(|it| it == account || observed.twins.contains(it));
                    let counts = !self.planted.has(Planted::ShootsWithoutSeatUncounted)
                        || !self.request_names.contains_key(request);
                    if !is_here && counts {
                        observed.unseated.push(request.clone());
                    }
                }
                _ => observed.foreign += 1,
            }
        }
        if self.planted.has(Planted::SameCredentialsTwice) {
            (observed.twins, observed.contested) = (Vec::new(), false);
        }
        observed
    }

    /// Whether a Shoot of this request is in an account, as far as is known.
    pub fn shows_shoot_of(&self, account: &AccountName, request: &RequestUid) -> bool {
        self.shoots_in(account).any(|(_, shoot)| shoot.request.as_ref() == Some(request))
    }

    /// How many Shoots carry the label of a request.
    pub fn labelled_shoots(&self) -> usize {
        self.shoots.iter().filter(|(_, shoot)| shoot.request.is_some()).count()
    }

    /// How many Shoots are followed.
    pub fn shoots(&self) -> usize {
        self.shoots.len()
    }

    /// A CredentialsBinding for the credentials of an account: what new Shoots take.
    pub fn credentials_binding_for(&self, account: &AccountName) -> Option<String> {
        let entry = self.entries.get(account)?;
        self.bindings_of.get(&entry.credential)?.iter().find_map(|binding| match binding {
            BindingRef::Credentials(name) => Some(name.clone()),
            BindingRef::Secret(_) => None,
        })
    }

    /// The accounts of a tenant, as the labels have it.
    pub fn accounts_of_tenant(&self, tenant: &Tenant) -> Vec<AccountName> {
        self.held.get(tenant).into_iter().flatten().cloned().collect()
    }

    /// The account whose credentials a CredentialsBinding of this name has.
    pub fn account_behind(&self, binding: &str) -> Option<AccountName> {
        if self.kind == BindingKind::CredentialsBinding {
            return Some(AccountName::new(binding));
        }
        let credential = self.credentials_bindings.get(&binding.to_owned())?;
        self.accounts_of.get(credential)?.first().cloned()
    }

    /// The credentials behind an account, if their kind is known.
    pub fn credentials_of(&self, account: &AccountName) -> Option<CredentialsName> {
        CredentialsName::read(&self.entries.get(account)?.credential)
    }

    /// Namespace and name of the Secret behind an account, if it is one.
    pub fn secret_of(&self, account: &AccountName) -> Option<(String, String)> {
        let CredentialsName { kind, namespace, name } = self.credentials_of(account)?;
        (kind == CredentialsKind::Secret).then_some((namespace, name))
    }

    /// The accounts that a Shoot is in.
    pub fn accounts_with(&self, shoot: &String) -> Vec<AccountName> {
        let tasks = self.shoots.get(shoot).map(|fact| self.touched_by(fact)).unwrap_or_default();
        let accounts = tasks.into_iter().filter_map(|task| match task {
            Task::Account(account) => Some(account),
            _ => None,
        });
        accounts.collect()
    }

    /// Whether a Shoot exists.
    pub fn has_shoot(&self, name: &String) -> bool {
        self.shoots.get(name).is_some()
    }

    /// Whether everything but requests has been listed once.
    pub(crate) fn is_pool_complete(&self) -> bool {
        let secrets = self.kind != BindingKind::Secret || self.secrets.is_listed();
        let bindings = self.credentials_bindings.is_listed() && self.secret_bindings.is_listed();
        secrets && bindings && self.shoots.is_listed()
    }

    /// Whether an object carries the label of the pool.
    pub fn is_in_the_pool(&self, metadata: &ObjectMeta) -> bool {
        metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(&self.keys.hyperscaler_type))
    }

    /// The cloud of an account, from its type.
    pub fn provider_of(&self, account: &AccountName) -> Option<String> {
        let type_ = self.entries.get(account)?.entry.pool.as_ref()?.hyperscaler_type.to_string();
        Some(type_.split('_').next().unwrap_or_default().to_owned())
    }

    fn is_own(&self, binding: &BindingRef) -> bool {
        matches!(
            (self.kind, binding),
            (BindingKind::CredentialsBinding, BindingRef::Credentials(_))
                | (BindingKind::SecretBinding, BindingRef::Secret(_))
        )
    }
}
