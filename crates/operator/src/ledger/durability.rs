//! How safe a commit is, as the database is set up.

use std::fmt;

/// The settings of a PostgreSQL server that say what a commit survives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durability {
    /// Whether the server is in recovery, and so takes no writes.
    pub is_standby: bool,
    /// What a commit waits for by default. The ledger's own transactions wait for the disk at least.
    pub synchronous_commit: String,
    /// The standbys that a commit waits for; "" means none, and a fail-over may lose the last commits.
    pub synchronous_standby_names: String,
    /// Whether a commit reaches the disk.
    pub fsync: bool,
}

impl Durability {
    /// What somebody should change. A server without standbys is nothing to warn of.
    pub fn warning(&self) -> Option<&'static str> {
        if self.is_standby {
            Some("the server is a standby and takes no writes: promote it, or connect to the primary")
        } else if !self.fsync {
            Some("fsync is off: a crash of the machine loses commits, or the whole database; set fsync to on")
        } else if self.synchronous_commit == "off" {
            Some(
                "synchronous_commit is off: a crash loses the last commits; the ledger asks for more in its own transactions, \
                 but set it to on",
            )
        } else {
            None
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_standby, synchronous_commit, synchronous_standby_names, fsync } = self;
        let role = if *is_standby { "standby" } else { "primary" };
        let standbys = match synchronous_standby_names.as_str() {
            "" => "none",
            names => names,
        };
        let fsync = if *fsync { "on" } else { "off" };
        write!(
            formatter,
            "{role}, synchronous_commit {synchronous_commit}, synchronous standbys {standbys}, fsync {fsync}"
        )
    }
}
