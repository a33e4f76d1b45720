//! The openMCP ClusterProvider for Gardener.
//!
//! | room | what is there |
//! |---|---|
//! | [`access`] | AccessRequests of this provider: a grant in the cluster, a kubeconfig in a Secret |
//! | [`generic`] | AccessRequests, as far as they are the same for every provider |
//! | [`config`] | the configuration of the provider |
//! | [`landscapes`] | the gardens that this process has logged in to, and the way from a Cluster to its Shoot |
//! | [`init`] | the kinds on the platform cluster |
//! | [`process`] | everything put together, as `allotment openmcp run` runs it |
//! | [`lanes`] | a queue of work for each landscape, so that a bad one holds up no other |
//! | [`provider`] | Landscapes, ProviderConfigs and Clusters |
//! | [`scheduler`] | ClusterRequests, where nobody else looks after them |
//!
//! # How the controllers are put together
//!
//! Every controller is made from the same [`Parts`], has its own caches, its own queue and, where there are several replicas,
//! its own Lease ([`Instance::lease_name`]). They share one thing: [`Landscapes`], which follows Landscapes, ProviderConfigs and
//! ClusterProfiles, logs in, and writes nothing. It runs in every process ([`Landscapes::follow`]), whichever controllers do.
//!
//! [`Landscapes::way_to`] leads from a Cluster to its Shoot, or says why there is no way: a [`NoWay`] that is
//! [passing](NoWay::is_passing) is a reason to wait, and never one to take something back. It is told by
//! [`Landscapes::changes`] when the answer may be another one.

pub mod access;
mod caches;
mod checked;
pub mod config;
pub mod generic;
pub mod init;
pub mod landscapes;
pub mod lanes;
pub mod process;
pub mod provider;
mod refer;
pub mod scheduler;
mod serve;

pub use allotment_core::openmcp::instance::Instance;
pub use caches::Caches;
pub use landscapes::{Landscapes, NoWay, Way};

use crate::{
    metrics::Metrics,
    runtime::{clock::Clock, controller::Leadership, lease::Candidate},
};
use allotment_core::openmcp::policy::Policy;
use kube::{Api, Client, api::ObjectMeta};
use std::{fmt, sync::Arc};

/// What a controller is made of.
#[derive(Clone)]
pub struct Parts {
    /// Where the kinds of the contract are.
    pub platform: Client,
    /// The gardens.
    pub landscapes: Landscapes,
    /// What does not change.
    pub settings: Settings,
    /// The time.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Metrics,
}

impl Parts {
    /// How a controller comes to lead: where there are several replicas, only whoever holds this Lease does.
    fn leadership(&self, controller: &'static str, lease: &str) -> Leadership {
        let candidate = self.settings.lease_namespace.as_ref().map(|namespace| {
            let leases = Api::namespaced(self.platform.clone(), namespace);
            Candidate::new(leases, lease, &self.settings.identity, self.clock.clone())
        });
        Leadership::new(controller, candidate, self.metrics.clone())
    }
}

/// What does not change while the process runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which provider this is.
    pub instance: Instance,
    /// Who this process is: another one in every replica.
    pub identity: String,
    /// Where Leases are; none: there is one replica only, and nobody to wait for.
    pub lease_namespace: Option<String>,
    /// The provider's own namespace: AccessLocks are there.
    pub own_namespace: String,
    /// The only namespace whose objects are looked at; none: all.
    pub namespace: Option<String>,
    /// What namespaces may refer to.
    pub policy: Arc<Policy>,
    /// How many objects are looked at at once, in each lane.
    pub workers: usize,
}

/// An object of the platform, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectName {
    /// Of an object.
    pub fn of(metadata: &ObjectMeta) -> Self {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        Self { namespace: part(&metadata.namespace), name: part(&metadata.name) }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
