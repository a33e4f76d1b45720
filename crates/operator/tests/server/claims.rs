//! Who gets which account.

use super::stage::{Stage, until};
use allotment_api::kyma::{BindingKind, SubscriptionPhase};
use allotment_core::pool::AccountName;
use allotment_testing::{Landscape, Outcome};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use std::{collections::BTreeMap, time::Instant};

pub async fn fifty_first_requests_of_one_tenant_claim_one_account(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b", "c", "d"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start_two().await?;
    let names: Vec<String> = (0..50).map(|number| format!("r{number}")).collect();
    try_join_all(names.iter().map(|name| stage.ask(name, "globalaccount:ga-1"))).await?;
    let bound = try_join_all(names.iter().map(|name| stage.bound(name))).await?;
    assert!(bound.iter().all(|name| *name == bound[0]), "{bound:?}");
    assert_eq!(stage.held_by("ga-1").await?.len(), 1);
    let status = stage.requests().get("r0").await?.status.unwrap();
    assert_eq!(status.tenant_name.as_deref(), Some("ga-1"));
    assert_eq!(status.hyperscaler_type.as_deref(), Some("aws"));
    assert_eq!(status.secret_ref.unwrap().name, bound[0]);
    assert_eq!(status.binding_kind, Some(BindingKind::CredentialsBinding));
    Ok(())
}

pub async fn a_limit_is_filled_and_never_passed(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(3);
    stage.accounts(&["a", "b", "c", "d", "e", "f"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start_two().await?;
    for name in ["first", "second"] {
        stage.ask(name, "ga-1").await?;
        assert_eq!(stage.bound(name).await?, "a");
    }
    let names: Vec<String> = (0..10).map(|number| format!("r{number}")).collect();
    try_join_all(names.iter().map(|name| stage.ask(name, "ga-1"))).await?;
    let mut clusters: BTreeMap<String, usize> = BTreeMap::from([("a".to_owned(), 2)]);
    for account in try_join_all(names.iter().map(|name| stage.bound(name))).await? {
        *clusters.entry(account).or_default() += 1;
    }
    assert_eq!(clusters.into_values().collect::<Vec<_>>(), [3, 3, 3, 3]);
    assert_eq!(stage.held_by("ga-1").await?.len(), 4);
    Ok(())
}

pub async fn a_plan_goes_where_its_rule_says(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["plain"], json!({ "hyperscalerType": "aws" })).await?;
    stage.accounts(&["eu"], json!({ "hyperscalerType": "aws", "euAccess": "true" })).await?;
    let _running = stage.start();
    let spec = |region: &str| json!({ "provider": "aws", "subscriptionSelector": "ga-1", "plan": "aws", "platformRegion": region });
    stage.ask_with("eu", spec("cf-eu11")).await?;
    stage.ask_with("other", spec("cf-us10")).await?;
    assert_eq!(stage.bound("eu").await?, "eu");
    assert_eq!(stage.bound("other").await?, "plain");
    let status = stage.requests().get("eu").await?.status.unwrap();
    assert_eq!(status.matched_rule.as_deref(), Some("aws(PR=cf-eu11) -> EU"));
    Ok(())
}

pub async fn shared_accounts_are_filled_evenly(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["s1", "s2"], json!({ "hyperscalerType": "aws", "shared": "true" })).await?;
    let _running = stage.start();
    let names: Vec<String> = (0..6).map(|number| format!("r{number}")).collect();
    let spec = json!({ "provider": "aws", "subscriptionSelector": "shared" });
    try_join_all(names.iter().map(|name| stage.ask_with(name, spec.clone()))).await?;
    let mut bound = try_join_all(names.iter().map(|name| stage.bound(name))).await?;
    bound.sort();
    assert_eq!(bound, ["s1", "s1", "s1", "s2", "s2", "s2"]);
    assert!(stage.held_by("shared").await?.is_empty(), "shared accounts carry no tenant");
    stage.delete("r0").await?;
    stage.gone("r0").await?;
    stage.labelled("s1", "dirty", None).await?;
    Ok(())
}

pub async fn what_cannot_be_granted_is_denied(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let _running = stage.start();
    for (name, spec, says) in [
        ("unknown", json!({ "provider": "aws", "subscriptionSelector": "ga-1", "plan": "gold" }), "gold"),
        ("mismatch", json!({ "provider": "gcp", "subscriptionSelector": "ga-1", "plan": "aws" }), "gcp"),
        ("nobody", json!({ "provider": "aws", "subscriptionSelector": "shared", "plan": "aws" }), "tenant"),
    ] {
        stage.ask_with(name, spec).await?;
        let request = stage.in_phase(name, SubscriptionPhase::Denied).await?;
        let message = &request.status.unwrap().conditions[0].message;
        assert!(message.contains(says), "{message}");
        stage.delete(name).await?;
        stage.gone(name).await?;
    }
    Ok(())
}

pub async fn an_empty_pool_makes_wait_and_a_new_account_is_taken_within_a_second(
    landscape: Landscape,
) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start();
    stage.ask("first", "ga-1").await?;
    stage.bound("first").await?;
    for (name, tenant) in [("second", "ga-2"), ("third", "ga-2"), ("fourth", "ga-3")] {
        stage.ask(name, tenant).await?;
        stage.in_phase(name, SubscriptionPhase::Waiting).await?;
    }
    let position = |name: &'static str| {
        let api = stage.requests();
        async move { api.get(name).await.unwrap().status.unwrap().queue_position }
    };
    assert_eq!(position("second").await, Some(1));
    assert_eq!(position("fourth").await, Some(2), "turns go over tenants");
    let message = stage.requests().get("second").await?.status.unwrap().conditions[1].message.clone();
    assert!(message.contains("no free account in pool aws"), "{message}");
    let added = Instant::now();
    stage.accounts(&["b"], json!({ "hyperscalerType": "aws" })).await?;
    assert_eq!(stage.bound("second").await?, "b");
    assert!(added.elapsed().as_millis() < 2500, "{:?}", added.elapsed());
    assert_eq!(stage.bound("third").await?, "b", "the same tenant needs no second account");
    stage.in_phase("fourth", SubscriptionPhase::Waiting).await?;
    Ok(())
}

pub async fn entries_that_no_pool_wants_are_left_alone(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    for (name, labels) in [
        ("internal", json!({ "hyperscalerType": "aws", "internal": "true" })),
        ("odd", json!({ "hyperscalerType": "aws", "dirty": "false" })),
        ("dirty", json!({ "hyperscalerType": "aws", "dirty": "true" })),
        ("eu", json!({ "hyperscalerType": "aws", "euAccess": "true" })),
        ("shared", json!({ "hyperscalerType": "aws", "shared": "true" })),
        ("azure", json!({ "hyperscalerType": "azure" })),
        ("taken", json!({ "hyperscalerType": "aws", "tenantName": "ga-9" })),
    ] {
        stage.accounts(&[name], labels).await?;
    }
    let _running = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.in_phase("r", SubscriptionPhase::Waiting).await?;
    assert!(stage.held_by("ga-1").await?.is_empty());
    stage.ask("known", "ga-9").await?;
    assert_eq!(stage.bound("known").await?, "taken", "a label that was there before us counts");
    Ok(())
}

pub async fn an_account_that_somebody_else_takes_is_let_go(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let running = stage.start();
    until("the cache is there", async || {
        if running.operator.with_index(|index| index.entries().count()) == 2 {
            Ok(())
        } else {
            Err(String::new())
        }
    })
    .await?;
    stage.label("a", json!({ "tenantName": "somebody" })).await?;
    stage.ask("r", "ga-1").await?;
    assert_eq!(stage.bound("r").await?, "b");
    stage.labelled("a", "tenantName", Some("somebody")).await?;
    let row = stage.ledger.account(&AccountName::new("a")).await?;
    assert_eq!(row.unwrap().holding.tenant().unwrap().as_str(), "somebody");
    Ok(())
}

pub async fn new_rules_decide_again_about_what_was_denied(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "alicloud" })).await?;
    let running = stage.start();
    stage
        .ask_with("r", json!({ "provider": "alicloud", "subscriptionSelector": "ga-1", "plan": "alicloud" }))
        .await?;
    stage.in_phase("r", SubscriptionPhase::Denied).await?;
    running.operator.set_policy(stage.policy("rule: [alicloud]"));
    assert_eq!(stage.bound("r").await?, "a");
    Ok(())
}

pub async fn a_pool_of_secrets_works_the_same(landscape: Landscape) -> Outcome {
    let mut stage = Stage::new(&landscape).await?;
    stage.kind = BindingKind::Secret;
    let secrets: Api<Secret> = Api::namespaced(landscape.garden.clone(), &stage.plot.garden_namespace);
    let labels = json!({ "hyperscalerType": "aws" });
    let secret = serde_json::from_value(json!({ "metadata": { "name": "account", "labels": labels } }))?;
    secrets.create(&PostParams::default(), &secret).await?;
    let _running = stage.start();
    stage.ask("r", "ga-1").await?;
    let binding = stage.bound("r").await?;
    assert_eq!(stage.bindings().get(&binding).await?.spec.credentials_ref.name, "account");
    let labels = secrets.get("account").await?.metadata.labels.unwrap();
    assert_eq!(labels["tenantName"], "ga-1");
    stage.shoot("s", &binding, None).await?;
    stage.delete("r").await?;
    stage.gone("r").await?;
    assert!(
        !secrets.get("account").await?.metadata.labels.unwrap().contains_key("dirty"),
        "a Shoot is in it"
    );
    stage.delete_shoot("s").await?;
    until("the Secret is dirty", async || {
        let secret = secrets.get("account").await.map_err(|error| error.to_string())?;
        let labels = secret.metadata.labels.unwrap();
        if labels.contains_key("dirty") { Ok(()) } else { Err(format!("{labels:?}")) }
    })
    .await?;
    Ok(())
}

pub async fn a_pool_of_secret_bindings_works_the_same(landscape: Landscape) -> Outcome {
    let mut stage = Stage::new(&landscape).await?;
    stage.kind = BindingKind::SecretBinding;
    // The CredentialsBinding on the same Secret is there already; it is not labelled.
    stage.accounts(&["account"], json!({})).await?;
    let bindings: Api<allotment_api::gardener::SecretBinding> =
        Api::namespaced(landscape.garden.clone(), &stage.plot.garden_namespace);
    let binding = json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "SecretBinding",
        "metadata": { "name": "old", "labels": { "hyperscalerType": "aws" } },
        "provider": { "type": "aws" },
        "secretRef": { "name": "account", "namespace": stage.plot.garden_namespace },
    });
    bindings.patch("old", &PatchParams::apply("test"), &Patch::Apply(&binding)).await?;
    let _running = stage.start();
    stage.ask("r", "ga-1").await?;
    assert_eq!(stage.bound("r").await?, "account");
    assert_eq!(bindings.get("old").await?.metadata.labels.unwrap()["tenantName"], "ga-1");
    Ok(())
}
