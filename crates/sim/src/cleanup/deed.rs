//! Acts of people who have to do with the cleaning of accounts.

use serde::{Deserialize, Serialize};

/// An act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Deed {
    /// Somebody leaves an item in the account of the cloud.
    LeaveItem {
        /// The account.
        account: String,
        /// The name of the item, from which its id follows.
        item: String,
        /// Its behaviour.
        what: Leftover,
        /// The time until lists show it, or until it is gone once it is deleted, in milliseconds.
        time: u64,
    },
    /// Somebody deletes an item by hand.
    RemoveItem {
        /// The account.
        account: String,
        /// The name of the item.
        item: String,
    },
    /// People add an id to `cleanup.keep`.
    KeepItem {
        /// The name of the item.
        item: String,
    },
    /// The credentials of an account are replaced by those of another one.
    Rotate {
        /// The account.
        account: String,
        /// The account that they lead to.
        to: String,
    },
    /// The cloud accepts the credentials of an account no more.
    RevokeCredentials {
        /// The account.
        account: String,
    },
    /// The credentials of an account may not list a kind any more.
    DenyKind {
        /// The account.
        account: String,
        /// The kind.
        kind: String,
    },
    /// The region of an account is disabled.
    DisableRegion {
        /// The account.
        account: String,
    },
    /// The cloud throttles the next calls.
    Throttle {
        /// The account.
        account: String,
        /// The number of calls.
        calls: u32,
    },
    /// The credentials of an account are as they were in the beginning, with all permissions.
    RestoreCredentials {
        /// The account.
        account: String,
    },
    /// A second entry comes into the pool, with the credentials of an account.
    ShareCredentials {
        /// The new entry.
        entry: String,
        /// The account.
        account: String,
    },
}

/// The behaviour of an item that somebody leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leftover {
    /// Something small, without a tag: on most clouds a snapshot.
    Plain,
    /// A volume that no list shows before its time.
    Late,
    /// Something that lists do not show, and counts do.
    Hidden,
    /// The same as the first, and it is locked.
    Locked,
    /// An instance whose deletion takes its time.
    Slow,
    /// Something of a kind that nobody knows.
    Strange,
}
