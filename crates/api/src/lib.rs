//! Every API that Allotment serves or uses: one file per kind, with its fields, rules and columns.
//!
//! | room | group |
//! |---|---|
//! | [`kyma`] | `operator.kyma-project.io` and `control-plane.kyma-project.io`: what tenants write |
//! | [`openmcp`] | `clusters.openmcp.cloud` and `gardener.clusters.openmcp.cloud`: the ClusterProvider contract |
//! | [`gardener`] | `core.gardener.cloud`, `security.gardener.cloud`: only the fields that we read or write |
//! | [`allotment`] | `allotment.dev`: what only the platform writes |
//! | [`names`] | labels, annotations, finalizers and other words that several places must spell alike |
//!
//! [`crds`] puts together what is installed into a cluster.

pub mod allotment;
pub mod condition;
pub mod crds;
pub mod gardener;
pub mod kyma;
pub mod names;
pub mod openmcp;
pub mod rbac;
pub mod schema;
