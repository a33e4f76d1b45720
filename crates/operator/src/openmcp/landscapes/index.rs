//! What is known of Landscapes, ProviderConfigs and ClusterProfiles, from watches.

use super::{dial::Switch, login::Origin};
use crate::{
    openmcp::{Instance, ObjectName},
    runtime::{
        keep,
        kept::{Kept, Progress},
    },
    target::Targets,
};
use allotment_api::openmcp::{
    ClusterProfile,
    gardener::{Landscape, ProviderConfig},
};
use kube::{Client, ResourceExt};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A login to a garden. It stays when the garden is away for a while: whoever calls it then is told so.
#[derive(Clone)]
pub struct Login {
    /// The garden. What is behind it changes with the credentials, so it can be kept.
    pub garden: Client,
    /// Another one with every garden: what was learned from one is not true of the next.
    pub number: u64,
    /// Its address.
    pub server: String,
    /// The namespaces of the projects that can be used, by project.
    pub projects: BTreeMap<String, String>,
    /// Why a project that somebody names cannot be used.
    pub refused: BTreeMap<String, String>,
    /// Why the garden could not be asked the last time, if it could not.
    pub trouble: Option<String>,
}

impl Login {
    fn says_the_same(&self, other: &Self) -> bool {
        let Self { garden: _, number, server, projects, refused, trouble } = self;
        *number == other.number
            && *server == other.server
            && *projects == other.projects
            && *refused == other.refused
            && *trouble == other.trouble
    }
}

/// A project of a garden.
#[derive(Clone)]
pub struct Place {
    /// The Landscape.
    pub landscape: String,
    /// The project, where it is known.
    pub project: Option<String>,
    /// The garden.
    pub garden: Client,
    /// Another one with every garden.
    pub number: u64,
    /// The namespace of the project.
    pub namespace: String,
}

/// Why there is no login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoLogin {
    /// What is there cannot be used: only a change helps.
    Refused(String),
    /// It was not answered: it may be in a moment.
    Away(String),
}

/// What is remembered of a try to log in.
pub(super) struct Entry {
    pub(super) origin: Origin,
    /// The projects that ProviderConfigs named then: the garden was asked about these.
    pub(super) named: BTreeSet<String>,
    pub(super) switch: Switch,
    pub(super) login: Login,
}

/// The kinds that are followed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Followed {
    Landscapes,
    Configs,
    Profiles,
}

/// What has to happen when something is learned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    /// Log in to a Landscape, or look whether the login still works.
    LogIn(String),
    /// Tell who asked that ways may be others.
    Tell,
}

/// What is known.
#[derive(Default)]
pub(super) struct Index {
    pub(super) landscapes: Kept<String, Arc<Landscape>>,
    pub(super) configs: Kept<String, Arc<ProviderConfig>>,
    pub(super) profiles: Kept<String, Arc<ClusterProfile>>,
    /// What came of the last try to log in, by Landscape.
    pub(super) logins: BTreeMap<String, Result<Entry, NoLogin>>,
    /// The last number of a garden.
    pub(super) last_number: u64,
    /// The name of this provider.
    provider: String,
    /// Landscapes that no ProviderConfig of ours leads to, and where Shoots of ours are.
    pub(super) wanted: BTreeSet<String>,
    /// By Landscape and namespace.
    pub(super) targets: BTreeMap<(String, String), Targets>,
}

impl Index {
    /// Nothing is known to this provider yet.
    pub(super) fn new(provider: &str) -> Self {
        Self { provider: provider.to_owned(), ..Self::default() }
    }

    /// Whether a Landscape is this provider's to look after. One that only others lead to is theirs: each garden is asked by
    /// whoever needs it, and what one of them cannot reach is no news about another's.
    pub(super) fn concerns(&self, landscape: &str) -> bool {
        let configs = self.configs.iter().filter(|(_, config)| config.spec.landscape_ref.name == landscape);
        let mut providers = configs.map(|(_, config)| &config.spec.provider_ref.name).peekable();
        self.wanted.contains(landscape)
            || providers.peek().is_none()
            || providers.any(|provider| *provider == self.provider)
    }

    pub(super) fn is_listed(&self) -> bool {
        self.landscapes.is_listed() && self.configs.is_listed() && self.profiles.is_listed()
    }

    /// The projects that ProviderConfigs, of whichever provider, name.
    pub(super) fn named_projects(&self, landscape: &str) -> BTreeSet<String> {
        let configs = self.configs.iter().filter(|(_, config)| config.spec.landscape_ref.name == landscape);
        configs.map(|(_, config)| config.spec.project.clone()).collect()
    }

    /// The ProviderConfigs, of whichever provider, that refer to a Landscape.
    pub(super) fn configs_of(&self, landscape: &str) -> Vec<String> {
        let configs = self.configs.iter().filter(|(_, config)| config.spec.landscape_ref.name == landscape);
        configs.map(|(name, _)| name.clone()).collect()
    }

    /// The ProviderConfigs that are a provider's own.
    pub(super) fn own_configs(&self, instance: &Instance) -> Vec<Arc<ProviderConfig>> {
        let own =
            self.configs.iter().filter(|(_, config)| config.spec.provider_ref.name == instance.provider);
        own.map(|(_, config)| config.clone()).collect()
    }

    /// The Landscapes whose kubeconfig is in this Secret.
    pub(super) fn landscapes_with(&self, secret: &ObjectName) -> Vec<String> {
        let with =
            self.landscapes.iter().filter(|(_, landscape)| secret_of(landscape).as_ref() == Some(secret));
        with.map(|(name, _)| name.clone()).collect()
    }

    /// Namespaces with such Secrets.
    pub(super) fn secret_namespaces(&self) -> BTreeSet<String> {
        let secrets = self.landscapes.iter().filter_map(|(_, landscape)| secret_of(landscape));
        secrets.map(|secret| secret.namespace).collect()
    }

    /// What came of a try to log in, and whether that is news. The Landscape may be gone by now.
    pub(super) fn put(&mut self, landscape: &str, entry: Result<Entry, NoLogin>) -> bool {
        if self.landscapes.get(&landscape.to_owned()).is_none() {
            return false;
        }
        let is_same = match (self.logins.get(landscape), &entry) {
            (Some(Ok(before)), Ok(after)) => before.login.says_the_same(&after.login),
            (Some(Err(before)), Err(after)) => before == after,
            _ => false,
        };
        self.logins.insert(landscape.to_owned(), entry);
        !is_same
    }

    pub(super) fn learn_landscape(&mut self, mut landscape: Landscape) -> Vec<Task> {
        landscape.metadata.managed_fields = None;
        let name = landscape.name_any();
        if self.landscapes.is_past(&name, &landscape.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        let before = self.landscapes.insert(name.clone(), Arc::new(landscape.clone()));
        // What is said about it in the status is our own words.
        let is_same = before.is_some_and(|before| {
            before.metadata.uid == landscape.metadata.uid
                && before.spec == landscape.spec
                && before.annotations() == landscape.annotations()
                && before.metadata.deletion_timestamp == landscape.metadata.deletion_timestamp
        });
        if is_same { Vec::new() } else { vec![Task::LogIn(name), Task::Tell] }
    }

    pub(super) fn forget_landscape(&mut self, name: &str) -> Vec<Task> {
        self.landscapes.remove(&name.to_owned());
        self.logins.remove(name);
        self.targets.retain(|(landscape, _), _| landscape != name);
        vec![Task::Tell]
    }

    pub(super) fn learn_config(&mut self, mut config: ProviderConfig) -> Vec<Task> {
        config.metadata.managed_fields = None;
        let name = config.name_any();
        if self.configs.is_past(&name, &config.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        let before = self.configs.insert(name, Arc::new(config.clone()));
        let is_same = before.as_ref().is_some_and(|before| {
            before.spec == config.spec
                // Somebody may ask for a look.
                && before.annotations() == config.annotations()
                && before.metadata.deletion_timestamp == config.metadata.deletion_timestamp
        });
        if is_same {
            return Vec::new();
        }
        let landscapes = before.iter().map(|before| &before.spec).chain([&config.spec]);
        self.log_in_anew(landscapes.map(|spec| spec.landscape_ref.name.clone()).collect())
    }

    pub(super) fn forget_config(&mut self, name: &str) -> Vec<Task> {
        let gone = self.configs.remove(&name.to_owned());
        // It may have been the last one that led there, or that named its project.
        self.log_in_anew(gone.iter().map(|gone| gone.spec.landscape_ref.name.clone()).collect())
    }

    /// Logs in where the garden was asked about other projects than are named now, and tells.
    fn log_in_anew(&self, landscapes: BTreeSet<String>) -> Vec<Task> {
        let is_to_be_asked = |name: &String| match self.logins.get(name) {
            Some(Ok(entry)) => entry.named != self.named_projects(name),
            _ => self.landscapes.get(name).is_some(),
        };
        landscapes.into_iter().filter(is_to_be_asked).map(Task::LogIn).chain([Task::Tell]).collect()
    }

    pub(super) fn learn_profile(&mut self, mut profile: ClusterProfile) -> Vec<Task> {
        profile.metadata.managed_fields = None;
        let name = profile.name_any();
        if self.profiles.is_past(&name, &profile.metadata, |known| &known.metadata) {
            return Vec::new();
        }
        let before = self.profiles.insert(name, Arc::new(profile.clone()));
        let is_same = before.is_some_and(|before| before.spec == profile.spec);
        if is_same { Vec::new() } else { vec![Task::Tell] }
    }

    pub(super) fn forget_profile(&mut self, name: &str) -> Vec<Task> {
        self.profiles.remove(&name.to_owned());
        vec![Task::Tell]
    }
}

impl keep::Index for Index {
    type Followed = Followed;
    type Task = Task;

    /// Whether everything is listed, and every login was tried once.
    fn is_complete(&self) -> bool {
        let mut names = self.landscapes.iter().map(|(name, _)| name);
        self.is_listed() && names.all(|name| self.logins.contains_key(name) || !self.concerns(name))
    }

    fn kept(&mut self, what: Followed) -> &mut dyn Progress {
        match what {
            Followed::Landscapes => &mut self.landscapes,
            Followed::Configs => &mut self.configs,
            Followed::Profiles => &mut self.profiles,
        }
    }

    fn listed(&mut self, what: Followed) -> Vec<Task> {
        let tasks = match what {
            Followed::Landscapes => {
                let gone = self.landscapes.missing().into_iter();
                gone.flat_map(|name| self.forget_landscape(&name)).collect()
            }
            Followed::Configs => {
                let gone = self.configs.missing().into_iter();
                gone.flat_map(|name| self.forget_config(&name)).collect()
            }
            Followed::Profiles => {
                let gone = self.profiles.missing().into_iter();
                gone.flat_map(|name| self.forget_profile(&name)).collect()
            }
        };
        if !self.is_listed() {
            return tasks;
        }
        // Whose each of them is can be told only now.
        let names = self.landscapes.iter().map(|(name, _)| name);
        let unknown = names.filter(|name| !self.logins.contains_key(*name)).cloned().map(Task::LogIn);
        unknown.chain([Task::Tell]).collect()
    }
}

fn secret_of(landscape: &Landscape) -> Option<ObjectName> {
    let reference = landscape.spec.access.secret_ref.as_ref()?;
    Some(ObjectName { namespace: reference.namespace.clone(), name: reference.name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::keep::Index as _;
    use serde_json::json;

    fn landscape(name: &str) -> Landscape {
        serde_json::from_value(json!({
            "apiVersion": "gardener.clusters.openmcp.cloud/v1alpha1", "kind": "Landscape",
            "metadata": {"name": name}, "spec": {"access": {}},
        }))
        .unwrap()
    }

    fn config(name: &str, provider: &str, landscape: &str) -> ProviderConfig {
        serde_json::from_value(json!({
            "apiVersion": "gardener.clusters.openmcp.cloud/v1alpha1", "kind": "ProviderConfig", "metadata": {"name": name},
            "spec": {
                "providerRef": {"name": provider}, "landscapeRef": {"name": landscape}, "project": "x", "shootTemplate": {},
            },
        }))
        .unwrap()
    }

    #[test]
    fn a_landscape_that_only_others_lead_to_is_theirs() {
        let mut index = Index::new("p");
        for name in ["ours", "theirs", "nobodys", "both"] {
            index.learn_landscape(landscape(name));
        }
        for (name, provider, landscape) in
            [("a", "p", "ours"), ("b", "q", "theirs"), ("c", "p", "both"), ("d", "q", "both")]
        {
            index.learn_config(config(name, provider, landscape));
        }
        let concerned =
            |index: &Index| ["ours", "theirs", "nobodys", "both"].map(|name| index.concerns(name));
        assert_eq!(concerned(&index), [true, false, true, true]);
        for what in [Followed::Landscapes, Followed::Configs, Followed::Profiles] {
            let tasks = index.listed(what);
            assert_eq!(tasks.contains(&Task::LogIn("ours".to_owned())), index.is_listed(), "{what:?}");
        }
        let mut marked = config("a", "p", "ours");
        marked.annotations_mut().insert("openmcp.cloud/operation".to_owned(), "reconcile".to_owned());
        assert!(index.learn_config(marked.clone()).contains(&Task::Tell), "somebody asks for a look");
        assert!(index.learn_config(marked).is_empty(), "that is known");
        assert!(index.forget_config("b").contains(&Task::LogIn("theirs".to_owned())), "it is nobody's now");
        assert_eq!(concerned(&index), [true, true, true, true]);
        index.learn_config(config("b", "q", "theirs"));
        index.wanted.insert("theirs".to_owned());
        assert!(index.concerns("theirs"), "a Shoot of ours is there");
    }
}
