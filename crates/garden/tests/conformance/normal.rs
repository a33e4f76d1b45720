//! Makes answers of two servers comparable: what each server chooses by itself (UIDs, versions, times, generated names)
//! becomes a number in the order of first appearance, so that what was equal stays equal.

use k8s_openapi::ByteString;
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::LazyLock};

/// What was seen of one server in one case.
#[derive(Debug, Default)]
pub struct Normal {
    uids: BTreeMap<String, usize>,
    versions: BTreeMap<String, usize>,
    names: BTreeMap<String, String>,
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

static UID: LazyLock<Regex> =
    LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
/// Times of scripts are before 2025.
static TIME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"20(2[5-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)"));
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(ResourceVersion in precondition: |ResourceVersion in object meta: |resource version: |current: |\(|resourceVersion\\*":\\*")(\d+)"#,
    )
});
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"https://(127\.0\.0\.1:\d+|kubernetes\.default\.svc[a-z.]*)"));
/// Where etcd has it, which depends on how a server was started.
static STORAGE_KEY: LazyLock<Regex> = LazyLock::new(|| pattern("Key: /[^,]*"));
static CERTIFICATE_ID: LazyLock<Regex> = LazyLock::new(|| pattern("X509SHA256=[0-9a-f]{64}"));

impl Normal {
    /// The same, as it would be on any server.
    pub fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => Value::Object(self.object(fields)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.value(item)).collect()),
            Value::String(text) => Value::String(self.text(text)),
            other => other.clone(),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Map<String, Value> {
        if fields.get("metadata").is_some_and(|metadata| metadata["name"] == "kube-root-ca.crt") {
            // Put into every namespace by a controller; whose certificate it is, is no business of a case.
            return Map::from_iter([("the bundle of".to_owned(), fields["metadata"]["namespace"].clone())]);
        }
        self.learn_refused_name(fields);
        let is_list = fields.get("items").is_some_and(Value::is_array);
        let mut result = Map::new();
        for (key, value) in fields {
            if let ("nonResourceRules" | "resourceRules", Value::Array(rules)) = (key.as_str(), value) {
                // A real server goes through bindings in the order of a Go map.
                let mut rules: Vec<Value> = rules.iter().map(|rule| self.value(rule)).collect();
                rules.sort_by_key(Value::to_string);
                result.insert(key.clone(), Value::Array(rules));
                continue;
            }
            if let ("causes", Value::Array(causes)) = (key.as_str(), value) {
                // Some kinds are checked by more than one layer of a real server, and every layer adds its causes.
                let mut causes: Vec<Value> = causes.iter().map(|cause| self.value(cause)).collect();
                causes.dedup();
                // A real server goes through managers in the order of a Go map.
                if causes.iter().any(|cause| cause["reason"] == "FieldManagerConflict") {
                    causes.sort_by_key(Value::to_string);
                }
                result.insert(key.clone(), Value::Array(causes));
                continue;
            }
            let value = match (key.as_str(), value) {
                ("metadata", Value::Object(metadata)) if is_list => Value::Object(list_metadata(metadata)),
                ("metadata", Value::Object(metadata)) => Value::Object(self.metadata(metadata)),
                ("resourceVersion", Value::String(version)) if version.parse::<u64>().is_ok() => {
                    Value::String(self.version_of_an_object(version))
                }
                ("kubeconfig", Value::String(text)) => self.kubeconfig(text),
                ("timeWindow", window) if is_some_hour(window) => json!("<some hour>"),
                ("token", Value::String(token)) if token.split('.').count() == 3 => self.token(token),
                (_, value) => self.value(value),
            };
            result.insert(self.text(key), value);
        }
        result
    }

    fn metadata(&mut self, metadata: &Map<String, Value>) -> Map<String, Value> {
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default();
        let (prefix, name) = (text("generateName"), text("name"));
        self.learn_name(prefix, name);
        let mut result = self.object(metadata);
        result.remove("selfLink");
        if let Some(Value::Array(managers)) = result.get_mut("managedFields") {
            // A server sorts them by time, in seconds: whether two writes fall into the same one is chance.
            managers.sort_by_key(|entry| {
                ["operation", "manager", "apiVersion", "subresource"].map(|key| entry[key].to_string())
            });
        }
        result
    }

    /// A name that was generated and then refused is only in the words of the refusal.
    fn learn_refused_name(&mut self, status: &Map<String, Value>) {
        let details = status.get("details").unwrap_or(&Value::Null);
        let causes = details["causes"].as_array().into_iter().flatten();
        let prefix = causes
            .filter(|cause| cause["field"] == "metadata.generateName")
            .find_map(|cause| cause["message"].as_str()?.split('"').nth(1));
        if let (Some(prefix), Some(name)) = (prefix, details["name"].as_str()) {
            self.learn_name(prefix, name);
        }
    }

    fn learn_name(&mut self, prefix: &str, name: &str) {
        if !prefix.is_empty() && name.len() > prefix.len() && !self.names.contains_key(name) {
            let number = self.names.len() + 1;
            let length = name.len() - prefix.len();
            self.names
                .insert(name.to_owned(), format!("{prefix}<{length} generated characters, name {number}>"));
        }
    }

    fn version_of_an_object(&mut self, version: &str) -> String {
        // What scripts use as a version that was never given to anybody.
        if version == "0" {
            return version.to_owned();
        }
        let next = self.versions.len() + 1;
        format!("<version {}>", self.versions.entry(version.to_owned()).or_insert(next))
    }

    fn text(&mut self, text: &str) -> String {
        if text.starts_with("-----BEGIN CERTIFICATE-----") {
            return "<certificate>".to_owned();
        }
        let mut text = UID
            .replace_all(text, |found: &Captures<'_>| {
                let next = self.uids.len() + 1;
                format!("<uid {}>", self.uids.entry(found[0].to_owned()).or_insert(next))
            })
            .into_owned();
        text = TIME
            .replace_all(&text, |found: &Captures<'_>| {
                format!("<time with {} decimals>", found.get(2).map_or(0, |decimals| decimals.len() - 1))
            })
            .into_owned();
        text = VERSION
            .replace_all(&text, |found: &Captures<'_>| {
                format!("{}{}", &found[1], self.known_version(&found[2]))
            })
            .into_owned();
        text = ADDRESS.replace_all(&text, "<issuer>").into_owned();
        text = CERTIFICATE_ID.replace_all(&text, "X509SHA256=<hash>").into_owned();
        text = STORAGE_KEY.replace_all(&text, "Key: <key>").into_owned();
        for (name, placeholder) in &self.names {
            text = text.replace(name, placeholder);
        }
        if text.starts_with("Apply failed with") {
            let mut lines: Vec<&str> = text.split(['\n', ':']).map(str::trim).collect();
            lines.sort_unstable();
            text = lines.join("; ");
        }
        text
    }

    fn known_version(&self, version: &str) -> String {
        match self.versions.get(version) {
            Some(number) => format!("<version {number}>"),
            None if version.len() < 2 => version.to_owned(),
            None => "<version>".to_owned(),
        }
    }

    /// What an issued kubeconfig says; keys and certificates are different each time.
    fn kubeconfig(&mut self, encoded: &str) -> Value {
        let bytes: Option<ByteString> = serde_json::from_value(json!(encoded)).ok();
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).unwrap_or_default();
        let Ok(mut kubeconfig) = serde_saphyr::from_str::<Value>(&text) else {
            return json!("<a kubeconfig that is not one>");
        };
        for (list, entry) in [("clusters", "cluster"), ("users", "user")] {
            for named in kubeconfig[list].as_array_mut().into_iter().flatten() {
                let fields = named[entry].as_object_mut().into_iter().flatten();
                for (_, value) in fields.filter(|(name, _)| name.ends_with("-data")) {
                    *value = json!("<data>");
                }
            }
        }
        json!({ "decoded": self.value(&kubeconfig) })
    }

    /// The claims of a token; the signature is of no interest.
    fn token(&mut self, token: &str) -> Value {
        let part = token.split('.').nth(1).unwrap_or_default().replace('-', "+").replace('_', "/");
        let padded = format!("{part}{}", "=".repeat((4 - part.len() % 4) % 4));
        let bytes: Option<ByteString> = serde_json::from_value(json!(padded)).ok();
        let Some(mut claims) = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes.0).ok()) else {
            return json!("<a token that is not one>");
        };
        let issued = claims["iat"].as_i64().unwrap_or_default();
        for time in ["exp", "nbf", "iat"] {
            let after = claims[time].as_i64().unwrap_or_default() - issued;
            claims[time] = json!(format!("<issued + {after} s>"));
        }
        json!({ "claims": self.value(&claims) })
    }
}

/// Gardener picks an hour for the maintenance of a Shoot if nobody says when it is to be.
fn is_some_hour(window: &Value) -> bool {
    let whole_hour = |field: &str| window[field].as_str().is_some_and(|time| time.ends_with("0000+0000"));
    whole_hour("begin") && whole_hour("end")
}

/// The version of a list is that of the whole store, which others write to as well.
fn list_metadata(metadata: &Map<String, Value>) -> Map<String, Value> {
    let mut result = metadata.clone();
    result.remove("selfLink");
    if result.contains_key("resourceVersion") {
        result.insert("resourceVersion".to_owned(), json!("<version of the list>"));
    }
    if result.get("continue").and_then(Value::as_str).is_some_and(|token| !token.is_empty()) {
        result.insert("continue".to_owned(), json!("<continue>"));
    }
    result
}
