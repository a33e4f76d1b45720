//! What is known of Clusters, of what they name, and of the gardens they are in.

use crate::{
    openmcp::{ObjectName, refer::Referrers},
    runtime::{
        keep,
        kept::{Kept, Progress},
    },
};
use allotment_api::{
    gardener::{CloudProfileSpec, Shoot},
    openmcp::{
        Cluster,
        gardener::{ClusterConfig, names::label},
    },
};
use allotment_core::openmcp::cluster::Record;
use kube::ResourceExt;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The kinds that are followed on the platform.
#[derive(Clone, Copy, Debug)]
pub(in crate::openmcp) enum Followed {
    Clusters,
    ClusterConfigs,
}

/// What has to happen when something is learned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::openmcp) enum News {
    /// Look at a Cluster.
    Cluster(ObjectName),
    /// A profile has a user less.
    Profile(String),
}

/// A project of a garden: the Landscape and the namespace.
pub(in crate::openmcp) type PlaceName = (String, String);

/// What is followed in a garden.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source {
    pub(super) landscape: String,
    /// Another one with every garden.
    pub(super) number: u64,
    pub(super) what: What,
}

/// Which kind, and in which namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Shoots(String),
    CloudProfiles,
    NamespacedCloudProfiles(String),
}

/// What is known.
#[derive(Default)]
pub(in crate::openmcp) struct Index {
    clusters: Kept<ObjectName, Arc<Cluster>>,
    cluster_configs: Kept<ObjectName, Arc<ClusterConfig>>,
    by_uid: BTreeMap<String, ObjectName>,
    by_profile: Referrers<String, ObjectName>,
    by_config: Referrers<ObjectName, ObjectName>,
    /// Where Clusters have their Shoots.
    places: BTreeMap<PlaceName, BTreeSet<ObjectName>>,
    shoots: BTreeMap<PlaceName, Kept<String, Arc<Shoot>>>,
    clouds: BTreeMap<(String, Option<String>), Kept<String, Arc<CloudProfileSpec>>>,
}

impl Index {
    pub(super) fn cluster(&self, name: &ObjectName) -> Option<Arc<Cluster>> {
        self.clusters.get(name).cloned()
    }

    pub(in crate::openmcp) fn all_clusters(&self) -> Vec<ObjectName> {
        self.clusters.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn clusters_of(&self, profile: &str) -> impl Iterator<Item = &ObjectName> {
        self.by_profile.to(&profile.to_owned())
    }

    /// The ClusterConfigs that a Cluster names, with those that are there.
    pub(super) fn configs_of(&self, cluster: &Cluster) -> Vec<(String, Option<Arc<ClusterConfig>>)> {
        let names = config_names(cluster);
        names.into_iter().map(|name| (name.name.clone(), self.cluster_configs.get(&name).cloned())).collect()
    }

    /// A Shoot that is ours by its labels.
    pub(super) fn shoot(&self, place: &PlaceName, name: &str) -> Option<Arc<Shoot>> {
        self.shoots.get(place)?.get(&name.to_owned()).cloned()
    }

    /// A CloudProfile; none: the garden was not asked yet.
    pub(super) fn cloud(
        &self,
        landscape: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<Option<Arc<CloudProfileSpec>>> {
        let kept = self.clouds.get(&(landscape.to_owned(), namespace.map(str::to_owned)))?;
        kept.is_listed().then(|| kept.get(&name.to_owned()).cloned())
    }

    /// Where Clusters have their Shoots.
    pub(super) fn places(&self) -> impl Iterator<Item = &PlaceName> {
        self.places.keys()
    }

    pub(in crate::openmcp) fn learn_cluster(&mut self, mut cluster: Cluster) -> Vec<News> {
        cluster.metadata.managed_fields = None;
        let name = ObjectName::of(&cluster.metadata);
        if self.clusters.is_past(&name, &cluster.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        let cluster = Arc::new(cluster);
        let before = self.clusters.insert(name.clone(), cluster.clone());
        if let Some(before) = before {
            self.unlink(&name, &before);
        }
        self.link(&name, &cluster);
        vec![News::Cluster(name)]
    }

    pub(super) fn forget_cluster(&mut self, name: &ObjectName) -> Vec<News> {
        let Some(gone) = self.clusters.remove(name) else { return Vec::new() };
        self.unlink(name, &gone);
        vec![News::Profile(gone.spec.profile.clone())]
    }

    pub(super) fn learn_cluster_config(&mut self, mut config: ClusterConfig) -> Vec<News> {
        config.metadata.managed_fields = None;
        let name = ObjectName::of(&config.metadata);
        if self.cluster_configs.is_past(&name, &config.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        self.cluster_configs.insert(name.clone(), Arc::new(config));
        self.by_config.to(&name).cloned().map(News::Cluster).collect()
    }

    pub(super) fn forget_cluster_config(&mut self, name: &ObjectName) -> Vec<News> {
        self.cluster_configs.remove(name);
        self.by_config.to(name).cloned().map(News::Cluster).collect()
    }

    pub(super) fn restart_shoots(&mut self, place: &PlaceName) {
        self.shoots.entry(place.clone()).or_default().restart();
    }

    pub(super) fn shoots_reached(&mut self, place: &PlaceName, version: u64) {
        self.shoots.entry(place.clone()).or_default().reached(version);
    }

    pub(in crate::openmcp) fn learn_shoot(
        &mut self,
        place: &PlaceName,
        mut shoot: Shoot,
    ) -> Option<ObjectName> {
        shoot.metadata.managed_fields = None;
        let (name, cluster) = (shoot.name_any(), self.cluster_of(&shoot));
        let kept = self.shoots.entry(place.clone()).or_default();
        if kept.is_past(&name, &shoot.metadata, |known| &known.metadata) {
            return None;
        }
        kept.insert(name, Arc::new(shoot));
        cluster
    }

    pub(super) fn forget_shoot(&mut self, place: &PlaceName, name: &str) -> Option<ObjectName> {
        let gone = self.shoots.get_mut(place)?.remove(&name.to_owned())?;
        self.cluster_of(&gone)
    }

    pub(super) fn shoots_listed(&mut self, place: &PlaceName) -> Vec<ObjectName> {
        let gone = self.shoots.entry(place.clone()).or_default().missing();
        gone.into_iter().filter_map(|name| self.forget_shoot(place, &name)).collect()
    }

    pub(super) fn restart_clouds(&mut self, key: &(String, Option<String>)) {
        self.clouds.entry(key.clone()).or_default().restart();
    }

    /// A CloudProfile; whether it is another one.
    pub(super) fn learn_cloud(
        &mut self,
        key: &(String, Option<String>),
        name: String,
        spec: Option<CloudProfileSpec>,
    ) -> bool {
        let kept = self.clouds.entry(key.clone()).or_default();
        let Some(spec) = spec else { return kept.remove(&name).is_some() };
        let is_same = kept.get(&name).is_some_and(|known| **known == spec);
        kept.insert(name, Arc::new(spec));
        !is_same
    }

    pub(super) fn clouds_listed(&mut self, key: &(String, Option<String>)) {
        let kept = self.clouds.entry(key.clone()).or_default();
        kept.missing().iter().for_each(|name| drop(kept.remove(name)));
    }

    /// Nothing is known from there any more.
    pub(super) fn forget_source(&mut self, source: &Source) {
        let landscape = source.landscape.clone();
        match &source.what {
            What::Shoots(namespace) => drop(self.shoots.remove(&(landscape, namespace.clone()))),
            What::CloudProfiles => drop(self.clouds.remove(&(landscape, None))),
            What::NamespacedCloudProfiles(namespace) => {
                drop(self.clouds.remove(&(landscape, Some(namespace.clone()))));
            }
        }
    }

    fn cluster_of(&self, shoot: &Shoot) -> Option<ObjectName> {
        match shoot.labels().get(label::CLUSTER_UID) {
            Some(uid) => self.by_uid.get(uid).cloned(),
            // One that upstream made. Its names may be shortened, and then it is found when its Cluster is looked at.
            None => {
                let label = |key: &str| shoot.labels().get(key).cloned();
                let (namespace, name) = (label(label::CLUSTER_NAMESPACE)?, label(label::CLUSTER_NAME)?);
                Some(ObjectName { namespace, name })
            }
        }
    }

    fn link(&mut self, name: &ObjectName, cluster: &Cluster) {
        if let Some(uid) = cluster.uid() {
            self.by_uid.insert(uid, name.clone());
        }
        self.by_profile.insert(cluster.spec.profile.clone(), name.clone());
        for config in config_names(cluster) {
            self.by_config.insert(config, name.clone());
        }
        if let Some(place) = place_name(cluster) {
            self.places.entry(place).or_default().insert(name.clone());
        }
    }

    fn unlink(&mut self, name: &ObjectName, cluster: &Cluster) {
        if let Some(uid) = cluster.uid() {
            self.by_uid.remove(&uid);
        }
        self.by_profile.remove(&cluster.spec.profile, name);
        for config in config_names(cluster) {
            self.by_config.remove(&config, name);
        }
        if let Some(place) = place_name(cluster)
            && let Some(clusters) = self.places.get_mut(&place)
        {
            clusters.remove(name);
            if clusters.is_empty() {
                self.places.remove(&place);
            }
        }
    }
}

impl keep::Index for Index {
    type Followed = Followed;
    type Task = News;

    /// Whether everything on the platform has been listed once. No garden is waited for.
    fn is_complete(&self) -> bool {
        self.clusters.is_listed() && self.cluster_configs.is_listed()
    }

    fn kept(&mut self, what: Followed) -> &mut dyn Progress {
        match what {
            Followed::Clusters => &mut self.clusters,
            Followed::ClusterConfigs => &mut self.cluster_configs,
        }
    }

    fn listed(&mut self, what: Followed) -> Vec<News> {
        match what {
            Followed::Clusters => {
                let gone = self.clusters.missing().into_iter();
                gone.flat_map(|name| self.forget_cluster(&name)).collect()
            }
            Followed::ClusterConfigs => {
                let gone = self.cluster_configs.missing().into_iter();
                gone.flat_map(|name| self.forget_cluster_config(&name)).collect()
            }
        }
    }
}

fn config_names(cluster: &Cluster) -> Vec<ObjectName> {
    let namespace = cluster.namespace().unwrap_or_default();
    let names = cluster.spec.cluster_configs.iter();
    names.map(|config| ObjectName { namespace: namespace.clone(), name: config.name.clone() }).collect()
}

fn place_name(cluster: &Cluster) -> Option<PlaceName> {
    let record = Record::of(cluster)?;
    Some((record.landscape?, record.namespace))
}
