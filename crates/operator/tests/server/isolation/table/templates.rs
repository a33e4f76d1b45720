//! Fields of the Shoot that are not the tenant's.

use super::{Attempt, Facts, attempt, cluster, clusters, create, own, patch, paused};
use serde_json::{Value, json};

/// What, the field that the refusal names, and the template.
fn templates(facts: &Facts) -> Vec<(&'static str, &'static str, Value)> {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "name": facts.account });
    let spec = |spec: Value| json!({ "spec": spec });
    vec![
        (
            "resources",
            "spec.resources",
            spec(json!({ "resources": [{ "name": "mine", "resourceRef": secret }] })),
        ),
        (
            "DNS with the victim's credentials",
            "spec.dns.providers",
            spec(json!({ "dns": { "providers": [{ "type": "aws-route53", "credentialsRef": secret }] } })),
        ),
        (
            "DNS with the victim's Secret",
            "spec.dns.providers",
            spec(json!({ "dns": { "providers": [{ "type": "aws-route53", "secretName": facts.account }] } })),
        ),
        ("a domain", "spec.dns.domain", spec(json!({ "dns": { "domain": "victim.example.com" } }))),
        ("a seed", "spec.seedName", spec(json!({ "seedName": "aws-1" }))),
        (
            "seeds by labels",
            "spec.seedSelector",
            spec(json!({ "seedSelector": { "matchLabels": { "a": "b" } } })),
        ),
        (
            "tolerations of seeds",
            "spec.tolerations",
            spec(json!({ "tolerations": [{ "key": "seed.gardener.cloud/protected" }] })),
        ),
        ("an exposure class", "spec.exposureClassName", spec(json!({ "exposureClassName": "internet" }))),
        ("another scheduler", "spec.schedulerName", spec(json!({ "schedulerName": "mine" }))),
        (
            "the infrastructure's own configuration",
            "spec.provider.infrastructureConfig",
            spec(
                json!({ "provider": { "infrastructureConfig": { "networks": { "vpc": { "id": "vpc-1" } } } } }),
            ),
        ),
        (
            "the control plane's own configuration",
            "spec.provider.controlPlaneConfig",
            spec(
                json!({ "provider": { "controlPlaneConfig": { "storage": { "managedDefaultClass": false } } } }),
            ),
        ),
        (
            "an extension",
            "spec.extensions",
            spec(json!({ "extensions": [{ "type": "shoot-dns-service", "providerConfig": { "a": "b" } }] })),
        ),
        (
            "the victim's account",
            "spec.credentialsBindingName",
            spec(json!({ "credentialsBindingName": facts.account })),
        ),
        (
            "the victim's Secret",
            "spec.secretBindingName",
            spec(json!({ "secretBindingName": facts.account })),
        ),
        (
            "mail to others",
            "spec.monitoring",
            spec(json!({ "monitoring": { "alerting": { "emailReceivers": ["a@example.com"] } } })),
        ),
        (
            "an audit policy of others",
            "spec.kubernetes.kubeAPIServer.auditConfig",
            spec(json!({ "kubernetes": { "kubeAPIServer": { "auditConfig": { "auditPolicy": {
                "configMapRef": { "name": "victim" },
            }}}}})),
        ),
        (
            "an operation of Gardener",
            "metadata.annotations",
            json!({ "metadata": { "annotations": { "shoot.gardener.cloud/tasks": "deployInfrastructure" } } }),
        ),
        (
            "the label that says whose a Shoot is",
            "metadata.labels",
            json!({ "metadata": { "labels": { "allotment.dev/cluster-uid": facts.cluster.uid } } }),
        ),
        (
            "the name of the victim's Shoot",
            "metadata.name",
            json!({ "metadata": { "name": facts.shoot.name } }),
        ),
        ("another project", "metadata.namespace", json!({ "metadata": { "namespace": "garden" } })),
    ]
}

pub fn attempts(facts: &Facts) -> Vec<Attempt> {
    let collection = clusters(&facts.hostile);
    let mut all: Vec<Attempt> = templates(facts)
        .into_iter()
        .map(|(what, field, template)| {
            let object = cluster(&[("/spec/shootTemplate", template)]);
            let field = format!("spec.shootTemplate.{field}");
            attempt(what, create(collection.clone(), object)).denied(&field)
        })
        .collect();
    // The policy knows the fields of the table only.
    for (what, field, template) in [
        ("a field that no Shoot has", "spec.foo", json!({ "spec": { "foo": {} } })),
        ("a list that no Shoot has", "spec.foo", json!({ "spec": { "foo": [] } })),
        ("a field beside the spec", "foo", json!({ "foo": {} })),
        (
            "a field of a field that no Shoot has",
            "spec.hibernation.foo",
            json!({ "spec": { "hibernation": { "foo": {} } } }),
        ),
    ] {
        let object = cluster(&[("/spec/shootTemplate", template)]);
        let refusal = format!("spec.shootTemplate.{field}");
        all.push(attempt(what, create(collection.clone(), object)).reported(&refusal));
    }
    let later = json!({
        "metadata": { "annotations": { "allotment.dev/pause": null } },
        "spec": { "shootTemplate": { "spec": { "seedSelector": { "matchLabels": { "a": "b" } } } } },
    });
    all.push(
        attempt("a template comes later", patch(own(&collection), later))
            .before(create(collection.clone(), paused(&[])))
            .denied("spec.shootTemplate.spec.seedSelector"),
    );
    all
}
