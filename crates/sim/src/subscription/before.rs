//! What others have done in the pool before we come: labels, half of them, Shoots, and entries that share credentials.

use super::people::{grow, label_entry};
use crate::stage::{
    dice::dice_for,
    rates::{account_names, one},
    world::World,
};
use serde_json::json;

/// Does as much as the world says. What is done follows from its seed, each by itself, so that less of it does the same.
pub(crate) fn set_up(world: &World) {
    let names = account_names(&world.options);
    for number in 1..=world.options.used {
        let mut dice = dice_for(world.options.seed, &["before"], number);
        let Some(account) = one(&names, &mut dice) else { return };
        match dice.below(6) {
            0 => label_entry(world, &account, json!({ "tenantName": "x1" })),
            1 => label_entry(world, &account, json!({ "tenantName": "t1" })),
            // Half of what a tool writes that stopped between two labels.
            2 => label_entry(world, &account, json!({ "tenantName": "t1", "hyperscalerType": null })),
            3 => drop(grow(world, &format!("old{number}"), &account, None)),
            _ => {
                // The first letter says which pool it is in.
                let letter = account.chars().next().unwrap_or('a');
                world.add_entry(&format!("{letter}twin{number}"), &account);
            }
        }
    }
}
