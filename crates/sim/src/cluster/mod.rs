//! Clusters: the cluster operator beside the subscription operator, a gardenlet, and people who have Clusters.
//!
//! | file | what is in it |
//! |---|---|
//! | `deed`, `people` | what people do, and how |
//! | `swarm` | what a seed draws |
//! | `scenario` | what is played with a crash at every write: create, ready, update, delete |
//! | `garden` | the gardenlet, and the API servers of Shoots |
//! | `staff` | the operator, as the product puts it together |
//! | `call`, `operations` | what its calls are |
//! | `fleet` | what the oracles see |

pub(crate) mod call;
mod deed;
pub(crate) mod fleet;
pub(crate) mod garden;
pub(crate) mod operations;
pub(crate) mod people;
pub(crate) mod scenario;
pub(crate) mod staff;
pub(crate) mod swarm;

pub use deed::{Change, Deed, Favour, Mark, Trouble};
