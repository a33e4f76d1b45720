//! Small simulators of clouds that have no independent server to test against: Azure, Google Cloud, Alibaba Cloud.
//!
//! A simulator refuses, delays, pages, filters and throttles as its cloud does, as far as the account cleaner can notice. Tests fill it,
//! and look into it afterwards, through the provider's own Python SDK alone (`clouds/`), so that the SDK's idea of the API is
//! compared with ours. Development only: no product binary links this crate.
//!
//! | module | content |
//! |---|---|
//! | [`alicloud`] | Alibaba Cloud |
//! | [`azure`] | Azure |
//! | [`federation`] | tokens of an issuer outside of a cloud |
//! | [`gcp`] | Google Cloud |
//! | [`server`] | HTTP on a free port of loopback, on a thread of its own |

pub mod alicloud;
pub mod azure;
pub mod federation;
pub mod gcp;
pub mod server;
