//! The kubeconfig operator: small, short-lived, revocable access.
//!
//! | file | what is in it |
//! |---|---|
//! | `index` | what is known, from watches |
//! | `run` | the operator as a whole |
//! | `look` | one look at a request: decide, act, decide again, and the status at the end |
//! | `act` | the steps, as far as they are about the request |
//! | `inside` | the steps, as far as they are inside a cluster |
//! | `minting` | how often a cluster is asked for a token |
//! | `publish` | where a kubeconfig goes, and where it is found again |
//! | `report` | what a request says while its reconcile fails |

mod act;
mod index;
mod inside;
mod look;
mod minting;
mod ownership;
mod publish;
mod report;
mod run;
mod trouble;

pub use index::RequestName;
pub(crate) use index::rotation;
pub use run::{LEASE_NAME, Operator, Parts, Policy, Settings};
pub use trouble::Trouble;
