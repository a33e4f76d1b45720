//! From a Cluster of the contract to a Shoot, and back, pure.
//!
//! | file | subject |
//! |---|---|
//! | `record` | what is kept in the status about where the Shoot is |

mod record;

pub use record::Record;
