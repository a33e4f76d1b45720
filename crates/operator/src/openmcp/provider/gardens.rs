//! Which gardens are followed: those that ProviderConfigs lead to, and those that Clusters have their Shoots in. Each by
//! itself: one that does not answer holds up no other.

use super::{
    index::{Source, What},
    run::Inner,
};
use crate::runtime::follow::{Position, Seen, follow};
use allotment_api::{
    gardener::{CloudProfile, NamespacedCloudProfile, Shoot},
    openmcp::gardener::names::label,
};
use allotment_core::openmcp::{names::label_value, provider_config::cloud_profile_of};
use futures::{
    FutureExt, StreamExt,
    future::{AbortHandle, BoxFuture, abortable},
    stream::FuturesUnordered,
};
use kube::{Api, Client, ResourceExt, core::DeserializeGuard};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

impl Inner {
    /// Follows every garden that is wanted, for ever.
    pub(super) async fn follow_gardens(self: &Arc<Self>) {
        let (mut ways, mut learned) = (self.parts.landscapes.changes(), self.cache.changes());
        let mut running: BTreeMap<Source, AbortHandle> = BTreeMap::new();
        let mut followers = FuturesUnordered::new();
        loop {
            let wanted = self.sources();
            running.retain(|source, handle| {
                let stays = wanted.contains_key(source);
                if !stays {
                    handle.abort();
                    self.index().forget_source(source);
                }
                stays
            });
            for (source, garden) in wanted {
                if let Entry::Vacant(place) = running.entry(source.clone()) {
                    let (follower, handle) = abortable(self.clone().follow_source(source, garden));
                    place.insert(handle);
                    followers.push(follower);
                }
            }
            tokio::select! {
                biased;
                // The senders live as long as we do.
                _ = ways.changed() => (),
                _ = learned.changed() => (),
                Some(_) = followers.next() => (),
            }
        }
    }

    /// What is wanted of which garden.
    fn sources(&self) -> BTreeMap<Source, Client> {
        let landscapes = &self.parts.landscapes;
        let mut wanted = BTreeMap::new();
        for config in landscapes.configs() {
            let Ok(place) = landscapes.place_for(&config) else { continue };
            let mut want = |what| {
                let source = Source { landscape: place.landscape.clone(), number: place.number, what };
                wanted.insert(source, place.garden.clone());
            };
            want(What::Shoots(place.namespace.clone()));
            if cloud_profile_of(&config).is_some_and(|profile| profile.is_namespaced) {
                want(What::NamespacedCloudProfiles(place.namespace.clone()));
            } else {
                want(What::CloudProfiles);
            }
        }
        for (landscape, namespace) in self.index().places() {
            let Some(Ok(login)) = landscapes.login(landscape) else { continue };
            let what = What::Shoots(namespace.clone());
            let source = Source { landscape: landscape.clone(), number: login.number, what };
            wanted.insert(source, login.garden);
        }
        wanted
    }

    fn follow_source(self: Arc<Self>, source: Source, garden: Client) -> BoxFuture<'static, ()> {
        let landscape = source.landscape;
        match source.what {
            What::Shoots(namespace) => {
                async move { self.follow_shoots(landscape, namespace, garden).await }.boxed()
            }
            What::CloudProfiles => {
                let profiles: Api<DeserializeGuard<CloudProfile>> = Api::all(garden);
                let key = (landscape, None);
                async move {
                    follow(profiles, None, Position::new(), |seen| match seen {
                        Seen::Restarted => self.index().restart_clouds(&key),
                        Seen::Applied(profile) => {
                            self.learn_cloud(&key, profile.name_any(), Some(profile.spec));
                        }
                        Seen::Deleted(gone) => self.learn_cloud(&key, gone.name_any(), None),
                        Seen::Listed => self.clouds_listed(&key),
                        Seen::Reached(_) | Seen::Returned(_) => (),
                        Seen::Unreadable(name, why) => unreadable(&name, &why),
                    })
                    .await;
                }
                .boxed()
            }
            What::NamespacedCloudProfiles(namespace) => {
                let profiles: Api<DeserializeGuard<NamespacedCloudProfile>> =
                    Api::namespaced(garden, &namespace);
                let key = (landscape, Some(namespace));
                async move {
                    follow(profiles, None, Position::new(), |seen| match seen {
                        Seen::Restarted => self.index().restart_clouds(&key),
                        Seen::Applied(profile) => {
                            let (name, status) = (profile.name_any(), profile.status);
                            self.learn_cloud(&key, name, status.and_then(|status| status.cloud_profile_spec));
                        }
                        Seen::Deleted(gone) => self.learn_cloud(&key, gone.name_any(), None),
                        Seen::Listed => self.clouds_listed(&key),
                        Seen::Reached(_) | Seen::Returned(_) => (),
                        Seen::Unreadable(name, why) => unreadable(&name, &why),
                    })
                    .await;
                }
                .boxed()
            }
        }
    }

    /// Only those that are ours by their labels: a project may have thousands of others.
    async fn follow_shoots(&self, landscape: String, namespace: String, garden: Client) {
        let instance = &self.parts.settings.instance;
        let labels = format!(
            "{}={},{}={}",
            label::ENVIRONMENT,
            label_value(&instance.environment),
            label::PROVIDER_NAME,
            label_value(&instance.provider)
        );
        let shoots: Api<DeserializeGuard<Shoot>> = Api::namespaced(garden, &namespace);
        let place = (landscape, namespace);
        follow(shoots, Some(labels), Position::new(), |seen| {
            let mut index = self.index();
            let clusters = match seen {
                Seen::Restarted => {
                    index.restart_shoots(&place);
                    Vec::new()
                }
                Seen::Applied(shoot) => index.learn_shoot(&place, shoot).into_iter().collect(),
                Seen::Deleted(gone) => index.forget_shoot(&place, &gone.name_any()).into_iter().collect(),
                Seen::Listed => index.shoots_listed(&place),
                Seen::Reached(version) => return index.shoots_reached(&place, version),
                Seen::Returned(_) => return,
                Seen::Unreadable(name, why) => {
                    unreadable(&name, &why);
                    Vec::new()
                }
            };
            drop(index);
            clusters.iter().for_each(|cluster| self.add_cluster(cluster));
        })
        .await;
    }

    fn learn_cloud(
        &self,
        key: &(String, Option<String>),
        name: String,
        spec: Option<allotment_api::gardener::CloudProfileSpec>,
    ) {
        let is_news = self.index().learn_cloud(key, name, spec);
        if is_news {
            self.add_configs_of(&key.0);
        }
    }

    fn clouds_listed(&self, key: &(String, Option<String>)) {
        self.index().clouds_listed(key);
        self.add_configs_of(&key.0);
    }
}

fn unreadable(name: &str, why: &str) {
    tracing::warn!(name, why, "an object of a garden cannot be read; it is left alone");
}
