//! Our kinds on a control plane.

use crate::Outcome;
use allotment_api::{crds, names::FIELD_MANAGER};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    runtime::wait::{await_condition, conditions::is_crd_established},
};
use std::time::Duration;
use tokio::{sync::Mutex, time::timeout};

/// Installs every CRD and waits until it is served. Safe to repeat, and by several tests at once.
pub async fn install_crds(client: &Client) -> Outcome {
    // Two tests of one process would only wait for each other's writes.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());
    let _guard = ONE_AT_A_TIME.lock().await;
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    for crd in crds::all() {
        let name = crd.name_any();
        api.patch(&name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(&crd)).await?;
        timeout(Duration::from_secs(30), await_condition(api.clone(), &name, is_crd_established()))
            .await
            .map_err(|_| format!("CustomResourceDefinition {name} was not served after 30 seconds"))??;
    }
    Ok(())
}
