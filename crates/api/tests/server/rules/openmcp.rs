//! The rules of openMCP's kinds.

use super::Row;
use serde_json::{Value, json};

const CLUSTER: &str = "clusters.clusters.openmcp.cloud";
const CLUSTER_REQUEST: &str = "clusterrequests.clusters.openmcp.cloud";
const ACCESS_REQUEST: &str = "accessrequests.clusters.openmcp.cloud";
const PROVIDER_CONFIG: &str = "providerconfigs.gardener.clusters.openmcp.cloud";

/// An AccessRequest for a token, with both references.
pub(crate) fn access_request() -> Value {
    json!({ "spec": {
        "clusterRef": { "name": "c", "namespace": "n" }, "requestRef": { "name": "r", "namespace": "n" },
        "token": { "roleRefs": [{ "kind": "ClusterRole", "name": "view" }] }
    }})
}

fn oidc(name: &str) -> Value {
    json!({ "name": name, "issuer": "https://oidc.example.com", "clientID": "me", "roleBindings": [] })
}

fn granted(cluster: Value) -> Value {
    json!({ "status": { "observedGeneration": 1, "phase": "Granted", "cluster": cluster } })
}

pub(crate) fn rows() -> Vec<Row> {
    let change = |crd, at, message, base, good, bad| Row { crd, at, message, base, good, bad, change: true };
    let rule = |crd, at, message, base, good, bad| Row { crd, at, message, base, good, bad, change: false };
    let spec = |change: Value| json!({ "spec": change });
    let cluster = json!({ "spec": { "profile": "default.gardener.aws", "tenancy": "Shared" } });
    let request = json!({ "spec": { "purpose": "mcp" } });
    let mut bound = request.clone();
    bound["status"] = granted(json!({ "name": "c", "namespace": "n" }))["status"].clone();
    let config = json!({ "spec": {
        "providerRef": { "name": "gardener" }, "landscapeRef": { "name": "live" }, "project": "kyma",
        "shootTemplate": { "spec": { "cloudProfile": { "kind": "CloudProfile", "name": "aws" } } }
    }});
    vec![
        change(
            CLUSTER,
            "spec.profile",
            "profile is immutable",
            cluster,
            spec(json!({ "purposes": ["mcp"] })),
            spec(json!({ "profile": "default.gardener.gcp" })),
        ),
        change(
            CLUSTER_REQUEST,
            "spec",
            "spec is immutable",
            request,
            json!({}),
            spec(json!({ "waitForClusterDeletion": true })),
        ),
        change(
            CLUSTER_REQUEST,
            "status.cluster",
            "cluster is immutable",
            bound.clone(),
            json!({ "status": { "phase": "Pending" } }),
            granted(json!({ "name": "d", "namespace": "n" })),
        ),
        change(
            CLUSTER_REQUEST,
            "status",
            "cluster may not be removed once set",
            bound,
            json!({ "status": { "phase": "Pending" } }),
            json!({ "status": { "cluster": null } }),
        ),
        change(
            ACCESS_REQUEST,
            "spec.clusterRef",
            "clusterRef is immutable",
            access_request(),
            spec(json!({ "ttl": "1h" })),
            spec(json!({ "clusterRef": { "name": "d" } })),
        ),
        change(
            ACCESS_REQUEST,
            "spec.requestRef",
            "requestRef is immutable",
            access_request(),
            spec(json!({ "ttl": "1h" })),
            spec(json!({ "requestRef": { "name": "d" } })),
        ),
        change(
            ACCESS_REQUEST,
            "spec",
            "clusterRef may not be removed once set",
            access_request(),
            spec(json!({ "ttl": "1h" })),
            spec(json!({ "clusterRef": null })),
        ),
        change(
            ACCESS_REQUEST,
            "spec",
            "requestRef may not be removed once set",
            access_request(),
            spec(json!({ "ttl": "1h" })),
            spec(json!({ "requestRef": null })),
        ),
        rule(
            ACCESS_REQUEST,
            "spec",
            "exactly one of spec.token or spec.oidc must be set",
            access_request(),
            spec(json!({ "token": null, "oidc": oidc("mine") })),
            spec(json!({ "oidc": oidc("mine") })),
        ),
        rule(
            ACCESS_REQUEST,
            "spec.oidc.name",
            "'system' is a reserved string and may not be used as OIDC provider name",
            access_request(),
            spec(json!({ "token": null, "oidc": oidc("system2") })),
            spec(json!({ "token": null, "oidc": oidc("system") })),
        ),
        change(
            PROVIDER_CONFIG,
            "spec.providerRef",
            "providerRef is immutable",
            config,
            spec(json!({ "project": "other" })),
            spec(json!({ "providerRef": { "name": "other" } })),
        ),
    ]
}
