//! How access ends: rotated, revoked, dropped; and with its Cluster.

use super::{
    desk::{Desk, client_of, code, condition, reads_config_maps},
    stage::until,
};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{KubeconfigPhase, TokenState},
    names::annotation,
};
use allotment_testing::{Landscape, Outcome};
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;
use std::time::{Duration, Instant};

pub async fn a_leaked_token_is_ended_after_the_new_one_is_published(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("one", reads_config_maps()).await?;
    let first = desk.issued("one").await?;
    let old = client_of(&first).await?;
    assert_eq!(code(&old).await, 200);
    desk.annotate("one", "rotate", "true").await?;
    let rotated = desk.that("one", "has a new one", |request| {
        request.status.as_ref().is_some_and(|status| status.kubeconfig != first.kubeconfig)
    });
    let new = client_of(&rotated.await?.status.unwrap()).await?;
    assert_eq!(code(&new).await, 200);
    let done = desk
        .that("one", "is done", |request| {
            request.annotations().get("operator.kyma-project.io/rotate").is_some_and(|value| value == "false")
                && request.status.as_ref().is_some_and(|status| status.tokens.len() == 1)
        })
        .await?;
    assert_eq!(code(&old).await, 401, "it is not said before it is so");
    assert_eq!(code(&new).await, 200);
    assert_eq!(done.status.unwrap().tokens[0].state, TokenState::Published);
    Ok(())
}

pub async fn what_is_revoked_is_refused_and_can_be_granted_anew(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let request = desk.ask("one", reads_config_maps()).await?;
    let old = client_of(&desk.issued("one").await?).await?;
    assert_eq!(code(&old).await, 200);
    assert!(!desk.left_of(&request).await?.is_empty());
    desk.annotate("one", "revoke", "true").await?;
    let revoked = desk.that("one", "is revoked", |request| {
        condition(request, "Revoked").is_some_and(|it| it.0 == ConditionStatus::True)
    });
    let status = revoked.await?.status.unwrap();
    assert_eq!(code(&old).await, 401, "it is not said before it is so");
    assert_eq!(status.phase, Some(KubeconfigPhase::Revoked));
    assert!(status.kubeconfig.is_none() && status.expiration_timestamp.is_none() && status.tokens.is_empty());
    assert!(desk.left_of(&request).await?.is_empty());
    desk.annotate("one", "revoke", "false").await?;
    let again = client_of(&desk.issued("one").await?).await?;
    assert_eq!((code(&again).await, code(&old).await), (200, 401));
    Ok(())
}

/// Servers believe a token for ten seconds after its Secret is gone. Whoever comes after a crash does not begin to wait anew.
pub async fn a_revocation_goes_on_after_a_restart(landscape: Landscape) -> Outcome {
    let mut desk = Desk::new(&landscape).await?;
    desk.ask("one", reads_config_maps()).await?;
    let old = client_of(&desk.issued("one").await?).await?;
    assert_eq!(code(&old).await, 200);
    desk.annotate("one", "revoke", "true").await?;
    desk.that("one", "has lost its tokens", |request| {
        let tokens = request.status.iter().flat_map(|status| &status.tokens);
        request.status.as_ref().is_some_and(|status| !status.tokens.is_empty())
            && tokens.into_iter().all(|token| token.ended_at.is_some())
    })
    .await?;
    desk.restart()?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    desk.restart()?;
    let restarted = Instant::now();
    desk.because("one", "Revoked", "Revoked").await?;
    let waited = restarted.elapsed();
    assert!(waited < Duration::from_secs(10), "it waited anew: {waited:?}");
    assert_eq!(code(&old).await, 401, "it is not said before it is so");
    Ok(())
}

/// The second word counts, also while the first is being seen to.
pub async fn what_is_revoked_or_rotated_in_between_is_not_forgotten(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let request = desk.ask("one", reads_config_maps()).await?;
    let first = desk.issued("one").await?;
    let old = client_of(&first).await?;
    // The server remembers whom it has let in.
    assert_eq!(code(&old).await, 200);
    desk.annotate("one", "rotate", "true").await?;
    let rotated = desk.that("one", "has a new one", |request| {
        request.status.as_ref().is_some_and(|status| status.kubeconfig != first.kubeconfig)
    });
    let new = client_of(&rotated.await?.status.unwrap()).await?;
    assert_eq!(code(&new).await, 200);
    desk.annotate("one", "revoke", "true").await?;
    desk.because("one", "Revoked", "Revoked").await?;
    assert_eq!((code(&new).await, code(&old).await), (401, 401), "it is not said before it is so");
    assert!(desk.left_of(&request).await?.is_empty());

    desk.patch(
        "one",
        json!({ "metadata": { "annotations": {
            "operator.kyma-project.io/revoke": "false", "operator.kyma-project.io/rotate": "false",
        }}}),
    )
    .await?;
    let again = client_of(&desk.issued("one").await?).await?;
    assert_eq!(code(&again).await, 200);
    desk.annotate("one", "revoke", "true").await?;
    desk.that("one", "is being revoked", |request| condition(request, "Revoked").is_some()).await?;
    desk.annotate("one", "revoke", "false").await?;
    until("it is granted anew", async || {
        let status = desk.requests().get("one").await.map_err(|error| error.to_string())?.status.unwrap();
        if status.kubeconfig.is_none() {
            return Err(format!("{status:?}"));
        }
        let client = client_of(&status).await.map_err(|error| error.to_string())?;
        if code(&client).await == 200 { Ok(client) } else { Err(format!("{:?}", status.conditions)) }
    })
    .await?;
    // What is being ended when the next word comes may still be believed for some seconds.
    desk.that("one", "has one token", |request| {
        request.status.as_ref().is_some_and(
            |status| matches!(status.tokens.as_slice(), [only] if only.state == TokenState::Published),
        )
    })
    .await?;
    let last = client_of(&desk.issued("one").await?).await?;
    assert_eq!((code(&last).await, code(&again).await), (200, 401));
    desk.annotate("one", "revoke", "true").await?;
    desk.that("one", "is revoked", |request| {
        condition(request, "Revoked").is_some_and(|it| it.0 == ConditionStatus::True)
    })
    .await?;
    assert_eq!(code(&last).await, 401, "it is not said before it is so");
    assert!(desk.left_of(&request).await?.is_empty());
    Ok(())
}

pub async fn a_deleted_request_leaves_nothing_behind(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let request = desk.ask("one", reads_config_maps()).await?;
    let old = client_of(&desk.issued("one").await?).await?;
    let gone = async |name: &str| {
        let api = desk.requests();
        let name = name.to_owned();
        until(&format!("KubeconfigRequest {name} is gone"), async || match api.get_opt(&name).await {
            Ok(None) => Ok(()),
            other => Err(format!("{:?}", other.map(|request| request.map(|request| request.status)))),
        })
        .await
    };
    desk.requests().delete("one", &DeleteParams::default()).await?;
    gone("one").await?;
    assert!(desk.left_of(&request).await?.is_empty());
    assert_eq!(code(&old).await, 401);
    // A cluster that is gone does not stand in the way.
    desk.ask("two", reads_config_maps()).await?;
    desk.issued("two").await?;
    desk.play.delete("home").await?;
    desk.play.gone("home").await?;
    desk.requests().delete("two", &DeleteParams::default()).await?;
    gone("two").await?;
    Ok(())
}

pub async fn what_was_never_granted_is_revoked_at_once(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let mut nowhere = reads_config_maps();
    nowhere["cluster"] = json!("nowhere");
    desk.ask("nowhere", nowhere).await?;
    let escalates = json!({ "clusterRole": { "rules": [
        { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["escalate"] },
    ]}});
    desk.ask("denied", escalates).await?;
    desk.because("nowhere", "Ready", "NoCluster").await?;
    desk.because("denied", "PolicyAllowed", "Denied").await?;
    for name in ["nowhere", "denied"] {
        desk.annotate(name, "revoke", "true").await?;
        desk.that(name, "is revoked", |request| {
            condition(request, "Revoked").is_some_and(|it| it.0 == ConditionStatus::True)
        })
        .await?;
    }
    desk.annotate("denied", "revoke", "false").await?;
    desk.because("denied", "Ready", "Denied").await?;
    Ok(())
}

/// Somebody took the finalizers off the Cluster.
pub async fn a_grant_is_taken_back_when_its_cluster_is_gone_and_its_shoot_is_not(
    landscape: Landscape,
) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let request = desk.ask("one", reads_config_maps()).await?;
    let client = client_of(&desk.issued("one").await?).await?;
    assert_eq!(code(&client).await, 200);
    let clusters = desk.play.clusters();
    let paused = json!({ "metadata": { "annotations": { annotation::PAUSE: "true" } } });
    clusters.patch("home", &PatchParams::default(), &Patch::Merge(&paused)).await?;
    desk.play.delete("home").await?;
    let loose = json!({ "metadata": { "finalizers": [] } });
    clusters.patch("home", &PatchParams::default(), &Patch::Merge(&loose)).await?;
    desk.play.gone("home").await?;
    desk.that("one", "has nothing", |request| {
        let status = request.status.as_ref();
        status.is_some_and(|status| status.tokens.is_empty() && status.kubeconfig.is_none())
    })
    .await?;
    assert_eq!(code(&client).await, 401, "it is not said before it is so");
    assert!(desk.left_of(&request).await?.is_empty());
    Ok(())
}
