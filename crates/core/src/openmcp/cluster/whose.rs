//! Whose a Shoot is that has a name of ours.

use super::Record;
use crate::openmcp::{instance::Instance, names::label_value};
use allotment_api::{
    gardener::Shoot,
    openmcp::{Cluster, gardener::names::label},
};

/// Whether a Shoot is this Cluster's: the environment, the provider and the Cluster that its labels tell are these. Upstream's
/// Shoots do not tell which Cluster of a name it was: one is ours if the Cluster's own status names it, too.
pub fn is_ours(shoot: &Shoot, cluster: &Cluster, instance: &Instance) -> bool {
    let labels = shoot.metadata.labels.as_ref();
    let has = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
    let is = |key: &str, name: &str| has(key) == Some(label_value(name).as_str());
    if !is(label::ENVIRONMENT, &instance.environment) || !is(label::PROVIDER_NAME, &instance.provider) {
        return false;
    }
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    match has(label::CLUSTER_UID) {
        Some(uid) => cluster.metadata.uid.as_deref() == Some(uid),
        None => {
            is(label::CLUSTER_NAME, &name(&cluster.metadata.name))
                && is(label::CLUSTER_NAMESPACE, &name(&cluster.metadata.namespace))
                && Record::of(cluster).is_some_and(|record| {
                    shoot.metadata.name.as_ref() == Some(&record.shoot)
                        && shoot.metadata.namespace.as_ref() == Some(&record.namespace)
                })
        }
    }
}
