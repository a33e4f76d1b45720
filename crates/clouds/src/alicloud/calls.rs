//! The number of calls that the client makes, by its rows, for whoever counts them without making them.

use super::{rows, witness};

/// The regions of ECS, and those of the three services that are not in all of them.
pub(crate) const OF_PLACES: usize = 4;

/// The kind whose items are named one by one to list this one.
pub(crate) fn holders(kind: &str) -> Option<&'static str> {
    rows::find(kind)?.under.as_ref().map(|under| under.kind)
}

/// The calls of a count: one for each of its queries.
pub(crate) fn of_count(count: &str) -> usize {
    let seen = witness::REGIONAL.iter().find(|seen| seen.count == count);
    seen.map_or(1, |seen| seen.queries.len())
}
