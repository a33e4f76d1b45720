//! The schema, as numbered steps that are never changed once released: forward only, part of the binary, applied when a ledger
//! is opened to be written, by one process at a time. Whoever only reads compares the version.

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
    include_str!("migrations/0005_months.sql"),
    include_str!("migrations/0006_cleanings.sql"),
    include_str!("migrations/0007_knowledge.sql"),
];

const DOING: &str = "open the ledger";

/// The one row of this table is the ledger itself: its identity, and the version of its schema.
const LEDGER: &str = "CREATE TABLE ledger (\
     one BIGINT PRIMARY KEY CHECK (one = 1), id {text} NOT NULL, version BIGINT NOT NULL)";

/// A schema before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Its version before; none where there was no ledger.
    pub from: Option<i64>,
    /// Its version now.
    pub to: i64,
}

/// Brings the schema up to date. A new ledger gets this identity.
pub(super) async fn migrate(store: &Store, identity: &str) -> Result<Migrated, LedgerError> {
    let to = known();
    // Most of the time there is nothing to do, and then nothing is locked.
    let from = found(store).await?;
    if is_current(from, to)? {
        return Ok(Migrated { from, to });
    }

    let mut session = store.begin(Mode::Migrate, DOING).await?;
    match climb(&mut session, identity, STEPS, to).await {
        Ok(from) => session.commit().await.map(|()| Migrated { from, to }),
        Err(error) => {
            session.rollback().await;
            Err(error)
        }
    }
}

/// Refuses a ledger that is not there, or that this binary cannot read.
pub(super) async fn require_current(store: &Store) -> Result<(), LedgerError> {
    match found(store).await? {
        None => Err(LedgerError::Missing { place: store.place() }),
        version => require(version),
    }
}

/// Refuses another version of the schema than this binary's. It may have changed while the ledger is open: a newer Allotment has
/// started beside this one, or the database was put back.
pub(super) fn require(version: Option<i64>) -> Result<(), LedgerError> {
    let known = known();
    if is_current(version, known)? {
        return Ok(());
    }
    Err(LedgerError::Older { found: version.unwrap_or(0), known })
}

/// The version that this binary writes.
fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

async fn found(store: &Store) -> Result<Option<i64>, LedgerError> {
    let mut session = store.begin(Mode::Read, DOING).await?;
    let version = version(&mut session).await;
    session.rollback().await;
    version
}

/// Everything between beginning and commit: if a step fails, none has happened. Returns the version before.
async fn climb(
    session: &mut Session,
    identity: &str,
    steps: &[&str],
    known: i64,
) -> Result<Option<i64>, LedgerError> {
    // Somebody else may have been here between the two transactions.
    let version = version(session).await?;
    if is_current(version, known)? {
        return Ok(version);
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
    Ok(version)
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
