//! What a call of an operator is, in the words of the claim protocol.

use allotment_api::names::{annotation, finalizer, pool};
use http::{Method, Uri};
use serde_json::Value;

/// The two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Garden,
    ControlPlane,
}

/// A call, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) side: Side,
    pub(super) method: Method,
    pub(super) path: String,
    /// What it is in the claim protocol.
    pub(super) operation: &'static str,
    /// The kind of object, by its plural.
    pub(super) plural: String,
    /// Its name; empty for many.
    pub(super) name: String,
    /// The phase that is published.
    pub(super) phase: Option<String>,
}

impl Call {
    pub(super) fn read(side: Side, method: &Method, uri: &Uri, body: &[u8]) -> Self {
        let path = uri.path();
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        // `api/v1/…` or `apis/group/version/…`, then `namespaces/ns/`.
        let skip = if parts.first() == Some(&"api") { 2 } else { 3 };
        let rest = parts.get(skip..).unwrap_or_default();
        let rest = if rest.first() == Some(&"namespaces") && rest.len() > 2 { &rest[2..] } else { rest };
        let plural = rest.first().copied().unwrap_or_default().to_owned();
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let named = rest.get(1).copied().unwrap_or_default();
        let name = match body["metadata"]["name"].as_str() {
            Some(name) if named.is_empty() => name.to_owned(),
            _ => named.to_owned(),
        };
        let query = uri.query().unwrap_or_default();
        let status = rest.get(2) == Some(&"status");
        let operation = match *method {
            Method::GET => reading(&plural, &name, query),
            _ => writing(&plural, status, &body),
        };
        let phase = body["status"]["phase"].as_str().filter(|_| status).map(str::to_owned);
        Self { side, method: method.clone(), path: path.to_owned(), operation, plural, name, phase }
    }

    pub(super) fn is_write(&self) -> bool {
        self.method != Method::GET
    }
}

fn reading(plural: &str, name: &str, query: &str) -> &'static str {
    let watch = query.contains("watch=");
    match plural {
        "leases" => "read lease",
        "configmaps" => "read identity",
        "subscriptionrequests" if watch => "watch requests",
        "subscriptionrequests" if name.is_empty() => "list requests",
        "subscriptionrequests" => "read request",
        "credentialsbindings" if watch => "watch entries",
        "credentialsbindings" if name.is_empty() => "list entries",
        "credentialsbindings" => "read entry",
        "shoots" if watch => "watch shoots",
        "shoots" if query.contains("labelSelector=") => "look for shoot",
        "shoots" if query.contains("limit=1&") || query.ends_with("limit=1") => "newest shoot",
        "shoots" => "list shoots",
        _ if watch => "watch others",
        _ => "list others",
    }
}

fn writing(plural: &str, status: bool, body: &Value) -> &'static str {
    let metadata = &body["metadata"];
    match plural {
        "leases" => "lease",
        "events" => "event",
        "configmaps" => "identity",
        "subscriptionrequests" if status && body["status"]["phase"] == "Denied" => "deny",
        "subscriptionrequests" if status => "publish",
        "subscriptionrequests" => {
            let ours = |name: &Value| name == finalizer::SUBSCRIPTION;
            match metadata["finalizers"].as_array() {
                Some(names) if names.iter().any(ours) => "finalizer",
                _ => "finalizer off",
            }
        }
        "credentialsbindings" if metadata["labels"].get(pool::TENANT_NAME).is_some() => "tenant label",
        "credentialsbindings" if metadata["labels"].get(pool::DIRTY).is_some() => "dirty label",
        "credentialsbindings" => match metadata["annotations"].get(annotation::QUARANTINE) {
            Some(Value::Null) => "lift",
            Some(_) => "quarantine",
            None => "other write",
        },
        _ => "other write",
    }
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
