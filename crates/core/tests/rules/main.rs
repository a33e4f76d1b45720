//! The rule language as its users see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod findings;
mod seed;
