//! Clusters, from the first write to the last.

use super::stage::{Fault, RULES, Running as Subscription, Stage, until};
use allotment_api::{
    condition::ConditionStatus,
    gardener::{KubeconfigAccess, Shoot},
    kyma::{Cluster, ClusterPhase, ClusterStatus, SubscriptionPhase, SubscriptionRequest},
    names::{annotation, label},
};
use allotment_core::{
    cluster::Clusters,
    pool::{AccountName, LabelKeys},
    tenancy::Tenancy,
};
use allotment_operator::{
    cluster::{Operator, Parts, Policy, Settings},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
    target::{self, Connect, Targets},
};
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Secret},
    rbac::v1::ClusterRoleBinding,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::Instant};

pub const CONFIGURATION: &str = "
providers:
  aws: {cloudProfile: aws}
rollout: {clustersPerMinute: 6000}
";

/// A stage with both operators at work.
pub struct Play {
    pub stage: Stage,
    pub operator: Operator,
    pub targets: Targets,
    task: JoinHandle<()>,
    _subscription: Option<Subscription>,
}

impl Drop for Play {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Play {
    /// With this many free accounts.
    pub async fn new(landscape: &Landscape, accounts: usize) -> Result<Self, Fault> {
        let stage = Stage::with_gardenlet(landscape).await?;
        let names = ["a", "b", "c", "d"];
        stage.accounts(&names[..accounts], json!({ "hyperscalerType": "aws" })).await?;
        let subscription = stage.start();
        Self::on(stage, Some(subscription))
    }

    /// With nobody who hands out accounts.
    pub fn without_subscriptions(stage: Stage) -> Result<Self, Fault> {
        Self::on(stage, None)
    }

    fn on(stage: Stage, subscription: Option<Subscription>) -> Result<Self, Fault> {
        let (operator, targets) = operator(&stage)?;
        let task = tokio::spawn({
            let operator = operator.clone();
            async move { operator.run_as_leader().await }
        });
        Ok(Self { stage, operator, targets, task, _subscription: subscription })
    }

    /// Ends the cluster operator.
    pub fn stop(&self) {
        self.task.abort();
    }

    pub fn clusters(&self) -> Api<Cluster> {
        Api::namespaced(self.stage.plot.landscape.control_plane.clone(), &self.stage.plot.namespace)
    }

    pub async fn create(&self, name: &str, change: impl FnOnce(&mut Value)) -> Result<Cluster, Fault> {
        let mut cluster = json!({
            "apiVersion": "operator.kyma-project.io/v1alpha1",
            "kind": "Cluster",
            "metadata": { "name": name, "labels": { "globalaccountid": "t-1" } },
            "spec": {
                "core": { "purpose": "Production", "region": "eu-central-1" },
                "infrastructure": {
                    "provider": "aws", "machineType": "m5.large", "autoScalerMin": 1, "autoScalerMax": 3,
                    "numberOfZones": 1, "subscriptionSelector": "globalaccount:t-1",
                },
            },
        });
        change(&mut cluster);
        Ok(self.clusters().create(&PostParams::default(), &serde_json::from_value(cluster)?).await?)
    }

    pub async fn patch(&self, name: &str, patch: Value) -> Result<Cluster, Fault> {
        Ok(self.clusters().patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await?)
    }

    pub async fn annotate(&self, name: &str, key: &str, value: &str) -> Result<(), Fault> {
        self.patch(name, json!({ "metadata": { "annotations": { key: value } } })).await.map(drop)
    }

    pub async fn that(
        &self,
        name: &str,
        what: &str,
        is: impl Fn(&Cluster) -> bool,
    ) -> Result<Cluster, Fault> {
        let api = self.clusters();
        until(&format!("Cluster {name} {what}"), async || {
            let cluster = api.get(name).await.map_err(|error| error.to_string())?;
            if is(&cluster) { Ok(cluster) } else { Err(format!("{:?}", cluster.status)) }
        })
        .await
    }

    /// Waits until it is ready for its newest spec.
    pub async fn ready(&self, name: &str) -> Result<ClusterStatus, Fault> {
        let cluster = self
            .that(name, "is ready", |cluster| {
                cluster.status.as_ref().is_some_and(|status| {
                    status.phase == Some(ClusterPhase::Ready)
                        && status.observed_generation == cluster.metadata.generation
                })
            })
            .await?;
        Ok(cluster.status.unwrap())
    }

    /// Waits until it is not provisioned for this reason, and returns the message.
    pub async fn because(&self, name: &str, reason: &str) -> Result<String, Fault> {
        let cluster = self
            .that(name, &format!("is {reason}"), |cluster| {
                provisioned(cluster).is_some_and(|it| it.1 == reason)
            })
            .await?;
        Ok(provisioned(&cluster).unwrap().2)
    }

    pub async fn delete(&self, name: &str) -> Result<(), Fault> {
        self.clusters().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    pub async fn gone(&self, name: &str) -> Result<(), Fault> {
        let api = self.clusters();
        until(&format!("Cluster {name} is gone"), async || match api.get_opt(name).await {
            Ok(None) => Ok(()),
            other => Err(format!("{:?}", other.map(|cluster| cluster.map(|cluster| cluster.status)))),
        })
        .await
    }

    pub async fn shoot_of(&self, name: &str) -> Result<Shoot, Fault> {
        let status = self.clusters().get(name).await?.status.unwrap();
        Ok(self.stage.plot.shoots().get(&status.shoot_name.unwrap()).await?)
    }

    /// Who sits in which account, by the ledger.
    pub async fn assigned(&self, account: &str) -> Result<usize, Fault> {
        let account = self.stage.ledger.account(&AccountName::new(account)).await?;
        Ok(account.map_or(0, |account| account.assignments.len()))
    }

    /// A client for the cluster behind a Shoot.
    pub async fn inside(&self, shoot: &str) -> Result<Client, Fault> {
        let kubeconfig = self.stage.plot.kubeconfig(shoot, KubeconfigAccess::Admin).await?;
        Ok(allotment_testing::client(kubeconfig).await?)
    }

    /// Looks at everything again, and shows that nothing is written.
    pub async fn resync_writes_nothing(&self) -> Result<(), Fault> {
        self.idle().await?;
        let before = self.versions().await?;
        self.operator.resync();
        self.idle().await?;
        let after = self.versions().await?;
        if before == after {
            Ok(())
        } else {
            Err(format!("a resync wrote: {before:?} and then {after:?}").into())
        }
    }

    pub async fn idle(&self) -> Result<(), Fault> {
        // The watch has to have told of the last write.
        tokio::time::sleep(Duration::from_millis(300)).await;
        until("the operator rests", async || {
            if self.operator.is_idle_until(Instant::now()) { Ok(()) } else { Err("it works".to_owned()) }
        })
        .await
    }

    async fn versions(&self) -> Result<Vec<(String, Option<String>)>, Fault> {
        let everything = ListParams::default();
        let version = |metadata: &kube::api::ObjectMeta| {
            (metadata.name.clone().unwrap_or_default(), metadata.resource_version.clone())
        };
        let clusters = self.clusters().list(&everything).await?;
        let requests = self.stage.requests().list(&everything).await?;
        let shoots = self.stage.plot.shoots().list(&everything).await?;
        let mut all: Vec<_> = clusters.iter().map(|cluster| version(&cluster.metadata)).collect();
        all.extend(requests.iter().map(|request| version(&request.metadata)));
        all.extend(shoots.iter().map(|shoot| version(&shoot.metadata)));
        Ok(all)
    }
}

fn operator(stage: &Stage) -> Result<(Operator, Targets), Fault> {
    let (control_plane, garden) =
        (stage.plot.landscape.control_plane.clone(), stage.plot.landscape.garden.clone());
    let (clock, metrics) = (Clock::system(), Metrics::new());
    let targets = Targets::new(target::Parts {
        garden: garden.clone(),
        garden_namespace: stage.plot.garden_namespace.clone(),
        control_plane: control_plane.clone(),
        clock: clock.clone(),
        connect: Connect::over_https_within(&metrics, super::targets::loopback()),
        metrics: metrics.clone(),
    });
    let operator = Operator::new(Parts {
        control_plane,
        garden,
        targets: targets.clone(),
        settings: Settings {
            garden_namespace: stage.plot.garden_namespace.clone(),
            project: stage.plot.project.clone(),
            cluster_namespace: Some(stage.plot.namespace.clone()),
            lease_namespace: stage.plot.namespace.clone(),
            identity: "cluster-operator".to_owned(),
            binding_kind: stage.kind,
            labels: LabelKeys::default(),
            workers: 4,
        },
        policy: policy(stage, CONFIGURATION)?,
        clock,
        metrics,
    });
    Ok((operator, targets))
}

pub fn policy(stage: &Stage, text: &str) -> Result<Policy, Fault> {
    let clusters: Clusters = serde_saphyr::from_str(text)?;
    let rules = Some(stage.policy(RULES).rules);
    Ok(Policy { clusters: Arc::new(clusters), tenancy: Arc::new(Tenancy::trusted()), rules })
}

pub fn condition(cluster: &Cluster, type_: &str) -> Option<(ConditionStatus, String, String)> {
    let conditions = &cluster.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == type_)?;
    Some((found.status, found.reason.clone(), found.message.clone()))
}

pub fn provisioned(cluster: &Cluster) -> Option<(ConditionStatus, String, String)> {
    condition(cluster, "ClusterProvisioned")
}

pub async fn a_cluster_is_made_changed_and_taken_away(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", |_| ()).await?;
    let status = play.ready("one").await?;
    assert!(status.api_server.is_some() && status.kubernetes_version.is_some(), "{status:?}");
    assert_eq!(status.progress, Some(100));
    let subscription = status.subscription.unwrap();
    assert_eq!(subscription.binding_name.as_deref(), Some("a"));
    assert_eq!(play.assigned("a").await?, 1);
    let request = play.stage.requests().get(&subscription.name).await?;
    let shoot = play.shoot_of("one").await?;
    assert_eq!(shoot.labels().get(label::SUBSCRIPTION_REQUEST), request.uid().as_ref());
    play.resync_writes_nothing().await?;

    // More nodes, another machine type, a pool that comes and goes.
    let infrastructure = json!({ "autoScalerMax": 5, "machineType": "m5.xlarge", "additionalWorkers": [
        { "name": "more", "machineType": "m5.large", "autoScalerMin": 0, "autoScalerMax": 2 },
    ]});
    play.patch("one", json!({ "spec": { "infrastructure": infrastructure } })).await?;
    play.ready("one").await?;
    let workers = play.shoot_of("one").await?.spec.provider.workers;
    let pools: Vec<_> =
        workers.iter().map(|pool| (pool.name.as_str(), pool.maximum, pool.machine.type_.as_str())).collect();
    assert_eq!(pools, [("cpu-worker-0", 5, "m5.xlarge"), ("more", 2, "m5.large")]);
    play.resync_writes_nothing().await?;
    play.patch("one", json!({ "spec": { "infrastructure": { "additionalWorkers": null } } })).await?;
    play.ready("one").await?;
    assert_eq!(play.shoot_of("one").await?.spec.provider.workers.len(), 1);
    play.resync_writes_nothing().await?;

    play.delete("one").await?;
    let name = shoot.name_any();
    play.gone("one").await?;
    assert!(play.stage.plot.shoots().get_opt(&name).await?.is_none(), "the Shoot goes first");
    assert!(play.stage.requests().get_opt(&subscription.name).await?.is_none());
    assert_eq!(play.assigned("a").await?, 0);
    play.stage.labelled("a", "dirty", Some("true")).await?;
    Ok(())
}

pub async fn a_cluster_waits_for_an_account(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 0).await?;
    play.create("one", |_| ()).await?;
    // Until its request was decided about, it only says that one is asked for.
    let is_queued = |(_, reason, message): (_, String, String)| {
        reason == "WaitingForAccount" && message.contains("place 1")
    };
    play.that("one", "is first in the queue", |cluster| provisioned(cluster).is_some_and(is_queued)).await?;
    play.stage.accounts(&["late"], json!({ "hyperscalerType": "aws" })).await?;
    play.ready("one").await?;
    Ok(())
}

pub async fn what_cannot_be_made_is_told_and_takes_nothing(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    for (name, field, path, value) in [
        (
            "machine",
            "spec.infrastructure.machineType",
            "/spec/infrastructure/machineType",
            json!("m5.unheard-of"),
        ),
        ("region", "spec.core.region", "/spec/core/region", json!("eu-nowhere-1")),
        ("zones", "spec.infrastructure.numberOfZones", "/spec/infrastructure/numberOfZones", json!(3)),
        ("provider", "spec.infrastructure.provider", "/spec/infrastructure/provider", json!("gcp")),
    ] {
        let created = play.create(name, |cluster| {
            *cluster.pointer_mut(path).unwrap() = value.clone();
            if name == "zones" {
                cluster["spec"]["infrastructure"]["zones"] =
                    json!(["eu-central-1a", "eu-central-1b", "eu-central-1z"]);
            }
        });
        created.await?;
        let message = play.because(name, "Invalid").await?;
        assert!(
            message.contains(field.rsplit('.').next().unwrap()) || message.contains("zones"),
            "{message}"
        );
        assert!(message.contains("allowed"), "{message}");
    }
    play.create("ranges", |cluster| {
        cluster["spec"]["infrastructure"]["networking"] = json!({ "nodes": "10.96.0.0/16" });
    })
    .await?;
    let message = play.because("ranges", "Invalid").await?;
    assert!(message.contains("networking.nodes: 10.96.0.0/16 overlaps 10.96.0.0/13"), "{message}");
    assert!(
        play.stage.requests().list(&ListParams::default()).await?.items.is_empty(),
        "no account is asked for"
    );
    for name in ["machine", "region", "zones", "provider", "ranges"] {
        play.delete(name).await?;
        play.gone(name).await?;
    }
    Ok(())
}

pub async fn a_missing_shoot_is_made_anew_only_when_asked_for(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", |_| ()).await?;
    let status = play.ready("one").await?;
    let name = status.shoot_name.unwrap();
    play.stage.delete_shoot(&name).await?;
    play.because("one", "ShootMissing").await?;
    play.resync_writes_nothing().await?;
    assert!(play.stage.plot.shoots().get_opt(&name).await?.is_none());
    assert_eq!(play.assigned("a").await?, 1, "the account stays");
    play.annotate("one", annotation::RECREATE_SHOOT, "true").await?;
    let again = play.ready("one").await?;
    assert_ne!(again.shoot_uid, status.shoot_uid);
    play.that("one", "is unmarked", |cluster| {
        !cluster.annotations().contains_key(annotation::RECREATE_SHOOT)
    })
    .await?;
    Ok(())
}

pub async fn administrators_come_and_go(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    // Shoots of other tests lead to the same server.
    let domain = format!("@{}.example.com", play.stage.plot.namespace);
    let [ann, bob] = ["ann", "bob"].map(|name| format!("{name}{domain}"));
    play.create("one", |cluster| cluster["spec"]["administrators"] = json!([ann, bob])).await?;
    let holds = |cluster: &Cluster, count: usize| {
        let status = cluster.status.as_ref();
        status.is_some_and(|status| status.administrators.len() == count)
    };
    let cluster = play.that("one", "has administrators", |cluster| holds(cluster, 2)).await?;
    assert_eq!(condition(&cluster, "AdministratorsApplied").unwrap().0, ConditionStatus::True);
    let inside = play.inside(&cluster.status.unwrap().shoot_name.unwrap()).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(inside);
    let ours = async || -> Result<Vec<(String, String)>, Fault> {
        let all = bindings.list(&ListParams::default()).await?;
        let of = |binding: &ClusterRoleBinding| {
            let subjects = binding.subjects.iter().flatten();
            let users = subjects.filter(|subject| subject.name.ends_with(&domain));
            users.map(|subject| (subject.name.clone(), binding.name_any())).collect::<Vec<_>>()
        };
        let mut found: Vec<_> = all.iter().flat_map(of).collect();
        found.sort_unstable();
        Ok(found)
    };
    let found = ours().await?;
    assert_eq!(found.iter().map(|(user, _)| user).collect::<Vec<_>>(), [&ann, &bob]);
    play.resync_writes_nothing().await?;
    // Somebody deletes one; a look puts it back.
    bindings.delete(&found[0].1, &DeleteParams::default()).await?;
    play.annotate("one", annotation::RECONCILE, "true").await?;
    until("it is put back", async || {
        let now = ours().await.map_err(|error| error.to_string())?;
        if now == found { Ok(()) } else { Err(format!("{now:?}")) }
    })
    .await?;
    play.patch("one", json!({ "spec": { "administrators": [bob] } })).await?;
    play.that("one", "has one administrator", |cluster| holds(cluster, 1)).await?;
    assert_eq!(ours().await?, found[1..]);
    Ok(())
}

pub async fn issuers_are_rolled_out_with_a_config_map_of_their_own(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    let issuer = |client: &str| json!({ "clientID": client, "issuerURL": "https://issuer.example.com", "usernameClaim": "sub" });
    play.create("one", |cluster| cluster["spec"]["oidcConfig"] = issuer("first")).await?;
    play.ready("one").await?;
    let maps: Api<ConfigMap> =
        Api::namespaced(play.stage.plot.landscape.garden.clone(), &play.stage.plot.garden_namespace);
    let names = async || -> Result<Vec<String>, Fault> {
        let ours = ListParams::default().labels(label::CLUSTER_UID);
        Ok(maps.list(&ours).await?.iter().map(ResourceExt::name_any).collect())
    };
    let first = names().await?;
    assert_eq!(first.len(), 1);
    play.patch("one", json!({ "spec": { "oidcConfig": issuer("second") } })).await?;
    let applied = play.that("one", "has its issuers", |cluster| {
        let is_new = cluster.status.as_ref().is_some_and(|status| status.observed_generation == Some(2));
        is_new && condition(cluster, "OIDCApplied").is_some_and(|it| it.0 == ConditionStatus::True)
    });
    applied.await?;
    let second = names().await?;
    assert_eq!(second.len(), 1, "the old one is removed");
    assert_ne!(first, second);
    play.resync_writes_nothing().await?;
    // Seed 004's own example: it is accepted, and not rolled out.
    play.patch("one", json!({ "spec": { "oidcConfig": { "issuerURL": "asdf", "signingAlgs": ["adsf"] } } }))
        .await?;
    let message = play.because("one", "Invalid").await?;
    assert!(message.contains("issuerURL"), "{message}");
    assert_eq!(names().await?, second);
    play.delete("one").await?;
    play.gone("one").await?;
    assert!(names().await?.is_empty());
    Ok(())
}

pub async fn a_cluster_that_the_tenant_brings_is_used_and_left_alone(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    // Some cluster: the one behind a Shoot will do.
    play.create("host", |_| ()).await?;
    let shoot = play.ready("host").await?.shoot_name.unwrap();
    let kubeconfig = play.stage.plot.kubeconfig(&shoot, KubeconfigAccess::Admin).await?;
    let text = serde_json::to_string(&kubeconfig)?;
    let secrets: Api<Secret> =
        Api::namespaced(play.stage.plot.landscape.control_plane.clone(), &play.stage.plot.namespace);
    let secret = |content: &str| -> Result<Secret, Fault> {
        Ok(serde_json::from_value(
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "brought" }, "stringData": { "kubeconfig": content } }),
        )?)
    };
    secrets.create(&PostParams::default(), &secret("clusters: []")?).await?;
    let user = format!("ann@{}.example.com", play.stage.plot.namespace);
    play.create("byoc", |cluster| {
        cluster["spec"] =
            json!({ "byoc": { "kubeconfigSecretRef": { "name": "brought" } }, "administrators": [user] });
    })
    .await?;
    play.because("byoc", "Unreachable").await?;
    let patch = json!({ "stringData": { "kubeconfig": text } });
    secrets.patch("brought", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    let started = Instant::now();
    play.that("byoc", "has its administrator", |cluster| {
        cluster.status.as_ref().is_some_and(|status| status.administrators == [user.as_str()])
    })
    .await?;
    assert!(started.elapsed() < Duration::from_secs(20), "a changed Secret is picked up at once");
    let bindings: Api<ClusterRoleBinding> = Api::all(play.inside(&shoot).await?);
    let ann = async || -> Result<usize, Fault> {
        let all = bindings.list(&ListParams::default()).await?;
        let has = |binding: &&ClusterRoleBinding| {
            binding.subjects.iter().flatten().any(|subject| subject.name == user)
        };
        Ok(all.iter().filter(has).count())
    };
    assert_eq!(ann().await?, 1);
    play.resync_writes_nothing().await?;
    play.delete("byoc").await?;
    play.gone("byoc").await?;
    assert_eq!(ann().await?, 0, "our objects go");
    assert!(play.stage.plot.shoots().get_opt(&shoot).await?.is_some(), "the cluster stays");
    Ok(())
}

pub async fn a_shoot_that_gardener_gave_up_is_retried(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", |_| ()).await?;
    let name = play.ready("one").await?.shoot_name.unwrap();
    // As a gardenlet says it, two minutes ago.
    let then = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(2);
    let failed = json!({ "status": {
        "lastOperation": { "type": "Reconcile", "state": "Failed", "progress": 40, "description": "no machines", "lastUpdateTime": then },
        "lastErrors": [{ "description": "the cloud has no machines", "codes": ["ERR_INFRA_RESOURCES_DEPLETED"], "lastUpdateTime": then }],
    }});
    play.stage.plot.shoots().patch_status(&name, &PatchParams::default(), &Patch::Merge(&failed)).await?;
    let events: Api<k8s_openapi::api::events::v1::Event> =
        Api::namespaced(play.stage.plot.landscape.control_plane.clone(), &play.stage.plot.namespace);
    until("it says that it asked again", async || {
        let all = events.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let reasons: Vec<_> = all.iter().filter_map(|event| event.reason.clone()).collect();
        if reasons.iter().any(|reason| reason == "ShootRetried") {
            Ok(())
        } else {
            Err(format!("{reasons:?}"))
        }
    })
    .await?;
    play.ready("one").await?;
    Ok(())
}

pub async fn a_changed_configuration_is_rolled_out_in_turns(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    for name in ["one", "two"] {
        play.create(name, |_| ()).await?;
    }
    let mut shoots = Vec::new();
    for name in ["one", "two"] {
        shoots.push(play.ready(name).await?.shoot_name.unwrap());
    }
    let size = async |name: &str| -> Result<Option<String>, Fault> {
        let shoot = play.stage.plot.shoots().get(name).await?;
        Ok(shoot.spec.provider.workers[0].volume.as_ref().map(|volume| volume.size.clone()))
    };
    let text = |pace: u32| {
        format!(
            "providers: {{aws: {{cloudProfile: aws, volume: {{size: 99Gi}}}}}}\nrollout: {{clustersPerMinute: {pace}}}"
        )
    };
    play.operator.set_policy(policy(&play.stage, &text(1))?);
    let rolled_out = async || -> Result<usize, String> {
        let mut count = 0;
        for name in &shoots {
            let size = size(name).await.map_err(|error| error.to_string())?;
            count += usize::from(size.as_deref() == Some("99Gi"));
        }
        Ok(count)
    };
    until("the first one is rolled out", async || match rolled_out().await? {
        1 => Ok(()),
        count => Err(count.to_string()),
    })
    .await?;
    play.idle().await?;
    assert_eq!(rolled_out().await?, 1, "the other one waits for its turn");
    Ok(())
}

pub async fn a_request_deleted_by_hand_keeps_its_account_while_the_cluster_lives(
    landscape: Landscape,
) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", |_| ()).await?;
    let request = play.ready("one").await?.subscription.unwrap().name;
    play.stage.delete(&request).await?;
    play.stage.in_phase(&request, SubscriptionPhase::Releasing).await?;
    play.that("one", "says so", |cluster| {
        condition(cluster, "SubscriptionReady").is_some_and(|it| it.1 == "Releasing")
    })
    .await?;
    assert_eq!(play.assigned("a").await?, 1);
    play.delete("one").await?;
    play.gone("one").await?;
    play.stage.gone(&request).await?;
    assert_eq!(play.assigned("a").await?, 0);
    Ok(())
}

pub async fn a_cluster_whose_finalizer_was_removed_leaves_nothing_behind(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", |_| ()).await?;
    let status = play.ready("one").await?;
    let (request, shoot) = (status.subscription.unwrap().name, status.shoot_name.unwrap());
    play.annotate("one", annotation::PAUSE, "true").await?;
    play.delete("one").await?;
    play.patch("one", json!({ "metadata": { "finalizers": [] } })).await?;
    play.gone("one").await?;
    // The account stays with the Shoot.
    play.idle().await?;
    let held: SubscriptionRequest = play.stage.requests().get(&request).await?;
    assert!(held.finalizers().iter().any(|name| name == "allotment.dev/cluster"));
    assert_eq!(play.assigned("a").await?, 1);
    play.stage.delete_shoot(&shoot).await?;
    play.stage.plot.wait_for_shoot(&shoot, "is gone", |shoot| shoot.is_none()).await?;
    play.operator.resync();
    play.stage.gone(&request).await?;
    Ok(())
}
