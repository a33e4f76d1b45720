//! The CustomResourceDefinitions that Allotment installs.

use crate::{kyma, openmcp, schema};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// All of them, in a fixed order.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut crds =
        vec![kyma::Cluster::crd(), kyma::KubeconfigRequest::crd(), kyma::SubscriptionRequest::crd()];
    crds.extend(openmcp::crds());
    crds.into_iter().map(schema::tidy).collect()
}

/// The groups that [`all`] has, in its order.
pub fn groups() -> Vec<String> {
    let mut groups: Vec<String> = all().into_iter().map(|crd| crd.spec.group).collect();
    groups.dedup();
    groups
}
