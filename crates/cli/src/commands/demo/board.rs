//! What there is, and what has just become of it: one line for each account, request, cluster and kubeconfig.

use allotment_api::{
    gardener::CredentialsBinding,
    kyma::{
        Cluster, ClusterPhase, KubeconfigPhase, KubeconfigRequest, SubscriptionPhase, SubscriptionRequest,
    },
    names::{annotation, pool},
};
use allotment_garden::landscape::Landscape;
use futures::{Stream, StreamExt, stream::SelectAll};
use kube::{
    Api, Resource, ResourceExt,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    pin::Pin,
};

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Account,
    Request,
    Cluster,
    Kubeconfig,
}

impl Section {
    pub(super) const ALL: [Self; 4] = [Self::Account, Self::Request, Self::Cluster, Self::Kubeconfig];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Request => "request",
            Self::Cluster => "cluster",
            Self::Kubeconfig => "kubeconfig",
        }
    }
}

/// Something is so now, or is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    pub(super) section: Section,
    pub(super) name: String,
    pub(super) state: Option<String>,
}

/// Everything that is known.
#[derive(Debug, Default)]
pub(super) struct Board {
    rows: BTreeMap<(Section, String), String>,
}

impl Board {
    /// Notes how something is, and says so if that is new.
    pub(super) fn see(&mut self, sighting: Sighting) -> Option<String> {
        let Sighting { section, name, state } = sighting;
        let key = (section, name);
        let before = self.rows.get(&key);
        if before == state.as_ref() {
            return None;
        }
        let what = format!("{} {}", section.name(), key.1);
        match state {
            Some(state) => {
                let told = format!("{what}: {state}");
                self.rows.insert(key, state);
                Some(told)
            }
            None => {
                self.rows.remove(&key);
                Some(format!("{what}: gone"))
            }
        }
    }

    /// The lines of a section.
    pub(super) fn rows(&self, section: Section) -> impl Iterator<Item = (&str, &str)> {
        let rows = self.rows.iter().filter(move |((of, _), _)| *of == section);
        rows.map(|((_, name), state)| (name.as_str(), state.as_str()))
    }
}

/// Everything that is seen from now on, of all sections. What is there at the start comes at once: half of a pool is no picture of it.
pub(super) fn sightings(
    landscape: &Landscape,
    garden_namespace: &str,
) -> impl Stream<Item = Vec<Sighting>> + use<> {
    let (garden, control_plane) = (&landscape.garden, &landscape.control_plane);
    let mut all = SelectAll::new();
    let accounts = Api::namespaced(garden.clone(), garden_namespace);
    all.push(follow(accounts, Section::Account, account));
    all.push(follow(Api::all(control_plane.clone()), Section::Request, request));
    all.push(follow(Api::all(control_plane.clone()), Section::Cluster, cluster));
    all.push(follow(Api::all(control_plane.clone()), Section::Kubeconfig, kubeconfig));
    all
}

fn follow<K>(
    api: Api<K>,
    section: Section,
    state: fn(&K) -> String,
) -> Pin<Box<dyn Stream<Item = Vec<Sighting>> + Send>>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let sighting =
        move |object: &K, state: Option<String>| Sighting { section, name: object.name_any(), state };
    let mut known = BTreeSet::new();
    let mut listed = BTreeMap::new();
    let seen = watcher(api, watcher::Config::default()).default_backoff().map(move |event| match event {
        Ok(Event::Init) => {
            listed.clear();
            Vec::new()
        }
        Ok(Event::InitApply(object)) => {
            listed.insert(object.name_any(), sighting(&object, Some(state(&object))));
            Vec::new()
        }
        Ok(Event::InitDone) => {
            let there = std::mem::take(&mut listed);
            let before = std::mem::replace(&mut known, there.keys().cloned().collect());
            let gone = before.into_iter().filter(|name| !there.contains_key(name));
            let gone: Vec<_> = gone.map(|name| Sighting { section, name, state: None }).collect();
            there.into_values().chain(gone).collect()
        }
        Ok(Event::Apply(object)) => {
            known.insert(object.name_any());
            vec![sighting(&object, Some(state(&object)))]
        }
        Ok(Event::Delete(object)) => {
            known.remove(&object.name_any());
            vec![sighting(&object, None)]
        }
        // It is tried again.
        Err(_) => Vec::new(),
    });
    Box::pin(seen.filter(|seen: &Vec<Sighting>| std::future::ready(!seen.is_empty())))
}

/// What is said of an account that anybody may have.
const FREE: &str = "free";

/// The word under which an account is counted, by what is said of it.
pub(super) fn group(state: &str) -> &'static str {
    match state {
        FREE => FREE,
        "shared" => "shared",
        "internal" => "internal",
        state if state.starts_with("dirty") => "dirty",
        state if state.starts_with("in quarantine") => "in quarantine",
        _ => "of tenants",
    }
}

fn account(binding: &CredentialsBinding) -> String {
    let label = |key: &str| binding.labels().get(key).map(String::as_str);
    if let Some(why) = binding.annotations().get(annotation::QUARANTINE) {
        return format!("in quarantine, {why}");
    }
    let is = |key| label(key) == Some("true");
    match (label(pool::TENANT_NAME), is(pool::DIRTY), is(pool::SHARED), is(pool::INTERNAL)) {
        (_, true, ..) => "dirty: to be cleaned before anybody gets it".to_owned(),
        (Some(tenant), ..) => format!("of tenant {tenant}"),
        (None, _, true, _) => "shared".to_owned(),
        (None, _, _, true) => "internal".to_owned(),
        _ => FREE.to_owned(),
    }
}

fn request(request: &SubscriptionRequest) -> String {
    let status = request.status.clone().unwrap_or_default();
    let account = status.gardener_secret_name.unwrap_or_default();
    match status.phase {
        Some(SubscriptionPhase::Bound) => format!("has account {account}"),
        Some(SubscriptionPhase::Waiting) => match status.queue_position {
            Some(position) => format!("waits for an account, place {position} in the queue"),
            None => "waits for an account".to_owned(),
        },
        Some(SubscriptionPhase::Releasing) => format!("gives account {account} back"),
        Some(SubscriptionPhase::Denied) => "denied".to_owned(),
        Some(SubscriptionPhase::Pending) | None => "new".to_owned(),
    }
}

fn cluster(cluster: &Cluster) -> String {
    let status = cluster.status.clone().unwrap_or_default();
    let Some(phase) = status.phase else { return "new".to_owned() };
    let account = status.subscription.and_then(|subscription| subscription.binding_name);
    let place = account.map(|account| format!(" in {account}")).unwrap_or_default();
    let under_way = matches!(phase, ClusterPhase::Creating | ClusterPhase::Updating | ClusterPhase::Deleting);
    match (status.progress.filter(|_| under_way), status.last_operation) {
        (Some(progress), Some(operation)) => {
            format!("{}{place}, {progress} %: {}", phase.as_str(), operation.description)
        }
        _ => format!("{}{place}", phase.as_str()),
    }
}

fn kubeconfig(request: &KubeconfigRequest) -> String {
    let status = request.status.clone().unwrap_or_default();
    match (status.phase, status.expiration_timestamp) {
        (Some(KubeconfigPhase::Issued), Some(end)) => format!("issued, until {}", end.0),
        (Some(phase), _) => phase.as_str().to_lowercase(),
        (None, _) => "new".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(name: &str, state: Option<&str>) -> Sighting {
        Sighting { section: Section::Cluster, name: name.to_owned(), state: state.map(str::to_owned) }
    }

    #[test]
    fn only_what_is_new_is_told() {
        let mut board = Board::default();
        assert_eq!(board.see(seen("a", None)), None);
        assert_eq!(board.see(seen("a", Some("Ready"))).as_deref(), Some("cluster a: Ready"));
        assert_eq!(board.see(seen("a", Some("Ready"))), None);
        assert_eq!(board.rows(Section::Cluster).collect::<Vec<_>>(), [("a", "Ready")]);
        assert_eq!(board.see(seen("a", None)).as_deref(), Some("cluster a: gone"));
        assert_eq!(board.rows(Section::Cluster).count(), 0);
    }

    #[test]
    fn an_account_is_what_its_labels_say() {
        let binding = |labels: &str, annotations: &str| -> CredentialsBinding {
            serde_saphyr::from_str(&format!(
                "{{apiVersion: security.gardener.cloud/v1alpha1, kind: CredentialsBinding, metadata: {{name: a, labels: {labels}, annotations: {annotations}}}, provider: {{type: aws}}, credentialsRef: {{apiVersion: v1, kind: Secret, name: a, namespace: b}}}}"
            ))
            .unwrap()
        };
        assert_eq!(account(&binding("{hyperscalerType: aws}", "{}")), "free");
        assert_eq!(account(&binding("{tenantName: acme}", "{}")), "of tenant acme");
        assert!(account(&binding("{tenantName: acme, dirty: 'true'}", "{}")).starts_with("dirty"));
        assert!(account(&binding("{}", "{allotment.dev/quarantine: why}")).ends_with("why"));
    }
}
