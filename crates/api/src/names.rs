//! Labels, annotations, finalizers and other words that several places must spell alike. Ours have the prefix
//! `allotment.dev/`; those of Kyma, openMCP and Gardener keep their names.

/// The field manager of every server-side apply that an operator of ours sends.
pub const FIELD_MANAGER: &str = "allotment";

/// `kubectl get allotment` shows everything that tenants write.
pub const CATEGORY: &str = "allotment";

/// Labels on pool entries. The keys of the first two can be configured; these are the defaults.
pub mod pool {
    /// `<provider>[_<platform region>][_<hyperscaler region>]`: which pool an account is in.
    pub const HYPERSCALER_TYPE: &str = "hyperscalerType";
    /// The tenant who holds the account.
    pub const TENANT_NAME: &str = "tenantName";
    /// `true` while the account waits to be cleaned.
    pub const DIRTY: &str = "dirty";
    /// Set on accounts that tenants never get.
    pub const INTERNAL: &str = "internal";
    /// `true` on accounts that several tenants use at once.
    pub const SHARED: &str = "shared";
    /// `true` on accounts for regions with EU access only.
    pub const EU_ACCESS: &str = "euAccess";
}

/// Labels that tell who a Cluster is for.
pub mod tenant {
    /// The plan, which the rules map to a pool.
    pub const PLAN: &str = "plan";
    /// The global account: the tenant.
    pub const GLOBAL_ACCOUNT_ID: &str = "globalaccountid";
    /// The subaccount.
    pub const SUBACCOUNT_ID: &str = "subaccountid";
    /// The service instance.
    pub const INSTANCE_ID: &str = "instanceid";
}

/// Labels that we put on objects of others.
pub mod label {
    /// On a Shoot: the UID of the SubscriptionRequest whose account it is in. A Shoot without it is foreign.
    pub const SUBSCRIPTION_REQUEST: &str = "allotment.dev/subscription-request";
    /// On what a KubeconfigRequest has in a cluster: the UID of the request.
    pub const KUBECONFIG_REQUEST: &str = "allotment.dev/kubeconfig-request";
    /// On a Shoot or a ConfigMap in the garden: the UID of the Cluster that it belongs to, and goes with.
    pub const CLUSTER_UID: &str = "allotment.dev/cluster-uid";
    /// On a ClusterRoleBinding inside a cluster that we hand out: it makes somebody an administrator, because the Cluster
    /// with this mark (a hash of its namespace and name) says so. One without it is not ours.
    pub const ADMINISTRATOR: &str = "allotment.dev/administrator";
}

/// Annotations.
pub mod annotation {
    /// On what a KubeconfigRequest has in a cluster: the request, as `<namespace>/<name>`.
    pub const KUBECONFIG_REQUEST: &str = "allotment.dev/kubeconfig-request";
    /// On a Shoot, and on what we put into one: the Cluster it is for, as `<namespace>/<name>`.
    pub const CLUSTER: &str = "allotment.dev/cluster";
    /// On a Shoot: which entries of lists that can only be written as a whole are ours, as JSON. The others stay.
    pub const OWN_ENTRIES: &str = "allotment.dev/own-entries";
    /// On a Shoot: the digest of what was last applied, so that a look that changes nothing writes nothing.
    pub const APPLIED: &str = "allotment.dev/applied";
    /// On a Shoot: the tenant that it was made for. A namespace that has come to another tenant gets no new access to it.
    pub const TENANT: &str = "allotment.dev/tenant";
    /// On a Cluster: asks for a Shoot that exists. It does nothing: adoption takes a `ShootAdoption` of the platform.
    pub const ADOPT_SHOOT: &str = "allotment.dev/adopt-shoot";
    /// On a pool entry: why its account takes no new clusters. Removing it lifts the quarantine.
    pub const QUARANTINE: &str = "allotment.dev/quarantine";
    /// On a dirty pool entry: why the cleaning of its account does not go on. Removing it asks for another attempt.
    pub const CLEANUP_STUCK: &str = "allotment.dev/cleanup-stuck";
    /// On a Cluster: reconcile now.
    pub const RECONCILE: &str = "allotment.dev/reconcile";
    /// On a Cluster: leave it alone.
    pub const PAUSE: &str = "allotment.dev/pause";
    /// On a Cluster whose Shoot is missing: make a new one.
    pub const RECREATE_SHOOT: &str = "allotment.dev/recreate-shoot";
    /// On a protected Cluster that is being deleted, with the Cluster's UID: delete it with its Shoot.
    pub const CONFIRM_DELETION: &str = "allotment.dev/confirm-deletion";
    /// On a Cluster that is being deleted, with the Shoot's UID: remove the Cluster and keep its Shoot and account.
    pub const RELEASE_SHOOT: &str = "allotment.dev/release-shoot";
    /// On a KubeconfigRequest: publish a new token, then end the old one.
    pub const ROTATE: &str = "operator.kyma-project.io/rotate";
    /// On a KubeconfigRequest: end every token and take the grant away.
    pub const REVOKE: &str = "operator.kyma-project.io/revoke";
}

/// Finalizers of ours.
pub mod finalizer {
    /// Holds a SubscriptionRequest until its account is given back.
    pub const SUBSCRIPTION: &str = "allotment.dev/subscription";
    /// Holds a Cluster until its Shoot is gone.
    pub const CLUSTER: &str = "allotment.dev/cluster";
    /// Holds a KubeconfigRequest until its grant is gone from the target.
    pub const KUBECONFIG: &str = "allotment.dev/kubeconfig";
}
