//! The way of an account from one tenant to the next, whatever its cloud.

use super::stage::{Fault, Stage};
use allotment_api::names::annotation;
use allotment_clouds::Patience;
use allotment_core::{
    cleanup::{CloudAccountId, KindName, Mode, Stage as CleaningStage, Timing},
    pool::{AccountName, Holding, LabelKeys},
};
use allotment_operator::{
    cleanup::{Clouds, Operator, Parts, Policy, Settings},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::Instant};

/// The Shoot whose leftovers the test clouds make is `shoot--p--c`.
pub const PROJECT: &str = "p";
pub const SHOOT: &str = "c";

/// The pool has one account.
pub fn account() -> AccountName {
    AccountName::new("a")
}

/// Tries for ten minutes: all cases share one test cloud.
pub async fn until<T>(what: &str, attempt: impl AsyncFn() -> Result<T, String>) -> Result<T, Fault> {
    let end = Instant::now() + Duration::from_mins(10);
    loop {
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(last) if Instant::now() > end => return Err(format!("{what}: last seen: {last}").into()),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// An operator that ends with its handle.
pub struct Cleaner {
    pub operator: Operator,
    task: JoinHandle<()>,
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub fn policy(mode: Mode) -> Policy {
    let absent = ["FileSystem", "MountTarget"].map(KindName::of);
    Policy {
        mode,
        timing: Timing {
            settle: SignedDuration::from_millis(300),
            pause: SignedDuration::from_millis(100),
            retry: SignedDuration::from_millis(300),
            retry_stuck: SignedDuration::from_mins(10),
            passes: 4,
            ..Timing::default()
        },
        assume_absent: BTreeMap::from([("aws".to_owned(), absent.into_iter().collect())]),
        ..Policy::default()
    }
}

/// Runs a cleaner without a Lease, as whoever leads does.
pub fn start_cleaner(
    stage: &Stage,
    identity: &str,
    policy: Policy,
    patience: Patience,
    clouds: Arc<dyn Clouds>,
) -> Cleaner {
    let operator = cleaner(stage, identity, policy, patience, clouds);
    let runs = operator.clone();
    let task = tokio::spawn(async move { runs.run_as_leader().await });
    Cleaner { operator, task }
}

/// A cleaner, not started.
pub fn cleaner(
    stage: &Stage,
    identity: &str,
    policy: Policy,
    patience: Patience,
    clouds: Arc<dyn Clouds>,
) -> Operator {
    Operator::new(Parts {
        control_plane: stage.plot.landscape.control_plane.clone(),
        garden: stage.plot.landscape.garden.clone(),
        ledger: stage.ledger.clone(),
        clouds,
        settings: Settings {
            garden_namespace: stage.plot.garden_namespace.clone(),
            project: PROJECT.to_owned(),
            lease_namespace: stage.plot.namespace.clone(),
            identity: identity.to_owned(),
            binding_kind: stage.kind,
            labels: LabelKeys::default(),
            workers: 4,
        },
        policy,
        patience,
        clock: Clock::system(),
        metrics: Metrics::new(),
    })
}

/// Puts keys into the Secret of the account.
pub async fn set_credentials(stage: &Stage, keys: &Value) -> Result<(), Fault> {
    let plot = &stage.plot;
    let secrets: Api<Secret> = Api::namespaced(plot.landscape.garden.clone(), &plot.garden_namespace);
    let patch = json!({ "stringData": keys });
    secrets.patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}

/// Waits until the id of the account is recorded, and everything that was in it. Returns the id.
pub async fn taken_in(stage: &Stage) -> Result<CloudAccountId, Fault> {
    until("the account is taken in", async || {
        let recorded = stage.ledger.cloud_account(&account()).await.map_err(|error| error.to_string())?;
        match recorded {
            Some(recorded) if recorded.baseline.is_some() => Ok(recorded.id),
            other => Err(format!("{other:?}")),
        }
    })
    .await
}

/// A tenant has the account, with a Shoot in it that the ledger remembers.
pub async fn use_account(stage: &Stage) -> Result<(), Fault> {
    let request = stage.ask("first", "ga-1").await?;
    assert_eq!(stage.bound("first").await?, "a");
    stage.shoot(SHOOT, "a", Some(&request)).await?;
    until("the Shoot is remembered", async || {
        let shoots = stage.ledger.past_shoots(&account()).await.map_err(|error| error.to_string())?;
        if shoots.is_empty() { Err("no Shoot".to_owned()) } else { Ok(()) }
    })
    .await
}

/// The Shoot is force-deleted, so everything is left, and the request is deleted.
pub async fn give_back(stage: &Stage) -> Result<(), Fault> {
    stage.delete_shoot(SHOOT).await?;
    stage.delete("first").await?;
    until("the account is dirty", async || {
        let row = stage.ledger.account(&account()).await.map_err(|error| error.to_string())?;
        let holding = row.map(|row| row.holding);
        if matches!(holding, Some(Holding::Dirty(_))) { Ok(()) } else { Err(format!("{holding:?}")) }
    })
    .await
}

/// Waits until the cleaning is in this stage.
pub async fn in_stage(stage: &Stage, wanted: CleaningStage) -> Result<(), Fault> {
    until(&format!("the cleaning is {}", wanted.as_str()), async || {
        let cleaning = stage.ledger.cleaning(&account()).await.map_err(|error| error.to_string())?;
        let found = cleaning.map(|cleaning| cleaning.record.stage);
        if found == Some(wanted) { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await
}

/// Whether the account carries neither label.
pub async fn is_free(stage: &Stage) -> Result<(), String> {
    let binding = stage.bindings().get("a").await.map_err(|error| error.to_string())?;
    let is_free = ["dirty", "tenantName"].iter().all(|key| !binding.labels().contains_key(*key));
    if is_free { Ok(()) } else { Err(format!("{:?} {:?}", binding.labels(), binding.annotations())) }
}

/// Waits until the account carries neither label.
pub async fn free(stage: &Stage) -> Result<(), Fault> {
    until("the account is free", async || is_free(stage).await).await
}

/// Waits until the annotation has these words, and returns it. The account is dirty then.
pub async fn stuck_with(stage: &Stage, words: &str) -> Result<String, Fault> {
    let api = stage.bindings();
    let found = until(&format!("the account is stuck with {words:?}"), async || {
        let binding = api.get("a").await.map_err(|error| error.to_string())?;
        let found = binding.annotations().get(annotation::CLEANUP_STUCK).cloned().unwrap_or_default();
        if found.contains(words) { Ok(found) } else { Err(format!("{found:?} {:?}", binding.labels())) }
    })
    .await?;
    stage.labelled("a", "dirty", Some("true")).await?;
    Ok(found)
}

/// A person removes the annotation.
pub async fn attempt_again(stage: &Stage) -> Result<(), Fault> {
    let patch = json!({ "metadata": { "annotations": { annotation::CLEANUP_STUCK: null } } });
    stage.bindings().patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}
