//! The evidence about an account, in the memory of this process only: after a crash everything is listed again.

use allotment_clouds::Cloud;
use allotment_core::cleanup::{CloudAccountId, Evidence, Inventory, Plan, Refusal, RefusedItem};
use std::{fmt, sync::Arc};

/// The evidence about one account.
#[derive(Clone)]
pub(super) struct Held {
    /// The result of the last action.
    pub(super) evidence: Evidence,
    /// The owner of the credentials, by the cloud.
    pub(super) reported: Option<Result<CloudAccountId, Refusal>>,
    /// There is no client.
    pub(super) unusable: Option<String>,
    /// The last full listing, and the client that made it: deletions go to the account that was listed, whatever becomes of
    /// the Secret meanwhile.
    pub(super) listing: Option<HeldListing>,
    /// The refusals of the last pass of deletions, which no listing has followed yet.
    pub(super) refused: Option<Vec<RefusedItem>>,
}

/// A listing.
#[derive(Clone)]
pub(super) struct HeldListing {
    pub(super) inventory: Arc<Inventory>,
    pub(super) plan: Arc<Plan>,
    pub(super) client: Arc<dyn Cloud>,
}

impl Default for Held {
    fn default() -> Self {
        Self { evidence: Evidence::None, reported: None, unusable: None, listing: None, refused: None }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Held").field("evidence", &self.evidence).finish_non_exhaustive()
    }
}
