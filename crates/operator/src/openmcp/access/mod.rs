//! AccessRequests of this provider: a grant inside the cluster, and a kubeconfig in a Secret.
//!
//! | file | what is in it |
//! |---|---|
//! | `index` | what is known of requests, Clusters and Secrets, from watches; of Secrets only what is not secret |
//! | `look` | one look at a request: what is known, decided and done |
//! | `act` | the steps, as far as they are about the platform |
//! | `inside` | the steps, as far as they are inside a cluster |
//! | `secret` | the Secret with the kubeconfig |
//! | `minting` | how often a cluster is asked for a token |
//! | `run` | the controller as a whole |

mod act;
pub(super) mod index;
mod inside;
mod look;
mod minting;
mod run;
mod secret;
mod trouble;

pub use run::{CONTROLLER, Operator, Settings};
