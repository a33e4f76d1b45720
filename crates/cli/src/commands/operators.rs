//! Where the operators run.

use allotment_operator::runtime::call::call;
use anyhow::{Result, bail};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, ResourceExt, api::ListParams};

/// The beginning of the names of our Leases.
const LEASES: &str = "allotment-";

/// Ends with an error unless operators have a Lease in this namespace: an order in any other namespace does nothing.
pub(super) async fn must_be_in(client: &Client, namespace: &str) -> Result<()> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let found =
        call(|| format!("list Leases in {namespace}"), leases.list_metadata(&ListParams::default())).await?;
    if found.iter().any(|lease| lease.name_any().starts_with(LEASES)) {
        return Ok(());
    }
    bail!(
        "no operator has a Lease in namespace {namespace}: say with --operator-namespace where the operators run; nothing was changed"
    );
}
