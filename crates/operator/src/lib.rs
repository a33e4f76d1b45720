//! The shell of Allotment. Per kind: `observe` (all reads), a decision of `allotment-core`, `act` (all writes), and the
//! status from what was applied; beside them the ledger, leases, metrics and the web pages. Never a decision.
//!
//! | room | what is there |
//! |---|---|
//! | [`cleanup`] | dirty accounts: emptied, proven empty, returned to the pool |
//! | [`cluster`] | Clusters and their Shoots |
//! | [`config`] | the configuration file |
//! | [`dependencies`] | servers and stores: when each last worked, and since when it fails |
//! | `entries` | pool entries on their server |
//! | [`kubeconfig`] | KubeconfigRequests: small, short-lived access |
//! | [`ledger`] | who occupies which account, and everything that ever happened |
//! | `locks` | AccessLocks, kept by every operator that grants access |
//! | [`runtime`] | time, a queue of work, caches that follow a server, calls with a deadline, leadership |
//! | [`stray`] | objects of the platform's kinds where they do nothing |
//! | [`subscription`] | SubscriptionRequests and the pool of accounts |
//! | [`metrics`] | what is counted |
//! | `minting` | tokens that clusters gave, counted and kept until they are published |
//! | [`openmcp`] | the openMCP ClusterProvider for Gardener |
//! | [`planted`] | faults that the simulation must find |
//! | [`process`] | everything put together, as `allotment run` runs it |
//! | [`server`] | health and metrics over HTTP |
//! | [`target`] | the way into the clusters that are handed out |
//! | [`tenancy`] | which tenants a namespace has |
//! | [`survey`] | everything read once, for people who ask about the pool |

pub mod cleanup;
pub mod cluster;
pub mod config;
pub mod dependencies;
mod entries;
pub mod kubeconfig;
pub mod ledger;
mod locks;
pub mod metrics;
mod minting;
pub mod openmcp;
pub mod planted;
pub mod process;
pub mod runtime;
pub mod server;
pub mod stray;
pub mod subscription;
pub mod survey;
pub mod target;
pub mod tenancy;
