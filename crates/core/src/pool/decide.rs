//! Which account does this request get?
//!
//! The one place where that is decided: the ledger asks inside the transaction that holds the locks, so what the
//! question says is still true when the answer is written down.

use super::{AccountName, Accounts, Ahead, Candidate, Closed, PoolKey, Tenant};
use std::fmt;

/// Everything that the decision depends on.
#[derive(Clone, Debug)]
pub struct Question<'now> {
    /// The pool that the rules, or provider and selector, chose.
    pub pool: &'now PoolKey,
    /// The account that the request has already.
    pub standing: Option<AccountName>,
    /// Who asks, and what there is.
    pub choice: Choice<'now>,
}

/// What there is to choose from.
#[derive(Clone, Debug)]
pub enum Choice<'now> {
    /// A shared pool: every account of it.
    Shared(Vec<Candidate>),
    /// A dedicated pool.
    Dedicated(Dedicated<'now>),
}

/// What there is to choose from in a dedicated pool.
#[derive(Clone, Debug)]
pub struct Dedicated<'now> {
    /// Who asks.
    pub tenant: &'now Tenant,
    /// How many accounts the tenant may have in this pool.
    pub accounts: Accounts,
    /// The tenant's accounts in this pool that still take clusters, in any order.
    pub own: Vec<Candidate>,
    /// How many accounts the tenant holds in all pools.
    pub held: u32,
    /// `maxAccountsPerTenant`; none: no cap.
    pub cap: Option<u32>,
    /// Free accounts of the pool, in the order in which they are to be taken.
    pub free: &'now [AccountName],
    /// How many waiting requests have their turn before this one; each may take a free account.
    pub ahead: Ahead,
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The request has this account already.
    Keep(AccountName),
    /// Put it into this account, which the tenant holds or which is shared.
    Use(AccountName),
    /// Take this free account for the tenant.
    Claim(AccountName),
    /// There is nothing now; this is its position in the queue, from 1. Far behind it is an estimate, see [`Ahead`].
    Wait(u32, Lack),
}

/// What is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The pool has no free account (or not enough for those whose turn is before).
    PoolExhausted {
        /// The pool.
        pool: PoolKey,
        /// Free accounts that others come before us for.
        spoken_for: u32,
    },
    /// A shared pool without a usable account.
    NothingShared {
        /// The pool.
        pool: PoolKey,
        /// How many there are, all in quarantine.
        quarantined: u32,
    },
    /// The tenant may have no more accounts.
    CapReached {
        /// The tenant.
        tenant: Tenant,
        /// How many accounts the tenant holds.
        held: u32,
        /// How many it may hold.
        cap: u32,
    },
    /// The tenant's only account does not work, and it may not have a second.
    Quarantined {
        /// The tenant.
        tenant: Tenant,
        /// The account.
        account: AccountName,
    },
    /// The entry of the tenant's only account was deleted, and it may not have a second.
    EntryGone {
        /// The tenant.
        tenant: Tenant,
        /// The account.
        account: AccountName,
    },
    /// The tenant's only account is used by somebody else, too, and it may not have a second.
    Contested {
        /// The tenant.
        tenant: Tenant,
        /// The account.
        account: AccountName,
    },
}

impl Lack {
    /// Whether another free account in the pool would help.
    pub fn is_for_free_accounts(&self) -> bool {
        match self {
            Self::PoolExhausted { .. } | Self::NothingShared { .. } => true,
            Self::CapReached { .. }
            | Self::Quarantined { .. }
            | Self::EntryGone { .. }
            | Self::Contested { .. } => false,
        }
    }

    /// One word for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::PoolExhausted { .. } => "PoolExhausted",
            Self::NothingShared { .. } => "NoSharedAccount",
            Self::CapReached { .. } => "AccountLimitReached",
            Self::Quarantined { .. } => "AccountQuarantined",
            Self::EntryGone { .. } => "AccountEntryGone",
            Self::Contested { .. } => "AccountContested",
        }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PoolExhausted { pool, spoken_for: 0 } => {
                write!(
                    formatter,
                    "no free account in pool {pool}; it is served when one is free, which the platform sees to (it adds one, or has \
                     a dirty one cleaned)"
                )
            }
            Self::PoolExhausted { pool, spoken_for } => write!(
                formatter,
                "{spoken_for} free accounts in pool {pool}, but others have waited longer for them; it is served when its turn comes"
            ),
            Self::NothingShared { pool, quarantined: 0 } => {
                write!(
                    formatter,
                    "no account in pool {pool}; it is served when the platform has added one with the label shared=true"
                )
            }
            Self::NothingShared { pool, quarantined } => write!(
                formatter,
                "all {quarantined} accounts of pool {pool} are in quarantine; it is served when the platform has repaired their \
                 credentials, or added another"
            ),
            Self::CapReached { tenant, held, cap } => write!(
                formatter,
                "tenant {tenant} holds {held} accounts of at most {cap}, and none has room; delete clusters, or ask the \
                 platform to raise maxAccountsPerTenant"
            ),
            Self::Quarantined { tenant, account } => write!(
                formatter,
                "account {account} of tenant {tenant} is in quarantine; it is served when the platform has repaired its \
                 credentials and lifted the quarantine"
            ),
            Self::EntryGone { tenant, account } => write!(
                formatter,
                "the entry of account {account} of tenant {tenant} was deleted; it is served when the platform has made it again, \
                 with the tenant's label"
            ),
            Self::Contested { tenant, account } => write!(
                formatter,
                "account {account} of tenant {tenant} has the same credentials as another entry, which somebody else uses; \
                 it is served when the platform has seen to that (`allotment pool doctor`)"
            ),
        }
    }
}

/// Decides.
pub fn decide(question: &Question<'_>) -> Answer {
    if let Some(account) = &question.standing {
        return Answer::Keep(account.clone());
    }
    match &question.choice {
        Choice::Shared(all) => shared(question.pool, all),
        Choice::Dedicated(dedicated) => self::dedicated(question.pool, dedicated),
    }
}

/// The least used; of equally used ones the first by name.
fn shared(pool: &PoolKey, all: &[Candidate]) -> Answer {
    let usable = all.iter().filter(|candidate| candidate.is_open());
    match usable.min_by(|one, other| (one.clusters, &one.account).cmp(&(other.clusters, &other.account))) {
        Some(candidate) => Answer::Use(candidate.account.clone()),
        None => Answer::Wait(1, Lack::NothingShared { pool: pool.clone(), quarantined: count(all) }),
    }
}

fn dedicated(pool: &PoolKey, dedicated: &Dedicated<'_>) -> Answer {
    let Dedicated { tenant, accounts, own, held, cap, free, ahead } = dedicated;
    if let Some(account) = most_populated(own, *accounts) {
        return Answer::Use(account.clone());
    }
    let wait = |lack| Answer::Wait(ahead.position(), lack);
    // An account that does not work is no reason for a tenant to get a second one where it may have only one.
    if let (Accounts::One, Some(broken)) = (accounts, own.iter().min_by_key(|candidate| &candidate.account)) {
        let (tenant, account) = ((*tenant).clone(), broken.account.clone());
        return wait(match broken.closed {
            Some(Closed::Contested) => Lack::Contested { tenant, account },
            Some(Closed::EntryGone) => Lack::EntryGone { tenant, account },
            Some(Closed::Quarantined) | None => Lack::Quarantined { tenant, account },
        });
    }
    if let Some(cap) = cap.filter(|cap| held >= cap) {
        return wait(Lack::CapReached { tenant: (*tenant).clone(), held: *held, cap });
    }
    let left_over = match ahead {
        Ahead::Exactly(ahead) => free.get(*ahead as usize),
        // It is woken when its turn comes, and asks again.
        Ahead::About(_) => None,
    };
    match left_over {
        // Those ahead take the first ones when they are served; what is left over is the last of the list, but taking
        // the first keeps the order of the pool: whoever comes next finds the same number of accounts.
        Some(_) => Answer::Claim(free[0].clone()),
        None => wait(Lack::PoolExhausted {
            pool: pool.clone(),
            spoken_for: u32::try_from(free.len()).unwrap_or(u32::MAX),
        }),
    }
}

/// Filling up the fullest leaves the others the best chance to run empty and be given back (seed 002). Of equally full
/// ones the first by name, so that every replica says the same.
fn most_populated(own: &[Candidate], accounts: Accounts) -> Option<&AccountName> {
    let has_room = |candidate: &&Candidate| match accounts {
        Accounts::One => true,
        Accounts::Several(limit) => candidate.clusters < limit.0,
    };
    own.iter()
        .filter(|candidate| candidate.is_open())
        .filter(has_room)
        .min_by(|one, other| (other.clusters, &one.account).cmp(&(one.clusters, &other.account)))
        .map(|candidate| &candidate.account)
}

fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}
