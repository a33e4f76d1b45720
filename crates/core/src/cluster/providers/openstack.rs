//! OpenStack: one subnet, a pool of floating addresses, and something that makes load balancers; the CloudProfile says which
//! there are.

use super::{Configs, Ground};
use crate::cluster::problem::Problem;
use serde_json::{Value, json};

pub(super) fn configs(ground: &Ground<'_>) -> Result<Configs, Problem> {
    let defaults = ground.scene.defaults;
    let live_pool = ground.live("/floatingPoolName");
    let pool = choose(ground, live_pool, defaults.floating_pool.as_deref(), "floatingPools", "floatingPool")?;
    let live_balancer = ground.live_control_plane("/loadBalancerProvider");
    let set = defaults.load_balancer_provider.as_deref();
    let balancer = choose(ground, live_balancer, set, "loadBalancerProviders", "loadBalancerProvider")?;
    let workers = ground.keep("/networks/workers", json!(ground.nodes));
    let infrastructure = json!({ "floatingPoolName": pool, "networks": { "workers": workers } });
    Ok(Configs {
        infrastructure: ground.object("InfrastructureConfig", infrastructure),
        control_plane: ground.object("ControlPlaneConfig", json!({ "loadBalancerProvider": balancer })),
    })
}

fn choose(
    ground: &Ground<'_>,
    live: Option<&Value>,
    configured: Option<&str>,
    constraint: &str,
    key: &str,
) -> Result<Value, Problem> {
    let (facts, region) = (ground.scene.facts, &ground.scene.region.name);
    let named = || configured.or_else(|| facts.constraint(constraint, region)).map(|name| json!(name));
    live.cloned().or_else(named).ok_or_else(|| {
        let what = format!("neither the configuration nor the CloudProfile names one for region {region}");
        Problem::new(format!("clusters.providers.openstack.{key}"), what)
    })
}
