//! Whose turn is it when an account comes free?
//!
//! The tenants that wait for a pool stand in a round. A tenant has one place in it, however many of its requests wait; a
//! tenant that was given a free account goes to the end of the round with its next request. So nobody gets all accounts by
//! asking a thousand times, and nobody starves: whoever arrives later stands behind.
//!
//! [`in_turns`] and [`ahead_of`] say what the order is, from the whole queue. [`ahead_in_round`] says the same from the first
//! few places, because a queue may hold 100,000 requests and a claim must not read them all.

use super::{RequestUid, Tenant};
use std::collections::BTreeMap;

/// Up to this place in the queue a position is exact. Behind it the position is an estimate: an exact one would have to
/// count the queue at every claim. 32 is more than one looks at by hand, and few enough to read in each decision.
pub const EXACT_POSITIONS: u32 = 32;

/// A request that waits for an account of a dedicated pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Which.
    pub request: RequestUid,
    /// Whose.
    pub tenant: Tenant,
    /// Its number in the order of arrival.
    pub ticket: i64,
    /// The tenant's place in the round, if this is the tenant's first request in the queue.
    pub turn: Option<i64>,
}

/// Puts a queue into the order in which it is served: every tenant's first request, in the order of the round, then every
/// tenant's second, and so on.
pub fn in_turns(mut queue: Vec<Waiting>) -> Vec<Waiting> {
    queue.sort_by_key(|waiting| waiting.ticket);
    let mut lines: BTreeMap<Tenant, (u32, i64)> = BTreeMap::new();
    let mut ordered: Vec<((u32, i64, i64), Waiting)> = Vec::with_capacity(queue.len());
    for waiting in queue {
        let newcomer = (0, waiting.turn.unwrap_or(i64::MAX));
        let (length, turn) = lines.entry(waiting.tenant.clone()).or_insert(newcomer);
        *length += 1;
        ordered.push(((*length, *turn, waiting.ticket), waiting));
    }
    ordered.sort_by_key(|(place, _)| *place);
    ordered.into_iter().map(|(_, waiting)| waiting).collect()
}

/// How many are served before this request. One that is not in the queue yet is treated as the last to arrive.
pub fn ahead_of(request: &RequestUid, tenant: &Tenant, queue: Vec<Waiting>) -> u32 {
    let mut queue = queue;
    if !queue.iter().any(|waiting| waiting.request == *request) {
        let (request, tenant) = (request.clone(), tenant.clone());
        queue.push(Waiting { request, tenant, ticket: i64::MAX, turn: None });
    }
    let place = in_turns(queue).iter().position(|waiting| waiting.request == *request);
    place.and_then(|place| u32::try_from(place).ok()).unwrap_or(u32::MAX)
}

/// How many requests have their turn before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// So many.
    Exactly(u32),
    /// At least [`EXACT_POSITIONS`], and about so many.
    About(u32),
}

impl Ahead {
    /// The position that follows, from 1.
    pub fn position(self) -> u32 {
        match self {
            Self::Exactly(ahead) | Self::About(ahead) => ahead.saturating_add(1),
        }
    }
}

/// The place of another tenant in the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The place.
    pub turn: i64,
    /// How many requests of that tenant wait. More than one more than the asking tenant's own need not be counted.
    pub length: u32,
}

/// How many are served before the request of a tenant whose place in the round is `turn`, and of whom `own` requests came
/// before this one; none if they are [`EXACT_POSITIONS`] or more. `others` are at least the first [`EXACT_POSITIONS`] of the
/// tenants that compete, without the asking one; if `own` is 0, those before `turn` will do.
pub fn ahead_in_round(own: u32, turn: i64, others: &[Line]) -> Option<u32> {
    let served_before = |line: &Line| line.length.min(own + u32::from(line.turn < turn));
    let ahead = others.iter().map(served_before).fold(own, u32::saturating_add);
    (ahead < EXACT_POSITIONS).then_some(ahead)
}

/// An estimate for those who stand further behind, from the tickets that were given out between the first in the queue and
/// this one. It is rounded up to two digits, so that nobody takes it for exact.
pub fn about(first_ticket: i64, own_ticket: i64) -> Ahead {
    let distance = u32::try_from(own_ticket.saturating_sub(first_ticket)).unwrap_or(u32::MAX);
    let mut step = 1_u32;
    while distance / step >= 100 {
        step = step.saturating_mul(10);
    }
    let rounded = distance.div_ceil(step).saturating_mul(step);
    Ahead::About(rounded.max(EXACT_POSITIONS))
}
