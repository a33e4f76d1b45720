//! All decisions of Allotment, as plain synchronous values: no client, no clock, no randomness, no `HashMap`.
//!
//! | room | what is decided there |
//! |---|---|
//! | [`condition`] | when a condition changes, and when its transition time does |
//! | [`pool`] | which account a request gets, and what becomes of accounts |
//!
//! The rule language, Shoot rendering, access and the openMCP contract each get a room of their own beside it.

pub mod condition;
pub mod pool;
