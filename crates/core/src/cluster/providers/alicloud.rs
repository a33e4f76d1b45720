//! Alibaba Cloud: a VPC with a subnet for every zone.

use super::{Configs, Ground};
use crate::cluster::{network::zone_subnet, problem::Problem};
use serde_json::json;

pub(super) fn configs(ground: &Ground<'_>) -> Result<Configs, Problem> {
    let zones = ground.zone_list(["workers"; 3], |name, place| {
        Some(json!({ "name": name, "workers": zone_subnet(ground.nodes, place)? }))
    })?;
    let vpc = ground.keep("/networks/vpc", json!({ "cidr": ground.nodes }));
    Ok(Configs {
        infrastructure: ground
            .object("InfrastructureConfig", json!({ "networks": { "vpc": vpc, "zones": zones } })),
        control_plane: ground.object("ControlPlaneConfig", json!({})),
    })
}
