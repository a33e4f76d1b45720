//! Clusters that the tenant brings: where the operators are made to connect to.

use super::{Attempt, Facts, attempt, clusters, create, secrets};
use serde_json::{Value, json};

fn kubeconfig(server: &str, user: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": server } }],
        "users": [{ "name": "u", "user": user }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
    })
}

/// What, the kubeconfig, and the words of the refusal.
fn kubeconfigs(facts: &Facts) -> Vec<(&'static str, Value, &'static str)> {
    let token = || json!({ "token": "t" });
    let to = |server: &str| kubeconfig(server, token());
    let unreachable = "cannot be reached";
    vec![
        ("plain HTTP", to("http://api.example.com"), "https"),
        ("plain HTTP on this machine", to("http://127.0.0.1:8080"), "https"),
        ("this machine", to("https://127.0.0.1:6443"), unreachable),
        ("this machine by its name", to("https://localhost:6443"), unreachable),
        ("this machine in IPv6", to("https://[::1]:6443"), unreachable),
        ("this machine, mapped", to("https://[::ffff:127.0.0.1]:6443"), unreachable),
        ("no address", to("https://0.0.0.0:6443"), unreachable),
        ("the metadata service", to("https://169.254.169.254"), unreachable),
        ("the metadata service of another cloud", to("https://100.100.100.200"), unreachable),
        ("the metadata service in IPv6", to("https://[fd00:ec2::254]"), unreachable),
        (
            "a program",
            kubeconfig(
                "https://api.example.com",
                json!({ "exec": { "apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh" } }),
            ),
            "names a program to run",
        ),
        (
            "a file of the operator",
            kubeconfig(
                "https://api.example.com",
                json!({ "tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token" }),
            ),
            "names a file",
        ),
        (
            "somebody else's name",
            kubeconfig("https://api.example.com", json!({ "token": "t", "as": facts.victim })),
            "asks to act as somebody else",
        ),
    ]
}

pub fn attempts(facts: &Facts) -> Vec<Attempt> {
    let brings = |what, text: String| {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "{id}" }, "stringData": { "kubeconfig": text },
        });
        let brought = json!({
            "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster", "metadata": { "name": "{id}" },
            "spec": { "byoc": { "kubeconfigSecretRef": { "name": "{id}" } }, "administrators": ["me@example.com"] },
        });
        attempt(what, create(clusters(&facts.hostile), brought))
            .before(create(secrets(&facts.hostile), secret))
    };
    kubeconfigs(facts)
        .into_iter()
        .map(|(what, kubeconfig, words)| brings(what, kubeconfig.to_string()).reported(words))
        .collect()
}
