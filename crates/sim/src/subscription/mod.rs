//! Requests for accounts: what people do who have them, and what their operator does.
//!
//! | file | what is in it |
//! |---|---|
//! | `swarm` | what a seed draws |
//! | `before` | what others have done before we come |
//! | `people` | tenants, whoever makes clusters, the cleaner, those who meddle |
//! | `call`, `operations` | what the operator's calls are |
//! | `scenario` | what is played with a crash at every write |

pub(crate) mod before;
pub(crate) mod call;
pub(crate) mod operations;
pub(crate) mod people;
pub(crate) mod scenario;
pub(crate) mod swarm;
