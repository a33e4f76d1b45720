//! From a Cluster to a Shoot.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod examples;
mod golden;
mod live;
mod network;
mod oidc;
mod properties;
mod refusals;
mod seed;
mod stage;
mod tables;
mod templates;
mod tenants;
