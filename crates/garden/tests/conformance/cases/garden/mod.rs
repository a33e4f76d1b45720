//! Gardener's own kinds, on the embedded garden and on gardener-apiserver.

mod bindings;
mod kubeconfigs;
mod refusals;
mod selectors;
mod set_up;
mod shoots;

use crate::script::Case;
use serde_json::{Value, json};
use std::sync::LazyLock;

pub const SHOOTS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/{ns}/shoots";
pub const PROJECTS: &str = "/apis/core.gardener.cloud/v1beta1/projects";
pub const PROFILES: &str = "/apis/core.gardener.cloud/v1beta1/cloudprofiles";
pub const REGISTRATIONS: &str = "/apis/core.gardener.cloud/v1beta1/controllerregistrations";
pub const BINDINGS: &str = "/apis/security.gardener.cloud/v1alpha1/namespaces/{ns}/credentialsbindings";
pub const SECRET_BINDINGS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/{ns}/secretbindings";
pub const INTERNAL_SECRETS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/{ns}/internalsecrets";

/// Why a Shoot's version differs after a write that changes nothing.
pub const FIRST_WRITE: &str =
    "the first write to a new Shoot makes a new version in a real garden even if it changes nothing";
/// Why a refusal says less.
pub const NO_WARNING: &str = "a refusal comes without the warnings that an accepted write would have";

pub fn cases() -> Vec<Case> {
    let all = [
        shoots::cases(),
        refusals::cases(),
        selectors::cases(),
        bindings::cases(),
        set_up::cases(),
        kubeconfigs::cases(),
    ];
    all.into_iter().flatten().collect()
}

/// A Shoot that the account of the case can have.
pub fn shoot(name: &str) -> Value {
    static MANIFEST: LazyLock<Value> = LazyLock::new(|| {
        serde_saphyr::from_str(include_str!("../../../../../../landscape/manifests/shoots/aws.yaml")).unwrap()
    });
    let mut shoot = MANIFEST.clone();
    shoot["metadata"] = json!({ "name": name, "namespace": "{ns}" });
    shoot["spec"]["credentialsBindingName"] = json!("account");
    shoot
}

/// The same with something else in its spec.
pub fn shoot_with(name: &str, pointer: &str, value: Value) -> Value {
    let mut shoot = shoot(name);
    set(&mut shoot, pointer, value);
    shoot
}

/// Puts a value at a JSON pointer, and makes what is on the way.
pub fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/");
        place = match part.parse::<usize>() {
            Ok(index) if place.is_array() => &mut place[index],
            _ => &mut place[part],
        };
    }
    *place = value;
}

/// The annotation without which nothing is deleted.
pub fn confirmed() -> Value {
    json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": "true" } } })
}

/// What the gardenlet says when it is done.
pub fn succeeded(operation: &str) -> Value {
    json!({
        "type": operation, "state": "Succeeded", "progress": 100, "description": "done", "lastUpdateTime": "2024-01-01T00:00:00Z",
    })
}
