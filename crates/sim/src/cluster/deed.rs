//! What people do who have to do with Clusters.

use serde::{Deserialize, Serialize};

/// What people do, to a Cluster or to what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Deed {
    /// A tenant asks for a Cluster.
    Create {
        /// Its name.
        cluster: String,
        /// Whose.
        tenant: String,
        /// Whether it begins with an issuer and administrators.
        rich: bool,
    },
    /// A tenant changes a Cluster.
    Change {
        /// Which.
        cluster: String,
        /// What about it.
        what: Change,
    },
    /// Somebody sets an annotation on a Cluster, or removes it.
    Mark {
        /// Which.
        cluster: String,
        /// Which annotation.
        what: Mark,
    },
    /// A tenant deletes a Cluster.
    Destroy {
        /// Which.
        cluster: String,
    },
    /// Somebody takes all finalizers off a Cluster.
    Loosen {
        /// Which.
        cluster: String,
    },
    /// Somebody deletes the Shoot of a Cluster.
    Raze {
        /// Of which Cluster.
        cluster: String,
    },
    /// The Shoot of a Cluster is gone at once, whatever held it.
    Vanish {
        /// Of which Cluster.
        cluster: String,
    },
    /// Somebody puts another Shoot, with the same name and labels, in the place of a Cluster's.
    Swap {
        /// Of which Cluster.
        cluster: String,
    },
    /// Somebody changes the Shoot of a Cluster.
    Tamper {
        /// Of which Cluster.
        cluster: String,
    },
    /// Somebody deletes the request of a Cluster.
    Recall {
        /// Of which Cluster.
        cluster: String,
    },
    /// The same, and takes all finalizers off it.
    Sever {
        /// Of which Cluster.
        cluster: String,
    },
    /// The configuration changes: another size of disks.
    Configure {
        /// In gibibytes.
        disk: u64,
    },
    /// Somebody does something about access to a Cluster.
    Access {
        /// The KubeconfigRequest.
        access: String,
        /// Of which Cluster.
        cluster: String,
        /// What.
        what: Favour,
    },
    /// Gardener has trouble with a Shoot from now on.
    Trouble {
        /// Of which Cluster.
        cluster: String,
        /// Which.
        what: Trouble,
    },
}

/// What a tenant changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "their names say it")]
pub enum Change {
    SmallMachine,
    LargeMachine,
    UnknownMachine,
    FewNodes,
    ManyNodes,
    MorePools,
    OnePool,
    Issuer,
    OtherIssuer,
    NoIssuer,
    Administrators,
    OtherAdministrators,
    NoAdministrators,
    Version,
    OldVersion,
}

/// What is done about access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "their names say it")]
pub enum Favour {
    Ask,
    Narrow,
    Widen,
    Rotate,
    Revoke,
    Restore,
    Drop,
}

/// An annotation on a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "their names say it")]
pub enum Mark {
    Pause,
    Resume,
    Recreate,
    Reconcile,
}

/// The trouble that Gardener has with a Shoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// It gives up, though the next time may work.
    GivesUp,
    /// It gives up for something that people have to see to.
    Quota,
    /// It gives up on what is asked for.
    Misconfigured,
    /// It tries again by itself.
    Tries,
    /// It gives up deleting.
    KeepsIt,
    /// It stands still.
    Stalls,
    /// The API server comes and goes.
    Flaps,
    /// None.
    None,
}
