//! Two processes on one database at the same time.

use crate::{
    bench::{Bench, accounts, check, now, want},
    deeds::{Deed, Scene, Stage, stage, state},
};
use allotment_core::{check::over_limit, pool::Limit};
use allotment_operator::ledger::{Fate, Ledger, LedgerError, Weather};
use std::{collections::BTreeMap, pin::Pin, sync::Arc, time::Duration};
use tokio::{sync::Semaphore, task::JoinSet};
use tokio_postgres::NoTls;

/// Asks until it is answered, as a work queue would.
async fn ask(ledger: Ledger, want: crate::bench::Want, epoch: allotment_core::pool::Epoch) {
    loop {
        match want.ask(&ledger, epoch).await {
            Ok(_) => return,
            Err(error) if error.is_retryable() => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    }
}

pub async fn fifty_first_requests_share_one_account(bench: Bench) {
    let (one, epoch) = bench.lead().await;
    let two = bench.open().await;
    let mut asking = JoinSet::new();
    for number in 0..50 {
        let ledger = if number % 2 == 0 { one.clone() } else { two.clone() };
        // Each process has its own view of what is free.
        let mut free = accounts("a", 20);
        free.rotate_left(number % 7);
        asking.spawn(ask(ledger, want(&format!("r-{number}"), "t", &free).one(), epoch));
    }
    asking.join_all().await;
    let books = check(&one).await;
    assert_eq!((books.accounts.len(), books.seats.len()), (1, 50));
}

pub async fn ten_requests_fill_one_account_and_take_three(bench: Bench) {
    let (one, epoch) = bench.lead().await;
    let two = bench.open().await;
    let free = accounts("a", 20);
    for uid in ["before-1", "before-2"] {
        want(uid, "t", &free).ask(&one, epoch).await.unwrap();
    }
    let mut asking = JoinSet::new();
    for number in 0..10 {
        let ledger = if number % 2 == 0 { one.clone() } else { two.clone() };
        asking.spawn(ask(ledger, want(&format!("r-{number}"), "t", &free), epoch));
    }
    asking.join_all().await;
    let books = check(&one).await;
    assert_eq!(over_limit(&books, Limit(3)), []);
    let mut clusters: BTreeMap<&str, u32> = BTreeMap::new();
    for seat in &books.seats {
        *clusters.entry(seat.account.as_str()).or_default() += 1;
    }
    assert_eq!(clusters, BTreeMap::from([("a-1", 3), ("a-2", 3), ("a-3", 3), ("a-4", 3)]));
}

/// Stops the first call before its commit, says so, and waits to be let go.
struct Gate {
    reached: Semaphore,
    go: Semaphore,
    fate: Fate,
}

struct AtGate(Arc<Gate>);

impl Weather for AtGate {
    fn on(&self, _: &'static str) -> Fate {
        self.0.fate
    }

    fn park(&self, _: &'static str) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        let gate = self.0.clone();
        Some(Box::pin(async move {
            gate.reached.add_permits(1);
            let _ = gate.go.acquire().await;
        }))
    }
}

pub async fn pairs_while_fresh(bench: Bench) {
    pairs(bench, Scene::Fresh).await;
}

pub async fn pairs_while_claiming(bench: Bench) {
    pairs(bench, Scene::Claiming).await;
}

pub async fn pairs_while_claimed(bench: Bench) {
    pairs(bench, Scene::Claimed).await;
}

pub async fn pairs_while_empty(bench: Bench) {
    pairs(bench, Scene::Empty).await;
}

/// What two deeds answered, and what is left.
#[derive(Debug, PartialEq, Eq)]
struct End {
    first: String,
    second: String,
    state: String,
}

/// Every ordered pair: the second begins while the first is about to commit, and while it is about to be rolled back. It ends
/// as if they had come one after the other.
async fn pairs(bench: Bench, scene: Scene) {
    let mine = bench.open().await;
    let theirs = bench.open().await;
    let watch = Watch::new(&bench.url).await;
    // What should come of it is found out without any concurrency, on another database.
    let serial = Ledger::open("sqlite::memory:", stage("serial".to_owned())).await.unwrap();
    let mut number = 0;
    for first in Deed::ALL {
        for second in Deed::ALL {
            number += 1;
            let what = format!("{scene:?}: {first:?} beside {second:?}");
            let in_order = one_after_the_other(&serial, number, scene, first, second).await;
            let reversed = one_after_the_other(&serial, -number, scene, second, first).await;
            let reversed = End { first: reversed.second, second: reversed.first, state: reversed.state };

            let place = stage(format!("commit-{number}"));
            let (mine_here, theirs_here) = (mine.at(place.clone()), theirs.at(place));
            let seen = scene.set(&mine_here).await;
            let fate = Fate::Go;
            let (one, two, waited) =
                side_by_side(&mine_here, &theirs_here, &watch, seen, first, second, fate).await;
            let end = End { first: one.unwrap(), second: two, state: state(&mine_here).await };
            check(&mine_here).await;
            assert!(end == in_order || end == reversed, "{what}: {end:#?}\n{in_order:#?}\n{reversed:#?}");

            if !waited {
                continue;
            }
            let place = stage(format!("rollback-{number}"));
            let (mine_here, theirs_here) = (mine.at(place.clone()), theirs.at(place));
            let seen = scene.set(&mine_here).await;
            let fate = Fate::FailBefore;
            let (one, two, _) =
                side_by_side(&mine_here, &theirs_here, &watch, seen, first, second, fate).await;
            assert!(one.is_err(), "{what}: {one:?}");
            let end = state(&mine_here).await;
            check(&mine_here).await;
            let alone = serial.at(stage(format!("alone-{number}")));
            let seen = scene.set(&alone).await;
            let answer = second.run(&alone, seen).await.unwrap();
            assert_eq!((two, end), (answer, state(&alone).await), "{what}, the first rolled back");
        }
    }
}

async fn one_after_the_other(serial: &Ledger, number: i32, scene: Scene, first: Deed, second: Deed) -> End {
    let ledger = serial.at(stage(format!("serial-{number}")));
    let seen = scene.set(&ledger).await;
    let first = first.run(&ledger, seen).await.unwrap();
    let second = second.run(&ledger, seen).await.unwrap();
    End { first, second, state: state(&ledger).await }
}

async fn side_by_side(
    mine: &Ledger,
    theirs: &Ledger,
    watch: &Watch,
    seen: Stage,
    first: Deed,
    second: Deed,
    fate: Fate,
) -> (Result<String, LedgerError>, String, bool) {
    let gate = Arc::new(Gate { reached: Semaphore::new(0), go: Semaphore::new(0), fate });
    let gated = mine.clone().with_weather(Arc::new(AtGate(gate.clone())));
    let arrived = gate.clone();
    let one = tokio::spawn(async move {
        let end = first.run(&gated, seen).await;
        // What is refused never comes to a commit.
        arrived.reached.add_permits(1);
        end
    });
    drop(gate.reached.acquire().await);
    let theirs = theirs.clone();
    let two = tokio::spawn(async move {
        loop {
            match second.run(&theirs, seen).await {
                Ok(answer) => return answer,
                Err(LedgerError::Contended { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
    // The second has done what it can do beside the first.
    while !two.is_finished() && !watch.somebody_waits().await {}
    let waited = !two.is_finished();
    gate.go.add_permits(1);
    let both = async { (one.await.unwrap(), two.await.unwrap(), waited) };
    let end = tokio::time::timeout(Duration::from_secs(60), both).await;
    end.unwrap_or_else(|_| panic!("{first:?} and {second:?} wait for each other"))
}

/// Looks at who waits for whom.
struct Watch(tokio_postgres::Client);

impl Watch {
    async fn new(url: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        Self(client)
    }

    async fn somebody_waits(&self) -> bool {
        let sql =
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        !self.0.query(sql, &[]).await.unwrap().is_empty()
    }

    async fn cut_all_others(&self) {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()";
        self.0.query(sql, &[]).await.unwrap();
    }
}

pub async fn a_cut_connection_is_made_again(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let watch = Watch::new(&bench.url).await;
    let free = accounts("a", 3);
    // Between two transactions nobody notices.
    watch.cut_all_others().await;
    want("r", "t", &free).ask(&ledger, epoch).await.unwrap();
    // Within one it is an error that says what to do, and nothing has happened.
    let gate = Arc::new(Gate { reached: Semaphore::new(0), go: Semaphore::new(0), fate: Fate::Go });
    let gated = ledger.clone().with_weather(Arc::new(AtGate(gate.clone())));
    let asking = {
        let want = want("s", "t", &free);
        tokio::spawn(async move { want.ask(&gated, epoch).await })
    };
    let _ = gate.reached.acquire().await.unwrap();
    watch.cut_all_others().await;
    gate.go.add_permits(1);
    let error = asking.await.unwrap().unwrap_err();
    assert_eq!(error.category(), "unavailable", "{error}");
    assert_eq!(check(&ledger).await.seats.len(), 1);
    want("s", "t", &free).ask(&ledger, epoch).await.unwrap();
    ledger.lead("next", "a term", now()).await.unwrap();
}
