//! Returned accounts: the cleanup operator beside the subscription operator, clouds in memory behind the pool, and people who
//! leave things in them.
//!
//! | file | content |
//! |---|---|
//! | `deed` | the acts of people, as a script has them |
//! | `leftover` | the items that people and Shoots leave, on each cloud |
//! | `swarm`, `scenario` | the acts that a seed draws; the acts with a crash at every write |
//! | `people` | acts carried out |
//! | `staff` | the operator, as the product puts it together |
//! | `client` | the clients of the cloud, and their faults |
//! | `call`, `operations` | the operator's calls |
//! | `truth` | the accounts as they are, whatever the operator says, and what follows for each deletion |
//! | `rest` | dirty accounts at rest |

pub(crate) mod call;
mod client;
mod deed;
mod leftover;
pub(crate) mod operations;
pub(crate) mod people;
mod rest;
pub(crate) mod scenario;
pub(crate) mod staff;
pub(crate) mod swarm;
mod truth;

pub use deed::{Deed, Leftover};
pub(crate) use rest::{at_rest, waits_rightly};
pub(crate) use truth::{Truth, has_checked, open_account, wrote, wrote_ledger};

/// The key of a Secret with the id of the account that its credentials lead to.
pub(crate) const ACCOUNT: &str = "account";

/// The region of all accounts.
pub(crate) const REGION: &str = "eu-central-1";

/// Deletions take minutes, and an account is listed many times before it is stuck, in milliseconds.
pub(crate) const REST_WITHIN: u64 = 1_700_000;
