//! The CustomResourceDefinitions that Allotment installs.

use crate::{allotment, kyma, openmcp, schema};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// All of them, in a fixed order.
pub fn all() -> Vec<CustomResourceDefinition> {
    let kyma = [kyma::Cluster::crd(), kyma::KubeconfigRequest::crd(), kyma::SubscriptionRequest::crd()];
    kyma.into_iter().map(schema::tidy).chain(allotment::crds()).chain(openmcp::crds()).collect()
}

/// Their groups, in the order of [`all`].
pub const GROUPS: [&str; 5] = [
    "operator.kyma-project.io",
    "control-plane.kyma-project.io",
    allotment::GROUP,
    "clusters.openmcp.cloud",
    "gardener.clusters.openmcp.cloud",
];

#[cfg(test)]
mod tests;
