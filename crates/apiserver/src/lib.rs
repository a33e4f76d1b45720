//! A Kubernetes API server in one process, for any kube-rs project: tests of controllers that take milliseconds, simulations
//! of a year of failures in a minute, programs that want to speak Kubernetes without a cluster.
//!
//! It answers as kube-apiserver 1.36 does, with the same codes, reasons and messages: the store, watch, all patches and
//! server-side apply, selectors, schemas with CEL, garbage collection, RBAC, tokens and discovery. It runs no workloads.
//!
//! ```
//! use allotment_apiserver::{ApiServer, User};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::{Api, Client, api::PostParams};
//! use serde_json::{from_value, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::new();
//! let client = Client::new(server.service(User::new("me", ["system:masters"])), "default");
//!
//! let maps = Api::<ConfigMap>::default_namespaced(client);
//! let map = from_value(json!({ "metadata": { "name": "colours" }, "data": { "sky": "blue" } }))?;
//! maps.create(&PostParams::default(), &map).await?;
//! assert_eq!(maps.get("colours").await?.data, map.data);
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! | to | see |
//! |---|---|
//! | have a server, and clients of it in the same process | [`ApiServer`], [`service`] |
//! | let kubectl, or another process, talk to it | [`https`] |
//! | find everything again after a restart | [`state`] |
//! | see what a controller makes of lost answers, stale reads and broken watches | [`fault`] |
//! | add kinds, checks and subresources that no CustomResourceDefinition can have | [`extension`] |
//! | be somebody who may not do everything, or sign certificates | [`User`], [`auth`] |
//! | refuse something as a real server does | [`ApiError`], [`error`], [`names`] |
//! | drive it by hand, with your own time and randomness | [`Server`], [`server`] |
//!
//! # Kinds of your own
//!
//! come as on any server, with their CustomResourceDefinition. Who may do what with them is a matter of RBAC:
//!
//! ```
//! use allotment_apiserver::{ApiServer, User};
//! use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
//! use kube::{Api, Client, CustomResource, CustomResourceExt, api::PostParams};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
//! #[kube(group = "example.com", version = "v1", kind = "Document", namespaced)]
//! struct DocumentSpec {
//!     #[schemars(length(min = 1))]
//!     title: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::new();
//! let admin = Client::new(server.service(User::new("admin", ["system:masters"])), "default");
//! let definitions = Api::<CustomResourceDefinition>::all(admin.clone());
//! definitions.create(&PostParams::default(), &Document::crd()).await?;
//!
//! // A new kind is served at once: nothing has to be waited for.
//! let documents = Api::<Document>::default_namespaced(admin);
//! let untitled = Document::new("a", DocumentSpec { title: String::new() });
//! let refused = documents.create(&PostParams::default(), &untitled).await.unwrap_err();
//! assert!(refused.to_string().contains("spec.title: Invalid value"), "{refused}");
//!
//! let guest = Client::new(server.service(User::new("guest", ["guests"])), "default");
//! let refused = Api::<Document>::default_namespaced(guest).get("a").await.unwrap_err();
//! assert!(refused.to_string().contains(r#"User "guest" cannot get resource "documents""#), "{refused}");
//! # Ok(())
//! # }
//! ```
//!
//! # A test with a watch
//!
//! Time is tokio's, so with a paused clock an hour of watching takes no time:
//!
//! ```
//! use allotment_apiserver::{ApiServer, User};
//! use futures::StreamExt;
//! use k8s_openapi::api::core::v1::Secret;
//! use kube::{Api, Client, ResourceExt, api::{DeleteParams, PostParams}};
//! use kube::runtime::{WatchStreamExt, watcher};
//! use std::{pin::pin, time::Duration};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // #[tokio::test(start_paused = true)]
//! let server = ApiServer::new();
//! let client = Client::new(server.service(User::new("me", ["system:masters"])), "default");
//! let secrets = Api::<Secret>::default_namespaced(client);
//! let mut seen = pin!(watcher(secrets.clone(), watcher::Config::default()).touched_objects());
//!
//! let mut secret = Secret::default();
//! secret.metadata.name = Some("first".to_owned());
//! secrets.create(&PostParams::default(), &secret).await?;
//! assert_eq!(seen.next().await.unwrap()?.name_any(), "first");
//!
//! // Watches end after some time, as those of a real server do, and go on.
//! tokio::time::sleep(Duration::from_secs(3600)).await;
//! secrets.delete("first", &DeleteParams::default()).await?;
//! let gone = tokio::time::timeout(Duration::from_secs(60), seen.next()).await?.unwrap()?;
//! assert_eq!(gone.name_any(), "first");
//! # Ok(())
//! # }
//! ```

// What is public is the library: everything else says that it is not.
#![deny(unreachable_pub)]

mod apply;
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
mod patch;
#[cfg(feature = "planted")]
pub mod planted;
#[cfg(not(feature = "planted"))]
mod planted;
mod policy;
mod read;
mod request;
mod resource;
mod reviews;
mod schema;
mod selector;
pub mod server;
pub mod service;
pub mod state;
mod store;
#[cfg(fuzzing)]
pub mod strange;
#[cfg(all(test, not(fuzzing)))]
mod strange;
mod table;
mod watch;
mod write;

pub use auth::User;
pub use error::ApiError;
pub use server::Server;
pub use service::ApiServer;

/// The examples of the README are tried as those above are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
