//! Bars for people who wait: one for all places, and one for each place that is worked on.

use super::tally::{Calls, Counts, Phase, Tally};
use crate::output::{self, Bar, Lines};
use allotment_core::cleanup::Place;
use std::{pin::pin, time::Duration};
use tokio::time::interval;

/// Often enough to look alive.
const EVERY: Duration = Duration::from_millis(200);

/// So many places are shown at once: more would not fit a small terminal.
const MOST_PLACES: usize = 10;

/// Shows the progress of an operation until it ends. Without a terminal there are no bars, only lines.
pub(super) async fn show<T>(tally: &Tally, operation: impl Future<Output = T>) -> T {
    let mut lines = Lines::new();
    let mut ticks = interval(EVERY);
    let mut operation = pin!(operation);
    loop {
        let result = tokio::select! {
            biased;
            result = &mut operation => Some(result),
            _ = ticks.tick() => None,
        };
        let said = tally.take_said();
        if !said.is_empty() || result.is_some() {
            lines.clear();
            said.iter().for_each(|line| output::note(line));
        }
        match result {
            Some(result) => return result,
            None => lines.draw(&picture(&tally.calls())),
        }
    }
}

fn picture(calls: &Calls) -> Vec<String> {
    match calls.phase {
        Phase::Idle => Vec::new(),
        Phase::Listing => listing(calls),
        Phase::Deleting => deleting(calls),
        Phase::Settling => settling(calls).into_iter().collect(),
        Phase::Counting => {
            let counted = calls.places.values().filter(|counts| counts.counted).count();
            vec![line("counts", calls.places.len(), counted, " places")]
        }
    }
}

fn listing(calls: &Calls) -> Vec<String> {
    let kinds: usize = calls.places.values().map(|counts| counts.kinds).sum();
    let listed: usize = calls.places.values().map(|counts| counts.listed.len()).sum();
    let is_begun = |counts: &Counts| !counts.listed.is_empty() && counts.listed.len() < counts.kinds;
    let places = calls.places.iter().filter(|(_, counts)| is_begun(counts)).take(MOST_PLACES);
    let place = |(place, counts): (&Place, &Counts)| {
        line(place.as_str(), counts.kinds, counts.listed.len(), " kinds")
    };
    std::iter::once(line("all places", kinds, listed, " kinds")).chain(places.map(place)).collect()
}

fn deleting(calls: &Calls) -> Vec<String> {
    let place = |(place, counts): (&Place, &Counts)| {
        let Counts { planned, deleted, refused, .. } = counts;
        let total = (*planned).max(deleted.len() + refused.len());
        let refused = match refused.len() {
            0 => String::new(),
            refused => format!(", {refused} refused so far"),
        };
        (total > 0).then(|| line(place.as_str(), total, deleted.len(), &format!(" items{refused}")))
    };
    calls.places.iter().filter_map(place).take(MOST_PLACES).collect()
}

fn settling(calls: &Calls) -> Option<String> {
    let (settle, since) = (calls.settle?, calls.listed_at?);
    let passed = since.elapsed().min(settle);
    let seconds = |time: Duration| usize::try_from(time.as_secs()).unwrap_or(usize::MAX);
    Some(line("settling", seconds(settle), seconds(passed), " s"))
}

fn line(name: &str, total: usize, done: usize, unit: &str) -> String {
    format!("  {name:<16} {}{unit}", Bar::new(total).picture(done.min(total)))
}

#[cfg(test)]
mod tests {
    use super::{Calls, Counts, Phase, picture};
    use allotment_core::cleanup::{ItemId, ItemKey, KindName, Place};
    use std::collections::BTreeSet;

    fn key(id: &str) -> ItemKey {
        ItemKey { place: Place::of("eu-1"), kind: KindName::of("Vpc"), id: ItemId::new(id) }
    }

    #[test]
    fn places_that_are_worked_on_have_a_bar() {
        let mut calls = Calls::default();
        calls.phase = Phase::Listing;
        let begun = Counts { kinds: 2, listed: BTreeSet::from([KindName::of("Vpc")]), ..Counts::default() };
        calls.places.insert(Place::of("eu-1"), begun);
        calls.places.insert(Place::of("us-1"), Counts { kinds: 2, ..Counts::default() });
        let shown = picture(&calls);
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(shown[0].contains("all places") && shown[0].ends_with("1/4 kinds"), "{shown:?}");
        assert!(shown[1].contains("eu-1") && shown[1].ends_with("1/2 kinds"), "{shown:?}");

        let deleting = Counts {
            planned: 3,
            deleted: BTreeSet::from([key("a")]),
            refused: BTreeSet::from([key("b")]),
            ..Counts::default()
        };
        calls.places.insert(Place::of("eu-1"), deleting);
        calls.phase = Phase::Deleting;
        let shown = picture(&calls);
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].ends_with("1/3 items, 1 refused so far"), "{shown:?}");
    }
}
