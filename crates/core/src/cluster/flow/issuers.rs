//! Issuers are access: whoever logs in by one can be given any right in the cluster. Where no new administrator is given, no new or
//! changed issuer is rolled out either. What the Shoot has stays, and a Cluster that asks for no issuer any more loses them.

use super::{View, tenant};
use crate::cluster::Rendered;
use allotment_api::gardener::Shoot;
use serde_json::{Value, json};

const CONFIG_MAP: &str = "/spec/kubernetes/kubeAPIServer/structuredAuthentication/configMapName";

/// Leaves a Shoot with the issuers that it has, where others may not be rolled out. Returns why, if there are others.
pub(super) fn withhold(view: &View<'_>, rendered: &mut Rendered, live: Option<&Shoot>) -> Option<String> {
    let why = match tenant::judge(view) {
        _ if view.is_locked => "access is locked by the platform".to_owned(),
        Err(denial) => denial.message,
        Ok(_) => return None,
    };
    let asked = rendered.shoot.pointer(CONFIG_MAP).and_then(Value::as_str)?;
    let server = live.and_then(|live| live.spec.kubernetes.kube_api_server.as_ref());
    let used = server.and_then(|server| server.structured_authentication.as_ref());
    let used = used.map(|used| used.config_map_name.as_str());
    if used == Some(asked) {
        return None;
    }
    match (used, rendered.shoot.pointer_mut(CONFIG_MAP)) {
        (Some(used), Some(asked)) => *asked = json!(used),
        _ => remove_reference(&mut rendered.shoot),
    }
    rendered.authentication = None;
    let kept = if used.is_some() { "keeps the issuers that it has" } else { "gets no issuer" };
    Some(format!("withheld: {why}; the Shoot {kept}"))
}

fn remove_reference(shoot: &mut Value) {
    let kubernetes = shoot.pointer_mut("/spec/kubernetes").and_then(Value::as_object_mut);
    let Some(kubernetes) = kubernetes else { return };
    let Some(server) = kubernetes.get_mut("kubeAPIServer").and_then(Value::as_object_mut) else { return };
    server.remove("structuredAuthentication");
    if server.is_empty() {
        kubernetes.remove("kubeAPIServer");
    }
}
