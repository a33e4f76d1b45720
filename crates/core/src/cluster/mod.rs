//! From a Cluster to a Shoot: `Cluster + configuration + CloudProfile + live Shoot -> Shoot`, pure.
//!
//! [`render`] gives the fields that are ours, for server-side apply by one field manager from the first write on, so that
//! what is no longer asked for goes, and what Gardener or others fill in stays. What holds:
//!
//! - The same input gives the same Shoot; a live Shoot that was rendered gives itself. So the set of fields does not depend
//!   on whether there is a live Shoot, or a second apply would be a write.
//! - What cannot change on a live Shoot, stays: ranges, subnets, zones (they are only added to), what networking it has, how
//!   highly available it is. What Gardener brings up to date is never taken down: versions of Kubernetes and of images.
//! - What cannot be honoured is a [`Problem`] with the field and the allowed values, and stops the rollout; all of them are
//!   told at once. What is honoured in another way than asked is a [`Note`].
//!
//! | file | subject |
//! |---|---|
//! | `config` | the `clusters` section of the configuration |
//! | `facts` | what a CloudProfile offers |
//! | `scene` | what a Shoot is rendered from |
//! | `network`, `zones` | ranges and how they are cut; which zones |
//! | `providers/` | what the five providers' extensions want to know |
//! | `workers`, `version`, `maintenance`, `extensions`, `authentication` | parts of a Shoot |
//! | `lists` | lists that others write into too |
//! | `template/` | `shootTemplate`, and the table of every field of a Shoot |
//! | `render`, `name` | the whole, and what it is called |
//! | `applied` | whether what is rendered is what is there |
//! | `difference` | what is otherwise in two Shoots, for people |
//! | [`account`] | whether a Shoot may be made in an account, by its pool entries as they are now |
//! | [`adopt`] | whether a Shoot that exists can be taken over |
//! | [`flow`] | what is done next about a Cluster, and what its status says |

pub mod account;
pub mod adopt;
pub(crate) mod applied;
mod authentication;
mod config;
mod difference;
mod extensions;
mod facts;
pub mod flow;
pub(crate) mod lists;
mod maintenance;
mod name;
pub mod network;
pub(crate) mod problem;
mod providers;
mod render;
mod scene;
pub(crate) mod template;
pub(crate) mod version;
mod workers;
mod zones;

pub use authentication::{Authentication, KEY as AUTHENTICATION_KEY, shoot_of_config_map};
pub use config::{
    CloudProfileKind, Clusters, DefaultImage, DefaultMaintenance, DefaultVolume, Defaults, ProviderDefaults,
    Rollout,
};
pub use difference::{Difference, differences};
pub use facts::{Stage, stage_of};
pub use name::shoot_name;
pub use problem::{Note, Problem, Problems};
pub use render::{Rendered, render};
pub use scene::Input;
pub use template::{AllowedReference, Coverage, coverage};
pub use version::version_order;
