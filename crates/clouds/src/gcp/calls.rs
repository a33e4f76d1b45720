//! The number of calls that the client makes, by its rows, for whoever counts them without making them.

use super::rows::{self, Listed};

/// The calls of a listing.
pub(crate) enum OfListing {
    /// So many for all regions.
    Shared(usize),
    /// One for each place.
    Own,
}

/// The calls of a listing of a kind.
pub(crate) fn of_listing(kind: &str) -> OfListing {
    let paths = rows::paths(rows::part(kind).map_or(kind, |part| part.of));
    match paths.map(|paths| paths.listed) {
        // Networks tell which subnetworks nobody can delete by itself.
        Some(Listed::Aggregated) if kind == "Subnetwork" => OfListing::Shared(2),
        Some(Listed::Aggregated) => OfListing::Shared(1),
        Some(Listed::PerRegion | Listed::Global) | None => OfListing::Own,
    }
}
