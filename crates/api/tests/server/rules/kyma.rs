//! The rules of the kinds that tenants write.

use super::Row;
use serde_json::{Value, json};

const CLUSTER: &str = "clusters.operator.kyma-project.io";
const KUBECONFIG: &str = "kubeconfigrequests.operator.kyma-project.io";
const SUBSCRIPTION: &str = "subscriptionrequests.control-plane.kyma-project.io";

/// A Cluster that Gardener makes, with every field that a rule reads.
pub(crate) fn cluster() -> Value {
    json!({ "spec": {
        "core": { "purpose": "production", "region": "eu-central-1", "platformRegion": "cf-eu10", "shootName": "abc" },
        "infrastructure": {
            "machineType": "m5.2xlarge", "autoScalerMin": 3, "autoScalerMax": 10, "provider": "aws",
            "numberOfZones": 3, "subscriptionSelector": "shared",
            "networking": { "nodes": "10.250.0.0/16", "pods": "10.96.0.0/13", "services": "10.104.0.0/13" },
            "additionalWorkers": [
                { "name": "gpu", "machineType": "g4dn.xlarge", "autoScalerMin": 0, "autoScalerMax": 2 }
            ],
            "apiServerACL": { "allowedCIDRs": ["10.0.0.0/8"] }
        }
    }})
}

/// A Cluster that the tenant brings along.
pub(crate) fn byoc() -> Value {
    json!({ "spec": { "byoc": { "kubeconfigSecretRef": { "name": "mine" } } } })
}

pub(crate) fn kubeconfig_request() -> Value {
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    json!({ "spec": {
        "cluster": "c", "clusterNamespace": "n", "clusterRole": { "rules": rules },
        "role": { "namespace": "default", "rules": rules }
    }})
}

pub(crate) fn subscription_request() -> Value {
    json!({ "spec": {
        "provider": "aws", "subscriptionSelector": "abcd-0001", "plan": "aws", "platformRegion": "cf-eu10",
        "hyperscalerRegion": "eu-central-1"
    }})
}

/// A rule about one object.
fn rule(
    crd: &'static str,
    at: &'static str,
    message: &'static str,
    base: Value,
    good: Value,
    bad: Value,
) -> Row {
    Row { crd, at, message, base, good, bad, change: false }
}

/// A rule about a change.
fn change(
    crd: &'static str,
    at: &'static str,
    message: &'static str,
    base: Value,
    good: Value,
    bad: Value,
) -> Row {
    Row { crd, at, message, base, good, bad, change: true }
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = cluster_rows();
    rows.extend(cluster_changes());
    rows.extend(infrastructure_rows());
    rows.extend(request_rows());
    rows
}

fn cluster_rows() -> Vec<Row> {
    let reference = json!({ "kubeconfigSecretRef": { "name": "mine" } });
    vec![
        rule(
            CLUSTER,
            "spec",
            "exactly one of infrastructure and byoc must be set",
            cluster(),
            json!({}),
            json!({ "spec": { "byoc": reference } }),
        ),
        rule(
            CLUSTER,
            "spec",
            "core is required with infrastructure",
            cluster(),
            json!({ "spec": { "core": { "purpose": null } } }),
            json!({ "spec": { "core": null } }),
        ),
        rule(
            CLUSTER,
            "spec",
            "shootTemplate has no meaning with byoc",
            byoc(),
            json!({}),
            json!({ "spec": { "shootTemplate": { "spec": {} } } }),
        ),
        rule(
            CLUSTER,
            "spec.core.purpose",
            "purpose must be evaluation, testing, development or production",
            cluster(),
            json!({ "spec": { "core": { "purpose": "TESTING" } } }),
            json!({ "spec": { "core": { "purpose": "infrastructure" } } }),
        ),
        rule(
            CLUSTER,
            "spec.core.shootName",
            "shootName must not contain two hyphens in a row",
            cluster(),
            json!({ "spec": { "core": { "shootName": "a-b" } } }),
            json!({ "spec": { "core": { "shootName": "a--b" } } }),
        ),
    ]
}

fn cluster_changes() -> Vec<Row> {
    vec![
        change(
            CLUSTER,
            "spec",
            "a cluster cannot change from infrastructure to byoc or back",
            byoc(),
            json!({ "spec": { "byoc": { "kubeconfigSecretRef": { "name": "other" } } } }),
            json!({ "spec": { "byoc": null, "core": cluster()["spec"]["core"], "infrastructure": cluster()["spec"]["infrastructure"] } }),
        ),
        change(
            CLUSTER,
            "spec",
            "core may not be removed once set",
            json!({ "spec": { "byoc": byoc()["spec"]["byoc"], "core": { "region": "here" } } }),
            json!({ "spec": { "core": { "purpose": "testing" } } }),
            json!({ "spec": { "core": null } }),
        ),
        change(
            CLUSTER,
            "spec.core.region",
            "region is immutable",
            cluster(),
            json!({ "spec": { "core": { "purpose": "testing" } } }),
            json!({ "spec": { "core": { "region": "eu-west-1" } } }),
        ),
        change(
            CLUSTER,
            "spec.core",
            "shootName is immutable",
            cluster(),
            json!({ "spec": { "core": { "purpose": "testing" } } }),
            json!({ "spec": { "core": { "shootName": null } } }),
        ),
        change(
            CLUSTER,
            "spec.core",
            "platformRegion is immutable",
            cluster(),
            json!({ "spec": { "core": { "purpose": "testing" } } }),
            json!({ "spec": { "core": { "platformRegion": "cf-eu11" } } }),
        ),
        change(
            CLUSTER,
            "spec.infrastructure.provider",
            "provider is immutable",
            cluster(),
            json!({ "spec": { "infrastructure": { "machineType": "m6i.large" } } }),
            json!({ "spec": { "infrastructure": { "provider": "gcp" } } }),
        ),
        change(
            CLUSTER,
            "spec.infrastructure.networking",
            "nodes is immutable",
            cluster(),
            json!({ "spec": { "infrastructure": { "networking": { "dualStack": true } } } }),
            json!({ "spec": { "infrastructure": { "networking": { "nodes": "10.251.0.0/16" } } } }),
        ),
        change(
            CLUSTER,
            "spec.infrastructure.networking",
            "pods is immutable",
            cluster(),
            json!({ "spec": { "infrastructure": { "networking": { "dualStack": true } } } }),
            json!({ "spec": { "infrastructure": { "networking": { "pods": null } } } }),
        ),
        change(
            CLUSTER,
            "spec.infrastructure.networking",
            "services is immutable",
            cluster(),
            json!({ "spec": { "infrastructure": { "networking": { "dualStack": true } } } }),
            json!({ "spec": { "infrastructure": { "networking": { "services": "10.112.0.0/13" } } } }),
        ),
    ]
}

fn infrastructure_rows() -> Vec<Row> {
    let workers =
        |min: i32| json!([{ "name": "gpu", "machineType": "g", "autoScalerMin": min, "autoScalerMax": 2 }]);
    let infrastructure = |change: Value| json!({ "spec": { "infrastructure": change } });
    let networking = |change: Value| json!({ "spec": { "infrastructure": { "networking": change } } });
    vec![
        rule(
            CLUSTER,
            "spec.infrastructure",
            "autoScalerMin must not be above autoScalerMax",
            cluster(),
            infrastructure(json!({ "autoScalerMin": 10 })),
            infrastructure(json!({ "autoScalerMin": 11 })),
        ),
        rule(
            CLUSTER,
            "spec.infrastructure",
            "autoScalerMax must be at least numberOfZones: every zone needs a node",
            cluster(),
            infrastructure(json!({ "autoScalerMin": 1, "autoScalerMax": 3 })),
            infrastructure(json!({ "autoScalerMin": 1, "autoScalerMax": 2 })),
        ),
        rule(
            CLUSTER,
            "spec.infrastructure",
            "zones must name as many zones as numberOfZones says",
            cluster(),
            infrastructure(json!({ "zones": ["a", "b", "c"] })),
            infrastructure(json!({ "zones": ["a", "b"] })),
        ),
        rule(
            CLUSTER,
            "spec.infrastructure.additionalWorkers[]",
            "autoScalerMin must not be above autoScalerMax",
            cluster(),
            infrastructure(json!({ "additionalWorkers": workers(2) })),
            infrastructure(json!({ "additionalWorkers": workers(3) })),
        ),
        rule(
            CLUSTER,
            "spec.infrastructure.networking.nodes",
            "nodes must be a CIDR such as 10.250.0.0/16",
            cluster(),
            networking(json!({ "nodes": "10.0.0.0/24" })),
            networking(json!({ "nodes": "10.0.0.0" })),
        ),
        rule(
            CLUSTER,
            "spec.infrastructure.networking.pods",
            "pods must be a CIDR such as 10.96.0.0/13",
            cluster(),
            networking(json!({ "pods": "10.0.0.0/24" })),
            networking(json!({ "pods": "10.0.0.0/33" })),
        ),
        rule(
            CLUSTER,
            "spec.infrastructure.networking.services",
            "services must be a CIDR such as 10.104.0.0/13",
            cluster(),
            networking(json!({ "services": "10.0.0.0/24" })),
            networking(json!({ "services": "all" })),
        ),
        rule(
            CLUSTER,
            "spec.infrastructure.apiServerACL.allowedCIDRs",
            "allowedCIDRs must be CIDRs such as 10.0.0.0/8",
            cluster(),
            infrastructure(json!({ "apiServerACL": { "allowedCIDRs": ["1.2.3.4/32", "10.0.0.0/8"] } })),
            infrastructure(json!({ "apiServerACL": { "allowedCIDRs": ["10.0.0.0/8", "1.2.3.4"] } })),
        ),
    ]
}

fn request_rows() -> Vec<Row> {
    let rules = |extra: Value| json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }, extra]);
    let paths = json!({ "nonResourceURLs": ["/healthz"], "verbs": ["get"] });
    let pods = json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] });
    vec![
        rule(
            KUBECONFIG,
            "spec",
            "at least one of clusterRole and role must be set",
            kubeconfig_request(),
            json!({ "spec": { "role": null } }),
            json!({ "spec": { "role": null, "clusterRole": null } }),
        ),
        rule(
            KUBECONFIG,
            "spec.role.rules",
            "nonResourceURLs only work in clusterRole: a Role cannot grant them",
            kubeconfig_request(),
            json!({ "spec": { "role": { "rules": rules(pods.clone()) } } }),
            json!({ "spec": { "role": { "rules": rules(paths.clone()) } } }),
        ),
        rule(
            KUBECONFIG,
            "spec.role.rules",
            "a rule has apiGroups and resources",
            kubeconfig_request(),
            json!({ "spec": { "role": { "rules": rules(pods) } } }),
            json!({ "spec": { "role": { "rules": rules(json!({ "apiGroups": [""], "verbs": ["list"] })) } } }),
        ),
        rule(
            KUBECONFIG,
            "spec.clusterRole.rules",
            "a rule has apiGroups and resources, or it has nonResourceURLs and neither of them",
            kubeconfig_request(),
            json!({ "spec": { "clusterRole": { "rules": rules(paths) } } }),
            json!({ "spec": { "clusterRole": { "rules": rules(json!({ "resources": ["pods"], "verbs": ["list"] })) } } }),
        ),
        change(
            KUBECONFIG,
            "spec.cluster",
            "cluster is immutable",
            kubeconfig_request(),
            json!({ "spec": { "expiration": 600 } }),
            json!({ "spec": { "cluster": "d" } }),
        ),
        change(
            KUBECONFIG,
            "spec",
            "clusterNamespace is immutable",
            kubeconfig_request(),
            json!({ "spec": { "expiration": 600 } }),
            json!({ "spec": { "clusterNamespace": null } }),
        ),
        change(
            SUBSCRIPTION,
            "spec.provider",
            "provider is immutable",
            subscription_request(),
            json!({}),
            json!({ "spec": { "provider": "gcp" } }),
        ),
        change(
            SUBSCRIPTION,
            "spec.subscriptionSelector",
            "subscriptionSelector is immutable",
            subscription_request(),
            json!({}),
            json!({ "spec": { "subscriptionSelector": "shared" } }),
        ),
        change(
            SUBSCRIPTION,
            "spec",
            "plan is immutable",
            subscription_request(),
            json!({}),
            json!({ "spec": { "plan": null } }),
        ),
        change(
            SUBSCRIPTION,
            "spec",
            "platformRegion is immutable",
            subscription_request(),
            json!({}),
            json!({ "spec": { "platformRegion": "cf-eu11" } }),
        ),
        change(
            SUBSCRIPTION,
            "spec",
            "hyperscalerRegion is immutable",
            json!({ "spec": { "provider": "aws", "subscriptionSelector": "abcd-0001" } }),
            json!({}),
            json!({ "spec": { "hyperscalerRegion": "eu-west-1" } }),
        ),
    ]
}
