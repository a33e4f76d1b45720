//! What a call of an operator is.

use crate::{
    access::call as access,
    cleanup::call as cleanup,
    cluster::call as cluster,
    hostile::{HOSTILE, qualified},
    openmcp::call as openmcp,
    subscription::call as subscription,
};
use allotment_core::failure::RECONCILED;
use http::{Method, Uri};
use serde_json::Value;

/// The two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Garden,
    ControlPlane,
    /// Inside a Shoot.
    Shoot,
}

/// Whose call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Subscription,
    Cluster,
    Kubeconfig,
    Cleanup,
    /// Of a process with the controllers of an openMCP provider.
    Openmcp,
}

/// A follower asks how far a server has come. It is a list of one object, answered by the quorum.
const VERSION: &str = "read version";

/// A call, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) side: Side,
    pub(crate) method: Method,
    pub(crate) path: String,
    /// What it is in the claim protocol.
    pub(crate) operation: &'static str,
    /// The kind of object, by its plural.
    pub(crate) plural: String,
    /// Its name; empty for many.
    pub(crate) name: String,
    /// The phase that is published.
    pub(crate) phase: Option<String>,
}

impl Call {
    pub(crate) fn read(side: Side, method: &Method, uri: &Uri, body: &[u8]) -> Self {
        Self::read_as(Role::Subscription, side, method, uri, body)
    }

    pub(crate) fn read_as(role: Role, side: Side, method: &Method, uri: &Uri, body: &[u8]) -> Self {
        let path = uri.path();
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        // `api/v1/…` or `apis/group/version/…`, then `namespaces/ns/`.
        let skip = if parts.first() == Some(&"api") { 2 } else { 3 };
        let rest = parts.get(skip..).unwrap_or_default();
        let is_hostile = role != Role::Openmcp && side == Side::ControlPlane && rest.get(1) == Some(&HOSTILE);
        let rest = if rest.first() == Some(&"namespaces") && rest.len() > 2 { &rest[2..] } else { rest };
        let plural = rest.first().copied().unwrap_or_default().to_owned();
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let named = rest.get(1).copied().unwrap_or_default();
        let name = match body["metadata"]["name"].as_str() {
            Some(name) if named.is_empty() => name.to_owned(),
            _ => named.to_owned(),
        };
        let name = if is_hostile && !name.is_empty() { qualified(&name) } else { name };
        let query = uri.query().unwrap_or_default();
        let status = rest.get(2) == Some(&"status");
        let operation = match (role, method) {
            (Role::Subscription, &Method::GET) => subscription::reading(&plural, &name, query),
            (Role::Subscription, _) => subscription::writing(&plural, status, &body),
            (Role::Cluster, &Method::GET) => cluster::reading(&plural, &name, query),
            (Role::Cluster, _) => cluster::writing(method, &plural, rest.get(2).copied(), &body),
            (Role::Kubeconfig, &Method::GET) => access::reading(side, &plural, &name, query),
            (Role::Kubeconfig, _) => access::writing(side, method, &plural, rest.get(2).copied(), &body),
            (Role::Cleanup, &Method::GET) => cleanup::reading(&plural, &name, query),
            (Role::Cleanup, _) => cleanup::writing(&plural, &body),
            (Role::Openmcp, &Method::GET) => openmcp::reading(side, &plural, &name, query),
            (Role::Openmcp, _) => openmcp::writing(side, method, &plural, rest.get(2).copied(), &body),
        };
        let is_of_one = query.split('&').any(|part| part == "limit=1");
        let operation = if operation.starts_with("list ") && is_of_one { VERSION } else { operation };
        let operation = if status && is_report(&body) { REPORT } else { operation };
        let phase = body["status"]["phase"].as_str().filter(|_| status).map(str::to_owned);
        Self { side, method: method.clone(), path: path.to_owned(), operation, plural, name, phase }
    }

    pub(crate) fn is_write(&self) -> bool {
        self.method != Method::GET
            && ![cluster::ADMIN, access::WAY, openmcp::ADMIN, openmcp::RIGHTS].contains(&self.operation)
    }
}

/// The write that says in an object's condition that its reconcile failed. It has a name of its own, so that it moves nothing that seeds
/// draw for the other writes of a status.
const REPORT: &str = "report failure";

fn is_report(body: &Value) -> bool {
    let Some(fields) = body["status"].as_object() else { return false };
    let conditions = fields.get("conditions").and_then(Value::as_array);
    let tells = |conditions: &Vec<Value>| conditions.iter().any(|condition| condition["type"] == RECONCILED);
    fields.len() == 1 && conditions.is_some_and(tells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(method: Method, uri: &str, body: &str) -> (&'static str, String) {
        let call = Call::read(Side::Garden, &method, &uri.parse().unwrap(), body.as_bytes());
        (call.operation, call.name)
    }

    #[test]
    fn calls_have_names() {
        let requests = "/apis/control-plane.kyma-project.io/v1alpha1/namespaces/default/subscriptionrequests";
        let bindings = "/apis/security.gardener.cloud/v1alpha1/namespaces/garden-kyma/credentialsbindings";
        let shoots = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-kyma/shoots";
        for (method, uri, body, expected, name) in [
            (Method::GET, format!("{requests}?limit=500"), "", "list requests", ""),
            (Method::GET, format!("{requests}?&watch=true&resourceVersion=1"), "", "watch requests", ""),
            (Method::GET, format!("{shoots}?&limit=1"), "", "newest shoot", ""),
            (Method::GET, format!("{shoots}?&limit=500"), "", "list shoots", ""),
            (Method::GET, format!("{bindings}?&limit=1"), "", "read version", ""),
            (Method::GET, format!("{shoots}?&labelSelector=a%3Db&limit=1"), "", "look for shoot", ""),
            (Method::GET, format!("{bindings}/a1"), "", "read entry", "a1"),
            (
                Method::PATCH,
                format!("{bindings}/a1"),
                r#"{"metadata":{"labels":{"tenantName":"t"}}}"#,
                "tenant label",
                "a1",
            ),
            (Method::PATCH, format!("{requests}/r/status"), r#"{"status":{}}"#, "publish", "r"),
            (
                Method::PATCH,
                format!("{requests}/r/status"),
                r#"{"status":{"conditions":[{"type":"Reconciled"}]}}"#,
                "report failure",
                "r",
            ),
            (
                Method::PATCH,
                format!("{requests}/r"),
                r#"{"metadata":{"finalizers":[]}}"#,
                "finalizer off",
                "r",
            ),
            (
                Method::POST,
                "/apis/coordination.k8s.io/v1/namespaces/default/leases".to_owned(),
                r#"{"metadata":{"name":"l"}}"#,
                "lease",
                "l",
            ),
        ] {
            assert_eq!(operation(method, &uri, body), (expected, name.to_owned()), "{uri}");
        }
    }
}
