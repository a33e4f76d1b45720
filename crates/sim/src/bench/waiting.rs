//! What requests that wait for one pool cost those who claim from another.
//!
//! Requests of tenants that nobody has heard of wait in one namespace for a pool without accounts. Beside them, tenants of
//! another namespace claim accounts of another pool, one after the other. Counts do not wobble as times do; the times are
//! compared with those of the same run with nobody waiting.

use super::{
    Measure, Outcome,
    claims::{CONCURRENCY, Tallies, create, operator_on},
    tally::{client, percentile},
};
use allotment_api::{
    crds,
    kyma::{SubscriptionPhase, SubscriptionRequest},
};
use allotment_garden::embedded::EmbeddedGarden;
use allotment_operator::{
    ledger::{Effort, Ledger, Place},
    runtime::controller::Controller as _,
    subscription::Operator,
};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::{task::JoinHandle, time::sleep};

const GARDEN: &str = "garden-kyma";

/// Where those who wait are, and those who claim.
const LOUD: &str = "loud";
const QUIET: &str = "quiet";

/// How many wait.
const WAITING: [u32; 3] = [0, 3_000, 100_000];

/// How many claims are measured, one after the other.
const CLAIMS: u32 = 100;

/// A little more than the minute after which the queues are looked at.
const IDLE: Duration = Duration::from_secs(61);

pub(super) async fn measure(progress: &impl Fn(&str)) -> Outcome<Vec<Measure>> {
    let (mut measures, mut baseline) = (Vec::new(), None);
    for waiting in WAITING {
        progress(&format!("claims beside {waiting} requests that wait for another pool"));
        let bench = Bench::new().await?;
        let claims = bench.claims_beside(waiting, &mut measures).await?;
        measures.extend(claims.measures(waiting, baseline.as_ref().unwrap_or(&claims)));
        baseline.get_or_insert(claims);
    }
    Ok(measures)
}

/// What a claim took.
struct Claims {
    median_ms: f64,
    calls: f64,
    effort: Effort,
}

impl Claims {
    fn measures(&self, waiting: u32, alone: &Self) -> [Measure; 5] {
        let of = |what: &str| format!("{what}, {waiting} waiting for another pool");
        let each = |count: fn(&Effort) -> u64, effort: &Effort| count(effort) as f64 / f64::from(CLAIMS);
        let effort = |what: &str, count: fn(&Effort) -> u64, unit| {
            Measure::new(of(what), each(count, &self.effort), unit).against(each(count, &alone.effort))
        };
        [
            Measure::new(of("claim, p50"), self.median_ms, "ms").against(alone.median_ms),
            Measure::new(of("calls per claim"), self.calls, "calls").against(alone.calls),
            effort("SQL statements per claim", |effort| effort.statements, "statements"),
            effort("rows per claim", |effort| effort.rows, "rows"),
            effort("SQLite steps per claim", |effort| effort.steps, "steps"),
        ]
    }
}

/// A garden with two pools: nothing is free in one of them.
struct Bench {
    garden: EmbeddedGarden,
    ledger: Ledger,
    tallies: Tallies,
}

impl Bench {
    async fn new() -> Outcome<Self> {
        let garden = EmbeddedGarden::new()?;
        let definitions: Api<CustomResourceDefinition> = Api::all(client(&garden.control_plane));
        for definition in crds::all() {
            definitions.create(&PostParams::default(), &definition).await?;
        }
        let namespaces = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
        let namespaces: Api<DynamicObject> = Api::all_with(client(&garden.control_plane), &namespaces);
        for name in [LOUD, QUIET] {
            create(&namespaces, json!({ "metadata": { "name": name } })).await?;
        }
        let api = |group, version, kind| {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            Api::<DynamicObject>::namespaced_with(client(&garden.garden), GARDEN, &resource)
        };
        let (secrets, bindings) =
            (api("", "v1", "Secret"), api("security.gardener.cloud", "v1alpha1", "CredentialsBinding"));
        // The garden comes with some accounts: then three of the others would not wait.
        bindings.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        for number in 0..CLAIMS * 2 + 10 {
            let name = format!("gcp-{number}");
            create(&secrets, json!({ "metadata": { "name": name } })).await?;
            create(&bindings, binding(&name)).await?;
        }
        let place = Place { garden: "bench".to_owned(), project: GARDEN.to_owned() };
        let ledger = Ledger::open("sqlite::memory:", place).await?;
        Ok(Self { garden, ledger, tallies: Tallies::default() })
    }

    async fn start(&self) -> Outcome<(Operator, JoinHandle<()>)> {
        let operator = operator_on(&self.garden, self.ledger.clone(), &self.tallies)?;
        let running = tokio::spawn({
            let operator = operator.clone();
            async move { operator.run_as_leader().await }
        });
        Ok((operator, running))
    }

    async fn claims_beside(self, waiting: u32, measures: &mut Vec<Measure>) -> Outcome<Claims> {
        let (operator, running) = self.start().await?;
        self.claim("first").await?;
        let made = stream::iter(0..waiting).map(|number| self.ask(LOUD, format!("w{number}"), "aws"));
        made.buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await?;
        if waiting > 0 {
            // Most of them have not been looked at yet.
            let started = Instant::now();
            self.claim("meanwhile").await?;
            let name = format!("claim while {waiting} requests for another pool come in");
            measures.push(Measure::new(name, started.elapsed().as_secs_f64() * 1e3, "ms"));
        }
        self.until_queued(&operator, waiting).await?;
        let claims = self.claims("one").await?;
        if waiting == WAITING[1] {
            measures.extend(self.idle_minute(waiting).await);
        }
        running.abort();
        let _ = running.await;
        if waiting > 0 {
            let (before, started) = (self.ledger.effort(), Instant::now());
            let (_, running) = self.start().await?;
            self.claim("after-restart").await?;
            let effort = self.ledger.effort().since(before);
            let of = |what: &str| format!("{what} to the first claim, {waiting} waiting");
            measures.push(Measure::new(of("from a restart"), started.elapsed().as_secs_f64(), "s"));
            measures.push(Measure::new(of("SQL statements"), effort.statements as f64, "statements"));
            running.abort();
        }
        Ok(claims)
    }

    /// Waits until everybody stands in the queue, and says so.
    async fn until_queued(&self, operator: &Operator, waiting: u32) -> Outcome<()> {
        loop {
            let queues = self.ledger.queues().await?;
            let queued: u64 = queues.iter().map(|queue| queue.length).sum();
            let soon = tokio::time::Instant::now() + Duration::from_secs(1);
            if queued == u64::from(waiting) && operator.is_idle_until(soon) {
                return Ok(());
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    async fn claims(&self, name: &str) -> Outcome<Claims> {
        let mut times = Vec::new();
        self.tallies.reset();
        let before = self.ledger.effort();
        for number in 0..CLAIMS {
            let started = Instant::now();
            self.claim(&format!("{name}-{number}")).await?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let (calls, _) = self.tallies.per(CLAIMS);
        Ok(Claims { median_ms: percentile(&times, 50), calls, effort: self.ledger.effort().since(before) })
    }

    async fn idle_minute(&self, waiting: u32) -> [Measure; 3] {
        self.tallies.reset();
        let before = self.ledger.effort();
        sleep(IDLE).await;
        let effort = self.ledger.effort().since(before);
        let of = |what: &str| format!("{what} in an idle minute, {waiting} waiting");
        [
            Measure::new(of("calls"), self.tallies.calls() as f64, "calls"),
            Measure::new(of("SQL statements"), effort.statements as f64, "statements"),
            Measure::new(of("rows"), effort.rows as f64, "rows"),
        ]
    }

    async fn ask(&self, namespace: &str, name: String, provider: &str) -> Outcome<()> {
        let request = json!({
            "apiVersion": "control-plane.kyma-project.io/v1alpha1",
            "kind": "SubscriptionRequest",
            "metadata": { "name": name },
            "spec": { "provider": provider, "subscriptionSelector": name },
        });
        let request = serde_json::from_value(request)?;
        self.requests(namespace).create(&PostParams::default(), &request).await?;
        Ok(())
    }

    /// A new tenant asks for an account of the other pool, and gets one.
    async fn claim(&self, name: &str) -> Outcome<()> {
        self.ask(QUIET, name.to_owned(), "gcp").await?;
        let api = self.requests(QUIET);
        loop {
            let status = api.get(name).await?.status;
            if status.is_some_and(|status| status.phase == Some(SubscriptionPhase::Bound)) {
                return Ok(());
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    fn requests(&self, namespace: &str) -> Api<SubscriptionRequest> {
        Api::namespaced(client(&self.garden.control_plane), namespace)
    }
}

fn binding(name: &str) -> Value {
    json!({
        "metadata": { "name": name, "labels": { "hyperscalerType": "gcp" } },
        "provider": { "type": "gcp" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": name, "namespace": GARDEN },
    })
}
