//! Whether the Shoot that a Cluster's status names is that Cluster's.

use super::{look::Scene, run::Inner};
use crate::{
    runtime::call::call,
    target::{Key, TargetTrouble},
};
use allotment_api::{gardener::Shoot, kyma::SubscriptionRequest};
use allotment_core::cluster::flow::{carried_cluster, is_owned_by, request_name};
use kube::{Api, ResourceExt};

impl Inner {
    /// Checks, before anything is granted, that a Shoot carries the UID of the Cluster or of its request, and that we wrote
    /// it. A status may be forged; a Shoot of another tenant must not be entered because of it.
    pub(super) async fn check_ownership(&self, scene: &Scene, key: &Key) -> Result<(), TargetTrouble> {
        let (Key::Shoot { name, uid }, Some(cluster)) = (key, &scene.cluster) else { return Ok(()) };
        let shoots: Api<Shoot> = Api::namespaced(self.garden.clone(), &self.settings.garden_namespace);
        let found = call(|| format!("read Shoot {name}"), shoots.get_metadata_opt(name)).await?;
        let Some(shoot) = found else { return Err(TargetTrouble::NoShoot { shoot: name.clone() }) };
        let request = match carried_cluster(&shoot.metadata) {
            Some(_) => None,
            // An older version wrote the UID of the request only.
            None => {
                let namespace = cluster.namespace().unwrap_or_default();
                let api: Api<SubscriptionRequest> = Api::namespaced(self.control_plane.clone(), &namespace);
                let name = request_name(cluster);
                let found = api.get_metadata_opt(&name);
                let found = call(|| format!("read SubscriptionRequest {name}"), found).await?;
                found.and_then(|found| found.metadata.uid)
            }
        };
        let is_own = is_owned_by(&shoot.metadata, cluster.metadata.uid.as_deref(), request.as_deref());
        if is_own && shoot.metadata.uid.as_ref() == Some(uid) {
            return Ok(());
        }
        Err(TargetTrouble::OtherShoot { shoot: name.clone() })
    }
}
