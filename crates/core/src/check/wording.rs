//! The sentences for violations between the ledger and everything else.

use super::{Seat, Violation};
use crate::pool::Tenant;
use std::fmt;

pub(super) fn more(violation: &Violation, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    use Violation as V;
    let whose = |tenant: &Option<Tenant>| tenant.as_ref().map_or("nobody".to_owned(), Tenant::to_string);
    match violation {
        V::PublishedElsewhere(Seat { request, account, .. }, published) => {
            write!(
                formatter,
                "the status of request {request} names account {published}, the ledger {account}"
            )
        }
        V::PublishedFor(Seat { request, tenant, .. }, published) => write!(
            formatter,
            "the status of request {request} names tenant {}, the ledger {}",
            whose(published),
            whose(tenant)
        ),
        V::PublishedOnly(request, account) => {
            write!(formatter, "the status of request {request} names account {account}, the ledger none")
        }
        V::Republished(request, old, new) => {
            write!(formatter, "the status of request {request} named account {old}, and names {new} now")
        }
        V::DirtyWithSeats(account, seats) => {
            write!(formatter, "account {account} is labelled dirty, and {seats} requests are in it")
        }
        V::LabelledOtherwise(account, tenant, holding) => {
            write!(formatter, "account {account} is labelled {tenant}, but the ledger says {holding}")
        }
        V::TwoTenants(account, tenants) => {
            let names: Vec<&str> = tenants.iter().map(Tenant::as_str).collect();
            write!(formatter, "account {account} is used by {} at once", names.join(" and "))
        }
        V::TwoAccounts(tenant, accounts) => {
            let names: Vec<&str> = accounts.iter().map(|account| account.as_str()).collect();
            write!(formatter, "tenant {tenant} may have one account, and has {}", names.join(" and "))
        }
        V::ShootWithoutSeat(shoot, account, request) => write!(
            formatter,
            "Shoot {shoot} is in account {account}, which its request {request} does not have"
        ),
        V::TookWhatIsNotFree(account, tenant) => {
            write!(formatter, "account {account} was labelled for {tenant}, but it was not to be had")
        }
        V::TookFrom(account, old, new) => {
            write!(formatter, "account {account} was {old}'s, and was labelled for {new}")
        }
        V::LetGo(account, old) => write!(formatter, "the label of {old} was taken from account {account}"),
        V::Cleaned(account) => write!(formatter, "the dirty label was taken from account {account}"),
        V::Moved(Seat { request, account, .. }, old) => {
            write!(formatter, "request {request} went from account {old} to {account}")
        }
        V::SeatedInQuarantine(Seat { request, account, .. }) => {
            write!(formatter, "request {request} was put into account {account}, which is in quarantine")
        }
        V::Untold(what) => write!(formatter, "the history does not lead to what the ledger says: {what}"),
        V::Told(what) | V::Access(what) => formatter.write_str(what),
        V::TooManyTokens(request, count) => {
            write!(formatter, "request {request} was given {count} tokens, more than there was reason for")
        }
        V::Restless(why) => write!(formatter, "there is no rest: {why}"),
        _ => right_account(violation, formatter),
    }
}

/// The sentences for who got which account.
fn right_account(violation: &Violation, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    use Violation as V;
    match violation {
        V::TookOccupied(account, tenant, shoots) => write!(
            formatter,
            "account {account} was labelled for {tenant}, and Shoots were in it: {}",
            shoots.join(", ")
        ),
        V::OneAccountOfTwo(accounts, tenants) => {
            let accounts: Vec<&str> = accounts.iter().map(|account| account.as_str()).collect();
            let tenants: Vec<&str> = tenants.iter().map(Tenant::as_str).collect();
            let (accounts, tenants) = (accounts.join(" and "), tenants.join(" and "));
            write!(formatter, "accounts {accounts} have the same credentials, and are held by {tenants}")
        }
        V::BeganUnfit(why) => write!(formatter, "a term began, but {why}"),
        V::FenceTaken(term) => {
            write!(formatter, "the fence was term {term}'s, and was replaced by somebody who had not read it")
        }
        V::BoundUnfenced(request, entry) => write!(
            formatter,
            "request {request} was told that it is bound before the fence had entry {entry} of the ledger"
        ),
        V::WroteOnLost(operation, entry) => write!(
            formatter,
            "the ledger has lost entry {entry}, and a process that had seen it committed a {operation}"
        ),
        V::LedWhileHalted(why) => write!(formatter, "the epoch was raised, but {why}"),
        V::OverCap(tenant, held, cap) => {
            write!(formatter, "tenant {tenant} holds {held} accounts, {cap} are allowed")
        }
        V::WrongPool(Seat { request, account, .. }, pool) => {
            write!(formatter, "request {request} is for pool {pool}, and is in account {account} of another")
        }
        V::NotLeastUsed(Seat { request, account, .. }, other) => {
            write!(
                formatter,
                "request {request} was put into account {account}, and {other} had fewer clusters"
            )
        }
        V::OutOfTurn(Seat { request, account, .. }, other) => {
            write!(formatter, "request {request} was given account {account}, and it was the turn of {other}")
        }
        V::BoundToNothing(request) => {
            write!(formatter, "the status of request {request} says that it is bound, and names no account")
        }
        _ => at_rest(violation, formatter),
    }
}

fn at_rest(violation: &Violation, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    use Violation as V;
    match violation {
        V::NeverDecided(request) => write!(formatter, "request {request} is never decided"),
        V::NeverReleased(request) => write!(formatter, "request {request} is deleted, and stays"),
        V::WaitsOtherwise(request, true) => {
            write!(formatter, "the status of request {request} says that it waits, the ledger does not")
        }
        V::WaitsOtherwise(request, false) => {
            write!(formatter, "the ledger says that request {request} waits, its status does not")
        }
        V::GoneButWaiting(request) => write!(formatter, "request {request} is gone, and waits"),
        V::GoneButSeated(Seat { request, account, .. }) => {
            write!(formatter, "request {request} is gone, and has account {account}")
        }
        V::Leaked(account, holding) => {
            write!(formatter, "account {account} is {holding}, and nobody uses it or gets it")
        }
        V::CouldBeServed(request, account) => {
            write!(formatter, "request {request} waits, though it could have account {account}")
        }
        // Everything else is worded where it is defined.
        other => write!(formatter, "{other:?}"),
    }
}
