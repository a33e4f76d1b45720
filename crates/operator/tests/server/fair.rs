//! Those who ask for much delay only themselves, and are told when it is too much.

use super::{
    clusters::Play,
    desk::Desk,
    stage::{Stage, until},
};
use allotment_api::kyma::{ClusterPhase, SubscriptionPhase};
use allotment_core::{
    quotas::{Fairness, NamespaceQuota, PlatformQuotas, Quota, Quotas},
    tenancy::Tenancy,
};
use allotment_testing::{Landscape, Outcome};
use futures::future::try_join_all;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;
use std::collections::BTreeMap;

/// How many requests one tenant makes. Those of a real API server take a while to write.
const LOUD: usize = 300;

/// The namespace belongs to tenants, and these caps count.
fn capped(namespace: &str, caps: NamespaceQuota) -> Fairness {
    let namespaces = BTreeMap::from([(namespace.to_owned(), vec!["ga-1".to_owned()])]);
    let tenancy = Tenancy { namespaces, ..Tenancy::default() };
    Fairness::new(&tenancy, &Quotas { namespace: caps, ..Quotas::default() })
}

/// The namespace is the platform's.
fn platform(namespace: &str, quotas: PlatformQuotas) -> Fairness {
    let tenancy = Tenancy { platform: vec![namespace.to_owned()], ..Tenancy::default() };
    Fairness::new(&tenancy, &Quotas { platform: quotas, ..Quotas::default() })
}

pub async fn a_tenant_with_many_requests_does_not_delay_another(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["g"], json!({ "hyperscalerType": "gcp" })).await?;
    let running = stage.start();
    running.operator.set_fairness(platform(&stage.plot.namespace, PlatformQuotas::default()));
    let names: Vec<String> = (0..LOUD).map(|number| format!("loud-{number}")).collect();
    try_join_all(names.iter().map(|name| stage.ask(name, "loud"))).await?;
    stage.ask_with("quiet", json!({ "provider": "gcp", "subscriptionSelector": "quiet" })).await?;
    assert_eq!(stage.bound("quiet").await?, "g");
    // Whoever comes back later asks neither the ledger nor the API server for those who wait.
    until("all of them wait", async || {
        let queues = stage.ledger.queues().await.map_err(|error| error.to_string())?;
        let waiting: u64 = queues.iter().map(|queue| queue.length).sum();
        if waiting == LOUD as u64 { Ok(()) } else { Err(format!("{waiting} wait")) }
    })
    .await?;
    until("the operator rests", async || {
        let now = tokio::time::Instant::now();
        if running.operator.is_idle_until(now) { Ok(()) } else { Err("it works".to_owned()) }
    })
    .await?;
    let before = stage.ledger.effort();
    running.operator.resync();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let effort = stage.ledger.effort().since(before);
    assert!(effort.statements < 100, "{LOUD} that wait cost {effort:?}");
    Ok(())
}

pub async fn those_who_wait_are_served_by_turns_as_accounts_come(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(1);
    let _running = stage.start();
    for (name, tenant) in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b")] {
        stage.ask(name, tenant).await?;
        stage.in_phase(name, SubscriptionPhase::Waiting).await?;
    }
    for (account, request) in [("w", "a1"), ("x", "b1"), ("y", "a2"), ("z", "a3")] {
        stage.accounts(&[account], json!({ "hyperscalerType": "aws" })).await?;
        assert_eq!(stage.bound(request).await?, account);
    }
    Ok(())
}

pub async fn room_in_an_account_serves_its_tenant_whoever_else_waits(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(2);
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let _running = stage.start();
    for name in ["one", "two"] {
        stage.ask(name, "ga-1").await?;
        assert_eq!(stage.bound(name).await?, "a");
    }
    for (name, tenant) in [("other", "ga-2"), ("three", "ga-1"), ("four", "ga-1")] {
        stage.ask(name, tenant).await?;
        stage.in_phase(name, SubscriptionPhase::Waiting).await?;
    }
    stage.delete("one").await?;
    assert_eq!(stage.bound("three").await?, "a");
    stage.delete("two").await?;
    assert_eq!(stage.bound("four").await?, "a");
    stage.in_phase("other", SubscriptionPhase::Waiting).await?;
    Ok(())
}

pub async fn too_many_waiting_requests_are_refused_until_there_is_room(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["g"], json!({ "hyperscalerType": "gcp" })).await?;
    let running = stage.start();
    let caps = NamespaceQuota { waiting_requests: 2, ..NamespaceQuota::default() };
    running.operator.set_fairness(capped(&stage.plot.namespace, caps));
    for name in ["one", "two"] {
        stage.ask(name, name).await?;
        stage.in_phase(name, SubscriptionPhase::Waiting).await?;
    }
    stage.ask("three", "three").await?;
    let refused = stage.in_phase("three", SubscriptionPhase::Denied).await?.status.unwrap();
    let condition = &refused.conditions[0];
    assert_eq!(condition.reason, "QuotaExceeded");
    assert!(condition.message.contains("has 2 waiting SubscriptionRequests and may have 2"), "{condition:?}");
    // What need not wait is not refused.
    stage.ask_with("other", json!({ "provider": "gcp", "subscriptionSelector": "ga-1" })).await?;
    assert_eq!(stage.bound("other").await?, "g");
    let queued = stage.ledger.queues().await?;
    assert_eq!(queued.iter().map(|queue| queue.length).sum::<u64>(), 2);
    stage.delete("one").await?;
    stage.in_phase("three", SubscriptionPhase::Waiting).await?;
    // Those who wait go on waiting when the cap comes down.
    let caps = NamespaceQuota { waiting_requests: 0, ..NamespaceQuota::default() };
    running.operator.set_fairness(capped(&stage.plot.namespace, caps));
    running.operator.resync();
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    stage.bound("two").await?;
    stage.bound("three").await?;
    Ok(())
}

pub async fn too_many_clusters_are_refused_until_there_is_room(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 2).await?;
    let caps = NamespaceQuota { clusters: 1, ..NamespaceQuota::default() };
    play.operator.set_fairness(capped(&play.stage.plot.namespace, caps));
    play.create("one", |_| ()).await?;
    play.ready("one").await?;
    play.create("two", |_| ()).await?;
    let refused = until("the second is refused", async || {
        let cluster = play.clusters().get("two").await.map_err(|error| error.to_string())?;
        let status = cluster.status.unwrap_or_default();
        if status.phase == Some(ClusterPhase::Invalid) { Ok(status) } else { Err(format!("{status:?}")) }
    })
    .await?;
    assert!(refused.conditions.iter().any(|condition| condition.reason == "QuotaExceeded"), "{refused:?}");
    assert_eq!(
        play.stage.requests().list(&ListParams::default()).await?.items.len(),
        1,
        "it has asked for nothing"
    );
    play.delete("one").await?;
    play.ready("two").await?;
    Ok(())
}

pub async fn too_many_kubeconfig_requests_are_refused_until_there_is_room(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let namespace = &desk.play.stage.plot.namespace;
    let quota = Quota { kubeconfig_requests: Some(1), ..Quota::default() };
    let quotas = PlatformQuotas { namespace: quota, ..PlatformQuotas::default() };
    desk.operator.set_fairness(platform(namespace, quotas));
    let rules = json!({ "clusterRole": { "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] } });
    desk.ask("one", rules.clone()).await?;
    desk.issued("one").await?;
    desk.ask("two", rules).await?;
    let message = desk.because("two", "Ready", "QuotaExceeded").await?;
    assert!(message.contains("has 1 KubeconfigRequests and may have 1 at most"), "{message}");
    desk.requests().delete("one", &DeleteParams::default()).await?;
    desk.issued("two").await?;
    Ok(())
}
