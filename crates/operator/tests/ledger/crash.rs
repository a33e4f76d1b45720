//! A process ends before or after a commit, and the next one does the same again.

use crate::{
    bench::{Bench, accounts, check, now, request, want},
    deeds::{Deed, Scene, stage, state},
};
use allotment_core::pool::Answer;
use allotment_operator::ledger::{Fate, Weather};
use std::{
    future::pending,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// The first commit meets this fate, all others go well.
struct Once(Fate, AtomicBool);

impl Weather for Once {
    fn on(&self, _: &'static str) -> Fate {
        if self.1.swap(true, Ordering::Relaxed) { Fate::Go } else { self.0 }
    }
}

fn once(fate: Fate) -> Arc<Once> {
    Arc::new(Once(fate, AtomicBool::new(false)))
}

pub async fn repeating_ends_where_it_would_have_ended(bench: Bench) {
    let ledger = bench.open().await;
    for (number, (scene, deed)) in
        Scene::ALL.iter().flat_map(|scene| Deed::ALL.map(|deed| (*scene, deed))).enumerate()
    {
        let good = ledger.at(stage(format!("good-{number}")));
        let seen = scene.set(&good).await;
        deed.run(&good, seen).await.unwrap();
        let expected = state(&good).await;
        for fate in [Fate::FailBefore, Fate::FailAfter] {
            let bad = ledger.at(stage(format!("{fate:?}-{number}")));
            let seen = scene.set(&bad).await;
            let weather = once(fate);
            let first = deed.run(&bad.clone().with_weather(weather.clone()), seen).await;
            // What is refused commits nothing, and does not meet the weather.
            let met = weather.1.load(Ordering::Relaxed);
            assert_eq!(first.is_err(), met, "{scene:?} {deed:?} {fate:?}: {first:?}");
            deed.run(&bad, seen).await.unwrap();
            assert_eq!(state(&bad).await, expected, "{scene:?} {deed:?} {fate:?}");
            check(&bad).await;
        }
    }
}

pub async fn a_hanging_call_holds_nothing(bench: Bench) {
    for (fate, expected) in [(Fate::HangBefore, "claim"), (Fate::HangAfter, "keep")] {
        let (ledger, epoch) = bench.lead().await;
        let hanging = ledger.clone().with_weather(once(fate));
        let free = accounts("a", 1);
        let want = want("r", "t", &free);
        let hung = tokio::time::timeout(Duration::from_millis(10), want.ask(&hanging, epoch)).await;
        assert!(hung.is_err(), "{hung:?}");
        let next = want.ask(&ledger, epoch).await.unwrap().answer;
        match expected {
            "claim" => assert!(matches!(next, Answer::Claim(_)), "{next:?}"),
            _ => assert!(matches!(next, Answer::Keep(_)), "{next:?}"),
        }
    }
}

/// Every call stops before its commit, for good.
struct Parked;

impl Weather for Parked {
    fn on(&self, _: &'static str) -> Fate {
        Fate::Go
    }

    fn park(&self, _: &'static str) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        Some(Box::pin(pending()))
    }
}

pub async fn a_dropped_call_is_rolled_back(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let free = accounts("a", 1);
    let parked = ledger.clone().with_weather(Arc::new(Parked));
    let patience = Duration::from_millis(500);
    let dropped = tokio::time::timeout(patience, want("r", "t", &free).ask(&parked, epoch)).await;
    assert!(dropped.is_err(), "{dropped:?}");
    assert_eq!(ledger.assignment(&request("r").uid).await.unwrap(), None);
    // Its locks are gone too.
    ledger.lead("next", "a term", now()).await.unwrap();
    assert_eq!(state(&ledger).await, "");
}
