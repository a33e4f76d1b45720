//! Whether the namespace of a Cluster has the tenant that the Cluster names, and the one that its Shoot was made for. Judged when
//! something new is asked for: an account, the use of a cluster that the tenant brings, a further administrator. What is there stays.
//!
//! A Cluster for a shared account need not name a tenant, and whoever has its namespace can change the label that does. So the Shoot
//! remembers the tenant: tenants cannot write in the garden.

use super::{
    View,
    ownership::{Ownership, carries_owner, ownership},
};
use crate::{
    condition,
    pool::Denial,
    tenancy::{self, Claim, Judged, NamespaceRole, TENANT_ALLOWED},
};
use allotment_api::{
    kyma::ClusterStatus,
    names::{annotation, tenant},
};
use serde_json::{Value, json};

pub(super) fn judge(view: &View<'_>) -> Result<Judged, Denial> {
    let judged = judge_claim(view)?;
    let namespace = view.cluster.metadata.namespace.as_deref().unwrap_or_default();
    tenancy::judge_remembered(view.role, namespace, remembered(view)).map(|()| judged)
}

/// Writes the tenant on a rendered Shoot: once, with the first write for a namespace that has one.
pub(super) fn remember(view: &View<'_>, shoot: &mut Value) {
    let judged = || match view.role {
        NamespaceRole::Tenants(_) => judge_claim(view).ok()?.tenant.map(|tenant| tenant.to_string()),
        NamespaceRole::Trusted | NamespaceRole::Platform => None,
    };
    if let Some(tenant) = remembered(view).map(str::to_owned).or_else(judged) {
        shoot["metadata"]["annotations"][annotation::TENANT] = json!(tenant);
    }
}

/// The tenant that the Cluster's own Shoot was made for. One that is adopted just now may have been another Cluster's.
fn remembered<'a>(view: &View<'a>) -> Option<&'a str> {
    let Ownership::Managed(shoot) = ownership(view) else { return None };
    let annotations = shoot.metadata.annotations.as_ref().filter(|_| carries_owner(view, shoot))?;
    annotations.get(annotation::TENANT).map(String::as_str).filter(|tenant| !tenant.is_empty())
}

fn judge_claim(view: &View<'_>) -> Result<Judged, Denial> {
    let (metadata, spec) = (&view.cluster.metadata, &view.cluster.spec);
    let labels = metadata.labels.as_ref();
    let claim = Claim {
        selector: spec.infrastructure.as_ref().map(|it| it.subscription_selector.as_str()),
        label: labels.and_then(|labels| labels.get(tenant::GLOBAL_ACCOUNT_ID)).map(String::as_str),
    };
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    match tenancy::judge(view.role, namespace, &claim) {
        // A cluster that the tenant brings takes no account, so it need not say which tenant of the namespace it is for.
        Err(denial) if denial.reason == "TenantMissing" && spec.byoc.is_some() => {
            Ok(Judged { tenant: None, note: None })
        }
        judged => judged,
    }
}

/// Judges the request under the Cluster's name. Whoever may write requests may have made it, and its status may be forged, so that it
/// is bound proves nothing: no Shoot is made for a tenant that the namespace does not have.
pub(super) fn judge_request(view: &View<'_>) -> Result<(), Denial> {
    let Some(request) = view.request else { return Ok(()) };
    let labels = request.metadata.labels.as_ref();
    let claim = Claim {
        selector: Some(&request.spec.subscription_selector),
        label: labels.and_then(|labels| labels.get(tenant::GLOBAL_ACCOUNT_ID)).map(String::as_str),
    };
    let namespace = view.cluster.metadata.namespace.as_deref().unwrap_or_default();
    tenancy::judge(view.role, namespace, &claim).map(drop)
}

/// Reports what was judged, also on a Cluster that loses nothing by it.
pub(super) fn report(view: &View<'_>, status: &mut ClusterStatus) {
    let verdict = tenancy::verdict(&judge(view));
    let generation = view.cluster.metadata.generation;
    condition::set_or_remove(&mut status.conditions, TENANT_ALLOWED, verdict, generation, view.now);
}
