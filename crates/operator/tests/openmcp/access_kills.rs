//! Access from controllers that are killed at any moment, and from two that both believe that they lead.

use super::{
    access::rules,
    desk::{Desk, code},
    platform::{Fault, phase, until},
};
use allotment_api::openmcp::AccessRequest;
use allotment_operator::{
    openmcp::access::{Operator, Settings},
    runtime::controller::Controller as _,
};
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::{core::v1::Namespace, core::v1::ServiceAccount};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, RandomState},
    time::Duration,
};
use tokio::task::JoinHandle;

const ROUNDS: usize = 25;
const REQUESTS: u64 = 5;

/// Another number every time.
fn random(below: u64) -> u64 {
    RandomState::new().hash_one(0) % below
}

fn token(namespace: &str) -> Value {
    let permissions = json!([
        { "rules": rules("namespaces", &["list"]) },
        { "name": format!("role-{}", random(3)), "namespace": namespace, "rules": rules("configmaps", &["get"]) },
    ]);
    json!({ "token": { "permissions": permissions } })
}

/// A controller in a process of its own, as far as it knows.
fn start(desk: &Desk) -> JoinHandle<()> {
    let parts = desk.platform.parts(super::desk::PROVIDER);
    let (operator, landscapes) = (Operator::new(parts.clone(), Settings::default()), parts.landscapes);
    tokio::spawn(async move {
        tokio::join!(operator.run_as_leader(), landscapes.follow());
    })
}

pub async fn whoever_is_killed_leaves_nothing_behind(landscape: Landscape) -> Outcome {
    let desk = Desk::without_provider(&landscape).await?;
    let mut running = start(&desk);
    let mut holders: BTreeMap<(String, String), Client> = BTreeMap::new();
    let namespace = |name: &str| format!("{name}-{}", desk.platform.plot.namespace);
    for _ in 0..ROUNDS {
        let name = format!("r{}", random(REQUESTS));
        // What is not there cannot be changed: that is one of the things that happen.
        let _ = match random(5) {
            0 => desk.change(&name, json!({ "spec": token(&namespace(&name)) })).await.map(drop),
            1 => {
                let deleted = desk.platform.access_requests().delete(&name, &DeleteParams::default()).await;
                deleted.map(drop).map_err(Fault::from)
            }
            2 => {
                let mark = json!({ "openmcp.cloud/operation": "reconcile" });
                desk.change(&name, json!({ "metadata": { "annotations": mark } })).await.map(drop)
            }
            _ => desk.ask(&name, token(&namespace(&name))).await.map(drop),
        };
        tokio::time::sleep(Duration::from_millis(random(150))).await;
        let before = std::mem::replace(&mut running, start(&desk));
        if random(3) == 0 {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        before.abort();
        remember(&desk, &mut holders).await?;
    }
    let all = until("everything has come to rest", async || {
        let all = desk.platform.access_requests().list(&ListParams::default()).await;
        let all = all.map_err(|error| error.to_string())?;
        let busy = all.iter().find(|request| !is_at_rest(request));
        let busy = busy.map(|busy| format!("{} {}", busy.name_any(), json!(busy.status)));
        busy.map_or(Ok(all.items), Err)
    })
    .await?;
    let names: BTreeSet<String> = all.iter().map(ResourceExt::name_any).collect();
    assert_eq!(in_the_cluster(&desk).await?, names, "who has something in the cluster");
    let living: BTreeSet<String> = all.iter().filter_map(ResourceExt::uid).collect();
    for ((uid, _), holder) in holders.iter().filter(|((uid, _), _)| !living.contains(uid)) {
        until(&format!("a token of {uid} is refused"), async || match answer(holder).await {
            401 => Ok(()),
            code => Err(code.to_string()),
        })
        .await?;
    }
    for name in names {
        let holder = desk.holder(&name).await?;
        until(&format!("the token of {name} works"), async || match answer(&holder).await {
            200 => Ok(()),
            code => Err(code.to_string()),
        })
        .await?;
    }
    running.abort();
    Ok(())
}

async fn answer(holder: &Client) -> u16 {
    code(Api::<Namespace>::all(holder.clone()).list(&ListParams::default()).await)
}

fn is_at_rest(request: &AccessRequest) -> bool {
    let observed = request.status.as_ref().map(|status| status.common.observed_generation);
    request.metadata.deletion_timestamp.is_none()
        && phase(request) == "Granted"
        && observed == request.metadata.generation
        && !request.annotations().contains_key("openmcp.cloud/operation")
}

/// Keeps everything that was ever handed out.
async fn remember(desk: &Desk, holders: &mut BTreeMap<(String, String), Client>) -> Result<(), Fault> {
    for request in desk.platform.access_requests().list(&ListParams::default()).await? {
        let Ok(text) = desk.kubeconfig(&request.name_any()).await else { continue };
        let secret = desk.secret(&request.name_any()).await;
        let is_own = secret.is_ok_and(|secret| secret.owner_references()[0].uid == request.uid().unwrap());
        if let (true, Ok(holder)) = (is_own, desk.holder(&request.name_any()).await) {
            holders.insert((request.uid().unwrap(), text), holder);
        }
    }
    Ok(())
}

/// Whose ServiceAccounts there are, of the requests of this plot.
async fn in_the_cluster(desk: &Desk) -> Result<BTreeSet<String>, Fault> {
    let prefix = "gardener.clusters.openmcp.cloud";
    let ours =
        ListParams::default().labels(&format!("{prefix}/environment={}", desk.platform.plot.namespace));
    let accounts = Api::<ServiceAccount>::all(desk.admin().await?).list(&ours).await?;
    Ok(accounts
        .iter()
        .map(|account| account.labels()[&format!("{prefix}/managed-by-name")].clone())
        .collect())
}
