//! From a Cluster to its Shoot.

use super::index::{Index, Login, NoLogin, Place};
use crate::target::{Key, Targets};
use allotment_api::openmcp::{
    Cluster,
    gardener::names::Reason,
    names::{Reason as CommonReason, label},
};
use allotment_core::openmcp::{cluster::Record, instance::Instance, names::label_value};
use kube::Client;
use std::fmt;

/// The way to a Shoot.
#[derive(Clone)]
pub struct Way {
    /// The Landscape.
    pub landscape: String,
    /// The garden.
    pub garden: Client,
    /// The namespace of the project.
    pub namespace: String,
    /// The name of the Shoot.
    pub shoot: String,
    /// Which Shoot of that name.
    pub uid: String,
    /// The way into the Shoots of the project.
    pub targets: Targets,
}

impl Way {
    /// What [`Targets::reach`] wants to know.
    pub fn key(&self) -> Key {
        Key::shoot(&self.shoot, &self.uid)
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { landscape, namespace, shoot, uid, .. } = self;
        write!(f, "Way({landscape}/{namespace}/{shoot} {uid})")
    }
}

/// Why there is no way to a Shoot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWay {
    /// This process has just started.
    #[error("it is not known yet: this process has just started")]
    NotYet,
    /// There is no such ClusterProfile.
    #[error("ClusterProfile {profile} is not there")]
    NoProfile {
        /// Which.
        profile: String,
    },
    /// The profile is another provider's, or of another environment.
    #[error("ClusterProfile {profile} is not ours")]
    NotOurs {
        /// Which.
        profile: String,
    },
    /// There is no such ProviderConfig.
    #[error("ProviderConfig {config} is not there")]
    NoConfig {
        /// Which.
        config: String,
    },
    /// There is no such Landscape.
    #[error("Landscape {landscape} is not there")]
    NoLandscape {
        /// Which.
        landscape: String,
    },
    /// The login does not work.
    #[error("Landscape {landscape} cannot be used: {because}")]
    NoLogin {
        /// Which.
        landscape: String,
        /// Why not.
        because: String,
    },
    /// The garden does not answer, and has not since this process began.
    #[error("Landscape {landscape} does not answer: {because}")]
    Away {
        /// Which.
        landscape: String,
        /// What was tried.
        because: String,
    },
    /// The project cannot be used with this login.
    #[error("project {project} of Landscape {landscape} cannot be used: {because}")]
    NoProject {
        /// Of the project.
        landscape: String,
        /// Which.
        project: String,
        /// Why not.
        because: String,
    },
    /// The Cluster has no Shoot yet.
    #[error("the Cluster has no Shoot yet")]
    NoShoot,
}

impl NoWay {
    /// Whether it is a reason to wait: somebody will be told when it is over ([`super::Landscapes::changes`], or the Cluster
    /// changes).
    pub fn is_passing(&self) -> bool {
        match self {
            Self::NotYet | Self::NoLogin { .. } | Self::Away { .. } | Self::NoShoot => true,
            Self::NoProfile { .. }
            | Self::NotOurs { .. }
            | Self::NoConfig { .. }
            | Self::NoLandscape { .. }
            | Self::NoProject { .. } => false,
        }
    }

    /// The reason in a condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotYet => CommonReason::InternalError.as_str(),
            Self::NoProfile { .. } | Self::NotOurs { .. } | Self::NoConfig { .. } => {
                Reason::UnknownProfile.as_str()
            }
            Self::NoLandscape { .. } | Self::NoLogin { .. } => Reason::UnknownLandscape.as_str(),
            Self::Away { .. } => Reason::GardenClusterInteractionProblem.as_str(),
            Self::NoProject { .. } => Reason::InvalidProject.as_str(),
            Self::NoShoot => Reason::ShootNotFound.as_str(),
        }
    }
}

/// Where the Shoot of a Cluster is, or is to be made. A Shoot stays where its record says, also if the ProviderConfig has
/// changed since.
pub(super) fn place_of(
    index: &Index,
    instance: &Instance,
    cluster: &Cluster,
    record: Option<&Record>,
) -> Result<Place, NoWay> {
    if !index.is_listed() {
        return Err(NoWay::NotYet);
    }
    let profile = &cluster.spec.profile;
    if let Some(Record { landscape: Some(landscape), project, namespace, .. }) = record {
        if !is_ours(index, instance, cluster) {
            return Err(NoWay::NotOurs { profile: profile.clone() });
        }
        let Login { garden, number, .. } = login_of(index, landscape)?;
        let (landscape, project, namespace) = (landscape.clone(), project.clone(), namespace.clone());
        return Ok(Place { landscape, project, garden: garden.clone(), number: *number, namespace });
    }
    let (landscape, project) = configured(index, instance, profile)?;
    let place = place_for(index, &landscape, &project)?;
    // Upstream keeps the namespace without the Landscape.
    Ok(match record {
        Some(record) if record.namespace != place.namespace => {
            Place { project: None, namespace: record.namespace.clone(), ..place }
        }
        _ => place,
    })
}

/// A project of a Landscape.
pub(super) fn place_for(index: &Index, landscape: &str, project: &str) -> Result<Place, NoWay> {
    if !index.is_listed() {
        return Err(NoWay::NotYet);
    }
    let login = login_of(index, landscape)?;
    let Some(namespace) = login.projects.get(project) else {
        let (landscape, project) = (landscape.to_owned(), project.to_owned());
        return Err(match (login.refused.get(&project).cloned(), login.trouble.clone()) {
            (Some(because), _) => NoWay::NoProject { landscape, project, because },
            (None, Some(because)) => NoWay::Away { landscape, because },
            // Until the garden was asked about it, nobody knows.
            (None, None) => NoWay::NotYet,
        });
    };
    Ok(Place {
        landscape: landscape.to_owned(),
        project: Some(project.to_owned()),
        garden: login.garden.clone(),
        number: login.number,
        namespace: namespace.clone(),
    })
}

/// Whether the profile of a Cluster is ours, also if it is gone: what it made has to be taken away. Names may have dots, so that
/// of the profile alone does not tell providers apart; where there was a Shoot, a label does.
pub(super) fn is_ours(index: &Index, instance: &Instance, cluster: &Cluster) -> bool {
    let profile = &cluster.spec.profile;
    let provider = cluster.metadata.labels.as_ref().and_then(|labels| labels.get(label::PROVIDER));
    match index.profiles.get(profile) {
        Some(found) => instance.owns(found),
        None => {
            let is_named = provider.is_none_or(|provider| *provider == label_value(&instance.provider));
            instance.would_own(profile) && is_named
        }
    }
}

/// The Landscape and the project that a profile leads to.
fn configured(index: &Index, instance: &Instance, profile: &str) -> Result<(String, String), NoWay> {
    let name = || profile.to_owned();
    let found = index.profiles.get(&name()).ok_or_else(|| NoWay::NoProfile { profile: name() })?;
    if !instance.owns(found) {
        return Err(NoWay::NotOurs { profile: name() });
    }
    let config = &found.spec.provider_config_ref.name;
    let spec = match index.configs.get(config) {
        Some(config) if config.spec.provider_ref.name == instance.provider => &config.spec,
        _ => return Err(NoWay::NoConfig { config: config.clone() }),
    };
    Ok((spec.landscape_ref.name.clone(), spec.project.clone()))
}

fn login_of<'a>(index: &'a Index, landscape: &str) -> Result<&'a Login, NoWay> {
    let name = || landscape.to_owned();
    if index.landscapes.get(&name()).is_none() {
        return Err(NoWay::NoLandscape { landscape: name() });
    }
    match index.logins.get(landscape) {
        None => Err(NoWay::NotYet),
        Some(Err(NoLogin::Refused(because))) => {
            Err(NoWay::NoLogin { landscape: name(), because: because.clone() })
        }
        Some(Err(NoLogin::Away(because))) => Err(NoWay::Away { landscape: name(), because: because.clone() }),
        Some(Ok(entry)) => Ok(&entry.login),
    }
}
