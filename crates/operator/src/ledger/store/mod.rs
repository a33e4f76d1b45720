//! The one seam between the ledger and its databases: the same SQL texts, with `$1` parameters, run on both.

mod address;
mod connect;
mod failure;
mod postgres;
mod sqlite;
mod tls;

use super::{Durability, LedgerError};
use jiff::Timestamp;
use std::path::Path;

/// A database, and what may be done with it.
#[derive(Clone)]
pub(super) struct Store {
    database: Database,
    access: Access,
}

#[derive(Clone)]
enum Database {
    Sqlite(sqlite::Database),
    Postgres(postgres::Pool),
}

/// What a ledger is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Makes no file, and changes nothing.
    Read,
    Write,
}

/// Whether a URL can be used, as far as can be told without the files and servers that it names.
pub(crate) fn check_url(url: &str) -> Result<(), LedgerError> {
    let url = url.trim();
    if url.starts_with("sqlite:") {
        return Ok(());
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return address::check(url);
    }
    let because = "it must begin with sqlite:/// (and the path of a file) or with postgres://";
    Err(LedgerError::Address(because.to_owned()))
}

impl Store {
    pub(super) fn at(url: &str, access: Access) -> Result<Self, LedgerError> {
        let url = url.trim();
        check_url(url)?;
        let database = match url.strip_prefix("sqlite:") {
            Some(path) => Database::Sqlite(sqlite::Database::open(path, access)?),
            None => Database::Postgres(postgres::Pool::at(url)?),
        };
        Ok(Self { database, access })
    }

    /// Begins a transaction.
    pub(super) async fn begin(&self, mode: Mode, doing: &'static str) -> Result<Session, LedgerError> {
        if self.access == Access::Read && mode != Mode::Read {
            return Err(LedgerError::OpenedToRead { doing });
        }
        match &self.database {
            Database::Sqlite(database) => database.begin(mode, doing).await.map(Session::Sqlite),
            Database::Postgres(pool) => {
                pool.begin(mode, doing).await.map(|session| Session::Postgres(Box::new(session)))
            }
        }
    }

    /// What a commit survives; SQLite's always reach the disk.
    pub(super) async fn durability(&self, doing: &'static str) -> Result<Option<Durability>, LedgerError> {
        match &self.database {
            Database::Sqlite(_) => Ok(None),
            Database::Postgres(pool) => pool.durability(doing).await.map(Some),
        }
    }

    /// What people call it, without a password.
    pub(super) fn place(&self) -> String {
        match &self.database {
            Database::Sqlite(database) => database.place(),
            Database::Postgres(_) => "the PostgreSQL database of the URL".to_owned(),
        }
    }

    /// Copies everything into another SQLite database, in the place of what is there.
    pub(super) async fn copy_into(&self, other: &Self, doing: &'static str) -> Result<(), LedgerError> {
        match (&self.database, &other.database) {
            (Database::Sqlite(from), Database::Sqlite(to)) => from.copy_into(to, doing).await,
            _ => Err(LedgerError::Backup("only SQLite is copied like that".to_owned())),
        }
    }

    /// Copies everything into a new file, while others write.
    pub(super) async fn backup(&self, file: &Path, doing: &'static str) -> Result<(), LedgerError> {
        match &self.database {
            Database::Sqlite(database) => database.backup(file, doing).await,
            Database::Postgres(_) => Err(LedgerError::Backup(
                "PostgreSQL makes its own backups: use pg_dump, or base backups with archived WAL (docs/postgresql.md)"
                    .to_owned(),
            )),
        }
    }
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Sees one state of everything.
    Read,
    /// Sees what is committed, and keeps what it locks.
    Write,
    /// Is alone.
    Migrate,
}

/// An open transaction. One that is dropped is rolled back.
pub(super) enum Session {
    Sqlite(sqlite::Session),
    Postgres(Box<postgres::Session>),
}

impl Session {
    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        parameters: &[Value],
    ) -> Result<Vec<Row>, LedgerError> {
        self.query_counted(sql, parameters).await.map(|(rows, _)| rows)
    }

    /// The same, and how many steps it took, where the database says.
    pub(super) async fn query_counted(
        &mut self,
        sql: &'static str,
        parameters: &[Value],
    ) -> Result<(Vec<Row>, u64), LedgerError> {
        match self {
            Self::Sqlite(session) => session.query(sql, parameters),
            Self::Postgres(session) => session.query(sql, parameters).await.map(|rows| (rows, 0)),
        }
    }

    /// Runs several statements without parameters.
    pub(super) async fn script(&mut self, sql: &str) -> Result<(), LedgerError> {
        match self {
            Self::Sqlite(session) => session.script(sql),
            Self::Postgres(session) => session.script(sql).await,
        }
    }

    pub(super) async fn has_table(&mut self, name: &str) -> Result<bool, LedgerError> {
        let sql = match self {
            Self::Sqlite(_) => "SELECT name FROM sqlite_master WHERE type = 'table' AND name = $1",
            // Not to_regclass: it looks into a cache that is as old as the transaction, and there was a lock to wait for.
            Self::Postgres(_) => {
                "SELECT CAST(relname AS text) FROM pg_catalog.pg_class \
                 WHERE CAST(relname AS text) = $1 AND relkind = 'r' AND pg_catalog.pg_table_is_visible(oid)"
            }
        };
        Ok(!self.query(sql, &[Value::from(name)]).await?.is_empty())
    }

    /// What this database calls text that sorts by its bytes, and a number that it gives out itself and never twice.
    pub(super) fn words(&self) -> Words {
        match self {
            Self::Sqlite(_) => Words { text: "TEXT", id: "INTEGER PRIMARY KEY AUTOINCREMENT" },
            Self::Postgres(_) => {
                Words { text: r#"TEXT COLLATE "C""#, id: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY" }
            }
        }
    }

    pub(super) async fn commit(self) -> Result<(), LedgerError> {
        match self {
            Self::Sqlite(session) => session.commit(),
            Self::Postgres(session) => session.commit().await,
        }
    }

    pub(super) async fn rollback(self) {
        match self {
            Self::Sqlite(session) => drop(session),
            Self::Postgres(session) => session.rollback().await,
        }
    }
}

/// Words in which the databases differ.
pub(super) struct Words {
    pub(super) text: &'static str,
    pub(super) id: &'static str,
}

/// A value on its way to or from a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Int(i64),
    Null,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        text.map_or(Self::Null, Self::from)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self::Int(i64::from(yes))
    }
}

/// A row that a query found: its values, and what the query was for.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) values: Vec<Value>,
    pub(super) doing: &'static str,
}

impl Row {
    pub(super) fn text(&self, column: usize) -> Result<&str, LedgerError> {
        self.maybe_text(column)?.ok_or_else(|| self.broken(column, "text"))
    }

    pub(super) fn maybe_text(&self, column: usize) -> Result<Option<&str>, LedgerError> {
        match self.values.get(column) {
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::Null) => Ok(None),
            _ => Err(self.broken(column, "text or null")),
        }
    }

    pub(super) fn int(&self, column: usize) -> Result<i64, LedgerError> {
        match self.values.get(column) {
            Some(Value::Int(number)) => Ok(*number),
            _ => Err(self.broken(column, "a number")),
        }
    }

    pub(super) fn maybe_int(&self, column: usize) -> Result<Option<i64>, LedgerError> {
        match self.values.get(column) {
            Some(Value::Int(number)) => Ok(Some(*number)),
            Some(Value::Null) => Ok(None),
            _ => Err(self.broken(column, "a number or null")),
        }
    }

    pub(super) fn yes(&self, column: usize) -> Result<bool, LedgerError> {
        Ok(self.int(column)? != 0)
    }

    pub(super) fn time(&self, column: usize) -> Result<Timestamp, LedgerError> {
        self.text(column)?.parse().map_err(|_| self.broken(column, "a time"))
    }

    /// A column that does not say what it should.
    pub(super) fn broken(&self, column: usize, expected: &str) -> LedgerError {
        let found = match self.values.get(column) {
            Some(Value::Text(text)) => format!("{text:?}"),
            Some(Value::Int(number)) => number.to_string(),
            Some(Value::Null) => "null".to_owned(),
            None => "nothing".to_owned(),
        };
        let because = format!("column {} of a row should be {expected}, but is {found}", column + 1);
        LedgerError::Broken { doing: self.doing, because }
    }
}
