//! From a Cluster of the contract to a Shoot, and back, pure.
//!
//! A look at a Cluster is a loop: [`decide`] says the next [`Step`] from what is known, the shell takes it, what came of it is
//! part of what is known. The last decision's status is written, if it is another one.
//!
//! | file | subject |
//! |---|---|
//! | `view` | what is known, and what is decided |
//! | `living`, `ending` | the decision |
//! | `render`, `patch` | what the Shoot looks like |
//! | `binding` | whether a Shoot may be made in an account |
//! | `whose` | whose a Shoot is that has our name |
//! | `record` | what is kept in the status about where the Shoot is |
//! | `draft` | what the status says |

mod binding;
mod draft;
mod ending;
mod living;
mod patch;
mod record;
mod render;
#[cfg(test)]
mod tests;
mod view;
mod whose;

pub use binding::{Account, Binding, BindingKind};
pub use record::Record;
pub use view::{Decision, Place, Seen, Step, View, decide, names};
pub use whose::is_ours;
