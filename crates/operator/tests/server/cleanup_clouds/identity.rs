//! Accounts whose credentials are a WorkloadIdentity: the garden signs its tokens, and the cloud exchanges them for its own.

use super::{PATIENCE, azure, gcp};
use crate::{
    overheard::{Overheard, OwnClient, shows_no_secret},
    returned::{account, attempt_again, cleaner, free, give_back, policy, stuck_with, taken_in, use_account},
    stage::{Fault, Stage},
};
use allotment_api::kyma::{Provider, SubscriptionPhase};
use allotment_clouds::http::Rates;
use allotment_core::cleanup::{Cloud, Mode};
use allotment_operator::cleanup::GardenClouds;
use allotment_simulators::{azure::Azure, federation::Trust, gcp::GcpCloud, server::Server};
use allotment_testing::{Landscape, Outcome, cloud_script};
use kube::Client;
use serde_json::{Value, json};
use std::sync::Arc;

/// How every token of the garden begins.
const TOKEN_OF_THE_GARDEN: &str = "eyJhbGciOi";

/// A change of the trust, and words of the reason that people see then.
type Distrust = (fn(&mut Trust), [&'static str; 2]);

/// An account that knows no secret, only an issuer to trust.
struct Federated<'a> {
    provider: Provider,
    cloud: Cloud,
    endpoint: String,
    /// The providerConfig of the WorkloadIdentity.
    config: Value,
    audience: &'static str,
    /// The environment of the scripts.
    environment: Vec<(&'static str, String)>,
    /// Trusts tokens like these from now on.
    trust: &'a dyn Fn(Trust),
    refusals: Vec<Distrust>,
    secrets: Vec<&'static str>,
}

impl Federated<'_> {
    fn script(&self, name: &str) -> Result<Value, Fault> {
        let environment: Vec<(&str, &str)> =
            self.environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Ok(cloud_script(self.cloud.as_str(), name, &[], &environment)?)
    }

    /// A pool with the account, and the trust that its WorkloadIdentity needs.
    async fn stage(&self, landscape: &Landscape) -> Result<(Stage, Trust), Fault> {
        let stage = Stage { provider: self.provider, ..Stage::new(landscape).await? };
        let target = json!({ "type": self.cloud.as_str(), "providerConfig": self.config });
        let spec = json!({ "audiences": [self.audience], "targetSystem": target });
        let labels = json!({ "hyperscalerType": self.cloud.as_str() });
        let identity = stage.plot.add_account_of_identity("a", self.provider, labels, spec).await?;
        let issuer = landscape.issuer.as_ref().ok_or("the landscape has no issuer of tokens")?;
        let trust = Trust {
            issuer: issuer.url.clone(),
            jwks: issuer.jwks.clone(),
            audience: self.audience.to_owned(),
            subject: identity.status.unwrap_or_default().sub,
        };
        Ok((stage, trust))
    }

    async fn goes_the_way_of_all_accounts(&self, landscape: &Landscape) -> Outcome {
        let (stage, trust) = self.stage(landscape).await?;
        (self.trust)(trust.clone());
        let _subscriptions = stage.start();
        let (cloud, endpoint) = (self.cloud, self.endpoint.clone());
        let clouds = OwnClient::new(landscape, move |garden: Client| {
            let rates = Rates { reads: 1000.0, writes: 1000.0 };
            GardenClouds::new(garden, rates).with_endpoint(cloud, Some(endpoint.clone()))
        })?;
        let overheard =
            Overheard::start(cleaner(&stage, "cleaner", policy(Mode::Delete), PATIENCE, Arc::new(clouds)));
        let id = taken_in(&stage).await?;
        use_account(&stage).await?;
        self.script("fill")?;
        let mut refusals = self.refusals.iter();
        let mut refuse = || {
            let (change, words) = refusals.next()?;
            let mut other = trust.clone();
            change(&mut other);
            (self.trust)(other);
            Some(*words)
        };
        let mut reason = refuse();
        give_back(&stage).await?;
        while let Some(words) = reason {
            for word in words {
                stuck_with(&stage, word).await?;
            }
            assert!(stage.ledger.proof(&account()).await?.is_none(), "nobody may say that it is clean");
            reason = refuse();
            if reason.is_some() {
                attempt_again(&stage).await?;
            }
        }
        stage.ask("second", "ga-2").await?;
        let waits = stage.in_phase("second", SubscriptionPhase::Waiting).await?;
        assert_eq!(waits.status.and_then(|status| status.gardener_secret_name), None);
        assert_eq!(self.script("left")?["empty"], false);
        (self.trust)(trust);
        attempt_again(&stage).await?;
        free(&stage).await?;
        assert_eq!(self.script("left")?["empty"], true, "its own SDK sees it empty");
        assert_eq!(stage.bound("second").await?, "a");
        let proof = stage.ledger.proof(&account()).await?.ok_or("there is no proof")?;
        assert_eq!(proof.proof.account, id);
        let secrets: Vec<String> =
            self.secrets.iter().chain([&TOKEN_OF_THE_GARDEN]).map(|secret| (*secret).to_owned()).collect();
        shows_no_secret(&stage, &overheard.stop(), &[account()], &secrets).await
    }
}

pub async fn a_subscription_of_a_workload_identity_is_refused_without_trust_and_emptied_with_it(
    landscape: Landscape,
) -> Outcome {
    let simulator = Azure::start()?;
    let account = simulator.account();
    // Tokens of the cloud last an hour, and a large account longer.
    account.sessions_last(40);
    let federated = Federated {
        provider: Provider::Azure,
        cloud: Cloud::Azure,
        endpoint: account.endpoint.clone(),
        config: json!({
            "apiVersion": "azure.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkloadIdentityConfig",
            "clientID": account.own.client, "tenantID": account.tenant, "subscriptionID": account.subscription,
        }),
        audience: "api://AzureADTokenExchange",
        environment: azure::environment(&account),
        trust: &|trust| account.trust(Some(trust)),
        refusals: vec![
            (|trust| trust.subject.push('x'), ["AADSTS700213", "does not trust this workload identity"]),
            (|trust| trust.issuer.push('x'), ["AADSTS700211", "does not trust this workload identity"]),
            (|trust| trust.audience.push('x'), ["AADSTS700212", "does not trust this workload identity"]),
        ],
        secrets: vec!["eyJ0eXAi"],
    };
    federated.goes_the_way_of_all_accounts(&landscape).await?;
    let by_token = |login: &&String| login.contains(TOKEN_OF_THE_GARDEN) && !login.contains("client_secret");
    assert!(account.logins().iter().filter(by_token).count() > 5, "a session that ended was renewed");
    Ok(())
}

pub async fn a_project_of_a_workload_identity_is_refused_without_trust_and_emptied_with_it(
    landscape: Landscape,
) -> Outcome {
    let cloud = GcpCloud::new();
    let server = Server::start(cloud.clone())?;
    let (project, endpoint) = (gcp::quick(&cloud), server.endpoint());
    project.sessions_last(40);
    let federated = Federated {
        provider: Provider::Gcp,
        cloud: Cloud::Gcp,
        config: project.workload_config(&endpoint),
        audience: "allotment-test",
        environment: gcp::environment(&project, &endpoint),
        endpoint,
        trust: &|trust| project.trust_issuer(Some(trust)),
        refusals: vec![
            (|trust| trust.subject.push('x'), ["PERMISSION_DENIED", "iam.serviceAccounts.getAccessToken"]),
            (|trust| trust.issuer.push('x'), ["invalid_grant", "does not accept the credentials"]),
            (|trust| trust.audience.push('x'), ["invalid_grant", "does not accept the credentials"]),
        ],
        secrets: vec!["ya29."],
    };
    federated.goes_the_way_of_all_accounts(&landscape).await?;
    assert!(project.exchanges() > 5, "a session that ended was renewed");
    Ok(())
}
