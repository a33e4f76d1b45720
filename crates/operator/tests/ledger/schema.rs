//! Opening: new ledgers, old ones, newer ones, and what cannot be opened.

use crate::bench::{Bench, account, check, now, place, pool, request, tenant, want};
use allotment_core::pool::{Answer, Epoch, Holding};
use allotment_operator::ledger::{About, Ledger, LedgerError};
use tokio_postgres::NoTls;

/// Runs SQL on the database, without us.
pub async fn by_hand(bench: &Bench, sql: &str) {
    if let Some(path) = bench.url.strip_prefix("sqlite://") {
        let sql = sql.replace("{text}", "TEXT").replace("{id}", "INTEGER PRIMARY KEY AUTOINCREMENT");
        rusqlite::Connection::open(path).unwrap().execute_batch(&sql).unwrap();
    } else {
        let text = r#"TEXT COLLATE "C""#;
        let id = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
        let (client, connection) = tokio_postgres::connect(&bench.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&sql.replace("{text}", text).replace("{id}", id)).await.unwrap();
    }
}

pub async fn opening_twice_changes_nothing(bench: Bench) {
    let (first, epoch) = bench.lead().await;
    want("r", "t", &[account("a-1")]).ask(&first, epoch).await.unwrap();
    let before = (first.identity().await.unwrap(), check(&first).await);
    drop(first);
    let again = bench.open().await;
    assert_eq!((again.identity().await.unwrap(), check(&again).await), before);
}

pub async fn opening_at_once_makes_one_ledger(bench: Bench) {
    let open = |url: String| {
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let ledger = Ledger::open(&url, place()).await.unwrap();
                ledger.identity().await.unwrap().uuid
            })
        })
    };
    let opening: Vec<_> = (0..8).map(|_| open(bench.url.clone())).collect();
    let mut uuids: Vec<String> = opening.into_iter().map(|thread| thread.join().unwrap()).collect();
    uuids.dedup();
    assert_eq!(uuids.len(), 1, "{uuids:?}");
}

pub async fn version_1_is_what_it_was(bench: Bench) {
    let dump = include_str!("version-1.sql");
    let step = include_str!("../../src/ledger/migrations/0001_first.sql");
    assert!(dump.contains(step), "a migration that was released must never be changed: write a new one");

    by_hand(&bench, dump).await;
    let ledger = bench.open().await;
    let identity = ledger.identity().await.unwrap();
    assert_eq!(identity.uuid, "0e4c6d1c-5c7f-4a44-8d0a-3f1b6a5e9c11");
    assert_eq!((identity.epoch, identity.is_empty), (Epoch(7), false));
    let accounts = ledger.accounts().await.unwrap();
    let holdings: Vec<&Holding> = accounts.iter().map(|account| &account.holding).collect();
    assert_eq!(holdings, [&Holding::Claimed(tenant("ga-1")), &Holding::Dirty(None), &Holding::Free]);
    assert_eq!(accounts[0].assignments[0].cluster.as_deref(), Some("ns/one"));
    assert_eq!(accounts[1].quarantine.as_deref(), Some("401 from AWS"));
    assert_eq!(accounts[1].since, "2026-11-14T08:00:01.5Z".parse().unwrap());
    assert_eq!(ledger.waiting(&pool("aws")).await.unwrap()[0].1.uid, request("uid-3").uid);
    assert_eq!(ledger.history(About::Everything, 10).await.unwrap().len(), 3);
    let epoch = ledger.lead("allotment-2", "a term", now()).await.unwrap();
    let next = want("uid-4", "ga-1", &[]).ask(&ledger, epoch).await.unwrap();
    assert_eq!(next.answer, Answer::Use(account("aws-1")));
    check(&ledger).await;
}

pub async fn a_newer_schema_is_refused(bench: Bench) {
    drop(bench.open().await);
    by_hand(&bench, "UPDATE ledger SET version = 4711").await;
    let error = Ledger::open(&bench.url, place()).await.unwrap_err();
    assert!(matches!(error, LedgerError::Newer { found: 4711, .. }), "{error}");
    assert!(error.to_string().contains("run that version or a later one"), "{error}");
}

/// A newer operator starts beside a running one and migrates: the older one must not write by its own idea of the schema.
pub async fn a_schema_that_changes_under_a_running_operator_stops_its_writes(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let current = ledger.identity().await.unwrap();
    by_hand(&bench, "UPDATE ledger SET version = 4711").await;
    let error = want("r", "t", &[account("a-1")]).ask(&ledger, epoch).await.unwrap_err();
    assert!(matches!(error, LedgerError::Newer { found: 4711, .. }), "{error}");
    by_hand(&bench, "UPDATE ledger SET version = 1").await;
    let error = ledger.lead("me", "a term", now()).await.unwrap_err();
    assert!(matches!(error, LedgerError::Older { found: 1, .. }), "{error}");
    assert_eq!(ledger.identity().await.unwrap(), current);
}

pub async fn bad_addresses_say_what_to_do_and_no_secret(_: Bench) {
    for (url, category, expected) in [
        ("", "address", "must begin with sqlite:///"),
        ("mysql://u:s3cret@host/db", "address", "must begin with sqlite:///"),
        ("sqlite:", "address", "sqlite:///var/lib/allotment/ledger.db"),
        ("sqlite:ledger.db", "address", "sqlite:///var/lib/allotment/ledger.db"),
        ("sqlite:///no/such/folder/ledger.db", "unavailable", "/no/such/folder/ledger.db"),
        ("postgres://u:s3cret@host:port/db", "address", "write special characters"),
        ("postgres://u:s3cret@host/db?sslmode=maybe", "address", "sslmode must be verify-full"),
        ("postgres://u:s3?cret@host/db", "address", "write special characters"),
        ("postgres://u:x@host/db?s3cret", "address", "write special characters"),
        ("postgres:///db", "address", "names no host"),
        ("postgres://u:s3cret@host/db?options=-csearch_path%3Dx", "address", "ALTER ROLE"),
        ("postgres://u@host/db?passfile=/home/u/.pgpass", "address", "use passwordfile=<file>"),
        (
            "postgres://u@host/db?sslcrl=/x",
            "address",
            "parameter sslcrl is not known; known are application_name",
        ),
        ("postgres://u@host/db?sslmode=require&sslmode=disable", "address", "sslmode is there twice"),
        ("postgres://u@host/db?channel_binding=maybe", "address", "channel_binding must be"),
        ("postgres://u@host/db?target_session_attrs=standby", "address", "target_session_attrs must be"),
        ("postgres://u@host/db?connect_timeout=soon", "address", "a number of seconds"),
        ("postgres://u:s3cret@host/db?sslrootcert=/no/such/ca.pem", "address", "/no/such/ca.pem"),
        ("postgres://u:s3cret@127.0.0.1:1/db", "unavailable", "refused"),
        ("postgresql://u:s3cret@127.0.0.1:1/db?sslmode=verify-full", "unavailable", "refused"),
    ] {
        let error = Ledger::open(url, place()).await.unwrap_err();
        let said = format!("{error} {error:?}");
        assert_eq!(error.category(), category, "{url}: {said}");
        assert!(said.contains(expected), "{url}: {said}");
        assert!(!said.contains("s3cret"), "{url}: {said}");
    }
}
