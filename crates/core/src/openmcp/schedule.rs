//! Which Cluster a ClusterRequest gets.

use super::names::hash8;
use allotment_api::openmcp::{
    Cluster, ClusterRequest, ClusterSpec, Tenancy,
    names::{METADATA_PREFIX, Reason, finalizer, label},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The `scheduler` section of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scheduler {
    /// Whether Clusters of other namespaces than the request's are looked at.
    pub scope: Scope,
    /// Which of several Clusters with room.
    pub strategy: Strategy,
    /// What a purpose gets.
    pub purpose_mappings: BTreeMap<String, Mapping>,
}

/// Where Clusters are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Scope {
    /// Everywhere.
    #[default]
    Cluster,
    /// In the namespace of the request.
    Namespaced,
}

/// Which of several Clusters with room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    /// The one with the fewest tenants.
    #[default]
    Balanced,
    /// Any: the lot that is drawn is given.
    Random,
    /// The first by name.
    Simple,
}

/// What a purpose gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mapping {
    /// How many requests share a Cluster; 0 means any number. For exclusive ones it is 0.
    #[serde(default)]
    pub tenancy_count: u32,
    /// Labels that a Cluster must have to be taken.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
    /// What new Clusters are like.
    pub template: Template,
}

/// What new Clusters are like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Template {
    /// Name, namespace, labels and annotations.
    #[serde(default)]
    pub metadata: TemplateMetadata,
    /// The spec.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub spec: ClusterSpec,
}

/// Name, namespace, labels and annotations of new Clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TemplateMetadata {
    /// The name, for a shared Cluster with any number of tenants.
    pub name: Option<String>,
    /// How names begin.
    pub generate_name: Option<String>,
    /// The namespace; that of the request where it is not set.
    pub namespace: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// A Cluster as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its purposes.
    pub purposes: Vec<String>,
    /// Its profile.
    pub profile: String,
    /// Whether several may have it.
    pub tenancy: Tenancy,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The UIDs of the requests that have it.
    pub tenants: BTreeSet<String>,
    /// Whether it goes away.
    pub is_deleting: bool,
}

impl Candidate {
    /// Reads one.
    pub fn of(cluster: &Cluster) -> Self {
        let metadata = &cluster.metadata;
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        let tenants = finalizers.iter().filter_map(|name| name.strip_prefix(finalizer::TENANT_PREFIX));
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            purposes: cluster.spec.purposes.clone(),
            profile: cluster.spec.profile.clone(),
            tenancy: cluster.spec.tenancy,
            labels: metadata.labels.clone().unwrap_or_default(),
            tenants: tenants.map(str::to_owned).collect(),
            is_deleting: metadata.deletion_timestamp.is_some(),
        }
    }
}

/// A Cluster to be made. Its name may be only the beginning of one.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCluster {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: Named,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its spec.
    pub spec: ClusterSpec,
}

/// A name, or how one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// This.
    Exactly(String),
    /// The server makes up the rest.
    Beginning(String),
}

/// What a request gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// This one: it has room, or the request has it already.
    Take {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A new one.
    Make(Box<NewCluster>),
    /// None; why.
    Refuse {
        /// For machines.
        reason: Reason,
        /// For people.
        message: String,
    },
}

/// Decides. `lot` is a number that was drawn, for [`Strategy::Random`].
pub fn choose(config: &Scheduler, request: &ClusterRequest, clusters: &[Candidate], lot: u64) -> Choice {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let metadata = &request.metadata;
    let (namespace, name, uid) = (part(&metadata.namespace), part(&metadata.name), part(&metadata.uid));
    let purpose = &request.spec.purpose;
    // What was taken before a crash is found by the finalizer.
    if let Some(own) = clusters.iter().find(|cluster| cluster.tenants.contains(&uid)) {
        return take(own);
    }
    let Some(mapping) = config.purpose_mappings.get(purpose) else {
        let known: Vec<&str> = config.purpose_mappings.keys().map(String::as_str).collect();
        let message =
            format!("spec.purpose: nothing is configured for {purpose:?}; known: {}", known.join(", "));
        return Choice::Refuse { reason: Reason::ConfigurationProblem, message };
    };
    let spec = &mapping.template.spec;
    if spec.tenancy == Tenancy::Shared {
        let has_room = |cluster: &&Candidate| {
            mapping.tenancy_count == 0 || (cluster.tenants.len() as u64) < u64::from(mapping.tenancy_count)
        };
        let mut fitting: Vec<&Candidate> = clusters
            .iter()
            .filter(|cluster| fits(config, mapping, cluster, &namespace, purpose))
            .filter(has_room)
            .collect();
        fitting.sort_by_key(|cluster| (&cluster.namespace, &cluster.name));
        let chosen = match config.strategy {
            Strategy::Simple => fitting.first(),
            Strategy::Balanced => fitting.iter().min_by_key(|cluster| cluster.tenants.len()),
            Strategy::Random => {
                let place = usize::try_from(lot).unwrap_or(0).checked_rem(fitting.len()).unwrap_or(0);
                fitting.get(place)
            }
        };
        if let Some(chosen) = chosen {
            return take(chosen);
        }
    }
    make(mapping, request, &namespace, &name, clusters)
}

fn take(cluster: &Candidate) -> Choice {
    Choice::Take { namespace: cluster.namespace.clone(), name: cluster.name.clone() }
}

/// Whether a Cluster is one that the template would have made. The purpose alone does not tell: an exclusive Cluster of somebody
/// else may serve it too.
fn fits(config: &Scheduler, mapping: &Mapping, cluster: &Candidate, namespace: &str, purpose: &str) -> bool {
    let template = &mapping.template;
    let home = template.metadata.namespace.as_deref();
    let is_near = match config.scope {
        Scope::Cluster => home.is_none_or(|home| cluster.namespace == home),
        Scope::Namespaced => cluster.namespace == home.unwrap_or(namespace),
    };
    is_near
        && !cluster.is_deleting
        && cluster.tenancy == Tenancy::Shared
        && cluster.profile == template.spec.profile
        && cluster.purposes.iter().any(|one| one == purpose)
        && mapping.match_labels.iter().all(|(key, value)| cluster.labels.get(key) == Some(value))
}

fn make(
    mapping: &Mapping,
    request: &ClusterRequest,
    namespace: &str,
    name: &str,
    clusters: &[Candidate],
) -> Choice {
    let TemplateMetadata { name: fixed, generate_name, namespace: home, labels, annotations } =
        &mapping.template.metadata;
    let purpose = &request.spec.purpose;
    let home = home.clone().unwrap_or_else(|| namespace.to_owned());
    let is_shared_by_all = mapping.template.spec.tenancy == Tenancy::Shared && mapping.tenancy_count == 0;
    let begin = generate_name.clone().unwrap_or_else(|| format!("{purpose}-"));
    let request_labels = request.metadata.labels.clone().unwrap_or_default();
    let is_random = request_labels.get(label::RANDOMIZE_CLUSTER_NAME).is_some_and(|value| value == "true");
    let named = match (is_random, is_shared_by_all, fixed) {
        (true, ..) => Named::Beginning(begin),
        (false, true, Some(fixed)) => Named::Exactly(fixed.clone()),
        (false, true, None) if generate_name.is_none() => Named::Exactly(purpose.clone()),
        _ => Named::Exactly(format!("{begin}{}", hash8(&[namespace, name]))),
    };
    if let Named::Exactly(taken) = &named
        && let Some(other) =
            clusters.iter().find(|cluster| cluster.namespace == home && cluster.name == *taken)
    {
        let message = format!(
            "Cluster {home}/{taken} is there already, with {} tenants, and does not fit",
            other.tenants.len()
        );
        return Choice::Refuse { reason: Reason::ClusterConflict, message };
    }
    // Copies: what one tenant brings never reaches the next.
    let (mut labels, mut annotations) = (labels.clone(), annotations.clone());
    if mapping.template.spec.tenancy == Tenancy::Exclusive {
        let brought = |all: BTreeMap<String, String>| {
            all.into_iter().filter(|(key, _)| key.starts_with(METADATA_PREFIX)).collect::<Vec<_>>()
        };
        labels.extend(brought(request_labels));
        annotations.extend(brought(request.metadata.annotations.clone().unwrap_or_default()));
    }
    labels.entry(label::DELETE_WITHOUT_REQUESTS.to_owned()).or_insert_with(|| "true".to_owned());
    let mut spec = mapping.template.spec.clone();
    if !spec.purposes.contains(purpose) {
        spec.purposes.push(purpose.clone());
    }
    Choice::Make(Box::new(NewCluster { namespace: home, name: named, labels, annotations, spec }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(tenancy: &str, count: u32, strategy: &str) -> Scheduler {
        serde_json::from_value(json!({
            "strategy": strategy,
            "purposeMappings": {"mcp": {
                "tenancyCount": count,
                "template": {"metadata": {"labels": {"l": "1"}}, "spec": {"profile": "p", "tenancy": tenancy}},
            }},
        }))
        .unwrap()
    }

    fn request(name: &str) -> ClusterRequest {
        serde_json::from_value(json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1",
            "kind": "ClusterRequest",
            "metadata": {"name": name, "namespace": "n", "uid": format!("u-{name}")},
            "spec": {"purpose": "mcp"},
        }))
        .unwrap()
    }

    fn cluster(name: &str, tenancy: Tenancy, tenants: &[&str]) -> Candidate {
        Candidate {
            namespace: "n".to_owned(),
            name: name.to_owned(),
            purposes: vec!["mcp".to_owned()],
            profile: "p".to_owned(),
            tenancy,
            labels: BTreeMap::new(),
            tenants: tenants.iter().map(|tenant| (*tenant).to_owned()).collect(),
            is_deleting: false,
        }
    }

    fn taken(choice: &Choice) -> Option<&str> {
        match choice {
            Choice::Take { name, .. } => Some(name),
            _ => None,
        }
    }

    fn made(choice: Choice) -> NewCluster {
        match choice {
            Choice::Make(new) => *new,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn shared_clusters_are_filled_by_the_strategy_up_to_their_limit() {
        let clusters = [
            cluster("b", Tenancy::Shared, &["1"]),
            cluster("a", Tenancy::Shared, &["1", "2"]),
            cluster("full", Tenancy::Shared, &["1", "2", "3"]),
        ];
        let request = request("r");
        for (strategy, lot, expected) in
            [("Balanced", 0, "b"), ("Simple", 0, "a"), ("Random", 0, "a"), ("Random", 1, "b")]
        {
            let choice = choose(&config("Shared", 3, strategy), &request, &clusters, lot);
            assert_eq!(taken(&choice), Some(expected), "{strategy} {lot}");
        }
        let new = made(choose(&config("Shared", 3, "Balanced"), &request, &clusters[2..], 0));
        assert_eq!(new.name, Named::Exactly(format!("mcp-{}", hash8(&["n", "r"]))));
        assert_eq!(new.labels.get(label::DELETE_WITHOUT_REQUESTS).map(String::as_str), Some("true"));
    }

    #[test]
    fn o4_only_what_the_template_would_have_made_is_taken() {
        let request = request("r");
        let mut deleting = cluster("d", Tenancy::Shared, &[]);
        deleting.is_deleting = true;
        let mut other = cluster("o", Tenancy::Shared, &[]);
        other.profile = "q".to_owned();
        let clusters = [cluster("e", Tenancy::Exclusive, &[]), deleting, other];
        assert!(matches!(choose(&config("Shared", 0, "Simple"), &request, &clusters, 0), Choice::Make(_)));
    }

    #[test]
    fn what_a_request_has_it_keeps() {
        let clusters = [cluster("x", Tenancy::Exclusive, &["u-r"])];
        assert_eq!(
            taken(&choose(&config("Exclusive", 0, "Balanced"), &request("r"), &clusters, 0)),
            Some("x")
        );
    }

    #[test]
    fn o1_what_one_tenant_brings_never_reaches_the_next() {
        let config = config("Exclusive", 0, "Balanced");
        let mut first = request("one");
        first.metadata.labels = Some(BTreeMap::from([(format!("{METADATA_PREFIX}team"), "a".to_owned())]));
        let one = made(choose(&config, &first, &[], 0));
        assert!(one.labels.contains_key(&format!("{METADATA_PREFIX}team")));
        let two = made(choose(&config, &request("two"), &[], 0));
        assert!(!two.labels.contains_key(&format!("{METADATA_PREFIX}team")));
        assert_ne!(one.name, two.name);
    }

    #[test]
    fn o2_a_request_with_annotations_is_no_trouble() {
        let mut request = request("one");
        request.metadata.annotations =
            Some(BTreeMap::from([(format!("{METADATA_PREFIX}note"), "x".to_owned())]));
        let new = made(choose(&config("Exclusive", 0, "Balanced"), &request, &[], 0));
        assert_eq!(new.annotations.len(), 1);
    }

    #[test]
    fn o3_a_name_that_is_taken_is_never_taken_over() {
        let name = format!("mcp-{}", hash8(&["n", "r"]));
        let clusters = [cluster(&name, Tenancy::Exclusive, &["stale", "live"])];
        let choice = choose(&config("Exclusive", 0, "Balanced"), &request("r"), &clusters, 0);
        assert!(matches!(choice, Choice::Refuse { reason: Reason::ClusterConflict, .. }), "{choice:?}");
    }

    #[test]
    fn an_unknown_purpose_is_told_with_what_is_known() {
        let mut request = request("r");
        request.spec.purpose = "other".to_owned();
        let Choice::Refuse { message, .. } = choose(&config("Shared", 0, "Simple"), &request, &[], 0) else {
            panic!()
        };
        assert!(message.contains("\"other\"") && message.contains("mcp"), "{message}");
    }

    #[test]
    fn a_shared_cluster_for_all_has_a_plain_name_and_a_random_one_is_the_servers() {
        let config = config("Shared", 0, "Simple");
        assert_eq!(made(choose(&config, &request("r"), &[], 0)).name, Named::Exactly("mcp".to_owned()));
        let mut random = request("r");
        random.metadata.labels =
            Some(BTreeMap::from([(label::RANDOMIZE_CLUSTER_NAME.to_owned(), "true".to_owned())]));
        assert_eq!(made(choose(&config, &random, &[], 0)).name, Named::Beginning("mcp-".to_owned()));
    }
}
