//! The ClusterProvider contract of openMCP, pure: what every provider, the generic AccessRequest controller and the scheduler
//! have to decide.
//!
//! | file | what is decided there |
//! |---|---|
//! | [`access`] | what an AccessRequest has inside a cluster |
//! | [`names`] | names that follow from other names, alike with upstream's |
//! | [`profiles`] | which ClusterProfile a ProviderConfig makes, with which versions |
//! | [`responsible`] | whose an AccessRequest is |
//! | [`resolve`] | what the generic controller does about an AccessRequest |
//! | [`schedule`] | which Cluster a ClusterRequest gets |

pub mod access;
pub mod names;
pub mod profiles;
pub mod resolve;
pub mod responsible;
pub mod schedule;
