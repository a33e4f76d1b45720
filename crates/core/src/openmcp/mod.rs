//! The ClusterProvider contract of openMCP, pure: what every provider, the generic AccessRequest controller and the scheduler
//! have to decide.
//!
//! | file | what is decided there |
//! |---|---|
//! | [`access`] | what an AccessRequest has inside a cluster |
//! | [`cluster`] | what Shoot a Cluster becomes, and what is done next about it |
//! | [`instance`] | which provider this is, and whose a profile is |
//! | [`landscape`] | what is done about a Landscape, and what its status says |
//! | [`names`] | names that follow from other names, alike with upstream's |
//! | [`policy`] | what namespaces may refer to |
//! | [`profiles`] | which ClusterProfile a ProviderConfig makes, with which versions |
//! | [`provider_config`] | what is done about a ProviderConfig, and what its status says |
//! | [`responsible`] | whose an AccessRequest is |
//! | [`resolve`] | what the generic controller does about an AccessRequest |
//! | [`schedule`] | which Cluster a ClusterRequest gets |
//! | [`status`] | the general rules for conditions and phases |

pub mod access;
pub mod cluster;
pub mod instance;
pub mod landscape;
pub mod names;
pub mod policy;
pub mod profiles;
pub mod provider_config;
pub mod resolve;
pub mod responsible;
pub mod schedule;
pub mod status;
