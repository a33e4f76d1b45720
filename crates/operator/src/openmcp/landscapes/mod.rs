//! The gardens that this process has logged in to, and the way from a Cluster to its Shoot.
//!
//! | file | what is in it |
//! |---|---|
//! | `index` | what is known of Landscapes, ProviderConfigs and ClusterProfiles, from watches |
//! | `login` | the kubeconfig that a Landscape names, and the projects that can be used with it |
//! | `dial` | how a kubeconfig becomes a client, and how that stays when the credentials change |
//! | `run` | follows, and logs in |
//! | `way` | from a Cluster to its Shoot, or why not |
//!
//! Nothing is written here, neither to a server nor to a disk. Nobody waits for a server while holding the lock, and every
//! Landscape has a lane of its own.

mod dial;
mod index;
mod login;
mod run;
mod way;

pub use dial::{Dial, REQUESTS_PER_SECOND};
pub use index::{Login, NoLogin, Place};
pub use run::{Landscapes, Parts};
pub use way::{NoWay, Way};
