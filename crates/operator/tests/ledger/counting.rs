//! How many clusters are in an account.

use crate::bench::{
    Bench, account, accounts, check, claim, foreign, now, pool, request, reuse, tenant, want,
};
use allotment_core::pool::{Answer, Lack};
use allotment_operator::ledger::{Learned, Observed};
use std::collections::BTreeMap;

pub async fn foreign_clusters_count(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let free = accounts("a", 3);
    let mut crowded = want("r", "t", &free);
    crowded.observed = foreign("a-1", 2);
    for (uid, expected) in [("r", claim("a-1")), ("s", claim("a-2")), ("u", reuse("a-2"))] {
        crowded.request = request(uid);
        assert_eq!(crowded.ask(&ledger, epoch).await.unwrap().answer, expected);
    }
}

pub async fn a_shoot_and_its_assignment_count_once(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let free = accounts("a", 3);
    assert_eq!(want("r", "t", &free).limit(2).ask(&ledger, epoch).await.unwrap().answer, claim("a-1"));
    let with = |unseated: &[&str]| {
        let unseated = unseated.iter().map(|uid| request(uid).uid).collect();
        BTreeMap::from([(account("a-1"), Observed { unseated, ..Observed::default() })])
    };
    let mut next = want("s", "t", &free).limit(2);
    next.observed = with(&["r"]);
    assert_eq!(next.ask(&ledger, epoch).await.unwrap().answer, reuse("a-1"), "r is in it and counts once");
    let mut other = want("u", "t", &free).limit(3);
    other.observed = with(&["r", "s", "nobody"]);
    assert_eq!(
        other.ask(&ledger, epoch).await.unwrap().answer,
        claim("a-2"),
        "two and a Shoot without a seat"
    );
}

/// A limit of 200: the fullest account below it takes the next cluster, and a new one is claimed when all are full.
pub async fn the_fullest_account_below_the_limit_is_used_however_it_was_filled(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    for name in ["a-1", "a-2"] {
        let learned = Learned::Adopted(tenant("t"));
        ledger.learn(epoch, &account(name), &pool("aws"), None, &learned, "", now()).await.unwrap();
    }
    let free = vec![account("b-1")];
    // What of the number is foreign, and what is of requests that have no seat, makes no difference.
    let filled = |one: u32, other: u32| {
        let of = |name: &str, count: u32| {
            let unseated = (0..count / 2).map(|number| request(&format!("{name}-{number}")).uid).collect();
            (account(name), Observed { foreign: count - count / 2, unseated, ..Observed::default() })
        };
        BTreeMap::from([of("a-1", one), of("a-2", other)])
    };
    for (uid, one, other, expected) in [
        ("1", 150, 0, reuse("a-1")),
        ("2", 200, 150, reuse("a-2")),
        ("3", 198, 150, reuse("a-1")),
        ("4", 250, 200, claim("b-1")),
    ] {
        let mut ask = want(uid, "t", &free).limit(200);
        ask.observed = filled(one, other);
        assert_eq!(ask.ask(&ledger, epoch).await.unwrap().answer, expected, "{one} and {other}");
    }
    check(&ledger).await;
}

pub async fn entries_with_the_same_credentials_count_together(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let twins = |pairs: &[(&str, &str)]| -> BTreeMap<_, _> {
        let of = |name: &str| Observed { twins: vec![account(name)], ..Observed::default() };
        pairs.iter().map(|(name, twin)| (account(name), of(twin))).collect()
    };
    // The tenant has both from before.
    for name in ["a-1", "a-2"] {
        let learned = Learned::Adopted(tenant("t"));
        ledger.learn(epoch, &account(name), &pool("aws"), None, &learned, "", now()).await.unwrap();
    }
    let both = twins(&[("a-1", "a-2"), ("a-2", "a-1")]);
    let free = vec![account("b-1")];
    let mut ask = want("r", "t", &free).limit(2).cap(2);
    ask.observed = both;
    for (uid, expected) in [("r", reuse("a-1")), ("s", reuse("a-1")), ("u", claim("b-1"))] {
        ask.request = request(uid);
        assert_eq!(
            ask.ask(&ledger, epoch).await.unwrap().answer,
            expected,
            "{uid}: they are one account of two"
        );
    }
    let mut contested = want("v", "t", &[]).one();
    contested.observed = ask.observed.clone();
    contested.observed.values_mut().for_each(|it| it.contested = true);
    contested.observed.insert(account("b-1"), Observed { contested: true, ..Observed::default() });
    let lack = Lack::Contested { tenant: tenant("t"), account: account("a-1") };
    assert_eq!(contested.ask(&ledger, epoch).await.unwrap().answer, Answer::Wait(1, lack));
    let mut gone = want("v", "t", &[]).one();
    gone.gone = vec![account("a-1"), account("a-2"), account("b-1")];
    let lack = Lack::EntryGone { tenant: tenant("t"), account: account("a-1") };
    assert_eq!(gone.ask(&ledger, epoch).await.unwrap().answer, Answer::Wait(1, lack));
    // Free by its labels and its own row, but its twin is not.
    let mut taken = want("w", "x", &[account("a-3")]);
    taken.observed = twins(&[("a-3", "a-1")]);
    let answer = taken.ask(&ledger, epoch).await.unwrap().answer;
    assert!(matches!(answer, Answer::Wait(_, Lack::PoolExhausted { .. })), "{answer:?}");
    check(&ledger).await;
}
