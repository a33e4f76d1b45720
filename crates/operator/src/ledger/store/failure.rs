//! Tells PostgreSQL's faults apart: a server that is gone, one that takes no writes, one that refuses us.

use super::{super::DatabaseState, LedgerError, connect::ClearPassword};
use deadpool_postgres::PoolError;
use std::{error::Error as StdError, io};
use tokio_postgres::{Error, error::SqlState};

/// A connection that could not be had to the servers `at` these addresses.
pub(super) fn of_pool(doing: &'static str, at: &str, error: &PoolError) -> LedgerError {
    let failure = match error {
        PoolError::Backend(error) => of_connecting(doing, error),
        PoolError::Timeout(_) => silent(doing),
        other => unavailable(doing, format!("PostgreSQL: {other}")),
    };
    match failure {
        LedgerError::Unavailable { doing, because } => unavailable(doing, format!("{at}: {because}")),
        other => other,
    }
}

/// PostgreSQL took longer than anybody waits.
pub(super) fn silent(doing: &'static str) -> LedgerError {
    unavailable(doing, "PostgreSQL does not answer".to_owned())
}

fn of_connecting(doing: &'static str, error: &Error) -> LedgerError {
    if error.code().is_some() {
        return of_statement(doing, error);
    }
    let because = words(error);
    let kind = error.to_string();
    let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let state = if chain(error).any(|cause| cause.is::<ClearPassword>()) {
        DatabaseState::ClearPassword
    } else if kind.starts_with("error performing TLS handshake") {
        DatabaseState::TlsRefused
    } else if kind.starts_with("authentication error") || kind.starts_with("invalid configuration") {
        DatabaseState::LoginRefused
    } else if cause.is_some_and(|cause| cause.kind() == io::ErrorKind::PermissionDenied) {
        // The driver's own words for a server that is not the one of `target_session_attrs=read-write`.
        DatabaseState::ReadOnly
    } else {
        return unavailable(doing, because);
    };
    LedgerError::Database { doing, state, because }
}

/// A statement that failed.
pub(super) fn of_statement(doing: &'static str, error: &Error) -> LedgerError {
    let because = words(error);
    let Some(code) = error.code() else {
        let is_gone = error.is_closed() || error.source().is_some_and(|source| source.is::<io::Error>());
        return if is_gone { unavailable(doing, because) } else { LedgerError::Broken { doing, because } };
    };
    let contended = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::UNIQUE_VIOLATION,
    ];
    if contended.contains(code) {
        return LedgerError::Contended { doing, because };
    }
    if let Some(state) = state(code, &because) {
        return LedgerError::Database { doing, state, because };
    }
    // Connection faults, a lack of something, somebody's doing (shutdown, cancelled), and the server's system.
    let unavailable_classes = ["08", "53", "57", "58"];
    if *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        || unavailable_classes.iter().any(|class| code.code().starts_with(class))
    {
        unavailable(doing, because)
    } else {
        LedgerError::Broken { doing, because }
    }
}

fn state(code: &SqlState, because: &str) -> Option<DatabaseState> {
    let is_full = because.contains("No space left on device");
    Some(match code {
        code if *code == SqlState::READ_ONLY_SQL_TRANSACTION => DatabaseState::ReadOnly,
        code if *code == SqlState::CANNOT_CONNECT_NOW => DatabaseState::Starting,
        code if *code == SqlState::DISK_FULL || is_full => DatabaseState::DiskFull,
        code if *code == SqlState::INSUFFICIENT_PRIVILEGE => DatabaseState::RightsMissing,
        code if *code == SqlState::UNDEFINED_DATABASE || code.code().starts_with("28") => {
            DatabaseState::LoginRefused
        }
        _ => return None,
    })
}

fn unavailable(doing: &'static str, because: String) -> LedgerError {
    LedgerError::Unavailable { doing, because }
}

/// The server's sentence, or the network's.
fn words(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("PostgreSQL says: {} ({})", said.message(), said.code().code());
    }
    let mut words = format!("PostgreSQL: {error}");
    for cause in chain(error).map(ToString::to_string) {
        // Wrappers repeat what they wrap.
        if !words.ends_with(&cause) {
            words.push_str(": ");
            words.push_str(&cause);
        }
    }
    words
}

fn chain(error: &Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    std::iter::successors(error.source(), |&cause| match cause.downcast_ref::<io::Error>() {
        Some(wrapper) => wrapper.get_ref().map(|inner| inner as &(dyn StdError + 'static)),
        None => cause.source(),
    })
}
