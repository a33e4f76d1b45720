//! A primary and a standby that streams from it.

use super::{Fault, Postgres, programs::succeed};

/// Whether a commit waits for the standby.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replication {
    /// A commit returns when the standby has it on its disk.
    Synchronous,
    /// A commit returns before the standby has it: a fail-over may lose it.
    Asynchronous,
}

/// Two servers, of which one leads.
///
/// Clients get one URL that names both, and connect to the one that takes writes:
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// use allotment_testing::{PostgresPair, Replication};
///
/// let mut pair = PostgresPair::start(Replication::Asynchronous)?;
/// let url = pair.database()?;        // for `ledger.url` of an operator
/// // … clients write …
/// pair.wait_until_caught_up()?;      // the standby has everything of until now
/// pair.cut()?;                       // from now on it gets nothing: these commits will be lost
/// // … clients write …
/// pair.fail_over()?;                 // the primary dies, the standby leads
/// // … clients reconnect, and find the state of `cut` …
/// # Ok(())
/// # }
/// ```
///
/// A synchronous pair that is `cut` acknowledges no commit any more: clients wait until `fail_over`, which loses nothing that was
/// acknowledged. [`PostgresPair::primary`] and [`PostgresPair::standby`] give the two servers, for their SQL and logs.
#[derive(Debug)]
pub struct PostgresPair {
    primary: Postgres,
    standby: Postgres,
    has_failed_over: bool,
}

impl PostgresPair {
    /// Starts both. The error is [`NoPostgres`](super::NoPostgres) if there is none to start.
    pub fn start(replication: Replication) -> Result<Self, Fault> {
        let primary = Postgres::start()?;
        let mut standby = Postgres::in_new_folder(Vec::new())?;
        let mut copy = standby.as_server("pg_basebackup");
        copy.arg("-h").arg(primary.folder.path()).args(["-p", &primary.port.to_string(), "-U", super::USER]);
        copy.arg("-D").arg(standby.data()).args(["-R", "-X", "stream", "--checkpoint=fast", "--no-sync"]);
        succeed(&mut copy)?;
        standby.restart()?;
        let pair = Self { primary, standby, has_failed_over: false };
        pair.primary.wait_for("get a standby", || {
            let count =
                pair.primary.sql("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")?;
            Ok(count == "1")
        })?;
        if replication == Replication::Synchronous {
            pair.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()")?;
            pair.primary.wait_for("get a synchronous standby", || {
                let state = pair.primary.sql("SELECT sync_state FROM pg_stat_replication")?;
                Ok(state == "sync")
            })?;
        }
        Ok(pair)
    }

    /// Makes an empty database, and says a URL that finds whichever server takes writes.
    pub fn database(&self) -> Result<String, Fault> {
        let name = self.leader().new_database()?;
        Ok(self.url(&name))
    }

    /// The URL of a database, on whichever server takes writes.
    pub fn url(&self, database: &str) -> String {
        let Self { primary, standby, .. } = self;
        format!(
            "postgres://{}@{}:{},{}:{}/{database}?target_session_attrs=read-write",
            super::USER,
            primary.host(),
            primary.port,
            standby.host(),
            standby.port
        )
    }

    /// The server that led first.
    pub fn primary(&self) -> &Postgres {
        &self.primary
    }

    /// The server that leads after a fail-over.
    pub fn standby(&self) -> &Postgres {
        &self.standby
    }

    /// The server that leads now.
    pub fn leader(&self) -> &Postgres {
        if self.has_failed_over { &self.standby } else { &self.primary }
    }

    /// Waits until the standby shows everything that the primary has committed.
    pub fn wait_until_caught_up(&self) -> Result<(), Fault> {
        let position = self.primary.sql("SELECT pg_current_wal_flush_lsn()")?;
        let is_there = format!("SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn");
        self.standby.wait_for("catch up", || Ok(self.standby.sql(&is_there)? == "t"))
    }

    /// Ends the replication: the standby stays as it is.
    pub fn cut(&self) -> Result<(), Fault> {
        self.standby.sql("ALTER SYSTEM SET primary_conninfo = ''; SELECT pg_reload_conf()")?;
        self.standby.wait_for("stop receiving", || {
            Ok(self.standby.sql("SELECT count(*) FROM pg_stat_wal_receiver")? == "0")
        })
    }

    /// Kills the primary, and makes the standby lead. Returns when it takes writes.
    pub fn fail_over(&mut self) -> Result<(), Fault> {
        self.primary.crash();
        self.has_failed_over = true;
        self.standby.sql("SELECT pg_promote(true)")?;
        self.standby.wait_for("take writes", || Ok(self.standby.sql("SELECT pg_is_in_recovery()")? == "f"))
    }
}
