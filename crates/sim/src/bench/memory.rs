//! What an object costs in memory, in a process that does nothing else.

use super::{
    Measure, Outcome, claims, clusters, openmcp,
    side::{create_small, embedded_client},
};
use allotment_api::{kyma::BindingKind, names::label};
use allotment_apiserver::ApiServer;
use allotment_core::pool::LabelKeys;
use allotment_operator::{cluster, openmcp::Caches, subscription::Index};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::{Value, json};
use std::{ffi::OsString, process::Stdio};
use tokio::process::Command;

const OBJECTS: u32 = 100_000;

/// 100,000 small objects are to fit into 150 MB.
const BYTES_PER_OBJECT: f64 = 1500.0;

/// 100,000 Shoots are to be followed in 50 MB.
const BYTES_PER_SHOOT: f64 = 500.0;

/// A Cluster with its request and its Shoot: 5,000 of them in 100 MB.
const BYTES_PER_CLUSTER: f64 = 20_000.0;

/// One of openMCP with its Shoot, and an AccessRequest with its Secret: twice as much, since every controller keeps its own
/// copies, so that each can run in a process of its own.
const BYTES_PER_OPENMCP_CLUSTER: f64 = 2.0 * BYTES_PER_CLUSTER;

pub(super) async fn measure(remember: &[OsString]) -> Outcome<Vec<Measure>> {
    let name = "memory per small object of 100,000, against its bound";
    let objects = each(remember, None).await?;
    let shoots = each(remember, Some("--shoots")).await?;
    let clusters = each(remember, Some("--clusters")).await?;
    let openmcp = each(remember, Some("--openmcp")).await?;
    Ok(vec![
        Measure::new(name, objects, "bytes").against(BYTES_PER_OBJECT),
        Measure::new("memory per Shoot followed of 100,000, against its bound", shoots, "bytes")
            .against(BYTES_PER_SHOOT),
        Measure::new("memory per Cluster, with its request and Shoot, against its bound", clusters, "bytes")
            .against(BYTES_PER_CLUSTER),
        Measure::new(
            "openMCP: memory per Cluster, with its Shoot and an AccessRequest, against its bound",
            openmcp,
            "bytes",
        )
        .against(BYTES_PER_OPENMCP_CLUSTER),
    ])
}

async fn each(remember: &[OsString], flag: Option<&str>) -> Outcome<f64> {
    let (program, arguments) = remember.split_first().ok_or("nothing is there that measures memory")?;
    let mut command = Command::new(program);
    command.args(arguments).arg(OBJECTS.to_string()).args(flag);
    let output = command.stderr(Stdio::inherit()).output().await?;
    if !output.status.success() {
        return Err(format!("measuring memory ended with {}", output.status).into());
    }
    let bytes: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(bytes / f64::from(OBJECTS))
}

/// By how much this process grows when the subscription operator's index follows so many Shoots.
pub fn resident_bytes_of_shoots(shoots: u32) -> Outcome<u64> {
    let mut index = Index::new(BindingKind::CredentialsBinding, LabelKeys::default());
    let mut follow = |number: u32| -> Outcome<()> {
        drop(index.learn_shoot(&serde_json::from_value(shoot(number))?));
        Ok(())
    };
    // What reading the first ones takes is used again for the others.
    (0..1000).try_for_each(&mut follow)?;
    let before = resident_bytes()?;
    (1000..1000 + shoots).try_for_each(&mut follow)?;
    let grown = resident_bytes()?.saturating_sub(before);
    // Or it could be taken away before it is measured.
    if index.shoots() == 0 { Err("the index forgot the Shoots".into()) } else { Ok(grown) }
}

/// By how much this process grows when the cluster operator's index follows so many Clusters and what belongs to them.
pub fn resident_bytes_of_clusters(clusters: u32) -> Outcome<u64> {
    let mut index = cluster::Index::new(false);
    let mut follow = |number: u32| -> Outcome<()> {
        let [cluster, request] = clusters::objects(number);
        drop(index.learn_cluster(serde_json::from_value(cluster)?));
        drop(index.learn_request(serde_json::from_value(request)?));
        drop(index.learn_shoot(serde_json::from_value(shoot(number))?));
        Ok(())
    };
    (0..1000).try_for_each(&mut follow)?;
    let before = resident_bytes()?;
    (1000..1000 + clusters).try_for_each(&mut follow)?;
    let grown = resident_bytes()?.saturating_sub(before);
    if index.is_empty() { Err("the index forgot the Clusters".into()) } else { Ok(grown) }
}

/// By how much this process grows when the controllers of openMCP follow so many Clusters, each with its Shoot and an
/// AccessRequest.
pub fn resident_bytes_of_openmcp(clusters: u32) -> Outcome<u64> {
    let mut caches = Caches::default();
    let mut follow = |number: u32| -> Outcome<()> {
        let [cluster, request, secret] = openmcp::objects(number);
        let cluster = (serde_json::from_value(cluster)?, serde_json::from_value(shoot(number))?);
        let request = (serde_json::from_value(request)?, &serde_json::from_value(secret)?);
        caches.learn(cluster, ("l", clusters::GARDEN), request);
        Ok(())
    };
    (0..1000).try_for_each(&mut follow)?;
    let before = resident_bytes()?;
    (1000..1000 + clusters).try_for_each(&mut follow)?;
    let grown = resident_bytes()?.saturating_sub(before);
    if caches.is_empty() { Err("the caches forgot the Clusters".into()) } else { Ok(grown) }
}

/// A Shoot with our label, as large as they are.
fn shoot(number: u32) -> Value {
    let mut shoot = claims::shoot(number);
    let uid = format!("{number:08x}-0000-4000-8000-000000000000");
    shoot["metadata"]["labels"] = json!({ label::SUBSCRIPTION_REQUEST: uid });
    shoot
}

/// By how much this process grows when an embedded server keeps so many small objects.
pub async fn resident_bytes_of(objects: u32) -> Outcome<u64> {
    let server = ApiServer::new();
    let api = Api::<ConfigMap>::default_namespaced(embedded_client(&server));
    // What the first request sets up is not the objects'.
    create_small(&api, "first").await?;
    let before = resident_bytes()?;
    for n in 0..objects {
        create_small(&api, &format!("c{n}")).await?;
    }
    Ok(resident_bytes()?.saturating_sub(before))
}

/// What this process has in memory, as Linux tells it.
fn resident_bytes() -> Outcome<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("there is no VmRSS")?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024)
}
