//! A hostile tenant beside honest ones: all three operators with enforced tenancy, honest people in one namespace, and in another
//! a tenant who writes there whatever a schema allows, statuses included.
//!
//! | file | content |
//! |---|---|
//! | `deed`, `people` | the acts of the hostile tenant and of the platform, and how they are carried out |
//! | `swarm`, `scenario` | the draw of a seed, and the script that is run with a crash at every write |
//! | `observe` | the input of the oracle `allotment_core::check::Isolation` |

mod deed;
mod observe;
pub(crate) mod people;
pub(crate) mod scenario;
pub(crate) mod swarm;

pub use deed::{Deed, Forgery, Lie, Theft};
pub(crate) use observe::{isolation, see_claim};

use crate::stage::{script::Options, world::NAMESPACE};
use allotment_core::tenancy::Tenancy;

/// The namespace of the hostile tenant.
pub(crate) const HOSTILE: &str = "hostile";

/// The hostile tenant.
pub(crate) const TENANT: &str = "m1";

/// A user of the hostile tenant.
pub(crate) const USER: &str = "mallory@example.com";

/// A Secret in the garden project that belongs to the honest tenants.
pub(crate) const SECRET: &str = "dns-of-t1";

/// Which namespace has which tenants. Without a hostile tenant, everybody is trusted.
pub(crate) fn tenancy(options: &Options) -> Tenancy {
    if options.hostile == 0 {
        return Tenancy::trusted();
    }
    let honest = (1..=options.tenants).map(|number| format!("t{number}")).collect();
    let namespaces =
        [(NAMESPACE.to_owned(), honest), (HOSTILE.to_owned(), vec![TENANT.to_owned()])].into_iter().collect();
    Tenancy { namespaces, ..Tenancy::default() }
}

/// The name of an object in the hostile namespace, as the simulation keeps it. Objects of honest tenants have plain names.
pub(crate) fn qualified(name: &str) -> String {
    format!("{HOSTILE}/{name}")
}

pub(crate) fn is_qualified(name: &str) -> bool {
    name.contains('/')
}
