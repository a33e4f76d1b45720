//! Returned projects: emptied, proven empty, handed to the next tenant; or stuck, with the item, the code and the blocker.

use super::{
    returned::{
        Cleaner, account, attempt_again, free, give_back, in_stage, is_free, policy, set_credentials,
        start_cleaner, stuck_with, taken_in, use_account,
    },
    stage::{Fault, Stage},
};
use allotment_api::kyma::Provider;
use allotment_clouds::{Patience, http::Rates};
use allotment_core::cleanup::{Mode, Stage as CleaningStage, Timing};
use allotment_operator::{
    cleanup::{GardenClouds, Policy},
    ledger::{About, Event},
};
use allotment_testing::{Landscape, OpenStackCloud, OpenStackProject, Outcome};
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// The services answer within seconds, and within a minute on a machine that is busy.
const PATIENCE: Patience = Patience { most: Duration::from_secs(60), every: Duration::from_secs(1) };

/// A pool of one account, whose Secret leads to a project of the test cloud.
struct Returned {
    stage: Stage,
    cloud: OpenStackCloud,
    project: OpenStackProject,
}

impl Returned {
    async fn new(landscape: &Landscape) -> Result<Self, Fault> {
        let cloud = OpenStackCloud::find()?;
        let project = cloud.project()?;
        let stage = Stage { provider: Provider::Openstack, ..Stage::new(landscape).await? };
        stage.accounts(&["a"], json!({ "hyperscalerType": "openstack" })).await?;
        set_credentials(&stage, &project.application_credential_keys()).await?;
        Ok(Self { stage, cloud, project })
    }

    fn start(&self, identity: &str) -> Cleaner {
        let usual = policy(Mode::Delete);
        // A volume that a busy machine takes its time to delete is not stuck.
        let timing = Timing { pause: SignedDuration::from_secs(2), passes: 6, ..usual.timing };
        let rates = Rates { reads: 100.0, writes: 100.0 };
        let clouds = GardenClouds::new(self.stage.plot.landscape.garden.clone(), rates)
            .with_openstack_auth_url(Some(self.cloud.auth_url().to_owned()));
        start_cleaner(&self.stage, identity, Policy { timing, ..usual }, PATIENCE, Arc::new(clouds))
    }

    /// A tenant uses the account, and gives it back. Returns the ids of everything that its Shoot made, by kind.
    async fn used_and_given_back(&self, fill: &[&str]) -> Result<Value, Fault> {
        use_account(&self.stage).await?;
        let made = self.project.script("fill", fill)?;
        give_back(&self.stage).await?;
        Ok(made)
    }

    async fn taken_in(&self) -> Result<(), Fault> {
        assert_eq!(taken_in(&self.stage).await?.as_str(), self.project.id());
        Ok(())
    }

    /// The account is free, empty and proven so, and goes to another tenant.
    async fn is_handed_on(&self) -> Result<(), Fault> {
        free(&self.stage).await?;
        let left = self.project.script("left", &[])?;
        assert_eq!(left["empty"], true, "the cloud's own client sees something: {left}");
        let ledger = &self.stage.ledger;
        let proof = ledger.proof(&account()).await?.unwrap();
        assert_eq!((proof.proof.account.as_str(), &proof.digest), (self.project.id(), &proof.proof.digest()));
        let text = serde_json::to_string(&proof.proof)?;
        assert!(!text.contains(self.project.secret()) && !text.contains("gAAAA"), "no secret, no token");
        self.stage.ask("second", "ga-2").await?;
        assert_eq!(self.stage.bound("second").await?, "a");
        let history = ledger.history(About::Account(&account()), 100).await?;
        let cleaned = history.iter().find(|entry| entry.event == Event::Cleaned).unwrap();
        assert!(cleaned.because.contains(&proof.digest), "{}", cleaned.because);
        Ok(())
    }
}

fn first<'a>(made: &'a Value, kind: &str) -> &'a str {
    made[kind][0].as_str().unwrap()
}

pub async fn a_returned_project_is_emptied_and_claimed_by_another_tenant(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let _subscriptions = returned.stage.start();
    let _cleaner = returned.start("cleaner");
    returned.taken_in().await?;
    returned.used_and_given_back(&[]).await?;
    returned.is_handed_on().await
}

pub async fn a_cleaner_that_is_killed_while_it_deletes_is_replaced_by_another(
    landscape: Landscape,
) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let _subscriptions = returned.stage.start();
    let cleaner = returned.start("one");
    returned.taken_in().await?;
    returned.used_and_given_back(&[]).await?;
    in_stage(&returned.stage, CleaningStage::Deleting).await?;
    // The first deletions are on their way.
    tokio::time::sleep(Duration::from_secs(2)).await;
    drop(cleaner);
    let left = returned.project.script("left", &[])?;
    assert_eq!(left["empty"], false, "it was killed too late");
    assert!(is_free(&returned.stage).await.is_err());
    let _another = returned.start("two");
    returned.is_handed_on().await
}

pub async fn a_load_balancer_that_cannot_be_deleted_is_named(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let _subscriptions = returned.stage.start();
    let _cleaner = returned.start("cleaner");
    returned.taken_in().await?;
    let made = returned.used_and_given_back(&["--stuck"]).await?;
    let stuck = stuck_with(&returned.stage, first(&made, "stuck-load-balancer")).await?;
    assert!(stuck.starts_with("LoadBalancerPending: LoadBalancer "), "{stuck}");
    assert!(stuck.contains("PENDING_CREATE, which only its provider"), "{stuck}");
    let record = returned.stage.ledger.cleaning(&account()).await?.unwrap().record;
    assert_eq!(record.stage, CleaningStage::Stuck);
    assert!(returned.stage.ledger.proof(&account()).await?.is_none());
    // Everything else went, but for what the load balancer holds.
    let left = returned.project.script("left", &[])?;
    let kinds: Vec<&String> = left["left"].as_object().unwrap().keys().collect();
    let held = ["load-balancer", "network", "port", "subnet"];
    assert!(kinds.iter().all(|kind| held.contains(&kind.as_str())), "{left}");
    Ok(())
}

pub async fn a_port_of_another_project_is_named_and_left_alone(landscape: Landscape) -> Outcome {
    let returned = Returned::new(&landscape).await?;
    let neighbour = returned.cloud.project()?;
    let _subscriptions = returned.stage.start();
    let _cleaner = returned.start("cleaner");
    returned.taken_in().await?;
    let made = returned.used_and_given_back(&["--only-network", "--shared-with", neighbour.name()]).await?;
    let port = first(&made, "foreign-port");
    let stuck = stuck_with(&returned.stage, port).await?;
    assert!(stuck.starts_with("SubnetInUse: Subnet "), "{stuck}");
    assert!(stuck.contains(&format!("{port} of another project")), "{stuck}");
    assert!(returned.stage.ledger.proof(&account()).await?.is_none());
    let of_neighbour = neighbour.script("left", &[])?;
    assert_eq!(of_neighbour["left"], json!({ "port": [port] }), "nothing of the neighbour is deleted");
    // Once it is gone, a person asks for another attempt.
    neighbour.script("remove", &["--port", port])?;
    attempt_again(&returned.stage).await?;
    returned.is_handed_on().await
}
