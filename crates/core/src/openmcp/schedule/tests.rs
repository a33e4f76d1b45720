//! Which Cluster a request gets, and what is done about it.

mod together;

use super::*;
use crate::openmcp::{names::hash8, policy::Policy};
use allotment_api::openmcp::{
    ClusterRequest,
    names::{METADATA_PREFIX, Reason, RequestPhase},
};
use serde_json::{Value, json};

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
        uid: format!("u-{name}"),
        resource_version: "1".to_owned(),
        purposes: vec!["mcp".to_owned()],
        profile: "p".to_owned(),
        tenancy,
        labels: BTreeMap::from([(label::DELETE_WITHOUT_REQUESTS.to_owned(), "true".to_owned())]),
        annotations: BTreeMap::new(),
        finalizers: tenants.iter().map(|tenant| format!("{}{tenant}", finalizer::TENANT_PREFIX)).collect(),
        is_deleting: false,
    }
}

fn chosen<'a>(
    config: &Scheduler,
    request: &ClusterRequest,
    clusters: &'a [Candidate],
    lot: u64,
) -> Choice<'a> {
    choose(config, request, &clusters.iter().collect::<Vec<_>>(), lot)
}

fn taken<'a>(choice: &Choice<'a>) -> Option<&'a str> {
    match choice {
        Choice::Take(cluster) => Some(&cluster.name),
        _ => None,
    }
}

fn made(choice: Choice<'_>) -> NewCluster {
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
        let choice = chosen(&config("Shared", 3, strategy), &request, &clusters, lot);
        assert_eq!(taken(&choice), Some(expected), "{strategy} {lot}");
    }
    let new = made(chosen(&config("Shared", 3, "Balanced"), &request, &clusters[2..], 0));
    assert_eq!(new.name, format!("mcp-{}", hash8(&["n", "r"])));
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
    assert!(matches!(chosen(&config("Shared", 0, "Simple"), &request, &clusters, 0), Choice::Make(_)));
}

#[test]
fn what_a_request_has_it_keeps() {
    let clusters = [cluster("x", Tenancy::Exclusive, &["u-r"])];
    assert_eq!(taken(&chosen(&config("Exclusive", 0, "Balanced"), &request("r"), &clusters, 0)), Some("x"));
}

#[test]
fn o1_what_one_tenant_brings_never_reaches_the_next() {
    let config = config("Exclusive", 0, "Balanced");
    let mut first = request("one");
    first.metadata.labels = Some(BTreeMap::from([(format!("{METADATA_PREFIX}team"), "a".to_owned())]));
    let one = made(chosen(&config, &first, &[], 0));
    assert!(one.labels.contains_key(&format!("{METADATA_PREFIX}team")));
    let two = made(chosen(&config, &request("two"), &[], 0));
    assert!(!two.labels.contains_key(&format!("{METADATA_PREFIX}team")));
    assert_ne!(one.name, two.name);
}

#[test]
fn o2_a_request_with_annotations_is_no_trouble() {
    let mut request = request("one");
    request.metadata.annotations = Some(BTreeMap::from([(format!("{METADATA_PREFIX}note"), "x".to_owned())]));
    let new = made(chosen(&config("Exclusive", 0, "Balanced"), &request, &[], 0));
    assert_eq!(new.annotations.len(), 1);
}

#[test]
fn o3_a_name_that_is_taken_is_never_taken_over() {
    let name = format!("mcp-{}", hash8(&["n", "r"]));
    let clusters = [cluster(&name, Tenancy::Exclusive, &["stale", "live"])];
    let choice = chosen(&config("Exclusive", 0, "Balanced"), &request("r"), &clusters, 0);
    assert!(matches!(choice, Choice::Refuse { reason: Reason::ClusterConflict, .. }), "{choice:?}");
}

#[test]
fn a_full_cluster_of_a_request_of_the_same_name_is_in_nobodys_way() {
    let name = format!("mcp-{}", hash8(&["n", "r"]));
    let full = [cluster(&name, Tenancy::Shared, &["1", "2", "3"])];
    let new = made(chosen(&config("Shared", 3, "Balanced"), &request("r"), &full, 0));
    assert_eq!(new.name, format!("mcp-{}", hash8(&["u-r"])));
    // Once that name is taken as well, it is waited for room.
    let both = [full[0].clone(), cluster(&new.name, Tenancy::Shared, &["4", "5", "6"])];
    let choice = chosen(&config("Shared", 3, "Balanced"), &request("r"), &both, 0);
    assert!(matches!(choice, Choice::Refuse { reason: Reason::ClusterConflict, .. }), "{choice:?}");
}

#[test]
fn an_unknown_purpose_is_told_with_what_is_known() {
    let mut request = request("r");
    request.spec.purpose = "other".to_owned();
    let Choice::Refuse { message, .. } = chosen(&config("Shared", 0, "Simple"), &request, &[], 0) else {
        panic!()
    };
    assert!(message.contains("\"other\"") && message.contains("mcp"), "{message}");
}

#[test]
fn a_shared_cluster_for_all_has_a_plain_name_and_a_random_one_follows_from_the_uid() {
    let config = config("Shared", 0, "Simple");
    assert_eq!(made(chosen(&config, &request("r"), &[], 0)).name, "mcp");
    let mut random = request("r");
    random.metadata.labels =
        Some(BTreeMap::from([(label::RANDOMIZE_CLUSTER_NAME.to_owned(), "true".to_owned())]));
    assert_eq!(made(chosen(&config, &random, &[], 0)).name, format!("mcp-{}", hash8(&["u-r"])));
}

#[test]
fn a_cluster_that_was_kept_is_taken_by_the_next_request_of_that_name() {
    let clusters = [cluster(&format!("mcp-{}", hash8(&["n", "r"])), Tenancy::Exclusive, &[])];
    let (config, request) = (config("Exclusive", 0, "Balanced"), request("r"));
    assert_eq!(taken(&chosen(&config, &request, &clusters, 0)), Some(clusters[0].name.as_str()));
    let leaving = [Candidate { is_deleting: true, ..clusters[0].clone() }];
    let choice = chosen(&config, &request, &leaving, 0);
    assert!(matches!(choice, Choice::Refuse { phase: RequestPhase::Pending, .. }), "{choice:?}");
}

#[test]
fn selectors_are_both_asked() {
    let mut config = config("Shared", 0, "Simple");
    config.selectors.clusters = serde_json::from_value(json!({ "matchLabels": { "l": "1" } })).unwrap();
    let request = request("r");
    let mut clusters = [cluster("a", Tenancy::Shared, &[])];
    assert_eq!(taken(&chosen(&config, &request, &clusters, 0)), None);
    clusters[0].labels.insert("l".to_owned(), "1".to_owned());
    assert_eq!(taken(&chosen(&config, &request, &clusters, 0)), Some("a"));
    let expression = json!({ "matchExpressions": [{ "key": "m", "operator": "Exists" }] });
    config.purpose_mappings.get_mut("mcp").unwrap().selector = serde_json::from_value(expression).unwrap();
    assert_eq!(taken(&chosen(&config, &request, &clusters, 0)), None);
    clusters[0].labels.insert("m".to_owned(), String::new());
    assert_eq!(taken(&chosen(&config, &request, &clusters, 0)), Some("a"));
}

#[test]
fn operators_of_selectors_are_those_of_kubernetes() {
    let labels = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
    for (key, operator, values, expected) in [
        ("a", "In", json!(["1", "2"]), true),
        ("a", "In", json!(["2"]), false),
        ("b", "In", json!(["1"]), false),
        ("a", "NotIn", json!(["1"]), false),
        ("b", "NotIn", json!(["1"]), true),
        ("a", "Exists", json!([]), true),
        ("b", "Exists", json!([]), false),
        ("a", "DoesNotExist", json!([]), false),
        ("b", "DoesNotExist", json!([]), true),
    ] {
        let one = json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] });
        let selector: Selector = serde_json::from_value(one).unwrap();
        assert_eq!(selector.matches(&labels), expected, "{key} {operator} {values}");
    }
}

#[test]
fn o6_a_configuration_is_checked_before_it_is_used() {
    let read = |value: Value| serde_json::from_value::<Scheduler>(value);
    assert_eq!(read(json!({})).unwrap().scope, Scope::Cluster);
    assert!(read(json!({ "selectors": { "cluster": {} } })).is_err(), "a word that nobody knows");
    let spec = json!({ "profile": "p", "tenancy": "Exclusive" });
    assert!(
        read(json!({ "purposeMappings": { "x": { "template": { "spec": { "profile": "p" } } } } })).is_err()
    );
    for (mapping, place) in [
        (json!({ "tenancyCount": 2, "template": { "spec": spec } }), "purposeMappings.x.tenancyCount"),
        (
            json!({ "selector": { "matchLabels": { "a": "1" } }, "template": { "spec": spec } }),
            "purposeMappings.x.template.metadata.labels",
        ),
        (
            json!({ "template": { "spec": { "profile": "", "tenancy": "Shared" } } }),
            "purposeMappings.x.template.spec.profile",
        ),
        (
            json!({ "selector": { "matchExpressions": [{ "key": "a", "operator": "NotIn" }] }, "template": { "spec": spec } }),
            "purposeMappings.x.selector.matchExpressions[0].values",
        ),
    ] {
        let faults = read(json!({ "purposeMappings": { "x": mapping } })).unwrap().check();
        assert!(faults.len() == 1 && faults[0].starts_with(place), "{faults:?}");
    }
    assert_eq!(config("Shared", 3, "Random").check(), Vec::<String>::new());
}

/// A world that steps are taken in until there is nothing to do.
struct World {
    config: Scheduler,
    policy: Policy,
    request: ClusterRequest,
    clusters: Vec<Candidate>,
    is_gone: bool,
}

impl World {
    fn new(tenancy: &str, count: u32) -> Self {
        let (config, request) = (config(tenancy, count, "Balanced"), request("r"));
        Self { config, policy: Policy::default(), request, clusters: Vec::new(), is_gone: false }
    }

    /// Takes the next step, and says what it was.
    fn step(&mut self) -> &'static str {
        let (clusters, request) = (self.clusters.clone(), self.request.clone());
        let all: Vec<&Candidate> = clusters.iter().collect();
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let view = View {
            config: &self.config,
            policy: &self.policy,
            request: &request,
            clusters: &all,
            lot: 0,
            now,
        };
        let Decision { step, status } = decide(&view);
        let metadata = &mut self.request.metadata;
        match step {
            Step::Leave => "leave",
            Step::Unmark => {
                metadata.annotations = None;
                "unmark"
            }
            Step::Hold => {
                metadata.finalizers = Some(vec![finalizer::CLUSTER_REQUEST.to_owned()]);
                "hold"
            }
            Step::Make { cluster, finalizer } => {
                let NewCluster { namespace, name, labels, annotations, spec } = *cluster;
                let made = json!({
                    "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster", "spec": spec,
                    "metadata": {
                        "namespace": namespace, "name": name, "labels": labels, "annotations": annotations,
                        "finalizers": [finalizer],
                    },
                });
                self.clusters.push(Candidate::of(&serde_json::from_value(made).unwrap()));
                "make"
            }
            Step::Claim { cluster, finalizers, labels, annotations } => {
                let it = self.clusters.iter_mut().find(|it| it.name == cluster.name).unwrap();
                it.finalizers = finalizers;
                it.labels.extend(labels);
                it.annotations.extend(annotations);
                "claim"
            }
            Step::Record | Step::Rest => {
                let is_same = self.request.status.as_ref() == Some(&status);
                self.request.status = Some(status);
                match step {
                    Step::Record => "record",
                    _ if is_same => "nothing",
                    _ => "status",
                }
            }
            Step::Delete(cluster) => {
                self.clusters.iter_mut().find(|it| it.name == cluster.name).unwrap().is_deleting = true;
                "delete"
            }
            Step::Release { cluster, finalizers } => {
                self.clusters.iter_mut().find(|it| it.name == cluster.name).unwrap().finalizers = finalizers;
                "release"
            }
            Step::LetGo => {
                self.is_gone = true;
                "let go"
            }
        }
    }

    /// Takes steps until there is nothing to do.
    fn steps(&mut self) -> Vec<&'static str> {
        let mut steps = Vec::new();
        while steps.len() < 10 && !self.is_gone {
            let step = self.step();
            if step == "nothing" || step == "leave" {
                break;
            }
            steps.push(step);
        }
        steps
    }

    fn delete(&mut self) {
        self.request.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH.into());
    }

    /// The namespace of the Cluster that the request has.
    fn given(&self) -> &str {
        &self.request.status.as_ref().unwrap().cluster.as_ref().unwrap().namespace
    }

    fn phase(&self) -> &str {
        &self.request.status.as_ref().unwrap().common.phase
    }
}

#[test]
fn a_request_from_its_first_step_to_its_last() {
    let mut world = World::new("Exclusive", 0);
    assert_eq!(world.steps(), ["hold", "make", "status"]);
    assert_eq!(world.phase(), "Granted");
    world.delete();
    assert_eq!(world.steps(), ["delete", "release", "let go"]);
    assert!(world.clusters[0].is_deleting && world.clusters[0].finalizers.is_empty());
}

#[test]
fn o5_a_request_that_waits_is_there_until_its_cluster_is_gone() {
    let mut world = World::new("Exclusive", 0);
    world.request.spec.wait_for_cluster_deletion = Some(true);
    world.steps();
    world.delete();
    assert_eq!(world.steps(), ["delete", "release", "status"]);
    let conditions = &world.request.status.as_ref().unwrap().common.conditions;
    assert_eq!(conditions[0].reason, Reason::WaitingForClusterDeletion.as_str());
    world.clusters.clear();
    assert_eq!(world.steps(), ["let go"]);
    // Also if it is deleted before its status was written.
    let mut world = World::new("Exclusive", 0);
    world.request.spec.wait_for_cluster_deletion = Some(true);
    world.step();
    world.step();
    world.delete();
    assert_eq!(world.steps(), ["record", "delete", "release", "status"]);
}

#[test]
fn a_cluster_goes_with_its_last_tenant_and_only_if_it_says_so() {
    let mut world = World::new("Shared", 2);
    world.clusters.push(cluster("a", Tenancy::Shared, &["other"]));
    assert_eq!(world.steps(), ["hold", "claim", "status"]);
    let (mut kept, mut last) = (world.clone_of(), world.clone_of());
    world.delete();
    assert_eq!(world.steps(), ["release", "let go"], "another tenant has it");
    last.clusters[0].finalizers.remove(0);
    last.delete();
    assert_eq!(last.steps(), ["delete", "release", "let go"]);
    kept.clusters[0].finalizers.remove(0);
    kept.clusters[0].labels.insert(label::DELETE_WITHOUT_REQUESTS.to_owned(), "yes".to_owned());
    kept.delete();
    assert_eq!(kept.steps(), ["release", "let go"], "only true is true");
}

impl World {
    fn clone_of(&self) -> Self {
        let (config, request, clusters) = (self.config.clone(), self.request.clone(), self.clusters.clone());
        Self { config, policy: self.policy.clone(), request, clusters, is_gone: self.is_gone }
    }
}

#[test]
fn a_cluster_that_is_gone_is_made_anew_with_its_name() {
    let mut world = World::new("Exclusive", 0);
    world.steps();
    let name = world.clusters.pop().unwrap().name;
    assert_eq!(world.steps(), ["make"]);
    assert_eq!(world.clusters[0].name, name);
    // A finalizer that somebody took off is put back; what another has is left alone.
    world.clusters[0].finalizers.clear();
    assert_eq!(world.steps(), ["claim"]);
    world.clusters[0].finalizers = vec![format!("{}other", finalizer::TENANT_PREFIX)];
    assert_eq!(world.steps(), ["status"]);
    assert_eq!(world.phase(), "Pending");
}

#[test]
fn o2_what_a_request_brings_later_reaches_a_cluster_without_annotations() {
    let mut world = World::new("Exclusive", 0);
    world.steps();
    let (key, value) = (format!("{METADATA_PREFIX}note"), "x".to_owned());
    world.request.metadata.annotations = Some(BTreeMap::from([(key.clone(), value.clone())]));
    assert_eq!(world.steps(), ["claim"]);
    assert_eq!(world.clusters[0].annotations.get(&key), Some(&value));
    assert_eq!(world.steps(), Vec::<&str>::new());
}

#[test]
fn what_is_not_selected_or_ignored_is_left_alone_and_reconcile_is_taken_off() {
    let mut world = World::new("Exclusive", 0);
    let labels = json!({ "matchLabels": { "a": "1" } });
    world.config.selectors.requests = serde_json::from_value(labels).unwrap();
    assert_eq!(world.steps(), Vec::<&str>::new());
    world.request.metadata.labels = Some(BTreeMap::from([("a".to_owned(), "1".to_owned())]));
    let operation =
        |value: &str| Some(BTreeMap::from([("openmcp.cloud/operation".to_owned(), value.to_owned())]));
    world.request.metadata.annotations = operation("ignore");
    assert_eq!(world.steps(), Vec::<&str>::new());
    world.request.metadata.annotations = operation("reconcile");
    assert_eq!(world.steps(), ["unmark", "hold", "make", "status"]);
}

#[test]
fn o9_what_cannot_be_had_is_told_on_the_request() {
    let mut world = World::new("Exclusive", 0);
    world.request.spec.purpose = "other".to_owned();
    assert_eq!(world.steps(), ["hold", "status"]);
    assert_eq!(world.phase(), "Denied");
}

#[test]
fn a_cluster_of_another_namespace_is_taken_only_where_that_is_allowed() {
    let elsewhere =
        |tenancy, tenants: &[&str]| Candidate { namespace: "b".to_owned(), ..cluster("c", tenancy, tenants) };
    // Somebody offers a Cluster of theirs, or writes the UID of the request on it.
    for offered in [elsewhere(Tenancy::Shared, &[]), elsewhere(Tenancy::Shared, &["u-r"])] {
        let mut world = World::new("Shared", 3);
        world.clusters = vec![offered];
        world.steps();
        assert_eq!(world.given(), "n");
        world = World { policy: Policy::trusted(), ..World::new("Shared", 3) };
        world.clusters = vec![elsewhere(Tenancy::Shared, &[])];
        world.steps();
        assert_eq!(world.given(), "b");
    }
    // Somebody writes a Cluster of others into the status of a request of theirs, whether it is there or not.
    for clusters in [vec![elsewhere(Tenancy::Shared, &[])], vec![elsewhere(Tenancy::Exclusive, &[])], vec![]]
    {
        let mut world = World::new("Shared", 3);
        world.clusters.clone_from(&clusters);
        let status =
            json!({"phase": "Granted", "observedGeneration": 1, "cluster": {"name": "c", "namespace": "b"}});
        world.request.status = serde_json::from_value(status).unwrap();
        world.steps();
        assert_eq!(world.clusters, clusters);
        let status = world.request.status.unwrap();
        assert_eq!(status.common.phase, "Denied");
        assert!(status.common.conditions[0].message.contains("crossNamespace"));
    }
    // The template's own namespace is the platform's choice, but not for what the template would not have made.
    let mut world = World::new("Exclusive", 0);
    world.config.purpose_mappings.get_mut("mcp").unwrap().template.metadata.namespace = Some("b".to_owned());
    world.clusters = vec![elsewhere(Tenancy::Exclusive, &[])];
    let status =
        json!({"phase": "Granted", "observedGeneration": 1, "cluster": {"name": "c", "namespace": "b"}});
    world.request.status = serde_json::from_value(status).unwrap();
    world.steps();
    assert!(world.clusters[0].tenants().is_empty());
}
