//! The cluster API of openMCP and the kinds of its Gardener provider.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// The CRDs of both groups.
pub fn crds() -> Vec<CustomResourceDefinition> {
    Vec::new()
}
