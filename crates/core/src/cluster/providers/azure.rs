//! Azure: a virtual network, with a subnet and a NAT gateway of its own for every zone. Regions without zones, and Shoots that
//! were made so, have one subnet.

use super::{Configs, Ground};
use crate::cluster::{network::zone_subnet, problem::Problem};
use serde_json::{Value, json};

pub(super) fn configs(ground: &Ground<'_>) -> Result<Configs, Problem> {
    let vnet = ground.keep("/networks/vnet", json!({ "cidr": ground.nodes }));
    let infrastructure = if let Some(workers) = ground.live("/networks/workers") {
        let zoned = ground.keep("/zoned", json!(false));
        let mut networks = json!({ "vnet": vnet, "workers": workers });
        if let Some(gateway) = ground.live("/networks/natGateway") {
            networks["natGateway"] = gateway.clone();
        }
        json!({ "zoned": zoned, "networks": networks })
    } else if ground.zones.is_empty() {
        let networks = json!({ "vnet": vnet, "workers": ground.nodes, "natGateway": nat_gateway() });
        json!({ "zoned": false, "networks": networks })
    } else {
        json!({ "zoned": true, "networks": { "vnet": vnet, "zones": zones(ground)? } })
    };
    Ok(Configs {
        infrastructure: ground.object("InfrastructureConfig", infrastructure),
        control_plane: ground.object("ControlPlaneConfig", json!({})),
    })
}

fn zones(ground: &Ground<'_>) -> Result<Vec<Value>, Problem> {
    // The provider wants a number where everybody else writes a string.
    if let Some(name) = ground.zones.iter().find(|name| name.parse::<i32>().is_err()) {
        let what = format!("zone {name:?} is not a number, as zones of azure are");
        return Err(Problem::new("spec.infrastructure.zones", what));
    }
    ground.zone_list(["cidr"; 3], |name, place| {
        let (number, subnet) = (name.parse::<i32>().ok()?, zone_subnet(ground.nodes, place)?);
        Some(json!({ "name": number, "cidr": subnet, "natGateway": nat_gateway() }))
    })
}

/// Azure's own default of four minutes, written out because the provider does not default it.
fn nat_gateway() -> Value {
    json!({ "enabled": true, "idleConnectionTimeoutMinutes": 4 })
}
