//! Pool entries that lead to one account of the cloud, though nothing in the garden says so.

use super::{
    cleanup_kills::{ID, returned},
    returned::{account, free, give_back, taken_in, until, use_account},
    stage::Fault,
};
use allotment_api::kyma::SubscriptionPhase;
use allotment_core::pool::AccountName;
use allotment_testing::{Landscape, Outcome};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use std::time::Duration;

/// The entry was in use before the cleaner came, so its account id is recorded nowhere.
pub async fn an_account_is_not_emptied_while_another_entry_that_leads_to_it_is_in_use(
    landscape: Landscape,
) -> Outcome {
    let (stage, cloud) = returned(&landscape).await?;
    let _subscriptions = stage.start();
    let _cleaner = cloud.start(&stage);
    taken_in(&stage).await?;
    use_account(&stage).await?;
    stage.accounts(&["b"], json!({ "hyperscalerType": "aws", "tenantName": "ga-9" })).await?;
    cloud.fill();
    let left = cloud.0.leftovers(&ID).len();
    give_back(&stage).await?;
    waits_because(&stage.ledger, "b is the same cloud account, and in use").await?;
    assert_eq!((cloud.0.leftovers(&ID).len(), cloud.0.deletions(&ID).len()), (left, 0));
    // Dirty as its label has it, and still with a Shoot in it.
    stage.shoot("of-b", "b", None).await?;
    let dirty = json!({ "metadata": { "labels": { "dirty": "true" } } });
    stage.bindings().patch("b", &PatchParams::default(), &Patch::Merge(&dirty)).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(cloud.0.deletions(&ID).len(), 0, "a Shoot is in it");
    stage.delete_shoot("of-b").await?;
    stage.bindings().delete("b", &DeleteParams::default()).await?;
    free(&stage).await?;
    assert_eq!(cloud.0.leftovers(&ID), []);
    Ok(())
}

pub async fn entries_that_are_recorded_as_one_account_go_to_one_tenant(landscape: Landscape) -> Outcome {
    let (stage, cloud) = returned(&landscape).await?;
    stage.accounts(&["b"], json!({ "hyperscalerType": "aws" })).await?;
    let _subscriptions = stage.start();
    let _cleaner = cloud.start(&stage);
    until("both are taken in", async || {
        for name in ["a", "b"] {
            let recorded = stage.ledger.cloud_account(&AccountName::new(name)).await;
            recorded.map_err(|error| error.to_string())?.ok_or(name)?;
        }
        Ok(())
    })
    .await?;
    stage.ask("first", "ga-1").await?;
    stage.bound("first").await?;
    stage.ask("second", "ga-2").await?;
    stage.in_phase("second", SubscriptionPhase::Waiting).await?;
    stage.ledger.shared_cloud_accounts().await?.get(&ID).ok_or("nobody tells of it")?;
    Ok(())
}

/// Somebody used the pool before, and the ledger knows nothing of it: what is in a free account may be a tenant's.
pub async fn accounts_of_a_used_pool_are_not_taken_in(landscape: Landscape) -> Outcome {
    let (stage, cloud) = returned(&landscape).await?;
    stage.accounts(&["held"], json!({ "hyperscalerType": "aws", "tenantName": "ga-9" })).await?;
    let _subscriptions = stage.start();
    let _cleaner = cloud.start(&stage);
    let since = until("the ledger has taken the pool over", async || {
        let since = stage.ledger.knows_since().await.map_err(|error| error.to_string())?;
        since.ok_or("it knows everything".to_owned())
    })
    .await?;
    // An entry that is made later was never used. Servers write whole seconds.
    let whole_second = Duration::from_millis(1100);
    tokio::time::sleep(whole_second).await;
    stage.accounts(&["new"], json!({ "hyperscalerType": "aws" })).await?;
    until("the new account is taken in", async || {
        let recorded = stage.ledger.cloud_account(&AccountName::new("new")).await;
        recorded
            .map_err(|error| error.to_string())?
            .and_then(|it| it.baseline)
            .ok_or("no baseline".to_owned())
    })
    .await?;
    assert_eq!(stage.ledger.cloud_account(&account()).await?, None, "nobody knows who used it");
    assert_eq!(stage.ledger.knows_since().await?, Some(since));
    Ok(())
}

async fn waits_because(ledger: &allotment_operator::ledger::Ledger, because: &str) -> Result<(), Fault> {
    until(because, async || {
        let cleaning = ledger.cleaning(&account()).await.map_err(|error| error.to_string())?;
        match cleaning.and_then(|cleaning| cleaning.record.waits) {
            Some(waits) if waits.contains(because) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
}
