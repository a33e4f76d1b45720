//! The binary at work on an embedded landscape, over HTTPS: `run`, `pool`, `ledger`, and processes that are killed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "these are tests"
)]

mod asking;
mod clusters;
mod demo;
mod health;
mod kills;
mod kubeconfigs;
mod openmcp;
mod repairs;
mod secrets;
mod work;
mod world;
