//! Acts of a hostile tenant, and of the platform that defends itself.

use serde::{Deserialize, Serialize};

/// An act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Deed {
    /// The hostile tenant asks for an account in the name of a tenant.
    Claim {
        /// The SubscriptionRequest.
        request: String,
        /// The tenant that its selector names; `shared` for a shared account.
        selector: String,
        /// The tenant that its label names.
        label: String,
    },
    /// The hostile tenant writes the status of one of its requests: bound to the account of a Cluster.
    Bind {
        /// The SubscriptionRequest; the name of a Cluster stands for the request of that Cluster.
        request: String,
        /// The honest Cluster.
        victim: String,
    },
    /// The hostile tenant makes a request that looks like that of an honest Cluster, and deletes it.
    Pose {
        /// The SubscriptionRequest.
        request: String,
        /// The honest Cluster.
        victim: String,
    },
    /// The hostile tenant makes a Cluster.
    Settle {
        /// The Cluster.
        cluster: String,
        /// What is wrong with it.
        lie: Lie,
        /// The honest Cluster that this is about.
        victim: String,
    },
    /// The hostile tenant writes something on its Cluster that only others should.
    Forge {
        /// The Cluster.
        cluster: String,
        /// What.
        what: Forgery,
        /// The honest Cluster that this is about.
        victim: String,
    },
    /// The hostile tenant deletes its Cluster.
    Quit {
        /// The Cluster.
        cluster: String,
    },
    /// The hostile tenant asks for access that it must not have, or writes on its KubeconfigRequest.
    Steal {
        /// The KubeconfigRequest.
        theft: String,
        /// Its own Cluster.
        cluster: String,
        /// What.
        what: Theft,
        /// The honest Cluster that this is about.
        victim: String,
    },
    /// The platform locks, or unlocks, the access of the hostile namespace.
    Lock {
        /// Whether the lock is there from now on.
        on: bool,
    },
    /// An honest tenant protects a Cluster from deletion.
    Protect {
        /// The honest Cluster.
        cluster: String,
    },
}

/// What is wrong with a Cluster of the hostile tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lie {
    /// Nothing.
    None,
    /// It names another tenant.
    Tenant,
    /// Its label names another tenant than its selector.
    Label,
    /// It wants the name of another's Shoot.
    Name,
    /// Its template refers to a Secret of another.
    Template,
    /// It is brought along: its kubeconfig is in a Secret.
    Brought,
}

/// What is forged on a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forgery {
    /// The annotation that asks for another's Shoot.
    Adopt,
    /// A status that names another's Shoot.
    Status,
    /// An ownerReference to another's Cluster.
    Owner,
    /// Labels with the UIDs of another's Cluster and request.
    Labels,
    /// The annotations that allow a new Shoot, and that release and confirm another's.
    Annotations,
    /// Our finalizers are removed.
    Finalizers,
    /// The status is emptied.
    Amnesia,
}

/// What is done about access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Theft {
    /// Access to its own Cluster, as everybody may have it.
    Own,
    /// Access to another's Cluster, by namespace and name.
    Cluster,
    /// The same without the namespace.
    Default,
    /// A Role in `kube-system` of its own Cluster.
    System,
    /// A Role where everybody's tokens are.
    Tokens,
    /// A status that names another's Shoot and tokens.
    Status,
    /// A status that names another's Secret with a kubeconfig.
    Brought,
    /// The annotation that revokes.
    Revoke,
    /// The annotation that revokes is set back.
    Restore,
    /// A new token.
    Rotate,
    /// The request is deleted.
    Drop,
}
