//! Kubeconfigs: the kubeconfig operator beside the two others, and people who ask for access.
//!
//! | file | what is in it |
//! |---|---|
//! | `people` | what people do |
//! | `swarm`, `scenario` | what a seed draws, and what is played with a crash at every write |
//! | `staff` | the operator, as the product puts it together |
//! | `call`, `operations` | what its calls are |
//! | `grants` | what the oracle sees: who has what inside which Shoot |

pub(crate) mod call;
pub(crate) mod grants;
pub(crate) mod operations;
pub(crate) mod people;
pub(crate) mod scenario;
pub(crate) mod staff;
pub(crate) mod swarm;
