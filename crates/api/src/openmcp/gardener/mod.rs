//! What configures the Gardener provider: a [`Landscape`] to work in, a [`ProviderConfig`] for each ClusterProfile, and a
//! [`ClusterConfig`] for what is special about one cluster.

mod cluster_config;
mod landscape;
pub mod names;
mod provider_config;
mod shoot_parts;
#[cfg(test)]
mod tests;

pub use cluster_config::*;
pub use landscape::*;
pub use provider_config::*;
pub use shoot_parts::*;
