use super::*;
use serde_json::{from_value, json, to_value};

#[test]
fn bindings_have_no_spec() {
    let object = json!({
        "apiVersion": "security.gardener.cloud/v1alpha1", "kind": "CredentialsBinding",
        "metadata": { "name": "aws-01", "namespace": "garden-kyma", "labels": { "hyperscalerType": "aws" } },
        "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": "aws-01", "namespace": "garden-kyma" }
    });
    let binding: CredentialsBinding = from_value(object.clone()).unwrap();
    assert_eq!(binding.spec.credentials_ref.name, "aws-01");
    assert_eq!(to_value(&binding).unwrap(), object);
}

#[test]
fn a_shoot_of_a_newer_gardener_can_be_read() {
    let shoot: Shoot = from_value(json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": { "name": "s" },
        "spec": { "region": "eu-central-1", "provider": { "type": "aws" }, "kubernetes": {}, "aFieldOfTomorrow": 1 },
        "status": {
            "hibernated": false, "technicalID": "", "uid": "",
            "lastOperation": {
                "type": "Teleport", "state": "Dreaming", "progress": 7, "description": "d",
                "lastUpdateTime": "2026-11-15T00:00:00Z"
            }
        }
    }))
    .unwrap();
    let operation = shoot.status.unwrap().last_operation.unwrap();
    assert_eq!((operation.type_, operation.state), (OperationType::Other, OperationState::Other));
}

#[test]
fn secrets_are_not_printed() {
    let secret: InternalSecret = from_value(json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret",
        "metadata": { "name": "s.ca-client" }, "data": { "ca.key": "c2VjcmV0LWtleQ==" }
    }))
    .unwrap();
    let issued: IssuedKubeconfig = from_value(json!({
        "status": { "kubeconfig": "c2VjcmV0LWtleQ==", "expirationTimestamp": "2026-11-15T00:00:00Z" }
    }))
    .unwrap();
    let printed = format!("{secret:?} {issued:?}");
    assert!(printed.contains("ca.key"), "{printed}");
    assert!(!printed.contains("secret-key") && !printed.contains("c2VjcmV0"), "{printed}");
    // As bytes, which is how a careless Debug would show it.
    assert!(!printed.contains("115, 101, 99"), "{printed}");
}
