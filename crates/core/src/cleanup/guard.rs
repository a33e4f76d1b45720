//! When the cleaning of all accounts stops, once and with one alert.

use super::Stuck;
use crate::pool::AccountName;
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// What the leader knows about all accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    /// The accounts that are stuck, each with its reason.
    pub stuck: BTreeMap<AccountName, Stuck>,
    /// The accounts of the pool of the account in question.
    pub pool: PoolDirt,
}

/// The dirty accounts of one pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolDirt {
    /// All accounts of the pool.
    pub accounts: u32,
    /// When each of those became dirty that are dirty now.
    pub dirty_since: BTreeMap<AccountName, Timestamp>,
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardLimits {
    /// So many accounts with the same refusal stop the cleaning: a changed API or policy, not a bad account.
    pub same_refusal: usize,
    /// More than this share of a pool, in percent, that became dirty within an hour stops the cleaning: labels may be wrong.
    pub dirty_percent: u32,
}

impl Default for GuardLimits {
    fn default() -> Self {
        Self { same_refusal: 3, dirty_percent: 20 }
    }
}

/// The time in which returned accounts are counted.
const WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// Fewer accounts than these never stop a pool: in one of four, two are half.
const FEWEST: usize = 3;

/// Why the cleaning stops; none if it goes on.
pub fn halted(fleet: &Fleet, limits: &GuardLimits, now: Timestamp) -> Option<String> {
    let mut accounts: BTreeMap<(Option<&str>, &str), BTreeSet<&AccountName>> = BTreeMap::new();
    for (account, stuck) in fleet.stuck.iter().filter(|(_, stuck)| stuck.item.is_some()) {
        let kind = stuck.item.as_ref().map(|item| item.kind.as_str());
        accounts.entry((kind, stuck.code.as_str())).or_default().insert(account);
    }
    let most = accounts.into_iter().max_by_key(|(_, accounts)| accounts.len());
    if let Some(((kind, code), accounts)) = most
        && accounts.len() >= limits.same_refusal.max(1)
    {
        let kind = kind.unwrap_or("the account");
        return Some(format!(
            "{} accounts are stuck at {kind} with {code}: look for a common cause; once it is gone, remove the annotation \
             allotment.dev/cleanup-stuck from their pool entries",
            accounts.len()
        ));
    }
    let PoolDirt { accounts, dirty_since } = &fleet.pool;
    let recent = dirty_since.values().filter(|since| now.duration_since(**since) < WINDOW).count();
    let share = u64::try_from(recent).unwrap_or(u64::MAX).saturating_mul(100);
    let allowed = u64::from(limits.dirty_percent).saturating_mul(u64::from(*accounts));
    (recent >= FEWEST && share > allowed).then(|| {
        format!(
            "{recent} of {accounts} accounts of the pool became dirty within an hour, more than {} percent: \
             check their labels",
            limits.dirty_percent
        )
    })
}
