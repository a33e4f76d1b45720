//! The number of calls that the client makes, for whoever counts them without making them.

/// The last page of every listing is followed by the question whether it was filtered.
pub(crate) const AFTER_A_LISTING: usize = 1;
