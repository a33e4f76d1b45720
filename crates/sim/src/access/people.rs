//! People who ask for access.

use crate::{
    cluster::Favour,
    stage::world::{By, World},
};
use http::Method;
use serde_json::{Value, json};

const REQUESTS: &str = "/apis/operator.kyma-project.io/v1alpha1/namespaces/default/kubeconfigrequests";

/// Longer than any run lasts: what is rotated by its time is another matter, and would come in the way of what must be quiet.
const LIFE_SECONDS: u64 = 7200;

pub(crate) fn act(world: &World, access: &str, cluster: &str, what: Favour) {
    let path = format!("{REQUESTS}/{access}");
    let patch = |body: Value| {
        world.act(By::Other, Method::PATCH, &path, Some(&body));
    };
    let mark = |key: &str, value: &str| {
        let key = format!("operator.kyma-project.io/{key}");
        patch(json!({ "metadata": { "annotations": { key: value } } }));
    };
    let pods = json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] });
    match what {
        Favour::Ask => {
            let request = json!({
                "apiVersion": "operator.kyma-project.io/v1alpha1",
                "kind": "KubeconfigRequest",
                "metadata": { "name": access },
                "spec": { "cluster": cluster, "clusterRole": pods, "expiration": LIFE_SECONDS },
            });
            world.act(By::Other, Method::POST, REQUESTS, Some(&request));
        }
        Favour::Narrow => {
            let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }]);
            patch(
                json!({ "spec": { "clusterRole": null, "role": { "namespace": "team", "createNamespace": true, "rules": rules } } }),
            );
        }
        Favour::Widen => patch(json!({ "spec": { "clusterRole": pods, "role": null } })),
        Favour::Rotate => mark("rotate", "true"),
        Favour::Revoke => mark("revoke", "true"),
        Favour::Restore => mark("revoke", "false"),
        Favour::Drop => {
            world.act(By::Other, Method::DELETE, &path, None);
        }
    }
}
