//! A plot as a platform cluster, and what is put on it.

use allotment_api::openmcp::{AccessRequest, Cluster, ClusterProfile, ClusterRequest};
use allotment_core::openmcp::policy::Policy;
use allotment_operator::{
    metrics::Metrics,
    openmcp::{
        Instance, Landscapes, Parts, Settings,
        landscapes::{self, Dial},
    },
    runtime::clock::Clock,
    target::{Connect, ConnectError},
};
use allotment_testing::{Landscape, Plot};
use futures::FutureExt;
use http::Request;
use jiff::{SignedDuration, Timestamp};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams, TypeMeta},
    client::Body,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    fmt::Debug,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{task::JoinHandle, time::Instant};
use tower::service_fn;

pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// What is said where no Shoot can be reached.
const CUT: &str = "the way is cut";

/// A plot as a platform cluster.
pub struct Platform {
    pub plot: Plot,
    /// What namespaces may refer to.
    pub policy: Arc<Policy>,
    pub metrics: Metrics,
    /// How far the controllers' clock is ahead, in seconds.
    pub ahead: Arc<AtomicI64>,
    /// How many tokens Shoots were asked for.
    pub tokens: Arc<AtomicUsize>,
    /// Whether no Shoot can be reached.
    pub is_cut: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Platform {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Platform {
    /// With nobody who looks after Shoots.
    pub async fn new(landscape: &Landscape) -> Result<Self, Fault> {
        landscape.install_crds().await?;
        Ok(Self::on(landscape.plot_without_gardenlet().await?))
    }

    /// With somebody who looks after Shoots.
    pub async fn with_gardenlet(landscape: &Landscape) -> Result<Self, Fault> {
        landscape.install_crds().await?;
        Ok(Self::on(landscape.plot().await?))
    }

    fn on(plot: Plot) -> Self {
        let (ahead, is_cut, tokens) = (Arc::default(), Arc::default(), Arc::default());
        // As upstream has it; tests of what tenants may refer to set another one.
        let policy = Arc::new(Policy::trusted());
        Self { plot, policy, metrics: Metrics::new(), ahead, tokens, is_cut, tasks: Vec::new() }
    }

    pub fn client(&self) -> Client {
        self.plot.landscape.control_plane.clone()
    }

    pub fn clock(&self) -> Clock {
        let ahead = self.ahead.clone();
        Clock::new(move || Timestamp::now() + SignedDuration::from_secs(ahead.load(Ordering::Relaxed)))
    }

    fn connect(&self) -> Connect {
        let (https, is_cut) = (Connect::over_https(&self.metrics), self.is_cut.clone());
        let tokens = self.tokens.clone();
        Connect::new(move |key, given| {
            let (https, is_cut, tokens) = (https.clone(), is_cut.clone(), tokens.clone());
            async move {
                if is_cut.load(Ordering::Relaxed) {
                    return Err(ConnectError(CUT.to_owned()));
                }
                let client = https.make(key, given).await?;
                // Whoever got in before the cut gets no answer after it either.
                Ok(refused(client, CUT, move |request| {
                    let is_cut = is_cut.load(Ordering::Relaxed);
                    let is_token = request.uri().path().ends_with("/token");
                    tokens.fetch_add(usize::from(is_token && !is_cut), Ordering::Relaxed);
                    is_cut
                }))
            }
            .boxed()
        })
    }

    /// What a provider of this name is made of. The environment is the plot's own.
    pub fn parts(&self, provider: &str) -> Parts {
        self.parts_in(&self.plot.namespace, provider)
    }

    /// The same in another environment.
    pub fn parts_in(&self, environment: &str, provider: &str) -> Parts {
        let instance = Instance { environment: environment.to_owned(), provider: provider.to_owned() };
        let settings = Settings {
            instance: instance.clone(),
            identity: provider.to_owned(),
            lease_namespace: None,
            own_namespace: self.plot.namespace.clone(),
            namespace: Some(self.plot.namespace.clone()),
            policy: self.policy.clone(),
            workers: 4,
        };
        let landscapes = Landscapes::new(landscapes::Parts {
            platform: self.client(),
            instance,
            dial: Dial::over_https(&self.metrics),
            connect: self.connect(),
            clock: self.clock(),
            metrics: self.metrics.clone(),
        });
        Parts {
            platform: self.client(),
            landscapes,
            settings,
            clock: self.clock(),
            metrics: self.metrics.clone(),
        }
    }

    /// Ends everything that runs, as a crash would.
    pub fn crash(&mut self) {
        self.tasks.drain(..).for_each(|task| task.abort());
    }

    /// Runs something until the test ends.
    pub fn run(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.push(tokio::spawn(work));
    }

    pub fn api<K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.client(), &self.plot.namespace)
    }

    pub fn access_requests(&self) -> Api<AccessRequest> {
        self.api()
    }

    pub fn cluster_requests(&self) -> Api<ClusterRequest> {
        self.api()
    }

    pub fn clusters(&self) -> Api<Cluster> {
        self.api()
    }

    pub fn here(&self, name: &str) -> Value {
        json!({ "name": name, "namespace": self.plot.namespace })
    }

    /// A profile of this name in the plot's environment.
    pub async fn profile(&self, provider: &str, config: &str) -> Result<String, Fault> {
        let name = format!("{}.{provider}.{config}", self.plot.namespace);
        let spec = json!({
            "providerRef": { "name": provider }, "providerConfigRef": { "name": config }, "supportedVersions": [],
        });
        create::<ClusterProfile>(&Api::all(self.client()), json!({ "name": name }), spec).await?;
        Ok(name)
    }

    pub async fn cluster(&self, name: &str, profile: &str) -> Result<Cluster, Fault> {
        let spec = json!({ "profile": profile, "tenancy": "Exclusive", "purposes": ["test"] });
        create(&self.clusters(), json!({ "name": name }), spec).await
    }

    pub async fn granted(&self, name: &str, cluster: &str) -> Result<(), Fault> {
        create::<ClusterRequest>(
            &self.cluster_requests(),
            json!({ "name": name }),
            json!({ "purpose": "test" }),
        )
        .await?;
        let status = json!({ "phase": "Granted", "observedGeneration": 1, "cluster": self.here(cluster) });
        let (params, patch) = (PatchParams::default(), json!({ "status": status }));
        self.cluster_requests().patch_status(name, &params, &Patch::Merge(&patch)).await?;
        Ok(())
    }
}

/// A client whose calls are answered where `is_answered` says so, and never elsewhere.
pub fn tapped(
    client: Client,
    is_answered: impl Fn(&Request<Body>) -> bool + Clone + Send + 'static,
) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (client, is_answered) = (client.clone(), is_answered(&request));
        async move {
            match is_answered {
                true => client.send(request).await,
                false => std::future::pending().await,
            }
        }
    });
    Client::new(service, namespace)
}

/// A client whose calls fail for this reason where `is_refused` says so.
pub fn refused(
    client: Client,
    why: &'static str,
    is_refused: impl Fn(&Request<Body>) -> bool + Clone + Send + 'static,
) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (client, is_refused) = (client.clone(), is_refused(&request));
        async move {
            match is_refused {
                true => Err(kube::Error::Service(why.into())),
                false => client.send(request).await,
            }
        }
    });
    Client::new(service, namespace)
}

/// Creates an object whose kind and version need not be said.
pub async fn create<K>(api: &Api<K>, metadata: Value, spec: Value) -> Result<K, Fault>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    let TypeMeta { api_version, kind } = TypeMeta::resource::<K>();
    let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec });
    Ok(api.create(&PostParams::default(), &serde_json::from_value(object)?).await?)
}

pub async fn patch<K>(api: &Api<K>, name: &str, patch: Value) -> Result<K, Fault>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    Ok(api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await?)
}

pub async fn delete<K>(api: &Api<K>, name: &str) -> Result<(), Fault>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    api.delete(name, &DeleteParams::default()).await?;
    Ok(())
}

/// Waits until an object is what is waited for.
pub async fn that<K>(api: &Api<K>, name: &str, what: &str, is: impl Fn(&K) -> bool) -> Result<K, Fault>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    until(&format!("{} {name} {what}", K::kind(&())), async || {
        let object = api.get(name).await.map_err(|error| error.to_string())?;
        if is(&object) { Ok(object) } else { Err(json!(object).to_string()) }
    })
    .await
}

pub async fn gone<K>(api: &Api<K>, name: &str) -> Result<(), Fault>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    until(&format!("{} {name} is gone", K::kind(&())), async || match api.get_opt(name).await {
        Ok(None) => Ok(()),
        Ok(Some(object)) => Err(format!("{:?}", object.finalizers())),
        Err(error) => Err(error.to_string()),
    })
    .await
}

/// So long is waited for anything: whoever shares the machine may need it for longer than one thinks.
const PATIENCE: Duration = Duration::from_secs(90);

/// Tries, twenty times a second.
pub async fn until<T>(what: &str, attempt: impl AsyncFn() -> Result<T, String>) -> Result<T, Fault> {
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(last) if Instant::now() > end => {
                return Err(format!("{what}: not in {} s; last seen: {last}", PATIENCE.as_secs()).into());
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// The condition of this type in any object: its status, reason and message.
pub fn condition<K: Serialize>(object: &K, type_: &str) -> Option<(String, String, String)> {
    let object = json!(object);
    let all = object.pointer("/status/conditions")?.as_array()?;
    let found = all.iter().find(|condition| condition["type"] == type_)?;
    let part = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    Some((part("status"), part("reason"), part("message")))
}

pub fn phase<K: Serialize>(object: &K) -> String {
    json!(object).pointer("/status/phase").and_then(Value::as_str).unwrap_or_default().to_owned()
}
