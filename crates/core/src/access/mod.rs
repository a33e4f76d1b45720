//! Access to the clusters that we hand out.
//!
//! | file | what is decided there |
//! |---|---|
//! | [`address`] | which addresses are dialled for clusters that tenants bring |
//! | [`kubeconfig`] | whether a kubeconfig can be used, and what of it |
//! | [`rules`] | what rules mean that RBAC would not match |
//! | [`Access`] | who may ask for what at most |
//! | [`danger`] | which rules lead to cluster-admin |
//! | [`lock`] | which access the platform has locked |
//! | [`grant`] | what there is in a cluster for a KubeconfigRequest |
//! | [`minting`] | how many tokens one cause may cost |
//! | [`flow`] | what is done next about a KubeconfigRequest, and what its status says |
//! | [`administrators`] | which ClusterRoleBindings make the administrators of a cluster |

pub mod address;
pub mod administrators;
pub mod danger;
pub mod flow;
pub mod grant;
pub mod kubeconfig;
pub mod lock;
pub mod minting;
mod policy;
pub mod rules;

pub use policy::{Access, Asked, Asking, Policy};
