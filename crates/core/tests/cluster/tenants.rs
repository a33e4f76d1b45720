//! What a tenant's `shootTemplate` may do.

use crate::stage::Stage;
use allotment_api::kyma::Provider;
use allotment_core::{cluster::AllowedReference, pool::Tenant, tenancy::NamespaceRole};
use serde_json::{Value, json};

const TENANT: &str = "t-1";

/// A template in a namespace of a tenant's; the namespace is `tenants`.
fn tenants(template: Value) -> Stage {
    let mut stage = Stage::new(Provider::Aws).with("spec.shootTemplate", template);
    stage.role = NamespaceRole::Tenants([Tenant::new(TENANT)].into());
    stage
}

fn allow(mut stage: Stage, references: Value) -> Stage {
    stage.clusters.references = serde_json::from_value::<Vec<AllowedReference>>(references).unwrap();
    stage
}

/// Templates that tenants may not use, with the field that is refused.
fn refused() -> Vec<(Value, &'static str)> {
    let secret = || json!({ "apiVersion": "v1", "kind": "Secret", "name": "victim" });
    let api_server = |value: Value| json!({ "spec": { "kubernetes": { "kubeAPIServer": value } } });
    let spec = |value: Value| json!({ "spec": value });
    let pool = |value: Value| {
        let mut pool = json!({ "name": "cpu-worker-0" });
        pool.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        json!({ "spec": { "provider": { "workers": [pool] } } })
    };
    vec![
        (
            spec(json!({ "dns": { "providers": [{ "type": "aws-route53", "credentialsRef": secret() }] } })),
            "spec.dns.providers[aws-route53].credentialsRef",
        ),
        (
            spec(json!({ "dns": { "providers": [{ "type": "aws-route53", "secretName": "victim" }] } })),
            "spec.dns.providers[aws-route53].secretName",
        ),
        (spec(json!({ "dns": { "domain": "victim.example.com" } })), "spec.dns.domain"),
        (
            spec(json!({ "resources": [{ "name": "mine", "resourceRef": secret() }] })),
            "spec.resources[mine].resourceRef",
        ),
        (spec(json!({ "extensions": [{ "type": "some" }] })), "spec.extensions[some].type"),
        (spec(json!({ "extensions": [{ "providerConfig": {} }] })), "spec.extensions[0].providerConfig"),
        (spec(json!({ "accessRestrictions": [{ "name": "x" }] })), "spec.accessRestrictions[x]"),
        (spec(json!({ "seedSelector": { "matchLabels": { "a": "b" } } })), "spec.seedSelector"),
        (spec(json!({ "schedulerName": "other" })), "spec.schedulerName"),
        (spec(json!({ "exposureClassName": "internet" })), "spec.exposureClassName"),
        (spec(json!({ "tolerations": [{ "key": "protected" }] })), "spec.tolerations"),
        (spec(json!({ "controlPlane": { "zones": ["a"] } })), "spec.controlPlane.zones"),
        (
            spec(json!({ "monitoring": { "alerting": { "emailReceivers": ["a@b.c"] } } })),
            "spec.monitoring.alerting",
        ),
        (spec(json!({ "networking": { "providerConfig": {} } })), "spec.networking.providerConfig"),
        (
            spec(
                json!({ "provider": { "infrastructureConfig": { "networks": { "vpc": { "id": "vpc-1" } } } } }),
            ),
            "spec.provider.infrastructureConfig",
        ),
        (spec(json!({ "provider": { "controlPlaneConfig": null } })), "spec.provider.controlPlaneConfig"),
        (
            spec(json!({ "provider": { "workersSettings": { "sshAccess": { "enabled": true } } } })),
            "spec.provider.workersSettings",
        ),
        (
            pool(json!({ "providerConfig": { "iamInstanceProfile": {} } })),
            "spec.provider.workers[cpu-worker-0].providerConfig",
        ),
        (pool(json!({ "controlPlane": {} })), "spec.provider.workers[cpu-worker-0].controlPlane"),
        (
            pool(json!({ "machine": { "image": { "providerConfig": {} } } })),
            "spec.provider.workers[cpu-worker-0].machine.image.providerConfig",
        ),
        (
            pool(json!({ "cri": { "containerRuntimes": [{ "type": "gvisor" }] } })),
            "spec.provider.workers[cpu-worker-0].cri.containerRuntimes",
        ),
        (
            api_server(json!({ "auditConfig": { "auditPolicy": { "configMapRef": { "name": "victim" } } } })),
            "spec.kubernetes.kubeAPIServer.auditConfig.auditPolicy.configMapRef",
        ),
        (
            api_server(
                json!({ "admissionPlugins": [{ "name": "ImagePolicyWebhook", "kubeconfigSecretName": "victim" }] }),
            ),
            "spec.kubernetes.kubeAPIServer.admissionPlugins[ImagePolicyWebhook].kubeconfigSecretName",
        ),
        (
            api_server(json!({ "admissionPlugins": [{ "name": "PodNodeSelector", "config": {} }] })),
            "spec.kubernetes.kubeAPIServer.admissionPlugins[PodNodeSelector].config",
        ),
        (
            api_server(json!({ "structuredAuthentication": { "configMapName": "victim" } })),
            "spec.kubernetes.kubeAPIServer.structuredAuthentication.configMapName",
        ),
        (
            api_server(json!({ "structuredAuthorization": { "configMapName": "victim" } })),
            "spec.kubernetes.kubeAPIServer.structuredAuthorization.configMapName",
        ),
        (
            api_server(
                json!({ "structuredAuthorization": { "kubeconfigs": [{ "authorizerName": "a", "secretName": "victim" }] } }),
            ),
            "spec.kubernetes.kubeAPIServer.structuredAuthorization.kubeconfigs[0].secretName",
        ),
        (
            api_server(json!({ "encryptionConfig": { "resources": ["configmaps"] } })),
            "spec.kubernetes.kubeAPIServer.encryptionConfig",
        ),
        (
            api_server(json!({ "serviceAccountConfig": { "issuer": "https://victim" } })),
            "spec.kubernetes.kubeAPIServer.serviceAccountConfig.issuer",
        ),
        (
            api_server(json!({ "autoscaling": { "minAllowed": { "cpu": "100" } } })),
            "spec.kubernetes.kubeAPIServer.autoscaling",
        ),
        (
            json!({ "metadata": { "annotations": { "shoot.gardener.cloud/ignore": "true" } } }),
            "metadata.annotations",
        ),
        (
            json!({ "metadata": { "labels": { "gardener.clusters.openmcp.cloud/cluster-uid": "x" } } }),
            "metadata.labels",
        ),
        (json!({ "metadata": { "managedFields": "x" } }), "metadata.managedFields"),
        (spec(json!({ "futureField": "x" })), "spec.futureField"),
        (
            spec(json!({ "kubernetes": { "futureField": { "secretName": "x" } } })),
            "spec.kubernetes.futureField.secretName",
        ),
    ]
}

#[test]
fn references_and_fields_of_the_platform_are_refused_to_tenants() {
    for (template, field) in refused() {
        let problems = tenants(template.clone()).problems();
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, [format!("spec.shootTemplate.{field}")], "{template}");
    }
}

#[test]
fn fields_that_the_table_does_not_have_are_refused_whatever_they_hold() {
    for value in
        [json!({}), json!([]), json!([null]), json!([[]]), json!([{ "a": null }]), json!(""), json!(0)]
    {
        for (template, field) in [
            (json!({ "foo": value }), "foo"),
            (json!({ "metadata": { "foo": value } }), "metadata.foo"),
            (json!({ "spec": { "foo": value } }), "spec.foo"),
            (json!({ "spec": { "hibernation": { "foo": value } } }), "spec.hibernation.foo"),
            (json!({ "spec": { "foo": { "bar": value } } }), "spec.foo.bar"),
            (json!({ "spec": { "hibernation.schedules": value } }), "spec.hibernation.schedules"),
            (json!({ "spec": { "hibernation.enabled": value } }), "spec.hibernation.enabled"),
            (json!({ "spec": { "resources": [{ "name": "a", "foo": value }] } }), "spec.resources[a].foo"),
            (
                json!({ "spec": { "provider": { "workers": [{ "name": "cpu-worker-0", "foo": value }] } } }),
                "spec.provider.workers[cpu-worker-0].foo",
            ),
        ] {
            let problems = tenants(template.clone()).problems();
            let field = format!("spec.shootTemplate.{field}");
            let is_it =
                |problem: &str| problem.strip_prefix(&field).is_some_and(|rest| !rest.starts_with('.'));
            assert!(problems.iter().any(|problem| is_it(&problem.field)), "{template}: {problems:?}");
        }
    }
    // What a merge patch keeps in lists.
    for (entry, field) in [(json!({ "foo": null }), "[0].foo"), (json!(null), "[0]")] {
        let template = json!({ "spec": { "hibernation": { "schedules": [entry] } } });
        let problems = tenants(template).problems();
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, [format!("spec.shootTemplate.spec.hibernation.schedules{field}")]);
    }
    // An object that the table knows may be empty, and a null takes away what is not there.
    let known = json!({ "foo": null, "spec": { "foo": null, "hibernation": {}, "resources": [] } });
    tenants(known).render().unwrap();
}

#[test]
fn namespaces_of_the_platform_may_use_what_they_could_before() {
    for (template, field) in refused() {
        for role in [NamespaceRole::Platform, NamespaceRole::Trusted] {
            let mut stage = tenants(template.clone());
            stage.role = role;
            stage.render().unwrap_or_else(|problems| panic!("{field}: {problems}"));
        }
    }
}

#[test]
fn tenants_may_set_what_acts_in_their_own_cluster() {
    let shoot = tenants(json!({
        "metadata": { "labels": { "team": "blue", "example.com/costs": "1" }, "annotations": { "note": "x" } },
        "spec": {
            "purpose": null,
            "hibernation": { "enabled": true, "schedules": [{ "start": "0 20 * * *", "location": "Europe/Berlin" }] },
            "kubernetes": {
                "kubelet": { "maxPods": 200, "evictionHard": { "memoryAvailable": "5%" }, "featureGates": { "A": true } },
                "kubeProxy": { "mode": "IPVS" },
                "kubeAPIServer": { "admissionPlugins": [{ "name": "PodSecurity", "disabled": true }], "eventTTL": "2h" },
            },
            "maintenance": { "confineSpecUpdateRollout": true },
            "provider": { "workers": [{
                "name": "cpu-worker-0", "priority": 5, "machine": { "type": "m5.large" }, "sysctls": { "a": "b" },
                "taints": [{ "key": "a", "effect": "NoSchedule" }],
            }] },
            "systemComponents": { "nodeLocalDNS": { "enabled": true } },
        },
    }))
    .shoot();
    assert_eq!(shoot["spec"]["kubernetes"]["kubelet"]["maxPods"], 200);
    assert_eq!(shoot["metadata"]["labels"]["team"], "blue");
}

#[test]
fn what_the_configuration_lists_may_be_referred_to_by_whom_it_names() {
    let template = || {
        json!({ "spec": {
            "dns": { "providers": [{ "type": "aws-route53", "secretName": "dns" }] },
            "extensions": [{ "type": "shoot-oidc-service" }],
            "resources": [{ "name": "r", "resourceRef": { "apiVersion": "v1", "kind": "ConfigMap", "name": "team-a" } }],
        } })
    };
    let extension = json!({ "kind": "Extension", "name": "shoot-oidc-service" });
    let map = json!({ "kind": "ConfigMap", "name": "team-*" });
    let with = |secret: Value| allow(tenants(template()), json!([extension, map, secret]));
    for good in [
        json!({ "kind": "Secret", "name": "dns" }),
        json!({ "kind": "Secret", "name": "dns", "namespaces": ["tenants"] }),
        json!({ "kind": "Secret", "name": "dns", "namespaces": ["ten*"] }),
        json!({ "kind": "Secret", "name": "dns", "tenants": [TENANT] }),
        json!({ "kind": "Secret", "name": "dns", "namespaces": ["other"], "tenants": [TENANT] }),
    ] {
        assert_eq!(with(good).shoot()["spec"]["dns"]["providers"][0]["secretName"], "dns");
    }
    for bad in [
        json!({ "kind": "ConfigMap", "name": "dns" }),
        json!({ "kind": "Secret", "name": "other" }),
        json!({ "kind": "Secret", "name": "dns", "namespaces": ["other"] }),
        json!({ "kind": "Secret", "name": "dns", "namespaces": [] }),
        json!({ "kind": "Secret", "name": "dns", "tenants": ["t-2"] }),
    ] {
        let problems = with(bad.clone()).problems();
        assert_eq!(problems.len(), 1, "{bad}: {problems:?}");
        assert!(problems[0].what.contains("Secret \"dns\" is not allowed"), "{}", problems[0]);
    }
    // The message says what is allowed.
    let problems = with(json!({ "kind": "Secret", "name": "other" })).problems();
    assert_eq!(problems[0].allowed, ["other"]);
}

#[test]
fn what_somebody_else_refers_to_is_not_taken_away() {
    let issuer = json!({ "issuerURL": "https://issuer.example.com", "clientID": "c" });
    let template = json!({ "spec": { "kubernetes": { "kubeAPIServer": null } } });
    let problems = tenants(template).with("spec.oidcConfig", issuer).problems();
    let field = "spec.shootTemplate.spec.kubernetes.kubeAPIServer.structuredAuthentication.configMapName";
    assert_eq!(problems.iter().map(|problem| problem.field.as_str()).collect::<Vec<_>>(), [field]);
}

#[test]
fn a_template_of_another_shape_is_refused_to_everybody() {
    for (template, field) in [
        (json!({ "spec": "x" }), "spec"),
        (json!({ "spec": { "dns": "x", "extensions": [{ "type": "a" }] } }), "spec.dns"),
        (json!({ "spec": { "dns": [{}], "resources": [] } }), "spec.dns"),
        (json!({ "spec": { "kubernetes": ["x"] } }), "spec.kubernetes"),
        (json!({ "metadata": [] }), "metadata"),
    ] {
        for role in [NamespaceRole::Platform, NamespaceRole::Tenants([].into())] {
            let mut stage = tenants(template.clone());
            stage.role = role;
            let problems = stage.problems();
            let field = format!("spec.shootTemplate.{field}");
            assert!(problems.iter().any(|problem| problem.field == field), "{template}: {problems:?}");
        }
    }
}

#[test]
fn a_message_stays_short_whatever_is_written() {
    let many: serde_json::Map<String, Value> =
        (0..5000).map(|n| (format!("{n}{}", "x".repeat(2000)), json!("y"))).collect();
    let error = tenants(json!({ "spec": many })).render().unwrap_err().to_string();
    assert!(error.len() < 20_000 && error.ends_with("and 4980 more"), "{} bytes", error.len());
}
