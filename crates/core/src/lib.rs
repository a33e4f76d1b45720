//! All decisions of Allotment, as plain synchronous values: no client, no clock, no randomness, no `HashMap`.
//!
//! | room | what is decided there |
//! |---|---|
//! | [`access`] | which kubeconfigs are taken and handed out, and who is an administrator inside a cluster |
//! | [`admission`] | what is refused at `kubectl apply` already |
//! | [`check`] | nothing: it says what must always hold |
//! | [`cleanup`] | what is deleted in a returned account, and when it is proven empty |
//! | [`cluster`] | what Shoot a Cluster becomes, and what is done next about it |
//! | [`condition`] | when a condition changes, and when its transition time does |
//! | [`failure`] | what an object says while its reconcile fails |
//! | [`label`] | what can be the value of a label |
//! | [`marks`] | which finalizers and ownerReferences are not ours |
//! | [`openmcp`] | the ClusterProvider contract: profiles, responsibility, scheduling |
//! | [`pool`] | which account a request gets, and what becomes of accounts |
//! | [`quotas`] | how much one namespace, and one tenant, may ask for |
//! | [`rules`] | which pool a request goes to: the rule language |
//! | [`tenancy`] | which tenants a namespace may name |
//! | [`text`] | words of others, as far as they are kept |

pub mod access;
pub mod admission;
pub mod check;
pub mod cleanup;
pub mod cluster;
pub mod condition;
pub mod failure;
mod glob;
pub mod label;
pub mod marks;
pub mod openmcp;
pub mod pool;
pub mod quotas;
pub mod rules;
pub mod tenancy;
pub mod text;
