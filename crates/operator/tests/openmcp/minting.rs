//! How many tokens an AccessRequest costs.

use super::{
    access::rules,
    desk::{Desk, PROVIDER},
    platform::{refused, tapped, until},
};
use allotment_operator::{
    openmcp::access::{Operator, Settings},
    runtime::controller::Controller as _,
};
use allotment_testing::{Landscape, Outcome};
use http::Method;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

fn token(resource: &str) -> Value {
    json!({ "token": { "permissions": [{ "rules": rules(resource, &["list"]) }] } })
}

pub async fn a_token_whose_secret_cannot_be_written_is_asked_for_once(landscape: Landscape) -> Outcome {
    let mut desk = Desk::without_provider(&landscape).await?;
    let (tokens, is_refused) = (desk.platform.tokens.clone(), Arc::new(AtomicBool::new(true)));
    let mut parts = desk.platform.parts(PROVIDER);
    let refusing = is_refused.clone();
    parts.platform = refused(parts.platform, "refused by the test", move |request| {
        let is_secret = request.uri().path().contains("/secrets/") && request.method() == Method::PATCH;
        is_secret && refusing.load(Ordering::Relaxed)
    });
    let operator = Operator::new(parts.clone(), Settings::default());
    let running = operator.clone();
    desk.platform.run(async move {
        tokio::join!(running.run_as_leader(), parts.landscapes.follow());
    });
    desk.ask("a", token("namespaces")).await?;
    until("a token is given", async || match tokens.load(Ordering::Relaxed) {
        0 => Err("none".to_owned()),
        _ => Ok(()),
    })
    .await?;
    for _ in 0..40 {
        operator.resync();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(tokens.load(Ordering::Relaxed), 1, "nothing of it could be published");
    is_refused.store(false, Ordering::Relaxed);
    operator.resync();
    desk.granted("a").await?;
    assert_eq!(tokens.load(Ordering::Relaxed), 1, "the one that was given is published");
    desk.holder("a").await?.apiserver_version().await?;
    Ok(())
}

pub async fn a_secret_that_somebody_deletes_again_and_again_costs_a_few_tokens(
    landscape: Landscape,
) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let tokens = desk.platform.tokens.clone();
    desk.ask("a", token("namespaces")).await?;
    desk.granted("a").await?;
    for _ in 0..60 {
        if desk.secrets().get_opt("a.kubeconfig").await?.is_some() {
            desk.secrets().delete("a.kubeconfig", &DeleteParams::default()).await?;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    desk.because("a", "Pending", "ShootAccess", "TooManyTokens").await?;
    assert_eq!(tokens.load(Ordering::Relaxed), 3, "the next one waits");
    // Whoever changes the request has a reason of its own.
    desk.change("a", json!({ "spec": token("configmaps") })).await?;
    desk.granted("a").await?;
    assert_eq!(tokens.load(Ordering::Relaxed), 4);
    Ok(())
}

/// Another replica has listed the Secrets, and hears nothing of them since. It takes over from the one that wrote a Secret.
pub async fn whoever_takes_over_with_old_news_of_secrets_asks_for_no_second_token(
    landscape: Landscape,
) -> Outcome {
    let mut desk = Desk::without_provider(&landscape).await?;
    let mut parts = desk.platform.parts(PROVIDER);
    let lists = Arc::new(AtomicUsize::new(0));
    parts.platform = tapped(parts.platform, move |request| {
        let is_of_secrets = request.uri().path().ends_with("/secrets");
        !is_of_secrets || lists.fetch_add(1, Ordering::Relaxed) == 0
    });
    let late = Operator::new(parts.clone(), Settings::default());
    let follower = late.clone();
    desk.platform.run(async move {
        tokio::join!(follower.follow_all(), parts.landscapes.follow());
    });
    until("everything is listed", async || late.is_complete().then_some(()).ok_or_else(String::new)).await?;
    let first = tokio::spawn({
        let parts = desk.platform.parts(PROVIDER);
        async move {
            let operator = Operator::new(parts.clone(), Settings::default());
            tokio::join!(operator.run_as_leader(), parts.landscapes.follow());
        }
    });
    desk.ask("a", token("namespaces")).await?;
    desk.granted("a").await?;
    let kubeconfig = desk.kubeconfig("a").await?;
    first.abort();
    assert_eq!(desk.platform.tokens.load(Ordering::Relaxed), 1);
    desk.platform.run({
        let late = late.clone();
        async move { late.serve().await }
    });
    desk.change("a", json!({ "spec": token("configmaps") })).await?;
    desk.granted("a").await?;
    assert_eq!(
        desk.platform.tokens.load(Ordering::Relaxed),
        1,
        "the Secret is there, whatever the follower says"
    );
    assert_eq!(desk.kubeconfig("a").await?, kubeconfig);
    Ok(())
}
