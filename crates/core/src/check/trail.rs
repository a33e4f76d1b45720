//! The audit trail, read from its beginning, leads to what the ledger says now.

use super::{Books, Violation};
use crate::pool::{AccountName, Holding, RequestUid};
use std::collections::{BTreeMap, BTreeSet};

/// An entry of the history, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// The word for what happened.
    pub event: String,
    /// To which account.
    pub account: Option<AccountName>,
    /// For which request.
    pub request: Option<RequestUid>,
}

/// Where the history leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    seats: BTreeMap<RequestUid, AccountName>,
    waiting: BTreeSet<RequestUid>,
    /// The word for the holding; none: the history does not say.
    holdings: BTreeMap<AccountName, Option<&'static str>>,
    quarantined: BTreeSet<AccountName>,
}

impl Trail {
    /// The next entry.
    pub fn add(&mut self, happened: &Happened) {
        let Happened { event, account, request } = happened;
        match (event.as_str(), request, account) {
            ("assigned", Some(request), Some(account)) => {
                self.seats.insert(request.clone(), account.clone());
                self.waiting.remove(request);
            }
            ("released" | "lost", Some(request), _) => {
                self.seats.remove(request);
                self.waiting.remove(request);
            }
            ("queued", Some(request), _) => {
                self.waiting.insert(request.clone());
            }
            ("rebuilt", _, _) => *self = Self::default(),
            ("quarantined", _, Some(account)) => {
                self.quarantined.insert(account.clone());
            }
            ("lifted", _, Some(account)) => {
                self.quarantined.remove(account);
            }
            ("retired", _, Some(account)) => {
                self.holdings.remove(account);
                self.quarantined.remove(account);
            }
            (event, None, Some(account)) => {
                let holding = match event {
                    "claimed" => Some("claiming"),
                    "confirmed" | "adopted" => Some("claimed"),
                    "draining" => Some("draining"),
                    "dirty" => Some("dirty"),
                    "cleaned" => Some("free"),
                    "lost" => None,
                    _ => return,
                };
                self.holdings.insert(account.clone(), holding);
            }
            _ => (),
        }
    }

    /// What the ledger says otherwise.
    pub fn violations(&self, books: &Books, quarantined: &BTreeSet<AccountName>) -> Vec<Violation> {
        let mut violations = Vec::new();
        let seats: BTreeMap<_, _> =
            books.seats.iter().map(|seat| (seat.request.clone(), seat.account.clone())).collect();
        if seats != self.seats {
            violations.push(Violation::Untold(format!("seats {seats:?}, told {:?}", self.seats)));
        }
        let waiting: BTreeSet<_> = books.waiting.iter().cloned().collect();
        if waiting != self.waiting {
            violations.push(Violation::Untold(format!("waiting {waiting:?}, told {:?}", self.waiting)));
        }
        if *quarantined != self.quarantined {
            let told = &self.quarantined;
            violations.push(Violation::Untold(format!("quarantined {quarantined:?}, told {told:?}")));
        }
        for held in books.accounts.iter().filter(|held| !held.pool.shared) {
            let told = self.holdings.get(&held.account).copied().unwrap_or(Some(Holding::Free.as_str()));
            if told.is_some_and(|told| told != held.holding.as_str()) {
                let (account, holding) = (&held.account, &held.holding);
                violations.push(Violation::Untold(format!("account {account} {holding}, told {told:?}")));
            }
        }
        violations
    }
}
