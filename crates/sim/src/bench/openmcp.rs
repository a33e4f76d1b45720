//! What the Clusters and AccessRequests of openMCP cost, and what a restart of the provider costs when there is nothing to do.
//!
//! On the embedded servers, with the stand-in of the gardenlet; the provider and the generic AccessRequest controller run.

use super::{
    Measure, Outcome,
    clusters::{Field, GARDEN},
    kubeconfigs::counted,
    tally::{Tally, client},
};
use allotment_api::openmcp::{
    AccessRequest, Cluster,
    gardener::{Landscape, ProviderConfig},
};
use allotment_core::openmcp::schedule::Scheduler;
use allotment_operator::{
    metrics::Metrics,
    openmcp::{
        Instance, Landscapes, Parts, Settings, access,
        landscapes::{self, Dial},
        process::{Controller, Controllers},
    },
    runtime::clock::Clock,
    target::Connect,
};
use futures::{StreamExt, TryStreamExt, future::pending, stream};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    error::Error,
    fmt::Debug,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;

const COUNT: u32 = 500;

const CONCURRENCY: usize = 16;

/// Finalizer, two looks, where it will be, the Shoot, labels, and the status when it is made and ready.
const FEWEST_PER_CLUSTER: f64 = 8.0;

/// Handed over with its status, finalizer, what is about to be asked for, the admin kubeconfig and whose it is, the Secret, and
/// the status.
const FEWEST_PER_REQUEST: f64 = 8.0;

/// The provider with everybody who works for it, and what they ask of the platform and of the garden.
struct Provider {
    controllers: Controllers,
    metrics: Metrics,
    task: JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Provider {
    fn start(field: &Field, tally: &Arc<Tally>) -> Self {
        let (metrics, clock) = (Metrics::new(), Clock::system());
        let instance = Instance { environment: "bench".to_owned(), provider: "gardener".to_owned() };
        let platform = tally.client(&field.garden.control_plane);
        let garden = tally.client(&field.garden.garden);
        let dial = Dial::new(move |_, _| {
            let garden = garden.clone();
            Box::pin(async move { Ok(garden) })
        });
        let landscapes = Landscapes::new(landscapes::Parts {
            platform: platform.clone(),
            instance: instance.clone(),
            // How fast it could be, and not how hard it may press.
            dial: dial.with_rate(100_000),
            connect: Connect::over_https(&metrics),
            clock: clock.clone(),
            metrics: metrics.clone(),
        });
        let settings = Settings {
            instance,
            identity: "bench".to_owned(),
            lease_namespace: None,
            own_namespace: "default".to_owned(),
            namespace: None,
            policy: Default::default(),
            workers: 8,
        };
        let parts = Parts { platform, landscapes, settings, clock, metrics: metrics.clone() };
        let wanted = BTreeSet::from([Controller::Cluster, Controller::AccessRequest, Controller::Generic]);
        let controllers =
            Controllers::new(&parts, &wanted, access::Settings::default(), Scheduler::default());
        let running = controllers.clone();
        let task = tokio::spawn(async move { running.run_until(pending()).await });
        Self { controllers, metrics, task }
    }

    /// Waits until there is nothing to do.
    async fn rests(&self) {
        let is_idle = || {
            let now = tokio::time::Instant::now();
            let Controllers { landscapes, provider, access, generic, scheduler: _ } = &self.controllers;
            landscapes.is_complete()
                && self.controllers.is_complete()
                && provider.as_ref().is_none_or(|it| it.is_idle_until(now))
                && access.as_ref().is_none_or(|it| it.is_idle_until(now))
                && generic.as_ref().is_none_or(|it| it.is_idle_until(now))
        };
        while !is_idle() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

pub(super) async fn measure(progress: &impl Fn(&str)) -> Outcome<Vec<Measure>> {
    progress(&format!("{COUNT} Clusters and {COUNT} AccessRequests of openMCP"));
    let (field, tally) = (Field::new().await?, Arc::new(Tally::default()));
    configure(&field).await?;
    let provider = Provider::start(&field, &tally);
    provider.rests().await;
    tally.reset();
    let clusters: Api<Cluster> = Api::default_namespaced(client(&field.garden.control_plane));
    let started = Instant::now();
    make(&clusters, |number| {
        json!({ "name": name(number), "spec": { "profile": "bench.gardener.aws", "tenancy": "Exclusive" } })
    })
    .await?;
    until(&clusters, "Ready").await?;
    let ready = started.elapsed().as_secs_f64();
    let (per_cluster, bytes) = tally.per(COUNT);
    provider.rests().await;
    tally.reset();
    let requests: Api<AccessRequest> = Api::default_namespaced(client(&field.garden.control_plane));
    let rules =
        json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] }]);
    let started = Instant::now();
    make(&requests, |number| {
        let cluster = json!({ "name": name(number), "namespace": "default" });
        json!({ "name": name(number), "spec": { "clusterRef": cluster, "token": { "permissions": [{ "rules": rules }] } } })
    })
    .await?;
    until(&requests, "Granted").await?;
    let granted = started.elapsed().as_secs_f64();
    let (per_request, _) = tally.per(COUNT);
    let inside = counted(&provider.metrics, "allotment_api_requests_total", "target=\"cluster\"");
    let admin = counted(&provider.metrics, "allotment_admin_kubeconfigs_total", "");
    drop(provider);
    // The same again, with nothing to do.
    tally.reset();
    let started = Instant::now();
    let provider = Provider::start(&field, &tally);
    provider.rests().await;
    let restart = started.elapsed().as_secs_f64();
    // What a look would have done late.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let of = |what: &str| format!("openMCP: {what}, {COUNT}");
    Ok(vec![
        Measure::new(of("Clusters from nothing to Ready"), ready, "s"),
        Measure::new(of("calls per Cluster, against the fewest"), per_cluster, "calls")
            .against(FEWEST_PER_CLUSTER),
        Measure::new(of("bytes per Cluster"), bytes, "bytes"),
        Measure::new(of("AccessRequests from nothing to Granted"), granted, "s"),
        Measure::new(of("calls outside per AccessRequest, against the fewest"), per_request, "calls")
            .against(FEWEST_PER_REQUEST),
        Measure::new(of("calls inside per AccessRequest"), inside / f64::from(COUNT), "calls"),
        Measure::new(of("admin kubeconfigs fetched, against one per Cluster"), admin, "calls")
            .against(f64::from(COUNT)),
        Measure::new(of("restart with nothing to do"), restart, "s"),
        Measure::new(of("calls of a restart with nothing to do"), tally.calls() as f64, "calls"),
        Measure::new(of("writes of a restart with nothing to do"), tally.writes() as f64, "calls"),
    ])
}

fn name(number: u32) -> String {
    format!("c-{number:04}")
}

/// A Landscape and a ProviderConfig. How the garden is reached is not what is measured: the kubeconfig is only read.
async fn configure(field: &Field) -> Outcome<()> {
    let platform = client(&field.garden.control_plane);
    let kubeconfig = json!({
        "current-context": "c",
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "clusters": [{ "name": "c", "cluster": { "server": "https://garden.example.com" } }],
        "users": [{ "name": "u", "user": { "token": "t" } }],
    });
    let spec = json!({ "access": { "inline": kubeconfig.to_string() } });
    create(&Api::<Landscape>::all(platform.clone()), json!({ "name": "l", "spec": spec })).await?;
    let template = json!({ "spec": {
        "cloudProfile": { "kind": "CloudProfile", "name": "aws" },
        "credentialsBindingName": "account-0",
        "region": "eu-central-1",
        "networking": { "type": "calico", "nodes": "10.250.0.0/16" },
        "provider": {
            "type": "aws",
            "infrastructureConfig": {
                "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1", "kind": "InfrastructureConfig",
                "networks": { "vpc": { "cidr": "10.250.0.0/16" }, "zones": [{
                    "name": "eu-central-1a", "workers": "10.250.0.0/19", "public": "10.250.32.0/20", "internal": "10.250.48.0/20",
                }] },
            },
            "workers": [{
                "name": "w", "minimum": 1, "maximum": 2, "zones": ["eu-central-1a"],
                "machine": { "type": "m6i.large" }, "volume": { "type": "gp3", "size": "80Gi" },
            }],
        },
    } });
    let spec = json!({
        "providerRef": { "name": "gardener" }, "landscapeRef": { "name": "l" },
        "project": GARDEN.trim_start_matches("garden-"), "shootTemplate": template,
    });
    create(&Api::<ProviderConfig>::all(platform), json!({ "name": "aws", "spec": spec })).await
}

/// Makes many at once.
async fn make<K: Kind>(api: &Api<K>, object: impl Fn(u32) -> Value) -> Outcome<()> {
    let made = stream::iter(0..COUNT).map(|number| create(api, object(number)));
    made.buffer_unordered(CONCURRENCY).try_collect::<Vec<_>>().await?;
    Ok(())
}

trait Kind: kube::Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned {}

impl<K: kube::Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned> Kind for K {}

async fn create<K: Kind>(api: &Api<K>, object: Value) -> Outcome<()> {
    let types = kube::api::TypeMeta::resource::<K>();
    let object = json!({
        "apiVersion": types.api_version, "kind": types.kind,
        "metadata": { "name": object["name"] }, "spec": object["spec"],
    });
    let object = serde_json::from_value(object).map_err(Box::<dyn Error + Send + Sync>::from)?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

/// Waits until all are in this phase.
async fn until<K: Kind>(api: &Api<K>, phase: &str) -> Outcome<()> {
    loop {
        let all = api.list(&ListParams::default()).await?;
        let is_there = |object: &K| json!(object).pointer("/status/phase").is_some_and(|it| it == phase);
        if all.items.iter().all(is_there) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A Cluster, an AccessRequest to it and what is known of its Secret, as large as they are when all is done.
pub(super) fn objects(number: u32) -> [Value; 3] {
    let (name, uid) = (name(number), format!("{number:08x}-0000-4000-8000-000000000000"));
    let metadata = |finalizer: &str| {
        json!({
            "name": name, "namespace": "default", "uid": uid, "resourceVersion": "1", "generation": 1,
            "finalizers": [format!("gardener.clusters.openmcp.cloud/{finalizer}")],
            "labels": { "clusters.openmcp.cloud/provider": "gardener", "clusters.openmcp.cloud/profile": "bench.gardener.aws" },
        })
    };
    let condition = |type_: &str| {
        json!({
            "type": type_, "status": "True", "reason": "Ready", "message": "all is well", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let conditions = |types: &[&str]| types.iter().map(|type_| condition(type_)).collect::<Vec<_>>();
    let shoot = json!({ "metadata": { "name": format!("s-{number:08x}"), "namespace": GARDEN, "uid": uid } });
    let cluster = json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster", "metadata": metadata("cluster"),
        "spec": { "profile": "bench.gardener.aws", "tenancy": "Exclusive", "purposes": ["bench"] },
        "status": {
            "phase": "Ready", "observedGeneration": 1, "providerStatus": { "shoot": shoot },
            "apiServer": format!("https://api.s-{number:08x}.example.com"),
            "endpoints": [{ "name": "external", "url": format!("https://api.s-{number:08x}.example.com") }],
            "conditions": conditions(&["ShootManagement", "Gardener_APIServerAvailable", "Gardener_ControlPlaneHealthy"]),
        },
    });
    let rules =
        json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] }]);
    let request = json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest", "metadata": metadata("accessrequest"),
        "spec": {
            "clusterRef": { "name": name, "namespace": "default" }, "token": { "permissions": [{ "rules": rules }] },
        },
        "status": {
            "phase": "Granted", "observedGeneration": 1, "secretRef": { "name": format!("{name}.kubeconfig") },
            "conditions": conditions(&["Resolved", "FoundClusterAndProfile", "ShootAccess", "SecretExistsAndIsValid"]),
        },
    });
    let owner = json!({
        "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest", "name": name, "uid": uid, "controller": true,
    });
    let annotations = json!({
        "gardener.clusters.openmcp.cloud/shoot-uid": uid, "gardener.clusters.openmcp.cloud/made-for": "abcdefgh",
        "gardener.clusters.openmcp.cloud/created": "1767225600", "gardener.clusters.openmcp.cloud/expires": "1769817600",
    });
    let secret = json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {
            "name": format!("{name}.kubeconfig"), "namespace": "default", "uid": uid, "resourceVersion": "1",
            "ownerReferences": [owner], "annotations": annotations,
        },
    });
    [cluster, request, secret]
}
