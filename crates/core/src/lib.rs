//! All decisions of Allotment, as plain synchronous values: no client, no clock, no randomness, no `HashMap`.
//!
//! | room | what is decided there |
//! |---|---|
//! | [`condition`] | when a condition changes, and when its transition time does |
//!
//! The rule language, the pool, Shoot rendering, access and the openMCP contract each get a room of their own beside it.

pub mod condition;
