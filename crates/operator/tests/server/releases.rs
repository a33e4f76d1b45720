//! What becomes of accounts.

use super::stage::{Stage, until};
use allotment_api::{kyma::SubscriptionPhase, names::annotation};
use allotment_core::pool::{AccountName, Holding};
use allotment_testing::{Landscape, Outcome};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::json;
use std::time::Duration;

pub async fn the_last_cluster_makes_an_account_dirty(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start();
    for name in ["one", "two"] {
        stage.ask(name, "ga-1").await?;
        stage.bound(name).await?;
    }
    stage.delete("one").await?;
    stage.gone("one").await?;
    stage.labelled("a", "dirty", None).await?;
    stage.delete("two").await?;
    stage.gone("two").await?;
    stage.labelled("a", "dirty", Some("true")).await?;
    stage.labelled("a", "tenantName", Some("ga-1")).await?;
    stage.ask("again", "ga-1").await?;
    stage.in_phase("again", SubscriptionPhase::Waiting).await?;
    Ok(())
}

pub async fn a_request_holds_its_account_while_its_shoot_lives(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    let request = stage.requests().get("r").await?;
    stage.shoot("s", "a", Some(&request)).await?;
    stage.delete("r").await?;
    let releasing = stage.in_phase("r", SubscriptionPhase::Releasing).await?;
    assert!(
        releasing
            .status
            .unwrap()
            .conditions
            .iter()
            .any(|condition| condition.message.contains("Shoot s is still"))
    );
    tokio::time::sleep(Duration::from_millis(500)).await;
    stage.labelled("a", "dirty", None).await?;
    stage.delete_shoot("s").await?;
    stage.gone("r").await?;
    stage.labelled("a", "dirty", Some("true")).await?;
    Ok(())
}

pub async fn foreign_shoots_keep_an_account(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(2);
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let running = stage.start();
    stage.ask("r", "ga-1").await?;
    assert_eq!(stage.bound("r").await?, "a");
    stage.shoot("foreign", "a", None).await?;
    until("the Shoot is known", async || {
        let known = running.operator.with_index(|index| index.count_foreign(&AccountName::new("a")));
        if known == 1 { Ok(()) } else { Err(known.to_string()) }
    })
    .await?;
    stage.ask("next", "ga-1").await?;
    assert_eq!(stage.bound("next").await?, "b", "foreign Shoots count");
    stage.delete("r").await?;
    stage.gone("r").await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    stage.labelled("a", "dirty", None).await?;
    stage.delete_shoot("foreign").await?;
    stage.labelled("a", "dirty", Some("true")).await?;
    Ok(())
}

pub async fn free_while_reusing_never_dirties_a_used_account(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let names: Vec<String> = (0..8).map(|number| format!("a{number}")).collect();
    stage
        .accounts(&names.iter().map(String::as_str).collect::<Vec<_>>(), json!({ "hyperscalerType": "aws" }))
        .await?;
    let _running = stage.start_two().await?;
    stage.ask("r0", "ga-1").await?;
    let mut held = stage.bound("r0").await?;
    for round in 1..=6 {
        let (old, new) = (format!("r{}", round - 1), format!("r{round}"));
        let (deleted, asked) = tokio::join!(stage.delete(&old), stage.ask(&new, "ga-1"));
        deleted?;
        asked?;
        let account = stage.bound(&new).await?;
        stage.gone(&old).await?;
        let is_dirty = stage.bindings().get(&account).await?.labels().contains_key("dirty");
        assert!(!is_dirty, "{account} is dirty while {new} is in it");
        if account != held {
            stage.labelled(&held, "dirty", Some("true")).await?;
            held = account;
        }
    }
    Ok(())
}

pub async fn a_cleaned_account_is_used_again(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    stage.ask("waits", "ga-2").await?;
    stage.in_phase("waits", SubscriptionPhase::Waiting).await?;
    stage.delete("r").await?;
    stage.labelled("a", "dirty", Some("true")).await?;
    until("the ledger says dirty", async || {
        let row = stage.ledger.account(&AccountName::new("a")).await.unwrap().unwrap();
        if matches!(row.holding, Holding::Dirty(_)) { Ok(()) } else { Err(row.holding.to_string()) }
    })
    .await?;
    stage.label("a", json!({ "dirty": null })).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    stage.in_phase("waits", SubscriptionPhase::Waiting).await?;
    stage.label("a", json!({ "tenantName": null })).await?;
    assert_eq!(stage.bound("waits").await?, "a");
    stage.labelled("a", "tenantName", Some("ga-2")).await?;
    Ok(())
}

pub async fn a_cleaned_account_with_a_shoot_is_put_in_quarantine(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage
        .accounts(&["a"], json!({ "hyperscalerType": "aws", "dirty": "true", "tenantName": "ga-1" }))
        .await?;
    stage.shoot("s", "a", None).await?;
    let _running = stage.start();
    until("the ledger knows it", async || {
        stage.ledger.account(&AccountName::new("a")).await.unwrap().map(drop).ok_or(String::new())
    })
    .await?;
    stage.label("a", json!({ "dirty": null, "tenantName": null })).await?;
    until("it is in quarantine", async || {
        let binding = stage.bindings().get("a").await.map_err(|error| error.to_string())?;
        binding.annotations().get(annotation::QUARANTINE).map(drop).ok_or(format!("{:?}", binding.labels()))
    })
    .await?;
    stage.ask("r", "ga-2").await?;
    stage.in_phase("r", SubscriptionPhase::Waiting).await?;
    Ok(())
}

pub async fn a_request_whose_finalizer_was_removed_gives_back(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    let without = json!({ "metadata": { "finalizers": null } });
    stage.requests().patch("r", &PatchParams::default(), &Patch::Merge(&without)).await?;
    stage.delete("r").await?;
    stage.labelled("a", "dirty", Some("true")).await?;
    Ok(())
}

pub async fn refused_credentials_put_an_account_in_quarantine(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start();
    stage.ask("r", "ga-1").await?;
    assert_eq!(stage.bound("r").await?, "a");
    let request = stage.requests().get("r").await?;
    stage.shoot("s", "a", Some(&request)).await?;
    let now = jiff::Timestamp::now();
    let operation = |state: &str| json!({ "type": "Create", "state": state, "progress": 10, "description": "-", "lastUpdateTime": now });
    let error = json!({ "description": "refused", "codes": ["ERR_INFRA_UNAUTHENTICATED"] });
    let failed = json!({ "status": { "lastOperation": operation("Error"), "lastErrors": [error] } });
    stage.plot.shoots().patch_status("s", &PatchParams::default(), &Patch::Merge(&failed)).await?;
    let quarantine = async || {
        let binding = stage.bindings().get("a").await.unwrap();
        binding.annotations().get(annotation::QUARANTINE).cloned()
    };
    until("it is in quarantine", async || quarantine().await.map(drop).ok_or(String::new())).await?;
    stage.ask("next", "ga-1").await?;
    let waiting = stage.in_phase("next", SubscriptionPhase::Waiting).await?;
    assert!(waiting.status.unwrap().conditions[0].message.contains("quarantine"));
    let succeeded = json!({ "status": { "lastOperation": operation("Succeeded"), "lastErrors": null } });
    stage.plot.shoots().patch_status("s", &PatchParams::default(), &Patch::Merge(&succeeded)).await?;
    assert_eq!(stage.bound("next").await?, "a", "a later success lifts it");
    until("it is lifted", async || if quarantine().await.is_none() { Ok(()) } else { Err(String::new()) })
        .await?;
    Ok(())
}
