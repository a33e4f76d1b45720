//! The ConfigMaps in the garden that say who may log in.

use super::{Trouble, act::applying, run::Inner};
use crate::runtime::call::call;
use allotment_api::{
    gardener::Shoot,
    kyma::Cluster,
    names::{annotation, label},
};
use allotment_core::cluster::{AUTHENTICATION_KEY, Authentication, shoot_of_config_map};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, PartialObjectMeta, Patch, Preconditions},
};

impl Inner {
    pub(super) async fn apply_config_map(&self, authentication: &Authentication) -> Result<(), Trouble> {
        let (maps, name) = (self.in_the_garden::<ConfigMap>(), &authentication.name);
        let map = Patch::Apply(authentication.config_map(&self.settings.garden_namespace));
        call(|| format!("apply ConfigMap {name}"), maps.patch(name, &applying(), &map)).await?;
        Ok(())
    }

    /// Puts a ConfigMap back that somebody deleted or changed.
    pub(super) async fn check_config_map(&self, authentication: &Authentication) -> Result<(), Trouble> {
        let (maps, name) = (self.in_the_garden::<ConfigMap>(), &authentication.name);
        let found = call(|| format!("read ConfigMap {name}"), maps.get_opt(name)).await?;
        let is_there = found.is_some_and(|found| {
            let config = found.data.as_ref().and_then(|data| data.get(AUTHENTICATION_KEY));
            config == Some(&authentication.config) && is_labelled(&found.metadata, authentication)
        });
        if !is_there {
            tracing::info!(config_map = name, because = "it is missing or changed", "ConfigMap put back");
            self.apply_config_map(authentication).await?;
        }
        Ok(())
    }

    /// Removes the ConfigMaps of a Cluster that no Shoot refers to any more. The caller holds the Cluster with this UID.
    pub(super) async fn remove_config_maps(&self, cluster: &str) -> Result<(), Trouble> {
        for map in self.config_maps(label::CLUSTER_UID, cluster).await? {
            self.remove_unused(&map).await?;
        }
        Ok(())
    }

    /// Removes the ConfigMaps that were made for a request, whose Cluster is gone.
    pub(super) async fn remove_config_maps_of_request(&self, request: &str) -> Result<(), Trouble> {
        for map in self.config_maps(label::SUBSCRIPTION_REQUEST, request).await? {
            if !self.is_cluster_there(&map.metadata).await? {
                self.remove_unused(&map).await?;
            }
        }
        Ok(())
    }

    /// With a planted fault: removes the ConfigMaps of a Cluster, whoever refers to them.
    pub(super) async fn remove_config_maps_in_use(&self, cluster: &str) -> Result<(), Trouble> {
        for map in self.config_maps(label::CLUSTER_UID, cluster).await? {
            self.remove(&map).await?;
        }
        Ok(())
    }

    async fn config_maps(&self, key: &str, uid: &str) -> Result<Vec<PartialObjectMeta<ConfigMap>>, Trouble> {
        let maps: Api<ConfigMap> = self.in_the_garden();
        let params = ListParams::default().labels(&format!("{key}={uid}"));
        let found = call(|| format!("look for ConfigMaps with {key}={uid}"), maps.list_metadata(&params));
        Ok(found.await?.items)
    }

    /// Whether the Cluster that a ConfigMap names, with its UID, is there; a ConfigMap that names none is left alone.
    async fn is_cluster_there(&self, map: &ObjectMeta) -> Result<bool, Trouble> {
        let annotations = map.annotations.as_ref().and_then(|all| all.get(annotation::CLUSTER));
        let Some((namespace, name)) = annotations.and_then(|cluster| cluster.split_once('/')) else {
            return Ok(true);
        };
        let uid = map.labels.as_ref().and_then(|labels| labels.get(label::CLUSTER_UID));
        let api: Api<Cluster> = Api::namespaced(self.control_plane.clone(), namespace);
        let found = call(|| format!("read Cluster {namespace}/{name}"), api.get_metadata_opt(name)).await?;
        Ok(found.is_some_and(|found| found.metadata.uid.as_ref() == uid))
    }

    async fn remove_unused(&self, map: &PartialObjectMeta<ConfigMap>) -> Result<(), Trouble> {
        let name = map.name_any();
        if let Some(shoot) = shoot_of_config_map(&name) {
            let shoots: Api<Shoot> = self.in_the_garden();
            let found = call(|| format!("read Shoot {shoot}"), shoots.get_opt(shoot)).await?;
            if config_map_of(found.as_ref()).as_ref() == Some(&name) {
                return Ok(());
            }
        }
        self.remove(map).await
    }

    async fn remove(&self, map: &PartialObjectMeta<ConfigMap>) -> Result<(), Trouble> {
        let name = map.name_any();
        let only_this = Preconditions { uid: map.uid(), resource_version: None };
        let params = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
        let maps: Api<ConfigMap> = self.in_the_garden();
        match call(|| format!("delete ConfigMap {name}"), maps.delete(&name, &params)).await {
            Err(error) if error.is_not_found() => (),
            result => drop(result?),
        }
        Ok(())
    }
}

/// The ConfigMap that a Shoot refers to.
pub(super) fn config_map_of(shoot: Option<&Shoot>) -> Option<String> {
    let server = shoot?.spec.kubernetes.kube_api_server.as_ref()?;
    Some(server.structured_authentication.as_ref()?.config_map_name.clone())
}

fn is_labelled(found: &ObjectMeta, authentication: &Authentication) -> bool {
    let has =
        |key: &String, value: &String| found.labels.as_ref().and_then(|all| all.get(key)) == Some(value);
    authentication.labels.iter().all(|(key, value)| has(key, value))
}
