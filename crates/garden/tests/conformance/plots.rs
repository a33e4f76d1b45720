//! What a case in a garden works on: a project of its own with an account.

use crate::{
    cases::garden::{BINDINGS, PROJECTS, SHOOTS, shoot},
    script::{Step, create, delete, merge},
    servers::{Failure, Server, Variables},
};
use allotment_apiserver::auth::certificate::{CertificateAuthority, KeyKind};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// gardener-apiserver learns of projects, Secrets and bindings by watching, which takes a moment.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// The client CA of Shoots, for both servers: RSA, which takes a second to make, so there is one for all cases.
static CLIENT_CA: LazyLock<(Value, Value)> = LazyLock::new(|| {
    let now = Timestamp::now();
    let end = now + SignedDuration::from_hours(24);
    let mut random = |bytes: &mut [u8]| getrandom::fill(bytes).unwrap();
    let ca =
        CertificateAuthority::generate(KeyKind::Rsa2048, "shoot clients", now, end, &mut random).unwrap();
    let encoded = |text: String| json!(ByteString(text.into_bytes()));
    (encoded(ca.certificate_pem()), encoded(ca.key_pem()))
});

/// `{project}` has at most ten characters, and `{ns}` is its namespace.
pub fn variables(run: &str, number: usize) -> Variables {
    let project = format!("{run}{number:03x}");
    Variables::from([("ns".to_owned(), format!("garden-{project}")), ("project".to_owned(), project)])
}

/// The InternalSecret from which a garden issues kubeconfigs for a Shoot.
pub fn client_ca(shoot: &str) -> Value {
    let (certificate, key) = &*CLIENT_CA;
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret",
        "metadata": { "name": format!("{shoot}.ca-client") }, "data": { "ca.crt": certificate, "ca.key": key },
    })
}

/// Makes the project and its account, and waits until a Shoot could be made.
pub async fn prepare(server: &Server, variables: &Variables) -> Result<(), Failure> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}", "labels": {
        "gardener.cloud/role": "project", "project.gardener.cloud/name": "{project}",
    } } });
    let project = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Project",
        "metadata": { "name": "{project}" }, "spec": { "namespace": "{ns}" },
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "account" }, "stringData": { "account": "1" },
    });
    let binding = json!({
        "apiVersion": "security.gardener.cloud/v1alpha1", "kind": "CredentialsBinding",
        "metadata": { "name": "account" }, "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": "account", "namespace": "{ns}" },
    });
    let steps = [
        create("/api/v1/namespaces", namespace),
        create(PROJECTS, project),
        create("/api/v1/namespaces/{ns}/secrets", secret),
        create(BINDINGS, binding),
        create(format!("{SHOOTS}?dryRun=All"), shoot("ready")),
    ];
    for step in steps {
        let started = Instant::now();
        while let Some(call) = step.call() {
            let answer = server.send(call, variables).await?;
            if answer.status().is_success() {
                break;
            }
            if started.elapsed() > READY_WITHIN {
                return Err(format!("{}: {step}: {}", server.name, answer.status()).into());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

/// Deletes what a case made outside of its namespace, its Shoots, its project and its namespace. A namespace with a Shoot in
/// it would never end.
pub async fn tidy_up(server: &Server, variables: &Variables, litter: &[String]) {
    let mut steps: Vec<Step> = Vec::new();
    let project = format!("{PROJECTS}/{{project}}");
    for path in litter.iter().rev().chain([&project]) {
        let gone = json!({
            "type": "Delete", "state": "Succeeded", "progress": 100, "description": "", "lastUpdateTime": "2026-01-01T00:00:00Z",
        });
        if path.contains("/shoots/") {
            steps.push(merge(format!("{path}/status"), json!({ "status": { "lastOperation": gone } })));
        }
        let confirmed = json!({ "confirmation.gardener.cloud/deletion": "true" });
        steps.push(merge(path.clone(), json!({ "metadata": { "annotations": confirmed } })));
        steps.push(delete(path.clone()));
        steps.push(merge(path.clone(), json!({ "metadata": { "finalizers": null } })));
    }
    steps.push(delete("/api/v1/namespaces/{ns}"));
    for step in steps {
        if let Some(call) = step.call() {
            // What is gone already needs nothing.
            let _ = server.send(call, variables).await;
        }
    }
}
