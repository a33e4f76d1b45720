//! What handing out kubeconfigs costs: calls to the control plane, into the clusters, and admin kubeconfigs.

use super::{
    Measure, Outcome,
    clusters::{Field, GARDEN, targets},
    tally::{Tally, client, percentile},
};
use allotment_api::kyma::{KubeconfigPhase, KubeconfigRequest};
use allotment_core::{access::Access, tenancy::Tenancy};
use allotment_operator::{
    kubeconfig::{Operator, Parts, Policy, Settings},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
};
use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use serde_json::{Value, json};
use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

const REQUESTS: u32 = 1_000;
const CLUSTERS: u32 = 200;

/// Finalizer, what is about to be asked for, and the status.
const FEWEST_OUTSIDE: f64 = 3.0;

/// ServiceAccount, role, binding, the token's Secret, and the token.
const FEWEST_INSIDE: f64 = 5.0;

const CONCURRENCY: usize = 16;

pub(super) async fn measure(progress: &impl Fn(&str)) -> Outcome<Vec<Measure>> {
    progress(&format!("{REQUESTS} kubeconfigs of {CLUSTERS} clusters"));
    let field = Field::new().await?;
    let (_, clusters) = field.start(&Arc::new(Tally::default()))?;
    field.ready(CLUSTERS).await?;
    let (tally, metrics) = (Arc::new(Tally::default()), Metrics::new());
    let operator = Operator::new(Parts {
        control_plane: tally.client(&field.garden.control_plane),
        garden: client(&field.garden.garden),
        targets: targets(&field.garden, &metrics),
        settings: Settings {
            garden_namespace: GARDEN.to_owned(),
            request_namespace: None,
            lease_namespace: "default".to_owned(),
            identity: "bench".to_owned(),
            workers: 8,
        },
        policy: Policy {
            access: Arc::new(Access::default()),
            cluster_namespace: String::new(),
            tenancy: Arc::new(Tenancy::trusted()),
        },
        clock: Clock::system(),
        metrics: metrics.clone(),
    });
    let task = tokio::spawn({
        let operator = operator.clone();
        async move { operator.run_as_leader().await }
    });
    let requests: Api<KubeconfigRequest> = Api::default_namespaced(client(&field.garden.control_plane));
    let started = Instant::now();
    let made = stream::iter(0..REQUESTS).map(|number| {
        let requests = &requests;
        async move {
            let request = serde_json::from_value(request(number))?;
            Ok::<_, Box<dyn Error + Send + Sync>>(requests.create(&PostParams::default(), &request).await?)
        }
    });
    made.buffer_unordered(CONCURRENCY).try_collect::<Vec<_>>().await?;
    let all = loop {
        let all = requests.list(&ListParams::default()).await?;
        let phase = |request: &KubeconfigRequest| request.status.as_ref().and_then(|status| status.phase);
        if all.iter().all(|request| phase(request) == Some(KubeconfigPhase::Issued)) {
            break all;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let seconds = started.elapsed().as_secs_f64();
    let (outside, _) = tally.per(REQUESTS);
    let inside =
        counted(&metrics, "allotment_api_requests_total", "target=\"cluster\"") / f64::from(REQUESTS);
    let admin = counted(&metrics, "allotment_admin_kubeconfigs_total", "");
    // One more, when everything is warm.
    let latency = one(&requests).await?;
    task.abort();
    clusters.abort();
    let spread = spread(&all.items);
    Ok(vec![
        Measure::new("kubeconfigs issued, 1,000 over 200 clusters", f64::from(REQUESTS) / seconds, "1/s"),
        Measure::new("kubeconfig, from request to issued, warm", latency, "ms"),
        Measure::new("calls to the control plane per kubeconfig, against the fewest", outside, "calls")
            .against(FEWEST_OUTSIDE),
        Measure::new("calls into the cluster per kubeconfig, against the fewest", inside, "calls")
            .against(FEWEST_INSIDE),
        Measure::new("admin kubeconfigs fetched, against one per cluster", admin, "calls")
            .against(f64::from(CLUSTERS)),
        Measure::new(
            "rotations due in the busiest minute of an hour, against all at once",
            spread,
            "rotations",
        )
        .against(f64::from(REQUESTS)),
    ])
}

fn request(number: u32) -> Value {
    json!({
        "apiVersion": "operator.kyma-project.io/v1alpha1",
        "kind": "KubeconfigRequest",
        "metadata": { "name": format!("k-{number:04}") },
        "spec": {
            "cluster": format!("c-{:05}", number % CLUSTERS),
            "clusterRole": { "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"] }] },
            "expiration": 3600,
        },
    })
}

/// The median of some, one after the other.
async fn one(requests: &Api<KubeconfigRequest>) -> Outcome<f64> {
    let mut times = Vec::new();
    for number in 0..20 {
        let mut object = request(number);
        object["metadata"]["name"] = json!(format!("late-{number}"));
        let started = Instant::now();
        requests.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        loop {
            let request = requests.get(&format!("late-{number}")).await?;
            if request.status.is_some_and(|status| status.phase == Some(KubeconfigPhase::Issued)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(percentile(&times, 50))
}

/// How many rotations fall into the busiest minute.
fn spread(requests: &[KubeconfigRequest]) -> f64 {
    let mut minutes = std::collections::BTreeMap::<i64, u32>::new();
    for request in requests {
        if let Some(due) = allotment_core::access::flow::due(request) {
            *minutes.entry(due.as_second() / 60).or_default() += 1;
        }
    }
    f64::from(minutes.into_values().max().unwrap_or(0))
}

/// The sum of a counter over its labels.
pub(super) fn counted(metrics: &Metrics, name: &str, label: &str) -> f64 {
    let text = metrics.text();
    let lines = text.lines().filter(|line| line.starts_with(name) && line.contains(label));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}
