//! Worlds, fault plans, oracles, the shrinker and load generators: the operators' own code under an ordered queue, on
//! embedded servers, under paused time, from one seed. Never production code.
//!
//! | room | what is in it |
//! |---|---|
//! | [`mod@bench`] | what `make bench` measures |
//! | [`meter`] | counts the calls of a client |
//! | [`subscription`] | the subscription operator under faults |

pub mod bench;
pub mod meter;
pub mod subscription;
