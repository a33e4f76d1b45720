//! What is served: discovery, version, health, and the way to OpenAPI.

mod aggregated;

use crate::{
    error::ApiError,
    kinds::version,
    openapi,
    request::Route,
    resource::{Nature, Resource},
    server::{Answer, Reply, Server},
};
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What `kubectl version` shows: the server that this one is measured against.
pub(crate) const VERSION: &str = "v1.36.3";

impl Server {
    pub(crate) fn discover(&self, route: &Route, accept: &str) -> Result<Answer, ApiError> {
        match route {
            Route::Discovery { group: None, legacy, .. } if aggregated::is_wanted(accept) => {
                Ok(self.aggregated(*legacy))
            }
            Route::Discovery { group: None, legacy: true, .. } => Ok(Answer::value(
                200,
                &json!({
                    "kind": "APIVersions", "versions": ["v1"],
                    "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1" }],
                }),
            )),
            Route::Discovery { group: None, legacy: false, .. } => Ok(Answer::value(
                200,
                &json!({
                    "kind": "APIGroupList", "apiVersion": "v1",
                    "groups": self.groups().into_iter().map(|(group, versions)| api_group(&group, &versions, false)).collect::<Vec<_>>(),
                }),
            )),
            Route::Discovery { group: Some(group), version: None, .. } => {
                let versions = self.groups().remove(group).ok_or_else(|| self.nothing_at(group))?;
                Ok(Answer::value(200, &api_group(group, &versions, true)))
            }
            Route::Discovery { group: Some(group), version: Some(version), legacy } => {
                if *legacy != group.is_empty() {
                    return Err(ApiError::no_such_path());
                }
                self.resources(group, version)
            }
            Route::Other(path) => self.other(path, accept),
            Route::Resource(_) => Err(ApiError::no_such_path()),
        }
    }

    fn resources(&self, group: &str, version: &str) -> Result<Answer, ApiError> {
        let mut list = Vec::new();
        for resource in self.kinds.all().filter(|kind| kind.group == group && kind.version == version) {
            list.extend(self.api_resources(resource));
        }
        if list.is_empty() {
            return Err(self.nothing_at(group));
        }
        let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        Ok(Answer::value(
            200,
            &json!({
                "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": list,
            }),
        ))
    }

    fn api_resources(&self, resource: &Resource) -> Vec<Value> {
        let verbs: Vec<&str> = match resource.nature {
            Nature::Review => vec!["create"],
            _ if resource.plural == "namespaces" && resource.group.is_empty() => {
                vec!["create", "delete", "get", "list", "patch", "update", "watch"]
            }
            // Another part of a real server answers for these, in an order of its own.
            _ if resource.defined.is_some() => {
                vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
            }
            _ => vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        };
        let mut main = json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": verbs,
        });
        if !resource.short_names.is_empty() {
            main["shortNames"] = json!(resource.short_names);
        }
        if !resource.categories.is_empty() {
            main["categories"] = json!(resource.categories);
        }
        let below = |name: &str, kind: &str, verbs: &[&str]| {
            json!({
                "name": format!("{}/{name}", resource.plural), "singularName": "", "namespaced": resource.namespaced,
                "kind": kind, "verbs": verbs,
            })
        };
        let mut list = vec![main];
        if resource.status {
            list.push(below("status", &resource.kind, &["get", "patch", "update"]));
        }
        for subresource in self.extensions.iter().flat_map(|extension| extension.subresources(resource)) {
            let mut entry = below(subresource.name, subresource.kind, subresource.verbs);
            if let Some((group, version)) = subresource.group_version {
                entry["group"] = json!(group);
                entry["version"] = json!(version);
            }
            list.push(entry);
        }
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "namespaces") => list.push(below("finalize", "Namespace", &["update"])),
            ("", "serviceaccounts") => {
                let mut token = below("token", "TokenRequest", &["create"]);
                token["group"] = json!("authentication.k8s.io");
                token["version"] = json!("v1");
                list.push(token);
            }
            _ => {}
        }
        list[1..].sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
        list
    }

    /// Groups other than the core group, with their versions.
    fn groups(&self) -> BTreeMap<String, Vec<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for resource in self.kinds.all().filter(|resource| !resource.group.is_empty()) {
            let versions = groups.entry(resource.group.clone()).or_default();
            if !versions.contains(&resource.version) {
                versions.push(resource.version.clone());
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by(|left, right| version::compare(right, left));
        }
        groups
    }

    fn other(&self, path: &str, accept: &str) -> Result<Answer, ApiError> {
        match path.trim_end_matches('/') {
            "/healthz" | "/livez" | "/readyz" => Ok(Answer::Now(Reply {
                code: 200,
                body: Bytes::from_static(b"ok"),
                content_type: "text/plain; charset=utf-8",
                warnings: Vec::new(),
                retry_after_seconds: None,
            })),
            "/version" => Ok(Answer::value(
                200,
                &json!({
                    "major": "1", "minor": "36", "gitVersion": VERSION, "gitCommit": "", "gitTreeState": "",
                    "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "linux/amd64",
                }),
            )),
            path => match path.strip_prefix("/openapi/") {
                Some("v2") if accept.contains("proto-openapi.spec.v2") => Ok(Answer::Now(Reply {
                    code: 200,
                    body: Bytes::from(self.openapi_second_binary()),
                    content_type: openapi::protobuf::MEDIA_TYPE,
                    warnings: Vec::new(),
                    retry_after_seconds: None,
                })),
                Some(below) if takes_json(accept) => self.openapi(below),
                Some(_) => Err(ApiError::not_acceptable("only application/json is offered")),
                None => Err(ApiError::page_not_found()),
            },
        }
    }

    fn openapi(&self, below: &str) -> Result<Answer, ApiError> {
        let document = match below {
            "v2" => self.openapi_second(),
            "v3" => self.openapi_index(),
            below => match below.strip_prefix("v3/") {
                Some(place) => self.openapi_document(place)?,
                None => return Err(ApiError::page_not_found()),
            },
        };
        Ok(Answer::value(200, &document))
    }
}

/// Whether a client takes JSON; that of a document may be called otherwise.
fn takes_json(accept: &str) -> bool {
    accept.split(',').any(|clause| {
        let media_type = clause.split(';').next().unwrap_or_default().trim();
        matches!(media_type, "" | "*" | "*/*" | "application/*") || media_type.ends_with("json")
    })
}

fn api_group(group: &str, versions: &[String], alone: bool) -> Value {
    let entry =
        |version: &String| json!({ "groupVersion": format!("{group}/{version}"), "version": version });
    let list: Vec<Value> = versions.iter().map(entry).collect();
    let mut answer = json!({ "name": group, "versions": list, "preferredVersion": list.first() });
    if alone {
        answer["kind"] = json!("APIGroup");
        answer["apiVersion"] = json!("v1");
    }
    answer
}
