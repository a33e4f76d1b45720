//! The paths of a kind, and what can be done there.

use super::{group_version_kind, model, place, types::PLACE};
use crate::{
    kinds,
    resource::{Nature, Resource},
};
use serde_json::{Value, json};

/// The paths of a kind: all of them, one of them, and its status.
pub(super) fn of(resource: &Resource) -> Vec<(String, Value)> {
    let scope = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
    let all = format!("/{}/{scope}{}", place(resource), resource.plural);
    let one = format!("{all}/{{name}}");
    if resource.nature == Nature::Review {
        return vec![(
            all,
            json!({ "post": writes(resource, "post", JSON), "parameters": places(resource, false) }),
        )];
    }
    let mut many = json!({
        "get": reads(resource, "list"), "post": writes(resource, "post", JSON), "parameters": places(resource, false),
    });
    if kinds::can_delete_collection(resource) {
        many["delete"] = removes(resource, "deletecollection");
    }
    let mut single = json!({
        "get": reads(resource, "get"), "put": writes(resource, "put", JSON), "parameters": places(resource, true),
        "patch": writes(resource, "patch", patches(resource)), "delete": removes(resource, "delete"),
    });
    let mut paths = vec![(all, many), (one.clone(), single.clone())];
    if resource.status {
        if let Some(operations) = single.as_object_mut() {
            operations.remove("delete");
        }
        paths.push((format!("{one}/status"), single));
    }
    paths
}

const JSON: &[&str] = &["application/json"];
const PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// Kinds of definitions are not merged strategically: that is the last of them.
fn patches(resource: &Resource) -> &'static [&'static str] {
    if resource.is_custom() { &PATCHES[..3] } else { PATCHES }
}

fn places(resource: &Resource, one: bool) -> Value {
    let namespace = resource.namespaced.then_some("namespace");
    let names = namespace.into_iter().chain(one.then_some("name"));
    names
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect()
}

fn asked(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({ "name": name, "in": "query", "schema": { "type": "string" } })).collect()
}

fn reads(resource: &Resource, action: &str) -> Value {
    let parameters = match action {
        "list" => asked(&["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"]),
        _ => Vec::new(),
    };
    operation(resource, action, parameters)
}

fn removes(resource: &Resource, action: &str) -> Value {
    operation(resource, action, asked(&["dryRun", "gracePeriodSeconds", "propagationPolicy"]))
}

fn writes(resource: &Resource, action: &str, media_types: &[&str]) -> Value {
    // That `fieldValidation` is there tells clients that the server looks for misspelt fields itself.
    let mut parameters = asked(&["dryRun", "fieldManager", "fieldValidation"]);
    if action == "patch" {
        parameters.push(json!({ "name": "force", "in": "query", "schema": { "type": "boolean" } }));
    }
    let body = match action {
        "patch" => json!({ "type": "object" }),
        _ => reference(resource),
    };
    let content: serde_json::Map<String, Value> =
        media_types.iter().map(|media_type| ((*media_type).to_owned(), json!({ "schema": body }))).collect();
    let mut operation = operation(resource, action, parameters);
    operation["requestBody"] = json!({ "content": content, "required": true });
    operation
}

fn operation(resource: &Resource, action: &str, parameters: Vec<Value>) -> Value {
    json!({
        "parameters": parameters,
        "responses": { "200": { "description": "OK", "content": { "application/json": { "schema": reference(resource) } } } },
        "x-kubernetes-action": action, "x-kubernetes-group-version-kind": group_version_kind(resource),
    })
}

fn reference(resource: &Resource) -> Value {
    json!({ "$ref": format!("{PLACE}{}", model(resource)) })
}
