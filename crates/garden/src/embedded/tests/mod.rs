//! The embedded garden beside the real one: what gardener-apiserver answered is in `answers`, word for word.

mod kubeconfig;
mod landscape;
mod members;

use super::{garden_server, manifests::admin};
use allotment_apiserver::{
    Server,
    auth::User,
    server::{Answer, Entropy},
};
use bytes::Bytes;
use http::Request;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{fmt::Write, fs, path::Path};

pub(super) const SHOOT: &str = include_str!("../../../../../landscape/manifests/shoots/aws.yaml");
const SHOOTS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-kyma/shoots";
const MERGE: &str = "application/merge-patch+json";

/// When the real answers were taken: versions expire.
fn now() -> Timestamp {
    "2026-11-15T10:35:00Z".parse().unwrap()
}

/// Bytes that are different each time, and the same in each run.
fn entropy(mut seed: u8) -> Entropy {
    let mut count = 0_u64;
    Box::new(move |bytes| {
        for byte in bytes {
            count += 1;
            seed = seed.wrapping_mul(37).wrapping_add(11);
            *byte = seed ^ u8::try_from(count / 256 % 256).unwrap();
        }
    })
}

struct Client {
    server: Server,
    user: User,
}

impl Client {
    fn new() -> Self {
        Self { server: garden_server(entropy(1), entropy(2), now()).unwrap(), user: admin() }
    }

    fn call(&mut self, method: &str, path: &str, content_type: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .header("user-agent", "test/1")
            .body(body)
            .unwrap();
        let Answer::Now(reply) = self.server.handle(request, Some(self.user.clone()), now()) else {
            panic!("not a watch")
        };
        self.server.do_chores(now());
        (reply.code, serde_json::from_slice(&reply.body).unwrap_or(Value::Null))
    }

    fn post(&mut self, path: &str, body: &Value) -> (u16, Value) {
        self.call("POST", &format!("{path}?fieldValidation=Strict"), "application/json", body)
    }

    fn patch(&mut self, path: &str, body: &Value) -> (u16, Value) {
        self.call("PATCH", &format!("{path}?fieldValidation=Strict"), MERGE, body)
    }

    fn must(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let content_type = if method == "PATCH" { MERGE } else { "application/json" };
        let (code, answer) = self.call(method, path, content_type, body);
        assert!(code < 300, "{method} {path}: {answer}");
        answer
    }
}

/// One request to the real server, and its answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    case: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    start: Value,
    create: Option<Value>,
    worker: Option<Value>,
    patch0: Option<Value>,
    delete0: Option<bool>,
    status: Option<Value>,
    patch: Option<Value>,
    patch_worker: Option<Value>,
    patch_status: Option<Value>,
    #[serde(default, rename = "delete")]
    _delete: bool,
    code: u16,
    message: Option<String>,
    generation: Option<(i64, i64)>,
    operation: Option<String>,
    /// What the embedded garden answers where it knowingly differs.
    embedded: Option<(u16, Option<String>)>,
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in fields {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name], value);
        }
    }
}

/// Takes away what a case left behind.
fn clean(client: &mut Client, collection: &str, answer: &Value, base: &Value) {
    let name = answer["metadata"]["name"].as_str().or(base["metadata"]["name"].as_str()).unwrap();
    let path = format!("{collection}/{name}");
    let gone = json!({ "lastOperation": { "type": "Delete", "state": "Succeeded", "progress": 100 } });
    client.patch(&format!("{path}/status"), &json!({ "status": gone }));
    let annotations = json!({ "confirmation.gardener.cloud/deletion": "true" });
    client.patch(&path, &json!({ "metadata": { "annotations": annotations } }));
    client.call("DELETE", &path, "application/json", &Value::Null);
    client.patch(&path, &json!({ "metadata": { "finalizers": null } }));
    assert_eq!(client.call("GET", &path, "", &Value::Null).0, 404, "{path} is still there");
}

/// Sends what was sent to the real server. Before and after: the generation.
fn replay(client: &mut Client, case: &Case, base: &Value, collection: &str) -> (u16, Value, i64) {
    let collection = match &case.namespace {
        Some(namespace) => collection.replace("garden-kyma", namespace),
        None => collection.to_owned(),
    };
    let mut object = base.clone();
    merge(
        &mut object,
        &json!({ "metadata": { "namespace": case.namespace.as_deref().unwrap_or("garden-kyma") } }),
    );
    if collection.ends_with("projects") {
        object["metadata"].as_object_mut().unwrap().remove("namespace");
    }
    if case.start.is_object() {
        merge(&mut object, &case.start);
    }
    if case.create.is_some() || case.worker.is_some() {
        let create = case.create.clone().unwrap_or(json!({}));
        if create.pointer("/spec/provider/workers") == Some(&json!("double")) {
            let worker = object["spec"]["provider"]["workers"][0].clone();
            object["spec"]["provider"]["workers"] = json!([worker, worker]);
        } else {
            merge(&mut object, &create);
        }
        if let Some(worker) = &case.worker {
            merge(&mut object["spec"]["provider"]["workers"][0], worker);
        }
        let (code, answer) = client.post(&collection, &object);
        return (code, answer, 0);
    }
    let path = format!("{collection}/{}", object["metadata"]["name"].as_str().unwrap());
    let first = client.must("POST", &collection, &object);
    let mut latest = first.clone();
    if let Some(patch) = &case.patch0 {
        latest = client.must("PATCH", &path, patch);
    }
    if case.delete0.is_some() {
        latest = client.must("DELETE", &path, &Value::Null);
    }
    if let Some(status) = &case.status {
        latest = client.must("PATCH", &format!("{path}/status"), &json!({ "status": status }));
    }
    let before = latest["metadata"]["generation"].as_i64().unwrap_or_default();
    let (code, answer) = if let Some(patch) = &case.patch {
        client.patch(&path, patch)
    } else if let Some(worker) = &case.patch_worker {
        let mut workers = first["spec"]["provider"]["workers"].clone();
        merge(&mut workers[0], worker);
        client.patch(&path, &json!({ "spec": { "provider": { "workers": workers } } }))
    } else if let Some(status) = &case.patch_status {
        client.patch(&format!("{path}/status"), &json!({ "status": status }))
    } else {
        client.call("DELETE", &path, "application/json", &Value::Null)
    };
    (code, answer, before)
}

fn compare(answers: &str, base: &Value, collection: &str) {
    let cases: Vec<Case> = serde_saphyr::from_str(answers).unwrap();
    assert!(!cases.is_empty());
    let mut wrong = String::new();
    let mut client = Client::new();
    for name in ["emb-sb", "emb-sb2"] {
        let mut binding = secret_binding();
        binding["metadata"]["name"] = json!(name);
        client.must("POST", SECRET_BINDINGS, &binding);
    }
    for case in &cases {
        let (code, answer, before) = replay(&mut client, case, base, collection);
        clean(&mut client, collection, &answer, base);
        let message = answer["message"].as_str().filter(|_| code >= 400).map(str::to_owned);
        let said = (code, message);
        let real = (case.code, case.message.clone());
        let expected = case.embedded.as_ref().map_or(&real, |embedded| embedded);
        assert!(case.embedded.as_ref() != Some(&real), "{} is no difference any more", case.case);
        if said != *expected {
            writeln!(wrong, "{}\n  expected {expected:?}\n  embedded {said:?}", case.case).unwrap();
            continue;
        }
        if case.embedded.is_some() {
            continue;
        }
        if let Some((old, new)) = case.generation {
            let generations = (before, answer["metadata"]["generation"].as_i64().unwrap_or_default());
            if generations != (old, new) {
                writeln!(wrong, "{}: generation {generations:?}, not {:?}", case.case, (old, new)).unwrap();
            }
        }
        let operation = answer["metadata"]["annotations"]["gardener.cloud/operation"].as_str();
        if code < 300 && case.create.is_none() && operation != case.operation.as_deref() {
            writeln!(wrong, "{}: operation {operation:?}, not {:?}", case.case, case.operation).unwrap();
        }
    }
    assert!(wrong.is_empty(), "answered otherwise than the real garden:\n{wrong}");
}

const SECRET_BINDINGS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-kyma/secretbindings";

fn shoot() -> Value {
    let mut shoot: Value = serde_saphyr::from_str(SHOOT).unwrap();
    shoot["metadata"] = json!({ "name": "emb-s" });
    shoot
}

fn secret_binding() -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "SecretBinding",
        "metadata": { "name": "emb-x" }, "provider": { "type": "aws" },
        "secretRef": { "name": "aws-01", "namespace": "garden-kyma" },
    })
}

#[test]
fn new_shoots_are_answered_like_by_the_real_garden() {
    compare(include_str!("answers/shoots-created.yaml"), &shoot(), SHOOTS);
}

#[test]
fn workers_are_answered_like_by_the_real_garden() {
    compare(include_str!("answers/workers.yaml"), &shoot(), SHOOTS);
}

#[test]
fn changes_of_shoots_are_answered_like_by_the_real_garden() {
    compare(include_str!("answers/shoots-changed.yaml"), &shoot(), SHOOTS);
}

#[test]
fn secret_bindings_are_answered_like_by_the_real_garden() {
    compare(include_str!("answers/secretbindings.yaml"), &secret_binding(), SECRET_BINDINGS);
}

#[test]
fn credentials_bindings_are_answered_like_by_the_real_garden() {
    let binding = json!({
        "apiVersion": "security.gardener.cloud/v1alpha1", "kind": "CredentialsBinding",
        "metadata": { "name": "emb-x" }, "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": "aws-01", "namespace": "garden-kyma" },
    });
    let collection = "/apis/security.gardener.cloud/v1alpha1/namespaces/garden-kyma/credentialsbindings";
    compare(include_str!("answers/credentialsbindings.yaml"), &binding, collection);
}

#[test]
fn projects_are_answered_like_by_the_real_garden() {
    let project = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Project",
        "metadata": { "name": "emb-p" }, "spec": { "namespace": "garden-emb-p" },
    });
    compare(include_str!("answers/projects.yaml"), &project, "/apis/core.gardener.cloud/v1beta1/projects");
}

#[test]
fn a_new_shoot_looks_like_one_of_the_real_garden() {
    let mut object = shoot();
    object["spec"]["kubernetes"]["version"] = json!("1.34");
    let mut made = Client::new().must("POST", SHOOTS, &object);
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        made["metadata"].as_object_mut().unwrap().remove(field);
    }
    let window = made["spec"]["maintenance"].as_object_mut().unwrap().remove("timeWindow").unwrap();
    let hour = |which: &str| window[which].as_str().unwrap()[..2].parse::<u32>().unwrap();
    assert_eq!(hour("end"), hour("begin") + 1);
    let real: Value = serde_json::from_str(include_str!("answers/shoot.json")).unwrap();
    assert_eq!(made, real);
}

#[test]
fn a_shoot_that_is_applied_again_stays_as_it_is() {
    let mut client = Client::new();
    let path = format!("{SHOOTS}/emb-s?fieldManager=test&fieldValidation=Strict");
    let apply = "application/apply-patch+yaml";
    let (code, first) = client.call("PATCH", &path, apply, &shoot());
    assert_eq!(code, 201, "{first}");
    let (code, second) = client.call("PATCH", &path, apply, &shoot());
    assert_eq!((code, &second), (200, &first));
    let mut fewer = shoot();
    let mut added = fewer["spec"]["provider"]["workers"][0].clone();
    added["name"] = json!("other");
    fewer["spec"]["provider"]["workers"] = json!([fewer["spec"]["provider"]["workers"][0], added]);
    let (_, third) = client.call("PATCH", &path, apply, &fewer);
    assert_eq!(third["spec"]["provider"]["workers"].as_array().unwrap().len(), 2, "{third}");
    assert_eq!(third["metadata"]["generation"], 2);
    // What was applied and is not any more goes; see KIM's issue 640 for what becomes of those that were not.
    let (_, fourth) = client.call("PATCH", &path, apply, &shoot());
    assert_eq!(fourth["spec"]["provider"]["workers"].as_array().unwrap().len(), 1);
    assert_eq!(fourth["metadata"]["generation"], 3);
}

#[test]
fn unknown_fields_are_dropped_where_nobody_asks() {
    let mut object = shoot();
    object["spec"]["kubernetes"]["kubeAPIServer"] = json!({ "oidcConfig": { "clientID": "x" } });
    let made = Client::new().must("POST", SHOOTS, &object);
    assert_eq!(made["spec"]["kubernetes"]["kubeAPIServer"].get("oidcConfig"), None);
}

#[test]
fn discovery_lists_what_kubeconfigs_are_asked_for() {
    let list = Client::new().must("GET", "/apis/core.gardener.cloud/v1beta1", &Value::Null);
    let named = |name: &str| {
        list["resources"]
            .as_array()
            .unwrap()
            .iter()
            .find(|resource| resource["name"] == name)
            .unwrap()
            .clone()
    };
    for (name, kind) in [("admin", "AdminKubeconfigRequest"), ("viewer", "ViewerKubeconfigRequest")] {
        let name = format!("shoots/{name}kubeconfig");
        let expected = json!({
            "name": name, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["create"],
            "group": "authentication.gardener.cloud", "version": "v1alpha1",
        });
        assert_eq!(named(&name), expected);
    }
}

#[test]
fn who_creates_a_shoot_owns_its_defaults_but_not_what_the_garden_adds() {
    let made = Client::new().must("POST", SHOOTS, &shoot());
    let owned = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
    assert!(owned["f:maintenance"]["f:timeWindow"].is_object(), "{owned}");
    assert!(owned["f:kubernetes"].get("f:verticalPodAutoscaler").is_none(), "{owned}");
    assert!(made["spec"]["kubernetes"]["verticalPodAutoscaler"].is_object());
}

/// There is one truth: what the real landscape starts with.
#[test]
fn the_manifests_are_those_of_the_real_landscape() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["garden", "garden-core", "shoot-access"] {
        let theirs = root.join("../../landscape/manifests").join(folder);
        let ours = root.join("src/embedded/manifests").join(folder);
        let names = |folder: &Path| {
            let mut names: Vec<_> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&theirs), names(&ours), "cp landscape/manifests/{folder}/* {}", ours.display());
        for name in names(&theirs) {
            let read = |folder: &Path| fs::read_to_string(folder.join(&name)).unwrap();
            assert!(read(&theirs) == read(&ours), "{folder}/{} differs", name.display());
        }
    }
}
