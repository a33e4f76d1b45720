//! A garden that is put back to an older state under running operators. The servers are the test's own, whatever the landscape.

use super::stage::{Fault, Stage, until};
use allotment_apiserver::{ApiServer, User};
use allotment_testing::{EmbeddedGarden, Landscape, Outcome};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client, api::ListParams, client::Body};
use serde_json::json;
use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tower::service_fn;

fn admin(server: &ApiServer) -> Client {
    Client::new(server.service(User::new("admin", ["system:masters"])), "default")
}

/// A client of an address: the server behind it can be another one.
fn client_of(address: &Arc<Mutex<Client>>) -> Client {
    let address = address.clone();
    let service = service_fn(move |request: Request<Body>| {
        let client = address.lock().unwrap().clone();
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}

fn copy(from: &Path, to: &Path) -> Result<(), Fault> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

pub async fn an_account_whose_shoot_is_back_with_its_garden_is_not_dirty(landscape: Landscape) -> Outcome {
    let (now, before) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let servers = EmbeddedGarden::kept_in(now.path())?;
    let address = Arc::new(Mutex::new(admin(&servers.garden)));
    let own = Landscape {
        garden: client_of(&address),
        control_plane: admin(&servers.control_plane),
        servers: servers.shoots.clone(),
        ..landscape
    };
    own.install_crds().await?;
    let stage = Stage::on(own.plot_without_gardenlet().await?).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start();
    stage.ask("r", "t-1").await?;
    assert_eq!(stage.bound("r").await?, "a");
    stage.shoot("s", "a", None).await?;
    copy(&now.path().join("garden"), &before.path().join("garden"))?;
    // The Shoot goes, and the operator sees it; much else happens in the garden.
    stage.delete_shoot("s").await?;
    let maps: Api<ConfigMap> = Api::namespaced(own.garden.clone(), &stage.plot.garden_namespace);
    for number in 0..20 {
        let map = serde_json::from_value(json!({ "metadata": { "name": format!("m-{number}") } }))?;
        maps.create(&PostParams::default(), &map).await?;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let restored = EmbeddedGarden::kept_in(before.path())?;
    *address.lock().unwrap() = admin(&restored.garden);
    let shoots = stage.plot.shoots();
    assert_eq!(shoots.list(&ListParams::default()).await?.items.len(), 1, "it is back");
    // The watches are open, and tell nothing: their versions are still to come.
    stage.delete("r").await?;
    stage.gone("r").await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let labels = stage.bindings().get("a").await?.metadata.labels.unwrap();
    assert!(!labels.contains_key("dirty"), "a Shoot is in it: {labels:?}");
    // And it goes on from there.
    stage.delete_shoot("s").await?;
    stage.labelled("a", "dirty", Some("true")).await?;
    until("the Shoot is gone", async || {
        let left = shoots.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        if left.items.is_empty() { Ok(()) } else { Err(left.items.len().to_string()) }
    })
    .await
}
