//! Who says what: the ledger, the labels, the requests and the Shoots, compared. Nothing is decided here; what the
//! operators are just about to do themselves (a label that is being written, a status that is being published) is no
//! disagreement.

use super::{AccountName, Ailment, Complaint, Entry, Holding, RequestUid, Row, Tenant};
use crate::check::{self, Books, Held, Seat};
use allotment_api::kyma::SubscriptionPhase as Phase;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What each side says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// The labels.
    pub entries: BTreeMap<AccountName, Entry>,
    /// The ledger, about accounts.
    pub rows: BTreeMap<AccountName, Row>,
    /// The ledger, about who is where.
    pub seats: Vec<Seat>,
    /// The ledger, about who waits.
    pub waiting: Vec<RequestUid>,
    /// The ledger was made anew, and nobody has led since: whoever waits is queued by the next leader.
    pub awaits_leader: bool,
    /// The requests.
    pub requests: BTreeMap<RequestUid, Asked>,
    /// The Shoots that are in accounts of the pool.
    pub shoots: Vec<Grown>,
    /// The Clusters that say that they are ready, and whose Shoot is not there or not their own.
    pub not_ready: Vec<NotReady>,
}

/// A Cluster that says that it is ready, and is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// Its namespace and name.
    pub cluster: String,
    /// The Shoot that its status names.
    pub shoot: String,
    /// Whether there is such a Shoot.
    pub is_there: bool,
}

/// What a request says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its namespace and name.
    pub name: String,
    /// How far it is.
    pub phase: Option<Phase>,
    /// The account that its status names.
    pub account: Option<AccountName>,
    /// The tenant that its status names.
    pub tenant: Option<Tenant>,
}

/// A Shoot in an account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Grown {
    /// Its name.
    pub name: String,
    /// The account.
    pub account: AccountName,
    /// The request that its label names.
    pub request: Option<RequestUid>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Every disagreement.
    pub disagreements: Vec<Complaint>,
    /// The Shoots that nobody asked us for. They count towards the limit and keep their account.
    pub foreign: Vec<Grown>,
}

/// What the next leader sees to.
const HEALED: &str =
    "the operator puts it right when it next looks at it; if it stays, run `allotment ledger rebuild`";

/// What helps where request and Shoot agree, and the ledger differs.
const REBUILD: &str =
    "run `allotment ledger rebuild`: the ledger takes over the account that request, binding and Shoot prove";

/// What helps where nobody can tell which side is right. A Shoot is somebody's cluster: a finding is no reason to delete it.
const KEEP_SHOOT: &str = "leave the Shoot running; `allotment pool history` of both accounts shows how it came there; put the labels \
                          and the request's status right, and the ledger follows";

/// Whether a finding rests on the contents of the ledger. Beside a ledger that does not fit the garden, such a finding only repeats that, once
/// for each object, and its remedy misleads.
pub const fn rests_on_ledger(code: Ailment) -> bool {
    match code {
        Ailment::DirtyForLong
        | Ailment::Exhausted
        | Ailment::EntryGone
        | Ailment::Tenant
        | Ailment::Dirty
        | Ailment::Pool
        | Ailment::Quarantine
        | Ailment::NotAssigned
        | Ailment::NotQueued
        | Ailment::RequestGone
        | Ailment::ShootElsewhere
        | Ailment::ShootInEmpty
        | Ailment::SameCloudAccount
        | Ailment::CleanupWaits
        | Ailment::Books => true,
        Ailment::Stranded
        | Ailment::SameCredentials
        | Ailment::Occupied
        | Ailment::MissingSecret
        | Ailment::CleanupStuck
        | Ailment::Quarantined
        | Ailment::NotReady
        | Ailment::Identity => false,
    }
}

/// Compares.
pub fn compare(sides: &Sides) -> Compared {
    let mut compared = Compared::default();
    let found = &mut compared.disagreements;
    let names: BTreeSet<&AccountName> = sides.entries.keys().chain(sides.rows.keys()).collect();
    for account in names {
        accounts(account, sides.entries.get(account), sides.rows.get(account), found);
    }
    let seats: BTreeMap<&RequestUid, &Seat> = sides.seats.iter().map(|seat| (&seat.request, seat)).collect();
    requests(sides, &seats, found);
    for shoot in &sides.shoots {
        let asked = shoot.request.as_ref().and_then(|request| Some((request, sides.requests.get(request)?)));
        match asked {
            Some((request, asked)) => found.extend(misplaced(shoot, asked, seats.get(request).copied())),
            None => {
                found.extend(unexpected(shoot, sides));
                compared.foreign.push(shoot.clone());
            }
        }
    }
    compared.disagreements.extend(sides.not_ready.iter().map(not_ready));
    let books = Books {
        accounts: sides.rows.iter().map(|(account, row)| held(account, row)).collect(),
        seats: sides.seats.clone(),
        waiting: sides.waiting.clone(),
    };
    compared.disagreements.extend(check::books(&books).into_iter().map(|violation| {
        complaint(
            Ailment::Books,
            None,
            violation.to_string(),
            "this must not happen: run `allotment ledger rebuild`",
        )
    }));
    compared.disagreements.sort();
    compared
}

fn held(account: &AccountName, row: &Row) -> Held {
    Held { account: account.clone(), pool: row.pool.clone(), holding: row.holding.clone() }
}

fn accounts(account: &AccountName, entry: Option<&Entry>, row: Option<&Row>, found: &mut Vec<Complaint>) {
    let mut say = |code, message: String, remedy: &str| {
        found.push(complaint(code, Some(account), message, remedy));
    };
    let Some(entry) = entry else {
        let Some(row) = row else { return };
        let remedy = if row.assignments == 0 { HEALED } else { "make the entry again" };
        let message = format!(
            "the ledger has account {account} as {}, with {} requests in it, but it has no entry in the pool",
            row.holding, row.assignments
        );
        return say(Ailment::EntryGone, message, remedy);
    };
    let free = Holding::Free;
    let holding = row.map_or(&free, |row| &row.holding);
    if entry.is_dedicated() {
        if let Some((code, labels, remedy)) = labels_against(entry, holding) {
            say(
                code,
                format!("account {account} is {holding} in the ledger, but its labels say {labels}"),
                remedy,
            );
        }
    } else if !matches!(holding, Holding::Free | Holding::Dirty(_)) {
        let message =
            format!("account {account} is {holding} in the ledger, but its labels say shared or internal");
        say(Ailment::Tenant, message, "take the label away again, or move its clusters first");
    }
    let Some(row) = row else { return };
    if let Some(pool) = entry.pool.as_ref().filter(|pool| **pool != row.pool) {
        let message =
            format!("account {account} is in pool {} in the ledger, but its labels say {pool}", row.pool);
        say(Ailment::Pool, message, HEALED);
    }
    match (&entry.quarantine, &row.quarantine) {
        (Some(why), None) => {
            let message = format!(
                "account {account} is in quarantine by its annotation ({why}), but not in the ledger"
            );
            say(Ailment::Quarantine, message, HEALED);
        }
        (None, Some(why)) => {
            let message =
                format!("account {account} is in quarantine in the ledger ({why}), but has no annotation");
            say(Ailment::Quarantine, message, HEALED);
        }
        _ => (),
    }
}

/// What the labels of a dedicated account say against the ledger, if they do.
fn labels_against(entry: &Entry, holding: &Holding) -> Option<(Ailment, String, &'static str)> {
    let whose = entry.tenant.as_ref().map_or_else(|| "nobody's".to_owned(), |tenant| format!("{tenant}'s"));
    let tenant = |remedy| Some((Ailment::Tenant, whose.clone(), remedy));
    let is_of = |tenant: &Tenant| entry.tenant.as_ref() == Some(tenant);
    match holding {
        Holding::Free if entry.dirty => Some((Ailment::Dirty, "dirty".to_owned(), HEALED)),
        Holding::Free if entry.tenant.is_some() => tenant(HEALED),
        // The label is being written.
        Holding::Claiming(claimer) if entry.tenant.is_some() && !is_of(claimer) => tenant(HEALED),
        Holding::Claimed(_) if entry.dirty => {
            Some((Ailment::Dirty, "dirty".to_owned(), "take the dirty label away: the account is in use"))
        }
        Holding::Claimed(claimer) if !is_of(claimer) => {
            tenant("put the ledger's tenant back on the label: its clusters are in the account")
        }
        Holding::Dirty(_) if !entry.dirty && entry.tenant.is_some() => {
            let remedy = "take the tenant's label away too once it is clean, or put the dirty label back";
            Some((Ailment::Dirty, "not dirty".to_owned(), remedy))
        }
        Holding::Dirty(_) if !entry.dirty => Some((Ailment::Dirty, "clean".to_owned(), HEALED)),
        Holding::Free
        | Holding::Claiming(_)
        | Holding::Claimed(_)
        | Holding::Draining(_)
        | Holding::Dirty(_) => None,
    }
}

fn requests(sides: &Sides, seats: &BTreeMap<&RequestUid, &Seat>, found: &mut Vec<Complaint>) {
    for (uid, asked) in &sides.requests {
        let Asked { name, phase, account, tenant } = asked;
        let seat = seats.get(uid).copied();
        match (phase, account) {
            (Some(Phase::Bound | Phase::Releasing), Some(account)) => {
                let wrong = match seat {
                    None if *phase == Some(Phase::Releasing) => None,
                    None => Some("no account".to_owned()),
                    Some(seat) if seat.account != *account => Some(format!("account {}", seat.account)),
                    Some(seat) if seat.tenant != *tenant => Some(format!(
                        "an account of {}",
                        seat.tenant.as_ref().map_or("nobody", Tenant::as_str)
                    )),
                    Some(_) => None,
                };
                if let Some(ledger) = wrong {
                    let whose = tenant.as_ref().map_or_else(String::new, |tenant| format!(" of {tenant}"));
                    let message = format!(
                        "request {name} is bound to account {account}{whose}, but the ledger gives it {ledger}"
                    );
                    let remedy = match sides.entries.contains_key(account) {
                        true => REBUILD,
                        false => {
                            "there is no such entry in this pool: make it again, or leave it to whoever serves that pool"
                        }
                    };
                    found.push(complaint(Ailment::NotAssigned, Some(account), message, remedy));
                }
            }
            (Some(Phase::Waiting), _)
                if seat.is_none() && !sides.waiting.contains(uid) && !sides.awaits_leader =>
            {
                let message = format!("request {name} waits, but is not in the queue");
                found.push(complaint(Ailment::NotQueued, None, message, HEALED));
            }
            _ => (),
        }
    }
    for seat in sides.seats.iter().filter(|seat| !sides.requests.contains_key(&seat.request)) {
        let message =
            format!("the ledger has request {} in account {}, but it is gone", seat.request, seat.account);
        let remedy = "the operator gives the account back once the request's Shoot is gone";
        found.push(complaint(Ailment::RequestGone, Some(&seat.account), message, remedy));
    }
    for request in sides.waiting.iter().filter(|request| !sides.requests.contains_key(request)) {
        let message = format!("request {request} is in the queue, but it is gone");
        found.push(complaint(Ailment::RequestGone, None, message, HEALED));
    }
}

/// A Shoot of a request that is somewhere else, or nowhere.
fn misplaced(shoot: &Grown, asked: &Asked, seat: Option<&Seat>) -> Option<Complaint> {
    let Grown { name, account, .. } = shoot;
    let place = match seat {
        Some(seat) if seat.account == *account => return None,
        Some(seat) => format!("account {}", seat.account),
        None => "no account".to_owned(),
    };
    let message = format!("Shoot {name} is in account {account}, but the ledger gives its request {place}");
    let is_where_asked = asked.phase == Some(Phase::Bound) && asked.account.as_ref() == Some(account);
    let remedy = if is_where_asked { REBUILD } else { KEEP_SHOOT };
    Some(complaint(Ailment::ShootElsewhere, Some(account), message, remedy))
}

/// A foreign Shoot in an account that waits to be cleaned. One in an account that nobody holds makes it occupied.
fn unexpected(shoot: &Grown, sides: &Sides) -> Option<Complaint> {
    let Grown { name, account, .. } = shoot;
    sides.entries.get(account).filter(|entry| entry.is_dedicated())?;
    let Some(Holding::Dirty(_)) = sides.rows.get(account).map(|row| &row.holding) else { return None };
    let message = format!("Shoot {name}, which nobody asked us for, is in account {account}, which is dirty");
    let remedy = "label the account with the Shoot's tenant, or have the owner of the Shoot remove it if nobody uses it";
    Some(complaint(Ailment::ShootInEmpty, Some(account), message, remedy))
}

fn not_ready(found: &NotReady) -> Complaint {
    let NotReady { cluster, shoot, is_there } = found;
    let (what, remedy) = match is_there {
        true => (
            "is not its own",
            "the operator says so when it next looks at the Cluster; see whose the Shoot is by its labels and annotations",
        ),
        false => (
            "is not there",
            "the operator says so when it next looks at the Cluster; the annotation allotment.dev/recreate-shoot=true makes an \
             empty one",
        ),
    };
    let message = format!("Cluster {cluster} says that it is ready, but Shoot {shoot} {what}");
    complaint(Ailment::NotReady, None, message, remedy)
}

fn complaint(code: Ailment, account: Option<&AccountName>, message: String, remedy: &str) -> Complaint {
    Complaint { code, account: account.cloned(), message, remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests;
