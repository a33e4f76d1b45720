//! The number of calls that the client makes, by its rows, for whoever counts them without making them.

use super::rows::{self, Pages};

/// The calls after the last page of a kind with so many items: those of other queries, and the empty page that ends a list without links.
pub(crate) fn after_last_page(kind: &str, items: usize) -> usize {
    rows::find(kind).map_or(0, |row| {
        let is_unlinked = row.pages == Pages::Offset && items > 0;
        row.queries.len().saturating_sub(1) + usize::from(is_unlinked)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_without_links_end_with_an_empty_page() {
        assert_eq!((after_last_page("ServerGroup", 0), after_last_page("ServerGroup", 3)), (0, 1));
        assert_eq!((after_last_page("Image", 0), after_last_page("Port", 7)), (1, 0));
    }
}
