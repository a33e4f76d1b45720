//! The shell of Allotment. Per kind: `observe` (all reads), a decision of `allotment-core`, `act` (all writes), and the
//! status from what was applied; beside them the ledger, leases, metrics and the web pages. Never a decision.
//!
//! | room | what is there |
//! |---|---|
//! | [`ledger`] | who occupies which account, and everything that ever happened |
//! | [`runtime`] | time, a queue of work, caches that follow a server, calls with a deadline, leadership |
//! | [`subscription`] | SubscriptionRequests and the pool of accounts |
//! | [`metrics`] | what is counted |

pub mod ledger;
pub mod metrics;
pub mod runtime;
pub mod subscription;
