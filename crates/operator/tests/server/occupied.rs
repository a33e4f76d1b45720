//! Accounts that nobody holds, and that are not free.

use super::stage::{Fault, Running, Stage, until};
use allotment_api::{
    gardener::CredentialsBinding,
    kyma::{BindingKind, SubscriptionPhase, SubscriptionRequest},
};
use allotment_core::pool::{AccountName, Ailment};
use allotment_operator::survey::{Sources, Survey};
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt, api::PostParams};
use serde_json::{Value, json};

/// What the conditions of a request say.
fn messages(request: &SubscriptionRequest) -> String {
    let status = request.status.as_ref();
    let conditions = status.into_iter().flat_map(|status| &status.conditions);
    conditions.map(|condition| condition.message.clone()).collect::<Vec<_>>().join("\n")
}

async fn says(stage: &Stage, name: &str, words: &str) -> Result<(), Fault> {
    stage.request_that(name, &format!("says {words:?}"), |request| messages(request).contains(words)).await?;
    Ok(())
}

/// Waits until the operator knows so many Shoots and entries.
async fn knows(running: &Running, shoots: usize, entries: usize) -> Result<(), Fault> {
    until("the caches are complete", async || {
        let known = running.operator.with_index(|index| (index.shoots(), index.entries().count()));
        if known == (shoots, entries) { Ok(()) } else { Err(format!("{known:?}")) }
    })
    .await
}

/// Another entry with the credentials of an account.
async fn twin(stage: &Stage, name: &str, of: &str, labels: Value) -> Result<(), Fault> {
    let namespace = &stage.plot.garden_namespace;
    let binding: CredentialsBinding = serde_json::from_value(json!({
        "apiVersion": "security.gardener.cloud/v1alpha1",
        "kind": "CredentialsBinding",
        "metadata": { "name": name, "namespace": namespace, "labels": labels },
        "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": of, "namespace": namespace },
    }))?;
    stage.bindings().create(&PostParams::default(), &binding).await?;
    Ok(())
}

async fn survey(stage: &Stage) -> Result<Survey, Fault> {
    let landscape = &stage.plot.landscape;
    let settings = stage.settings("doctor");
    let sources = Sources {
        garden: landscape.garden.clone(),
        control_plane: Some(landscape.control_plane.clone()),
        ledger: Some(&stage.ledger),
        settings: &settings,
    };
    Ok(Survey::read(&sources, |_| ()).await?)
}

fn aws() -> Value {
    json!({ "hyperscalerType": "aws" })
}

pub async fn an_account_with_somebodys_shoot_is_not_handed_out(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], aws()).await?;
    stage.shoot("older", "a", None).await?;
    let running = stage.start();
    stage.ask("r", "ga-1").await?;
    let request = stage.in_phase("r", SubscriptionPhase::Waiting).await?;
    assert!(messages(&request).contains("occupied: a has 1 Shoot in it"), "{}", messages(&request));
    stage.labelled("a", "tenantName", None).await?;
    let metrics = running.operator.scrape(false).await?;
    assert!(metrics.contains(r#"allotment_accounts{state="occupied",provider="aws"} 1"#), "{metrics}");
    assert!(metrics.contains(r#"allotment_accounts{state="free",provider="aws"} 0"#), "{metrics}");
    let survey = survey(&stage).await?;
    assert_eq!(
        (survey.accounts()[0].state, survey.pools()[0].occupied, survey.pools()[0].free),
        ("occupied", 1, 0)
    );
    let findings = survey.complaints(jiff::Timestamp::now());
    let found = findings.iter().find(|finding| finding.code == Ailment::Occupied).unwrap();
    assert!(found.message.contains("older"), "{found}");
    stage.delete_shoot("older").await?;
    assert_eq!(stage.bound("r").await?, "a", "it is free once the Shoot is gone");
    Ok(())
}

pub async fn another_account_is_handed_out_in_the_place_of_an_occupied_one(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], aws()).await?;
    stage.shoot("older", "a", None).await?;
    let _running = stage.start();
    stage.ask("r", "ga-1").await?;
    assert_eq!(stage.bound("r").await?, "b");
    assert_eq!(stage.held_by("ga-1").await?, ["b"]);
    Ok(())
}

/// Whoever makes Shoots by hand may do it while the operator runs, and right before somebody asks.
pub async fn a_shoot_that_comes_right_before_a_claim_is_seen(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], aws()).await?;
    let running = stage.start();
    knows(&running, 0, 2).await?;
    stage.shoot("sudden", "a", None).await?;
    stage.ask("r", "ga-1").await?;
    assert_eq!(stage.bound("r").await?, "b");
    stage.labelled("a", "tenantName", None).await?;
    Ok(())
}

pub async fn a_shoot_on_another_binding_with_the_same_credentials_occupies(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], aws()).await?;
    twin(&stage, "plain", "a", json!({})).await?;
    stage.shoot("older", "plain", None).await?;
    let _running = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.in_phase("r", SubscriptionPhase::Waiting).await?;
    says(&stage, "r", "occupied: a has 1 Shoot in it").await?;
    Ok(())
}

pub async fn entries_with_the_same_credentials_go_to_one_tenant(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], aws()).await?;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    twin(&stage, "0-younger", "a", aws()).await?;
    let running = stage.start();
    knows(&running, 0, 2).await?;
    stage.ask("r", "ga-1").await?;
    assert_eq!(stage.bound("r").await?, "a", "the oldest stands for the account");
    stage.ask("s", "ga-2").await?;
    stage.in_phase("s", SubscriptionPhase::Waiting).await?;
    says(&stage, "s", "occupied: 0-younger has the same credentials as a").await?;
    let survey = survey(&stage).await?;
    let line = survey.accounts().into_iter().find(|line| line.account.as_str() == "0-younger").unwrap();
    assert_eq!(line.state, "occupied");
    let findings = survey.complaints(jiff::Timestamp::now());
    let found = findings.iter().find(|finding| finding.code == Ailment::SameCredentials).unwrap();
    assert!(found.remedy.contains("only a is handed out"), "{found}");
    Ok(())
}

pub async fn one_account_of_two_tenants_is_reported_and_gets_nothing_new(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws", "tenantName": "ga-1" })).await?;
    twin(&stage, "b", "a", json!({ "hyperscalerType": "aws", "tenantName": "ga-2" })).await?;
    let running = stage.start();
    knows(&running, 0, 2).await?;
    stage.ask("r", "ga-1").await?;
    stage.in_phase("r", SubscriptionPhase::Waiting).await?;
    says(&stage, "r", "has the same credentials as another entry").await?;
    until("both are shown", async || {
        let shown: Vec<String> = running.operator.to_look_at().keys().map(ToString::to_string).collect();
        if shown == ["a", "b"] { Ok(()) } else { Err(format!("{shown:?}")) }
    })
    .await?;
    let binding = stage.bindings().get("b").await?;
    stage.bindings().delete(&binding.name_any(), &Default::default()).await?;
    assert_eq!(stage.bound("r").await?, "a", "once the other entry is gone");
    Ok(())
}

/// The operator makes a CredentialsBinding for each Secret of a pool. That is no entry of the pool.
pub async fn the_binding_that_we_make_for_a_secret_is_no_second_entry(landscape: Landscape) -> Outcome {
    let mut stage = Stage::new(&landscape).await?;
    stage.kind = BindingKind::Secret;
    let secrets: Api<Secret> = Api::namespaced(landscape.garden.clone(), &stage.plot.garden_namespace);
    let secret = serde_json::from_value(json!({ "metadata": { "name": "account", "labels": aws() } }))?;
    secrets.create(&PostParams::default(), &secret).await?;
    let running = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    stage.ask("s", "ga-1").await?;
    stage.bound("s").await?;
    let twins = running.operator.with_index(|index| index.twins_of(&AccountName::new("account")));
    assert!(twins.is_empty(), "{twins:?}");
    Ok(())
}

pub async fn a_shoot_whose_request_has_no_seat_counts(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(2);
    stage.accounts(&["a", "b"], aws()).await?;
    let running = stage.start();
    stage.ask("r", "ga-1").await?;
    assert_eq!(stage.bound("r").await?, "a");
    let waits = stage.ask_with("w", json!({ "provider": "gcp", "subscriptionSelector": "ga-1" })).await?;
    stage.in_phase("w", SubscriptionPhase::Waiting).await?;
    let seated = stage.requests().get("r").await?;
    stage.shoot("own", "a", Some(&seated)).await?;
    stage.shoot("stray", "a", Some(&waits)).await?;
    knows(&running, 2, 2).await?;
    stage.ask("s", "ga-1").await?;
    assert_eq!(stage.bound("s").await?, "b", "r and its Shoot count once, the stray one counts");
    stage.delete_shoot("stray").await?;
    knows(&running, 1, 2).await?;
    stage.ask("t", "ga-1").await?;
    // Both have one cluster now: the first by name.
    assert_eq!(stage.bound("t").await?, "a");
    Ok(())
}
