//! What tenants write: a [`Cluster`], a [`SubscriptionRequest`] for the account it runs in, a [`KubeconfigRequest`] for access.

mod cluster;
mod cluster_infrastructure;
mod cluster_oidc;
mod kubeconfig_request;
mod subscription_request;

pub use cluster::*;
pub use cluster_infrastructure::*;
pub use cluster_oidc::*;
pub use kubeconfig_request::*;
pub use subscription_request::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The clouds that an account can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Amazon Web Services.
    Aws,
    /// Microsoft Azure.
    Azure,
    /// Google Cloud.
    Gcp,
    /// OpenStack.
    Openstack,
    /// Alibaba Cloud.
    Alicloud,
}

impl Provider {
    /// Every provider, in a fixed order.
    pub const ALL: [Self; 5] = [Self::Aws, Self::Azure, Self::Gcp, Self::Openstack, Self::Alicloud];

    /// The name that Gardener, labels and metrics use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Gcp => "gcp",
            Self::Openstack => "openstack",
            Self::Alicloud => "alicloud",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
