//! Returned accounts of Azure, Google Cloud and Alibaba Cloud, on simulators that the providers' own SDKs fill and look into.

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
use allotment_simulators::{alicloud::Alicloud, azure::Azure, gcp, server::Server};
use allotment_testing::{Landscape, Outcome, cloud_script};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Deletions of the simulators take no time.
const PATIENCE: Patience = Patience { most: Duration::from_secs(5), every: Duration::from_millis(50) };

const REGION: &str = "eu-central-1";

/// An account of a simulator.
struct Simulated<S> {
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

fn azure() -> Result<Simulated<Azure>, Fault> {
    let simulator = Azure::start()?;
    let account = simulator.account();
    let assertion = account.workload_token();
    Ok(Simulated {
        provider: Provider::Azure,
        cloud: Cloud::Azure,
        endpoint: account.endpoint.clone(),
        keys: json!({
            "subscriptionID": account.subscription, "tenantID": account.tenant,
            "clientID": account.own.client, "clientSecret": account.own.secret,
        }),
        environment: vec![
            ("AZURE_ENDPOINT", account.endpoint.clone()),
            ("AZURE_SUBSCRIPTION_ID", account.subscription.clone()),
            ("AZURE_TENANT_ID", account.tenant.clone()),
            ("AZURE_CLIENT_ID", account.own.client.clone()),
            ("AZURE_CLIENT_SECRET", account.own.secret.clone()),
            ("AZURE_ASSERTION", assertion),
        ],
        fill: vec![],
        secret: account.own.secret,
        _simulator: simulator,
    })
}

fn google() -> Result<Simulated<(Arc<gcp::GcpCloud>, Server)>, Fault> {
    let cloud = gcp::GcpCloud::new();
    let server = Server::start(cloud.clone())?;
    let (project, endpoint) = (cloud.project(&gcp::Setup::default()), server.endpoint());
    let key = project.key(&endpoint).to_string();
    Ok(Simulated {
        provider: Provider::Gcp,
        cloud: Cloud::Gcp,
        endpoint: endpoint.clone(),
        keys: json!({ "serviceaccount.json": key }),
        environment: vec![("GCP_ENDPOINT", endpoint), ("GCP_KEY", key)],
        fill: vec![],
        secret: "PRIVATE KEY".to_owned(),
        _simulator: (cloud, server),
    })
}

fn alibaba() -> Result<Simulated<(Arc<Alicloud>, Server)>, Fault> {
    let (cloud, server) = Alicloud::start()?;
    let (credentials, endpoint) = (cloud.account(&[REGION]), server.endpoint());
    Ok(Simulated {
        provider: Provider::Alicloud,
        cloud: Cloud::Alicloud,
        endpoint: endpoint.clone(),
        keys: json!({ "accessKeyID": credentials.access_key_id, "accessKeySecret": credentials.access_key_secret }),
        environment: vec![
            ("ALICLOUD_ENDPOINT", endpoint),
            ("ALICLOUD_ACCESS_KEY_ID", credentials.admin_key_id),
            ("ALICLOUD_ACCESS_KEY_SECRET", credentials.admin_key_secret),
        ],
        fill: vec!["--region", REGION],
        secret: credentials.access_key_secret,
        _simulator: (cloud, server),
    })
}

pub async fn a_returned_subscription_of_azure_is_emptied_and_handed_on(landscape: Landscape) -> Outcome {
    azure()?.is_emptied_and_handed_on(&landscape).await
}

pub async fn a_returned_project_of_google_is_emptied_and_handed_on(landscape: Landscape) -> Outcome {
    google()?.is_emptied_and_handed_on(&landscape).await
}

pub async fn a_returned_account_of_alibaba_is_emptied_and_handed_on(landscape: Landscape) -> Outcome {
    alibaba()?.is_emptied_and_handed_on(&landscape).await
}
