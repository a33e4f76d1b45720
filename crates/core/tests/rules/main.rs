//! The rule language as its users see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod examine;
mod findings;
mod properties;
mod seed;
