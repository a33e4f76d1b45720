//! The whole landscape: the stand-in of the gardenlet on the embedded garden, and kubeconfigs that lead somewhere.

use super::super::EmbeddedLandscape;
use crate::landscape::client;
use allotment_api::{
    gardener::{KubeconfigAccess, OperationState, Shoot, names},
    kyma::Provider,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_shoot_lives_has_its_own_api_server_and_goes() {
    let embedded = EmbeddedLandscape::start().await.unwrap();
    let plot = embedded.landscape.plot().await.unwrap();
    plot.add_account("account", Provider::Aws, json!({ "hyperscalerType": "aws" })).await.unwrap();
    let mut shoot: Value = serde_saphyr::from_str(super::SHOOT).unwrap();
    shoot["metadata"] = json!({ "name": "life", "namespace": plot.garden_namespace });
    shoot["spec"]["credentialsBindingName"] = json!("account");
    plot.shoots().patch("life", &PatchParams::apply("test"), &Patch::Apply(shoot)).await.unwrap();
    let done = |shoot: Option<&Shoot>| {
        let operation = shoot.and_then(|shoot| shoot.status.as_ref()?.last_operation.as_ref());
        operation.is_some_and(|operation| operation.state == OperationState::Succeeded)
    };
    plot.wait_for_shoot("life", "made", done).await.unwrap();

    let admin = client(plot.kubeconfig("life", KubeconfigAccess::Admin).await.unwrap()).await.unwrap();
    let namespace: Namespace = serde_json::from_value(json!({ "metadata": { "name": "mine" } })).unwrap();
    Api::all(admin).create(&PostParams::default(), &namespace).await.unwrap();
    let viewer = client(plot.kubeconfig("life", KubeconfigAccess::Viewer).await.unwrap()).await.unwrap();
    let namespaces = Api::<Namespace>::all(viewer);
    assert!(namespaces.get_opt("mine").await.unwrap().is_some());
    match namespaces.delete("mine", &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 403, "{}", status.message),
        answer => panic!("not refused: {answer:?}"),
    }
    // It is another server than the garden.
    assert!(
        Api::<Namespace>::all(embedded.landscape.garden.clone()).get_opt("mine").await.unwrap().is_none()
    );

    let confirm = json!({ "metadata": { "annotations": { (names::CONFIRM_DELETION): "true" } } });
    plot.shoots().patch("life", &PatchParams::default(), &Patch::Merge(confirm)).await.unwrap();
    plot.shoots().delete("life", &DeleteParams::default()).await.unwrap();
    plot.wait_for_shoot("life", "gone", |shoot| shoot.is_none()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_landscape_that_remembers_goes_on_where_it_was() {
    let folder = tempfile::TempDir::new().unwrap();
    let first = EmbeddedLandscape::start_in(folder.path()).await.unwrap();
    let plot = first.landscape.plot().await.unwrap();
    plot.add_account("account", Provider::Aws, json!({ "hyperscalerType": "aws" })).await.unwrap();
    let mut shoot: Value = serde_saphyr::from_str(super::SHOOT).unwrap();
    shoot["metadata"] = json!({ "name": "life", "namespace": plot.garden_namespace });
    shoot["spec"]["credentialsBindingName"] = json!("account");
    plot.create_shoot(&serde_json::from_value(shoot).unwrap()).await.unwrap();
    let done = |shoot: Option<&Shoot>| {
        let operation = shoot.and_then(|shoot| shoot.status.as_ref()?.last_operation.as_ref());
        operation.is_some_and(|operation| operation.state == OperationState::Succeeded)
    };
    let made = plot.wait_for_shoot("life", "made", done).await.unwrap().unwrap();
    let uid = made.metadata.uid.clone().unwrap();
    let handed_out = plot.kubeconfig("life", KubeconfigAccess::Admin).await.unwrap();
    let namespace: Namespace = serde_json::from_value(json!({ "metadata": { "name": "mine" } })).unwrap();
    let admin = client(handed_out.clone()).await.unwrap();
    Api::all(admin).create(&PostParams::default(), &namespace).await.unwrap();
    let to_the_garden = std::fs::read_to_string(&first.landscape.garden_kubeconfig).unwrap();
    let (project, shoots) = (plot.garden_namespace.clone(), folder.path().join("shoots"));
    drop((plot, first));

    let second = EmbeddedLandscape::start_in(folder.path()).await.unwrap();
    // What Gardener says of it may have changed since it was looked at.
    let found =
        Api::<Shoot>::namespaced(second.landscape.garden.clone(), &project).get("life").await.unwrap();
    assert_eq!((found.metadata.uid, found.spec), (made.metadata.uid, made.spec));
    // What was handed out still works: the same address, authorities and objects.
    let admin = client(handed_out).await.unwrap();
    assert!(Api::<Namespace>::all(admin).get_opt("mine").await.unwrap().is_some());
    let again: Value =
        serde_json::from_str(&std::fs::read_to_string(&second.landscape.garden_kubeconfig).unwrap()).unwrap();
    let before: Value = serde_json::from_str(&to_the_garden).unwrap();
    assert_eq!(again["clusters"], before["clusters"]);

    // What is left of a Shoot that is gone goes too.
    drop(second);
    std::fs::create_dir(shoots.join("gone")).unwrap();
    let third = EmbeddedLandscape::start_in(folder.path()).await.unwrap();
    assert!(shoots.join(&uid).exists() && !shoots.join("gone").exists());
    drop(third);
}
