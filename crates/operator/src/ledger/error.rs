//! What can go wrong with the ledger, for the person who reads it at night.

use crate::runtime::report::Report;
use allotment_core::{
    failure::{Failure, FailureReason},
    pool::{AccountName, Epoch},
};

/// An operation on the ledger that did not happen, or of which it is not known whether it did.
///
/// No message holds the ledger's URL or any part of it: there is a password in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// `ledger.url` is not one that can be used.
    #[error("ledger.url cannot be used: {0}")]
    Address(String),
    /// The database does not answer. It may or may not have done what was asked; repeating it is safe.
    #[error("ledger: cannot {doing}: {because}; it is tried again")]
    Unavailable {
        /// Which operation.
        doing: &'static str,
        /// What the database or the network said.
        because: String,
    },
    /// The database answers, and cannot do it as it is now. Repeating it is safe.
    #[error("ledger: cannot {doing}: {because}; {}; it is tried again", state.remedy())]
    Database {
        /// Which operation.
        doing: &'static str,
        /// In which state the database is.
        state: DatabaseState,
        /// What the database said.
        because: String,
    },
    /// Others were faster, or hold what is needed. Nothing happened; repeating it is safe.
    #[error("ledger: cannot {doing} now: {because}; it is tried again")]
    Contended {
        /// Which operation.
        doing: &'static str,
        /// What the database said.
        because: String,
    },
    /// Another process leads. Nothing happened, and this process must stop writing.
    #[error("ledger: leads no longer: writes under epoch {mine}, but {leader} leads under epoch {current}")]
    Stale {
        /// The writer's epoch.
        mine: Epoch,
        /// The ledger's.
        current: Epoch,
        /// Who raised it.
        leader: String,
    },
    /// The database does not hold an entry any more that this process has seen committed. Nothing happened, and this process must stop
    /// writing.
    #[error(
        "ledger: cannot {doing}: entry {missing} of the history was committed and is not there any more: the database was put back to \
         an older state, or another server took over without the last commits"
    )]
    WentBack {
        /// Which operation.
        doing: &'static str,
        /// The entry.
        missing: i64,
    },
    /// A newer Allotment has written this ledger.
    #[error(
        "the ledger has schema version {found}, this binary knows versions up to {known}: a newer Allotment has migrated it; \
         run that version or a later one, also for the commands (there is no way back but a backup of before)"
    )]
    Newer {
        /// The database's version.
        found: i64,
        /// The newest that this binary knows.
        known: i64,
    },
    /// An older Allotment has written this ledger, and only opening it to write brings it up to date.
    #[error(
        "the ledger has schema version {found}, this binary needs version {known}: run `allotment ledger migrate`, or (re)start \
         the operators of this version, which migrate it; nothing else does"
    )]
    Older {
        /// The database's version.
        found: i64,
        /// The one that this binary needs.
        known: i64,
    },
    /// There is no ledger, and it was opened only to be read.
    #[error(
        "there is no ledger in {place}, and reading makes none: check `ledger` in the configuration; if the ledger is new, \
         run `allotment ledger migrate`, or start the operators, which make it"
    )]
    Missing {
        /// The file, or the database.
        place: String,
    },
    /// The ledger was opened only to be read.
    #[error("ledger: cannot {doing}: it was opened only to be read; this is a fault of Allotment")]
    OpenedToRead {
        /// Which operation.
        doing: &'static str,
    },
    /// There is no copy.
    #[error("cannot back up the ledger: {0}")]
    Backup(String),
    /// The account has changed since it was looked at. Look again.
    #[error("ledger: account {account} has changed since it was looked at; it is looked at again")]
    Changed {
        /// Which.
        account: AccountName,
    },
    /// The account has assignments, and what was asked for needs it to have none.
    #[error(
        "ledger: cannot {doing} account {account}: {clusters} requests are assigned to it; release them first, or put it in \
         quarantine"
    )]
    Occupied {
        /// Which operation.
        doing: &'static str,
        /// Which.
        account: AccountName,
        /// How many.
        clusters: u32,
    },
    /// What the ledger says contradicts what was asked for.
    #[error("ledger: cannot {doing} account {account}: {because}")]
    Refused {
        /// Which operation.
        doing: &'static str,
        /// Which.
        account: AccountName,
        /// What the ledger says.
        because: String,
    },
    /// The database does not hold what we wrote, or does not understand us.
    #[error(
        "ledger: cannot {doing}: {because}; if the database was changed by hand, run `allotment ledger verify`, else this is \
         a fault of Allotment"
    )]
    Broken {
        /// Which operation.
        doing: &'static str,
        /// What was found.
        because: String,
    },
}

impl LedgerError {
    /// One word for metrics.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Address(_) => "address",
            Self::Unavailable { .. } => "unavailable",
            Self::Database { state, .. } => state.as_str(),
            Self::Contended { .. } => "contended",
            Self::Stale { .. } => "stale",
            Self::WentBack { .. } => "went-back",
            Self::Newer { .. } => "newer",
            Self::Older { .. } => "older",
            Self::Missing { .. } => "missing",
            Self::OpenedToRead { .. } => "opened-to-read",
            Self::Backup(_) => "backup",
            Self::Changed { .. } => "changed",
            Self::Occupied { .. } => "occupied",
            Self::Refused { .. } => "refused",
            Self::Broken { .. } => "broken",
        }
    }

    /// What the condition of the request says that the operation was for. Nothing about the database itself is a tenant's to know.
    pub fn report(&self) -> Report {
        let unavailable = |what: &str| {
            let what = format!("the ledger of accounts {what}");
            Report::Failed(Failure::new(FailureReason::LedgerUnavailable, what))
        };
        match self {
            // Somebody else was faster, or leads.
            Self::Contended { .. } | Self::Changed { .. } | Self::Stale { .. } | Self::WentBack { .. } => {
                Report::Unchanged
            }
            Self::Unavailable { .. } => unavailable("does not answer"),
            Self::Database { state, .. } => unavailable(match state {
                DatabaseState::ReadOnly => "takes no entries",
                DatabaseState::Starting => "is starting",
                DatabaseState::DiskFull => "takes no entries: its disk is full",
                DatabaseState::LoginRefused
                | DatabaseState::TlsRefused
                | DatabaseState::ClearPassword
                | DatabaseState::RightsMissing => "does not let the platform in",
            }),
            Self::Address(_)
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Missing { .. }
            | Self::OpenedToRead { .. }
            | Self::Backup(_)
            | Self::Broken { .. } => unavailable("cannot be used"),
            Self::Occupied { .. } | Self::Refused { .. } => {
                Report::Failed(Failure::new(FailureReason::LedgerRefused, self.to_string()))
            }
        }
    }

    /// Whether the database failed, and not what was asked of it.
    pub fn is_of_the_database(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Database { .. } | Self::Broken { .. })
    }

    /// Whether the same operation may succeed when it is repeated as it is.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Database { .. } | Self::Contended { .. })
    }
}

/// A state in which a database answers, and does not do what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DatabaseState {
    /// It takes no writes: a standby, or an administrator wants it so.
    ReadOnly,
    /// It starts, recovers or stops.
    Starting,
    /// It knows no such user or database, or does not believe the password.
    LoginRefused,
    /// There is no TLS with it, or its certificate is not one to trust.
    TlsRefused,
    /// It wants the password where others can read it.
    ClearPassword,
    /// Its disk is full.
    DiskFull,
    /// The user lacks a right.
    RightsMissing,
}

impl DatabaseState {
    /// One word for metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Starting => "starting",
            Self::LoginRefused => "login-refused",
            Self::TlsRefused => "tls-refused",
            Self::ClearPassword => "clear-password",
            Self::DiskFull => "disk-full",
            Self::RightsMissing => "rights-missing",
        }
    }

    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::ReadOnly => {
                "promote this server, or connect to the one that takes writes (a URL may name several: host1,host2), or set \
                 default_transaction_read_only to off"
            }
            Self::Starting => "wait until the server has started or recovered; its log says how far it is",
            Self::LoginRefused => {
                "check user, password and database in the URL, and pg_hba.conf and the roles on the server"
            }
            Self::TlsRefused => {
                "name the file with the certificate authority of the server in the URL (sslrootcert=<file>), connect by a name \
                 that is in its certificate, and see that the server has TLS on (docs/postgresql.md)"
            }
            Self::ClearPassword => {
                "turn TLS on and take sslmode=disable out of the URL, or let the server ask with scram-sha-256"
            }
            Self::DiskFull => "make room on the database's disk; until then nothing can be written down",
            Self::RightsMissing => {
                "grant the user the rights in docs/postgresql.md; only `allotment ledger migrate` needs the right to change tables"
            }
        }
    }
}
