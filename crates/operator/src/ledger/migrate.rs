//! The schema, as numbered steps that are never changed once released: forward only, part of the binary, applied when the
//! ledger is opened, by one process at a time.

use super::{
    LedgerError,
    store::{Mode, Session, Store, Value},
};

/// The steps, in order; the first makes version 1.
const STEPS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_waits_for_free.sql"),
    include_str!("migrations/0003_turns.sql"),
    include_str!("migrations/0004_terms.sql"),
];

const DOING: &str = "open the ledger";

/// The one row of this table is the ledger itself: its identity, and the version of its schema.
const LEDGER: &str = "CREATE TABLE ledger (\
     one BIGINT PRIMARY KEY CHECK (one = 1), id {text} NOT NULL, version BIGINT NOT NULL)";

/// Brings the schema up to date. A new ledger gets this identity.
pub(super) async fn migrate(store: &Store, identity: &str) -> Result<(), LedgerError> {
    apply(store, identity, STEPS).await
}

async fn apply(store: &Store, identity: &str, steps: &[&str]) -> Result<(), LedgerError> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    // Most of the time there is nothing to do, and then nothing is locked.
    let mut session = store.begin(Mode::Read, DOING).await?;
    let version = version(&mut session).await;
    session.rollback().await;
    if is_current(version?, known)? {
        return Ok(());
    }

    let mut session = store.begin(Mode::Migrate, DOING).await?;
    match climb(&mut session, identity, steps, known).await {
        Ok(()) => session.commit().await,
        Err(error) => {
            session.rollback().await;
            Err(error)
        }
    }
}

/// Everything between beginning and commit: if a step fails, none has happened.
async fn climb(session: &mut Session, identity: &str, steps: &[&str], known: i64) -> Result<(), LedgerError> {
    // Somebody else may have been here between the two transactions.
    let version = version(session).await?;
    if is_current(version, known)? {
        return Ok(());
    }
    if version.is_none() {
        session.script(&in_words_of(session, LEDGER)).await?;
        let sql = "INSERT INTO ledger (one, id, version) VALUES (1, $1, 0)";
        session.query(sql, &[Value::from(identity)]).await?;
    }
    let done = usize::try_from(version.unwrap_or(0)).unwrap_or(0);
    for (index, step) in steps.iter().enumerate().skip(done) {
        session.script(&in_words_of(session, step)).await?;
        tracing::info!(version = index + 1, "the schema of the ledger has a new version");
    }
    session.query("UPDATE ledger SET version = $1", &[Value::from(known)]).await?;
    Ok(())
}

async fn version(session: &mut Session) -> Result<Option<i64>, LedgerError> {
    if !session.has_table("ledger").await? {
        return Ok(None);
    }
    let rows = session.query("SELECT version FROM ledger", &[]).await?;
    rows.first().map(|row| row.int(0)).transpose()
}

fn is_current(version: Option<i64>, known: i64) -> Result<bool, LedgerError> {
    match version {
        Some(found) if found > known => Err(LedgerError::Newer { found, known }),
        version => Ok(version == Some(known)),
    }
}

fn in_words_of(session: &Session, sql: &str) -> String {
    let words = session.words();
    sql.replace("{text}", words.text).replace("{id}", words.id)
}
