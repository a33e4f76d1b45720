//! What Gardener says of a Shoot.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// What Gardener says of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootStatus {
    /// Health, by type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ShootCondition>,
    /// What would stand in the way of operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<ShootCondition>,
    /// Who works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gardener: Option<GardenerIdentity>,
    /// It sleeps.
    #[serde(default)]
    pub hibernated: bool,
    /// What was done last, or is being done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_errors: Vec<LastError>,
    /// The generation that the last operation was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The name of its namespace in the seed; immutable once set.
    #[serde(default, rename = "technicalID", skip_serializing_if = "Option::is_none")]
    pub technical_id: Option<String>,
    /// Unique over all gardens; immutable once set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Unique over all gardens; immutable once set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_identity: Option<String>,
    /// Where its API server can be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advertised_addresses: Vec<AdvertisedAddress>,
    /// Rotation of its credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<ShootCredentials>,
}

/// Like a condition of Kubernetes, but that `status` may be `Progressing` too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShootCondition {
    /// `APIServerAvailable`, `ControlPlaneHealthy`, …
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False`, `Unknown`, `Progressing`.
    pub status: String,
    /// When `status` last changed.
    pub last_transition_time: Time,
    /// When it was last looked at.
    pub last_update_time: Time,
    /// Why, for machines.
    pub reason: String,
    /// Why, for people.
    pub message: String,
    /// Error codes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
}

/// A gardenlet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GardenerIdentity {
    /// Of its instance.
    pub id: String,
    /// Of its pod.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What was done last, or is being done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastOperation {
    /// What.
    #[serde(rename = "type")]
    pub type_: OperationType,
    /// How it stands.
    pub state: OperationState,
    /// In per cent.
    pub progress: i32,
    /// For people.
    pub description: String,
    /// When it was last written.
    pub last_update_time: Time,
}

/// What Gardener does with a Shoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OperationType {
    /// Make it.
    Create,
    /// Bring it in line with its spec.
    Reconcile,
    /// Take it away.
    Delete,
    /// Move it to another seed.
    Migrate,
    /// Bring it up on the other seed.
    Restore,
    /// Move it to another seed while it runs.
    LiveMigrate,
    /// Something newer than this program.
    #[serde(other)]
    Other,
}

/// How an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OperationState {
    /// It is under way.
    Processing,
    /// It is done.
    Succeeded,
    /// It went wrong, and is tried again.
    Error,
    /// It went wrong, and is given up until somebody says `retry` or changes the spec.
    Failed,
    /// It has not begun.
    Pending,
    /// It was stopped.
    Aborted,
    /// Something newer than this program.
    #[serde(other)]
    Other,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    /// For people.
    pub description: String,
    /// The task of the flow.
    #[serde(default, rename = "taskID", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// `ERR_INFRA_UNAUTHENTICATED`, …
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
}

/// Where an API server can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvertisedAddress {
    /// `external`, `internal`, `unmanaged`, `wildcard-tls-seed-bound`, `service-account-issuer`.
    pub name: String,
    /// `https://…`.
    pub url: String,
}

/// The credentials of a Shoot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShootCredentials {
    /// How their rotation stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<CredentialsRotation>,
}

/// How the rotation of the credentials that we hand out stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsRotation {
    /// Of the CAs: kubeconfigs carry their bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authorities: Option<Rotation>,
    /// Of the key that signs tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_key: Option<Rotation>,
}

/// How one rotation stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rotation {
    /// `Preparing`, `Prepared`, `Completing`, `Completed`, …
    pub phase: String,
    /// When it last began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_initiation_time: Option<Time>,
    /// When it was last done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_completion_time: Option<Time>,
}
