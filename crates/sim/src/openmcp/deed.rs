//! What people do on platforms, in gardens and to what providers made there.

use serde::{Deserialize, Serialize};

/// What people do. `on` is the platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Deed {
    /// Somebody who runs the platform does something about a Landscape.
    Landscape {
        /// Where.
        on: usize,
        /// Which.
        landscape: String,
        /// What.
        what: Land,
    },
    /// The same about a ProviderConfig.
    Config {
        /// Where.
        on: usize,
        /// Which.
        config: String,
        /// What.
        what: Config,
    },
    /// Somebody does something about the ClusterConfig.
    Patch {
        /// Where.
        on: usize,
        /// What.
        what: Patch,
    },
    /// A tenant creates a Cluster.
    Order {
        /// Where.
        on: usize,
        /// Its name.
        cluster: String,
        /// Its profile.
        profile: String,
    },
    /// A tenant changes a Cluster.
    Alter {
        /// Where.
        on: usize,
        /// Which.
        cluster: String,
        /// What about it.
        what: Alter,
    },
    /// A tenant deletes a Cluster.
    Cancel {
        /// Where.
        on: usize,
        /// Which.
        cluster: String,
    },
    /// Somebody deletes a Cluster and takes all finalizers off it.
    Tear {
        /// Where.
        on: usize,
        /// Which.
        cluster: String,
    },
    /// Somebody sets an annotation on something, or takes it off.
    Sign {
        /// Where.
        on: usize,
        /// The plural of the kind.
        kind: String,
        /// Which.
        name: String,
        /// What it says.
        what: Sign,
    },
    /// Something happens in the garden to the Shoot of a Cluster.
    Garden {
        /// The platform of the Cluster.
        on: usize,
        /// Which.
        cluster: String,
        /// What.
        what: Garden,
    },
    /// Somebody does something about access to a Cluster.
    Entry {
        /// Where.
        on: usize,
        /// The AccessRequest.
        access: String,
        /// Of which Cluster.
        cluster: String,
        /// What.
        what: Access,
    },
    /// A hostile tenant asks, from its own namespace, for access to a Cluster of another namespace.
    Intrude {
        /// Where.
        on: usize,
        /// The AccessRequest.
        access: String,
        /// The Cluster, or the ClusterRequest.
        cluster: String,
        /// Whether it refers to a ClusterRequest.
        by_request: bool,
        /// Whether it has the labels of a request that was handed to a provider.
        labelled: bool,
    },
    /// Somebody asks for a Cluster for a purpose.
    Book {
        /// Where.
        on: usize,
        /// The ClusterRequest.
        request: String,
        /// What for.
        purpose: String,
    },
    /// And gives it back.
    Unbook {
        /// Where.
        on: usize,
        /// Which.
        request: String,
    },
}

/// What is done about a Landscape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Land {
    /// It is there, with a kubeconfig that works.
    Offer,
    /// Its kubeconfig is none.
    Break,
    /// It is deleted.
    Withdraw,
    /// It is deleted, and its finalizers are taken off.
    Tear,
}

/// What is done about a ProviderConfig.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Config {
    /// It is there.
    Offer,
    /// Shoots have more nodes.
    More,
    /// Shoots have fewer nodes.
    Fewer,
    /// It names a project that is not there.
    Astray,
    /// It is deleted.
    Withdraw,
    /// It is deleted, and its finalizers are taken off.
    Tear,
}

/// What is done about the ClusterConfig.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "their names say it")]
pub enum Patch {
    Make,
    Change,
    Remove,
}

/// What a tenant changes about a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "their names say it")]
pub enum Alter {
    OldVersion,
    NewVersion,
    UnknownVersion,
    WithConfig,
    WithoutConfig,
}

/// What `openmcp.cloud/operation` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "their names say it")]
pub enum Sign {
    Reconcile,
    Ignore,
    Nothing,
}

/// What happens to a Shoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Garden {
    /// Somebody deletes it.
    Raze,
    /// It is gone at once, whatever held it.
    Vanish,
    /// Another one with the same name and labels is in its place.
    Swap,
    /// Somebody changes it.
    Tamper,
    /// Somebody else makes one where the Cluster's would be.
    Squat,
    /// Gardener gives up, though the next time may work.
    GivesUp,
    /// It gives up deleting.
    KeepsIt,
    /// It tries again by itself.
    Tries,
    /// It stands still.
    Stalls,
    /// The API server comes and goes.
    Flaps,
    /// Nothing goes wrong with it any more.
    Heals,
}

/// What is done about access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Asks for a token that may see namespaces.
    Spaces,
    /// Asks for one that may read something else.
    Maps,
    /// Asks for one that may read something of one namespace.
    Team,
    /// Asks for one that may do everything.
    Admin,
    /// Asks for what cannot be granted.
    Wrong,
    /// Asks for one that may see namespaces, for a while.
    Short,
    /// Asks for a login.
    Login,
    /// Asks by way of a ClusterRequest.
    ByRequest,
    /// Begins with labels that name somebody else.
    Mislabelled,
    /// It is deleted.
    Drop,
    /// It is deleted, and its finalizers are taken off.
    Tear,
    /// Its Secret is deleted.
    Lose,
}
