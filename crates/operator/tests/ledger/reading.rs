//! Reading changes nothing, migrating is an act of its own, and a ledger in use can be copied.

use crate::{
    bench::{Bench, account, check, now, place, want},
    schema::by_hand,
};
use allotment_core::pool::Epoch;
use allotment_operator::ledger::{About, Ledger, LedgerError};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};
use tokio_postgres::NoTls;

/// Everything that must stay the same: the bytes of the file, or the tables, their columns and how often each was written.
async fn everything(bench: &Bench) -> String {
    let Some(path) = bench.url.strip_prefix("sqlite://") else {
        const SQL: &str = "SELECT coalesce(string_agg(c.table_name || '.' || c.column_name || ' ' || c.data_type, ', ' \
             ORDER BY c.table_name, c.column_name), '') FROM information_schema.columns c \
             WHERE c.table_schema = 'public'";
        let (client, connection) = tokio_postgres::connect(&bench.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let mut all: String = client.query_one(SQL, &[]).await.unwrap().get(0);
        if all.contains("ledger.version") {
            let row = client.query_one("SELECT version, xmin::text FROM ledger", &[]).await.unwrap();
            all.push_str(&format!("; version {} of {}", row.get::<_, i64>(0), row.get::<_, &str>(1)));
        }
        return all;
    };
    match fs::read(path) {
        Ok(bytes) => format!("{bytes:?}"),
        Err(error) => error.to_string(),
    }
}

async fn refused(bench: &Bench, expected: &str) -> LedgerError {
    let before = everything(bench).await;
    let error = Ledger::open_to_read(&bench.url, place()).await.unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(everything(bench).await, before);
    error
}

pub async fn reading_makes_no_ledger(bench: Bench) {
    let error = refused(&bench, "run `allotment ledger migrate`").await;
    assert!(matches!(error, LedgerError::Missing { .. }), "{error}");
    if bench.url.starts_with("sqlite:") {
        // Nor does it take any file for a ledger.
        fs::write(bench.url.trim_start_matches("sqlite://"), "").unwrap();
        assert!(matches!(refused(&bench, "there is no ledger").await, LedgerError::Missing { .. }));
    }
}

pub async fn reading_does_not_migrate(bench: Bench) {
    by_hand(&bench, include_str!("version-1.sql")).await;
    let error = refused(&bench, "run `allotment ledger migrate`, or (re)start the operators").await;
    let LedgerError::Older { found: 1, known } = error else { panic!("{error}") };

    let migrated = Ledger::migrate(&bench.url).await.unwrap();
    assert_eq!((migrated.from, migrated.to), (Some(1), known));
    let before = everything(&bench).await;
    let again = Ledger::migrate(&bench.url).await.unwrap();
    assert_eq!((again.from, again.to), (Some(known), known));
    let ledger = Ledger::open_to_read(&bench.url, place()).await.unwrap();
    ledger.identity().await.unwrap();
    ledger.queued().await.unwrap();
    assert_eq!(ledger.history(About::Everything, 10).await.unwrap().len(), 3);
    check(&ledger).await;
    let error = ledger.lead("me", "a term", now()).await.unwrap_err();
    assert_eq!(error.category(), "opened-to-read", "{error}");
    drop(ledger);
    assert_eq!(everything(&bench).await, before);

    by_hand(&bench, "UPDATE ledger SET version = 4711").await;
    let error = refused(&bench, "run that version or a later one").await;
    assert!(matches!(error, LedgerError::Newer { found: 4711, .. }), "{error}");
    let error = Ledger::migrate(&bench.url).await.unwrap_err();
    assert!(matches!(error, LedgerError::Newer { .. }), "{error}");
}

/// The operator writes, and somebody reads beside it, without waiting and without being in the way.
pub async fn reading_beside_a_writer(bench: Bench) {
    let (writer, epoch) = bench.lead().await;
    let reader = Ledger::open_to_read(&bench.url, place()).await.unwrap();
    for number in 0..5 {
        let (uid, name) = (format!("r-{number}"), format!("a-{number}"));
        want(&uid, &uid, &[account(&name)]).ask(&writer, epoch).await.unwrap();
        assert_eq!(check(&reader).await.seats.len(), number + 1);
    }
}

/// Writes until it is told to stop, and counts what was acknowledged.
fn keep_writing(
    url: String,
    epoch: Epoch,
    stop: Arc<AtomicBool>,
    count: Arc<AtomicU32>,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let ledger = Ledger::open(&url, place()).await.unwrap();
            while !stop.load(Ordering::Relaxed) {
                let number = count.load(Ordering::Relaxed);
                let (uid, name) = (format!("r-{number}"), format!("a-{number}"));
                match want(&uid, &uid, &[account(&name)]).ask(&ledger, epoch).await {
                    Ok(_) => count.fetch_add(1, Ordering::Relaxed),
                    Err(error) if error.is_retryable() => 0,
                    Err(error) => panic!("{error}"),
                };
            }
        });
    })
}

pub async fn a_ledger_in_use_is_copied(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let writing = keep_writing(bench.url.clone(), epoch, stop.clone(), count.clone());
    let wait_for = async |at_least: u32| {
        while count.load(Ordering::Relaxed) < at_least {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    wait_for(20).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy.db");
    let before = count.load(Ordering::Relaxed);
    Ledger::backup(&bench.url, &file).await.unwrap();
    wait_for(before + 20).await;
    stop.store(true, Ordering::Relaxed);
    writing.join().unwrap();

    // One file, and what was acknowledged before is in it.
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["copy.db"]);
    let copied = fs::read(&file).unwrap();
    let url = format!("sqlite://{}", file.display());
    let copy = Ledger::open_to_read(&url, place()).await.unwrap();
    let seats = check(&copy).await.seats.len();
    let all = check(&ledger).await.seats.len();
    assert!((usize::try_from(before).unwrap()..all).contains(&seats), "{before} {seats} {all}");
    assert_eq!(copy.identity().await.unwrap().uuid, ledger.identity().await.unwrap().uuid);
    drop(copy);

    // It is never overwritten, and a copy that fails leaves nothing.
    let error = Ledger::backup(&bench.url, &file).await.unwrap_err();
    assert!(error.to_string().contains("is there already"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), copied);
    let error = Ledger::backup("sqlite::memory:", &folder.path().join("none.db")).await.unwrap_err();
    assert!(error.to_string().contains("no ledger"), "{error}");
    assert!(!folder.path().join("none.db").exists());

    // Put back, it is a ledger that goes on from there.
    let back = Ledger::open(&url, place()).await.unwrap();
    back.lead("me", "a term", now()).await.unwrap();
}

pub async fn postgres_is_copied_by_its_own_tools(bench: Bench) {
    let file = std::env::temp_dir().join("allotment-no-such-copy.db");
    let error = Ledger::backup(&bench.url, &file).await.unwrap_err();
    assert!(error.to_string().contains("pg_dump"), "{error}");
    assert!(!file.exists());
}

/// Somebody removes the file, or puts a backup in its place, under a running operator.
pub async fn a_file_that_is_gone_is_noticed(bench: Bench) {
    use std::os::unix::fs::PermissionsExt as _;
    let (ledger, epoch) = bench.lead().await;
    let path = bench.url.strip_prefix("sqlite://").unwrap().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "only its owner reads it");
    let backup = format!("{path}.backup");
    Ledger::backup(&bench.url, backup.as_ref()).await.unwrap();
    let free = [account("a-1")];
    let refused = async || {
        let error = want("r", "t", &free).ask(&ledger, epoch).await.unwrap_err();
        assert!(error.to_string().contains("was removed or replaced while it was open"), "{error}");
        assert!(ledger.check_past().await.is_err());
        assert!(ledger.writes().error.is_some());
    };
    let kept = format!("{path}.kept");
    fs::rename(&path, &kept).unwrap();
    refused().await;
    fs::rename(&backup, &path).unwrap();
    refused().await;
    fs::rename(&kept, &path).unwrap();
    want("r", "t", &free).ask(&ledger, epoch).await.unwrap();
}
