//! What is known of Landscapes, ProviderConfigs and ClusterProfiles.

use crate::{runtime::kept::Kept, target::Targets};
use allotment_api::openmcp::{
    ClusterProfile,
    gardener::{Landscape, ProviderConfig},
};
use kube::Client;
use std::{collections::BTreeMap, sync::Arc};

/// A login to a garden. It stays when the garden is away for a while: whoever calls it then is told so.
#[derive(Clone)]
pub struct Login {
    /// The garden. What is behind it changes with the credentials, so it can be kept.
    pub garden: Client,
    /// Its address.
    pub server: String,
    /// The namespaces of the projects that can be used, by project.
    pub projects: BTreeMap<String, String>,
    /// Why a project that somebody names cannot be used.
    pub refused: BTreeMap<String, String>,
    /// Why the garden could not be asked the last time, if it could not.
    pub trouble: Option<String>,
}

/// A project of a garden.
#[derive(Clone)]
pub struct Place {
    /// The Landscape.
    pub landscape: String,
    /// The garden.
    pub garden: Client,
    /// The namespace of the project.
    pub namespace: String,
    /// The way into its Shoots.
    pub targets: Targets,
}

/// What is known.
#[derive(Default)]
pub(super) struct Index {
    pub(super) landscapes: Kept<String, Arc<Landscape>>,
    pub(super) configs: Kept<String, Arc<ProviderConfig>>,
    pub(super) profiles: Kept<String, Arc<ClusterProfile>>,
    /// What came of the last try to log in, by Landscape.
    pub(super) logins: BTreeMap<String, Result<Login, String>>,
    /// By Landscape and namespace.
    pub(super) targets: BTreeMap<(String, String), Targets>,
}

impl Index {
    pub(super) fn is_complete(&self) -> bool {
        self.is_listed() && self.landscapes.iter().all(|(name, _)| self.logins.contains_key(name))
    }

    pub(super) fn is_listed(&self) -> bool {
        self.landscapes.is_listed() && self.configs.is_listed() && self.profiles.is_listed()
    }
}
