//! What namespaces of the platform cluster may refer to.

use crate::{
    cluster::AllowedReference,
    glob::matches,
    tenancy::{NamespaceRole, Tenancy},
};
use allotment_api::openmcp::{
    AccessRequest, Cluster, ClusterRequest, ObjectReference, Tenancy as ClusterTenancy, names::finalizer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `openmcp` section of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Openmcp {
    /// References into other namespaces that are allowed.
    pub cross_namespace: Vec<CrossNamespace>,
    /// Objects of the garden's projects that ClusterConfigs of tenants may refer to, by name.
    pub references: Vec<AllowedReference>,
}

/// References that are allowed, from AccessRequests to Clusters and ClusterRequests, and from ClusterRequests to Clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrossNamespace {
    /// The namespace of the request, as a name or a pattern with `*`.
    #[schemars(length(min = 1))]
    pub from: String,
    /// The namespace that it may refer to, as a name or a pattern with `*`.
    #[schemars(length(min = 1))]
    pub to: String,
}

/// What namespaces may refer to. By default every namespace is a tenant's, and refers to nothing outside of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whose namespaces are.
    pub tenancy: Tenancy,
    /// What is allowed all the same.
    pub openmcp: Openmcp,
}

impl Policy {
    /// Everybody may refer to everything, as upstream has it.
    pub fn trusted() -> Self {
        Self { tenancy: Tenancy::trusted(), openmcp: Openmcp::default() }
    }

    /// What a namespace may do. Labels of Namespaces are not read here: only the configuration counts.
    pub fn role_of(&self, namespace: &str) -> NamespaceRole {
        self.tenancy.role_of(namespace, None)
    }

    /// Whether objects of one namespace may refer to objects of another.
    pub fn may_refer(&self, from: &str, to: &str) -> bool {
        let allows = |one: &CrossNamespace| matches(&one.from, from) && matches(&one.to, to);
        from == to || self.role_of(from).is_privileged() || self.openmcp.cross_namespace.iter().any(allows)
    }

    /// Why a reference into another namespace is refused, and what the platform can do.
    pub fn refusal(&self, field: &str, from: &str, to: &str) -> String {
        format!(
            "{field}: namespace {from} may not refer to namespace {to}. The platform team allows it in the configuration of the \
             provider: `openmcp: {{crossNamespace: [{{from: {from}, to: {to}}}]}}`, or `tenancy: {{mode: trusted}}` for all \
             namespaces"
        )
    }

    /// Whether an AccessRequest may have access to the Cluster that it leads to; else why not. What it leads to is judged as
    /// it is now, whoever wrote the reference: labels, references and statuses can be the work of a tenant.
    ///
    /// A Cluster in another namespace is also the request's if the scheduler has given it to its ClusterRequest, alone: then
    /// it carries the UID of that ClusterRequest, which nobody can choose, in a namespace where the tenant writes nothing.
    pub fn judge(
        &self,
        request: &AccessRequest,
        cluster_request: Option<&ClusterRequest>,
        cluster: Option<&Cluster>,
    ) -> Result<(), String> {
        let from = request.metadata.namespace.as_deref().unwrap_or_default();
        let spec = &request.spec;
        if let Some(ObjectReference { namespace: to, .. }) = &spec.request_ref
            && !self.may_refer(from, to)
        {
            return Err(self.refusal("spec.requestRef", from, to));
        }
        let granted = cluster_request.and_then(|it| it.status.as_ref()?.cluster.as_ref());
        let (field, reference) = match (&spec.cluster_ref, granted) {
            (Some(named), _) => ("spec.clusterRef", named),
            (None, Some(granted)) => ("status.cluster of the ClusterRequest", granted),
            (None, None) => return Ok(()),
        };
        let to = reference.namespace.as_str();
        let is_given =
            cluster_request.zip(cluster).is_some_and(|(request, cluster)| is_alone_of(cluster, request));
        if self.may_refer(from, to) || is_given { Ok(()) } else { Err(self.refusal(field, from, to)) }
    }
}

fn is_alone_of(cluster: &Cluster, request: &ClusterRequest) -> bool {
    let Some(uid) = request.metadata.uid.as_deref().filter(|uid| !uid.is_empty()) else { return false };
    let tenants: Vec<&str> = cluster
        .metadata
        .finalizers
        .iter()
        .flatten()
        .filter_map(|name| name.strip_prefix(finalizer::TENANT_PREFIX))
        .collect();
    cluster.spec.tenancy == ClusterTenancy::Exclusive && tenants == [uid]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn policy(config: Value) -> Policy {
        let tenancy = serde_json::from_value(config["tenancy"].clone()).unwrap_or_default();
        Policy { tenancy, openmcp: serde_json::from_value(config["openmcp"].clone()).unwrap_or_default() }
    }

    fn object<T: serde::de::DeserializeOwned>(kind: &str, metadata: Value, spec: Value, status: Value) -> T {
        let mut object = json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec,
        });
        if !status.is_null() {
            object["status"] = status;
        }
        serde_json::from_value(object).unwrap()
    }

    /// An AccessRequest in namespace `a` with these references.
    fn request(references: Value) -> AccessRequest {
        let mut spec = references;
        spec["token"] = json!({});
        object("AccessRequest", json!({"name": "r", "namespace": "a"}), spec, Value::Null)
    }

    fn at(namespace: &str) -> Value {
        json!({"name": "x", "namespace": namespace})
    }

    #[test]
    fn a_namespace_refers_to_itself_and_to_what_is_allowed() {
        let table = json!({"openmcp": {"crossNamespace": [{"from": "a*", "to": "shared"}]}});
        let platform = json!({"tenancy": {"platform": ["a"]}});
        let trusted = json!({"tenancy": {"mode": "trusted"}});
        for (config, from, to, expected) in [
            (json!({}), "a", "a", true),
            (json!({}), "a", "b", false),
            (table.clone(), "a", "shared", true),
            (table.clone(), "a-1", "shared", true),
            (table.clone(), "b", "shared", false),
            (table.clone(), "a", "b", false),
            (table, "shared", "a", false),
            (platform.clone(), "a", "b", true),
            (platform, "b", "a", false),
            (trusted, "a", "b", true),
        ] {
            assert_eq!(policy(config.clone()).may_refer(from, to), expected, "{config} {from} {to}");
        }
    }

    #[test]
    fn references_of_an_access_request_are_judged() {
        let (own, foreign) = (|| at("a"), || at("b"));
        for (references, expected) in [
            (json!({"clusterRef": own()}), None),
            (json!({"requestRef": own()}), None),
            (json!({"clusterRef": foreign()}), Some("spec.clusterRef")),
            (json!({"requestRef": foreign()}), Some("spec.requestRef")),
            (json!({"requestRef": foreign(), "clusterRef": own()}), Some("spec.requestRef")),
            (json!({"requestRef": own(), "clusterRef": foreign()}), Some("spec.clusterRef")),
        ] {
            let judged = Policy::default().judge(&request(references.clone()), None, None);
            assert_eq!(judged.is_err(), expected.is_some(), "{references}");
            if let (Err(message), Some(field)) = (judged, expected) {
                assert!(message.starts_with(field) && message.contains("crossNamespace"), "{message}");
            }
            assert!(Policy::trusted().judge(&request(references), None, None).is_ok());
        }
    }

    #[test]
    fn a_cluster_that_the_scheduler_gave_away_is_known_by_the_uid_of_the_request() {
        let granted = json!({"phase": "Granted", "observedGeneration": 1, "cluster": at("b")});
        let cluster_request: ClusterRequest = object(
            "ClusterRequest",
            json!({"name": "x", "namespace": "a", "uid": "u-1"}),
            json!({"purpose": "p"}),
            granted,
        );
        let cluster = |tenancy: &str, uids: &[&str]| -> Cluster {
            let finalizers: Vec<String> =
                uids.iter().map(|uid| format!("{}{uid}", finalizer::TENANT_PREFIX)).collect();
            let metadata = json!({"name": "x", "namespace": "b", "finalizers": finalizers});
            object("Cluster", metadata, json!({"profile": "e.p.x", "tenancy": tenancy}), Value::Null)
        };
        for (cluster, expected) in [
            (cluster("Exclusive", &["u-1"]), true),
            (cluster("Exclusive", &["u-2"]), false),
            (cluster("Exclusive", &["u-2", "u-1"]), false),
            (cluster("Exclusive", &[]), false),
            // Others are in there, too: who is admin there is admin of what is theirs.
            (cluster("Shared", &["u-1"]), false),
        ] {
            for references in
                [json!({"requestRef": at("a")}), json!({"requestRef": at("a"), "clusterRef": at("b")})]
            {
                let judged =
                    Policy::default().judge(&request(references), Some(&cluster_request), Some(&cluster));
                assert_eq!(judged.is_ok(), expected, "{judged:?}");
            }
        }
    }
}
