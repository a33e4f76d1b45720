//! How many tokens a KubeconfigRequest costs.

use super::{
    desk::{Desk, client_of, code, reads_config_maps},
    stage::{Fault, until},
};
use allotment_operator::{
    metrics::Metrics,
    runtime::clock::Clock,
    target::{self, Connect, Targets},
};
use allotment_testing::{Landscape, Outcome};
use http::{Method, Request};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt, api::ListParams, client::Body};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tower::service_fn;

/// Time enough for dozens of tokens, if each reconcile asks for one.
const WATCHED: Duration = Duration::from_secs(2);

pub async fn removing_an_optional_field_costs_one_token(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let team = format!("team-{}", desk.play.stage.plot.namespace);
    let mut spec = reads_config_maps();
    spec["role"] = json!({ "namespace": team, "createNamespace": true, "rules": [
        { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] },
    ]});
    spec["expiration"] = json!(900);
    spec["secretRef"] = json!({ "name": "own", "key": "config" });
    desk.ask("one", spec).await?;
    desk.issued("one").await?;
    assert_eq!(minted(&desk, "one").await?, 1);
    for (changes, field) in
        ["/secretRef/key", "/role/createNamespace", "/expiration", "/secretRef", "/role"].iter().enumerate()
    {
        let patch = json!([{ "op": "remove", "path": format!("/spec{field}") }]);
        desk.patch_json("one", patch).await?;
        desk.issued("one").await?;
        tokio::time::sleep(WATCHED).await;
        let request = desk.requests().get("one").await?;
        let status = request.status.unwrap();
        assert_eq!(status.secret_ref, request.spec.secret_ref, "without {field}");
        assert_eq!(minted(&desk, "one").await?, changes + 2, "without {field}");
    }
    Ok(())
}

pub async fn a_token_that_cannot_be_published_is_asked_for_once(landscape: Landscape) -> Outcome {
    let mut desk = Desk::new(&landscape).await?;
    let (tokens, is_refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(true)));
    desk.play.targets = counted(&desk, tokens.clone());
    // Once there is a token no status is taken.
    let (given, refusing) = (tokens.clone(), is_refused.clone());
    let control_plane = tapped(desk.play.stage.plot.landscape.control_plane.clone(), move |request| {
        let is_status = request.uri().path().ends_with("/status") && request.method() == Method::PATCH;
        !(is_status && refusing.load(Ordering::Relaxed) && given.load(Ordering::Relaxed) > 0)
    });
    desk.start_as(control_plane)?;
    desk.ask("one", reads_config_maps()).await?;
    until("a token is given", async || match tokens.load(Ordering::Relaxed) {
        0 => Err("none".to_owned()),
        _ => Ok(()),
    })
    .await?;
    let end = tokio::time::Instant::now() + WATCHED;
    while tokio::time::Instant::now() < end {
        desk.operator.resync();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(tokens.load(Ordering::Relaxed), 1, "nothing of it could be published");
    is_refused.store(false, Ordering::Relaxed);
    desk.operator.resync();
    let status = desk.issued("one").await?;
    assert_eq!(tokens.load(Ordering::Relaxed), 1, "the one that was given is published");
    assert_eq!(code(&client_of(&status).await?).await, 200);
    Ok(())
}

/// The way into clusters, with every token counted.
fn counted(desk: &Desk, tokens: Arc<AtomicUsize>) -> Targets {
    let (metrics, plot) = (Metrics::new(), &desk.play.stage.plot);
    let https = Connect::over_https_within(&metrics, super::targets::loopback());
    Targets::new(target::Parts {
        garden: plot.landscape.garden.clone(),
        garden_namespace: plot.garden_namespace.clone(),
        control_plane: plot.landscape.control_plane.clone(),
        clock: Clock::system(),
        connect: Connect::new(move |key, given| {
            let (https, tokens) = (https.clone(), tokens.clone());
            Box::pin(async move {
                let client = https.make(key, given).await?;
                Ok(tapped(client, move |request| {
                    let is_token = request.uri().path().ends_with("/token");
                    tokens.fetch_add(usize::from(is_token), Ordering::Relaxed);
                    true
                }))
            })
        }),
        metrics,
    })
}

/// A client whose calls are refused as if the server were busy, where `is_let_through` says so.
fn tapped(
    client: Client,
    is_let_through: impl Fn(&Request<Body>) -> bool + Clone + Send + 'static,
) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (client, is_let_through) = (client.clone(), is_let_through(&request));
        async move {
            match is_let_through {
                true => client.send(request).await,
                false => Err(kube::Error::Service("refused by the test".into())),
            }
        }
    });
    Client::new(service, namespace)
}

/// A token has a Secret of its own in the cluster.
async fn minted(desk: &Desk, name: &str) -> Result<usize, Fault> {
    let uid = desk.requests().get(name).await?.uid().unwrap();
    let inside = desk.play.inside(&desk.shoot).await?;
    let ours = ListParams::default().labels(&format!("allotment.dev/kubeconfig-request={uid}"));
    Ok(Api::<Secret>::all(inside).list_metadata(&ours).await?.items.len())
}
