//! What is done about a Cluster, step by step, in a world where everything can be made to happen.

mod foreign;
mod lives;
mod shoots;

use super::{Account, Decision, Place, Record, Seen, Step, View, decide, names};
use crate::openmcp::{instance::Instance, policy::Policy};
use allotment_api::{
    gardener::Shoot,
    openmcp::{
        Cluster, ClusterProfile,
        gardener::{ClusterConfig, ProviderConfig, names::finalizer},
    },
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

struct World {
    instance: Instance,
    policy: Policy,
    account: Account,
    cluster: Value,
    profile: Option<ClusterProfile>,
    config: Option<ProviderConfig>,
    cluster_configs: Vec<(String, Option<Arc<ClusterConfig>>)>,
    place: Result<Place, (&'static str, &'static str)>,
    /// What is in the garden, by name.
    garden: BTreeMap<String, Value>,
    refusal: Option<&'static str>,
    /// Counts what was written to Shoots.
    writes: u32,
}

impl World {
    fn new() -> Self {
        let cluster = json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "c", "namespace": "n", "uid": "the-cluster", "generation": 1},
            "spec": {"profile": "e.p.x", "tenancy": "Exclusive"},
        });
        let profile = json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterProfile", "metadata": {"name": "e.p.x"},
            "spec": {
                "providerRef": {"name": "p"}, "providerConfigRef": {"name": "x"},
                "supportedVersions": [{"version": "1.34.1"}, {"version": "1.33.5"}, {"version": "1.33.2", "deprecated": true}],
            },
        });
        let config = json!({
            "apiVersion": "gardener.clusters.openmcp.cloud/v1alpha1", "kind": "ProviderConfig", "metadata": {"name": "x"},
            "spec": {
                "providerRef": {"name": "p"}, "landscapeRef": {"name": "l"}, "project": "proj",
                "shootTemplate": {
                    "metadata": {"labels": {"team": "a"}},
                    "spec": {
                        "cloudProfile": {"kind": "CloudProfile", "name": "aws"}, "region": "r",
                        "provider": {"type": "aws", "workers": [
                            {"name": "w", "minimum": 1, "maximum": 2, "machine": {"type": "m", "image": {"name": "i", "version": "1.0.0"}}},
                        ]},
                    },
                },
            },
        });
        let place = Place {
            landscape: "l".to_owned(),
            project: Some("proj".to_owned()),
            namespace: "garden-proj".to_owned(),
        };
        Self {
            instance: Instance { environment: "e".to_owned(), provider: "p".to_owned() },
            policy: Policy::default(),
            account: Account::Found { labels: BTreeMap::new(), quarantine: None },
            cluster,
            profile: Some(serde_json::from_value(profile).unwrap()),
            config: Some(serde_json::from_value(config).unwrap()),
            cluster_configs: Vec::new(),
            place: Ok(place),
            garden: BTreeMap::new(),
            refusal: None,
            writes: 0,
        }
    }

    fn template(&mut self) -> &mut Value {
        &mut self.config.as_mut().unwrap().spec.shoot_template
    }

    fn configure(&mut self, name: &str, spec: Value) {
        let config = json!({
            "apiVersion": "gardener.clusters.openmcp.cloud/v1alpha1", "kind": "ClusterConfig",
            "metadata": {"name": name, "namespace": "n"}, "spec": spec,
        });
        self.cluster_configs.push((name.to_owned(), Some(Arc::new(serde_json::from_value(config).unwrap()))));
    }

    fn cluster(&self) -> Cluster {
        serde_json::from_value(self.cluster.clone()).unwrap()
    }

    fn shoot(&mut self) -> &mut Value {
        self.garden.values_mut().next().expect("there is a Shoot")
    }

    /// The Shoots whose content is seen without looking: those of this environment and provider.
    fn cached(&self) -> BTreeMap<String, Seen> {
        let ours = self.garden.iter().filter(|(_, shoot)| {
            shoot["metadata"]["labels"]["gardener.clusters.openmcp.cloud/environment"]
                == self.instance.environment
        });
        ours.map(|(name, shoot)| {
            let shoot: Shoot = serde_json::from_value(shoot.clone()).unwrap();
            (name.clone(), Seen { shoot: Some(Arc::new(shoot)), is_live: false })
        })
        .collect()
    }

    /// Looks until there is nothing more to do, and returns the steps and the last decision.
    fn look(&mut self) -> (Vec<String>, Decision) {
        let (mut steps, mut shoots) = (Vec::new(), self.cached());
        let (mut is_forced, mut is_applied, mut refusal) = (false, false, None);
        let mut account = None;
        for _ in 0..20 {
            let cluster = self.cluster();
            let decision = decide(&View {
                instance: &self.instance,
                policy: &self.policy,
                account: account.as_ref(),
                cluster: &cluster,
                is_ours: self.profile.as_ref().map_or_else(
                    || self.instance.would_own(&cluster.spec.profile),
                    |profile| self.instance.owns(profile),
                ),
                profile: self.profile.as_ref(),
                config: self.config.as_ref(),
                cluster_configs: &self.cluster_configs,
                place: self.place.as_ref().map_err(|why| *why),
                shoots: &shoots,
                is_forced,
                is_applied,
                refusal,
                now: "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap(),
            });
            let live = |world: &Self, name: &str| Seen {
                shoot: world
                    .garden
                    .get(name)
                    .map(|shoot| Arc::new(serde_json::from_value(shoot.clone()).unwrap())),
                is_live: true,
            };
            let word = decision.step.to_string();
            match &decision.step {
                Step::Rest | Step::Leave => {
                    if decision.step == Step::Rest {
                        self.cluster["status"] = json!(decision.status);
                    }
                    return (steps, decision);
                }
                Step::Unmark => {
                    self.cluster["metadata"]["annotations"]
                        .as_object_mut()
                        .unwrap()
                        .remove("openmcp.cloud/operation");
                    is_forced = true;
                }
                Step::Hold => self.cluster["metadata"]["finalizers"] = json!([finalizer::CLUSTER]),
                Step::Announce(_) => self.cluster["status"] = json!(decision.status),
                Step::VerifyAccount(_) => account = Some(self.account.clone()),
                Step::LookLive(name) => drop(shoots.insert(name.clone(), live(self, name))),
                Step::Create(shoot) | Step::Update(shoot) => {
                    refusal = self.refusal;
                    if refusal.is_none() {
                        let name = self.apply(shoot);
                        is_applied = true;
                        shoots.insert(name.clone(), live(self, &name));
                    }
                }
                Step::Retry(name) => {
                    self.garden.get_mut(name).unwrap()["metadata"]["annotations"]["gardener.cloud/operation"] =
                        json!("retry");
                    steps.push(word);
                    self.cluster["status"] = json!(decision.status);
                    return (steps, decision);
                }
                Step::Label { labels, annotations } => {
                    labels
                        .iter()
                        .for_each(|(key, value)| self.cluster["metadata"]["labels"][key] = json!(value));
                    annotations
                        .iter()
                        .for_each(|(key, value)| self.cluster["metadata"]["annotations"][key] = json!(value));
                }
                Step::ConfirmDeletion(name) => {
                    self.garden.get_mut(name).unwrap()["metadata"]["annotations"]["confirmation.gardener.cloud/deletion"] =
                        json!("true");
                    shoots.insert(name.clone(), live(self, name));
                }
                Step::DeleteShoot(name) => {
                    self.garden.get_mut(name).unwrap()["metadata"]["deletionTimestamp"] =
                        json!("2026-01-01T00:00:00Z");
                    shoots.insert(name.clone(), live(self, name));
                }
                Step::LetGo => {
                    self.cluster["metadata"]["finalizers"] = json!([]);
                    steps.push(word);
                    return (steps, decision);
                }
            }
            steps.push(word);
        }
        panic!("it does not come to an end: {steps:?}");
    }

    /// A garden that keeps what it is given.
    fn apply(&mut self, shoot: &Value) -> String {
        self.writes += 1;
        let name = shoot["metadata"]["name"].as_str().unwrap().to_owned();
        let before = self.garden.get(&name).cloned();
        let mut shoot = shoot.clone();
        let uid =
            before.as_ref().map_or(json!(format!("uid-{}", self.writes)), |it| it["metadata"]["uid"].clone());
        shoot["metadata"]["uid"] = uid;
        shoot["metadata"]["resourceVersion"] = json!(self.writes.to_string());
        shoot["metadata"]["generation"] = json!(self.writes);
        if let Some(before) = before {
            shoot["status"] = before["status"].clone();
        }
        self.garden.insert(name.clone(), shoot);
        name
    }

    /// Gardener has done what the spec says, and all is well.
    fn settle(&mut self) {
        let generation = self.shoot()["metadata"]["generation"].clone();
        let condition = |type_: &str| {
            json!({"type": type_, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z",
                "lastUpdateTime": "2026-01-01T00:00:00Z", "reason": "Good", "message": "all well"})
        };
        self.shoot()["status"] = json!({
            "observedGeneration": generation,
            "lastOperation": operation("Succeeded"),
            "conditions": [condition("APIServerAvailable"), condition("SystemComponentsHealthy")],
            "advertisedAddresses": [
                {"name": "external", "url": "https://ext"}, {"name": "internal", "url": "https://int"},
            ],
        });
    }

    fn phase(&self) -> &str {
        self.cluster["status"]["phase"].as_str().unwrap_or_default()
    }

    fn condition(&self, type_: &str) -> (&str, &str, &str) {
        let all = self.cluster["status"]["conditions"].as_array().unwrap();
        let found = all.iter().find(|condition| condition["type"] == type_);
        found.map_or(("", "", ""), |condition| {
            let part = |name: &str| condition[name].as_str().unwrap();
            (part("status"), part("reason"), part("message"))
        })
    }

    fn end(&mut self) {
        self.cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
}

fn operation(state: &str) -> Value {
    json!({"type": "Create", "state": state, "progress": 50, "description": "working", "lastUpdateTime": "2026-01-01T00:00:00Z"})
}

/// A World whose Cluster is ready.
fn ready() -> World {
    let mut world = World::new();
    world.look();
    world.settle();
    world.look();
    assert_eq!(world.phase(), "Ready", "{:#}", world.cluster["status"]);
    world
}

fn name_of(world: &World) -> String {
    names(&world.cluster(), &world.instance)[0].clone()
}

fn record(world: &World) -> Record {
    Record::of(&world.cluster()).expect("it is recorded")
}
