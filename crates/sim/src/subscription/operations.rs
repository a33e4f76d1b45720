//! What the subscription operator does, and the states that matter to it.

use crate::stage::coverage::{ANY, Operation, Sort, operation};

/// Whether an account is left.
const POOL: &[&str] = &["free", "exhausted"];

/// Whether one tenant has the account to itself.
const HELD: &[&str] = &["held", "not held"];

pub(crate) const OPERATIONS: [Operation; 37] = [
    operation("report failure", Sort::Write, ANY),
    operation("lead", Sort::LedgerWrite, POOL),
    operation("reserve", Sort::LedgerWrite, POOL),
    operation("confirm", Sort::LedgerWrite, POOL),
    operation("lose", Sort::LedgerWrite, POOL),
    operation("release", Sort::LedgerWrite, POOL),
    operation("withdraw", Sort::LedgerWrite, POOL),
    operation("learn", Sort::LedgerWrite, POOL),
    operation("assign", Sort::LedgerWrite, POOL),
    operation("read ledger", Sort::LedgerRead, ANY),
    operation("lease", Sort::Write, ANY),
    operation("identity", Sort::Write, ANY),
    operation("event", Sort::Write, ANY),
    operation("finalizer", Sort::Write, POOL),
    operation("finalizer off", Sort::Write, POOL),
    operation("publish", Sort::Write, &["Bound", "Waiting", "Releasing"]),
    operation("deny", Sort::Write, ANY),
    // Each label is written in one state of the ledger only: that comes first.
    operation("tenant label", Sort::Write, &["claiming"]),
    operation("dirty label", Sort::Write, &["draining"]),
    operation("quarantine", Sort::Write, HELD),
    operation("lift", Sort::Write, HELD),
    operation("read lease", Sort::Read, ANY),
    operation("read identity", Sort::Read, ANY),
    operation("read control plane", Sort::Read, ANY),
    // A request is read live only if it is gone from the cache and was not given back.
    operation("read request", Sort::Read, ANY),
    operation("look for shoot", Sort::Read, ANY),
    operation("newest shoot", Sort::Read, ANY),
    operation("read entry", Sort::Read, &["free", "claiming", "claimed", "draining", "dirty"]),
    operation("read version", Sort::Read, ANY),
    operation("list requests", Sort::List, ANY),
    operation("list entries", Sort::List, ANY),
    operation("list shoots", Sort::List, ANY),
    operation("list others", Sort::List, ANY),
    operation("watch requests", Sort::Watch, ANY),
    operation("watch entries", Sort::Watch, ANY),
    operation("watch shoots", Sort::Watch, ANY),
    operation("watch others", Sort::Watch, ANY),
];
