//! Account ids, past Shoots, records and proofs of the cleaning of accounts.

use crate::bench::{Bench, account, accounts, now, pool, tenant, want};
use allotment_core::{
    cleanup::{Baseline, Cloud, CloudAccountId, ListingTimes, Place, Proof, Record, Stage, TechnicalId},
    pool::Served,
};
use allotment_operator::ledger::{CloudAccount, Learned, Ledger, LedgerError, PastShoot};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

fn later(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

fn recorded(id: &'static str) -> CloudAccount {
    CloudAccount {
        id: CloudAccountId::of(id),
        recorded_at: now(),
        recorded_by: "test".to_owned(),
        baseline: None,
        shoots_since: Some(now()),
    }
}

fn shoot(name: &str) -> PastShoot {
    let existing = BTreeSet::from([format!("vpc-{name}")]);
    PastShoot { technical_id: TechnicalId::new(format!("shoot--p--{name}")), existing }
}

fn proof() -> Proof {
    let times = ListingTimes { started_at: later(10), finished_at: later(20) };
    Proof {
        version: 1,
        cloud: Cloud::Aws,
        account: CloudAccountId::of("1"),
        first: times,
        second: times,
        settle_seconds: 1,
        places: BTreeMap::new(),
        kinds: Vec::new(),
        absent: Vec::new(),
        assumed_absent: Vec::new(),
        kept: Vec::new(),
        baseline: None,
        witnessed_at: later(20),
        witness: Vec::new(),
    }
}

pub async fn a_cloud_account_is_read_as_it_was_recorded(bench: Bench) {
    let (ledger, _) = bench.lead().await;
    assert_eq!(ledger.cloud_account(&account("a")).await.unwrap(), None);
    ledger.record_cloud_account(&account("a"), &recorded("1")).await.unwrap();
    ledger.record_cloud_account(&account("b"), &recorded("1")).await.unwrap();
    let baseline = Baseline {
        account: CloudAccountId::of("2"),
        taken_at: now(),
        places: BTreeSet::from([Place::of("eu-1")]),
        items: Vec::new(),
        counts: Vec::new(),
        seen: Vec::new(),
    };
    let changed = CloudAccount { baseline: Some(baseline), shoots_since: None, ..recorded("2") };
    ledger.record_cloud_account(&account("b"), &changed).await.unwrap();
    assert_eq!(ledger.cloud_account(&account("b")).await.unwrap(), Some(changed));
    assert_eq!(ledger.entries_of(&CloudAccountId::of("1")).await.unwrap(), [account("a")]);
}

/// The operator lists for minutes, and a person may record something meanwhile.
pub async fn an_operator_overwrites_nothing_that_is_recorded(bench: Bench) {
    let (ledger, _) = bench.lead().await;
    let name = account("a");
    let baseline = |id| Baseline {
        account: CloudAccountId::of(id),
        taken_at: now(),
        places: BTreeSet::new(),
        items: Vec::new(),
        counts: Vec::new(),
        seen: Vec::new(),
    };
    ledger.record_cloud_account_once(&name, &recorded("1")).await.unwrap();
    ledger.record_cloud_account_once(&name, &recorded("2")).await.unwrap();
    assert_eq!(ledger.cloud_account(&name).await.unwrap(), Some(recorded("1")));
    ledger.add_baseline(&name, &baseline("2"), now()).await.unwrap();
    assert_eq!(ledger.cloud_account(&name).await.unwrap(), Some(recorded("1")), "it is of another account");
    ledger.add_baseline(&name, &baseline("1"), now()).await.unwrap();
    let later = Baseline { taken_at: later(60), ..baseline("1") };
    ledger.add_baseline(&name, &later, now()).await.unwrap();
    let found = ledger.cloud_account(&name).await.unwrap().unwrap();
    assert_eq!(found.baseline, Some(baseline("1")), "the first one counts");
}

pub async fn a_record_is_written_once_by_each_version(bench: Bench) {
    let (ledger, _) = bench.lead().await;
    let name = account("a");
    let record = Record::new(now());
    let write = async |expected, record: &Record| ledger.write_cleaning(&name, expected, record, now()).await;
    let is_changed = |result: Result<i64, LedgerError>| matches!(result, Err(LedgerError::Changed { .. }));
    assert!(is_changed(write(Some(1), &record).await), "there is none");
    let first = write(None, &record).await.unwrap();
    assert!(is_changed(write(None, &record).await), "somebody else began");
    let deleting = Record { stage: Stage::Deleting, ..record.clone() };
    let second = write(Some(first), &deleting).await.unwrap();
    assert!(is_changed(write(Some(first), &record).await), "somebody else went on");
    let found = ledger.cleaning(&name).await.unwrap().unwrap();
    assert_eq!((found.version, found.record), (second, deleting));
    assert_eq!(ledger.cleanings().await.unwrap().len(), 1);
    assert!(matches!(ledger.end_cleaning(&name, first, None, now()).await, Err(LedgerError::Changed { .. })));
    ledger.end_cleaning(&name, second, None, now()).await.unwrap();
    assert_eq!(ledger.cleaning(&name).await.unwrap(), None);
}

pub async fn a_proof_ends_the_history_of_earlier_shoots(bench: Bench) {
    let (ledger, _) = bench.lead().await;
    let name = account("a");
    ledger.record_cloud_account(&name, &recorded("1")).await.unwrap();
    for (seen, at) in [("old", later(0)), ("again", later(0)), ("again", later(30)), ("new", later(30))] {
        ledger.remember_shoot(&name, &shoot(seen), at).await.unwrap();
    }
    let version = ledger.write_cleaning(&name, None, &Record::new(now()), now()).await.unwrap();
    let free = Record { stage: Stage::Free, ..Record::new(now()) };
    let version = ledger.write_proof(&name, Some(version), &free, &proof(), later(25)).await.unwrap();
    let stored = ledger.proof(&name).await.unwrap().unwrap();
    assert_eq!((stored.proof, stored.digest), (proof(), proof().digest()));
    ledger.end_cleaning(&name, version, Some(later(10)), later(40)).await.unwrap();
    assert_eq!(ledger.past_shoots(&name).await.unwrap(), [shoot("again"), shoot("new")]);
    let since = ledger.cloud_account(&name).await.unwrap().unwrap().shoots_since;
    assert_eq!(since, Some(later(10)));
}

pub async fn a_rebuild_keeps_what_cleaning_needs(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    ledger.record_cloud_account(&account("a"), &recorded("1")).await.unwrap();
    ledger.remember_shoot(&account("a"), &shoot("c"), now()).await.unwrap();
    ledger.clear(epoch, "ledger rebuild", now()).await.unwrap();
    assert_eq!(ledger.cloud_account(&account("a")).await.unwrap(), Some(recorded("1")));
    assert_eq!(ledger.past_shoots(&account("a")).await.unwrap(), [shoot("c")]);
}

pub async fn the_ledger_remembers_whom_it_serves(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    assert_eq!(ledger.identity().await.unwrap().served, Served::default());
    let served =
        Served { control_plane: Some("uid".to_owned()), installation: Some("allotment-system".to_owned()) };
    ledger.serve(epoch, &served, now()).await.unwrap();
    assert_eq!(ledger.identity().await.unwrap().served, served);
    ledger.lead("two", "another term", now()).await.unwrap();
    assert_eq!(ledger.identity().await.unwrap().served, served, "the next term remembers it, too");
    let stale = ledger.serve(epoch, &Served::default(), now()).await;
    assert!(matches!(stale, Err(LedgerError::Stale { .. })), "{stale:?}");
}

/// Only the history tells a claim whose request is gone from a label that somebody wrote ahead of need.
pub async fn an_abandoned_claim_drains_after_a_rebuild(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    want("r", "t", &accounts("a", 1)).ask(&ledger, epoch).await.unwrap();
    ledger.clear(epoch, "ledger rebuild", now()).await.unwrap();
    let adopt = async |ledger: &Ledger, name: &str, learned: Learned| {
        ledger.learn(epoch, &account(name), &pool("aws"), None, &learned, "labelled", now()).await.unwrap();
        ledger.account(&account(name)).await.unwrap().unwrap().leaving
    };
    assert!(adopt(&ledger, "a-1", Learned::Abandoned(tenant("t"))).await);
    assert!(!adopt(&ledger, "b-1", Learned::Abandoned(tenant("t"))).await, "it was never claimed");
    ledger.clear(epoch, "ledger rebuild", now()).await.unwrap();
    assert!(!adopt(&ledger, "a-1", Learned::Adopted(tenant("t"))).await, "a request names it");
}
