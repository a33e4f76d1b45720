//! Access to the clusters that we hand out.
//!
//! | file | what is decided there |
//! |---|---|
//! | [`kubeconfig`] | whether a kubeconfig can be used, and what of it |
//! | [`administrators`] | which ClusterRoleBindings make the administrators of a cluster |

pub mod administrators;
pub mod kubeconfig;
