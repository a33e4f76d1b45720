//! Findings, of which there may be more than anybody reads.
//!
//! A file of some kilobytes can hold millions of pairs of rules that do not go together. The first hundred are kept, errors
//! before warnings, and the rest is counted; the text of a finding is made only if it is kept.

use super::{
    finding::{Code, Finding, Severity},
    fix::Fix,
    source::{Place, Source},
};
use std::collections::BTreeMap;

/// So many findings are listed: more than anybody corrects at once.
pub const MOST_LISTED: usize = 100;

/// So many findings of pairs of rules are counted, then the search ends: their number grows with the square of the file.
pub(super) const MOST_COUNTED: usize = 10_000;

/// What a finding tells people.
pub(super) struct Told {
    pub(super) message: String,
    pub(super) fix: Option<Fix>,
}

impl From<String> for Told {
    fn from(message: String) -> Self {
        Self { message, fix: None }
    }
}

/// What orders findings: how bad, then where.
type Rank = (Severity, usize, usize, Code, Option<usize>, usize);

/// The first findings, and how many there are.
#[derive(Debug, Default)]
pub(super) struct Findings {
    kept: BTreeMap<Rank, Finding>,
    count: usize,
    has_errors: bool,
    /// Not all were looked for.
    is_open: bool,
}

impl Findings {
    /// Adds a finding; `message` is called only if it is among the first.
    pub(super) fn add<T: Into<Told>>(
        &mut self,
        source: &Source<'_>,
        (code, rule, place, related): (Code, usize, Place, Option<usize>),
        message: impl FnOnce() -> T,
    ) {
        let rank = (code.severity(), place.line(), place.column(), code, related, self.count);
        self.count += 1;
        self.has_errors |= rank.0 == Severity::Error;
        let is_first =
            self.kept.len() < MOST_LISTED || self.kept.keys().next_back().is_some_and(|last| rank < *last);
        if !is_first {
            return;
        }
        let Told { message, fix } = message().into();
        let finding = source.finding(code, rule, place, message);
        self.kept.insert(rank, Finding { related, fix: fix.map(Fix::into_text), ..finding });
        if self.kept.len() > MOST_LISTED {
            self.kept.pop_last();
        }
    }

    /// Says that there may be more of them.
    pub(super) fn leave_open(&mut self) {
        self.is_open = true;
    }

    /// Whether there is an error, listed or not.
    pub(super) fn has_errors(&self) -> bool {
        self.has_errors
    }

    /// How many there are, listed or not.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// In the order of the file; the last one says how many are not listed, if there are any.
    pub(super) fn into_list(self) -> Vec<Finding> {
        let left_out = self.count - self.kept.len();
        let mut list: Vec<Finding> = self.kept.into_values().collect();
        list.sort_by_key(|finding| (finding.line, finding.column, finding.code, finding.related));
        let last = list.last().cloned().filter(|_| left_out > 0 || self.is_open);
        if let Some(last) = last {
            let at_least = if self.is_open { "at least " } else { "" };
            let message = format!("{at_least}{left_out} more findings are not listed: correct these first");
            list.push(Finding {
                code: Code::Truncated,
                severity: Code::Truncated.severity(),
                message,
                related: None,
                fix: None,
                ..last
            });
        }
        list
    }
}
