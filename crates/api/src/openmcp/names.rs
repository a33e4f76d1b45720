//! The words of the ClusterProvider contract: a provider, the generic AccessRequest controller and the scheduler must spell
//! them alike, and alike with upstream's. What upstream declares and nobody uses is left out.

/// Labels.
pub mod label {
    /// On a Cluster, by its provider: the Kubernetes version that runs.
    pub const K8S_VERSION: &str = "clusters.openmcp.cloud/k8sversion";
    /// On a Cluster by its provider, on an AccessRequest by the generic controller: the name of the provider. A provider acts
    /// on an AccessRequest only if this is its own name and [`PROFILE`] is there.
    pub const PROVIDER: &str = "clusters.openmcp.cloud/provider";
    /// On an AccessRequest, by the generic controller: the name of the ClusterProfile.
    pub const PROFILE: &str = "clusters.openmcp.cloud/profile";
    /// On a Cluster: `true`, and nothing else, deletes it with its last ClusterRequest.
    pub const DELETE_WITHOUT_REQUESTS: &str = "clusters.openmcp.cloud/delete-without-requests";
    /// On a ClusterRequest: `true` gives its Cluster a random name, and not one derived from the request.
    pub const RANDOMIZE_CLUSTER_NAME: &str = "clusters.openmcp.cloud/randomize-cluster-name";
    /// On a CRD: the cluster that it is installed into, [`PLATFORM`](super::purpose::PLATFORM) or
    /// [`ONBOARDING`](super::purpose::ONBOARDING). `init` refuses a CRD without it.
    pub const TARGET_CLUSTER: &str = "openmcp.cloud/cluster";
}

/// Annotations.
pub mod annotation {
    /// On a Cluster, by its provider: whatever is worth a column in `kubectl get -o wide`.
    pub const PROVIDER_INFO: &str = "clusters.openmcp.cloud/providerinfo";
    /// On any object, by a person: an [`Operation`](super::Operation).
    pub const OPERATION: &str = "openmcp.cloud/operation";
}

/// Labels and annotations that begin with this go from a ClusterRequest to its exclusive Cluster, and on to the Shoot.
pub const METADATA_PREFIX: &str = "metadata.open-control-plane.io/";

/// Finalizers.
pub mod finalizer {
    /// On a ClusterRequest: the scheduler has to give its Cluster back first.
    pub const CLUSTER_REQUEST: &str = "clusters.openmcp.cloud/request";
    /// On a Cluster, followed by the UID of a ClusterRequest that has it. How many of them there are is how many tenants the
    /// Cluster has.
    pub const TENANT_PREFIX: &str = "request.clusters.openmcp.cloud/";
}

/// Keys of Secrets with credentials.
pub mod secret_key {
    /// The kubeconfig; consumers of an AccessRequest read nothing else.
    pub const KUBECONFIG: &str = "kubeconfig";
    /// When the token ends, in decimal Unix seconds.
    pub const EXPIRATION_TIMESTAMP: &str = "expirationTimestamp";
    /// When the token was made, in decimal Unix seconds.
    pub const CREATION_TIMESTAMP: &str = "creationTimestamp";
    /// The address of the API server, in the Secret of a Landscape without a kubeconfig.
    pub const HOST: &str = "host";
    /// The token, in the Secret of a Landscape without a kubeconfig.
    pub const TOKEN: &str = "token";
    /// The certificate authority, in the Secret of a Landscape without a kubeconfig.
    pub const CA_CERTIFICATE: &str = "ca.crt";
}

/// Purposes that have a meaning of their own; every other text is one too.
pub mod purpose {
    /// Runs the platform itself.
    pub const PLATFORM: &str = "platform";
    /// Runs what serves the control planes.
    pub const WORKLOAD: &str = "workload";
    /// Is where users order.
    pub const ONBOARDING: &str = "onboarding";
    /// Is a control plane of a user.
    pub const MCP: &str = "mcp";
}

/// Names in `status.endpoints` of a Cluster.
pub mod endpoint {
    /// The API server, from everywhere.
    pub const APISERVER_EXTERNAL: &str = "apiserver-external";
    /// The API server, from inside the infrastructure.
    pub const APISERVER_INTERNAL: &str = "apiserver-internal";
}

/// Environment variables that a provider's pod gets.
pub mod env {
    /// The name of the pod.
    pub const POD_NAME: &str = "POD_NAME";
    /// The namespace of the pod.
    pub const POD_NAMESPACE: &str = "POD_NAMESPACE";
}

/// The value of [`annotation::OPERATION`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Take the annotation off, then reconcile whether or not there seems to be something to do.
    Reconcile,
    /// Leave the object alone, its status and its deletion too.
    Ignore,
}

impl Operation {
    /// The value as it stands in the annotation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reconcile => "reconcile",
            Self::Ignore => "ignore",
        }
    }
}

/// How far a Cluster, a Landscape or a ProviderConfig is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Every condition is true.
    Ready,
    /// Some condition is not true, and says why.
    Progressing,
    /// It is being deleted.
    Terminating,
}

impl Phase {
    /// The phase as it stands in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Progressing => "Progressing",
            Self::Terminating => "Terminating",
        }
    }
}

/// How far a ClusterRequest or an AccessRequest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestPhase {
    /// Not decided yet. An empty phase counts as this one.
    Pending,
    /// The status says what was granted.
    Granted,
    /// It cannot be granted as it is written.
    Denied,
}

impl RequestPhase {
    /// The phase as it stands in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Granted => "Granted",
            Self::Denied => "Denied",
        }
    }
}

/// What the generic AccessRequest controller and the scheduler say about requests. Upstream's say nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestCondition {
    /// AccessRequest: its Cluster is found, and its provider knows of it.
    Resolved,
    /// ClusterRequest: it has a Cluster.
    Scheduled,
}

impl RequestCondition {
    /// The type as it stands in the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resolved => "Resolved",
            Self::Scheduled => "Scheduled",
        }
    }
}

/// The reasons in conditions that every provider can give. The Gardener provider has some of
/// [its own](super::gardener::names::Reason).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The API server of the platform cluster gave an error.
    PlatformClusterInteractionProblem,
    /// A reference points at nothing, or at something that cannot be used.
    InvalidReference,
    /// What was configured cannot work.
    ConfigurationProblem,
    /// What should not happen.
    InternalError,
    /// The ClusterRequest is not granted yet.
    WaitingForClusterRequest,
    /// The name of the Cluster is taken by another request.
    ClusterConflict,
    /// The request is deleted, and its Cluster is not gone yet.
    WaitingForClusterDeletion,
    /// The provider's turn has come.
    HandedOver,
    /// A Cluster was found or made.
    ClusterAssigned,
}

impl Reason {
    /// The reason as it stands in the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PlatformClusterInteractionProblem => "PlatformClusterInteractionProblem",
            Self::InvalidReference => "InvalidReference",
            Self::ConfigurationProblem => "ConfigurationProblem",
            Self::InternalError => "InternalError",
            Self::WaitingForClusterRequest => "WaitingForClusterRequest",
            Self::ClusterConflict => "ClusterConflict",
            Self::WaitingForClusterDeletion => "WaitingForClusterDeletion",
            Self::HandedOver => "HandedOver",
            Self::ClusterAssigned => "ClusterAssigned",
        }
    }
}
