//! A garden in this process: Gardener's kinds on our own API server, with the checks that matter to a client of it.
//!
//! | file | what is in it |
//! |---|---|
//! | `fields`, `kinds` | what Gardener's kinds look like |
//! | `shoot`, `bindings`, `internal_secret`, `project`, `set_up` | what is refused, in gardener-apiserver's words and order, and what is filled in |
//! | `kubeconfig` | `shoots/adminkubeconfig` and `shoots/viewerkubeconfig` |
//! | `garden` | all of it, as an [`allotment_apiserver::extension::Extension`] |
//! | `servers`, `landscape`, `manifests` | a landscape like the real one, that is ready at once |
//! | `facts` | what a decision may look at |
//! | `json`, `refusals` | reading objects, and saying no |

mod bindings;
mod columns;
mod facts;
mod fields;
mod garden;
mod internal_secret;
mod json;
mod kinds;
mod kubeconfig;
mod landscape;
mod manifests;
mod project;
mod refusals;
mod servers;
mod set_up;
mod shoot;
#[cfg(test)]
mod tests;

pub use bindings::{admit_credentials_binding, admit_secret_binding};
pub use facts::Facts;
pub use fields::FieldsError;
pub use garden::Garden;
pub use landscape::{EmbeddedError, EmbeddedGarden, EmbeddedLandscape, garden_server};
pub use manifests::LoadError;
pub use project::admit_project;
pub use servers::{EmbeddedServers, ServerError};
pub use set_up::admit_cloud_profile;
pub use shoot::admit_shoot;
