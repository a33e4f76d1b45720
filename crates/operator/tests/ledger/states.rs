//! States of a PostgreSQL server in which it answers, and does not do what is asked for: each is told apart from a server that
//! is gone, and says what to do.

use crate::bench::{Bench, account, check, now, place, want};
use allotment_operator::ledger::{Ledger, LedgerError, Left};
use allotment_testing::{Postgres, PostgresPair, PostgresSetup, Replication};
use std::{fs, time::Duration};
use tokio::time::sleep;

fn expect(error: &LedgerError, category: &str, words: &[&str]) {
    assert_eq!(error.category(), category, "{error}");
    for words in words {
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    assert!(error.is_retryable(), "{error}");
}

pub async fn a_standby_is_no_dead_server(_: Bench) {
    let pair = PostgresPair::start(Replication::Synchronous).unwrap();
    let url = pair.database().unwrap();
    let ledger = Ledger::open(&url, place()).await.unwrap();
    let epoch = ledger.lead("me", "a term", now()).await.unwrap();
    want("r", "t", &[account("a")]).ask(&ledger, epoch).await.unwrap();
    pair.wait_until_caught_up().unwrap();
    let durability = ledger.durability().await.unwrap().unwrap();
    assert_eq!(durability.synchronous_standby_names, "*");
    assert!(!durability.is_standby);

    let standby = pair.standby().url("test_0");
    let reading = Ledger::open_to_read(&standby, place()).await.unwrap();
    assert_eq!(check(&reading).await.seats.len(), 1);
    let durability = reading.durability().await.unwrap().unwrap();
    assert!(durability.is_standby && durability.warning().unwrap().contains("promote it"), "{durability}");
    let writing = Ledger::open(&standby, place()).await.unwrap();
    let error = writing.lead("me", "a term", now()).await.unwrap_err();
    expect(&error, "read-only", &["is a standby", "promote this server"]);
    let error =
        Ledger::open(&format!("{standby}?target_session_attrs=read-write"), place()).await.unwrap_err();
    expect(&error, "read-only", &["does not allow writes", "host1,host2"]);
    // An empty database of a standby cannot become a ledger.
    let error = Ledger::open(&pair.standby().url("postgres"), place()).await.unwrap_err();
    expect(&error, "read-only", &["is a standby"]);
}

pub async fn read_only_starting_and_gone_are_told_apart(_: Bench) {
    let mut postgres = Postgres::start().unwrap();
    let url = postgres.database().unwrap();
    let ledger = Ledger::open(&url, place()).await.unwrap();

    postgres.sql("ALTER DATABASE test_0 SET default_transaction_read_only = on").unwrap();
    let other = Ledger::open(&url, place()).await.unwrap();
    let error = other.lead("me", "a term", now()).await.unwrap_err();
    expect(&error, "read-only", &["default_transaction_read_only is on", "to off"]);
    other.epoch().await.unwrap();
    postgres.sql("ALTER DATABASE test_0 RESET default_transaction_read_only").unwrap();

    // It recovers for ever: as a standby that nobody may ask.
    postgres.sql("ALTER SYSTEM SET hot_standby = off").unwrap();
    postgres.crash();
    let error = ledger.lead("me", "a term", now()).await.unwrap_err();
    expect(&error, "unavailable", &["error connecting to server"]);
    let signal = postgres.data().join("standby.signal");
    fs::write(&signal, "").unwrap();
    postgres.spawn().unwrap();
    let error = loop {
        let error = ledger.lead("me", "a term", now()).await.unwrap_err();
        if error.category() != "unavailable" {
            break error;
        }
        sleep(Duration::from_millis(50)).await;
    };
    expect(&error, "starting", &["57P03", "wait until the server has started"]);
    // And it is there again, for the same ledger.
    postgres.crash();
    fs::remove_file(&signal).unwrap();
    postgres.restart().unwrap();
    ledger.lead("me", "a term", now()).await.unwrap();
}

pub async fn a_full_disk_is_said(_: Bench) {
    let postgres = Postgres::start().unwrap();
    let ledger = Ledger::open(&postgres.database().unwrap(), place()).await.unwrap();
    let epoch = ledger.lead("me", "a term", now()).await.unwrap();
    // Raised by hand; the server raises the same when it cannot extend a file.
    let full = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN RAISE EXCEPTION USING ERRCODE = ''53100'', MESSAGE = ''could not extend file''; END'";
    run_whole(&postgres, full);
    run_whole(
        &postgres,
        "CREATE TRIGGER full_disk BEFORE INSERT ON history FOR EACH ROW EXECUTE FUNCTION full_disk()",
    );
    let asked = want("r", "t", &[account("a")]);
    let error = asked.ask(&ledger, epoch).await.unwrap_err();
    expect(&error, "disk-full", &["53100", "make room"]);
    assert!(check(&ledger).await.seats.is_empty());
    run_whole(&postgres, "DROP TRIGGER full_disk ON history");
    asked.ask(&ledger, epoch).await.unwrap();
}

/// One statement with semicolons in it.
fn run_whole(postgres: &Postgres, statement: &str) {
    let mut psql = postgres.client("psql");
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "test_0", "-c", statement]);
    assert!(psql.status().unwrap().success(), "{statement}");
}

/// The rights that docs/postgresql.md names are enough, and no more are needed.
pub async fn the_documented_rights_are_enough(_: Bench) {
    let postgres = Postgres::start().unwrap();
    let owner = postgres.database().unwrap();
    Ledger::migrate(&owner).await.unwrap();
    let page = include_str!("../../../../docs/postgresql.md");
    let grants = page.split("```sql").find(|block| block.contains("allotment_reader")).unwrap();
    let grants = grants.split("```").next().unwrap();
    postgres.sql_in("test_0", grants).unwrap();
    let url = |role: &str| owner.replace("postgres://allotment@", &format!("postgres://{role}@"));

    let ledger = Ledger::open(&url("allotment_operator"), place()).await.unwrap();
    let epoch = ledger.lead("me", "a term", now()).await.unwrap();
    want("r", "t", &[account("a")]).ask(&ledger, epoch).await.unwrap();
    ledger
        .release(epoch, &crate::bench::request("r").uid, Left { foreign: 0, drain: true }, "gone", now())
        .await
        .unwrap();
    ledger.clear(epoch, "test", now()).await.unwrap();

    let reader = Ledger::open_to_read(&url("allotment_reader"), place()).await.unwrap();
    check(&reader).await;
    let writer = Ledger::open(&url("allotment_reader"), place()).await.unwrap();
    let error = writer.lead("me", "a term", now()).await.unwrap_err();
    expect(&error, "rights-missing", &["42501", "docs/postgresql.md"]);
    // Without a ledger, somebody who may not make tables says which command would.
    postgres.sql("CREATE DATABASE test_9").unwrap();
    let error =
        Ledger::open(&url("allotment_operator").replace("test_0", "test_9"), place()).await.unwrap_err();
    expect(&error, "rights-missing", &["allotment ledger migrate"]);
}

pub async fn commits_wait_for_the_disk_whatever_the_server_says(_: Bench) {
    let postgres = PostgresSetup::default().setting("synchronous_commit=off").start().unwrap();
    let ledger = Ledger::open(&postgres.database().unwrap(), place()).await.unwrap();
    let durability = ledger.durability().await.unwrap().unwrap();
    assert_eq!(durability.synchronous_commit, "off");
    assert!(durability.warning().is_some());
    assert!(durability.to_string().contains("synchronous standbys none"), "{durability}");
    let seen = "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN INSERT INTO seen VALUES (current_setting(''synchronous_commit'')); RETURN NEW; END'";
    run_whole(&postgres, "CREATE TABLE seen (what text)");
    run_whole(&postgres, seen);
    run_whole(&postgres, "CREATE TRIGGER note BEFORE INSERT ON history FOR EACH ROW EXECUTE FUNCTION note()");
    ledger.lead("me", "a term", now()).await.unwrap();
    postgres.sql("ALTER DATABASE test_0 SET synchronous_commit = remote_apply").unwrap();
    let again = Ledger::open(&postgres.url("test_0"), place()).await.unwrap();
    again.lead("me", "a term", now()).await.unwrap();
    assert_eq!(postgres.sql_in("test_0", "SELECT what FROM seen").unwrap(), "on\nremote_apply");
}
