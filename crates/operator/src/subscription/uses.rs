//! Which requests use which account, by their statuses.
//!
//! A status names the Secret of an account. Credentials of another kind are not in it: those are the ones of the entry
//! that it names, and stay the same when the entry goes.

use super::{
    Task,
    credentials::{Credential, credential},
    index::{Index, RequestName},
    learn::remove_from,
};
use allotment_api::{
    kyma::{BindingKind, SubscriptionPhase, SubscriptionRequest, SubscriptionRequestStatus},
    names::finalizer,
};
use allotment_core::pool::AccountName;
use kube::ResourceExt;
use std::collections::{BTreeMap, BTreeSet};

/// The account that a request has by its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    account: AccountName,
    /// None if the status does not tell, and the entry has not been seen.
    credential: Option<Credential>,
}

/// The account of each request.
#[derive(Debug, Default)]
pub(super) struct Uses {
    by_request: BTreeMap<RequestName, Use>,
    /// Requests whose credentials are not known until the entry is seen.
    unlocated: BTreeMap<AccountName, BTreeSet<RequestName>>,
}

impl Uses {
    fn set(&mut self, name: &RequestName, now: Option<Use>) -> Option<Use> {
        let before = match now {
            Some(Use { account, credential: None }) => {
                self.unlocated.entry(account.clone()).or_default().insert(name.clone());
                self.by_request.insert(name.clone(), Use { account, credential: None })
            }
            Some(now) => self.by_request.insert(name.clone(), now),
            None => self.by_request.remove(name),
        };
        let is_same = before.as_ref() == self.by_request.get(name);
        if let Some(Use { account, credential: None }) = before.as_ref().filter(|_| !is_same) {
            remove_from(&mut self.unlocated, account, name);
        }
        before
    }
}

impl Index {
    /// A request has this account now, or none.
    pub(super) fn learn_use(
        &mut self,
        name: &RequestName,
        request: Option<&SubscriptionRequest>,
    ) -> Vec<Task> {
        let now = request.and_then(|request| self.use_of(name, request));
        let before = self.uses.set(name, now.clone());
        if before == now {
            return Vec::new();
        }
        if let Some(credential) = before.as_ref().and_then(|before| before.credential.as_ref())
            && let Some(users) = self.used_by.get_mut(credential)
        {
            users.remove(name);
            if users.is_empty() {
                self.used_by.remove(credential);
            }
        }
        if let Some(Use { account, credential: Some(credential) }) = &now {
            self.used_by.entry(credential.clone()).or_default().insert(name.clone(), account.clone());
        }
        let credentials: BTreeSet<Credential> =
            [before, now].into_iter().flatten().filter_map(|it| it.credential).collect();
        credentials.iter().flat_map(|credential| self.relist_all(credential)).collect()
    }

    /// An entry was seen for the first time: requests that name it use its credentials.
    pub(super) fn learn_credential_of_users(&mut self, account: &AccountName, credential: &Credential) {
        for name in self.uses.unlocated.remove(account).unwrap_or_default() {
            let known = Use { account: account.clone(), credential: Some(credential.clone()) };
            self.uses.by_request.insert(name.clone(), known);
            self.used_by.entry(credential.clone()).or_default().insert(name, account.clone());
        }
    }

    /// The account that a request has by its status, and the credentials. A deleted request without our finalizer has given its
    /// account back; a tenant may keep it, with that status, by a finalizer of its own.
    fn use_of(&self, name: &RequestName, request: &SubscriptionRequest) -> Option<Use> {
        let is_deleted = request.metadata.deletion_timestamp.is_some();
        if is_deleted && !request.finalizers().iter().any(|name| name == finalizer::SUBSCRIPTION) {
            return None;
        }
        let status = request.status.as_ref()?;
        if !matches!(status.phase, Some(SubscriptionPhase::Bound | SubscriptionPhase::Releasing)) {
            return None;
        }
        let account = self.named_by(status)?;
        let credential = match &status.secret_ref {
            Some(secret) => Some(credential("Secret", &secret.namespace, &secret.name)),
            None => {
                let entry = self.entries.get(&account).map(|known| known.credential.clone());
                let before = self.uses.by_request.get(name).filter(|before| before.account == account);
                entry.or_else(|| before.and_then(|before| before.credential.clone()))
            }
        };
        Some(Use { account, credential })
    }

    fn named_by(&self, status: &SubscriptionRequestStatus) -> Option<AccountName> {
        let name = match self.kind {
            BindingKind::Secret => &status.secret_ref.as_ref()?.name,
            BindingKind::SecretBinding => {
                status.secret_ref.as_ref().and(status.gardener_secret_name.as_ref())?
            }
            BindingKind::CredentialsBinding => status.gardener_secret_name.as_ref()?,
        };
        Some(AccountName::new(name))
    }
}
