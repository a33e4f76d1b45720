//! A ledger that is three lists, and does what the real one does: any sequence of operations ends the same.

use crate::{
    bench::{Bench, now, place, request, tenant},
    deeds::state,
    draw::{Operation, operations},
};
use allotment_core::pool::{
    AccountName, Ahead, Answer, Candidate, Choice, Closed, Dedicated, Holding, PoolKey, Question, Tenant,
    Waiting, ahead_of, decide, in_turns,
};
use allotment_operator::ledger::{Ask, Assignment, Entries, Learned, Ledger, Left, Observed, Who};
use proptest::{prelude::*, test_runner::TestRunner};
use std::collections::{BTreeMap, BTreeSet};

pub async fn agrees_with_the_ledger(_: Bench) {
    // A runner calls back without waiting, so it gets a thread where waiting is possible.
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut runner =
            TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() });
        let sequences = prop::collection::vec(operations(), 1..60);
        runner.run(&sequences, |operations| runtime.block_on(compare(operations))).unwrap();
    };
    std::thread::spawn(run).join().unwrap();
}

async fn compare(operations: Vec<Operation>) -> Result<(), TestCaseError> {
    let ledger = Ledger::open_as("sqlite::memory:", place(), "twin").await.unwrap();
    let epoch = ledger.lead("me", "a term", now()).await.unwrap();
    let mut twin = Twin::default();
    for operation in operations {
        let expected = twin.run(&operation);
        let found = real(&ledger, epoch, &operation).await;
        prop_assert_eq!(&found, &expected, "{:?}", operation);
        prop_assert_eq!(state(&ledger).await, twin.state(), "after {:?}", operation);
        let violations = allotment_core::check::books(&crate::bench::books(&ledger).await);
        prop_assert!(violations.is_empty(), "after {:?}: {:?}", operation, violations);
    }
    Ok(())
}

fn observed(foreign: &BTreeMap<AccountName, u32>) -> BTreeMap<AccountName, Observed> {
    let of = |(account, count): (&AccountName, &u32)| {
        (account.clone(), Observed { foreign: *count, ..Observed::default() })
    };
    foreign.iter().map(of).collect()
}

async fn real(ledger: &Ledger, epoch: allotment_core::pool::Epoch, operation: &Operation) -> String {
    let outcome = match operation {
        Operation::Reserve { uid, of, pool, accounts, cap, free, foreign } => {
            let who = if pool.shared {
                Who::Shared { accounts: free }
            } else {
                Who::Dedicated { tenant: of, accounts: *accounts, cap: *cap, free }
            };
            let request = request(uid);
            let may_queue = true;
            let observed = &observed(foreign);
            let ask = Ask {
                request: &request,
                cluster: None,
                pool,
                who,
                observed,
                entries: Entries::ALL,
                may_queue,
                because: "",
            };
            ledger.reserve(epoch, &ask, now()).await.map(|reserved| format!("{:?}", reserved.answer))
        }
        Operation::Confirm(account, of) => {
            ledger.confirm(epoch, account, of, now()).await.map(|()| "ok".into())
        }
        Operation::Lose(account, of, found) => {
            let lost = ledger.lose(epoch, account, of, found, "", now()).await;
            lost.map(|lost| lost.iter().map(|request| request.uid.as_str()).collect::<Vec<_>>().join(" "))
        }
        Operation::Release(uid, left) => {
            let released = ledger.release(epoch, &request(uid).uid, *left, "", now()).await;
            released.map(|released| format!("{released:?}"))
        }
        Operation::Learn { account, pool, stale, learned } => {
            let row = ledger.account(account).await.unwrap();
            let version = if *stale { Some(-1) } else { row.map(|row| row.version) };
            ledger.learn(epoch, account, pool, version, learned, "", now()).await.map(|()| "ok".into())
        }
        Operation::Assign(uid, of, account, pool) => {
            let (request, tenant) = (request(uid), of.clone());
            let (account, pool) = (account.clone(), pool.clone());
            let assignment = Assignment { request, tenant, account, pool, cluster: None, since: now() };
            ledger.assign(epoch, &assignment, "", now()).await.map(|()| "ok".into())
        }
        Operation::Clear => ledger.clear(epoch, "", now()).await.map(|()| "ok".into()),
    };
    outcome.unwrap_or_else(|error| error.category().to_owned())
}

#[derive(Clone, PartialEq)]
struct Row {
    pool: PoolKey,
    holding: Holding,
    leaving: bool,
    quarantine: Option<String>,
}

struct Seat {
    of: Option<Tenant>,
    account: AccountName,
    pool: PoolKey,
}

#[derive(Default)]
struct Twin {
    rows: BTreeMap<AccountName, Row>,
    seats: BTreeMap<String, Seat>,
    queue: Vec<Place>,
    /// The requests of which the last that happened was that they gave back what they had.
    released: BTreeSet<String>,
}

struct Place {
    uid: String,
    of: Option<Tenant>,
    pool: PoolKey,
    wants_free: bool,
    turn: Option<i64>,
}

impl Twin {
    fn run(&mut self, operation: &Operation) -> String {
        let outcome = match operation.clone() {
            Operation::Reserve { .. } => Ok(format!("{:?}", self.reserve(operation))),
            Operation::Confirm(account, of) => self.confirm(&account, &of),
            Operation::Lose(account, of, found) => self.lose(&account, &of, found),
            Operation::Release(uid, left) => Ok(self.release(&uid, left)),
            Operation::Learn { stale: true, .. } => Err("changed"),
            Operation::Learn { account, pool, stale: false, learned } => self.learn(&account, pool, learned),
            Operation::Assign(uid, of, account, pool) => self.assign(uid, of, account, pool),
            Operation::Clear => {
                *self = Self { released: std::mem::take(&mut self.released), ..Self::default() };
                Ok("ok".to_owned())
            }
        };
        outcome.unwrap_or_else(str::to_owned)
    }

    fn clusters(&self, account: &AccountName) -> u32 {
        self.seats.values().filter(|seat| seat.account == *account).count().try_into().unwrap()
    }

    fn row(&self, account: &AccountName, pool: &PoolKey) -> Row {
        let new = Row { pool: pool.clone(), holding: Holding::Free, leaving: false, quarantine: None };
        self.rows.get(account).cloned().unwrap_or(new)
    }

    fn reserve(&mut self, operation: &Operation) -> Answer {
        let Operation::Reserve { uid, of, pool, accounts, cap, free, foreign } = operation else {
            unreachable!()
        };
        let asks_for = (!pool.shared).then(|| of.clone());
        let is_elsewhere = |place: &Place| place.uid == *uid && (place.pool != *pool || place.of != asks_for);
        if !self.seats.contains_key(uid) && self.queue.iter().any(is_elsewhere) {
            self.leave(uid, false);
        }
        let standing = self.seats.get(uid).map(|seat| seat.account.clone());
        let candidate = |account: &AccountName| Candidate {
            account: account.clone(),
            clusters: self.clusters(account) + foreign.get(account).copied().unwrap_or(0),
            closed: self.row(account, pool).quarantine.as_ref().map(|_| Closed::Quarantined),
        };
        let nobodys = |account: &&AccountName| {
            let row = self.row(account, pool);
            row.holding == Holding::Free && (row.pool.shared && pool.shared || self.clusters(account) == 0)
        };
        let usable = |account: &&AccountName| {
            let row = self.row(account, pool);
            nobodys(account) && row.quarantine.is_none() && !row.leaving
        };
        let free: Vec<AccountName> = if pool.shared {
            free.iter().filter(nobodys).cloned().collect()
        } else {
            free.iter().filter(usable).cloned().collect()
        };
        let held: Vec<&AccountName> = self
            .rows
            .iter()
            .filter(|(_, row)| row.holding.takes_clusters_of(of))
            .map(|(name, _)| name)
            .collect();
        let own = held.iter().filter(|name| self.rows[**name].pool == *pool);
        let choice = if pool.shared {
            Choice::Shared(free.iter().map(candidate).collect())
        } else {
            Choice::Dedicated(Dedicated {
                tenant: of,
                accounts: *accounts,
                own: own.map(|name| candidate(name)).collect(),
                held: held.len().try_into().unwrap(),
                cap: *cap,
                free: &free,
                ahead: Ahead::Exactly(ahead_of(&request(uid).uid, of, self.competitors(pool, of))),
            })
        };
        let answer = decide(&Question { pool, standing, choice });
        let of = (!pool.shared).then(|| of.clone());
        match &answer {
            Answer::Keep(_) => {}
            Answer::Use(account) => self.sit(uid, of, account, pool, None),
            Answer::Claim(account) => {
                self.leave(uid, true);
                let claiming = of.clone().map(Holding::Claiming);
                self.sit(uid, of, account, pool, claiming);
            }
            Answer::Wait(_, lack) => {
                let wants_free = lack.is_for_free_accounts();
                let is_it = |place: &&mut Place| place.uid == *uid && place.of == of && place.pool == *pool;
                match self.queue.iter_mut().find(is_it) {
                    Some(place) => place.wants_free = wants_free,
                    None => {
                        self.leave(uid, false);
                        let mut line =
                            self.queue.iter().filter(|place| place.pool == *pool && place.of == of);
                        let turn = (of.is_none() || line.next().is_none()).then(|| self.end_of_round(pool));
                        let (uid, pool) = (uid.clone(), pool.clone());
                        self.released.remove(&uid);
                        self.queue.push(Place { uid, of, pool, wants_free, turn });
                    }
                }
            }
        }
        answer
    }

    fn sit(
        &mut self,
        uid: &str,
        of: Option<Tenant>,
        account: &AccountName,
        pool: &PoolKey,
        to: Option<Holding>,
    ) {
        let mut row = self.row(account, pool);
        row.pool = pool.clone();
        row.leaving = false;
        row.holding = to.unwrap_or(row.holding);
        self.rows.insert(account.clone(), row);
        self.seats.insert(uid.to_owned(), Seat { of, account: account.clone(), pool: pool.clone() });
        self.leave(uid, false);
        self.released.remove(uid);
    }

    /// Takes a request out of its queue; its tenant's next one gets the tenant's place. Returns whether it was in one.
    fn leave(&mut self, uid: &str, served: bool) -> bool {
        let Some(index) = self.queue.iter().position(|place| place.uid == uid) else { return false };
        let gone = self.queue.remove(index);
        let (Some(turn), Some(of)) = (gone.turn, gone.of) else { return true };
        let turn = if served { self.end_of_round(&gone.pool) } else { turn };
        let is_next = |place: &&mut Place| place.pool == gone.pool && place.of.as_ref() == Some(&of);
        if let Some(next) = self.queue.iter_mut().find(is_next) {
            (next.turn, next.wants_free) = (Some(turn), true);
        }
        true
    }

    fn end_of_round(&self, pool: &PoolKey) -> i64 {
        let places = self.queue.iter().filter(|place| place.pool == *pool).filter_map(|place| place.turn);
        places.max().unwrap_or(0) + 1
    }

    /// Those who wait for a free account, and the tenant's own.
    fn competitors(&self, pool: &PoolKey, of: &Tenant) -> Vec<Waiting> {
        let is_place = |place: &&Place| place.pool == *pool && place.turn.is_some() && place.wants_free;
        let competing: BTreeSet<&Tenant> =
            self.queue.iter().filter(is_place).filter_map(|place| place.of.as_ref()).collect();
        let counts = |waiting: &Waiting| waiting.tenant == *of || competing.contains(&waiting.tenant);
        self.waiting(pool).into_iter().filter(counts).collect()
    }

    fn waiting(&self, pool: &PoolKey) -> Vec<Waiting> {
        let in_order = self.queue.iter().enumerate().filter(|(_, place)| place.pool == *pool);
        in_order
            .map(|(ticket, place)| Waiting {
                request: request(&place.uid).uid,
                tenant: place.of.clone().unwrap_or_else(|| tenant("")),
                ticket: ticket.try_into().unwrap(),
                turn: place.turn,
            })
            .collect()
    }

    fn confirm(&mut self, account: &AccountName, of: &Tenant) -> Result<String, &'static str> {
        match self.rows.get_mut(account) {
            Some(row) if row.holding.takes_clusters_of(of) => {
                row.holding = Holding::Claimed(of.clone());
                Ok("ok".to_owned())
            }
            _ => Err("refused"),
        }
    }

    fn lose(&mut self, account: &AccountName, of: &Tenant, found: Holding) -> Result<String, &'static str> {
        let Some(row) = self.rows.get_mut(account) else { return Err("refused") };
        if found.takes_clusters_of(of) {
            return Err("refused");
        }
        if row.holding == found {
            return Ok(String::new());
        }
        if row.holding != Holding::Claiming(of.clone()) {
            return Err("refused");
        }
        row.holding = found;
        row.leaving = false;
        let lost = self.seats.iter().filter(|(_, seat)| seat.account == *account).map(|(uid, _)| uid.clone());
        let lost: Vec<String> = lost.collect();
        self.seats.retain(|_, seat| seat.account != *account);
        self.released.retain(|uid| !lost.contains(uid));
        Ok(lost.join(" "))
    }

    fn release(&mut self, uid: &str, left: Left) -> String {
        let Some(Seat { account, .. }) = self.seats.remove(uid) else {
            if !self.leave(uid, false) {
                return "NotHeld".to_owned();
            }
            self.released.insert(uid.to_owned());
            return "Queued".to_owned();
        };
        self.released.insert(uid.to_owned());
        let clusters = self.clusters(&account);
        let row = self.rows.get_mut(&account).unwrap();
        if let (Holding::Claiming(of) | Holding::Claimed(of), 0, true) = (&row.holding, clusters, left.drain)
        {
            if left.foreign == 0 {
                row.holding = Holding::Draining(of.clone());
                row.leaving = false;
                return format!("Emptied {{ account: {account:?} }}");
            }
            row.leaving = true;
        }
        format!("Kept {{ account: {account:?}, clusters_left: {} }}", clusters + left.foreign)
    }

    fn learn(
        &mut self,
        account: &AccountName,
        pool: PoolKey,
        learned: Learned,
    ) -> Result<String, &'static str> {
        let (before, occupied) = (self.row(account, &pool), self.clusters(account) > 0);
        let mut row = before.clone();
        let needs_empty = match &learned {
            Learned::BecameDirty(_) | Learned::Freed | Learned::BeginDrain | Learned::Retired => true,
            Learned::Repooled => row.pool.shared != pool.shared,
            Learned::Adopted(_) | Learned::Abandoned(_) => row.holding == Holding::Free && !pool.shared,
            Learned::Quarantined(_) | Learned::Lifted => false,
        };
        if needs_empty && occupied {
            return Err("occupied");
        }
        match learned {
            Learned::Adopted(of) | Learned::Abandoned(of) => {
                if pool.shared || !(row.holding == Holding::Free || row.holding.takes_clusters_of(&of)) {
                    return Err("refused");
                }
                if row.holding == Holding::Free {
                    row.holding = Holding::Claimed(of);
                    row.pool = pool;
                }
            }
            Learned::Repooled => {
                if row.pool.shared != pool.shared && row.holding != Holding::Free {
                    return Err("refused");
                }
                row.pool = pool;
            }
            Learned::BecameDirty(of) => (row.holding, row.leaving) = (Holding::Dirty(of), false),
            Learned::Freed => (row.holding, row.leaving) = (Holding::Free, false),
            Learned::BeginDrain => match row.holding {
                Holding::Claiming(of) | Holding::Claimed(of) | Holding::Draining(of) => {
                    (row.holding, row.leaving) = (Holding::Draining(of), false);
                }
                _ => return Err("refused"),
            },
            Learned::Quarantined(why) => row.quarantine = Some(why),
            Learned::Lifted => row.quarantine = None,
            Learned::Retired => {
                self.rows.remove(account);
                return Ok("ok".to_owned());
            }
        }
        if row != before {
            self.rows.insert(account.clone(), row);
        }
        Ok("ok".to_owned())
    }

    fn assign(
        &mut self,
        uid: String,
        of: Option<Tenant>,
        account: AccountName,
        pool: PoolKey,
    ) -> Result<String, &'static str> {
        if let Some(seat) = self.seats.get(&uid) {
            return if seat.account == account && seat.of == of {
                Ok("ok".to_owned())
            } else {
                Err("refused")
            };
        }
        if self.released.contains(&uid) {
            return Ok("ok".to_owned());
        }
        let row = self.row(&account, &pool);
        let (free, empty) = (row.holding == Holding::Free, self.clusters(&account) == 0);
        match of.clone() {
            Some(tenant) if row.holding.takes_clusters_of(&tenant) => {
                let pool_of_row = row.pool;
                self.sit(&uid, of, &account, &pool, None);
                self.rows.get_mut(&account).unwrap().pool = pool_of_row;
            }
            Some(tenant) if free && empty => {
                self.sit(&uid, of, &account, &pool, Some(Holding::Claimed(tenant)));
            }
            None if free && (row.pool.shared || empty) => self.sit(&uid, of, &account, &pool, None),
            _ => return Err("refused"),
        }
        Ok("ok".to_owned())
    }

    /// In the words of [`state`].
    fn state(&self) -> String {
        let mut lines = Vec::new();
        for (name, row) in &self.rows {
            let seats: Vec<String> = self
                .seats
                .iter()
                .filter(|(_, seat)| seat.account == *name)
                .map(|(uid, seat)| format!("{uid} of {:?} from {}", seat.of, seat.pool))
                .collect();
            let Row { pool, holding, leaving, quarantine } = row;
            lines.push(format!("{name} in {pool}: {holding}, leaving {leaving}, {quarantine:?}, {seats:?}"));
        }
        let mut pools: Vec<&PoolKey> = self.queue.iter().map(|place| &place.pool).collect();
        pools.sort();
        pools.dedup();
        for pool in pools {
            let turns = in_turns(self.waiting(pool));
            let uids: Vec<&str> = turns.iter().map(|waiting| waiting.request.as_str()).collect();
            lines.push(format!("queue of {pool}: {uids:?}"));
        }
        lines.join("\n")
    }
}
