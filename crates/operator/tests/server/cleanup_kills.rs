//! A cleaner that is killed, and credentials that are revoked, in the middle of a cleaning. The cloud is in memory.

use super::{
    cleanup::PATIENCE,
    returned::{
        Cleaner, PROJECT, SHOOT, account, attempt_again, free, give_back, in_stage, is_free, policy,
        start_cleaner, stuck_with, taken_in, until, use_account,
    },
    stage::{Fault, Stage},
};
use allotment_clouds::{
    Cloud,
    memory::{Faults, MemoryCloud, Nature, leftovers_of_shoot},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Item, ItemId, KindName, Mode, Place, Stage as CleaningStage,
};
use allotment_operator::cleanup::{Baselining, ByHand, Clouds, OpenAccount, OpenError, Policy};
use allotment_testing::{Landscape, Outcome};
use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

pub const ID: CloudAccountId = CloudAccountId::of("123456789012");
const REGION: Place = Place::of("eu-1");

/// Every account leads to the one in memory.
#[derive(Clone)]
pub struct InMemory(pub MemoryCloud);

impl Clouds for InMemory {
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>> {
        let client: Arc<dyn Cloud> = Arc::new(self.0.client(account.cloud, &ID, account.history));
        async move { Ok(client) }.boxed()
    }
}

impl InMemory {
    fn new() -> Self {
        let cloud = MemoryCloud::new();
        cloud.add_account(CloudName::Aws, ID, [REGION]);
        Self(cloud)
    }

    /// A Shoot is force-deleted. Deletions take less time than in a real cloud.
    pub fn fill(&self) {
        let technical_id = format!("shoot--{PROJECT}--{SHOOT}");
        for (item, nature) in leftovers_of_shoot(CloudName::Aws, &ID, &technical_id, &REGION) {
            let delete_takes = nature.delete_takes.min(Duration::from_millis(40));
            self.0.put(&ID, item, Nature { delete_takes, ..nature });
        }
    }

    pub fn start(&self, stage: &Stage) -> Cleaner {
        start_cleaner(stage, "cleaner", policy(Mode::Delete), PATIENCE, Arc::new(self.clone()))
    }
}

/// A dirty account, with leftovers.
pub async fn returned(landscape: &Landscape) -> Result<(Stage, InMemory), Fault> {
    let (stage, cloud) = (Stage::new(landscape).await?, InMemory::new());
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    Ok((stage, cloud))
}

pub async fn a_cleaner_that_is_killed_again_and_again_ends_all_the_same(landscape: Landscape) -> Outcome {
    let (stage, cloud) = returned(&landscape).await?;
    let _subscriptions = stage.start();
    let pristine: Vec<_> = cloud.0.items(&ID);
    let first = cloud.start(&stage);
    taken_in(&stage).await?;
    use_account(&stage).await?;
    drop(first);
    cloud.fill();
    cloud.0.set_faults(
        &ID,
        Faults { lost_answers: 3, throttled: 3, latency: Duration::from_millis(4), ..Faults::default() },
    );
    give_back(&stage).await?;
    let mut stages = BTreeSet::new();
    for life in (40..=2000).step_by(40).map(Duration::from_millis) {
        let cleaner = cloud.start(&stage);
        tokio::time::sleep(life).await;
        drop(cleaner);
        let cleaning = stage.ledger.cleaning(&account()).await?;
        stages.extend(cleaning.map(|cleaning| cleaning.record.stage));
        if is_free(&stage).await.is_ok() {
            break;
        }
    }
    assert!(stages.len() > 2, "it was killed in several stages: {stages:?}");
    let last = cloud.start(&stage);
    free(&stage).await?;
    assert_eq!(cloud.0.leftovers(&ID), []);
    assert_eq!(cloud.0.items(&ID), pristine, "nothing that came with the account is gone");
    // The next tenant's items are nobody's business, with the cleaner running.
    stage.ask("second", "ga-2").await?;
    assert_eq!(stage.bound("second").await?, "a");
    let deletions = cloud.0.deletions(&ID).len();
    cloud.fill();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(cloud.0.deletions(&ID).len(), deletions);
    drop(last);
    Ok(())
}

pub async fn credentials_that_are_revoked_in_the_middle_are_told_about(landscape: Landscape) -> Outcome {
    let (stage, cloud) = returned(&landscape).await?;
    let _subscriptions = stage.start();
    let _cleaner = cloud.start(&stage);
    taken_in(&stage).await?;
    use_account(&stage).await?;
    cloud.fill();
    cloud.0.set_faults(&ID, Faults { latency: Duration::from_millis(5), ..Faults::default() });
    give_back(&stage).await?;
    in_stage(&stage, CleaningStage::Deleting).await?;
    cloud.0.set_faults(&ID, Faults { revoked: true, ..Faults::default() });
    stuck_with(&stage, "AuthFailure").await?;
    cloud.0.set_faults(&ID, Faults::default());
    attempt_again(&stage).await?;
    free(&stage).await?;
    assert_eq!(cloud.0.leftovers(&ID), []);
    Ok(())
}

/// So many volumes that nobody can miss the middle of their deletion.
const VOLUMES: usize = 300;

fn volume(number: usize) -> Item {
    Item::new(KindName::of("Volume"), REGION, ItemId::new(format!("vol-{number:03}")))
}

pub async fn a_changed_mode_or_keep_list_stops_deletions_under_way(landscape: Landscape) -> Outcome {
    let (stage, cloud) = returned(&landscape).await?;
    let _subscriptions = stage.start();
    let cleaner = cloud.start(&stage);
    taken_in(&stage).await?;
    use_account(&stage).await?;
    for number in 0..VOLUMES {
        cloud.0.put(&ID, volume(number), Nature::default());
    }
    cloud.0.set_faults(&ID, Faults { latency: Duration::from_millis(30), ..Faults::default() });
    give_back(&stage).await?;
    let deleted = || cloud.0.deletions(&ID).len();
    let more_than = async |count: usize| {
        until(&format!("more than {count} items are deleted"), async || {
            if deleted() > count { Ok(()) } else { Err(deleted().to_string()) }
        })
        .await
    };
    more_than(10).await?;
    cleaner.operator.set_policy(policy(Mode::Off));
    let before = deleted();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let stopped = deleted();
    assert!(stopped < before + 80, "{before} deletions before, {stopped} after");
    assert!(stopped < VOLUMES, "it was stopped too late");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(deleted(), stopped, "nothing is deleted while the mode is off");

    // Somebody keeps an item while deletions go on.
    cleaner.operator.set_policy(policy(Mode::Delete));
    more_than(stopped).await?;
    let kept = cloud.0.leftovers(&ID).last().unwrap().clone();
    let keep = BTreeSet::from([kept.id.to_string().to_uppercase()]);
    cleaner.operator.set_policy(Policy { keep, ..policy(Mode::Delete) });
    cloud.0.set_faults(&ID, Faults::default());
    free(&stage).await?;
    assert_eq!(cloud.0.leftovers(&ID), [kept], "in whatever case its id is written");
    Ok(())
}

pub async fn an_id_is_replaced_on_purpose_only_and_beside_the_right_ledger(landscape: Landscape) -> Outcome {
    let (stage, cloud) = returned(&landscape).await?;
    let _subscriptions = stage.start();
    let cleaner = cloud.start(&stage);
    taken_in(&stage).await?;
    let other = CloudAccountId::of("999999999999");
    let mut recorded = stage.ledger.cloud_account(&account()).await?.unwrap();
    recorded.id = other.clone();
    stage.ledger.record_cloud_account(&account(), &recorded).await?;
    let record = async |replace: Option<CloudAccountId>| {
        let wanted = Baselining { id_only: true, replace, by: "a test".to_owned(), ..Baselining::default() };
        let operation = async |by_hand: ByHand| by_hand.baseline(&account(), &wanted).await;
        cleaner.operator.by_hand(operation).await
    };
    let refused = record(None).await.unwrap_err().to_string();
    assert!(refused.contains("999999999999 is recorded"), "{refused}");
    assert!(refused.contains("--replace 999999999999"), "{refused}");
    assert!(record(Some(CloudAccountId::of("1"))).await.is_err());
    assert_eq!(record(Some(other)).await?.id, ID);

    // Another ledger, as after a loss: nothing is recorded in it.
    let garden = stage.plot.landscape.garden.clone();
    let fence: Api<ConfigMap> = Api::namespaced(garden, &stage.plot.garden_namespace);
    let change = json!({ "data": { "ledger": "another" } });
    fence.patch("allotment-ledger", &PatchParams::default(), &Patch::Merge(change)).await?;
    let refused = record(None).await.unwrap_err().to_string();
    assert!(refused.contains("another"), "{refused}");
    Ok(())
}
