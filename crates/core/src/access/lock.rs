//! Which access is locked: an AccessLock in the operator's namespace names it, and nobody else can lift that.
//!
//! A lock matches generously. One without a request covers whatever comes from its namespace, and whatever leads into a Cluster of it.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// What an AccessLock names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The namespace of requests and Clusters.
    pub namespace: String,
    /// Only this Cluster.
    pub cluster: Option<String>,
    /// Only this request, in that namespace. Administrators are not locked then.
    pub request: Option<String>,
}

/// Access that may be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A KubeconfigRequest or AccessRequest.
    Request {
        /// Its namespace.
        namespace: &'a str,
        /// Its name.
        name: &'a str,
        /// The namespace of its Cluster, if it is known.
        cluster_namespace: Option<&'a str>,
        /// Its Cluster.
        cluster: &'a str,
    },
    /// The administrators of a Cluster.
    Administrators {
        /// The namespace of the Cluster.
        namespace: &'a str,
        /// The Cluster.
        cluster: &'a str,
    },
}

impl Lock {
    /// The name of an AccessLock that names the same: locking twice makes one.
    pub fn object_name(&self) -> String {
        let Self { namespace, cluster, request } = self;
        let mut digest = Sha256::new();
        for part in [Some(namespace), cluster.as_ref(), request.as_ref()] {
            let part = part.map(String::as_str).unwrap_or_default();
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let hash: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("{namespace}-{hash}")
    }

    /// Whether it locks this.
    pub fn covers(&self, subject: &Subject<'_>) -> bool {
        let is_cluster = |name: &str| self.cluster.as_deref().is_none_or(|cluster| cluster == name);
        match (subject, &self.request) {
            (Subject::Request { namespace, name, cluster, .. }, Some(request)) => {
                self.namespace == *namespace && request == name && is_cluster(cluster)
            }
            (Subject::Request { namespace, cluster_namespace, cluster, .. }, None) => {
                (self.namespace == *namespace || Some(self.namespace.as_str()) == *cluster_namespace)
                    && is_cluster(cluster)
            }
            (Subject::Administrators { namespace, cluster }, None) => {
                self.namespace == *namespace && is_cluster(cluster)
            }
            (Subject::Administrators { .. }, Some(_)) => false,
        }
    }
}

/// All locks there are.
#[derive(Clone, Debug, Default)]
pub struct Locks {
    /// By the namespace that they name and by their own name: a resync asks once for each request.
    by_namespace: BTreeMap<String, BTreeMap<String, Lock>>,
    /// Which namespace each names.
    namespaces: BTreeMap<String, String>,
}

impl Locks {
    /// Adds or replaces the lock of this name; returns the one that it replaces.
    pub fn upsert(&mut self, name: &str, lock: Lock) -> Option<Lock> {
        let before = self.remove(name);
        self.namespaces.insert(name.to_owned(), lock.namespace.clone());
        self.by_namespace.entry(lock.namespace.clone()).or_default().insert(name.to_owned(), lock);
        before
    }

    /// Removes the lock of this name, and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Lock> {
        let namespace = self.namespaces.remove(name)?;
        let locks = self.by_namespace.get_mut(&namespace)?;
        let gone = locks.remove(name);
        if locks.is_empty() {
            self.by_namespace.remove(&namespace);
        }
        gone
    }

    /// Whether any of them locks this.
    pub fn cover(&self, subject: &Subject<'_>) -> bool {
        let (own, of_cluster) = match subject {
            Subject::Request { namespace, cluster_namespace, .. } => (*namespace, *cluster_namespace),
            Subject::Administrators { namespace, .. } => (*namespace, None),
        };
        let namespaces = [Some(own), of_cluster.filter(|namespace| *namespace != own)];
        let mut locks = namespaces
            .iter()
            .flatten()
            .filter_map(|it| self.by_namespace.get(*it))
            .flat_map(BTreeMap::values);
        locks.any(|lock| lock.covers(subject))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lock(namespace: &str, cluster: Option<&str>, request: Option<&str>) -> Lock {
        let own = |name: Option<&str>| name.map(str::to_owned);
        Lock { namespace: namespace.to_owned(), cluster: own(cluster), request: own(request) }
    }

    const REQUEST: Subject<'static> =
        Subject::Request { namespace: "a", name: "r", cluster_namespace: Some("b"), cluster: "c" };
    const ADMINISTRATORS: Subject<'static> = Subject::Administrators { namespace: "b", cluster: "c" };

    #[test]
    fn a_lock_covers_what_it_names() {
        for (lock, request, administrators) in [
            (lock("a", None, None), true, false),
            (lock("b", None, None), true, true),
            (lock("c", None, None), false, false),
            (lock("a", Some("c"), None), true, false),
            (lock("b", Some("c"), None), true, true),
            (lock("b", Some("d"), None), false, false),
            (lock("a", None, Some("r")), true, false),
            (lock("a", Some("c"), Some("r")), true, false),
            (lock("a", Some("d"), Some("r")), false, false),
            (lock("a", None, Some("s")), false, false),
            // A request of that name in another namespace is somebody else's.
            (lock("b", None, Some("r")), false, false),
        ] {
            assert_eq!(
                (lock.covers(&REQUEST), lock.covers(&ADMINISTRATORS)),
                (request, administrators),
                "{lock:?}"
            );
        }
    }

    #[test]
    fn a_request_without_a_cluster_is_locked_by_its_own_namespace() {
        let subject = Subject::Request { namespace: "a", name: "r", cluster_namespace: None, cluster: "c" };
        assert!(lock("a", Some("c"), None).covers(&subject));
        assert!(!lock("b", None, None).covers(&subject));
    }

    fn any_lock() -> impl Strategy<Value = (String, Lock)> {
        let some = |words: &'static [&'static str]| prop::option::of(prop::sample::select(words));
        (
            prop::sample::select(&["1", "2", "3"]),
            prop::sample::select(&["a", "b"]),
            some(&["c", "d"]),
            some(&["r", "s"]),
        )
            .prop_map(|(name, namespace, cluster, request)| {
                (name.to_owned(), lock(namespace, cluster, request))
            })
    }

    proptest! {
        /// Compared with a plain list of what is there.
        #[test]
        fn locks_are_those_that_were_added_and_not_removed(
            changes in prop::collection::vec((any_lock(), any::<bool>()), 0..12),
        ) {
            let (mut locks, mut twin) = (Locks::default(), BTreeMap::new());
            for ((name, lock), is_removal) in changes {
                if is_removal {
                    prop_assert_eq!(locks.remove(&name), twin.remove(&name));
                } else {
                    prop_assert_eq!(locks.upsert(&name, lock.clone()), twin.insert(name, lock));
                }
                for subject in [REQUEST, ADMINISTRATORS] {
                    prop_assert_eq!(locks.cover(&subject), twin.values().any(|lock| lock.covers(&subject)));
                }
            }
        }
    }
}
