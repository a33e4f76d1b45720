//! Which account? The pool of accounts, what can be true of one, and who gets which.

mod account;
mod decide;
pub mod key;
mod limits;
mod names;
mod queue;

#[cfg(test)]
mod tests;

pub use account::{Candidate, Holding};
pub use decide::{Answer, Choice, Dedicated, Lack, Question, decide};
pub use key::{LabelKeys, PoolKey};
pub use limits::{Accounts, Limit, MultiAccount};
pub use names::{AccountName, Epoch, RequestUid, Tenant};
pub use queue::{Waiting, ahead_of, in_turns};
