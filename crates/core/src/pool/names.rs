//! Names that are not strings: mixing up a tenant and an account must not compile.

use std::fmt;

/// Defines a name: a string that cannot be mixed up with another kind of string.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes the string as it is.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
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
    /// A tenant: a global account.
    Tenant
);
name!(
    /// A cloud account of the pool: the name of its binding (or Secret) in the garden project.
    AccountName
);
name!(
    /// The UID of a SubscriptionRequest. A request that was deleted and made again under the same name is another one.
    RequestUid
);

/// The leader's term. Raised in the ledger by whoever starts to lead; a write under an older one is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub i64);

impl fmt::Display for Epoch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}
