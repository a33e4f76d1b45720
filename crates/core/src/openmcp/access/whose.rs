//! Whose an object inside a cluster is.

use super::{OPENID_CONNECT, Provider};
use crate::openmcp::names::{hash8, label_value};
use allotment_api::openmcp::gardener::names::label;
use std::collections::BTreeMap;

/// What finds everything of a request, and what a request of the same name has there from another environment or provider.
pub fn selector(namespace: &str, name: &str) -> String {
    [(label::MANAGED_BY_NAME, name), (label::MANAGED_BY_NAMESPACE, namespace)]
        .map(|(key, value)| format!("{key}={}", label_value(value)))
        .join(",")
}

/// An object that the selector found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// Its namespace.
    pub namespace: Option<&'a str>,
    /// Its name.
    pub name: &'a str,
    /// Its labels.
    pub labels: &'a BTreeMap<String, String>,
    /// Of a binding: the names of its ServiceAccounts.
    pub accounts: Vec<&'a str>,
}

/// Which of these are the request's own. Ours say so in their labels. Upstream's provider does not write down the environment
/// and itself: what it made is known by the hash, in names or in what a binding binds, since that is made of both.
pub fn own(provider: &Provider<'_>, namespace: &str, name: &str, found: &[Found<'_>]) -> Vec<bool> {
    let hash = hash8(&[provider.environment, provider.name, namespace, name]);
    let is_bound = |found: &Found<'_>| found.name.contains(&hash) || found.accounts.contains(&hash.as_str());
    let has_issuer = found.iter().any(|one| one.kind == OPENID_CONNECT && one.name == hash);
    let is_tied = |one: &Found<'_>| match one.kind {
        "Role" | "ClusterRole" => {
            let binding = format!("{}Binding", one.kind);
            let binds = |other: &&Found<'_>| {
                other.kind == binding && (other.namespace, other.name) == (one.namespace, one.name)
            };
            is_bound(one) || has_issuer || found.iter().find(binds).is_some_and(is_bound)
        }
        _ => is_bound(one),
    };
    let is_own = |one: &Found<'_>| {
        let label = |key: &str| one.labels.get(key);
        match (label(label::ENVIRONMENT), label(label::PROVIDER_NAME)) {
            (None, None) => is_tied(one),
            (environment, name) => {
                environment == Some(&label_value(provider.environment))
                    && name == Some(&label_value(provider.name))
            }
        }
    };
    found.iter().map(is_own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openmcp::access::Prefixes;

    const PROVIDER: Provider<'static> =
        Provider { environment: "prod", name: "gardener", namespace: "x", prefixes: Prefixes::WithColon };

    fn labels(environment: Option<&str>, provider: Option<&str>) -> BTreeMap<String, String> {
        let pairs = [(label::ENVIRONMENT, environment), (label::PROVIDER_NAME, provider)];
        pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect()
    }

    fn one<'a>(kind: &'a str, name: &'a str, labels: &'a BTreeMap<String, String>) -> Found<'a> {
        Found { kind, namespace: None, name, labels, accounts: Vec::new() }
    }

    #[test]
    fn g6_labels_tell_environments_and_providers_apart() {
        for (environment, provider, expected) in [
            (Some("prod"), Some("gardener"), true),
            (Some("dev"), Some("gardener"), false),
            (Some("prod"), Some("other"), false),
            (Some("prod"), None, false),
        ] {
            let labels = labels(environment, provider);
            let found = [one("ClusterRole", "r", &labels)];
            assert_eq!(own(&PROVIDER, "n", "a", &found), [expected], "{environment:?} {provider:?}");
        }
    }

    #[test]
    fn g6_what_upstream_made_is_ours_only_by_its_hash() {
        let (none, hash) = (labels(None, None), hash8(&["prod", "gardener", "n", "a"]));
        let other = hash8(&["dev", "gardener", "n", "a"]);
        let (account, others) =
            (format!("openmcp:permission:{hash}:0"), format!("openmcp:permission:{other}:0"));
        let mut binding = one("ClusterRoleBinding", "own", &none);
        binding.accounts = vec![&hash];
        let mut theirs = one("ClusterRoleBinding", "theirs", &none);
        theirs.accounts = vec![&other];
        let found = [
            one("ServiceAccount", &hash, &none),
            one("ServiceAccount", &other, &none),
            one("ClusterRole", &account, &none),
            one("ClusterRole", &others, &none),
            one("ClusterRole", "own", &none),
            binding,
            one("ClusterRole", "theirs", &none),
            theirs,
        ];
        let expected = [true, false, true, false, true, true, false, false];
        assert_eq!(own(&PROVIDER, "n", "a", &found), expected);
        // Roles of a login are bound under other names.
        let found = [one(OPENID_CONNECT, &hash, &none), one("ClusterRole", "own", &none)];
        assert_eq!(own(&PROVIDER, "n", "a", &found), [true, true]);
    }
}
