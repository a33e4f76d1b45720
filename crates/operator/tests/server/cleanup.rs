//! Returned accounts of AWS: emptied, proven empty, handed to the next tenant.

use super::{
    returned::{
        Cleaner, account, attempt_again, free, give_back, in_stage, policy, set_credentials, start_cleaner,
        stuck_with, taken_in, until, use_account,
    },
    stage::{Fault, Stage},
};
use allotment_clouds::{Patience, http::Rates};
use allotment_core::cleanup::{Cloud as CloudName, Mode, Stage as CleaningStage};
use allotment_operator::{
    cleanup::{GardenClouds, Policy},
    ledger::{About, Event},
};
use allotment_testing::{AwsAccount, AwsCloud, Landscape, Outcome};
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// One region is enough for the shell, and every listing of another one takes the test cloud seconds.
pub const REGION: &str = "eu-central-1";

/// Deletions of the test cloud take two seconds.
pub const PATIENCE: Patience = Patience { most: Duration::from_secs(5), every: Duration::from_millis(100) };

pub fn new_account() -> Result<AwsAccount, Fault> {
    Ok(AwsCloud::shared()?.account_with(&json!({ "regions": [REGION] }))?)
}

/// A pool of one account, whose credentials lead into the test cloud.
struct Returned {
    stage: Stage,
    cloud: AwsAccount,
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
        let keys = json!({
            "accessKeyID": cloud.access_key_id(), "secretAccessKey": cloud.secret_access_key(),
        });
        set_credentials(&self.stage, &keys).await
    }

    fn start(&self, identity: &str, policy: Policy) -> Cleaner {
        let rates = Rates { reads: 500.0, writes: 500.0 };
        let garden = self.stage.plot.landscape.garden.clone();
        let clouds =
            GardenClouds::new(garden, rates).with_endpoint(CloudName::Aws, Some(self.cloud.endpoint.clone()));
        start_cleaner(&self.stage, identity, policy, PATIENCE, Arc::new(clouds))
    }

    async fn taken_in(&self) -> Result<(), Fault> {
        assert_eq!(taken_in(&self.stage).await?.as_str(), self.cloud.id());
        Ok(())
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

    async fn free(&self) -> Result<(), Fault> {
        free(&self.stage).await
    }

    fn is_empty(&self) -> Result<bool, Fault> {
        Ok(self.cloud.script("left", &[])?["empty"] == true)
    }

    async fn stuck_with(&self, words: &str) -> Result<(), Fault> {
        stuck_with(&self.stage, words).await.map(drop)
    }
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
    attempt_again(stage).await?;
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
    in_stage(&returned.stage, CleaningStage::Settling).await?;
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
