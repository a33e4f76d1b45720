//! A primary dies under load, and its standby takes over.

use crate::bench::{Bench, account, check, now, place, want};
use allotment_core::pool::Epoch;
use allotment_operator::ledger::{About, Ledger, LedgerError};
use allotment_testing::{PostgresPair, Replication};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{task::JoinSet, time::sleep};

/// Requests that were told that they have an account.
type Acknowledged = Arc<Mutex<BTreeSet<String>>>;

fn count(acknowledged: &Acknowledged) -> usize {
    acknowledged.lock().unwrap().len()
}

/// Reserves an account for each of these requests, trying again for as long as the error says that this is of use. Returns the
/// categories of the errors.
async fn reserve_all(
    ledger: Ledger,
    epoch: Epoch,
    uids: Vec<String>,
    done: Acknowledged,
) -> BTreeSet<&'static str> {
    let mut met = BTreeSet::new();
    for uid in uids {
        let want = want(&uid, &format!("t-{uid}"), &[account(&format!("a-{uid}"))]);
        loop {
            match want.ask(&ledger, epoch).await {
                Ok(_) => break,
                Err(error) => {
                    assert!(error.is_retryable(), "{error}");
                    met.insert(error.category());
                    sleep(Duration::from_millis(20)).await;
                }
            }
        }
        done.lock().unwrap().insert(uid);
    }
    met
}

async fn assigned(ledger: &Ledger) -> BTreeSet<String> {
    check(ledger).await.seats.into_iter().map(|seat| seat.request.as_str().to_owned()).collect()
}

/// What blocks must not stop the load.
async fn fail_over(mut pair: PostgresPair) -> PostgresPair {
    tokio::task::spawn_blocking(move || {
        pair.fail_over().unwrap();
        pair
    })
    .await
    .unwrap()
}

pub async fn nothing_acknowledged_is_lost_by_a_synchronous_pair(_: Bench) {
    let pair = PostgresPair::start(Replication::Synchronous).unwrap();
    let ledger = Ledger::open(&pair.database().unwrap(), place()).await.unwrap();
    let epoch = ledger.lead("me", "a term", now()).await.unwrap();
    let acknowledged = Acknowledged::default();
    let mut load = JoinSet::new();
    for worker in 0..4 {
        let uids = (0..100).map(|number| format!("{worker}-{number}")).collect();
        load.spawn(reserve_all(ledger.clone(), epoch, uids, acknowledged.clone()));
    }
    while count(&acknowledged) < 60 {
        sleep(Duration::from_millis(5)).await;
    }
    let pair = fail_over(pair).await;
    // The new leader waits for no standby: it has none yet.
    assert_eq!(pair.leader().sql("SHOW synchronous_standby_names").unwrap(), "");
    let met: BTreeSet<&str> = load.join_all().await.into_iter().flatten().collect();
    assert!(!met.is_empty(), "the primary died when nothing was going on");
    assert_eq!(assigned(&ledger).await, *acknowledged.lock().unwrap());
    assert_eq!(ledger.epoch().await.unwrap(), epoch);
}

pub async fn commits_that_an_asynchronous_pair_loses_are_noticed(_: Bench) {
    let pair = PostgresPair::start(Replication::Asynchronous).unwrap();
    let url = pair.database().unwrap();
    let ledger = Ledger::open(&url, place()).await.unwrap();
    let epoch = ledger.lead("me", "a term", now()).await.unwrap();
    let (kept, lost) = (Acknowledged::default(), Acknowledged::default());
    let uids = |prefix: &str| (0..20).map(|number| format!("{prefix}-{number}")).collect();
    reserve_all(ledger.clone(), epoch, uids("kept"), kept.clone()).await;
    pair.wait_until_caught_up().unwrap();
    pair.cut().unwrap();
    reserve_all(ledger.clone(), epoch, uids("lost"), lost.clone()).await;
    let before = ledger.history(About::Everything, 1000).await.unwrap();

    let mut load = JoinSet::new();
    let after = Acknowledged::default();
    load.spawn(reserve_all(ledger.clone(), epoch, vec!["during".to_owned()], lost.clone()));
    load.join_all().await;
    let _pair = fail_over(pair).await;
    // The same ledger comes back by itself, does not know of what it acknowledged, and is not written to by whoever does.
    let refused = loop {
        match want("refused", "t", &[account("a")]).ask(&ledger, epoch).await {
            Err(error) if error.is_retryable() => sleep(Duration::from_millis(20)).await,
            other => break other,
        }
    };
    assert!(matches!(refused, Err(LedgerError::WentBack { .. })), "{refused:?}");
    // A process that has seen nothing cannot know.
    let ledger = Ledger::open(&url, place()).await.unwrap();
    reserve_all(ledger.clone(), epoch, uids("after"), after.clone()).await;
    let assigned = assigned(&ledger).await;
    let missing: BTreeSet<String> = lost.lock().unwrap().difference(&assigned).cloned().collect();
    assert_eq!(missing, *lost.lock().unwrap());
    assert!(kept.lock().unwrap().is_subset(&assigned) && after.lock().unwrap().is_subset(&assigned));
    // Nothing in the database shows it: the epoch is the same, and numbers of entries are given out again or skipped.
    assert_eq!(ledger.epoch().await.unwrap(), epoch);
    let now = ledger.history(About::Everything, 1000).await.unwrap();
    let gone: Vec<_> = before.iter().filter(|entry| !now.contains(entry)).collect();
    assert!(gone.len() >= 20, "{gone:#?}");
    assert!(
        gone.iter().all(|entry| entry.request.as_ref().is_none_or(|name| name.contains("lost"))),
        "{gone:#?}"
    );
}
