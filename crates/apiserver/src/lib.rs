//! A Kubernetes API server in one process: the store, watch, patches, selectors, schemas, garbage collection, RBAC
//! and discovery, as a synchronous core with a `tower::Service` shell and an HTTPS shell.
//!
//! It depends on nothing else of this workspace, so that any kube-rs project can use it.

pub mod error;
pub mod schema;

pub use error::ApiError;
