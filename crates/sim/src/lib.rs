//! Worlds, fault plans, oracles, the shrinker and load generators: the operators' own code under an ordered queue, on
//! embedded servers, under paused time, from one seed. Never production code.
//!
//! | room | what is in it |
//! |---|---|
//! | [`mod@bench`] | what `make bench` measures |
//! | [`meter`] | counts the calls of a client |
//! | [`stage`] | operators under faults: worlds, faults, oracles, the shrinker |
//! | [`subscription`] | what is particular about the subscription operator |
//! | [`cluster`] | what is particular about the cluster operator |
//! | [`cleanup`] | the cleanup operator, and clouds with leftovers |
//! | [`access`] | what is particular about the kubeconfig operator |
//! | [`hostile`] | a hostile tenant beside honest ones |
//! | [`openmcp`] | what is particular about providers of openMCP |

pub mod access;
pub mod bench;
pub mod cleanup;
pub mod cluster;
pub mod hostile;
pub mod meter;
pub mod openmcp;
pub mod stage;
pub mod subscription;
