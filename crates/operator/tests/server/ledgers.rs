//! Lost, old and foreign ledgers, killed operators, and two at once.

use super::stage::{Stage, until};
use allotment_api::kyma::SubscriptionPhase;
use allotment_core::pool::AccountName;
use allotment_operator::ledger::{Ledger, Place};
use allotment_testing::{Landscape, Outcome};
use futures::future::try_join_all;
use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;
use std::time::Duration;

fn place(stage: &Stage) -> Place {
    Place { garden: "test".to_owned(), project: stage.plot.garden_namespace.clone() }
}

pub async fn another_ledger_is_noticed(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let first = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    drop(first);
    let other = Ledger::open("sqlite::memory:", place(&stage)).await?;
    let second = stage.start_with("two", &other);
    stage.ask("next", "ga-2").await?;
    let halted =
        until("it halts", async || second.operator.halted().borrow().clone().ok_or(String::new())).await?;
    assert!(halted.contains("ledger rebuild"), "{halted}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(stage.held_by("ga-2").await?.is_empty());
    drop(second);
    let _third = stage.start();
    stage.bound("next").await?;
    Ok(())
}

/// The request left while no operator ran, and the ledger was made anew: nothing but the history tells that the label is ours.
pub async fn a_claim_whose_request_is_gone_is_drained_after_a_rebuild(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    stage.accounts(&["ahead"], json!({ "hyperscalerType": "aws", "tenantName": "ga-2" })).await?;
    let first = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    drop(first);
    let free = json!({ "metadata": { "finalizers": null } });
    stage.requests().patch("r", &PatchParams::default(), &Patch::Merge(&free)).await?;
    stage.delete("r").await?;
    stage.gone("r").await?;
    stage.operator("repair", &stage.ledger).rebuild().await?;
    let _second = stage.start();
    stage.labelled("a", "dirty", Some("true")).await?;
    stage.labelled("ahead", "dirty", None).await?;
    Ok(())
}

pub async fn an_old_ledger_is_noticed(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let first = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    drop(first);
    let maps: Api<ConfigMap> = Api::namespaced(landscape.garden.clone(), &stage.plot.garden_namespace);
    let later = json!({ "data": { "epoch": "77" } });
    maps.patch("allotment-ledger", &PatchParams::default(), &Patch::Merge(&later)).await?;
    let second = stage.start();
    let halted =
        until("it halts", async || second.operator.halted().borrow().clone().ok_or(String::new())).await?;
    assert!(halted.contains("old backup"), "{halted}");
    Ok(())
}

pub async fn an_empty_ledger_beside_a_used_pool_is_made_anew(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(2);
    stage.accounts(&["a", "b", "c"], json!({ "hyperscalerType": "aws" })).await?;
    let first = stage.start();
    for name in ["r1", "r2", "r3"] {
        stage.ask(name, "ga-1").await?;
        stage.bound(name).await?;
    }
    drop(first);
    let maps: Api<ConfigMap> = Api::namespaced(landscape.garden.clone(), &stage.plot.garden_namespace);
    maps.delete("allotment-ledger", &Default::default()).await?;
    let empty = Ledger::open("sqlite::memory:", place(&stage)).await?;
    stage.operator("repair", &empty).rebuild().await?;
    let _second = stage.start_with("two", &empty);
    stage.ask("r4", "ga-1").await?;
    assert_eq!(stage.bound("r4").await?, "b", "the counts are known again");
    let row = empty.account(&AccountName::new("a")).await?.unwrap();
    assert_eq!(row.assignments.len(), 2);
    Ok(())
}

pub async fn a_killed_operator_is_resumed(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(1);
    let names: Vec<String> = (0..12).map(|number| format!("a{number:02}")).collect();
    stage
        .accounts(&names.iter().map(String::as_str).collect::<Vec<_>>(), json!({ "hyperscalerType": "aws" }))
        .await?;
    let requests: Vec<String> = (0..12).map(|number| format!("r{number}")).collect();
    try_join_all(requests.iter().map(|name| stage.ask(name, "ga-1"))).await?;
    for pause in 0..40_u64 {
        let running = stage.start();
        tokio::time::sleep(Duration::from_millis(5 * pause % 97)).await;
        drop(running);
    }
    let _last = stage.start();
    let mut bound = try_join_all(requests.iter().map(|name| stage.bound(name))).await?;
    bound.sort();
    assert_eq!(bound, names, "each has its own");
    Ok(())
}

pub async fn two_leaders_at_once_claim_once(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(3);
    stage.accounts(&["a", "b", "c", "d", "e", "f"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start_two_leaders().await?;
    let names: Vec<String> = (0..12).map(|number| format!("r{number}")).collect();
    try_join_all(names.iter().map(|name| stage.ask(name, "ga-1"))).await?;
    let bound = try_join_all(names.iter().map(|name| stage.bound(name))).await?;
    assert_eq!(stage.held_by("ga-1").await?.len(), 4);
    for account in ["a", "b", "c", "d"] {
        assert_eq!(bound.iter().filter(|name| *name == account).count(), 3, "{bound:?}");
    }
    stage.ask("other", "ga-2").await?;
    stage.bound("other").await?;
    stage.ask("third", "ga-3").await?;
    stage.bound("third").await?;
    stage.ask("fourth", "ga-4").await?;
    stage.in_phase("fourth", SubscriptionPhase::Waiting).await?;
    Ok(())
}

/// A status may be forged, and a ledger may be lost: a request is bound if the ledger says so, or a Shoot with its UID.
pub async fn a_request_that_only_says_that_it_is_bound_is_corrected(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let first = stage.start();
    let used = stage.ask("used", "ga-1").await?;
    stage.ask("empty", "ga-1").await?;
    stage
        .ask_with("denied", json!({ "provider": "aws", "subscriptionSelector": "ga-2", "plan": "x" }))
        .await?;
    for name in ["used", "empty"] {
        assert_eq!(stage.bound(name).await?, "a");
    }
    stage.shoot("s", "a", Some(&used)).await?;
    let forged = json!({ "status": { "phase": "Bound", "gardenerSecretName": "a", "tenantName": "ga-1" } });
    for _ in 0..2 {
        stage.in_phase("denied", SubscriptionPhase::Denied).await?;
        let (params, patch) = (PatchParams::default(), Patch::Merge(&forged));
        stage.requests().patch_status("denied", &params, &patch).await?;
    }
    let denied = stage.in_phase("denied", SubscriptionPhase::Denied).await?;
    assert_eq!(denied.status.unwrap().gardener_secret_name, None);
    let control_plane = stage.plot.landscape.control_plane.clone();
    let events: Api<Event> = Api::namespaced(control_plane, &stage.plot.namespace);
    let told = events.list(&ListParams::default()).await?;
    let told = told.iter().filter(|event| event.reason.as_deref() == Some("StatusCorrected"));
    let told: Vec<_> = told.filter_map(|event| event.regarding.as_ref()?.name.clone()).collect();
    assert_eq!(told, ["denied"], "once, however often it is forged");
    // The ledger is lost, and the account looks like somebody else's: nothing heals.
    drop(first);
    let maps: Api<ConfigMap> = Api::namespaced(landscape.garden.clone(), &stage.plot.garden_namespace);
    maps.delete("allotment-ledger", &Default::default()).await?;
    stage.label("a", json!({ "tenantName": "somebody" })).await?;
    let lost = Ledger::open("sqlite::memory:", place(&stage)).await?;
    stage.operator("repair", &lost).rebuild().await?;
    let _second = stage.start_with("two", &lost);
    stage
        .request_that("empty", "is given another account", |request| {
            let name = request.status.as_ref().and_then(|status| status.gardener_secret_name.as_deref());
            name == Some("b")
        })
        .await?;
    assert_eq!(stage.bound("used").await?, "a", "its Shoot is there");
    Ok(())
}

/// A rebuild keeps the history. Whoever was given an account, and has no Shoot yet, keeps it from everybody else though somebody took
/// the label away; with the label, it is given back.
pub async fn an_account_that_the_history_knows_goes_to_nobody_else(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let first = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    drop(first);
    stage.label("a", json!({ "tenantName": null })).await?;
    stage.operator("repair", &stage.ledger).rebuild().await?;
    let _second = stage.start();
    stage
        .request_that("r", "says that its account is not known", |request| {
            let conditions = request.status.iter().flat_map(|status| &status.conditions);
            let mut known = conditions.filter(|condition| condition.type_ == "AssignmentKnown");
            known.any(|condition| condition.message.contains("history"))
        })
        .await?;
    assert_eq!(stage.bound("r").await?, "a");
    stage.ask("next", "ga-2").await?;
    let waiting = stage.in_phase("next", SubscriptionPhase::Waiting).await?;
    let said = format!("{:?}", waiting.status.unwrap().conditions);
    assert!(said.contains("named by the status of 1 request"), "{said}");
    stage.label("a", json!({ "tenantName": "ga-1" })).await?;
    until("it is given back", async || {
        let row = stage.ledger.account(&AccountName::new("a")).await.map_err(|error| error.to_string())?;
        row.filter(|row| row.assignments.len() == 1).map(drop).ok_or(String::new())
    })
    .await?;
    Ok(())
}

/// Whatever was wrong with the ledger, it is made anew from the cluster, and a halted operator goes on with it.
async fn made_anew(stage: &Stage, ledger: &Ledger) -> Outcome {
    let halted = stage.start_with("halted", ledger);
    until("it halts", async || halted.operator.halted().borrow().clone().ok_or(String::new())).await?;
    stage.operator("repair", ledger).rebuild().await?;
    stage.ask("next", "ga-2").await?;
    stage.bound("next").await?;
    // Whoever had an account has it still.
    stage.ask("again", "ga-1").await?;
    assert_eq!(stage.bound("again").await?, stage.bound("r").await?);
    assert_eq!(stage.held_by("ga-1").await?.len(), 1);
    let account = ledger.account(&AccountName::new(stage.bound("r").await?)).await?.ok_or("no row")?;
    assert_eq!(account.assignments.len(), 2);
    Ok(())
}

pub async fn a_foreign_ledger_is_made_anew(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let first = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    drop(first);
    let other = Ledger::open("sqlite::memory:", place(&stage)).await?;
    made_anew(&stage, &other).await
}

pub async fn an_old_ledger_is_made_anew(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let first = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    drop(first);
    let maps: Api<ConfigMap> = Api::namespaced(landscape.garden.clone(), &stage.plot.garden_namespace);
    let later = json!({ "data": { "epoch": "77" } });
    maps.patch("allotment-ledger", &PatchParams::default(), &Patch::Merge(&later)).await?;
    made_anew(&stage, &stage.ledger).await
}
