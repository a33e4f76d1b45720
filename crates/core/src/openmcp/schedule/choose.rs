//! Which Cluster.

use super::{Candidate, Mapping, Scheduler, Scope, Strategy, TemplateMetadata};
use crate::openmcp::names::hash8;
use allotment_api::openmcp::{
    ClusterRequest, ClusterSpec, Tenancy,
    names::{METADATA_PREFIX, Reason, RequestPhase, label},
};
use std::collections::BTreeMap;

/// A Cluster to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCluster {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its spec.
    pub spec: ClusterSpec,
}

/// What a request gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice<'a> {
    /// This one: it has room, or the request has it already.
    Take(&'a Candidate),
    /// A new one.
    Make(Box<NewCluster>),
    /// None; why.
    Refuse {
        /// For how long: until something changes, or for ever.
        phase: RequestPhase,
        /// For machines.
        reason: Reason,
        /// For people.
        message: String,
    },
}

/// Decides. `lot` is a number that was drawn, for [`Strategy::Random`].
pub fn choose<'a>(
    config: &Scheduler,
    request: &ClusterRequest,
    clusters: &[&'a Candidate],
    lot: u64,
) -> Choice<'a> {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let (namespace, uid) = (part(&request.metadata.namespace), part(&request.metadata.uid));
    // What was taken before a crash is found by the finalizer.
    if let Some(own) = clusters.iter().find(|cluster| cluster.has_tenant(&uid)) {
        return Choice::Take(own);
    }
    let Some(mapping) = config.purpose_mappings.get(&request.spec.purpose) else {
        return unknown_purpose(config, &request.spec.purpose);
    };
    if mapping.template.spec.tenancy == Tenancy::Shared {
        let has_room = |cluster: &&&Candidate| {
            let tenants = cluster.tenants().len() as u64;
            mapping.tenancy_count == 0 || tenants < u64::from(mapping.tenancy_count)
        };
        let fits = |cluster: &&&Candidate| {
            is_near(config, mapping, cluster, &namespace)
                && is_like_template(config, mapping, cluster, &request.spec.purpose)
        };
        let mut fitting: Vec<&'a Candidate> =
            clusters.iter().filter(fits).filter(has_room).copied().collect();
        fitting.sort_by_key(|cluster| (&cluster.namespace, &cluster.name));
        let chosen = match config.strategy {
            Strategy::Simple => fitting.first(),
            Strategy::Balanced => fitting.iter().min_by_key(|cluster| cluster.tenants().len()),
            Strategy::Random => {
                let count = fitting.len() as u64;
                let place = lot.checked_rem(count).and_then(|place| usize::try_from(place).ok());
                fitting.get(place.unwrap_or(0))
            }
        };
        if let Some(chosen) = chosen {
            return Choice::Take(chosen);
        }
    }
    let new = new(mapping, request, &namespace);
    let named = |name: &str| clusters.iter().find(|it| it.namespace == new.namespace && it.name == name);
    let Some(same) = named(&new.name) else { return Choice::Make(Box::new(new)) };
    if !is_like_template(config, mapping, same, &request.spec.purpose) {
        return conflict(same);
    }
    if same.tenants().is_empty() {
        // It was kept for this request, or for one of the same name before it.
        return Choice::Take(same);
    }
    // A request of the same name made it and went; others share it, and it is full.
    let other = name_by_uid(mapping, request);
    match named(&other) {
        None if same.tenancy == Tenancy::Shared => Choice::Make(Box::new(NewCluster { name: other, ..new })),
        _ => conflict(same),
    }
}

/// The Cluster that a request had, made anew: its name is in the status for ever.
pub(super) fn anew<'a>(
    config: &Scheduler,
    request: &ClusterRequest,
    namespace: &str,
    name: &str,
) -> Choice<'a> {
    let Some(mapping) = config.purpose_mappings.get(&request.spec.purpose) else {
        return unknown_purpose(config, &request.spec.purpose);
    };
    let of = request.metadata.namespace.clone().unwrap_or_default();
    let new = new(mapping, request, &of);
    Choice::Make(Box::new(NewCluster { namespace: namespace.to_owned(), name: name.to_owned(), ..new }))
}

/// Whether a Cluster is one that the purpose of a request has: a shared one like the template's, or the very one that would be
/// made for this request.
pub(super) fn is_made_for(config: &Scheduler, request: &ClusterRequest, cluster: &Candidate) -> bool {
    let purpose = &request.spec.purpose;
    config.purpose_mappings.get(purpose).is_some_and(|mapping| {
        let of = request.metadata.namespace.clone().unwrap_or_default();
        let is_shared = mapping.template.spec.tenancy == Tenancy::Shared;
        is_like_template(config, mapping, cluster, purpose)
            && (is_shared || cluster.name == new(mapping, request, &of).name)
    })
}

/// What goes from a request to the Cluster that is its alone.
pub(super) fn brought(all: Option<&BTreeMap<String, String>>) -> impl Iterator<Item = (&String, &String)> {
    all.into_iter().flatten().filter(|(key, _)| key.starts_with(METADATA_PREFIX))
}

fn unknown_purpose<'a>(config: &Scheduler, purpose: &str) -> Choice<'a> {
    let known: Vec<&str> = config.purpose_mappings.keys().map(String::as_str).collect();
    let message = format!("spec.purpose: nothing is configured for {purpose:?}; known: {}", known.join(", "));
    Choice::Refuse { phase: RequestPhase::Denied, reason: Reason::ConfigurationProblem, message }
}

pub(super) fn conflict<'a>(cluster: &Candidate) -> Choice<'a> {
    let Candidate { namespace, name, .. } = cluster;
    let what = if cluster.is_deleting {
        "is being deleted: it is waited for".to_owned()
    } else {
        format!("is there, with {} tenants, and is not for this request", cluster.tenants().len())
    };
    let message = format!("Cluster {namespace}/{name} {what}");
    Choice::Refuse { phase: RequestPhase::Pending, reason: Reason::ClusterConflict, message }
}

fn is_near(config: &Scheduler, mapping: &Mapping, cluster: &Candidate, namespace: &str) -> bool {
    let home = mapping.template.metadata.namespace.as_deref();
    match config.scope {
        Scope::Cluster => home.is_none_or(|home| cluster.namespace == home),
        Scope::Namespaced => cluster.namespace == home.unwrap_or(namespace),
    }
}

/// Whether a Cluster is one that the template would have made. The purpose alone does not tell: an exclusive Cluster of somebody
/// else may serve it too.
fn is_like_template(config: &Scheduler, mapping: &Mapping, cluster: &Candidate, purpose: &str) -> bool {
    let spec = &mapping.template.spec;
    !cluster.is_deleting
        && cluster.tenancy == spec.tenancy
        && cluster.profile == spec.profile
        && cluster.purposes.iter().any(|one| one == purpose)
        && config.selectors.clusters.and(&mapping.selector).matches(&cluster.labels)
}

fn name_begin(mapping: &Mapping, purpose: &str) -> String {
    mapping.template.metadata.generate_name.clone().unwrap_or_else(|| format!("{purpose}-"))
}

/// As random as the UID, and the same after a crash, so that no Cluster is made twice.
fn name_by_uid(mapping: &Mapping, request: &ClusterRequest) -> String {
    let uid = request.metadata.uid.as_deref().unwrap_or_default();
    format!("{}{}", name_begin(mapping, &request.spec.purpose), hash8(&[uid]))
}

fn new(mapping: &Mapping, request: &ClusterRequest, namespace: &str) -> NewCluster {
    let TemplateMetadata { name: fixed, generate_name, namespace: home, labels, annotations } =
        &mapping.template.metadata;
    let (metadata, purpose) = (&request.metadata, &request.spec.purpose);
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let is_shared_by_all = mapping.template.spec.tenancy == Tenancy::Shared && mapping.tenancy_count == 0;
    let is_random = metadata.labels.as_ref().and_then(|labels| labels.get(label::RANDOMIZE_CLUSTER_NAME));
    let name = if is_random.is_some_and(|value| value == "true") {
        name_by_uid(mapping, request)
    } else if is_shared_by_all && generate_name.is_none() {
        fixed.clone().unwrap_or_else(|| purpose.clone())
    } else {
        format!("{}{}", name_begin(mapping, purpose), hash8(&[namespace, &part(&metadata.name)]))
    };
    // Copies: what one tenant brings never reaches the next.
    let (mut labels, mut annotations) = (labels.clone(), annotations.clone());
    if mapping.template.spec.tenancy == Tenancy::Exclusive {
        let owned = |(key, value): (&String, &String)| (key.clone(), value.clone());
        labels.extend(brought(metadata.labels.as_ref()).map(owned));
        annotations.extend(brought(metadata.annotations.as_ref()).map(owned));
    }
    labels.entry(label::DELETE_WITHOUT_REQUESTS.to_owned()).or_insert_with(|| "true".to_owned());
    let mut spec = mapping.template.spec.clone();
    if !spec.purposes.contains(purpose) {
        spec.purposes.push(purpose.clone());
    }
    NewCluster {
        namespace: home.clone().unwrap_or_else(|| namespace.to_owned()),
        name,
        labels,
        annotations,
        spec,
    }
}
