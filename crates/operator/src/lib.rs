//! The shell of Allotment. Per kind: `observe` (all reads), a decision of `allotment-core`, `act` (all writes), and the
//! status from what was applied; beside them the ledger, leases, metrics and the web pages. Never a decision.
//!
//! The operators land here one by one; ARCHITECTURE.md says which are there.
