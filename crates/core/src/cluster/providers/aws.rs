//! AWS: a VPC, and per zone a subnet for nodes and two for load balancers.

use super::{Configs, Ground};
use crate::cluster::{network::aws_subnets, problem::Problem};
use serde_json::{Value, json};

pub(super) fn configs(ground: &Ground<'_>) -> Result<Configs, Problem> {
    let zones = ground.zone_list(["workers", "public", "internal"], |name, place| {
        let subnets = aws_subnets(ground.nodes, place)?;
        let (workers, public, internal) = (subnets.workers, subnets.public, subnets.internal);
        Some(json!({ "name": name, "workers": workers, "public": public, "internal": internal }))
    })?;
    let vpc = ground.keep("/networks/vpc", json!({ "cidr": ground.nodes }));
    let networks = json!({ "networks": { "vpc": vpc, "zones": zones } });
    Ok(Configs {
        infrastructure: ground.object("InfrastructureConfig", networks),
        control_plane: ground.object("ControlPlaneConfig", json!({})),
    })
}

/// New pools get instances whose metadata pods cannot read by a stray request (IMDSv2). Pools that were made without it
/// stay so: the change would replace every node.
pub(in crate::cluster) fn worker_config(live: Option<Option<&Value>>) -> Option<Value> {
    let fresh = json!({ "httpTokens": "required", "httpPutResponseHopLimit": 2 });
    let options = match live {
        None => fresh,
        Some(config) => config?.get("instanceMetadataOptions")?.clone(),
    };
    Some(json!({
        "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1",
        "kind": "WorkerConfig",
        "instanceMetadataOptions": options,
    }))
}
