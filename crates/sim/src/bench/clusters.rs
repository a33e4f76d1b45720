//! What Clusters cost on their way to ready, and what a restart costs when there is nothing to do.
//!
//! On the embedded servers, with the stand-in of the gardenlet; both operators run. Today's operator polls every cluster once
//! or twice a minute, five calls a second for all of them.

use super::{
    Measure, Outcome,
    tally::{Tally, client},
};
use allotment_api::{
    crds,
    kyma::{BindingKind, Cluster, ClusterPhase},
    names::finalizer,
};
use allotment_core::{
    cluster::Clusters,
    pool::{LabelKeys, MultiAccount},
    rules,
    tenancy::Tenancy,
};
use allotment_garden::{
    embedded::{EmbeddedGarden, EmbeddedServers},
    gardenlet::{Gardenlet, Scripts, ShootKey, ShootServer, ShootServers},
};
use allotment_operator::{
    cluster,
    ledger::{Ledger, Place},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
    subscription,
    target::{self, Connect, Targets},
};
use futures::{StreamExt, TryStreamExt, future::BoxFuture, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{DynamicObject, ListParams, PostParams, WatchEvent, WatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    error::Error,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::OnceCell,
    task::{JoinHandle, JoinSet},
};

pub(super) const GARDEN: &str = "garden-kyma";

const SIZES: [u32; 2] = [1_000, 5_000];

/// Tenants, each with one account.
const TENANTS: u32 = 50;

/// Finalizer, request, the three looks before a Shoot is made, the Shoot, and the status when it is asked for, made and ready.
const FEWEST_CALLS: f64 = 9.0;

const CONCURRENCY: usize = 16;

/// How long what is on its way may take to arrive.
const SETTLED: Duration = Duration::from_secs(1);

pub(super) async fn measure(progress: &impl Fn(&str)) -> Outcome<Vec<Measure>> {
    let mut measures = Vec::new();
    for count in SIZES {
        progress(&format!("{count} Clusters to ready"));
        let field = Field::new().await?;
        measures.extend(field.measure(count).await?);
    }
    Ok(measures)
}

/// A garden with a pool, and everybody at work but the cluster operator.
pub(super) struct Field {
    pub(super) garden: EmbeddedGarden,
    _at_work: JoinSet<()>,
    _gardenlet: allotment_garden::gardenlet::Running,
}

impl Field {
    pub(super) async fn new() -> Outcome<Self> {
        let garden = EmbeddedGarden::new()?;
        let definitions: Api<CustomResourceDefinition> = Api::all(client(&garden.control_plane));
        for definition in crds::all() {
            definitions.create(&PostParams::default(), &definition).await?;
        }
        let secrets = api(&garden, "", "v1", "Secret");
        let bindings = api(&garden, "security.gardener.cloud", "v1alpha1", "CredentialsBinding");
        for number in 0..TENANTS {
            let name = format!("account-{number}");
            create(&secrets, json!({ "metadata": { "name": name } })).await?;
            let reference =
                json!({ "apiVersion": "v1", "kind": "Secret", "name": name, "namespace": GARDEN });
            let labels = json!({ "hyperscalerType": "aws" });
            let binding = json!({
                "metadata": { "name": name, "labels": labels }, "provider": { "type": "aws" }, "credentialsRef": reference,
            });
            create(&bindings, binding).await?;
        }
        let servers = Arc::new(OneServer { servers: garden.shoots.clone(), one: OnceCell::new() });
        let gardenlet =
            Gardenlet::new(client(&garden.garden), servers, Scripts::default()).start(Some(GARDEN));
        let subscription = subscription_operator(&garden).await?;
        let mut at_work = JoinSet::new();
        at_work.spawn(async move { subscription.run_as_leader().await });
        Ok(Self { garden, _at_work: at_work, _gardenlet: gardenlet })
    }

    /// A cluster operator at work.
    pub(super) fn start(&self, tally: &Arc<Tally>) -> Outcome<(cluster::Operator, JoinHandle<()>)> {
        let (clock, metrics) = (Clock::system(), Metrics::new());
        let (control_plane, garden) =
            (tally.client(&self.garden.control_plane), tally.client(&self.garden.garden));
        let targets = targets(&self.garden, &metrics);
        let clusters: Clusters = serde_saphyr::from_str("providers: {aws: {cloudProfile: aws}}")?;
        let operator = cluster::Operator::new(cluster::Parts {
            control_plane,
            garden,
            targets,
            settings: cluster::Settings {
                garden_namespace: GARDEN.to_owned(),
                project: "kyma".to_owned(),
                cluster_namespace: None,
                lease_namespace: "default".to_owned(),
                identity: "bench".to_owned(),
                binding_kind: BindingKind::default(),
                labels: LabelKeys::default(),
                workers: 8,
            },
            policy: cluster::Policy {
                clusters: Arc::new(clusters),
                tenancy: Arc::new(Tenancy::trusted()),
                rules: None,
            },
            clock,
            metrics,
        });
        let task = tokio::spawn({
            let operator = operator.clone();
            async move { operator.run_as_leader().await }
        });
        Ok((operator, task))
    }

    /// Asks for so many Clusters, and waits until all are ready.
    pub(super) async fn ready(&self, count: u32) -> Outcome<()> {
        let clusters: Api<Cluster> = Api::default_namespaced(client(&self.garden.control_plane));
        let made = stream::iter(0..count).map(|number| {
            let clusters = &clusters;
            async move {
                let cluster = serde_json::from_value(cluster(number))?;
                Ok::<_, Box<dyn Error + Send + Sync>>(
                    clusters.create(&PostParams::default(), &cluster).await?,
                )
            }
        });
        made.buffer_unordered(CONCURRENCY).try_collect::<Vec<_>>().await?;
        // Lists of thousands would be most of what is measured: one, and a watch for as long as it lasts.
        let is_ready = |cluster: &Cluster| {
            cluster.status.as_ref().and_then(|status| status.phase) == Some(ClusterPhase::Ready)
        };
        loop {
            let list = clusters.list(&ListParams::default()).await?;
            let version = list.metadata.resource_version.clone().unwrap_or_default();
            let name = |cluster: Cluster| cluster.metadata.name;
            let mut ready: BTreeSet<_> = list.items.into_iter().filter(is_ready).map(name).collect();
            let mut events = pin!(clusters.watch(&WatchParams::default(), &version).await?);
            while ready.len() < count as usize {
                match events.try_next().await {
                    Ok(Some(WatchEvent::Modified(cluster))) if is_ready(&cluster) => {
                        ready.insert(name(cluster));
                    }
                    Ok(Some(WatchEvent::Error(_)) | None) | Err(_) => break,
                    Ok(Some(_)) => (),
                }
            }
            if ready.len() == count as usize {
                return Ok(());
            }
        }
    }

    async fn measure(&self, count: u32) -> Outcome<Vec<Measure>> {
        let tally = Arc::new(Tally::default());
        let (operator, task) = self.start(&tally)?;
        let started = Instant::now();
        self.ready(count).await?;
        let seconds = started.elapsed().as_secs_f64();
        let (calls, bytes) = tally.per(count);
        // What Gardener says after a Cluster is ready is still to be written down.
        until_idle(&operator).await;
        tokio::time::sleep(SETTLED).await;
        until_idle(&operator).await;
        task.abort();
        // The same again, with nothing to do.
        tally.reset();
        let (operator, task) = self.start(&tally)?;
        let started = Instant::now();
        until_idle(&operator).await;
        let restart = started.elapsed().as_secs_f64();
        // What a look would have done late.
        tokio::time::sleep(SETTLED).await;
        task.abort();
        let of = |what: &str| format!("{what}, {count} Clusters");
        Ok(vec![
            Measure::new(of("from nothing to ready"), seconds, "s"),
            Measure::new(of("calls per Cluster, against the fewest"), calls, "calls").against(FEWEST_CALLS),
            Measure::new(of("bytes per Cluster"), bytes, "bytes"),
            Measure::new(of("restart with nothing to do"), restart, "s"),
            Measure::new(of("calls of a restart with nothing to do"), tally.calls() as f64, "calls"),
            Measure::new(of("writes of a restart with nothing to do"), tally.writes() as f64, "calls"),
        ])
    }
}

async fn until_idle(operator: &cluster::Operator) {
    while !operator.is_complete() || !operator.is_idle_until(tokio::time::Instant::now()) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(super) fn targets(garden: &EmbeddedGarden, metrics: &Metrics) -> Targets {
    Targets::new(target::Parts {
        garden: client(&garden.garden),
        garden_namespace: GARDEN.to_owned(),
        control_plane: client(&garden.control_plane),
        clock: Clock::system(),
        connect: Connect::over_https(metrics),
        metrics: metrics.clone(),
    })
}

async fn subscription_operator(garden: &EmbeddedGarden) -> Outcome<subscription::Operator> {
    let options = rules::Options { enabled_plans: Some(vec!["aws".to_owned()]), ..rules::Options::default() };
    let rules = rules::load("rule: [aws]", &options).rules.ok_or("the rules of the benchmark are bad")?;
    let place = Place { garden: "bench".to_owned(), project: GARDEN.to_owned() };
    Ok(subscription::Operator::new(subscription::Parts {
        control_plane: client(&garden.control_plane),
        garden: client(&garden.garden),
        ledger: Ledger::open("sqlite::memory:", place).await?,
        settings: subscription::Settings {
            garden_namespace: GARDEN.to_owned(),
            request_namespace: None,
            lease_namespace: "default".to_owned(),
            identity: "bench".to_owned(),
            binding_kind: BindingKind::CredentialsBinding,
            labels: LabelKeys::default(),
            workers: 8,
        },
        policy: subscription::Policy {
            rules: Arc::new(rules),
            multi_account: MultiAccount::default(),
            cap: None,
            tenancy: Arc::new(Tenancy::trusted()),
        },
        clock: Clock::system(),
        metrics: Metrics::new(),
    }))
}

/// One API server for all Shoots: thousands of them are not what is measured.
struct OneServer {
    servers: Arc<EmbeddedServers>,
    one: OnceCell<ShootServer>,
}

impl ShootServers for OneServer {
    fn server<'a>(
        &'a self,
        shoot: &'a ShootKey,
    ) -> BoxFuture<'a, Result<ShootServer, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move { Ok(self.one.get_or_try_init(|| self.servers.server(shoot)).await?.clone()) })
    }
}

fn cluster(number: u32) -> Value {
    json!({
        "apiVersion": "operator.kyma-project.io/v1alpha1",
        "kind": "Cluster",
        "metadata": { "name": format!("c-{number:05}"), "labels": { "globalaccountid": format!("t-{}", number % TENANTS) } },
        "spec": {
            "core": { "purpose": "production", "region": "eu-central-1" },
            "infrastructure": {
                "provider": "aws", "machineType": "m5.large", "autoScalerMin": 3, "autoScalerMax": 20, "numberOfZones": 3,
                "subscriptionSelector": format!("globalaccount:t-{}", number % TENANTS),
            },
        },
    })
}

/// A Cluster and its request, as large as they are when it is ready.
pub(super) fn objects(number: u32) -> [Value; 2] {
    let mut cluster = cluster(number);
    let uid = format!("{number:08x}-0000-4000-8000-000000000000");
    let name = format!("c-{number:05}");
    let condition = |type_: &str, message: &str| {
        json!({
            "type": type_, "status": "True", "reason": "Ready", "message": message, "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    cluster["metadata"]["namespace"] = json!("default");
    cluster["metadata"]["uid"] = json!(uid);
    cluster["metadata"]["finalizers"] = json!([finalizer::CLUSTER]);
    cluster["status"] = json!({
        "phase": "Ready", "progress": 100, "shootName": format!("c-{number:07x}"), "shootUID": uid, "observedGeneration": 1,
        "apiServer": format!("https://api.c-{number:07x}.kyma.example.com"), "kubernetesVersion": "1.35.4",
        "subscription": { "name": format!("{name}-{number:08x}"), "bindingName": "account-000" },
        "lastOperation": { "type": "Create", "state": "Succeeded", "description": "Shoot cluster has been successfully reconciled." },
        "conditions": [
            condition("ClusterProvisioned", "cluster running"),
            condition("ShootHealthy", "all of Gardener's conditions hold"),
            condition("SubscriptionReady", "account account-000, for t-0"),
        ],
    });
    let owner = json!({
        "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster", "name": name, "uid": uid, "controller": true,
    });
    let request = json!({
        "apiVersion": "control-plane.kyma-project.io/v1alpha1",
        "kind": "SubscriptionRequest",
        "metadata": {
            "name": format!("{name}-{number:08x}"), "namespace": "default", "uid": uid, "ownerReferences": [owner],
            "finalizers": [finalizer::CLUSTER, finalizer::SUBSCRIPTION],
        },
        "spec": { "provider": "aws", "subscriptionSelector": "globalaccount:t-0", "hyperscalerRegion": "eu-central-1" },
        "status": {
            "phase": "Bound", "gardenerSecretName": "account-000", "tenantName": "t-0", "hyperscalerType": "aws",
            "conditions": [condition("Ready", "account account-000, for t-0"), condition("PoolAvailable", "account account-000")],
        },
    });
    [cluster, request]
}

fn api(garden: &EmbeddedGarden, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(client(&garden.garden), GARDEN, &resource)
}

async fn create(api: &Api<DynamicObject>, object: Value) -> Outcome<()> {
    let object: DynamicObject = serde_json::from_value(object)?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}
