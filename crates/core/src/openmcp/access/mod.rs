//! AccessRequests, as far as the provider is concerned: what they have inside a cluster, and what is done next about them.
//!
//! | file | what is decided there |
//! |---|---|
//! | `grant` | what there is in the cluster for a request, and the kubeconfig of who logs in by OpenID Connect |
//! | `fault` | what can never be granted |
//! | `flow`, `living`, `ending` | the next step for a request, from the first to the last |
//! | `whose` | which objects inside a cluster are a request's own |

mod ending;
mod fault;
mod flow;
mod grant;
mod living;
#[cfg(test)]
mod tests;
mod whose;

pub use ending::Stranded;
pub use flow::{Decision, Fate, Hitch, Inside, Issued, Step, Target, View, decide};
pub use grant::{Grant, KINDS, OPENID_CONNECT, Object, Prefixes, Provider, grant, login};
pub use living::renewal;
pub use whose::{Found, own, selector};
