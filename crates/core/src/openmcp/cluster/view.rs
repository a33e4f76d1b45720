//! What is known of a Cluster, and what is decided.

use super::{Account, Binding, Record, ending, living};
use crate::openmcp::{
    instance::Instance,
    names::{hash8, shoot_name},
    policy::Policy,
};
use allotment_api::{
    gardener::Shoot,
    openmcp::{
        Cluster, ClusterProfile, ClusterStatus,
        gardener::{
            ClusterConfig, ProviderConfig,
            names::{finalizer, label},
        },
        names::{Operation, annotation},
    },
};
use jiff::Timestamp;
use serde_json::Value;
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// Where the Shoot of a Cluster is, or is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The Landscape.
    pub landscape: String,
    /// The project, where it is known.
    pub project: Option<String>,
    /// The namespace of the project.
    pub namespace: String,
}

/// What is known of the Shoot of a name.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The Shoot, if there is one.
    pub shoot: Option<Arc<Shoot>>,
    /// Whether it was read just now. A cache may not have seen it yet, and does not see others'.
    pub is_live: bool,
}

/// What is known.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Which provider this is.
    pub instance: &'a Instance,
    /// What namespaces may refer to.
    pub policy: &'a Policy,
    /// What is asked for.
    pub cluster: &'a Cluster,
    /// Whether its profile is ours, or would be if it were there.
    pub is_ours: bool,
    /// Its profile.
    pub profile: Option<&'a ClusterProfile>,
    /// The ProviderConfig behind that.
    pub config: Option<&'a ProviderConfig>,
    /// The ClusterConfigs that it names, in its order, with those that are there.
    pub cluster_configs: &'a [(String, Option<Arc<ClusterConfig>>)],
    /// Where the Shoot is; else reason and message of why that cannot be said.
    pub place: Result<&'a Place, (&'a str, &'a str)>,
    /// The Shoots of the names that it could have.
    pub shoots: &'a BTreeMap<String, Seen>,
    /// The account that the Shoot is to be made in, if it was read just now.
    pub account: Option<&'a Account>,
    /// Whether a person asked to look at it, whether or not there seems to be something to do.
    pub is_forced: bool,
    /// Whether what is rendered was applied in this look: what the garden made of it is how it is.
    pub is_applied: bool,
    /// Why the garden refused what was last tried in this look.
    pub refusal: Option<&'a str>,
    /// Now.
    pub now: Timestamp,
}

/// What is done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing at all, not even a status.
    Leave,
    /// Take the operation's annotation off; what follows is forced.
    Unmark,
    /// Put our finalizer on.
    Hold,
    /// Write this into the status: what comes next must be known to whoever comes after us.
    Announce(Record),
    /// Read the Shoot of this name live.
    LookLive(String),
    /// Read the binding of the account live, before a Shoot goes into it.
    VerifyAccount(Binding),
    /// Make the Shoot. Somebody else's of that name is not overwritten.
    Create(Box<Value>),
    /// Bring the Shoot in line, if it is still this one.
    Update(Box<Value>),
    /// Ask Gardener to try again.
    Retry(String),
    /// Write these labels and annotations on the Cluster.
    Label {
        /// Labels.
        labels: BTreeMap<String, String>,
        /// Annotations.
        annotations: BTreeMap<String, String>,
    },
    /// Confirm that the Shoot of this name is to be deleted.
    ConfirmDeletion(String),
    /// Delete the Shoot of this name.
    DeleteShoot(String),
    /// Take our finalizer off.
    LetGo,
    /// Nothing, until something changes.
    Rest,
}

/// What is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is done next.
    pub step: Step,
    /// What the status says, if this is the last decision of a look.
    pub status: ClusterStatus,
    /// When to look again though nothing has changed.
    pub again: Option<Duration>,
}

impl Decision {
    pub(super) fn step(mut self, step: Step) -> Self {
        self.step = step;
        self
    }

    pub(super) fn after(mut self, wait: Duration) -> Self {
        self.again = Some(wait);
        self
    }
}

/// Decides.
pub fn decide(view: &View<'_>) -> Decision {
    let leave = || Decision {
        step: Step::Leave,
        status: view.cluster.status.clone().unwrap_or_default(),
        again: None,
    };
    let operation = view.cluster.metadata.annotations.as_ref().and_then(|all| all.get(annotation::OPERATION));
    let is_marked = |operation: Option<&String>, wanted: Operation| {
        operation.map(String::as_str) == Some(wanted.as_str())
    };
    if !view.is_ours || is_marked(operation, Operation::Ignore) {
        return leave();
    }
    if is_marked(operation, Operation::Reconcile) {
        return leave().step(Step::Unmark);
    }
    match view.cluster.metadata.deletion_timestamp {
        None => living::decide(view),
        Some(_) if is_held(view.cluster) => ending::decide(view),
        Some(_) => leave(),
    }
}

/// The names that the Shoot of a Cluster could have, the first that is free or ours being taken. One that was made keeps its
/// name, unless it is gone and somebody else has taken that. Upstream's names do not tell environments apart, so there is a
/// second one, which does.
pub fn names(cluster: &Cluster, instance: &Instance) -> Vec<String> {
    let record = Record::of(cluster);
    let is_made = record.as_ref().is_some_and(|record| record.uid.is_some());
    let given = cluster.metadata.labels.as_ref().and_then(|labels| labels.get(label::SHOOT_NAME));
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let (namespace, name) = (part(&cluster.metadata.namespace), part(&cluster.metadata.name));
    let own = hash8(&[&instance.environment, &instance.provider, &namespace, &name]);
    let mut names = match given.filter(|name| !name.is_empty()) {
        Some(given) if !is_made => return vec![given.clone()],
        Some(given) => vec![given.clone()],
        None => vec![shoot_name(&namespace, &name), format!("s-{own}")],
    };
    // Upstream's record has no UID, and the Shoot may be there. Where it was and is gone, somebody else may have the name by now.
    if let Some(Record { shoot, .. }) = record {
        names.retain(|name| *name != shoot);
        names.insert(0, shoot);
    }
    names
}

pub(super) fn is_held(cluster: &Cluster) -> bool {
    let finalizers = cluster.metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|name| name == finalizer::CLUSTER)
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leave => f.write_str("leave it alone"),
            Self::Unmark => f.write_str("take the operation's annotation off"),
            Self::Hold => f.write_str("put a finalizer on the Cluster"),
            Self::Announce(record) => write!(f, "write down that its Shoot is {}", record.shoot),
            Self::LookLive(name) => write!(f, "read Shoot {name} live"),
            Self::VerifyAccount(binding) => write!(f, "read {binding} live"),
            Self::Create(_) => f.write_str("create the Shoot"),
            Self::Update(_) => f.write_str("bring the Shoot in line with the Cluster"),
            Self::Retry(name) => write!(f, "ask Gardener to try again with Shoot {name}"),
            Self::Label { .. } => f.write_str("label the Cluster"),
            Self::ConfirmDeletion(name) => write!(f, "confirm the deletion of Shoot {name}"),
            Self::DeleteShoot(name) => write!(f, "delete Shoot {name}"),
            Self::LetGo => f.write_str("take the finalizer off the Cluster"),
            Self::Rest => f.write_str("nothing"),
        }
    }
}
