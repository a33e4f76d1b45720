//! A piece of a landscape that belongs to one test.

use super::{ClientError, Landscape};
use crate::gardenlet::{Gardenlet, Running, Scripts};
use allotment_api::gardener::{
    CredentialsBinding, IssuedKubeconfig, KubeconfigAccess, Project, SHORTEST_LIFE_SECONDS, Shoot,
    WorkloadIdentity,
};
use allotment_api::kyma::Provider;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, Resource, ResourceExt,
    api::{PostParams, TypeMeta},
    config::Kubeconfig,
};
use secrecy::ExposeSecret;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    fmt::Debug,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime},
};

/// A project of its own in the garden, a namespace of its own in the control plane, and a stand-in of the gardenlet that
/// looks after nothing else.
pub struct Plot {
    /// The landscape it is in.
    pub landscape: Landscape,
    /// The project in the garden. Its name is short: with that of a Shoot it may have 21 characters.
    pub project: String,
    /// The namespace of the project.
    pub garden_namespace: String,
    /// The namespace in the control plane.
    pub namespace: String,
    /// What the stand-in is told to do with Shoots.
    pub scripts: Scripts,
    gardenlet: Option<Running>,
}

/// Why something about a plot did not work.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// A call failed.
    #[error("cannot {what}: {source}")]
    Call {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: kube::Error,
    },
    /// Something that we made is not understood.
    #[error("cannot read {what}: {source}")]
    Json {
        /// What.
        what: &'static str,
        /// Why not.
        source: serde_json::Error,
    },
    /// A kubeconfig that does not work.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// It did not become what was waited for.
    #[error("{what} did not come about in {} seconds; last seen: {last}", .seconds)]
    TimedOut {
        /// What was waited for.
        what: String,
        /// For how long.
        seconds: u64,
        /// What was there instead.
        last: String,
    },
}

impl Landscape {
    /// A new plot. Every plot of a process has another name; several processes may share a landscape.
    pub async fn plot(&self) -> Result<Plot, PlotError> {
        let mut plot = self.plot_without_gardenlet().await?;
        let gardenlet = Gardenlet::new(self.garden.clone(), self.servers.clone(), plot.scripts.clone());
        plot.gardenlet = Some(gardenlet.start(Some(&plot.garden_namespace)));
        Ok(plot)
    }

    /// A new plot whose Shoots nobody looks after.
    pub async fn plot_without_gardenlet(&self) -> Result<Plot, PlotError> {
        let project = unique_name();
        let garden_namespace = format!("garden-{project}");
        let labels = json!({ "gardener.cloud/role": "project", "project.gardener.cloud/name": project });
        create::<Namespace>(
            Api::all(self.garden.clone()),
            json!({ "metadata": { "name": garden_namespace, "labels": labels } }),
        )
        .await?;
        create::<Project>(
            Api::all(self.garden.clone()),
            json!({ "metadata": { "name": project }, "spec": { "namespace": garden_namespace } }),
        )
        .await?;
        create::<Namespace>(Api::all(self.control_plane.clone()), json!({ "metadata": { "name": project } }))
            .await?;
        Ok(Plot {
            landscape: self.clone(),
            namespace: project.clone(),
            project,
            garden_namespace,
            scripts: Scripts::default(),
            gardenlet: None,
        })
    }
}

impl Plot {
    /// The Shoots of the plot.
    pub fn shoots(&self) -> Api<Shoot> {
        Api::namespaced(self.landscape.garden.clone(), &self.garden_namespace)
    }

    /// Puts an account into the garden: a Secret and a CredentialsBinding of this name, with these labels.
    pub async fn add_account(
        &self,
        name: &str,
        provider: Provider,
        labels: Value,
    ) -> Result<CredentialsBinding, PlotError> {
        let garden = self.landscape.garden.clone();
        let namespace = &self.garden_namespace;
        create::<Secret>(
            Api::namespaced(garden, namespace),
            json!({ "metadata": { "name": name, "namespace": namespace }, "stringData": { "account": name } }),
        )
        .await?;
        let reference = json!({ "apiVersion": "v1", "kind": "Secret", "name": name, "namespace": namespace });
        self.bind(name, provider, labels, reference).await
    }

    /// Puts an account into the garden whose credentials are a WorkloadIdentity of this name, made from this spec.
    pub async fn add_account_of_identity(
        &self,
        name: &str,
        provider: Provider,
        labels: Value,
        spec: Value,
    ) -> Result<WorkloadIdentity, PlotError> {
        let namespace = &self.garden_namespace;
        let identity = create::<WorkloadIdentity>(
            Api::namespaced(self.landscape.garden.clone(), namespace),
            json!({ "metadata": { "name": name, "namespace": namespace }, "spec": spec }),
        )
        .await?;
        let api_version = WorkloadIdentity::api_version(&());
        let reference = json!({ "apiVersion": api_version, "kind": "WorkloadIdentity", "name": name, "namespace": namespace });
        self.bind(name, provider, labels, reference).await?;
        Ok(identity)
    }

    /// A CredentialsBinding for credentials that exist.
    pub async fn bind(
        &self,
        name: &str,
        provider: Provider,
        labels: Value,
        reference: Value,
    ) -> Result<CredentialsBinding, PlotError> {
        let metadata = json!({ "name": name, "namespace": self.garden_namespace, "labels": labels });
        let binding = json!({ "metadata": metadata, "provider": { "type": provider.as_str() }, "credentialsRef": reference });
        // The API server for bindings learns of the project and the credentials by watching, so it may need a moment.
        let api =
            Api::<CredentialsBinding>::namespaced(self.landscape.garden.clone(), &self.garden_namespace);
        eventually(&format!("CredentialsBinding {name}"), Duration::from_secs(20), || {
            let (api, binding) = (api.clone(), binding.clone());
            async move { create(api, binding).await.map_err(|error| error.to_string()) }
        })
        .await
    }

    /// Creates a Shoot. Gardener's API server learns of its account by watching, so it may need a moment.
    pub async fn create_shoot(&self, shoot: &Shoot) -> Result<Shoot, PlotError> {
        let api = self.shoots();
        eventually(&format!("Shoot {}", shoot.name_any()), Duration::from_secs(20), || {
            let api = api.clone();
            async move { api.create(&PostParams::default(), shoot).await.map_err(|error| error.to_string()) }
        })
        .await
    }

    /// Waits until a Shoot is what is waited for; `None` stands for a Shoot that is not there.
    pub async fn wait_for_shoot(
        &self,
        name: &str,
        what: &str,
        is: impl Fn(Option<&Shoot>) -> bool,
    ) -> Result<Option<Shoot>, PlotError> {
        let api = self.shoots();
        eventually(&format!("Shoot {name} {what}"), Duration::from_secs(60), || {
            let (api, is) = (api.clone(), &is);
            async move {
                let shoot = api.get_opt(name).await.map_err(|error| error.to_string())?;
                if is(shoot.as_ref()) {
                    Ok(shoot)
                } else {
                    Err(format!(
                        "{:?}",
                        shoot.and_then(|shoot| shoot.status).map(|status| status.last_operation)
                    ))
                }
            }
        })
        .await
    }

    /// A kubeconfig of a Shoot, as the garden issues it.
    pub async fn kubeconfig(&self, shoot: &str, access: KubeconfigAccess) -> Result<Kubeconfig, PlotError> {
        let request = access.request(SHORTEST_LIFE_SECONDS);
        let issued: IssuedKubeconfig = self
            .shoots()
            .create_subresource(access.subresource(), shoot, &PostParams::default(), &request)
            .await
            .map_err(|source| PlotError::Call {
                what: format!("get a kubeconfig for Shoot {shoot}"),
                source,
            })?;
        let text: k8s_openapi::ByteString =
            serde_json::from_value(Value::String(issued.status.kubeconfig.expose_secret().to_owned()))
                .map_err(|source| PlotError::Json { what: "the kubeconfig", source })?;
        Ok(Kubeconfig::from_yaml(&String::from_utf8_lossy(&text.0)).map_err(ClientError::from)?)
    }
}

/// Creates an object from JSON, whose kind and version need not be said.
async fn create<K>(api: Api<K>, mut object: Value) -> Result<K, PlotError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    let TypeMeta { api_version, kind } = TypeMeta::resource::<K>();
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    let what = format!("create {kind} {}", object["metadata"]["name"].as_str().unwrap_or_default());
    let object = serde_json::from_value(object)
        .map_err(|source| PlotError::Json { what: "an object of ours", source })?;
    api.create(&PostParams::default(), &object).await.map_err(|source| PlotError::Call { what, source })
}

/// Tries again, ten times a second, until it works.
async fn eventually<T, F>(what: &str, limit: Duration, mut attempt: impl FnMut() -> F) -> Result<T, PlotError>
where
    F: Future<Output = Result<T, String>>,
{
    let started = tokio::time::Instant::now();
    loop {
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(last) if started.elapsed() > limit => {
                return Err(PlotError::TimedOut { what: what.to_owned(), seconds: limit.as_secs(), last });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Seven characters that no other plot of this landscape has: the time of day in tenths of a second, and a counter.
fn unique_name() -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let count = u64::from(COUNTER.fetch_add(1, Ordering::Relaxed));
    let tenths =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis() / 100;
    let mut number = (u64::try_from(tenths).unwrap_or_default() * 1296 + count % 1296) % 36_u64.pow(6);
    let mut name = vec![b't'; 7];
    for place in name.iter_mut().skip(1).rev() {
        *place = DIGITS[usize::try_from(number % 36).unwrap_or_default()];
        number /= 36;
    }
    String::from_utf8_lossy(&name).into_owned()
}
