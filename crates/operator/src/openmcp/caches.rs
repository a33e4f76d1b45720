//! What a process that runs every controller remembers, for who measures it.

use super::{access, generic, provider};
use allotment_api::{
    gardener::Shoot,
    openmcp::{AccessRequest, Cluster},
};
use k8s_openapi::api::core::v1::Secret;
use kube::core::PartialObjectMeta;

/// What the controllers of a process remember of Clusters, AccessRequests and what belongs to them.
#[derive(Default)]
pub struct Caches {
    provider: provider::index::Index,
    access: access::index::Index,
    generic: generic::index::Index,
}

impl Caches {
    /// Tells all of them, as their watches would. The Shoot is in this namespace of this Landscape.
    pub fn learn(
        &mut self,
        (cluster, shoot): (Cluster, Shoot),
        (landscape, namespace): (&str, &str),
        (request, secret): (AccessRequest, &PartialObjectMeta<Secret>),
    ) {
        self.provider.learn_shoot(&(landscape.to_owned(), namespace.to_owned()), shoot);
        self.provider.learn_cluster(cluster.clone());
        self.access.learn_cluster(cluster.clone());
        self.generic.learn_cluster(cluster);
        self.access.learn_request(request.clone());
        self.generic.learn_request(request);
        self.access.learn_secret(secret);
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.provider.all_clusters().is_empty()
    }
}
