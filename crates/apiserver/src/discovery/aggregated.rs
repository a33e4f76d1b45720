//! Everything that is served, in two answers instead of one for each group.

use crate::{
    resource::Resource,
    server::{Answer, Reply, Server},
};
use bytes::Bytes;
use serde_json::{Value, json};

/// Clients compare it letter by letter.
const MEDIA_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Whether a client wants it this way.
pub(super) fn is_wanted(accept: &str) -> bool {
    accept.split(',').any(|clause| {
        let parameters: Vec<&str> = clause.split(';').map(str::trim).collect();
        ["application/json", "g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"]
            .iter()
            .all(|wanted| parameters.contains(wanted))
    })
}

impl Server {
    /// The core group, or all others.
    pub(super) fn aggregated(&self, legacy: bool) -> Answer {
        let items: Vec<Value> = match legacy {
            true => vec![self.group_discovery("", &["v1".to_owned()])],
            false => {
                self.groups().iter().map(|(group, versions)| self.group_discovery(group, versions)).collect()
            }
        };
        let list = json!({
            "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
        });
        Answer::Now(Reply {
            code: 200,
            body: Bytes::from(list.to_string()),
            content_type: MEDIA_TYPE,
            warnings: Vec::new(),
            retry_after_seconds: None,
        })
    }

    fn group_discovery(&self, group: &str, versions: &[String]) -> Value {
        let versions: Vec<Value> = versions
            .iter()
            .map(|version| {
                let of_version =
                    self.kinds.all().filter(|kind| kind.group == group && kind.version == *version);
                let resources: Vec<Value> = of_version.map(|kind| self.resource_discovery(kind)).collect();
                json!({ "version": version, "resources": resources, "freshness": "Current" })
            })
            .collect();
        let metadata = if group.is_empty() { json!({}) } else { json!({ "name": group }) };
        json!({ "metadata": metadata, "versions": versions })
    }

    fn resource_discovery(&self, resource: &Resource) -> Value {
        // Kinds of definitions say whose they are; of the others it is known from where they stand.
        let (group, version) = match resource.defined.is_some() {
            true => (resource.group.as_str(), resource.version.as_str()),
            false => ("", ""),
        };
        let kind_of = |entry: &Value| {
            let text = |field: &str, default: &str| entry[field].as_str().unwrap_or(default).to_owned();
            json!({ "group": text("group", group), "version": text("version", version), "kind": entry["kind"] })
        };
        let list = self.api_resources(resource);
        let [main, below @ ..] = list.as_slice() else { return Value::Null };
        let mut entry = json!({
            "resource": main["name"], "responseKind": kind_of(main),
            "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": main["singularName"], "verbs": main["verbs"],
        });
        for field in ["shortNames", "categories"] {
            if let Some(names) = main.get(field) {
                entry[field] = names.clone();
            }
        }
        if !below.is_empty() {
            entry["subresources"] = below
                .iter()
                .map(|below| {
                    let name = below["name"].as_str().and_then(|name| name.split_once('/'));
                    json!({
                        "subresource": name.map(|(_, name)| name), "responseKind": kind_of(below), "verbs": below["verbs"],
                    })
                })
                .collect();
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectl_wants_it() {
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
        assert!(is_wanted(accept));
        assert!(!is_wanted(
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
        ));
        assert!(!is_wanted("application/json"));
    }
}
