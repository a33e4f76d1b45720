//! Gardener's kinds, narrow: only the fields that we read or write. What we do not name stays untouched, since we write
//! by server-side apply.
//!
//! Gardener's own API server owns the schemas, so none is derived here.

mod binding;
mod cloud_profile;
mod internal_secret;
mod kubeconfig;
pub mod names;
mod project;
mod shoot;
mod shoot_status;
#[cfg(test)]
mod tests;
mod workload_identity;

pub use binding::*;
pub use cloud_profile::*;
pub use internal_secret::*;
pub use kubeconfig::*;
pub use project::*;
pub use shoot::*;
pub use shoot_status::*;
pub use workload_identity::*;
