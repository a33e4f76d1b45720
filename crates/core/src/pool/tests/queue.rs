//! The order in which a queue is served, and that the first few places are enough to know it.

use super::super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A queue as the ledger keeps it: a tenant's first request has the tenant's place.
fn queue(tenants: &[&str]) -> Vec<Waiting> {
    let mut seen = BTreeSet::new();
    let numbered = tenants.iter().zip(1..);
    let waiting = |(tenant, ticket): (&&str, i64)| Waiting {
        request: RequestUid::new(format!("{tenant}-{ticket}")),
        tenant: Tenant::new(*tenant),
        ticket,
        turn: seen.insert((*tenant).to_owned()).then_some(ticket),
    };
    numbered.map(waiting).collect()
}

fn order(queue: Vec<Waiting>) -> Vec<String> {
    in_turns(queue).into_iter().map(|waiting| waiting.request.to_string()).collect()
}

#[test]
fn turns_go_over_tenants() {
    let queue = queue(&["a", "a", "a", "b", "c", "b"]);
    assert_eq!(order(queue.clone()), ["a-1", "b-4", "c-5", "a-2", "b-6", "a-3"]);
    assert_eq!(ahead_of(&RequestUid::new("b-6"), &Tenant::new("b"), queue.clone()), 4);
    let newcomer = RequestUid::new("new");
    assert_eq!(ahead_of(&newcomer, &Tenant::new("d"), queue.clone()), 3, "a newcomer has a first turn too");
    assert_eq!(ahead_of(&newcomer, &Tenant::new("a"), queue), 6);
}

#[test]
fn a_tenant_that_was_served_goes_to_the_end_of_the_round() {
    let mut queue = queue(&["a", "a", "a", "b", "c"]);
    queue.remove(0);
    queue[0].turn = Some(6);
    assert_eq!(order(queue), ["b-4", "c-5", "a-2", "a-3"]);
}

#[test]
fn an_estimate_is_rounded_up_and_never_among_the_exact_ones() {
    for (first, own, expected) in
        [(1, 2, 32), (1, 34, 33), (1, 100, 99), (1, 102, 110), (10, 3_011, 3_100), (1, i64::MAX, u32::MAX)]
    {
        assert_eq!(about(first, own), Ahead::About(expected), "{first} to {own}");
        assert_eq!(about(first, own).position(), expected.saturating_add(1));
    }
}

/// What the ledger reads of a queue for one request.
fn in_the_round(request: &Waiting, queue: &[Waiting], at_most: usize) -> Option<u32> {
    let own: Vec<&Waiting> = queue.iter().filter(|waiting| waiting.tenant == request.tenant).collect();
    let before = own.iter().filter(|waiting| waiting.ticket < request.ticket).count();
    let turn = own.iter().find_map(|waiting| waiting.turn).unwrap_or(i64::MAX);
    let mut lines: BTreeMap<&Tenant, Line> = BTreeMap::new();
    for waiting in queue.iter().filter(|waiting| waiting.tenant != request.tenant) {
        let line = lines
            .entry(&waiting.tenant)
            .or_insert(Line { turn: waiting.turn.unwrap_or(i64::MAX), length: 0 });
        line.length = (line.length + 1).min(u32::try_from(before).unwrap() + 1);
    }
    let mut lines: Vec<Line> = lines.into_values().collect();
    lines.sort_by_key(|line| line.turn);
    lines.truncate(at_most);
    ahead_in_round(u32::try_from(before).unwrap(), turn, &lines)
}

proptest! {
    #[test]
    fn the_first_places_are_enough(tenants in prop::collection::vec(0..60_u8, 1..120), one_tenant in any::<bool>()) {
        let name = |tenant: u8| format!("t{}", if one_tenant { tenant % 3 } else { tenant });
        let names: Vec<String> = tenants.into_iter().map(name).collect();
        let queue = queue(&names.iter().map(String::as_str).collect::<Vec<_>>());
        for waiting in &queue {
            let exact = ahead_of(&waiting.request, &waiting.tenant, queue.clone());
            let expected = (exact < EXACT_POSITIONS).then_some(exact);
            let few = usize::try_from(EXACT_POSITIONS).unwrap();
            prop_assert_eq!(in_the_round(waiting, &queue, few), expected, "{:?}", waiting);
        }
    }
}
