//! Whose turn is it when an account comes free?

use super::{RequestUid, Tenant};
use std::collections::BTreeMap;

/// A request that waits for an account of a dedicated pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Which.
    pub request: RequestUid,
    /// Whose.
    pub tenant: Tenant,
    /// Its number in the order of arrival.
    pub ticket: i64,
}

/// Puts a queue into the order in which it is served: by turns over tenants. Every tenant's first request comes before
/// any tenant's second, so that nobody gets all accounts by asking a thousand times; within a turn by arrival.
pub fn in_turns(mut queue: Vec<Waiting>) -> Vec<Waiting> {
    queue.sort_by_key(|waiting| waiting.ticket);
    let mut turns: BTreeMap<&Tenant, u32> = BTreeMap::new();
    let numbered: Vec<u32> = queue
        .iter()
        .map(|waiting| {
            let turn = turns.entry(&waiting.tenant).or_default();
            *turn += 1;
            *turn
        })
        .collect();
    let mut ordered: Vec<(u32, Waiting)> = numbered.into_iter().zip(queue).collect();
    ordered.sort_by_key(|(turn, waiting)| (*turn, waiting.ticket));
    ordered.into_iter().map(|(_, waiting)| waiting).collect()
}

/// How many are served before this request. One that is not in the queue yet is treated as the last to arrive.
pub fn ahead_of(request: &RequestUid, tenant: &Tenant, queue: Vec<Waiting>) -> u32 {
    let mut queue = queue;
    if !queue.iter().any(|waiting| waiting.request == *request) {
        queue.push(Waiting { request: request.clone(), tenant: tenant.clone(), ticket: i64::MAX });
    }
    let place = in_turns(queue).iter().position(|waiting| waiting.request == *request);
    place.and_then(|place| u32::try_from(place).ok()).unwrap_or(u32::MAX)
}
