//! What must hold between namespaces of different tenants: nothing of the one is read, written, granted, counted or deleted for
//! the other. The owner of a Shoot is whoever has the UID that the Shoot carries; nobody can choose a UID.

use super::Books;
use crate::pool::{AccountName, RequestUid, Tenant};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

#[cfg(test)]
mod tests;

/// Which namespace has what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// The tenants of each namespace.
    pub tenants: BTreeMap<String, BTreeSet<Tenant>>,
    /// The namespace of every Cluster, SubscriptionRequest and KubeconfigRequest that ever existed, by UID.
    pub namespaces: BTreeMap<String, String>,
    /// The tenant that each SubscriptionRequest named when it was made.
    pub claims: BTreeMap<RequestUid, Tenant>,
    /// Objects of the garden project, and users, that belong to one namespace.
    pub belongings: BTreeMap<String, String>,
    /// The Shoots, by name.
    pub shoots: BTreeMap<String, OwnedShoot>,
}

/// A Shoot, as far as it says whose it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedShoot {
    /// Its own UID.
    pub uid: String,
    /// The UID of the Cluster that it carries.
    pub cluster: Option<String>,
    /// The UID of the SubscriptionRequest that it carries.
    pub request: Option<String>,
    /// The account that it is in.
    pub account: Option<AccountName>,
    /// The names of objects in the garden project that its spec refers to.
    pub references: BTreeSet<String>,
}

/// Something of one tenant that reached another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IsolationViolation {
    /// A request has an account of a tenant that its namespace does not have.
    AccountOfAnother(RequestUid, String, Tenant),
    /// A request is in the queue of a tenant that its namespace does not have.
    QueuedForAnother(RequestUid, String, Tenant),
    /// A Shoot carried the UID of one namespace, and we wrote that of another on it.
    ShootTaken(String, String, String),
    /// A Shoot of a namespace is in an account that another tenant holds.
    ShootInAccountOfAnother(String, String, AccountName, Tenant),
    /// A Shoot of a namespace refers to something that belongs to another.
    RefersToAnothers(String, String, String),
    /// A request of a namespace has something in a Shoot of another.
    GrantInAnothers(String, String, String),
    /// Somebody of a namespace is an administrator of a Shoot of another.
    AdministratorOfAnothers(String, String),
    /// A request has a Role where everybody's tokens or the system's Secrets are.
    RoleInProtectedNamespace(String, String),
    /// A Secret was read that belongs to nobody who asked for it.
    SecretRead(String),
    /// A ConfigMap was deleted that a Shoot refers to.
    MapInUseDeleted(String, String),
    /// At rest: a request that the platform has locked has something.
    LockedButGranted(String, String),
}

impl Isolation {
    /// The namespace whose a Shoot is; none: nobody's that we know.
    pub fn namespace_of(&self, shoot: &OwnedShoot) -> Option<&str> {
        let uid = shoot.cluster.as_ref().or(shoot.request.as_ref())?;
        self.namespaces.get(uid).map(String::as_str)
    }

    /// The name and the namespace of the Shoot with this UID.
    fn owner_of(&self, uid: &str) -> Option<(&String, &str)> {
        let (name, shoot) = self.shoots.iter().find(|(_, shoot)| shoot.uid == uid)?;
        Some((name, self.namespace_of(shoot)?))
    }

    fn has(&self, namespace: &str, tenant: &Tenant) -> bool {
        self.tenants.get(namespace).is_some_and(|tenants| tenants.contains(tenant))
    }

    /// Accounts and places in queues are of tenants that the namespace of the request has.
    pub fn ledger(&self, books: &Books) -> Vec<IsolationViolation> {
        let of = |request: &RequestUid| self.namespaces.get(request.as_str()).cloned();
        let mut found = Vec::new();
        for seat in &books.seats {
            if let (Some(namespace), Some(tenant)) = (of(&seat.request), &seat.tenant)
                && !self.has(&namespace, tenant)
            {
                let (request, tenant) = (seat.request.clone(), tenant.clone());
                found.push(IsolationViolation::AccountOfAnother(request, namespace, tenant));
            }
        }
        for request in &books.waiting {
            if let (Some(namespace), Some(tenant)) = (of(request), self.claims.get(request))
                && !self.has(&namespace, tenant)
            {
                let (request, tenant) = (request.clone(), tenant.clone());
                found.push(IsolationViolation::QueuedForAnother(request, namespace, tenant));
            }
        }
        found
    }

    /// What is wrong with a Shoot as we wrote it. `self` still has it as it was before.
    pub fn shoot_write(&self, name: &str, after: &OwnedShoot, books: &Books) -> Vec<IsolationViolation> {
        let mut found = Vec::new();
        let before = self.shoots.get(name).filter(|before| before.uid == after.uid);
        let Some(namespace) = self.namespace_of(after) else { return found };
        if let Some(owner) = before.and_then(|before| self.namespace_of(before))
            && owner != namespace
        {
            let (from, to) = (owner.to_owned(), namespace.to_owned());
            found.push(IsolationViolation::ShootTaken(name.to_owned(), from, to));
        }
        let held = books.accounts.iter().find(|held| Some(&held.account) == after.account.as_ref());
        if let Some((held, holder)) = held.and_then(|held| Some((held, held.holding.tenant()?)))
            && !held.pool.shared
            && !self.has(namespace, holder)
        {
            found.push(IsolationViolation::ShootInAccountOfAnother(
                name.to_owned(),
                namespace.to_owned(),
                held.account.clone(),
                holder.clone(),
            ));
        }
        let is_anothers = |reference: &&String| {
            self.belongings.get(*reference).is_some_and(|owner| owner.as_str() != namespace)
        };
        found.extend(after.references.iter().filter(is_anothers).map(|reference| {
            let (shoot, namespace) = (name.to_owned(), namespace.to_owned());
            IsolationViolation::RefersToAnothers(shoot, namespace, reference.clone())
        }));
        found
    }

    /// What is wrong with something that a KubeconfigRequest, by its UID, has inside a Shoot, by its UID. `role_namespace` is
    /// where a Role is.
    pub fn grant(
        &self,
        shoot: &str,
        request: &str,
        role_namespace: Option<&str>,
    ) -> Option<IsolationViolation> {
        let (name, owner) = self.owner_of(shoot)?;
        let asker = self.namespaces.get(request)?;
        if asker != owner {
            let shoot = name.clone();
            return Some(IsolationViolation::GrantInAnothers(shoot, owner.to_owned(), asker.clone()));
        }
        let protected = role_namespace.filter(|namespace| is_protected(namespace))?;
        Some(IsolationViolation::RoleInProtectedNamespace(name.clone(), protected.to_owned()))
    }

    /// What is wrong with a user who is an administrator of a Shoot, by its UID.
    pub fn administrator(&self, shoot: &str, user: &str) -> Option<IsolationViolation> {
        let (name, owner) = self.owner_of(shoot)?;
        let theirs = self.belongings.get(user)?;
        (theirs.as_str() != owner)
            .then(|| IsolationViolation::AdministratorOfAnothers(name.clone(), user.to_owned()))
    }

    /// The Shoot that refers to a ConfigMap, which was deleted.
    pub fn map_deleted(&self, map: &str) -> Option<IsolationViolation> {
        let user = self.shoots.iter().find(|(_, shoot)| shoot.references.contains(map));
        user.map(|(name, _)| IsolationViolation::MapInUseDeleted(map.to_owned(), name.clone()))
    }
}

/// Said here once more, and not with the policy's own words: an oracle that asks the code under test finds nothing.
fn is_protected(namespace: &str) -> bool {
    namespace.starts_with("kube-") || namespace == "allotment-access"
}

impl fmt::Display for IsolationViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AccountOfAnother(request, namespace, tenant) => {
                write!(f, "request {request} of namespace {namespace} has an account of tenant {tenant}")
            }
            Self::QueuedForAnother(request, namespace, tenant) => {
                write!(f, "request {request} of namespace {namespace} is in the queue of tenant {tenant}")
            }
            Self::ShootTaken(shoot, from, to) => {
                write!(f, "Shoot {shoot} of namespace {from} was given to namespace {to}")
            }
            Self::ShootInAccountOfAnother(shoot, namespace, account, tenant) => write!(
                f,
                "Shoot {shoot} of namespace {namespace} is in account {account}, which tenant {tenant} holds"
            ),
            Self::RefersToAnothers(shoot, namespace, reference) => write!(
                f,
                "Shoot {shoot} of namespace {namespace} refers to {reference}, which belongs to another"
            ),
            Self::GrantInAnothers(shoot, owner, asker) => write!(
                f,
                "Shoot {shoot} of namespace {owner} holds something of a request of namespace {asker}"
            ),
            Self::AdministratorOfAnothers(shoot, user) => {
                write!(f, "{user} is an administrator of Shoot {shoot}, which belongs to another namespace")
            }
            Self::RoleInProtectedNamespace(shoot, namespace) => {
                write!(f, "a request has a Role in namespace {namespace} of Shoot {shoot}")
            }
            Self::SecretRead(path) => write!(f, "an operator read {path}, for which nobody asked"),
            Self::MapInUseDeleted(map, shoot) => {
                write!(f, "ConfigMap {map} was deleted, and Shoot {shoot} refers to it")
            }
            Self::LockedButGranted(request, what) => {
                write!(f, "request {request} is locked, and {what}")
            }
        }
    }
}
