//! The cluster API of openMCP: what a ClusterProvider, the generic AccessRequest controller and the scheduler agree on.
//!
//! | kind | who writes it |
//! |---|---|
//! | [`ClusterProfile`] | a provider, one for each kind of cluster that it offers |
//! | [`Cluster`] | the scheduler, or a person; the provider of its profile makes it |
//! | [`ClusterRequest`] | a consumer; the scheduler answers with a Cluster |
//! | [`AccessRequest`] | a consumer; the provider answers with a kubeconfig |
//!
//! [`gardener`] has the kinds that configure the Gardener provider, [`names`] the words of the contract. The objects that are
//! accepted and refused are those of upstream, so that its controllers and ours can stand in for each other.

mod access_request;
mod cluster;
mod cluster_profile;
mod cluster_request;
mod common;
pub mod gardener;
pub mod names;
#[cfg(test)]
mod tests;

pub use access_request::*;
pub use cluster::*;
pub use cluster_profile::*;
pub use cluster_request::*;
pub use common::*;

use crate::schema;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// Fields that hold more than names: a kubeconfig, and the projects of a garden.
const LARGER: [(&str, i64); 2] = [("inline", 1 << 20), ("projects", 1 << 16)];

/// The CRDs of both groups, the contract before the Gardener provider.
pub fn crds() -> Vec<CustomResourceDefinition> {
    as_upstream().into_iter().map(|crd| schema::bound(crd, &LARGER)).collect()
}

/// The same with the bounds that upstream has.
fn as_upstream() -> Vec<CustomResourceDefinition> {
    let tidy = schema::tidy;
    vec![
        tidy(ClusterProfile::crd()),
        tidy(Cluster::crd()),
        tidy(ClusterRequest::crd()),
        tidy(AccessRequest::crd()),
        tidy(gardener::Landscape::crd()),
        schema::allow_null(tidy(gardener::ProviderConfig::crd()), "enforcedShootExtensions"),
        tidy(gardener::ClusterConfig::crd()),
    ]
}
