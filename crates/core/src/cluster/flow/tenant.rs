//! Whether the namespace of a Cluster has the tenant that the Cluster names. Judged when something new is asked for: an account,
//! the use of a cluster that the tenant brings, a further administrator. What is there stays.

use super::View;
use crate::{
    condition,
    pool::Denial,
    tenancy::{self, Claim, Judged, TENANT_ALLOWED},
};
use allotment_api::{kyma::ClusterStatus, names::tenant};

pub(super) fn judge(view: &View<'_>) -> Result<Judged, Denial> {
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
