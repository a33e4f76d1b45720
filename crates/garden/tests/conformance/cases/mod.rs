//! All cases, by subject.

mod access;
mod applies;
mod builtin;
mod definitions;
mod deletions;
pub mod garden;
mod kinds;
mod names;
mod namespaces;
mod patches;
mod policies;
mod protocol;
mod reads;
mod schemas;
pub mod shared;
mod tokens;
mod types;
mod watches;
mod writes;

use crate::script::Case;

pub fn all() -> Vec<Case> {
    let all = [
        kinds::cases(),
        writes::cases(),
        patches::cases(),
        applies::cases(),
        deletions::cases(),
        reads::cases(),
        watches::cases(),
        names::cases(),
        namespaces::cases(),
        builtin::cases(),
        schemas::cases(),
        definitions::cases(),
        tokens::cases(),
        types::cases(),
        access::cases(),
        protocol::cases(),
        policies::cases(),
        garden::cases(),
    ];
    all.into_iter().flatten().collect()
}
