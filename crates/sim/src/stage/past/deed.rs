//! Acts by which the past comes back.

use serde::{Deserialize, Serialize};

/// An act by which the past comes back, or by which there are two presents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Deed {
    /// The ledger goes back by its last commits: another server took over that did not have them, or a backup was put back.
    LoseCommits {
        /// How many.
        commits: usize,
    },
    /// A second installation begins to serve the garden, with a Lease and a ledger of its own. A person ends it after a while.
    SecondInstallation {
        /// Whether its ledger is a copy of ours; else it is new.
        copy: bool,
        /// For how long it is there, in milliseconds.
        time: u64,
    },
    /// Somebody starts an operator with our ledger and the kubeconfig of another control plane, which has no requests. A person ends it
    /// after a while.
    OtherControlPlane {
        /// For how long it is there, in milliseconds.
        time: u64,
    },
    /// Somebody changes the fence by hand.
    Fence {
        /// In which way.
        edit: FenceEdit,
    },
    /// A server is put back to an older state.
    PutBack {
        /// Which.
        server: Restored,
        /// By how many writes.
        writes: u64,
    },
}

/// A change of the fence by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FenceEdit {
    /// The ConfigMap is deleted.
    Delete,
    /// It has no data any more.
    Empty,
    /// It names another ledger.
    OtherLedger,
    /// It names an epoch that has not been.
    HigherEpoch,
    /// It names the epoch before.
    LowerEpoch,
    /// It names another term.
    OtherTerm,
    /// It names an entry of the history that has not been.
    UnknownEntry,
    /// It names no entries.
    NoEntries,
    /// It has a label more, which means nothing.
    Label,
}

/// A server that is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restored {
    /// The one with accounts and Shoots.
    Garden,
    /// The one with requests and Leases.
    ControlPlane,
}
