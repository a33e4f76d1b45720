//! Returned accounts: emptied, proven empty, handed to the next tenant.

use super::stage::{Fault, Stage};
use allotment_api::names::annotation;
use allotment_clouds::{Patience, http::Rates};
use allotment_core::{
    cleanup::{Cloud as CloudName, KindName, Mode, Stage as CleaningStage, Timing},
    pool::{AccountName, Holding, LabelKeys},
};
use allotment_operator::{
    cleanup::{Clouds, GardenClouds, Operator, Parts, Policy, Settings},
    ledger::{About, Event},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
};
use allotment_testing::{AwsAccount, AwsCloud, Landscape, Outcome};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::Instant};

/// The Shoot whose leftovers the test cloud makes is `shoot--p--c`.
pub const PROJECT: &str = "p";
pub const SHOOT: &str = "c";

/// One region is enough for the shell, and every listing of another one takes the test cloud seconds.
pub const REGION: &str = "eu-central-1";

pub fn new_account() -> Result<AwsAccount, Fault> {
    Ok(AwsCloud::shared()?.account_with(&json!({ "regions": [REGION] }))?)
}

/// Tries for four minutes: all cases share one test cloud.
pub async fn until<T>(what: &str, attempt: impl AsyncFn() -> Result<T, String>) -> Result<T, Fault> {
    let end = Instant::now() + Duration::from_secs(240);
    loop {
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(last) if Instant::now() > end => return Err(format!("{what}: last seen: {last}").into()),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// A pool of one account, whose credentials lead into the test cloud.
struct Returned {
    stage: Stage,
    cloud: AwsAccount,
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
pub fn start_cleaner(stage: &Stage, identity: &str, policy: Policy, clouds: Arc<dyn Clouds>) -> Cleaner {
    let operator = cleaner(stage, identity, policy, clouds);
    let runs = operator.clone();
    let task = tokio::spawn(async move { runs.run_as_leader().await });
    Cleaner { operator, task }
}

/// A cleaner, not started.
pub fn cleaner(stage: &Stage, identity: &str, policy: Policy, clouds: Arc<dyn Clouds>) -> Operator {
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
        patience: Patience { most: Duration::from_secs(5), every: Duration::from_millis(100) },
        clock: Clock::system(),
        metrics: Metrics::new(),
    })
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

/// Whether the account carries neither label.
pub async fn is_free(stage: &Stage) -> Result<(), String> {
    let binding = stage.bindings().get("a").await.map_err(|error| error.to_string())?;
    let is_free = ["dirty", "tenantName"].iter().all(|key| !binding.labels().contains_key(*key));
    if is_free { Ok(()) } else { Err(format!("{:?} {:?}", binding.labels(), binding.annotations())) }
}

impl Returned {
    async fn new(landscape: &Landscape) -> Result<Self, Fault> {
        let cloud = new_account()?;
        let stage = Stage::new(landscape).await?;
        stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
        let returned = Self { stage, cloud };
        returned.use_credentials_of(&returned.cloud).await?;
        Ok(returned)
    }

    async fn use_credentials_of(&self, cloud: &AwsAccount) -> Result<(), Fault> {
        let plot = &self.stage.plot;
        let secrets: Api<Secret> = Api::namespaced(plot.landscape.garden.clone(), &plot.garden_namespace);
        let keys = json!({ "stringData": {
            "accessKeyID": cloud.access_key_id(), "secretAccessKey": cloud.secret_access_key(),
        } });
        secrets.patch("a", &PatchParams::default(), &Patch::Merge(&keys)).await?;
        Ok(())
    }

    fn start(&self, identity: &str, policy: Policy) -> Cleaner {
        let rates = Rates { reads: 500.0, writes: 500.0 };
        let garden = self.stage.plot.landscape.garden.clone();
        let clouds =
            GardenClouds::new(garden, rates).with_endpoint(CloudName::Aws, Some(self.cloud.endpoint.clone()));
        start_cleaner(&self.stage, identity, policy, Arc::new(clouds))
    }

    /// Waits until the id of the account is recorded, and everything that was in it.
    async fn taken_in(&self) -> Result<(), Fault> {
        taken_in(&self.stage, &self.cloud).await
    }

    /// A tenant uses the account. Returns the ids of everything that its Shoot made, by kind.
    async fn used(&self) -> Result<Value, Fault> {
        use_account(&self.stage).await?;
        Ok(self.cloud.script("fill", &["--region", REGION])?[REGION].take())
    }

    async fn given_back(&self) -> Result<(), Fault> {
        give_back(&self.stage).await
    }

    async fn used_and_given_back(&self) -> Result<(), Fault> {
        self.used().await?;
        self.given_back().await
    }

    /// Waits until the account carries neither label.
    async fn free(&self) -> Result<(), Fault> {
        until("the account is free", async || is_free(&self.stage).await).await
    }

    fn is_empty(&self) -> Result<bool, Fault> {
        Ok(self.cloud.script("left", &[])?["empty"] == true)
    }

    async fn stuck_with(&self, words: &str) -> Result<(), Fault> {
        stuck_with(&self.stage, words).await
    }
}

/// Waits until the id of the account is recorded, and everything that was in it.
pub async fn taken_in(stage: &Stage, cloud: &AwsAccount) -> Result<(), Fault> {
    until("the account is taken in", async || {
        let recorded = stage.ledger.cloud_account(&account()).await.map_err(|error| error.to_string())?;
        match recorded {
            Some(recorded) if recorded.id.as_str() == cloud.id() && recorded.baseline.is_some() => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
}

/// Waits until the annotation of the account has these words; it is dirty still.
pub async fn stuck_with(stage: &Stage, words: &str) -> Result<(), Fault> {
    let api = stage.bindings();
    until(&format!("the account is stuck with {words:?}"), async || {
        let binding = api.get("a").await.map_err(|error| error.to_string())?;
        let found = binding.annotations().get(annotation::CLEANUP_STUCK).cloned().unwrap_or_default();
        if found.contains(words) { Ok(()) } else { Err(format!("{found:?} {:?}", binding.labels())) }
    })
    .await?;
    stage.labelled("a", "dirty", Some("true")).await
}

pub fn account() -> AccountName {
    AccountName::new("a")
}

pub async fn a_returned_account_is_emptied_and_claimed_by_another_tenant(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let stage = &returned.stage;
    let _subscriptions = stage.start();
    let _cleaner = returned.start("cleaner", policy(Mode::Delete));
    returned.taken_in().await?;
    returned.used_and_given_back().await?;
    returned.free().await?;
    assert!(returned.is_empty()?, "its own SDK sees it empty");
    let proof = stage.ledger.proof(&account()).await?.unwrap();
    assert_eq!(
        (proof.proof.account.as_str(), proof.digest.clone()),
        (returned.cloud.id(), proof.proof.digest())
    );
    stage.ask("second", "ga-2").await?;
    assert_eq!(stage.bound("second").await?, "a");
    let history = stage.ledger.history(About::Account(&account()), 100).await?;
    let cleaned = history.iter().find(|entry| entry.event == Event::Cleaned).unwrap();
    assert!(cleaned.because.contains(&proof.digest), "{}", cleaned.because);
    assert!(stage.ledger.past_shoots(&account()).await?.is_empty(), "a proof ends their history");
    let text = serde_json::to_string(&proof.proof)?;
    assert!(!text.contains(returned.cloud.secret_access_key()) && !text.contains("AKIA"));
    Ok(())
}

pub async fn a_plan_deletes_nothing(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let _subscriptions = returned.stage.start();
    let cleaner = returned.start("cleaner", policy(Mode::Plan));
    returned.taken_in().await?;
    returned.used_and_given_back().await?;
    until("a plan is reported", async || {
        let listed = cleaner.operator.report().listed.get(&account()).copied();
        if listed.is_some_and(|listed| listed.deletions > 20) { Ok(()) } else { Err(format!("{listed:?}")) }
    })
    .await?;
    returned.stage.labelled("a", "dirty", Some("true")).await?;
    let left = returned.cloud.script("left", &[])?;
    let made = left["left"][REGION].as_object().unwrap().values();
    assert!(made.map(|items| items.as_array().map_or(0, Vec::len)).sum::<usize>() > 20, "{left}");
    Ok(())
}

pub async fn an_item_that_no_list_shows_keeps_an_account_dirty(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let _subscriptions = returned.stage.start();
    let _cleaner = returned.start("cleaner", policy(Mode::Delete));
    returned.taken_in().await?;
    let made = returned.used().await?;
    let volume = made["volume"][0].as_str().unwrap().to_owned();
    returned.cloud.control("hide", &json!({ "ids": [volume.clone()] }))?;
    returned.given_back().await?;
    returned.stuck_with(&volume).await?;
    assert!(!returned.is_empty()?);
    Ok(())
}

pub async fn an_item_that_cannot_be_deleted_is_named(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let stage = &returned.stage;
    let _subscriptions = stage.start();
    let _cleaner = returned.start("cleaner", policy(Mode::Delete));
    returned.taken_in().await?;
    returned.cloud.control("rules", &json!({ "action": "ec2:DeleteSnapshot", "code": "deny" }))?;
    returned.used_and_given_back().await?;
    returned.stuck_with("Snapshot snap-").await?;
    returned.stuck_with("ec2:DeleteSnapshot").await?;
    let record = stage.ledger.cleaning(&account()).await?.unwrap().record;
    assert_eq!(record.stage, CleaningStage::Stuck);
    // Once it is allowed, a person asks for another attempt.
    returned.cloud.control_delete("rules")?;
    let patch = json!({ "metadata": { "annotations": { annotation::CLEANUP_STUCK: null } } });
    stage.bindings().patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    returned.free().await?;
    assert!(returned.is_empty()?);
    Ok(())
}

pub async fn an_item_that_appears_while_it_settles_keeps_an_account_dirty(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let _subscriptions = returned.stage.start();
    let mut slow = policy(Mode::Delete);
    slow.timing.settle = SignedDuration::from_secs(12);
    let _cleaner = returned.start("cleaner", slow);
    returned.taken_in().await?;
    returned.used_and_given_back().await?;
    until("the account settles", async || {
        let cleaning = returned.stage.ledger.cleaning(&account()).await.map_err(|error| error.to_string())?;
        let stage = cleaning.map(|cleaning| cleaning.record.stage);
        if stage == Some(CleaningStage::Settling) { Ok(()) } else { Err(format!("{stage:?}")) }
    })
    .await?;
    returned.cloud.control("rules", &json!({ "action": "ec2:DeleteVolume", "code": "deny" }))?;
    let appears = json!({ "kind": "volume", "region": REGION, "afterSeconds": 0 });
    returned.cloud.control("appear", &appears)?;
    returned.stuck_with("Volume vol-").await?;
    Ok(())
}

pub async fn credentials_of_another_account_touch_nothing(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let other = new_account()?;
    other.script("fill", &["--region", REGION])?;
    let _subscriptions = returned.stage.start();
    let _cleaner = returned.start("cleaner", policy(Mode::Delete));
    returned.taken_in().await?;
    returned.use_credentials_of(&other).await?;
    let before = other.script("left", &[])?;
    returned.used_and_given_back().await?;
    returned.stuck_with("AccountIdDiffers").await?;
    returned.stuck_with(other.id()).await?;
    assert_eq!(other.script("left", &[])?, before, "nothing of the other account is deleted");
    assert!(!returned.is_empty()?);
    Ok(())
}

pub async fn an_account_without_a_recorded_id_is_never_touched(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    returned.cloud.script("fill", &["--region", REGION])?;
    returned.stage.label("a", json!({ "tenantName": "ga-1", "dirty": "true" })).await?;
    let _subscriptions = returned.stage.start();
    let _cleaner = returned.start("cleaner", policy(Mode::Delete));
    returned.stuck_with("AccountIdUnknown").await?;
    assert!(!returned.is_empty()?);
    Ok(())
}

pub async fn two_leaders_clean_an_account_once(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let stage = &returned.stage;
    let _subscriptions = stage.start();
    let _cleaners =
        [returned.start("one", policy(Mode::Delete)), returned.start("two", policy(Mode::Delete))];
    returned.taken_in().await?;
    returned.used_and_given_back().await?;
    returned.free().await?;
    assert!(returned.is_empty()?);
    stage.ask("second", "ga-2").await?;
    assert_eq!(stage.bound("second").await?, "a");
    Ok(())
}
