//! AccessRequests, as far as they are the same for every provider: which Cluster, whose, for how long.
//!
//! | file | what is in it |
//! |---|---|
//! | `index` | what is known, from watches, and who waits for what |
//! | `look` | one look at a request |
//! | `run` | the controller as a whole |
//!
//! It is the only one of its kind on a platform, whichever providers there are: it can be ours, or upstream's.

pub(super) mod index;
mod look;
mod run;

pub use run::{LEASE_NAME, Operator};

pub(super) const CONTROLLER: &str = "accessrequest-generic";
