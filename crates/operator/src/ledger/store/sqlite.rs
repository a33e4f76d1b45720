//! SQLite: one connection, used by one transaction at a time. Calls block for as long as the disk takes, and there is no
//! thread behind it: with time paused, a run is the same every time.

mod backup;

use super::{
    super::{DatabaseState, migrate},
    Access, LedgerError, Mode, Row, Value,
};
use rusqlite::{Connection, ErrorCode, OpenFlags, StatementStatus, ToSql, ffi, types};
use std::{
    borrow::Cow,
    fs::OpenOptions,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    sync::Arc,
    time::Duration,
};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// How long to wait for another process (`allotment ledger verify` beside a running operator).
const BUSY: Duration = Duration::from_secs(5);

/// A file, or memory.
#[derive(Clone)]
pub(in crate::ledger) struct Database {
    connection: Arc<Mutex<Connection>>,
    path: Arc<str>,
    /// The file that was opened, whatever stands under its name later.
    file: Option<FileId>,
}

/// Device and inode.
type FileId = (u64, u64);

impl Database {
    /// Opens what stands behind `sqlite:` in a URL.
    pub(super) fn open(path: &str, access: Access) -> Result<Self, LedgerError> {
        let opened = match path {
            ":memory:" | "//:memory:" => Connection::open_in_memory(),
            _ if access == Access::Write => {
                make_private(file(path)?);
                Connection::open(file(path)?)
            }
            _ => {
                let file = file(path)?;
                // SQLite's own complaint is the same for a file that is missing and one that may not be read.
                if matches!(file.try_exists(), Ok(false)) {
                    return Err(LedgerError::Missing { place: file.display().to_string() });
                }
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                Connection::open_with_flags(file, flags)
            }
        };
        let cannot = |error: rusqlite::Error| match path {
            // The path of a file is no secret, and the first thing to look at.
            _ if path.starts_with("//") => {
                let because = format!("{error} ({})", path.trim_start_matches("//"));
                LedgerError::Unavailable { doing: OPEN, because }
            }
            _ => said(OPEN, &error),
        };
        let connection = opened.map_err(cannot)?;
        let set = || -> rusqlite::Result<()> {
            connection.busy_timeout(BUSY)?;
            connection.set_prepared_statement_cache_capacity(64);
            if access == Access::Read {
                return connection.pragma_update(None, "query_only", true);
            }
            // Readers do not block the writer; a commit is on the disk when it returns.
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "foreign_keys", true)
        };
        set().map_err(cannot)?;
        let file = if path.contains(":memory:") { None } else { file_id(file(path)?) };
        let (connection, path) = (Arc::new(Mutex::new(connection)), path.trim_start_matches("//").into());
        Ok(Self { connection, path, file })
    }

    /// Refuses a file that somebody has removed or replaced: what is written to it would be lost with this process.
    fn must_be_in_place(&self, doing: &'static str) -> Result<(), LedgerError> {
        if self.file.is_none() || self.file == file_id(Path::new(&*self.path)) {
            return Ok(());
        }
        let because = format!(
            "{} was removed or replaced while it was open: put the right file in its place and restart the operators, which then \
             compare it with the garden",
            self.path
        );
        Err(LedgerError::Unavailable { doing, because })
    }

    /// Its file.
    pub(super) fn place(&self) -> String {
        self.path.to_string()
    }

    /// Copies it, as it is at one moment, while others write.
    pub(super) async fn backup(&self, file: &Path, doing: &'static str) -> Result<(), LedgerError> {
        backup::copy(&*self.connection.lock().await, file, doing)
    }

    /// Copies it into another one, in the place of what is there.
    pub(super) async fn copy_into(&self, other: &Self, doing: &'static str) -> Result<(), LedgerError> {
        let (from, mut to) = (self.connection.lock().await, other.connection.lock().await);
        backup::overwrite(&from, &mut to, doing)
    }

    pub(super) async fn begin(&self, mode: Mode, doing: &'static str) -> Result<Session, LedgerError> {
        let connection = self.connection.clone().lock_owned().await;
        self.must_be_in_place(doing)?;
        let begin = match mode {
            Mode::Read => "BEGIN DEFERRED",
            Mode::Write | Mode::Migrate => "BEGIN IMMEDIATE",
        };
        connection.execute_batch(begin).map_err(|error| said(doing, &error))?;
        let mut session = Session { connection, doing };
        if mode == Mode::Write {
            let (rows, _) = session.query("SELECT version FROM ledger", &[])?;
            migrate::require(rows.first().map(|row| row.int(0)).transpose()?)?;
        }
        Ok(session)
    }
}

/// Makes an empty file that only its owner may read, if there is none. Where that fails, opening it says why.
fn make_private(path: &Path) {
    let _made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
}

fn file_id(path: &Path) -> Option<FileId> {
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

const OPEN: &str = "open the database";

fn file(path: &str) -> Result<&Path, LedgerError> {
    match path.strip_prefix("//").filter(|path| !path.is_empty()) {
        Some(path) => Ok(Path::new(path)),
        None => Err(LedgerError::Address(
            "SQLite needs the path of a file: sqlite:///var/lib/allotment/ledger.db".to_owned(),
        )),
    }
}

/// An open transaction, and the only one.
pub(in crate::ledger) struct Session {
    connection: OwnedMutexGuard<Connection>,
    doing: &'static str,
}

impl Session {
    pub(super) fn query(&mut self, sql: &str, parameters: &[Value]) -> Result<(Vec<Row>, u64), LedgerError> {
        let doing = self.doing;
        let run = || -> rusqlite::Result<(Vec<Row>, u64)> {
            let mut statement = self.connection.prepare_cached(&in_our_words(sql))?;
            let columns = statement.column_count();
            let mut found = statement.query(rusqlite::params_from_iter(parameters))?;
            let mut rows = Vec::new();
            while let Some(row) = found.next()? {
                let values =
                    (0..columns).map(|column| value(row.get_ref(column)?)).collect::<Result<_, _>>()?;
                rows.push(Row { values, doing });
            }
            drop(found);
            let steps = statement.reset_status(StatementStatus::VmStep);
            Ok((rows, u64::try_from(steps).unwrap_or(0)))
        };
        run().map_err(|error| said(doing, &error))
    }

    pub(super) fn script(&mut self, sql: &str) -> Result<(), LedgerError> {
        self.connection.execute_batch(sql).map_err(|error| said(self.doing, &error))
    }

    pub(super) fn commit(self) -> Result<(), LedgerError> {
        self.connection.execute_batch("COMMIT").map_err(|error| said(self.doing, &error))
    }
}

impl Drop for Session {
    /// Rolls back what was not committed, also when the future that wanted it was dropped.
    fn drop(&mut self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "cannot roll back a transaction of the ledger");
        }
    }
}

/// `BEGIN IMMEDIATE` has locked everything already; parameters are `?1` here (`$1` would be a name, numbered by where it
/// stands first).
fn in_our_words(sql: &str) -> Cow<'_, str> {
    let sql = sql.strip_suffix(" FOR UPDATE").or_else(|| sql.strip_suffix(" FOR SHARE")).unwrap_or(sql);
    if sql.contains('$') { Cow::Owned(sql.replace('$', "?")) } else { Cow::Borrowed(sql) }
}

fn value(value: types::ValueRef<'_>) -> rusqlite::Result<Value> {
    match value {
        types::ValueRef::Null => Ok(Value::Null),
        types::ValueRef::Integer(number) => Ok(Value::Int(number)),
        types::ValueRef::Text(_) => Ok(Value::Text(value.as_str()?.to_owned())),
        other => {
            Err(types::FromSqlError::Other(format!("a value of type {}", other.data_type()).into()).into())
        }
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<types::ToSqlOutput<'_>> {
        Ok(match self {
            Self::Text(text) => types::ToSqlOutput::Borrowed(text.as_str().into()),
            Self::Int(number) => types::ToSqlOutput::Owned((*number).into()),
            Self::Null => types::ToSqlOutput::Owned(types::Value::Null),
        })
    }
}

fn said(doing: &'static str, error: &rusqlite::Error) -> LedgerError {
    let because = error.to_string();
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            LedgerError::Contended { doing, because }
        }
        Some(ErrorCode::ConstraintViolation)
            if [ffi::SQLITE_CONSTRAINT_PRIMARYKEY, ffi::SQLITE_CONSTRAINT_UNIQUE].contains(&extended) =>
        {
            LedgerError::Contended { doing, because }
        }
        Some(ErrorCode::DiskFull) => LedgerError::Database { doing, state: DatabaseState::DiskFull, because },
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed,
        ) => LedgerError::Unavailable { doing, because },
        _ => LedgerError::Broken { doing, because },
    }
}
