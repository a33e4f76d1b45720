//! Returned accounts of Azure, Google Cloud and Alibaba Cloud, on simulators that the providers' own SDKs fill and look into.

mod alicloud;
mod azure;
mod gcp;
mod identity;
mod pool;

pub use alicloud::refused_accounts_of_alibaba_are_stuck_until_the_refusal_is_lifted;
pub use azure::refused_subscriptions_of_azure_are_stuck_until_the_refusal_is_lifted;
pub use gcp::refused_projects_of_google_are_stuck_until_the_refusal_is_lifted;
pub use identity::{
    a_project_of_a_workload_identity_is_refused_without_trust_and_emptied_with_it,
    a_subscription_of_a_workload_identity_is_refused_without_trust_and_emptied_with_it,
};

use super::{
    returned::{
        Cleaner, account, free, give_back, policy, set_credentials, start_cleaner, taken_in, use_account,
    },
    stage::{Fault, Stage},
};
use allotment_api::kyma::Provider;
use allotment_clouds::{Patience, http::Rates};
use allotment_core::cleanup::{Cloud, Mode};
use allotment_operator::cleanup::GardenClouds;
use allotment_testing::{Landscape, Outcome, cloud_script};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Deletions of the simulators take no time.
const PATIENCE: Patience = Patience { most: Duration::from_secs(5), every: Duration::from_millis(50) };

/// An account of a simulator.
pub struct Simulated<S> {
    provider: Provider,
    cloud: Cloud,
    endpoint: String,
    /// The data of the Secret.
    keys: Value,
    /// The environment of the scripts.
    environment: Vec<(&'static str, String)>,
    /// Arguments of `fill`.
    fill: Vec<&'static str>,
    /// A word of the credentials that nobody may tell.
    secret: String,
    /// Ends with it.
    _simulator: S,
}

impl<S> Simulated<S> {
    fn script(&self, name: &str, arguments: &[&str]) -> Result<Value, Fault> {
        let environment: Vec<(&str, &str)> =
            self.environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Ok(cloud_script(self.cloud.as_str(), name, arguments, &environment)?)
    }

    fn is_empty(&self) -> Result<bool, Fault> {
        Ok(self.script("left", &[])?["empty"] == true)
    }

    async fn stage(&self, landscape: &Landscape) -> Result<Stage, Fault> {
        let stage = Stage { provider: self.provider, ..Stage::new(landscape).await? };
        stage.accounts(&["a"], json!({ "hyperscalerType": self.cloud.as_str() })).await?;
        set_credentials(&stage, &self.keys).await?;
        Ok(stage)
    }

    fn start(&self, stage: &Stage) -> Cleaner {
        let rates = Rates { reads: 1000.0, writes: 1000.0 };
        let clouds = GardenClouds::new(stage.plot.landscape.garden.clone(), rates)
            .with_endpoint(self.cloud, Some(self.endpoint.clone()));
        start_cleaner(stage, "cleaner", policy(Mode::Delete), PATIENCE, Arc::new(clouds))
    }

    /// A tenant uses the account, and gives it back with everything that a force-deleted Shoot leaves.
    async fn use_and_give_back(&self, stage: &Stage) -> Result<(), Fault> {
        use_account(stage).await?;
        self.script("fill", &self.fill)?;
        assert!(!self.is_empty()?);
        give_back(stage).await
    }

    async fn is_emptied_and_handed_on(&self, landscape: &Landscape) -> Outcome {
        let stage = self.stage(landscape).await?;
        let _subscriptions = stage.start();
        let _cleaner = self.start(&stage);
        taken_in(&stage).await?;
        self.use_and_give_back(&stage).await?;
        free(&stage).await?;
        assert!(self.is_empty()?, "its own SDK sees it empty");
        let proof = stage.ledger.proof(&account()).await?.unwrap();
        assert!(!serde_json::to_string(&proof.proof)?.contains(&self.secret));
        stage.ask("second", "ga-2").await?;
        assert_eq!(stage.bound("second").await?, "a");
        Ok(())
    }
}

pub async fn a_returned_subscription_of_azure_is_emptied_and_handed_on(landscape: Landscape) -> Outcome {
    azure::simulated()?.is_emptied_and_handed_on(&landscape).await
}

pub async fn a_returned_project_of_google_is_emptied_and_handed_on(landscape: Landscape) -> Outcome {
    gcp::simulated()?.is_emptied_and_handed_on(&landscape).await
}

pub async fn a_returned_account_of_alibaba_is_emptied_and_handed_on(landscape: Landscape) -> Outcome {
    alicloud::simulated()?.is_emptied_and_handed_on(&landscape).await
}
