//! Follows what leads to gardens, and logs in.

use super::{
    Dial, Login, NoLogin, NoWay, Place, Way,
    index::{Entry, Followed, Index, Task},
    login::{LoginTrouble, Origin, Projects, credentials, projects},
    way,
};
use crate::{
    metrics::Metrics,
    openmcp::{Instance, ObjectName, lanes::Lanes},
    planted::Bed,
    runtime::{
        clock::Clock,
        follow::{MetadataOf, Position, Seen, follow},
        keep::Cache,
        queue::{Outcome, fair::FairKey},
    },
    target::{self, Connect, Targets},
};
use allotment_api::openmcp::{
    Cluster, ClusterProfile,
    gardener::{Landscape, ProviderConfig},
};
use allotment_core::openmcp::cluster::Record;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt, core::DeserializeGuard};
use std::{
    fmt,
    sync::{Arc, MutexGuard},
    time::Duration,
};
use tokio::{sync::watch, time::sleep};

/// The name of this work in metrics.
const CONTROLLER: &str = "openmcp-login";

/// How often it is looked whether a login still works, and what it may use by now: nothing tells us.
const LOOK_AGAIN: Duration = Duration::from_mins(10);

/// An admin kubeconfig that nobody uses is dropped after a minute; this is how often somebody looks.
const TIDY: Duration = Duration::from_secs(30);

/// What it takes.
#[derive(Clone)]
pub struct Parts {
    /// Where Landscapes are.
    pub platform: Client,
    /// Which provider this is.
    pub instance: Instance,
    /// How a garden is reached.
    pub dial: Dial,
    /// How a Shoot is reached.
    pub connect: Connect,
    /// The time.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Metrics,
}

/// The gardens. Cheap to clone; the controllers of a process share one.
#[derive(Clone)]
pub struct Landscapes(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    parts: Parts,
    cache: Cache<Index>,
    /// Counts up when ways may be others.
    changed: watch::Sender<u64>,
    lanes: Lanes<String>,
    pub(crate) planted: Bed,
}

impl Landscapes {
    /// Nothing is known yet.
    pub fn new(parts: Parts) -> Self {
        let cache = Cache::new(Index::new(&parts.instance.provider));
        Self(Arc::new(Inner {
            parts,
            cache,
            changed: watch::channel(0).0,
            lanes: Lanes::new(),
            planted: Bed::default(),
        }))
    }

    /// The way to the Shoot of a Cluster, by what is known now.
    pub fn way_to(&self, cluster: &Cluster) -> Result<Way, NoWay> {
        let (record, place) = (Record::of(cluster), self.place_of(cluster)?);
        let Some(Record { shoot, uid: Some(uid), .. }) = record else { return Err(NoWay::NoShoot) };
        let targets = self.0.targets(&place);
        let Place { landscape, project: _, garden, number: _, namespace } = place;
        Ok(Way { landscape, garden, namespace, shoot, uid, targets })
    }

    /// Where the Shoot of a Cluster is, or is to be made.
    pub fn place_of(&self, cluster: &Cluster) -> Result<Place, NoWay> {
        let record = Record::of(cluster);
        let place = way::place_of(&self.0.index(), &self.0.parts.instance, cluster, record.as_ref());
        if let (Err(NoWay::NotYet), Some(Record { landscape: Some(landscape), .. })) = (&place, record) {
            self.0.want(landscape);
        }
        place
    }

    /// The project that a ProviderConfig leads to.
    pub fn place_for(&self, config: &ProviderConfig) -> Result<Place, NoWay> {
        way::place_for(&self.0.index(), &config.spec.landscape_ref.name, &config.spec.project)
    }

    /// Whether a Cluster's profile is this provider's, in this environment. One that is gone is told by its name.
    pub fn is_ours(&self, cluster: &Cluster) -> bool {
        way::is_ours(&self.0.index(), &self.0.parts.instance, cluster)
    }

    /// A ClusterProfile.
    pub fn profile(&self, name: &str) -> Option<Arc<ClusterProfile>> {
        self.0.index().profiles.get(&name.to_owned()).cloned()
    }

    /// A ProviderConfig of this provider.
    pub fn config(&self, name: &str) -> Option<Arc<ProviderConfig>> {
        let index = self.0.index();
        let config = index.configs.get(&name.to_owned())?;
        (config.spec.provider_ref.name == self.0.parts.instance.provider).then(|| config.clone())
    }

    /// The ClusterProfiles, of whichever environment, that this provider has made of a ProviderConfig.
    pub fn profiles_of(&self, config: &str) -> Vec<String> {
        let index = self.0.index();
        let of = index.profiles.iter().filter(|(_, profile)| {
            profile.spec.provider_ref.name == self.0.parts.instance.provider
                && profile.spec.provider_config_ref.name == config
        });
        of.map(|(name, _)| name.clone()).collect()
    }

    /// A profile that is gone is known to be, before a watch tells.
    pub fn forget_profile(&self, name: &str) {
        self.0.learn(|index| index.forget_profile(name));
    }

    /// All ProviderConfigs of this provider.
    pub fn configs(&self) -> Vec<Arc<ProviderConfig>> {
        self.0.index().own_configs(&self.0.parts.instance)
    }

    /// The names of the ProviderConfigs, of whichever provider, that refer to a Landscape.
    pub fn configs_of(&self, landscape: &str) -> Vec<String> {
        self.0.index().configs_of(landscape)
    }

    /// A Landscape.
    pub fn landscape(&self, name: &str) -> Option<Arc<Landscape>> {
        self.0.index().landscapes.get(&name.to_owned()).cloned()
    }

    /// What came of the last try to log in; none: there was none yet.
    pub fn login(&self, landscape: &str) -> Option<Result<Login, NoLogin>> {
        let index = self.0.index();
        let login = index.logins.get(landscape)?;
        Some(login.as_ref().map(|entry| entry.login.clone()).map_err(Clone::clone))
    }

    /// The names of the Landscapes that this provider looks after: all but those that only other providers' ProviderConfigs
    /// lead to.
    pub fn names(&self) -> Vec<String> {
        let index = self.0.index();
        index.landscapes.iter().map(|(name, _)| name).filter(|name| index.concerns(name)).cloned().collect()
    }

    /// Whether this provider looks after a Landscape.
    pub fn concerns(&self, landscape: &str) -> bool {
        self.0.index().concerns(landscape)
    }

    /// Somebody wrote this: it is known before a watch tells.
    pub fn learn_landscape(&self, landscape: Landscape) {
        self.0.learn(|index| index.learn_landscape(landscape));
    }

    /// Somebody wrote this: it is known before a watch tells.
    pub fn learn_config(&self, config: ProviderConfig) {
        self.0.learn(|index| index.learn_config(config));
    }

    /// Somebody wrote this: it is known before a watch tells.
    pub fn learn_profile(&self, profile: ClusterProfile) {
        self.0.learn(|index| index.learn_profile(profile));
    }

    /// Counts up whenever a way may be another one.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Whether everything that is followed has been listed, and every login been tried once.
    pub fn is_complete(&self) -> bool {
        self.0.cache.is_complete()
    }

    /// Whether everything that is followed has been listed. A garden that does not answer holds nobody up.
    pub fn is_listed(&self) -> bool {
        self.0.index().is_listed()
    }

    /// Looks soon whether a login still works: somebody was refused.
    pub fn look_again(&self, landscape: &str) {
        self.0.lanes.add(landscape, landscape.to_owned());
    }

    /// Follows, and logs in, for ever. It runs once in every process.
    pub async fn follow(&self) {
        let inner = &self.0;
        let add = |task| inner.take(task);
        let keeper = inner.cache.keeper(&add);
        let platform = || inner.parts.platform.clone();
        let landscapes: Api<DeserializeGuard<Landscape>> = Api::all(platform());
        let configs: Api<DeserializeGuard<ProviderConfig>> = Api::all(platform());
        let profiles: Api<DeserializeGuard<ClusterProfile>> = Api::all(platform());
        tokio::join!(
            keeper.keep(Followed::Landscapes, landscapes, None, Index::learn_landscape, |index, gone| {
                index.forget_landscape(&gone.name_any())
            }),
            keeper.keep(Followed::Configs, configs, None, Index::learn_config, |index, gone| {
                index.forget_config(&gone.name_any())
            }),
            keeper.keep(Followed::Profiles, profiles, None, Index::learn_profile, |index, gone| {
                index.forget_profile(&gone.name_any())
            }),
            // Only their metadata, in the namespaces where Landscapes point at some.
            Box::pin(inner.cache.follow_each(Index::secret_namespaces, |it| inner.follow_secrets_in(it))),
            Box::pin(inner.lanes.work(
                1,
                &inner.parts.metrics,
                CONTROLLER,
                |_| FairKey::Everybody,
                |name| {
                    let inner = inner.clone();
                    Box::pin(async move { inner.log_in(&name).await })
                }
            )),
            Box::pin(inner.tidy()),
        );
    }
}

impl fmt::Debug for Landscapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Landscapes").field("instance", &self.0.parts.instance).finish_non_exhaustive()
    }
}

impl Inner {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.cache.index()
    }

    fn take(&self, task: Task) {
        match task {
            Task::LogIn(name) => self.lanes.add(&name, name.clone()),
            Task::Tell => self.tell(),
        }
    }

    fn learn(&self, learn: impl FnOnce(&mut Index) -> Vec<Task>) {
        let tasks = learn(&mut self.index());
        tasks.into_iter().for_each(|task| self.take(task));
    }

    /// A Cluster has its Shoot there.
    fn want(&self, landscape: String) {
        let mut index = self.index();
        let is_new = index.is_listed()
            && !index.logins.contains_key(&landscape)
            && index.wanted.insert(landscape.clone());
        drop(index);
        if is_new {
            self.lanes.add(&landscape, landscape.clone());
        }
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn targets(&self, place: &Place) -> Targets {
        let Parts { platform, connect, clock, metrics, .. } = &self.parts;
        let key = (place.landscape.clone(), place.namespace.clone());
        let mut index = self.index();
        let targets = index.targets.entry(key).or_insert_with(|| {
            Targets::new(target::Parts {
                garden: place.garden.clone(),
                garden_namespace: place.namespace.clone(),
                control_plane: platform.clone(),
                clock: clock.clone(),
                connect: connect.clone(),
                metrics: metrics.clone(),
            })
        });
        targets.clone()
    }

    /// Logs in to a Landscape, or looks whether the login still works.
    async fn log_in(&self, name: &str) -> Result<Outcome, LoginTrouble> {
        let landscape = {
            let index = self.index();
            // Until all ProviderConfigs are known, nobody can tell whose it is.
            index
                .landscapes
                .get(&name.to_owned())
                .filter(|_| index.is_listed() && index.concerns(name))
                .cloned()
        };
        let Some(landscape) = landscape else { return Ok(Outcome::Done) };
        let tried = match credentials(&self.parts.platform, &landscape).await {
            Ok((given, origin)) => self.connect(name, given, origin).await,
            Err(trouble) => Err(trouble),
        };
        match tried {
            Ok(()) => Ok(Outcome::After(LOOK_AGAIN)),
            Err(trouble) => {
                self.could_not(name, &trouble);
                Err(trouble)
            }
        }
    }

    async fn connect(
        &self,
        name: &str,
        given: allotment_core::access::kubeconfig::Given,
        origin: Origin,
    ) -> Result<(), LoginTrouble> {
        let server = given.server.clone();
        let known = {
            let index = self.index();
            let entry = index.logins.get(name).and_then(|entry| entry.as_ref().ok());
            // Another address is another garden.
            let entry = entry.filter(|entry| entry.login.server == server);
            entry.map(|entry| (entry.switch.clone(), entry.login.number, entry.origin == origin))
        };
        let (switch, number) = match known {
            Some((switch, number, true)) => (switch, number),
            known => {
                let refused = |error: target::ConnectError| LoginTrouble::Refused(error.to_string());
                let client = self.parts.dial.make(name, given).await.map_err(refused)?;
                match known {
                    Some((switch, number, _)) => {
                        switch.set(client);
                        (switch, number)
                    }
                    None => (self.parts.dial.switch(client), self.next_number(name)),
                }
            }
        };
        let named = self.index().named_projects(name);
        let Projects { usable, refused } = projects(&switch.client, &named).await?;
        let garden = switch.client.clone();
        let login = Login { garden, number, server, projects: usable, refused, trouble: None };
        let is_news = self.index().put(name, Ok(Entry { origin, named, switch, login }));
        if is_news {
            self.tell();
        }
        Ok(())
    }

    /// A login that worked stays, unless what it was made from is bad now.
    fn could_not(&self, name: &str, trouble: &LoginTrouble) {
        let why = trouble.to_string();
        let mut index = self.index();
        let is_news = match (index.logins.get_mut(name), trouble) {
            (Some(Ok(entry)), LoginTrouble::Secret(_) | LoginTrouble::Garden(_)) => {
                entry.login.trouble.replace(why.clone()) != Some(why)
            }
            (_, LoginTrouble::Refused(_)) => index.put(name, Err(NoLogin::Refused(why))),
            _ => index.put(name, Err(NoLogin::Away(why))),
        };
        drop(index);
        if is_news {
            self.tell();
        }
    }

    /// For another garden. The way into Shoots of the one before leads nowhere any more.
    fn next_number(&self, landscape: &str) -> u64 {
        let mut index = self.index();
        index.targets.retain(|(of, _), _| of != landscape);
        index.last_number += 1;
        index.last_number
    }

    async fn follow_secrets_in(&self, namespace: String) {
        let secrets: Api<Secret> = Api::namespaced(self.parts.platform.clone(), &namespace);
        follow(MetadataOf(secrets), None, Position::new(), |seen| {
            let (Seen::Applied(secret) | Seen::Deleted(secret)) = seen else { return };
            let secret = ObjectName { namespace: namespace.clone(), name: secret.name_any() };
            let names = self.index().landscapes_with(&secret);
            names.into_iter().for_each(|name| self.lanes.add(&name, name.clone()));
        })
        .await;
    }

    async fn tidy(&self) {
        loop {
            sleep(TIDY).await;
            self.index().targets.values().for_each(Targets::tidy);
        }
    }
}
