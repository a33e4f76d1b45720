//! What the status of a SubscriptionRequest says.

use super::{AccountName, Denial, EXACT_POSITIONS, Lack, Tenant, Wanted};
use crate::{
    condition::{self, Verdict},
    text::bounded,
};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{
        BindingKind, SecretReference, SubscriptionCondition, SubscriptionPhase, SubscriptionRequestStatus,
    },
};
use jiff::Timestamp;

/// How far a request is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It cannot be granted as it is written.
    Denied(Denial),
    /// It waits for an account.
    Waiting {
        /// What it is for.
        wanted: Wanted,
        /// Its place, from 1.
        position: u32,
        /// What is missing.
        lack: Lack,
        /// Which accounts of the pool are occupied, and why; see [`super::occupied_sentence`].
        occupied: Option<String>,
    },
    /// It has an account.
    Bound {
        /// What it was for.
        wanted: Wanted,
        /// The account.
        account: AccountName,
        /// What goes into a Shoot.
        binding: String,
        /// The kind of the pool entry.
        kind: BindingKind,
        /// The Secret behind it.
        secret: Option<SecretReference>,
    },
    /// It is deleted, and what it has is being given back.
    Releasing {
        /// Why it is still there.
        because: String,
    },
}

impl Progress {
    /// The status that says so. Equal to the one before if nothing has changed.
    pub fn status(
        &self,
        before: Option<&SubscriptionRequestStatus>,
        generation: Option<i64>,
        now: Timestamp,
    ) -> SubscriptionRequestStatus {
        let mut status = before.cloned().unwrap_or_default();
        let mut say = |type_: SubscriptionCondition, holds: bool, reason: &'static str, message: String| {
            let status_ = if holds { ConditionStatus::True } else { ConditionStatus::False };
            let verdict = Verdict { type_: type_.as_str(), status: status_, reason, message };
            condition::set(&mut status.conditions, verdict, generation, now);
        };
        let (ready, pool) = (SubscriptionCondition::Ready, SubscriptionCondition::PoolAvailable);
        match self {
            Self::Denied(Denial { reason, message }) => say(ready, false, reason, message.clone()),
            Self::Waiting { lack, position, occupied, .. } => {
                let about = if *position > EXACT_POSITIONS { "about " } else { "" };
                let occupied = occupied.as_ref().map_or_else(String::new, |occupied| format!("; {occupied}"));
                let message = format!("{lack}; {about}place {position} in the queue{occupied}");
                say(ready, false, lack.reason(), message.clone());
                say(pool, false, lack.reason(), message);
            }
            Self::Bound { account, wanted, .. } => {
                let whose =
                    wanted.tenant.as_ref().map_or("shared".to_owned(), |tenant| format!("for {tenant}"));
                say(ready, true, "Assigned", format!("account {account}, {whose}"));
                say(pool, true, "Available", format!("account {account} of pool {}", wanted.pool));
            }
            Self::Releasing { because } => say(ready, false, "Releasing", because.clone()),
        }
        let ready = condition::find(&status.conditions, ready.as_str());
        let message = ready.map(|ready| ready.message.clone()).unwrap_or_default();
        let said = (self.phase().as_str(), message.as_str());
        condition::set_progress(&mut status.conditions, self.standing(), said, generation, now);
        status.observed_generation = generation;
        self.fill(&mut status);
        status
    }

    /// The same for tools that know nothing of requests.
    fn standing(&self) -> condition::Progress {
        match self {
            Self::Denied(_) => condition::Progress::Stalled,
            Self::Waiting { .. } | Self::Releasing { .. } => condition::Progress::Reconciling,
            Self::Bound { .. } => condition::Progress::Rests,
        }
    }

    fn fill(&self, status: &mut SubscriptionRequestStatus) {
        status.phase = Some(self.phase());
        status.queue_position = None;
        match self {
            Self::Denied(_) | Self::Releasing { .. } => (),
            Self::Waiting { wanted, position, .. } => {
                fill_wanted(status, wanted);
                status.queue_position = i32::try_from(*position).ok();
            }
            Self::Bound { wanted, account: _, binding, kind, secret } => {
                fill_wanted(status, wanted);
                status.gardener_secret_name = Some(binding.clone());
                status.binding_kind = Some(*kind);
                status.secret_ref.clone_from(secret);
            }
        }
    }

    /// The phase.
    pub fn phase(&self) -> SubscriptionPhase {
        match self {
            Self::Denied(_) => SubscriptionPhase::Denied,
            Self::Waiting { .. } => SubscriptionPhase::Waiting,
            Self::Bound { .. } => SubscriptionPhase::Bound,
            Self::Releasing { .. } => SubscriptionPhase::Releasing,
        }
    }
}

/// The longest rule that is repeated in a status. One has at most four names; the rest is blanks.
const LONGEST_RULE: usize = 1024;

fn fill_wanted(status: &mut SubscriptionRequestStatus, wanted: &Wanted) {
    let Wanted { pool, tenant, rule } = wanted;
    status.tenant_name = tenant.as_ref().map(Tenant::to_string);
    status.hyperscaler_type = Some(pool.hyperscaler_type.to_string());
    status.matched_rule = rule.clone().map(|rule| bounded(rule, LONGEST_RULE));
}
