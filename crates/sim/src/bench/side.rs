//! The two servers that are compared, and what both are asked to do.

use super::Outcome;
use allotment_apiserver::{ApiServer, auth::User};
use allotment_garden::landscape::Landscape;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Instant;

/// As many calls are under way at once as a busy operator has.
const CONCURRENCY: usize = 16;

/// The embedded server and the real one.
pub(super) struct Sides {
    pub(super) embedded: Side,
    pub(super) real: Side,
}

/// One server, and a namespace on it that is ours.
pub(super) struct Side {
    pub(super) client: Client,
    pub(super) namespace: String,
}

impl Sides {
    pub(super) async fn new(real: &Landscape) -> Outcome<Self> {
        let embedded = embedded_client(&ApiServer::new());
        Ok(Self { embedded: Side::new(embedded).await?, real: Side::new(real.control_plane.clone()).await? })
    }

    /// The real server may be one that goes on.
    pub(super) async fn tidy(self) -> Outcome<()> {
        let Side { client, namespace } = self.real;
        Api::<Namespace>::all(client).delete(&namespace, &DeleteParams::default()).await?;
        Ok(())
    }
}

impl Side {
    async fn new(client: Client) -> Outcome<Self> {
        let namespace = format!("bench-{}", std::process::id());
        let made: Namespace = object("Namespace", &json!({ "name": namespace }))?;
        Api::all(client.clone()).create(&PostParams::default(), &made).await?;
        Ok(Self { client, namespace })
    }

    pub(super) fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

/// A client that may do everything, in this process.
pub(super) fn embedded_client(server: &ApiServer) -> Client {
    Client::new(server.service(User::new("bench", ["system:masters"])), "default")
}

/// A small object: two labels' worth of metadata and a few bytes of data.
pub(super) async fn create_small(api: &Api<ConfigMap>, name: &str) -> Outcome<()> {
    let mut made: ConfigMap = object("ConfigMap", &json!({ "name": name, "labels": { "n": "1" } }))?;
    made.data = Some([("a".to_owned(), "b".to_owned())].into());
    api.create(&PostParams::default(), &made).await?;
    Ok(())
}

fn object<K: DeserializeOwned>(kind: &str, metadata: &Value) -> Outcome<K> {
    Ok(serde_json::from_value(json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata }))?)
}

/// Makes so many calls, as many at once as a busy operator has, and says how many it were in a second.
pub(super) async fn per_second<F>(times: u32, call: impl Fn(u32) -> F) -> Outcome<f64>
where
    F: Future<Output = Outcome<()>>,
{
    let started = Instant::now();
    stream::iter(0..times).map(call).buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await?;
    Ok(f64::from(times) / started.elapsed().as_secs_f64())
}
