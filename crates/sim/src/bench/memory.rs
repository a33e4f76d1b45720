//! What an object costs in memory, in a process that does nothing else.

use super::{
    Measure, Outcome,
    side::{create_small, embedded_client},
};
use allotment_apiserver::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use std::{ffi::OsString, process::Stdio};
use tokio::process::Command;

const OBJECTS: u32 = 100_000;

/// 100,000 small objects are to fit into 150 MB.
const BYTES_PER_OBJECT: f64 = 1500.0;

pub(super) async fn measure(remember: &[OsString]) -> Outcome<Vec<Measure>> {
    let (program, arguments) = remember.split_first().ok_or("nothing is there that measures memory")?;
    let output = Command::new(program)
        .args(arguments)
        .arg(OBJECTS.to_string())
        .stderr(Stdio::inherit())
        .output()
        .await?;
    if !output.status.success() {
        return Err(format!("measuring memory ended with {}", output.status).into());
    }
    let bytes: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    let name = "memory per small object of 100,000, against its bound";
    Ok(vec![Measure::new(name, bytes / f64::from(OBJECTS), "bytes").against(BYTES_PER_OBJECT)])
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
pub(super) fn resident_bytes() -> Outcome<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("there is no VmRSS")?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024)
}
