//! A Kubernetes API server in one process: the store, watch, patches, selectors, schemas, garbage collection, RBAC
//! and discovery, as a synchronous core with a `tower::Service` shell and an HTTPS shell.
//!
//! It depends on nothing else of this workspace, so that any kube-rs project can use it.

pub mod apply;
pub mod auth;
mod body;
mod bootstrap;
mod chores;
mod delete;
mod discovery;
mod encode;
pub mod error;
pub mod extension;
pub mod fault;
pub mod https;
mod kinds;
mod meta;
pub mod names;
mod openapi;
pub mod patch;
pub mod planted;
mod read;
mod request;
pub mod resource;
mod reviews;
pub mod schema;
pub mod selector;
pub mod server;
pub mod service;
pub mod state;
pub mod store;
pub mod table;
pub mod watch;
mod write;

pub use error::ApiError;
pub use server::Server;
pub use service::ApiServer;
