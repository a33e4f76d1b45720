//! One file for each cloud: the items of a new account, the leftovers of a Shoot, and the cloud's words.

pub(super) mod alicloud;
pub(super) mod aws;
pub(super) mod azure;
pub(super) mod gcp;
pub(super) mod openstack;
