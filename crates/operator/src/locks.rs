//! AccessLocks of the operator's own namespace, kept from a watch by every operator that grants access.
//!
//! No operator grants anything before the locks have been listed once; a list that begins again removes none before it has ended.

use crate::runtime::kept::{Kept, Progress};
use allotment_api::allotment::{AccessLock, AccessLockSpec};
use allotment_core::access::lock::{Lock, Locks, Subject};
use kube::{Api, Client, ResourceExt, core::DeserializeGuard};

/// The locks there are.
#[derive(Debug, Default)]
pub(crate) struct LockStore {
    kept: Kept<String, Lock>,
    locks: Locks,
}

impl LockStore {
    /// Where they are: locks of other namespaces do nothing.
    pub(crate) fn source(client: &Client, own_namespace: &str) -> Api<DeserializeGuard<AccessLock>> {
        Api::namespaced(client.clone(), own_namespace)
    }

    /// Whether any of them locks this.
    pub(crate) fn cover(&self, subject: &Subject<'_>) -> bool {
        self.locks.cover(subject)
    }

    /// Whether they have been listed once.
    pub(crate) fn is_listed(&self) -> bool {
        self.kept.is_listed()
    }

    pub(crate) fn progress(&mut self) -> &mut dyn Progress {
        &mut self.kept
    }

    /// Adds or replaces a lock; returns whether something is locked otherwise now.
    pub(crate) fn upsert(&mut self, lock: AccessLock) -> bool {
        let name = lock.name_any();
        let AccessLockSpec { namespace, cluster, request, reason: _ } = lock.spec;
        let lock = Lock { namespace, cluster, request };
        self.kept.insert(name.clone(), lock.clone());
        let before = self.locks.upsert(&name, lock.clone());
        let is_changed = before.as_ref() != Some(&lock);
        if is_changed {
            tracing::info!(lock = name, namespace = lock.namespace, cluster = ?lock.cluster, request = ?lock.request, "access is locked");
        }
        is_changed
    }

    /// Removes a lock; returns whether something is locked otherwise now.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        self.kept.remove(&name.to_owned());
        let is_gone = self.locks.remove(name).is_some();
        if is_gone {
            tracing::info!(lock = name, "access is no longer locked");
        }
        is_gone
    }

    /// A list has ended: locks that it did not name are gone. Returns whether something is locked otherwise now.
    pub(crate) fn listed(&mut self) -> bool {
        let gone = self.kept.missing();
        // All of them: the first that was a lock does not end it.
        gone.iter().filter(|name| self.remove(name)).count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject<'static> = Subject::Administrators { namespace: "a", cluster: "c" };

    fn lock(name: &str, namespace: &str) -> AccessLock {
        AccessLock::new(name, AccessLockSpec { namespace: namespace.to_owned(), ..AccessLockSpec::default() })
    }

    #[test]
    fn a_list_that_begins_again_unlocks_nothing_before_its_end() {
        let mut store = LockStore::default();
        store.progress().restart();
        assert!(store.upsert(lock("one", "a")) && !store.is_listed());
        assert!(!store.listed() && store.is_listed());
        store.progress().restart();
        assert!(store.cover(&SUBJECT), "it may still be named");
        assert!(store.upsert(lock("two", "b")));
        assert!(store.listed() && !store.cover(&SUBJECT));
    }

    #[test]
    fn only_changes_are_worth_a_reconcile() {
        let mut store = LockStore::default();
        assert!(store.upsert(lock("one", "a")));
        assert!(!store.upsert(lock("one", "a")));
        assert!(store.upsert(lock("one", "b")) && !store.cover(&SUBJECT));
        assert!(store.remove("one") && !store.remove("one"));
    }
}
