//! What schemas refuse without a rule: enums, formats, bounds, required fields.

use super::kyma::{cluster, kubeconfig_request, subscription_request};
use serde_json::{Value, json};

const CLUSTER: &str = "clusters.operator.kyma-project.io";
const KUBECONFIG: &str = "kubeconfigrequests.operator.kyma-project.io";
const SUBSCRIPTION: &str = "subscriptionrequests.control-plane.kyma-project.io";

/// The CRD, a valid object, a merge patch that makes it bad, and a word that the refusal has.
pub(crate) fn rows() -> Vec<(&'static str, Value, Value, &'static str)> {
    let infrastructure = |change: Value| json!({ "spec": { "infrastructure": change } });
    let core = |change: Value| json!({ "spec": { "core": change } });
    let spec = |change: Value| json!({ "spec": change });
    let pool = json!({ "name": "gpu", "machineType": "g", "autoScalerMin": 0, "autoScalerMax": 2 });
    vec![
        (CLUSTER, cluster(), infrastructure(json!({ "provider": "ibm" })), "provider"),
        (CLUSTER, cluster(), infrastructure(json!({ "numberOfZones": 0 })), "numberOfZones"),
        (
            CLUSTER,
            cluster(),
            infrastructure(json!({ "numberOfZones": 9, "autoScalerMax": 9 })),
            "numberOfZones",
        ),
        (CLUSTER, cluster(), infrastructure(json!({ "autoScalerMin": 0 })), "autoScalerMin"),
        (CLUSTER, cluster(), infrastructure(json!({ "machineType": null })), "machineType"),
        (
            CLUSTER,
            cluster(),
            infrastructure(json!({ "subscriptionSelector": "a b" })),
            "subscriptionSelector",
        ),
        (CLUSTER, cluster(), infrastructure(json!({ "volume": { "size": "80" } })), "size"),
        (CLUSTER, cluster(), infrastructure(json!({ "highAvailability": "planet" })), "highAvailability"),
        (CLUSTER, cluster(), infrastructure(json!({ "additionalWorkers": [pool, pool] })), "Duplicate"),
        (CLUSTER, cluster(), core(json!({ "region": null })), "region"),
        (CLUSTER, cluster(), core(json!({ "kubernetesVersion": "latest" })), "kubernetesVersion"),
        (CLUSTER, cluster(), core(json!({ "shootName": "9a" })), "shootName"),
        (CLUSTER, cluster(), spec(json!({ "administrators": ["a", "a"] })), "Duplicate"),
        (
            CLUSTER,
            cluster(),
            spec(json!({ "maintenance": { "timeWindow": { "begin": "25:00", "end": "030000+0000" } } })),
            "begin",
        ),
        (KUBECONFIG, kubeconfig_request(), spec(json!({ "expiration": 0 })), "expiration"),
        (KUBECONFIG, kubeconfig_request(), spec(json!({ "expiration": 599 })), "expiration"),
        (KUBECONFIG, kubeconfig_request(), spec(json!({ "clusterRole": { "rules": [] } })), "rules"),
        (KUBECONFIG, kubeconfig_request(), spec(json!({ "role": { "namespace": "No" } })), "namespace"),
        (KUBECONFIG, kubeconfig_request(), spec(json!({ "cluster": "" })), "cluster"),
        (SUBSCRIPTION, subscription_request(), spec(json!({ "provider": "ibm" })), "provider"),
        (
            SUBSCRIPTION,
            subscription_request(),
            spec(json!({ "subscriptionSelector": null })),
            "subscriptionSelector",
        ),
        (
            SUBSCRIPTION,
            subscription_request(),
            spec(json!({ "subscriptionSelector": "globalaccount:" })),
            "subscriptionSelector",
        ),
        (SUBSCRIPTION, subscription_request(), spec(json!({ "plan": "a plan" })), "plan"),
    ]
}
