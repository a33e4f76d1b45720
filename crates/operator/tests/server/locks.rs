//! AccessLocks: nobody gets in while one exists, and a tenant cannot lift it.

use super::{
    clusters::{Play, condition as cluster_condition},
    desk::{Desk, client_of, code, condition, reads_config_maps},
    stage::{Fault, Stage},
};
use allotment_api::{
    allotment::AccessLock, condition::ConditionStatus, kyma::KubeconfigPhase, names::annotation,
};
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::{Value, json};
use std::time::Duration;

fn locks(stage: &Stage, namespace: &str) -> Api<AccessLock> {
    Api::namespaced(stage.plot.landscape.control_plane.clone(), namespace)
}

async fn lock(stage: &Stage, name: &str, spec: Value) -> Result<(), Fault> {
    lock_in(stage, &stage.plot.namespace, name, spec).await
}

async fn lock_in(stage: &Stage, namespace: &str, name: &str, spec: Value) -> Result<(), Fault> {
    let lock = json!({ "apiVersion": "allotment.dev/v1alpha1", "kind": "AccessLock",
                       "metadata": { "name": name }, "spec": spec });
    locks(stage, namespace).create(&PostParams::default(), &serde_json::from_value(lock)?).await?;
    Ok(())
}

async fn unlock(stage: &Stage, name: &str) -> Result<(), Fault> {
    locks(stage, &stage.plot.namespace).delete(name, &DeleteParams::default()).await?;
    Ok(())
}

/// Waits until a lock is seen to.
async fn is_locked(desk: &Desk, name: &str) -> Result<(), Fault> {
    let locked = desk.that(name, "is locked", |request| {
        let holds = |type_| condition(request, type_).is_some_and(|it| it.0 == ConditionStatus::True);
        holds("Locked") && holds("Revoked")
    });
    let status = locked.await?.status.unwrap();
    assert_eq!(status.phase, Some(KubeconfigPhase::Revoked));
    assert!(status.kubeconfig.is_none() && status.tokens.is_empty());
    Ok(())
}

pub async fn a_lock_revokes_and_no_annotation_lifts_it(landscape: Landscape) -> Outcome {
    let mut desk = Desk::new(&landscape).await?;
    let namespace = desk.play.stage.plot.namespace.clone();
    let request = desk.ask("one", reads_config_maps()).await?;
    let old = client_of(&desk.issued("one").await?).await?;
    assert_eq!(code(&old).await, 200);
    lock(&desk.play.stage, "all", json!({ "namespace": namespace, "reason": "not for tenants" })).await?;
    is_locked(&desk, "one").await?;
    assert_eq!(code(&old).await, 401, "it is not said before it is so");
    assert!(desk.left_of(&request).await?.is_empty());
    let text = json!(desk.requests().get("one").await?).to_string();
    assert!(!text.contains("not for tenants"), "{text}");
    // What a tenant can write, and a restart.
    for value in ["true", "false"] {
        desk.annotate("one", "revoke", value).await?;
        desk.annotate("one", "rotate", value).await?;
    }
    desk.patch("one", json!({ "spec": { "expiration": 1800 } })).await?;
    desk.ask("two", reads_config_maps()).await?;
    is_locked(&desk, "two").await?;
    desk.restart()?;
    desk.requests().delete("two", &DeleteParams::default()).await?;
    desk.ask("three", reads_config_maps()).await?;
    is_locked(&desk, "three").await?;
    desk.operator.resync();
    tokio::time::sleep(Duration::from_millis(500)).await;
    is_locked(&desk, "one").await?;
    assert!(desk.left_of(&request).await?.is_empty());
    unlock(&desk.play.stage, "all").await?;
    let again = client_of(&desk.issued("one").await?).await?;
    assert_eq!((code(&again).await, code(&old).await), (200, 401));
    desk.issued("three").await?;
    let request = desk.requests().get("one").await?;
    assert_eq!((condition(&request, "Locked"), condition(&request, "Revoked")), (None, None));
    Ok(())
}

pub async fn a_lock_covers_what_it_names_and_nothing_else(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let stage = &desk.play.stage;
    let namespace = stage.plot.namespace.clone();
    desk.ask("one", reads_config_maps()).await?;
    desk.ask("two", reads_config_maps()).await?;
    let (one, two) = (desk.issued("one").await?, desk.issued("two").await?);
    // In another namespace than the operator's own a lock does nothing.
    lock_in(stage, "default", &format!("stray-{namespace}"), json!({ "namespace": namespace })).await?;
    lock(stage, "other-cluster", json!({ "namespace": namespace, "cluster": "elsewhere" })).await?;
    lock(stage, "other-namespace", json!({ "namespace": "elsewhere" })).await?;
    lock(stage, "one", json!({ "namespace": namespace, "request": "one" })).await?;
    is_locked(&desk, "one").await?;
    desk.operator.resync();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(desk.issued("two").await?.kubeconfig, two.kubeconfig);
    locks(stage, "default").delete(&format!("stray-{namespace}"), &DeleteParams::default()).await?;
    lock(stage, "home", json!({ "namespace": namespace, "cluster": "home" })).await?;
    is_locked(&desk, "two").await?;
    // Two locks on one request: both have to go.
    unlock(stage, "one").await?;
    desk.operator.resync();
    tokio::time::sleep(Duration::from_millis(500)).await;
    is_locked(&desk, "one").await?;
    unlock(stage, "home").await?;
    assert_ne!(desk.issued("one").await?.kubeconfig, one.kubeconfig);
    desk.issued("two").await?;
    Ok(())
}

pub async fn a_lock_takes_cluster_admin_back(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    let namespace = play.stage.plot.namespace.clone();
    let user = format!("ann@{namespace}");
    play.create("one", |cluster| cluster["spec"]["administrators"] = json!([user])).await?;
    let cluster = play
        .that("one", "has an administrator", |cluster| {
            cluster.status.as_ref().is_some_and(|status| status.administrators.len() == 1)
        })
        .await?;
    let inside = play.inside(&cluster.status.unwrap().shoot_name.unwrap()).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(inside);
    let is_bound = async || -> Result<bool, Fault> {
        let all = bindings.list(&ListParams::default()).await?;
        let of = |binding: &ClusterRoleBinding| binding.subjects.iter().flatten().any(|it| it.name == user);
        Ok(all.iter().any(|binding| of(binding) && binding.name_any().starts_with("allotment-admin-")))
    };
    assert!(is_bound().await?);
    let locked = |cluster: &allotment_api::kyma::Cluster| {
        cluster_condition(cluster, "AdministratorsApplied").is_some_and(|it| it.1 == "Locked")
    };
    // A tenant who sees it coming pauses the Cluster, and asks for something that cannot be made.
    play.annotate("one", annotation::PAUSE, "true").await?;
    play.patch("one", json!({ "spec": { "infrastructure": { "machineType": "none" } } })).await?;
    lock(&play.stage, "one", json!({ "namespace": namespace, "cluster": "one" })).await?;
    let cluster = play.that("one", "is locked", locked).await?;
    assert!(cluster.status.unwrap().administrators.is_empty() && !is_bound().await?);
    unlock(&play.stage, "one").await?;
    play.annotate("one", annotation::PAUSE, "false").await?;
    play.patch("one", json!({ "spec": { "infrastructure": { "machineType": "m5.large" } } })).await?;
    play.that("one", "has an administrator again", |cluster| {
        cluster.status.as_ref().is_some_and(|status| status.administrators.len() == 1)
    })
    .await?;
    assert!(is_bound().await?);
    Ok(())
}
