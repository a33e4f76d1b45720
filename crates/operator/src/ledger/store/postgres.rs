//! PostgreSQL: a small pool of connections. One that had a fault, or whose transaction was dropped, is thrown away, and the
//! server rolls back.

use super::{LedgerError, Mode, Row, Value, tls::Tls};
use std::{
    collections::BTreeMap,
    error::Error as _,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_postgres::{
    Client, Config, Error, Statement,
    config::{Host, SslMode},
    error::SqlState,
    types::{FromSql, IsNull, ToSql, Type, private::BytesMut, to_sql_checked},
};

/// A leader's transactions take milliseconds; a few at once are enough, and a server has about 100 for everybody.
const CONNECTIONS: usize = 8;

/// Until a server that does not answer counts as gone.
const CONNECT: Duration = Duration::from_secs(10);

/// The longest answer to a statement. Above what the server allows itself (below), so that it is the one to say why.
const ANSWER: Duration = Duration::from_secs(30);

/// A replica that hangs or is cut off must not keep its locks for long, and nobody waits for them for long. The commit must
/// be on the disk when it returns, whatever the server's default.
const SETTINGS: &str = "SET lock_timeout = '10s'; SET statement_timeout = '20s'; \
     SET idle_in_transaction_session_timeout = '30s'; SET synchronous_commit = on";

/// Any number; the one who migrates holds it.
const MIGRATING: &str = "SELECT pg_advisory_xact_lock(4711002)";

/// Connections to one database.
#[derive(Clone)]
pub(in crate::ledger) struct Pool {
    shared: Arc<Shared>,
    permits: Arc<Semaphore>,
}

struct Shared {
    config: Config,
    tls: Tls,
    idle: Mutex<Vec<Connected>>,
}

struct Connected {
    client: Client,
    statements: BTreeMap<&'static str, Statement>,
}

impl Pool {
    pub(super) fn at(url: &str) -> Result<Self, LedgerError> {
        let (url, root) = without_file(url)?;
        // What the parser complains about could be a piece of the password.
        let mut config: Config = url.parse().map_err(|_| {
            LedgerError::Address(
                "expected postgres://user:password@host:port/database?sslmode=require; write special characters of the \
                 password as %XX"
                    .to_owned(),
            )
        })?;
        config.application_name("allotment");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        // There is nothing to encrypt on the way to a socket of this machine, and no name to check.
        if config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_))) {
            config.ssl_mode(SslMode::Disable);
        }
        let tls = Tls::trusting(root.as_deref())?;
        let shared = Shared { config, tls, idle: Mutex::default() };
        Ok(Self { shared: Arc::new(shared), permits: Arc::new(Semaphore::new(CONNECTIONS)) })
    }

    pub(super) async fn begin(&self, mode: Mode, doing: &'static str) -> Result<Session, LedgerError> {
        let permit = self.permits.clone().acquire_owned().await;
        let permit = permit.map_err(|error| unavailable(doing, error.to_string()))?;
        let begin = match mode {
            Mode::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Mode::Write | Mode::Migrate => "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
        };
        let mut session = self.connected(begin, permit, doing).await?;
        if mode == Mode::Migrate {
            session.script(MIGRATING).await?;
        }
        Ok(session)
    }

    async fn connected(
        &self,
        begin: &str,
        permit: OwnedSemaphorePermit,
        doing: &'static str,
    ) -> Result<Session, LedgerError> {
        let session = |connected| Session { connected, shared: self.shared.clone(), doing, _permit: permit };
        // An idle connection may have died since: the server was restarted.
        while let Some(connected) = self.shared.take_idle() {
            if timeout(ANSWER, connected.client.batch_execute(begin)).await.is_ok_and(|begun| begun.is_ok()) {
                return Ok(session(connected));
            }
        }
        let mut fresh = session(self.shared.connect(doing).await?);
        fresh.script(begin).await?;
        Ok(fresh)
    }
}

impl Shared {
    fn take_idle(&self) -> Option<Connected> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give_back(&self, connected: Connected) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connected);
    }

    async fn connect(&self, doing: &'static str) -> Result<Connected, LedgerError> {
        let late = |_| unavailable(doing, "PostgreSQL does not answer".to_owned());
        let connecting = async {
            let (client, connection) = self.config.connect(self.tls.clone()).await?;
            // Ends when the client is dropped; what goes wrong is told to the client too.
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to PostgreSQL ended");
                }
            });
            client.batch_execute(SETTINGS).await?;
            Ok::<_, Error>(client)
        };
        let client = timeout(ANSWER, connecting).await.map_err(late)?.map_err(|error| {
            let hint = if self.config.get_ssl_mode() != SslMode::Disable && error.to_string().contains("TLS") {
                "; give its certificate authority with sslrootcert=<file>, or connect without TLS with sslmode=disable"
            } else {
                ""
            };
            unavailable(doing, format!("{}{hint}", words(&error)))
        })?;
        Ok(Connected { client, statements: BTreeMap::new() })
    }
}

/// An open transaction.
pub(in crate::ledger) struct Session {
    connected: Connected,
    shared: Arc<Shared>,
    doing: &'static str,
    _permit: OwnedSemaphorePermit,
}

impl Session {
    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        parameters: &[Value],
    ) -> Result<Vec<Row>, LedgerError> {
        let doing = self.doing;
        let Connected { client, statements } = &mut self.connected;
        let running = async {
            let statement = match statements.get(sql) {
                Some(statement) => statement.clone(),
                None => {
                    let statement = client.prepare(sql).await?;
                    statements.insert(sql, statement.clone());
                    statement
                }
            };
            let parameters: Vec<&(dyn ToSql + Sync)> =
                parameters.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            client.query(&statement, &parameters).await
        };
        let found = answered(doing, running).await?;
        found
            .iter()
            .map(|row| {
                let values = (0..row.len()).map(|column| row.try_get(column)).collect::<Result<_, _>>();
                Ok(Row { values: values.map_err(|error| said(doing, &error))?, doing })
            })
            .collect()
    }

    pub(super) async fn script(&mut self, sql: &str) -> Result<(), LedgerError> {
        answered(self.doing, self.connected.client.batch_execute(sql)).await
    }

    pub(super) async fn commit(mut self) -> Result<(), LedgerError> {
        self.script("COMMIT").await?;
        self.shared.give_back(self.connected);
        Ok(())
    }

    pub(super) async fn rollback(mut self) {
        if self.script("ROLLBACK").await.is_ok() {
            self.shared.give_back(self.connected);
        }
    }
}

async fn answered<T>(
    doing: &'static str,
    asked: impl Future<Output = Result<T, Error>>,
) -> Result<T, LedgerError> {
    match timeout(ANSWER, asked).await {
        Ok(answer) => answer.map_err(|error| said(doing, &error)),
        Err(_) => Err(unavailable(doing, "PostgreSQL does not answer".to_owned())),
    }
}

fn unavailable(doing: &'static str, because: String) -> LedgerError {
    LedgerError::Unavailable { doing, because }
}

fn said(doing: &'static str, error: &Error) -> LedgerError {
    let because = words(error);
    let Some(code) = error.code() else {
        return if error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>()) {
            unavailable(doing, because)
        } else {
            LedgerError::Broken { doing, because }
        };
    };
    let contended = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::UNIQUE_VIOLATION,
    ];
    // Connection faults, a lack of something, an operator's doing (shutdown, cancelled), and a server that only reads.
    let unavailable_classes = ["08", "53", "57", "58"];
    let unavailable_codes =
        [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT];
    if contended.contains(code) {
        LedgerError::Contended { doing, because }
    } else if unavailable_codes.contains(code)
        || unavailable_classes.iter().any(|class| code.code().starts_with(class))
    {
        unavailable(doing, because)
    } else {
        LedgerError::Broken { doing, because }
    }
}

/// What PostgreSQL said, or the network.
fn words(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(said), _) => format!("PostgreSQL says: {} ({})", said.message(), said.code().code()),
        (None, Some(source)) => format!("PostgreSQL: {error}: {source}"),
        (None, None) => format!("PostgreSQL: {error}"),
    }
}

/// The URL without what the driver does not know: the file of `sslrootcert`, and the `verify-…` modes, which are what
/// `require` is with us.
fn without_file(url: &str) -> Result<(String, Option<String>), LedgerError> {
    let Some((before, query)) = url.rsplit_once('?') else {
        return Ok((url.to_owned(), None));
    };
    let mut file = None;
    let mut kept = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslrootcert", path)) => {
                let path = percent_encoding::percent_decode_str(path).decode_utf8();
                let path = path.map_err(|_| LedgerError::Address("sslrootcert is not UTF-8".to_owned()))?;
                file = Some(path.into_owned());
            }
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            _ => kept.push(pair),
        }
    }
    Ok((format!("{before}?{}", kept.join("&")), file))
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
        [Type::TEXT, Type::INT8].contains(type_)
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
