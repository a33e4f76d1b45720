//! The lists beside ones that are made anew from everything, in another way, after each change.

use super::{
    super::{CredentialsKind, index::RequestName},
    *,
};
use allotment_api::{
    gardener::{CredentialsBinding, Shoot},
    kyma::{BindingKind, SubscriptionRequest},
};
use allotment_core::pool::LabelKeys;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Change {
    Bind { name: u8, credential: u8, labels: usize, created: u8 },
    Unbind(u8),
    Grow { shoot: u8, binding: u8 },
    Fell(u8),
    Take(u8),
    Untake(u8),
}

/// Labels, and the rank of an entry that has them: 0 stands for its account before 1, and that before 2; 3 is no entry.
const LABELS: [(&str, u8); 8] = [
    (r#"{ "hyperscalerType": "aws" }"#, 2),
    (r#"{ "hyperscalerType": "aws", "shared": "true" }"#, 1),
    (r#"{ "hyperscalerType": "aws", "tenantName": "t" }"#, 0),
    (r#"{ "hyperscalerType": "aws", "tenantName": "u" }"#, 0),
    (r#"{ "hyperscalerType": "aws", "dirty": "true" }"#, 0),
    (r#"{ "hyperscalerType": "aws", "internal": "true" }"#, 0),
    (r#"{ "tenantName": "t" }"#, 0),
    ("{}", 3),
];

fn changes() -> impl Strategy<Value = Change> {
    let bind = (0..4_u8, 0..3_u8, 0..LABELS.len(), 0..3_u8)
        .prop_map(|(name, credential, labels, created)| Change::Bind { name, credential, labels, created });
    prop_oneof![
        5 => bind,
        1 => (0..4_u8).prop_map(Change::Unbind),
        2 => (0..3_u8, 0..4_u8).prop_map(|(shoot, binding)| Change::Grow { shoot, binding }),
        2 => (0..3_u8).prop_map(Change::Fell),
        1 => (0..4_u8).prop_map(Change::Take),
        1 => (0..4_u8).prop_map(Change::Untake),
    ]
}

/// Everything that there is, as plain lists.
#[derive(Default)]
struct Naive {
    bindings: BTreeMap<u8, (u8, usize, u8)>,
    shoots: BTreeMap<u8, u8>,
    taken: BTreeSet<u8>,
}

impl Naive {
    fn change(&mut self, change: &Change) {
        match *change {
            Change::Bind { name, credential, labels, created } => {
                self.bindings.insert(name, (credential, labels, created));
                if LABELS[labels].0.contains("tenantName") || LABELS[labels].0.contains("dirty") {
                    self.taken.remove(&name);
                }
            }
            Change::Unbind(name) => {
                self.bindings.remove(&name);
                self.taken.remove(&name);
            }
            Change::Grow { shoot, binding } => {
                self.shoots.insert(shoot, binding);
            }
            Change::Fell(shoot) => {
                self.shoots.remove(&shoot);
            }
            Change::Take(name) => {
                self.taken.insert(name);
            }
            Change::Untake(name) => {
                self.taken.remove(&name);
            }
        }
    }

    fn rank(&self, name: u8) -> u8 {
        let labels = LABELS[self.bindings[&name].1];
        if self.taken.contains(&name) && labels.1 < 3 { 0 } else { labels.1 }
    }

    /// `free`, `shared`, or why it is neither.
    fn list_of(&self, name: u8) -> Option<String> {
        let (credential, labels, created) = self.bindings[&name];
        let by_label = LABELS[labels].1;
        if by_label != 1 && by_label != 2 {
            return None;
        }
        let twins =
            self.bindings.iter().filter(|(_, (other, ..))| *other == credential).map(|(twin, _)| *twin);
        let better = twins
            .filter(|twin| *twin != name && self.rank(*twin) < 3)
            .filter(|twin| {
                let age = |name: u8, created: u8| (self.rank(name), created, name);
                age(*twin, self.bindings[twin].2) < age(name, created)
            })
            .min_by_key(|twin| (self.rank(*twin), self.bindings[twin].2, *twin));
        if let Some(better) = better {
            return Some(format!("has the same credentials as b{better}"));
        }
        let is_in_it =
            |binding: &u8| self.bindings.get(binding).is_some_and(|(other, ..)| *other == credential);
        match self.shoots.values().filter(|binding| is_in_it(binding) || **binding == name).count() {
            0 => Some(if by_label == 1 { "shared" } else { "free" }.to_owned()),
            _ if by_label == 1 => Some("shared".to_owned()),
            1 => Some("has 1 Shoot in it".to_owned()),
            more => Some(format!("has {more} Shoots in it")),
        }
    }

    fn lists(&self) -> BTreeMap<String, String> {
        self.bindings.keys().filter_map(|name| Some((format!("b{name}"), self.list_of(*name)?))).collect()
    }
}

fn binding(change: &Change, version: usize) -> Option<CredentialsBinding> {
    let Change::Bind { name, credential, labels, created } = change else { return None };
    let labels: Value = serde_json::from_str(LABELS[*labels].0).unwrap();
    let binding = json!({
        "apiVersion": "security.gardener.cloud/v1alpha1",
        "kind": "CredentialsBinding",
        "metadata": {
            "name": format!("b{name}"), "namespace": "garden", "uid": format!("b{name}"), "labels": labels,
            "resourceVersion": version.to_string(), "creationTimestamp": format!("2026-11-15T12:00:0{created}Z"),
        },
        "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": format!("c{credential}"), "namespace": "garden" },
    });
    Some(serde_json::from_value(binding).unwrap())
}

fn shoot(name: u8, binding: u8) -> Shoot {
    let text = include_str!("../../../../../landscape/manifests/shoots/aws.yaml");
    let mut shoot: Value = serde_saphyr::from_str(text).unwrap();
    shoot["metadata"] = json!({ "name": format!("s{name}"), "namespace": "garden" });
    shoot["spec"]["credentialsBindingName"] = json!(format!("b{binding}"));
    serde_json::from_value(shoot).unwrap()
}

fn apply(index: &mut Index, change: &Change, version: usize) -> Vec<Task> {
    let account = |name: u8| AccountName::new(format!("b{name}"));
    match *change {
        Change::Bind { .. } => index.learn_credentials_binding(&binding(change, version).unwrap()),
        Change::Unbind(name) => index.forget_binding(BindingRef::Credentials(format!("b{name}"))),
        Change::Grow { shoot: name, binding } => index.learn_shoot(&shoot(name, binding)),
        Change::Fell(name) => index.forget_shoot(&format!("s{name}")),
        Change::Take(name) => {
            index.take(&account(name));
            Vec::new()
        }
        Change::Untake(name) => {
            index.untake(&account(name));
            Vec::new()
        }
    }
}

fn lists(index: &Index) -> BTreeMap<String, String> {
    let listed = |lists: &BTreeMap<PoolKey, BTreeSet<AccountName>>, word: &'static str| {
        let names: Vec<AccountName> = lists.values().flatten().cloned().collect();
        names.into_iter().map(move |account| (account.to_string(), word.to_owned()))
    };
    let occupied = index.occupied().map(|(account, why)| (account.to_string(), why.to_string()));
    let all: Vec<(String, String)> =
        listed(&index.free, "free").chain(listed(&index.shared, "shared")).chain(occupied).collect();
    let map: BTreeMap<String, String> = all.iter().cloned().collect();
    assert_eq!(map.len(), all.len(), "an account is in one list: {all:?}");
    map
}

proptest! {
    #[test]
    fn the_lists_are_those_that_everything_makes(changes in prop::collection::vec(changes(), 1..40)) {
        let mut index = Index::new(BindingKind::CredentialsBinding, LabelKeys::default());
        let mut naive = Naive::default();
        for (version, change) in changes.iter().enumerate() {
            let before = lists(&index);
            let tasks = apply(&mut index, change, version + 1);
            naive.change(change);
            let after = lists(&index);
            prop_assert_eq!(&after, &naive.lists(), "after {:?}", change);
            // Whatever has become free wakes those who wait for its pool.
            let is_new = after.iter().any(|(name, list)| list == "free" && before.get(name) != Some(list));
            let wakes = tasks.iter().any(|task| matches!(task, Task::Pool(_)));
            prop_assert!(!is_new || wakes || matches!(change, Change::Take(_) | Change::Untake(_)), "{:?}", tasks);
        }
    }
}

/// Kinds of credentials: their group, and whether the status of a request names them.
const KINDS: [(&str, &str, bool); 3] = [
    ("v1", "Secret", true),
    ("core.gardener.cloud/v1beta1", "InternalSecret", false),
    ("security.gardener.cloud/v1alpha1", "WorkloadIdentity", false),
];

fn bound_to(kind: (&str, &str, bool), name: &str, labels: &str) -> CredentialsBinding {
    let (api_version, kind, _) = kind;
    serde_json::from_value(json!({
        "metadata": { "name": name, "namespace": "garden-p", "uid": name, "resourceVersion": "1",
            "labels": serde_json::from_str::<Value>(labels).unwrap() },
        "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": api_version, "kind": kind, "namespace": "garden-p", "name": "s" },
    }))
    .unwrap()
}

fn request(kind: (&str, &str, bool), metadata: Value, phase: &str) -> SubscriptionRequest {
    let secret = kind.2.then(|| json!({ "name": "s", "namespace": "garden-p" }));
    serde_json::from_value(json!({
        "metadata": metadata,
        "spec": { "provider": "aws", "subscriptionSelector": "t" },
        "status": { "phase": phase, "gardenerSecretName": "first", "bindingKind": "CredentialsBinding", "secretRef": secret },
    }))
    .unwrap()
}

fn metadata(version: u32) -> Value {
    json!({ "name": "r", "namespace": "n", "uid": "r", "resourceVersion": version.to_string() })
}

fn name() -> RequestName {
    RequestName { namespace: "n".to_owned(), name: "r".to_owned() }
}

#[test]
fn credentials_are_in_use_when_their_entry_is_gone() {
    for kind in KINDS {
        let mut index = Index::new(BindingKind::CredentialsBinding, LabelKeys::default());
        let (first, second) = (AccountName::new("first"), AccountName::new("second"));
        let _ = index.learn_credentials_binding(&bound_to(kind, "first", LABELS[0].0));
        let _ = index.learn_request(request(kind, metadata(1), "Bound"));
        assert_eq!(index.why_occupied(&first), Some(&Occupied::Requests(1)), "though its labels say nothing");
        let _ = index.learn_credentials_binding(&bound_to(kind, "first", LABELS[2].0));
        let _ = index.learn_credentials_binding(&bound_to(kind, "second", LABELS[0].0));
        assert_eq!(index.why_occupied(&second), Some(&Occupied::SameCredentials(first.clone())));
        let _ = index.forget_binding(BindingRef::Credentials("first".to_owned()));
        assert_eq!(index.why_occupied(&second), Some(&Occupied::EntryGone(first.clone())));
        assert_eq!(index.in_the_way_of_a_claim(&second), Some(Occupied::EntryGone(first.clone())));
        let _ = index.learn_request(request(kind, metadata(2), "Releasing"));
        assert_eq!(
            index.why_occupied(&second),
            Some(&Occupied::EntryGone(first)),
            "it is not given back yet"
        );
        // Whoever keeps a released request by a finalizer of its own keeps no account.
        let kept = json!({ "name": "kept", "namespace": "n", "uid": "kept", "resourceVersion": "1",
            "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["tenant.example.com/own"] });
        let _ = index.learn_request(request(kind, kept, "Releasing"));
        let tasks = index.forget_request(&name());
        assert!(index.why_occupied(&second).is_none() && index.is_listed_as_free(&second));
        assert!(tasks.iter().any(|task| matches!(task, Task::Pool(_))), "who waits is told: {tasks:?}");
    }
}

#[test]
fn a_request_that_is_seen_before_its_entry_occupies_it() {
    for kind in KINDS {
        let mut index = Index::new(BindingKind::CredentialsBinding, LabelKeys::default());
        let first = AccountName::new("first");
        let _ = index.learn_request(request(kind, metadata(1), "Bound"));
        let _ = index.learn_credentials_binding(&bound_to(kind, "first", LABELS[0].0));
        assert_eq!(index.why_occupied(&first), Some(&Occupied::Requests(1)), "{kind:?}");
        let tasks = index.forget_request(&name());
        assert!(index.is_listed_as_free(&first), "{kind:?}");
        assert!(tasks.iter().any(|task| matches!(task, Task::Pool(_))), "who waits is told: {tasks:?}");
        // One that is gone before its entry is seen leaves nothing.
        let _ = index.forget_binding(BindingRef::Credentials("first".to_owned()));
        let _ = index.learn_request(request(kind, metadata(1), "Bound"));
        let _ = index.forget_request(&name());
        let _ = index.learn_credentials_binding(&bound_to(kind, "first", LABELS[0].0));
        assert!(index.is_listed_as_free(&first), "{kind:?}");
    }
}

#[test]
fn credentials_of_two_kinds_with_one_name_are_two_accounts() {
    let mut index = Index::new(BindingKind::CredentialsBinding, LabelKeys::default());
    let [secret, _, identity] = KINDS;
    let _ = index.learn_credentials_binding(&bound_to(secret, "first", LABELS[2].0));
    let _ = index.learn_credentials_binding(&bound_to(identity, "second", LABELS[0].0));
    let second = AccountName::new("second");
    assert!(index.twins_of(&second).is_empty() && index.is_listed_as_free(&second));
    let place = index.credentials_of(&second).unwrap();
    assert_eq!(place.to_string(), "WorkloadIdentity garden-p/s");
    assert_eq!((index.secret_of(&second), place.kind), (None, CredentialsKind::WorkloadIdentity));
}
