//! The last check before a Shoot is made, for each kind of pool entry. The status of the request says that it is Bound, whatever the
//! entry says.

use super::{
    clusters::Play,
    stage::{Fault, Stage, until},
};
use allotment_api::{
    gardener::{CredentialsBinding, SecretBinding},
    kyma::{BindingKind, SubscriptionRequest},
};
use allotment_core::cluster::flow::request_name;
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{Patch, PatchParams},
    core::NamespaceResourceScope,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;

/// The CredentialsBinding that Shoots are made with, and its Secret.
const ACCOUNT: &str = "account";

pub async fn no_shoot_is_made_where_a_credentials_binding_disagrees(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&[ACCOUNT], json!({ "hyperscalerType": "aws" })).await?;
    disagreements::<CredentialsBinding>(stage, ACCOUNT).await
}

pub async fn no_shoot_is_made_where_a_secret_binding_disagrees(landscape: Landscape) -> Outcome {
    let mut stage = Stage::new(&landscape).await?;
    stage.kind = BindingKind::SecretBinding;
    stage.accounts(&[ACCOUNT], json!({})).await?;
    let namespace = &stage.plot.garden_namespace;
    let binding = json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "SecretBinding",
        "metadata": { "name": "old", "labels": { "hyperscalerType": "aws" } },
        "provider": { "type": "aws" },
        "secretRef": { "name": ACCOUNT, "namespace": namespace },
    });
    let bindings: Api<SecretBinding> = Api::namespaced(landscape.garden.clone(), namespace);
    bindings.patch("old", &PatchParams::apply("test"), &Patch::Apply(&binding)).await?;
    disagreements::<SecretBinding>(stage, "old").await
}

pub async fn no_shoot_is_made_where_a_secret_disagrees(landscape: Landscape) -> Outcome {
    let mut stage = Stage::new(&landscape).await?;
    stage.kind = BindingKind::Secret;
    stage.accounts(&[ACCOUNT], json!({})).await?;
    disagreements::<Secret>(stage, ACCOUNT).await
}

/// Labels an entry in every way that speaks against a Shoot, and then as it should be.
async fn disagreements<K>(stage: Stage, entry: &str) -> Outcome
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let play = Play::without_subscriptions(stage)?;
    let plot = &play.stage.plot;
    let entries: Api<K> = Api::namespaced(plot.landscape.garden.clone(), &plot.garden_namespace);
    let label = async |labels: Value, quarantine: Value| -> Result<(), Fault> {
        let mut all = json!({
            "hyperscalerType": "aws", "tenantName": null, "dirty": null, "internal": null, "shared": null,
        });
        all.as_object_mut().unwrap().extend(labels.as_object().unwrap().clone());
        let annotations = json!({ "allotment.dev/quarantine": quarantine });
        let patch = json!({ "metadata": { "labels": all, "annotations": annotations } });
        entries.patch(entry, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    };
    for (number, (labels, quarantine, why)) in [
        (json!({}), Value::Null, "nobody holds it"),
        (json!({ "tenantName": "t-2" }), Value::Null, "another tenant holds it"),
        (json!({ "tenantName": "t-1", "dirty": "true" }), Value::Null, "it is dirty"),
        (json!({ "tenantName": "t-1", "internal": "true" }), Value::Null, "tenants never get it"),
        (json!({ "tenantName": "t-1" }), json!("a person says so"), "it is in quarantine"),
        (json!({ "tenantName": "t-1", "shared": "true" }), Value::Null, "it is not in pool"),
    ]
    .into_iter()
    .enumerate()
    {
        label(labels, quarantine).await?;
        let name = format!("c-{number}");
        bind(&play, &name).await?;
        let message = play.because(&name, "Refused").await?;
        assert!(message.contains(why), "{why}: {message}");
    }
    assert!(plot.shoots().list(&Default::default()).await?.items.is_empty());
    label(json!({ "tenantName": "t-1" }), Value::Null).await?;
    bind(&play, "good").await?;
    // The others may get theirs as well: nothing speaks against them any longer.
    until("a Shoot is made", async || {
        let shoots = plot.shoots().list(&Default::default()).await.map_err(|error| error.to_string())?;
        if shoots.items.is_empty() { Err("none".to_owned()) } else { Ok(()) }
    })
    .await
}

/// Makes a Cluster, and says that its request has the account.
async fn bind(play: &Play, name: &str) -> Result<(), Fault> {
    let cluster = play.create(name, |_| ()).await?;
    let plot = &play.stage.plot;
    let requests: Api<SubscriptionRequest> =
        Api::namespaced(plot.landscape.control_plane.clone(), &plot.namespace);
    let request = request_name(&cluster);
    until("the request is there", async || {
        requests.get(&request).await.map(drop).map_err(|error| error.to_string())
    })
    .await?;
    let status = json!({ "status": {
        "phase": "Bound", "gardenerSecretName": ACCOUNT, "bindingKind": "CredentialsBinding", "tenantName": "t-1",
    } });
    requests.patch_status(&request, &PatchParams::default(), &Patch::Merge(&status)).await?;
    Ok(())
}
