//! GCP: one subnet over all zones; the control plane names one of them.

use super::{Configs, Ground};
use serde_json::{Value, json};

pub(super) fn configs(ground: &Ground<'_>) -> Configs {
    let workers = ground.keep("/networks/workers", json!(ground.nodes));
    let zone = match ground.live_control_plane("/zone") {
        Some(zone) => zone.clone(),
        None => ground.zones.first().map_or(Value::Null, |zone| json!(zone)),
    };
    Configs {
        infrastructure: ground.object("InfrastructureConfig", json!({ "networks": { "workers": workers } })),
        control_plane: ground.object("ControlPlaneConfig", json!({ "zone": zone })),
    }
}
