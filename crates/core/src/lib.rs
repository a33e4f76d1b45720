//! All decisions of Allotment, as plain synchronous values: no client, no clock, no randomness, no `HashMap`.
//!
//! | room | what is decided there |
//! |---|---|
//! | [`check`] | nothing: it says what must always hold |
//! | [`cluster`] | what Shoot a Cluster becomes |
//! | [`condition`] | when a condition changes, and when its transition time does |
//! | [`label`] | what can be the value of a label |
//! | [`pool`] | which account a request gets, and what becomes of accounts |
//! | [`rules`] | which pool a request goes to: the rule language |
//!
//! Access and the openMCP contract each get a room of their own beside them.

pub mod check;
pub mod cluster;
pub mod condition;
pub mod label;
pub mod pool;
pub mod rules;
