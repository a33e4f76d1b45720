//! Words of Gardener that we must spell as it does.

/// The finalizer that a gardenlet holds a Shoot with.
pub const FINALIZER: &str = "gardener";
/// On a Shoot: do this now (`reconcile`, `retry`, `maintain`, `rotate-…`).
pub const OPERATION: &str = "gardener.cloud/operation";
/// On a Shoot: without it, a deletion is refused.
pub const CONFIRM_DELETION: &str = "confirmation.gardener.cloud/deletion";
/// What an object is to Gardener.
pub const ROLE: &str = "gardener.cloud/role";
/// On objects that only Gardener may change.
pub const UPDATE_RESTRICTION: &str = "gardener.cloud/update-restriction";
/// On objects that Gardener publishes.
pub const DISCOVERY_PUBLIC: &str = "discovery.gardener.cloud/public";
/// The Shoot that an object is about.
pub const SHOOT_NAME: &str = "shoot.gardener.cloud/name";
/// The UID of that Shoot's status.
pub const SHOOT_UID: &str = "shoot.gardener.cloud/uid";
/// On a Shoot: `healthy`, `progressing`, `unhealthy` or `unknown`.
pub const SHOOT_STATUS: &str = "shoot.gardener.cloud/status";

/// The InternalSecret with the client CA of a Shoot.
pub fn client_ca(shoot: &str) -> String {
    format!("{shoot}.ca-client")
}

/// The ConfigMap with the CA bundle of a Shoot's API server.
pub fn cluster_ca(shoot: &str) -> String {
    format!("{shoot}.ca-cluster")
}
