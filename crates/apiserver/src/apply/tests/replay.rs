//! Repeats what was asked of a real server (kube-apiserver 1.36.3), and compares the answers to the letter.
//!
//! A file has scenarios, a scenario has requests with their answers:
//!
//! ```text
//! # Kind: what it shows
//! > operation manager [force] [status] [version] [fieldValidation] [raw] [text] body
//! code [unchanged] object
//!   manager operation[/subresource] version time fields
//! ```
//!
//! The object is without its name and what the server sets; `@2` is the time of the request with that number.

use crate::apply::{Context, FieldSet, apply, keep_times, update};
use crate::error::ApiError;
use crate::patch::{Decoding, json as json_patch, merge, strategic};
use crate::schema::{self, Schema};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Repeats all scenarios of a file.
pub(crate) fn check(file: &str) {
    let mut failures = Vec::new();
    for scenario in file.split("\n\n") {
        let expected: Vec<&str> = scenario.lines().collect();
        let answered = repeat(&expected);
        let differ = expected.iter().zip(&answered).any(|(expected, answered)| expected != answered);
        if differ || expected.len() != answered.len() {
            failures.push(format!("expected:\n{scenario}\n\nanswered:\n{}\n", answered.join("\n")));
        }
    }
    assert!(failures.is_empty(), "{} scenarios differ\n\n{}", failures.len(), failures.join("\n"));
}

fn repeat(lines: &[&str]) -> Vec<String> {
    let title = lines[0];
    let kind = title.trim_start_matches("# ").split(':').next().unwrap();
    let mut server = Server { kind: Kind::of(kind), live: None, requests: 0 };
    let mut answered = vec![title.to_owned()];
    for line in lines.iter().filter(|line| line.starts_with("> ")) {
        answered.push((*line).to_owned());
        answered.extend(server.answer(&Request::read(line)));
        server.requests += 1;
    }
    answered
}

struct Kind {
    name: String,
    group: &'static str,
    schema: &'static Schema,
    empty: Value,
    is_custom: bool,
}

/// A custom resource with a field of every shape.
pub(crate) fn widget() -> &'static Schema {
    static WIDGET: LazyLock<Schema> = LazyLock::new(|| {
        let schema = serde_json::from_str(include_str!("widget.json")).unwrap();
        Schema::from_json(&schema).unwrap()
    });
    &WIDGET
}

impl Kind {
    fn of(name: &str) -> Self {
        static SERVICE: LazyLock<Schema> = LazyLock::new(service);
        let builtin = |group| schema::builtin(group, name).unwrap();
        let (group, schema, empty) = match name {
            "Widget" => ("apply-test.example.com/", widget(), json!({})),
            "Service" => ("", &*SERVICE, json!({"spec": {}, "status": {"loadBalancer": {}}})),
            "Role" => {
                ("rbac.authorization.k8s.io/", builtin("rbac.authorization.k8s.io"), json!({"rules": null}))
            }
            _ => ("", builtin(""), json!({})),
        };
        Self { name: name.to_owned(), group, schema, empty, is_custom: name == "Widget" }
    }
}

fn service() -> Schema {
    let text = json!({"type": "string"});
    let port = json!({"type": "object", "required": ["port", "protocol"], "properties": {
        "name": text, "port": {"type": "integer"}, "protocol": {"type": "string"},
        "targetPort": {"x-kubernetes-int-or-string": true},
    }});
    let ports = json!({"type": "array", "items": port, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"]});
    let spec = json!({"type": "object", "properties": {
        "type": text, "externalName": text, "sessionAffinity": text, "ports": ports,
    }});
    let load_balancer =
        json!({"type": "object", "properties": {"ingress": {"type": "array", "items": text}}});
    let status = json!({"type": "object", "properties": {"loadBalancer": load_balancer}});
    Schema::from_json(&json!({"type": "object", "properties": {"spec": spec, "status": status}})).unwrap()
}

struct Request {
    operation: String,
    manager: String,
    force: bool,
    subresource: &'static str,
    version: &'static str,
    decoding: Decoding,
    raw: bool,
    body: Value,
    /// The bytes of a patch.
    bytes: Vec<u8>,
}

impl Request {
    fn read(line: &str) -> Self {
        let mut rest = line.trim_start_matches("> ");
        let mut word = || {
            let (word, tail) = rest.split_once(' ').unwrap();
            rest = tail;
            word.to_owned()
        };
        let (operation, manager) = (word(), word());
        let mut flag = |name: &str| match rest.strip_prefix(name).and_then(|tail| tail.strip_prefix(' ')) {
            Some(tail) => {
                rest = tail;
                true
            }
            None => false,
        };
        let force = flag("force");
        let subresource = if flag("status") { "status" } else { "" };
        let version = if flag("v1beta1") { "v1beta1" } else { "v1" };
        let decoding = if flag("Strict") { Decoding::Checked } else { Decoding::Lenient };
        let (raw, text) = (flag("raw"), flag("text"));
        let body: Value = serde_json::from_str(rest).unwrap();
        let bytes = if text { body.as_str().unwrap().as_bytes().to_vec() } else { rest.as_bytes().to_vec() };
        Self { operation, manager, force, subresource, version, decoding, raw, body, bytes }
    }
}

/// As much of a server as it takes.
struct Server {
    kind: Kind,
    live: Option<Value>,
    requests: i64,
}

fn time_of(request: i64) -> Timestamp {
    let first: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    first + SignedDuration::from_mins(request)
}

impl Server {
    fn answer(&mut self, request: &Request) -> Vec<String> {
        let api_version = format!("{}{}", self.kind.group, request.version);
        let ignored = match (self.kind.is_custom, request.subresource) {
            (true, "") => FieldSet::of_fields(&[&["status"]]),
            (true, _) => FieldSet::of_fields(&[&["metadata"], &["spec"]]),
            (false, _) => FieldSet::default(),
        };
        let ctx = Context {
            schema: self.kind.schema,
            api_version: &api_version,
            kind: &self.kind.name,
            manager: &request.manager,
            subresource: request.subresource,
            now: time_of(self.requests),
            ignored,
            empty: Some(&self.kind.empty),
        };
        match self.write(request, &ctx) {
            Ok(object) => self.store(object),
            Err(error) => {
                let mut status = error.to_status();
                let fields = status.as_object_mut().unwrap();
                fields.retain(|name, value| {
                    ["reason", "message", "details"].contains(&name.as_str()) && value != &json!("")
                });
                vec![format!("{} {status}", error.code)]
            }
        }
    }

    fn write(&self, request: &Request, ctx: &Context<'_>) -> Result<Value, ApiError> {
        let live = self.live.as_ref();
        let new = match request.operation.as_str() {
            "apply" => {
                let body = if request.raw { request.body.clone() } else { self.complete(request, ctx) };
                let mut object = apply(live, &body, ctx, request.force)?;
                if self.kind.is_custom {
                    // Nulls that applying left are not dropped but refused.
                    fill(ctx.schema, &mut object);
                    let errors = schema::validate(ctx.schema, &object, live);
                    if !errors.is_empty() {
                        let group = self.kind.group.trim_end_matches('/');
                        return Err(ApiError::invalid(group, ctx.kind, "x", errors));
                    }
                }
                self.settle(request, &mut object);
                return Ok(object);
            }
            "create" | "put" => self.complete(request, ctx),
            "json" => {
                json_patch::apply(live.unwrap(), &json_patch::decode(&request.bytes, request.decoding)?)?
            }
            "merge" => merge::apply(live.unwrap(), &merge::decode(&request.bytes, request.decoding)?)?,
            "strategic" => strategic::apply(live.unwrap(), &strategic::decode(&request.bytes)?, ctx.schema)?,
            other => panic!("no such operation: {other}"),
        };
        let mut new = new;
        self.default(&mut new);
        if request.operation == "put" {
            new["metadata"]["uid"] = live.unwrap()["metadata"]["uid"].clone();
        }
        update(live, &mut new, ctx);
        self.settle(request, &mut new);
        Ok(new)
    }

    fn complete(&self, request: &Request, ctx: &Context<'_>) -> Value {
        let mut body = request.body.clone();
        body["apiVersion"] = json!(ctx.api_version);
        body["kind"] = json!(ctx.kind);
        if body.get("metadata").is_none() {
            body["metadata"] = json!({});
        }
        body["metadata"]["name"] = json!("x");
        body
    }

    fn default(&self, object: &mut Value) {
        if self.kind.is_custom {
            schema::default(self.kind.schema, object);
        } else {
            as_typed(object, &self.kind.empty);
        }
    }

    /// What a server does between the managers of fields and the store.
    fn settle(&self, request: &Request, object: &mut Value) {
        object["metadata"]["uid"] = json!("the-uid");
        if !self.kind.is_custom {
            as_typed(object, &self.kind.empty);
            return;
        }
        object["apiVersion"] = json!("apply-test.example.com/v1");
        let none = json!({});
        let live = self.live.as_ref().unwrap_or(&none);
        let managed = object["metadata"].get("managedFields").cloned();
        if request.subresource == "status" {
            let status = object.get("status").cloned();
            *object = live.clone();
            put(object, "status", status);
            put(&mut object["metadata"], "managedFields", managed);
        } else {
            put(object, "status", live.get("status").cloned());
        }
    }

    fn store(&mut self, mut object: Value) -> Vec<String> {
        let code = if self.live.is_some() { 200 } else { 201 };
        if let Some(live) = &self.live {
            keep_times(live, &mut object);
        }
        let unchanged = if self.live.as_ref() == Some(&object) { "unchanged " } else { "" };
        whole_numbers(&mut object);
        self.live = Some(object.clone());

        let managed = put(&mut object["metadata"], "managedFields", None).unwrap_or(json!([]));
        for name in ["name", "uid"] {
            put(&mut object["metadata"], name, None);
        }
        if object["metadata"] == json!({}) {
            put(&mut object, "metadata", None);
        }
        for name in ["apiVersion", "kind"] {
            put(&mut object, name, None);
        }
        let entries = managed.as_array().unwrap().iter().map(|entry| self.describe(entry));
        std::iter::once(format!("{code} {unchanged}{object}")).chain(entries).collect()
    }

    fn describe(&self, entry: &Value) -> String {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let subresource = match text("subresource") {
            "" => String::new(),
            subresource => format!("/{subresource}"),
        };
        let time = match text("time") {
            "" => "-".to_owned(),
            time => (0..=self.requests)
                .find(|request| time == time_of(*request).to_string())
                .map_or_else(|| time.to_owned(), |request| format!("@{request}")),
        };
        let (manager, operation, version) = (text("manager"), text("operation"), text("apiVersion"));
        format!("  {manager} {operation}{subresource} {version} {time} {}", entry["fieldsV1"])
    }
}

/// Sets or removes a field.
fn put(object: &mut Value, name: &str, value: Option<Value>) -> Option<Value> {
    let fields = object.as_object_mut().unwrap();
    match value {
        Some(value) => fields.insert(name.to_owned(), value),
        None => fields.remove(name),
    }
}

/// Fills in defaults, and does nothing else.
fn fill(schema: &Schema, value: &mut Value) {
    match value {
        Value::Array(items) => {
            let below = schema.items.as_deref();
            items.iter_mut().for_each(|item| below.into_iter().for_each(|below| fill(below, item)));
        }
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                if let Some(default) = &property.default {
                    fields.entry(name.as_str()).or_insert_with(|| default.clone());
                }
                if let Some(value) = fields.get_mut(name) {
                    fill(property, value);
                }
            }
        }
        _ => {}
    }
}

/// A real server writes `1.0` as `1`.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Number(number) if number.to_string().ends_with(".0") => {
            *value = number.to_string().trim_end_matches(".0").parse().unwrap();
        }
        _ => {}
    }
}

/// What is left of an object of a kind that is built in: what is empty is not there, and null is the empty string.
fn as_typed(object: &mut Value, empty: &Value) {
    for (name, value) in empty.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        if object.get(name).is_none() {
            object[name] = value.clone();
        }
    }
    if let Some(data) = object.get_mut("data").and_then(Value::as_object_mut) {
        data.values_mut().filter(|value| value.is_null()).for_each(|value| *value = json!(""));
    }
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    let drop = |fields: &mut Map<String, Value>| {
        fields.retain(|name, value| name == "managedFields" || !is_empty(value));
    };
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        drop(metadata);
    }
    drop(object.as_object_mut().unwrap());
}
