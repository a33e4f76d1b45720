//! Faults that the clients of an account meet.

use super::model::Model;
use allotment_core::cleanup::{CloudAccountId, CountKind, CountName, KindName, Place, Refusal};
use std::{collections::BTreeSet, time::Duration};

/// Faults that the clients of an account meet. The default: none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Kinds whose permission to list is missing. Counts that need the same permission are refused, too.
    pub denied: BTreeSet<KindName>,
    /// Counts whose permission is missing.
    pub denied_counts: BTreeSet<CountName>,
    /// The cloud does not accept the credentials for any call.
    pub revoked: bool,
    /// So many of the next calls are throttled.
    pub throttled: u32,
    /// So many of the next deletions happen, and their answer does not arrive.
    pub lost_answers: u32,
    /// The credentials lead to another account.
    pub acts_as: Option<CloudAccountId>,
    /// Places that the account cannot use now. Their items stay.
    pub disabled: BTreeSet<Place>,
    /// The duration of every call.
    pub latency: Duration,
}

impl Faults {
    /// Refuses a call of any kind.
    pub(super) fn meet(&mut self, model: &Model, permission: &str) -> Result<(), Refusal> {
        if self.revoked {
            let (code, action) = (model.codes.revoked.to_owned(), permission.to_owned());
            return Err(Refusal::Denied { code, action });
        }
        if take(&mut self.throttled) {
            return Err(Refusal::Throttled { after: None });
        }
        Ok(())
    }

    /// Refuses the listing of a kind.
    pub(super) fn list(&self, model: &Model, kind: &KindName, permission: &str) -> Result<(), Refusal> {
        if self.denied.contains(kind) { Err(denied(model, permission)) } else { Ok(()) }
    }

    /// Refuses a count.
    pub(super) fn count(&self, model: &Model, count: &CountKind) -> Result<(), Refusal> {
        let mut kinds = self.denied.iter().filter_map(|kind| model.row(kind.as_str()));
        let needs_denied = kinds.any(|kind| kind.list.contains(&count.permission));
        if needs_denied || self.denied_counts.contains(&count.name()) {
            return Err(denied(model, count.permission));
        }
        Ok(())
    }

    /// Loses the answer to a deletion that succeeded.
    pub(super) fn answer_deletion(&mut self) -> Result<(), Refusal> {
        if take(&mut self.lost_answers) {
            return Err(Refusal::Transient { why: "the connection broke before the answer".to_owned() });
        }
        Ok(())
    }
}

/// A permission is missing.
pub(super) fn denied(model: &Model, permission: &str) -> Refusal {
    Refusal::Denied { code: model.codes.denied.to_owned(), action: permission.to_owned() }
}

/// Counts one down; false if there was none left.
fn take(left: &mut u32) -> bool {
    let is_left = *left > 0;
    *left = left.saturating_sub(1);
    is_left
}
