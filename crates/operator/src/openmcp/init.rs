//! What `allotment openmcp init` does: our kinds are there. Safe to repeat.

use crate::runtime::call::{CallError, call};
use allotment_api::{
    allotment,
    openmcp::{self, names::label, names::purpose},
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, ResourceExt, api::PostParams};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The groups that are ours. The kinds of the other one come with openmcp-operator.
const OWN_GROUPS: [&str; 2] = ["gardener.clusters.openmcp.cloud", allotment::GROUP];

/// A server takes well under a second; one that is busy, a few.
const SERVED: Duration = Duration::from_secs(60);

/// Why the kinds are not there.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// The API server.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It does not say which cluster it is for.
    #[error("CustomResourceDefinition {0} does not say which cluster it is for")]
    NoTarget(String),
    /// The server has it, and does not serve it.
    #[error("CustomResourceDefinition {0} is installed, but is not served")]
    NotServed(String),
}

/// What became of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// It was not there.
    Created,
    /// It was there, and is ours to bring up to date.
    Updated,
    /// It was there, and is openmcp-operator's.
    LeftAlone,
}

/// Installs our kinds, and those of the contract where they are missing; returns what became of each.
pub async fn init(platform: &Client) -> Result<Vec<(String, Installed)>, InitError> {
    let api: Api<CustomResourceDefinition> = Api::all(platform.clone());
    let mut all = Vec::new();
    for crd in kinds() {
        let name = crd.name_any();
        if crd.labels().get(label::TARGET_CLUSTER).map(String::as_str) != Some(purpose::PLATFORM) {
            return Err(InitError::NoTarget(name));
        }
        let installed = install(&api, crd).await?;
        tracing::info!(crd = name, ?installed, "kind");
        all.push((name, installed));
    }
    for (name, _) in &all {
        served(&api, name).await?;
    }
    Ok(all)
}

/// Those of openMCP, and AccessLock, which the provider obeys as the operators do.
fn kinds() -> impl Iterator<Item = CustomResourceDefinition> {
    let locks = allotment::crds().filter(|crd| crd.spec.names.kind == "AccessLock").map(|mut crd| {
        crd.labels_mut().insert(label::TARGET_CLUSTER.to_owned(), purpose::PLATFORM.to_owned());
        crd
    });
    openmcp::crds().into_iter().chain(locks)
}

async fn install(
    api: &Api<CustomResourceDefinition>,
    mut crd: CustomResourceDefinition,
) -> Result<Installed, InitError> {
    let (name, params) = (crd.name_any(), PostParams::default());
    loop {
        let found = call(|| format!("read CustomResourceDefinition {name}"), api.get_opt(&name)).await?;
        let (written, installed) = match found {
            None => {
                let created =
                    call(|| format!("create CustomResourceDefinition {name}"), api.create(&params, &crd));
                (created.await, Installed::Created)
            }
            Some(_) if !OWN_GROUPS.contains(&crd.spec.group.as_str()) => return Ok(Installed::LeftAlone),
            // All of it: with what another version left in a schema, ours would be another one.
            Some(found) => {
                crd.metadata.resource_version = found.resource_version();
                crd.annotations_mut().extend(found.annotations().clone());
                let replaced = call(
                    || format!("replace CustomResourceDefinition {name}"),
                    api.replace(&name, &params, &crd),
                );
                (replaced.await, Installed::Updated)
            }
        };
        match written {
            Ok(_) => return Ok(installed),
            // Somebody else was faster.
            Err(error) if error.is_conflict() => crd.metadata.resource_version = None,
            Err(error) => return Err(error.into()),
        }
    }
}

async fn served(api: &Api<CustomResourceDefinition>, name: &str) -> Result<(), InitError> {
    let end = Instant::now() + SERVED;
    loop {
        let found = call(|| format!("read CustomResourceDefinition {name}"), api.get_opt(name)).await?;
        let conditions = found.and_then(|crd| crd.status?.conditions).unwrap_or_default();
        if conditions.iter().any(|it| it.type_ == "Established" && it.status == "True") {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(InitError::NotServed(name.to_owned()));
        }
        sleep(Duration::from_millis(200)).await;
    }
}
