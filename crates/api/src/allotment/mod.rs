//! Kinds that only the platform writes, in the operator's own namespace: tenants have no rights there, so these objects prove
//! what an annotation on a tenant's object cannot.

mod access_lock;
mod admission_parameters;
mod shoot_adoption;

pub use access_lock::*;
pub use admission_parameters::*;
pub use shoot_adoption::*;

use crate::schema;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// The group of all of them.
pub const GROUP: &str = "allotment.dev";

/// Their definitions.
pub fn crds() -> impl Iterator<Item = CustomResourceDefinition> {
    [AccessLock::crd(), AdmissionParameters::crd(), ShootAdoption::crd()].into_iter().map(schema::tidy)
}
