//! The words of the Gardener provider, on the platform cluster, in the garden and in the Shoots.

/// Labels.
pub mod label {
    /// On a Cluster, by a person: the name of its Shoot, where it is not to be derived.
    pub const SHOOT_NAME: &str = "gardener.clusters.openmcp.cloud/shoot-name";
    /// On a Shoot: the name of its Cluster.
    pub const CLUSTER_NAME: &str = "gardener.clusters.openmcp.cloud/cluster-name";
    /// On a Shoot: the namespace of its Cluster.
    pub const CLUSTER_NAMESPACE: &str = "gardener.clusters.openmcp.cloud/cluster-namespace";
    /// On a Shoot: the provider that made it.
    pub const PROVIDER_NAME: &str = "gardener.clusters.openmcp.cloud/provider-name";
    /// On a Shoot: the environment of that provider.
    pub const ENVIRONMENT: &str = "gardener.clusters.openmcp.cloud/environment";
    /// On a Shoot: the UID of its Cluster. A Shoot without it was made by upstream's provider.
    pub const CLUSTER_UID: &str = "gardener.clusters.openmcp.cloud/cluster-uid";
    /// On an object inside a Shoot: the name of the AccessRequest that it was made for.
    pub const MANAGED_BY_NAME: &str = "gardener.clusters.openmcp.cloud/managed-by-name";
    /// On an object inside a Shoot: the namespace of the AccessRequest that it was made for.
    pub const MANAGED_BY_NAMESPACE: &str = "gardener.clusters.openmcp.cloud/managed-by-namespace";
}

/// Annotations.
pub mod annotation {
    /// On a Cluster: a hash over the ClusterConfigs that it named when they were looked at last.
    pub const CLUSTER_CONFIGS: &str = "gardener.clusters.openmcp.cloud/clusterconfigs";
    /// On a ServiceAccount inside a Shoot: the UID of the AccessRequest that it was made for.
    pub const REQUEST_UID: &str = "gardener.clusters.openmcp.cloud/request-uid";
    /// On the Secret of an AccessRequest: the UID of the Shoot that its kubeconfig is for.
    pub const SHOOT_UID: &str = "gardener.clusters.openmcp.cloud/shoot-uid";
    /// On the Secret of an AccessRequest: a hash over what its kubeconfig depends on.
    pub const MADE_FOR: &str = "gardener.clusters.openmcp.cloud/made-for";
    /// On the Secret of an AccessRequest: when its token was asked for, in decimal Unix seconds.
    pub const CREATED: &str = "gardener.clusters.openmcp.cloud/created";
    /// On the Secret of an AccessRequest: when its token runs out, in decimal Unix seconds.
    pub const EXPIRES: &str = "gardener.clusters.openmcp.cloud/expires";
}

/// Finalizers.
pub mod finalizer {
    /// Holds a Landscape while a ProviderConfig refers to it.
    pub const LANDSCAPE: &str = "gardener.clusters.openmcp.cloud/landscape";
    /// Holds a ProviderConfig until its ClusterProfile is gone.
    pub const PROVIDER_CONFIG: &str = "gardener.clusters.openmcp.cloud/providerconfig";
    /// Holds a Cluster until its Shoot is gone.
    pub const CLUSTER: &str = "gardener.clusters.openmcp.cloud/cluster";
    /// Holds an AccessRequest until its grant is gone from the Shoot.
    pub const ACCESS_REQUEST: &str = "gardener.clusters.openmcp.cloud/accessrequest";
}

/// The extension that every Shoot has where a ProviderConfig does not name any.
pub const OIDC_EXTENSION: &str = "shoot-oidc-service";

/// The namespace inside a Shoot for the ServiceAccounts of AccessRequests, unless [`ACCESS_NAMESPACE_VARIABLE`] names another.
pub const ACCESS_NAMESPACE: &str = "accessrequests";

/// The environment variable that names another namespace than [`ACCESS_NAMESPACE`].
pub const ACCESS_NAMESPACE_VARIABLE: &str = "ACCESS_REQUEST_SERVICE_ACCOUNT_NAMESPACE";

/// A condition of a Shoot goes to its Cluster under its own type with this in front.
pub const SHOOT_CONDITION_PREFIX: &str = "Gardener_";

/// A Landscape has a condition for each project: its name with this in front.
pub const PROJECT_CONDITION_PREFIX: &str = "Project_";

/// The condition types of the provider, except those made with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProviderCondition {
    /// Any kind: its labels, annotations and finalizers are as they should be.
    Meta,
    /// Any kind: the Landscape is known and can be used.
    LandscapeManagement,
    /// Cluster: the Shoot is made and as asked for.
    ShootManagement,
    /// Cluster: its ClusterConfigs are there and applied.
    ClusterConfigurations,
    /// Cluster: nobody else holds it back from deletion.
    ForeignFinalizers,
    /// AccessRequest: its Cluster and profile are known.
    FoundClusterAndProfile,
    /// AccessRequest: its Secret is there and can be used.
    SecretExistsAndIsValid,
    /// AccessRequest: the Shoot lets the provider in.
    ShootAccess,
    /// AccessRequest: what it does not need any more is gone from the Shoot.
    Cleanup,
    /// ProviderConfig: its CloudProfile could be read.
    CloudProfile,
    /// ProviderConfig: its ClusterProfile is made.
    ClusterProfileManagement,
    /// Landscape: the login works.
    GardenClusterAccess,
}

impl ProviderCondition {
    /// The type as it stands in the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Meta => "Meta",
            Self::LandscapeManagement => "LandscapeManagement",
            Self::ShootManagement => "ShootManagement",
            Self::ClusterConfigurations => "ClusterConfigurations",
            Self::ForeignFinalizers => "ForeignFinalizers",
            Self::FoundClusterAndProfile => "FoundClusterAndProfile",
            Self::SecretExistsAndIsValid => "SecretExistsAndIsValid",
            Self::ShootAccess => "ShootAccess",
            Self::Cleanup => "Cleanup",
            Self::CloudProfile => "CloudProfile",
            Self::ClusterProfileManagement => "ClusterProfileManagement",
            Self::GardenClusterAccess => "GardenClusterAccess",
        }
    }
}

/// The reasons in the conditions of an AccessRequest, beside those of every kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessReason {
    /// The Cluster has no API server yet.
    ClusterNotReady,
    /// The Cluster's API server knows nothing of OpenID Connect.
    OidcNotSupported,
    /// Something of others has a name that is needed.
    NameTaken,
    /// A namespace is missing, and is not to be made.
    NamespaceMissing,
    /// The kubeconfig works, and the next one is late.
    RenewalDelayed,
    /// The kubeconfig works.
    Issued,
    /// The platform has locked the access.
    Locked,
    /// Tokens were issued again and again for the same cause; the next one waits.
    TooManyTokens,
}

impl AccessReason {
    /// The reason as it stands in the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterNotReady => "ClusterNotReady",
            Self::OidcNotSupported => "OidcNotSupported",
            Self::NameTaken => "NameTaken",
            Self::NamespaceMissing => "NamespaceMissing",
            Self::RenewalDelayed => "RenewalDelayed",
            Self::Issued => "Issued",
            Self::Locked => "Locked",
            Self::TooManyTokens => "TooManyTokens",
        }
    }
}

/// The reasons in conditions that only this provider gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The API server of the garden cluster gave an error.
    GardenClusterInteractionProblem,
    /// The API server of the Shoot gave an error.
    ShootClusterInteractionProblem,
    /// A kubeconfig cannot be read or made.
    KubeconfigError,
    /// Something that is being deleted is still there.
    WaitingForDeletion,
    /// The Landscape does not exist, or cannot be used.
    UnknownLandscape,
    /// The project does not exist, or cannot be used with this login.
    InvalidProject,
    /// The project can be used.
    ProjectAvailable,
    /// The CloudProfile does not exist.
    UnknownCloudProfile,
    /// The ClusterProfile does not exist.
    UnknownProfile,
    /// The Shoot does not exist.
    ShootNotFound,
    /// Gardener works on the Shoot, or has not looked at it yet.
    ShootProgressing,
    /// Gardener has given up, or refuses what is asked for.
    ShootFailed,
    /// The Shoot of that name is somebody else's.
    ShootConflict,
}

impl Reason {
    /// The reason as it stands in the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GardenClusterInteractionProblem => "GardenClusterInteractionProblem",
            Self::ShootClusterInteractionProblem => "ShootClusterInteractionProblem",
            Self::KubeconfigError => "KubeconfigError",
            Self::WaitingForDeletion => "WaitingForDeletion",
            Self::UnknownLandscape => "UnknownLandscape",
            Self::InvalidProject => "InvalidProject",
            Self::ProjectAvailable => "ProjectAvailable",
            Self::UnknownCloudProfile => "UnknownCloudProfile",
            Self::UnknownProfile => "UnknownProfile",
            Self::ShootNotFound => "ShootNotFound",
            Self::ShootProgressing => "ShootProgressing",
            Self::ShootFailed => "ShootFailed",
            Self::ShootConflict => "ShootConflict",
        }
    }
}
