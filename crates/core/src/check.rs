//! What must always hold, as checks over plain values: used by tests after every step, by the simulation, and on live ledgers.

mod astray;
mod change;
mod cleaning;
mod estate;
mod fleet;
mod isolation;
mod occupied;
mod promised;
mod scene;
mod tokens;
mod trail;
mod wording;
mod wrong;

pub use astray::Astray;
pub use change::{change, entry_change};
pub use cleaning::CleaningViolation;
pub use estate::{Estate, Order, Plot, who};
pub use fleet::{Features, Fleet, Owned, Stage, Stand, Wish};
pub use isolation::{Isolation, IsolationViolation, OwnedShoot};
pub use scene::{Asked, Grown, Scene};
pub use tokens::Tokens;
pub use trail::{Happened, Trail};
pub use wrong::Wrong;

use crate::pool::{AccountName, Holding, Limit, PoolKey, RequestUid, Tenant};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    mem::discriminant,
};

/// What a ledger says, without times and reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// The accounts it knows.
    pub accounts: Vec<Held>,
    /// Who is where.
    pub seats: Vec<Seat>,
    /// Who waits.
    pub waiting: Vec<RequestUid>,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which.
    pub account: AccountName,
    /// In which pool.
    pub pool: PoolKey,
    /// Whose.
    pub holding: Holding,
}

/// A request in an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Which.
    pub request: RequestUid,
    /// Whose; nobody's in a shared account.
    pub tenant: Option<Tenant>,
    /// In which account.
    pub account: AccountName,
}

/// Something that must never be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Two tenants hold one account.
    HeldTwice(AccountName),
    /// A request of one tenant, or of nobody, is in an account that another holds.
    WrongTenant(Seat, Holding),
    /// A request is in an account that nobody knows.
    NoSuchAccount(Seat),
    /// A request is in a dedicated account that takes no clusters.
    NotTaking(Seat, Holding),
    /// A shared account is held by somebody.
    SharedButHeld(AccountName, Holding),
    /// More clusters in an account than its limit.
    OverLimit(AccountName, u32, Limit),
    /// A request is in two accounts.
    SeatedTwice(RequestUid),
    /// A request is in an account, and waits for one.
    SeatedAndWaiting(RequestUid),
    /// A request waits twice.
    WaitsTwice(RequestUid),
    /// A status names another account than the ledger.
    PublishedElsewhere(Seat, AccountName),
    /// A status names another tenant than the ledger.
    PublishedFor(Seat, Option<Tenant>),
    /// A status names an account, and the ledger none.
    PublishedOnly(RequestUid, AccountName),
    /// A status named another account before.
    Republished(RequestUid, AccountName, AccountName),
    /// A dirty label on an account with requests in it.
    DirtyWithSeats(AccountName, u32),
    /// The label says another tenant than the ledger.
    LabelledOtherwise(AccountName, Tenant, Holding),
    /// Several tenants at once are in a dedicated account.
    TwoTenants(AccountName, Vec<Tenant>),
    /// A tenant that may have one account has several.
    TwoAccounts(Tenant, Vec<AccountName>),
    /// A Shoot is in an account that its request does not have.
    ShootWithoutSeat(String, AccountName, RequestUid),
    /// We labelled an account for a tenant that was not to be had.
    TookWhatIsNotFree(AccountName, Tenant),
    /// We labelled an account for a tenant that Shoots were in.
    TookOccupied(AccountName, Tenant, Vec<String>),
    /// Entries with the same credentials, which are one account, are held by several tenants.
    OneAccountOfTwo(Vec<AccountName>, Vec<Tenant>),
    /// A tenant was given an account, and holds more than it may.
    OverCap(Tenant, u32, u32),
    /// A request is in an account of another pool than it is for.
    WrongPool(Seat, PoolKey),
    /// A request was put into a shared account, and another one had fewer clusters.
    NotLeastUsed(Seat, AccountName),
    /// A request was given a free account that another one was to have.
    OutOfTurn(Seat, RequestUid),
    /// A status says that a request is bound, and names no account.
    BoundToNothing(RequestUid),
    /// We labelled an account for a tenant that was another's.
    TookFrom(AccountName, Tenant, Tenant),
    /// We took a tenant's name from an account.
    LetGo(AccountName, Tenant),
    /// We took the dirty label from an account.
    Cleaned(AccountName),
    /// A request went from one account into another.
    Moved(Seat, AccountName),
    /// A request was put into an account in quarantine.
    SeatedInQuarantine(Seat),
    /// The history does not tell what the ledger says.
    Untold(String),
    /// At rest: a request without a decision.
    NeverDecided(RequestUid),
    /// At rest: a deleted request that is still there.
    NeverReleased(RequestUid),
    /// At rest: a status says that the request waits, and the ledger does not, or the other way round.
    WaitsOtherwise(RequestUid, bool),
    /// At rest: a request that is gone is in the queue.
    GoneButWaiting(RequestUid),
    /// At rest: a request that is gone has an account.
    GoneButSeated(Seat),
    /// At rest: an account that nobody uses, and that nobody gets.
    Leaked(AccountName, Holding),
    /// At rest: a request waits, though there is an account for it.
    CouldBeServed(RequestUid, AccountName),
    /// A credential is where it can be read.
    Told(String),
    /// What a request for access has is not what it should have.
    Access(String),
    /// A term began though the ledger did not fit the fence that it had read.
    BeganUnfit(String),
    /// The fence of a term was replaced by somebody who had not read it.
    FenceTaken(String),
    /// A request was told that it is bound before the fence was written with the entry that gave it its account.
    BoundUnfenced(RequestUid, i64),
    /// The ledger had lost what somebody had seen committed, who wrote to it nevertheless.
    WroteOnLost(&'static str, i64),
    /// The epoch was raised though the ledger did not fit the fence.
    LedWhileHalted(String),
    /// A request for access was given so many tokens, more than there was reason for.
    TooManyTokens(String, u64),
    /// At rest: something was written, or it never comes to rest.
    Restless(String),
    /// Something about a Cluster or its Shoot.
    Cluster(Wrong),
    /// Something about a provider of openMCP.
    Provider(Astray),
    /// Something of one tenant that reached another.
    Isolation(IsolationViolation),
    /// Something about the cleaning of an account.
    Cleaning(CleaningViolation),
}

impl Violation {
    /// Whether both are of one kind.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Cluster(one), Self::Cluster(other)) => discriminant(one) == discriminant(other),
            (Self::Provider(one), Self::Provider(other)) => discriminant(one) == discriminant(other),
            (Self::Isolation(one), Self::Isolation(other)) => discriminant(one) == discriminant(other),
            (Self::Cleaning(one), Self::Cleaning(other)) => discriminant(one) == discriminant(other),
            _ => discriminant(self) == discriminant(other),
        }
    }
}

impl From<Astray> for Violation {
    fn from(astray: Astray) -> Self {
        Self::Provider(astray)
    }
}

impl From<CleaningViolation> for Violation {
    fn from(found: CleaningViolation) -> Self {
        Self::Cleaning(found)
    }
}

impl From<IsolationViolation> for Violation {
    fn from(found: IsolationViolation) -> Self {
        Self::Isolation(found)
    }
}

impl From<Wrong> for Violation {
    fn from(wrong: Wrong) -> Self {
        Self::Cluster(wrong)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeldTwice(account) => write!(formatter, "account {account} is held twice"),
            Self::WrongTenant(seat, holding) => {
                let whose = seat.tenant.as_ref().map_or("nobody", Tenant::as_str);
                let Seat { request, account, .. } = seat;
                write!(formatter, "request {request} of {whose} is in account {account}, which is {holding}")
            }
            Self::NoSuchAccount(seat) => {
                write!(
                    formatter,
                    "request {} is in account {}, which nobody knows",
                    seat.request, seat.account
                )
            }
            Self::NotTaking(seat, holding) => {
                write!(
                    formatter,
                    "request {} is in account {}, which is {holding}",
                    seat.request, seat.account
                )
            }
            Self::SharedButHeld(account, holding) => {
                write!(formatter, "account {account} is shared, but {holding}")
            }
            Self::OverLimit(account, clusters, limit) => {
                write!(formatter, "account {account} has {clusters} clusters, {limit} are allowed")
            }
            Self::SeatedTwice(request) => write!(formatter, "request {request} is in two accounts"),
            Self::SeatedAndWaiting(request) => {
                write!(formatter, "request {request} has an account, and waits for one")
            }
            Self::WaitsTwice(request) => write!(formatter, "request {request} waits twice"),
            Self::Cluster(wrong) => wrong.fmt(formatter),
            Self::Provider(astray) => astray.fmt(formatter),
            Self::Isolation(found) => found.fmt(formatter),
            Self::Cleaning(found) => found.fmt(formatter),
            other => wording::more(other, formatter),
        }
    }
}

/// Everything that is wrong with the books.
pub fn books(books: &Books) -> Vec<Violation> {
    let Books { accounts, seats, waiting } = books;
    let mut violations = Vec::new();
    let mut known: BTreeMap<&AccountName, &Held> = BTreeMap::new();
    for held in accounts {
        if known.insert(&held.account, held).is_some() {
            violations.push(Violation::HeldTwice(held.account.clone()));
        }
        if held.pool.shared && !matches!(held.holding, Holding::Free | Holding::Dirty(_)) {
            violations.push(Violation::SharedButHeld(held.account.clone(), held.holding.clone()));
        }
    }
    let mut seated = BTreeSet::new();
    for seat in seats {
        if !seated.insert(&seat.request) {
            violations.push(Violation::SeatedTwice(seat.request.clone()));
        }
        violations.extend(match known.get(&seat.account) {
            Some(held) => misplaced(seat, held),
            None => Some(Violation::NoSuchAccount(seat.clone())),
        });
    }
    let mut waits = BTreeSet::new();
    for request in waiting {
        if seated.contains(request) {
            violations.push(Violation::SeatedAndWaiting(request.clone()));
        }
        if !waits.insert(request) {
            violations.push(Violation::WaitsTwice(request.clone()));
        }
    }
    violations
}

fn misplaced(seat: &Seat, held: &Held) -> Option<Violation> {
    let wrong = || Violation::WrongTenant(seat.clone(), held.holding.clone());
    let not_taking = || Violation::NotTaking(seat.clone(), held.holding.clone());
    match (&held.holding, &seat.tenant) {
        (Holding::Free, None) if held.pool.shared => None,
        (Holding::Claiming(holder) | Holding::Claimed(holder), Some(tenant)) if holder == tenant => None,
        (Holding::Claiming(_) | Holding::Claimed(_), _) => Some(wrong()),
        (Holding::Free | Holding::Draining(_) | Holding::Dirty(_), _) => Some(not_taking()),
    }
}

/// The accounts that have more clusters than this limit. Not part of [`books`]: clusters that nobody asked us for, and a limit
/// that was lowered, may lead there.
pub fn over_limit(books: &Books, limit: Limit) -> Vec<Violation> {
    let mut clusters: BTreeMap<&AccountName, u32> = BTreeMap::new();
    for seat in books.seats.iter().filter(|seat| seat.tenant.is_some()) {
        *clusters.entry(&seat.account).or_default() += 1;
    }
    let over = clusters.into_iter().filter(|(_, count)| *count > limit.0);
    over.map(|(account, count)| Violation::OverLimit(account.clone(), count, limit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(account: &str, shared: bool, holding: Holding) -> Held {
        let pool = PoolKey { hyperscaler_type: "aws".to_owned(), shared, eu_access: false };
        Held { account: AccountName::new(account), pool, holding }
    }

    fn seat(request: &str, tenant: Option<&str>, account: &str) -> Seat {
        let (request, tenant) = (RequestUid::new(request), tenant.map(Tenant::new));
        Seat { request, tenant, account: AccountName::new(account) }
    }

    #[test]
    fn every_violation_is_found_and_good_books_have_none() {
        let t = || Tenant::new("t");
        let claimed = || held("a", false, Holding::Claimed(t()));
        let good = seat("r", Some("t"), "a");
        let cases = [
            (vec![claimed()], vec![good.clone()], vec!["other"], ""),
            (vec![held("s", true, Holding::Free)], vec![seat("r", None, "s")], vec![], ""),
            (vec![claimed(), claimed()], vec![], vec![], "account a is held twice"),
            (
                vec![claimed()],
                vec![seat("r", Some("u"), "a")],
                vec![],
                "request r of u is in account a, which is claimed by t",
            ),
            (
                vec![claimed()],
                vec![seat("r", None, "a")],
                vec![],
                "request r of nobody is in account a, which is claimed by t",
            ),
            (vec![], vec![good.clone()], vec![], "request r is in account a, which nobody knows"),
            (
                vec![held("a", false, Holding::Draining(t()))],
                vec![good.clone()],
                vec![],
                "request r is in account a, which is draining by t",
            ),
            (
                vec![held("a", false, Holding::Free)],
                vec![good.clone()],
                vec![],
                "request r is in account a, which is free",
            ),
            (
                vec![held("a", true, Holding::Claimed(t()))],
                vec![],
                vec![],
                "account a is shared, but claimed by t",
            ),
            (vec![claimed()], vec![good.clone(), good.clone()], vec![], "request r is in two accounts"),
            (vec![claimed()], vec![good], vec!["r"], "request r has an account, and waits for one"),
            (vec![], vec![], vec!["r", "r"], "request r waits twice"),
        ];
        for (accounts, seats, waiting, expected) in cases {
            let waiting = waiting.into_iter().map(RequestUid::new).collect();
            let found = books(&Books { accounts, seats, waiting });
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found.join("; "), expected);
        }
    }

    #[test]
    fn limits_count_clusters_of_dedicated_accounts() {
        let seats = vec![
            seat("1", Some("t"), "a"),
            seat("2", Some("t"), "a"),
            seat("3", None, "s"),
            seat("4", None, "s"),
        ];
        let books = Books { seats, ..Books::default() };
        assert_eq!(over_limit(&books, Limit(2)), []);
        let over = over_limit(&books, Limit(1));
        assert_eq!(over, [Violation::OverLimit(AccountName::new("a"), 2, Limit(1))]);
    }
}
