//! Names that are not strings, and the clouds that have a table.

use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeSet, fmt, str::FromStr};

/// Defines a name: a string that cannot be mixed up with another kind of string.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Cow<'static, str>);

        impl $name {
            /// Takes the string as it is.
            pub fn new(name: impl Into<String>) -> Self {
                Self(Cow::Owned(name.into()))
            }

            /// For tables.
            pub const fn of(name: &'static str) -> Self {
                Self(Cow::Borrowed(name))
            }

            /// The string.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A region of a cloud, or [`Place::GLOBAL`].
    Place
);
name!(
    /// A kind of item, as the cloud's table names it: `Vpc`, `FloatingIp`.
    KindName
);
name!(
    /// The id that the cloud gave an item, unique within its kind and place.
    ItemId
);
name!(
    /// The cloud's own id of an account: an AWS account id, an OpenStack project id.
    CloudAccountId
);
name!(
    /// The name of an independent count: `network-interfaces`, `quota.ports`.
    CountName
);
name!(
    /// The technical id of a Shoot, `shoot--project--name`: the name of everything that Gardener makes for it.
    TechnicalId
);

impl Place {
    /// Where items live that belong to no region.
    pub const GLOBAL: Place = Place::of("global");

    /// Whether it stands for the whole account.
    pub fn is_global(&self) -> bool {
        *self == Self::GLOBAL
    }
}

/// The Shoots that an account ever had. Items that can only be asked for by name are found through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShootHistory {
    /// All of them.
    Complete(BTreeSet<TechnicalId>),
    /// Some are forgotten, so a listing by name proves nothing.
    Incomplete,
}

/// A cloud with a table of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cloud {
    /// Amazon Web Services, in any partition.
    Aws,
    /// Microsoft Azure, in any of its clouds.
    Azure,
    /// Google Cloud.
    Gcp,
    /// Any OpenStack.
    OpenStack,
    /// Alibaba Cloud.
    Alicloud,
}

impl Cloud {
    /// Every cloud with a table.
    pub const ALL: [Cloud; 5] = [Cloud::Aws, Cloud::Azure, Cloud::Gcp, Cloud::OpenStack, Cloud::Alicloud];

    /// Gardener's provider type.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Gcp => "gcp",
            Self::OpenStack => "openstack",
            Self::Alicloud => "alicloud",
        }
    }
}

impl fmt::Display for Cloud {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A provider type without a table: its accounts are never cleaned and never freed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cleanup of {0:?} accounts is not supported")]
pub struct NotSupported(pub String);

impl FromStr for Cloud {
    type Err = NotSupported;

    fn from_str(provider_type: &str) -> Result<Self, NotSupported> {
        let found = Self::ALL.into_iter().find(|cloud| cloud.as_str() == provider_type);
        found.ok_or_else(|| NotSupported(provider_type.to_owned()))
    }
}
