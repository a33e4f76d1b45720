//! The operations of the cleanup operator, and the states that matter to it.

use crate::stage::coverage::{ANY, Operation, Sort, operation};

/// The pool: whether an account is left.
const POOL: &[&str] = &["free", "exhausted"];

pub(crate) const OPERATIONS: [Operation; 27] = [
    operation("write a cleaning", Sort::LedgerWrite, POOL),
    operation("write a proof", Sort::LedgerWrite, POOL),
    operation("end a cleaning", Sort::LedgerWrite, POOL),
    operation("remember a Shoot", Sort::LedgerWrite, POOL),
    operation("record a new cloud account", Sort::LedgerWrite, POOL),
    operation("add a baseline", Sort::LedgerWrite, POOL),
    operation("cleanup lease", Sort::Write, ANY),
    operation("cleanup event", Sort::Write, ANY),
    operation("free account", Sort::Write, ANY),
    operation("stick account", Sort::Write, ANY),
    operation("unstick account", Sort::Write, ANY),
    operation("delete item", Sort::Write, ANY),
    operation("read cleanup lease", Sort::Read, ANY),
    operation("read ledger of fence", Sort::Read, ANY),
    operation("read credentials", Sort::Read, ANY),
    operation("read live entry", Sort::Read, ANY),
    operation("newest shoot of pool", Sort::Read, ANY),
    operation("identify cloud account", Sort::Read, ANY),
    operation("ask for regions", Sort::Read, ANY),
    operation("page of items", Sort::Read, ANY),
    operation("count items", Sort::Read, ANY),
    operation("list pool", Sort::List, ANY),
    operation("list other pools", Sort::List, ANY),
    operation("list shoots of pool", Sort::List, ANY),
    operation("watch other pools", Sort::Watch, ANY),
    operation("watch pool", Sort::Watch, ANY),
    operation("watch shoots of pool", Sort::Watch, ANY),
];
