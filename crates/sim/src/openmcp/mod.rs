//! Providers of openMCP: several beside each other, of two names and in two environments, on one platform or two, in gardens
//! that they share.
//!
//! | file | what is in it |
//! |---|---|
//! | `providers` | which of them there are |
//! | `realm` | platforms and gardens |
//! | `garden` | the gardenlet, and the API servers of Shoots |
//! | `staff`, `run` | a process, as the product puts it together; processes and people on one stage |
//! | `deed`, `people`, `calm` | what people do, how, and how they put it right in the end |
//! | `edited` | what people changed field by field, and take back |
//! | `swarm`, `scenario` | what a seed draws, and what is played with a crash at every write |
//! | `call`, `operations` | what the calls of a process are |
//! | `sees`, `read`, `inside`, `rest` | what the oracles see: on platforms and in gardens, inside Shoots, and at rest |

pub(crate) mod call;
mod calm;
mod deed;
mod edited;
mod garden;
mod inside;
pub(crate) mod operations;
mod people;
mod providers;
mod read;
mod realm;
mod rest;
mod run;
pub(crate) mod scenario;
mod sees;
mod staff;
pub(crate) mod swarm;

pub use deed::{Access, Alter, Config, Deed, Garden, Land, Patch, Sign};
pub(crate) use edited::announce;
pub(crate) use people::{act, write};
pub use providers::Providers;
pub(crate) use read::CLUSTER_CONFIG;
pub(crate) use realm::{Place, Realm, set_up};
pub(crate) use run::perform;
pub(crate) use sees::{has_shoot, wrote};
