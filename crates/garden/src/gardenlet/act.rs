//! The writes of the stand-in. They make no choices.

use super::{Error, Gardenlet, ShootKey};
use allotment_api::gardener::{AdvertisedAddress, InternalSecret, Shoot, ShootStatus, names};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

const FIELD_MANAGER: &str = "gardenlet";

pub(super) async fn take(gardenlet: &Gardenlet, shoot: &Shoot) -> Result<(), Error> {
    let mut finalizers = shoot.finalizers().to_vec();
    finalizers.push(names::FINALIZER.to_owned());
    // An operation that was asked for before anybody took the Shoot is done by taking it.
    let patch =
        json!({ "metadata": { "finalizers": finalizers, "annotations": { (names::OPERATION): null } } });
    patch_metadata(gardenlet, shoot, patch, "take").await
}

pub(super) async fn let_go(gardenlet: &Gardenlet, shoot: &Shoot) -> Result<(), Error> {
    let finalizers: Vec<&String> =
        shoot.finalizers().iter().filter(|finalizer| *finalizer != names::FINALIZER).collect();
    patch_metadata(gardenlet, shoot, json!({ "metadata": { "finalizers": finalizers } }), "let go of").await
}

async fn patch_metadata(
    gardenlet: &Gardenlet,
    shoot: &Shoot,
    mut patch: Value,
    what: &'static str,
) -> Result<(), Error> {
    patch["metadata"]["resourceVersion"] = json!(shoot.resource_version());
    api(gardenlet, shoot)
        .patch(&shoot.name_any(), &parameters(), &Patch::Merge(patch))
        .await
        .map(drop)
        .map_err(|source| Error::Garden { what, shoot: ShootKey::of(shoot), source })
}

pub(super) async fn report(gardenlet: &Gardenlet, shoot: &Shoot, status: ShootStatus) -> Result<(), Error> {
    let mut patch = json!({ "metadata": { "resourceVersion": shoot.resource_version() }, "status": status });
    // What is empty is left out by serde, and what is left out stays under a merge patch.
    if status.last_errors.is_empty() {
        patch["status"]["lastErrors"] = Value::Null;
    }
    api(gardenlet, shoot)
        .patch_status(&shoot.name_any(), &parameters(), &Patch::Merge(patch))
        .await
        .map(drop)
        .map_err(|source| Error::Garden { what: "report on", shoot: ShootKey::of(shoot), source })
}

/// Writes what `shoots/adminkubeconfig` is made from, then the address: whoever sees the address can ask for a kubeconfig.
pub(super) async fn publish(
    gardenlet: &Gardenlet,
    shoot: &Shoot,
    mut status: ShootStatus,
) -> Result<(), Error> {
    let key = ShootKey::of(shoot);
    let server = gardenlet
        .servers
        .server(&key)
        .await
        .map_err(|source| Error::Server { shoot: key.clone(), source })?;
    let failed = |source| Error::Garden { what: "publish the CAs of", shoot: key.clone(), source };
    let owner = json!([{
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot", "name": key.name, "uid": shoot.uid(),
        "controller": true, "blockOwnerDeletion": true
    }]);

    let client_ca = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret",
        "metadata": {
            "name": names::client_ca(&key.name), "namespace": key.namespace, "ownerReferences": owner,
            "labels": { (names::ROLE): "ca-client" }
        },
        "type": "Opaque",
        "data": {
            "ca.crt": base64(server.client_ca_certificate.as_bytes()),
            "ca.key": base64(server.client_ca_key.expose_secret().as_bytes())
        }
    });
    Api::<InternalSecret>::namespaced(gardenlet.client.clone(), &key.namespace)
        .patch(&names::client_ca(&key.name), &parameters().force(), &Patch::Apply(client_ca))
        .await
        .map_err(failed)?;

    let cluster_ca = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": names::cluster_ca(&key.name), "namespace": key.namespace, "ownerReferences": owner,
            "labels": {
                (names::ROLE): "ca-cluster", (names::DISCOVERY_PUBLIC): "shoot-ca", (names::SHOOT_NAME): key.name,
                (names::SHOOT_UID): status.uid, (names::UPDATE_RESTRICTION): "true"
            }
        },
        "data": { "ca.crt": server.serving_ca_certificate }
    });
    Api::<ConfigMap>::namespaced(gardenlet.client.clone(), &key.namespace)
        .patch(&names::cluster_ca(&key.name), &parameters().force(), &Patch::Apply(cluster_ca))
        .await
        .map_err(failed)?;

    status.advertised_addresses = vec![AdvertisedAddress { name: "external".to_owned(), url: server.url }];
    report(gardenlet, shoot, status).await
}

fn api(gardenlet: &Gardenlet, shoot: &Shoot) -> Api<Shoot> {
    Api::namespaced(gardenlet.client.clone(), &shoot.namespace().unwrap_or_default())
}

fn parameters() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

fn base64(bytes: &[u8]) -> Value {
    json!(k8s_openapi::ByteString(bytes.to_vec()))
}
