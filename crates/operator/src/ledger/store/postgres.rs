//! PostgreSQL: a small pool of connections. One that had a fault, or whose transaction was dropped, is thrown away, and the
//! server rolls back.
//!
//! A pooler in transaction mode may stand before the server: the next transaction of a connection is another one of the server.
//! So nothing is prepared by name, and everything that is set holds for one transaction.

use super::{
    super::{DatabaseState, Durability, migrate},
    LedgerError, Mode, Row, Value,
    address::{Address, Encryption},
    connect::Connector,
    failure, tls,
};
use deadpool_postgres::{Manager, ManagerConfig, Object, RecyclingMethod, Runtime};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;
use tokio_postgres::{
    Error, SimpleQueryMessage, SimpleQueryRow,
    types::{FromSql, IsNull, ToSql, Type, private::BytesMut, to_sql_checked},
};

/// A leader's transactions take milliseconds; a few at once are enough, and a server has about 100 for everybody.
const CONNECTIONS: usize = 8;

/// The longest answer to a statement. Above what the server allows itself (below), so that it is the one to say why.
const ANSWER: Duration = Duration::from_secs(30);

/// The same for the statements of a migration, which may rewrite the whole history.
const MIGRATION_ANSWER: Duration = Duration::from_secs(660);

/// Sees one state of everything.
const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
     SET LOCAL statement_timeout = '20s'; SET LOCAL idle_in_transaction_session_timeout = '30s'";

/// A replica that hangs or is cut off must not keep its locks for long, and nobody waits for them for long. `READ WRITE` is not
/// asked for: it would overrule an administrator's `default_transaction_read_only`.
const WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '10s'; \
     SET LOCAL statement_timeout = '20s'; SET LOCAL idle_in_transaction_session_timeout = '30s'";

/// A migration may take its time, and is alone: the number is any, and the one who migrates holds it.
const MIGRATE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '60s'; \
     SET LOCAL statement_timeout = '600s'; SET LOCAL idle_in_transaction_session_timeout = '30s'";

const MIGRATING: &str = "SELECT pg_advisory_xact_lock(4711002)";

/// Says whether the server takes writes, and raises what a commit waits for to the disks of this server and of its synchronous
/// standbys. A higher setting stays.
const WRITABLE: &str = "SELECT pg_catalog.pg_is_in_recovery(), current_setting('transaction_read_only'), \
     CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') \
     THEN set_config('synchronous_commit', 'on', true) END";

/// The version of the schema, to be added where there is one.
const VERSION: &str = ", (SELECT version FROM ledger)";

const DURABILITY: &str = "SELECT pg_catalog.pg_is_in_recovery(), current_setting('synchronous_commit'), \
     current_setting('synchronous_standby_names'), current_setting('fsync')";

/// Connections to one database.
#[derive(Clone)]
pub(in crate::ledger) struct Pool {
    connections: deadpool_postgres::Pool,
    /// Where the servers are, for people.
    at: Arc<str>,
}

impl Pool {
    pub(super) fn at(url: &str) -> Result<Self, LedgerError> {
        let address = Address::parse(url)?;
        let at = address.servers().into();
        if let Encryption::Tls(files) = &address.encryption {
            tls::config(files).map_err(|error| LedgerError::Address(error.to_string()))?;
        }
        // `BEGIN` shows whether an idle connection lives; the pool need not ask for that alone.
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_connect(address.config.clone(), Connector(address), recycling);
        let builder = deadpool_postgres::Pool::builder(manager).max_size(CONNECTIONS);
        let pool = builder.runtime(Runtime::Tokio1).create_timeout(Some(ANSWER)).build();
        let connections = pool.map_err(|error| LedgerError::Address(error.to_string()))?;
        Ok(Self { connections, at })
    }

    pub(super) async fn begin(&self, mode: Mode, doing: &'static str) -> Result<Session, LedgerError> {
        let answer = if mode == Mode::Migrate { MIGRATION_ANSWER } else { ANSWER };
        loop {
            let client =
                self.connections.get().await.map_err(|error| failure::of_pool(doing, &self.at, &error))?;
            let was_idle = Object::metrics(&client).recycled.is_some();
            let mut session = Session { client: Some(client), doing, answer, has_failed: false };
            match session.begin(mode).await {
                Ok(()) => return Ok(session),
                Err(error @ (LedgerError::Newer { .. } | LedgerError::Older { .. })) => return Err(error),
                // It may have died since: the server was restarted, or another one leads now.
                Err(_) if was_idle => (),
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) async fn durability(&self, doing: &'static str) -> Result<Durability, LedgerError> {
        let mut session = self.begin(Mode::Read, doing).await?;
        let row = session.row(DURABILITY).await?;
        session.rollback().await;
        let text = |column| row.get(column).unwrap_or_default().to_owned();
        Ok(Durability {
            is_standby: row.get(0) == Some("t"),
            synchronous_commit: text(1),
            synchronous_standby_names: text(2),
            fsync: row.get(3) != Some("off"),
        })
    }
}

/// An open transaction.
pub(in crate::ledger) struct Session {
    /// Gone when the transaction is over, and the pool has it again.
    client: Option<Object>,
    doing: &'static str,
    answer: Duration,
    has_failed: bool,
}

impl Session {
    async fn begin(&mut self, mode: Mode) -> Result<(), LedgerError> {
        let (begin, version) = match mode {
            Mode::Read => return self.script(READ).await,
            Mode::Write => (WRITE, VERSION),
            Mode::Migrate => (MIGRATE, ""),
        };
        let row = self.row(&format!("{begin}; {WRITABLE}{version}")).await?;
        let because = match (row.get(0), row.get(1)) {
            (Some("t"), _) => "the server is a standby: it is in recovery",
            (_, Some("on")) => "default_transaction_read_only is on for this user, database or server",
            _ if mode == Mode::Migrate => return self.script(MIGRATING).await,
            _ => return migrate::require(row.try_get(3).ok().flatten().and_then(|text| text.parse().ok())),
        };
        let (doing, state) = (self.doing, DatabaseState::ReadOnly);
        Err(LedgerError::Database { doing, state, because: format!("PostgreSQL takes no writes: {because}") })
    }

    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        parameters: &[Value],
    ) -> Result<Vec<Row>, LedgerError> {
        let doing = self.doing;
        let found = self
            .answered(async |client| {
                let parameters: Vec<(&(dyn ToSql + Sync), Type)> =
                    parameters.iter().map(|value| (value as &(dyn ToSql + Sync), value.type_())).collect();
                client.query_typed(sql, &parameters).await
            })
            .await?;
        found
            .iter()
            .map(|row| {
                let values = (0..row.len()).map(|column| row.try_get(column)).collect::<Result<_, _>>();
                Ok(Row { values: values.map_err(|error| failure::of_statement(doing, &error))?, doing })
            })
            .collect()
    }

    pub(super) async fn script(&mut self, sql: &str) -> Result<(), LedgerError> {
        self.answered(async |client| client.batch_execute(sql).await).await
    }

    /// Runs statements of which the last returns one row.
    async fn row(&mut self, sql: &str) -> Result<SimpleQueryRow, LedgerError> {
        let messages = self.answered(async |client| client.simple_query(sql).await).await?;
        let row = messages.into_iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let because = "PostgreSQL answered with no row".to_owned();
        row.ok_or(LedgerError::Broken { doing: self.doing, because })
    }

    async fn answered<T>(
        &mut self,
        ask: impl AsyncFnOnce(&Object) -> Result<T, Error>,
    ) -> Result<T, LedgerError> {
        let doing = self.doing;
        let Some(client) = &self.client else { return Err(failure::silent(doing)) };
        let answer = match timeout(self.answer, ask(client)).await {
            Ok(answer) => answer.map_err(|error| failure::of_statement(doing, &error)),
            Err(_) => Err(failure::silent(doing)),
        };
        self.has_failed |= answer.is_err();
        answer
    }

    pub(super) async fn commit(mut self) -> Result<(), LedgerError> {
        // The server would roll back, and call that a success.
        if self.has_failed {
            let because = "a statement of the transaction failed".to_owned();
            return Err(LedgerError::Broken { doing: self.doing, because });
        }
        self.script("COMMIT").await?;
        self.client = None;
        Ok(())
    }

    pub(super) async fn rollback(mut self) {
        if self.script("ROLLBACK").await.is_ok() {
            self.client = None;
        }
    }
}

impl Drop for Session {
    /// Throws away a connection whose transaction may still be open.
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

impl Value {
    /// Without a type, PostgreSQL takes that of the place where it stands.
    fn type_(&self) -> Type {
        match self {
            Self::Text(_) => Type::TEXT,
            Self::Int(_) => Type::INT8,
            Self::Null => Type::UNKNOWN,
        }
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        type_: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Text(text) => text.to_sql(type_, out),
            Self::Int(number) => number.to_sql(type_, out),
            Self::Null => Ok(IsNull::Yes),
        }
    }

    fn accepts(type_: &Type) -> bool {
        [Type::TEXT, Type::INT8, Type::UNKNOWN].contains(type_)
    }

    to_sql_checked!();
}

impl<'row> FromSql<'row> for Value {
    fn from_sql(type_: &Type, raw: &'row [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        if *type_ == Type::INT8 {
            i64::from_sql(type_, raw).map(Self::Int)
        } else {
            String::from_sql(type_, raw).map(Self::Text)
        }
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(type_: &Type) -> bool {
        [Type::TEXT, Type::INT8].contains(type_)
    }
}
