//! The shell of Allotment. Per kind: `observe` (all reads), a decision of `allotment-core`, `act` (all writes), and the
//! status from what was applied; beside them the ledger, leases, metrics and the web pages. Never a decision.
//!
//! | room | what is there |
//! |---|---|
//! | [`ledger`] | which request sits in which account, who waits, and the history, in SQLite or PostgreSQL |
//! | [`runtime`] | time, a queue of work, caches that follow a server, calls with a deadline, leadership |

pub mod ledger;
pub mod runtime;
