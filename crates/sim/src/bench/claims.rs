//! What handing out an account costs, with small and large pools.
//!
//! On the embedded servers: the 100,000s would take the real ones longer than anybody waits, and what is measured is the
//! operator. Today's broker lists every Shoot for a shared account: 35 MB for 2,000 of them (its authors' figure).

use super::{
    Measure, Outcome,
    tally::{Tally, client, percentile},
};
use allotment_api::{
    crds,
    kyma::{BindingKind, SubscriptionPhase, SubscriptionRequest},
};
use allotment_core::{
    pool::{LabelKeys, MultiAccount},
    rules,
    tenancy::Tenancy,
};
use allotment_garden::embedded::EmbeddedGarden;
use allotment_operator::{
    ledger::{Ledger, Place},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
    subscription::{Operator, Parts, Policy, Settings},
};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, PostParams, WatchEvent, WatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, pin::pin, sync::Arc, time::Instant};

const GARDEN: &str = "garden-kyma";

/// Accounts and Shoots.
const SIZES: [(u32, u32); 3] = [(1_000, 2_000), (10_000, 2_000), (100_000, 100_000)];

/// How many claims one after the other, and how many at once: a few, whose garden calls are counted, and many, for the rate.
const ONE_BY_ONE: u32 = 200;
const FEW_AT_ONCE: u32 = 100;
const AT_ONCE: u32 = 500;

/// Finalizer, binding, status: nothing can be claimed with less. Events come on top.
const FEWEST_CALLS: f64 = 3.0;

/// The binding. The fence and the look at the newest Shoots come on top; claims that wait at the same time share them.
const FEWEST_GARDEN_CALLS: f64 = 1.0;

/// Objects are put in so many at a time.
pub(super) const CONCURRENCY: usize = 16;

pub(super) async fn measure(progress: &impl Fn(&str)) -> Outcome<Vec<Measure>> {
    let mut measures = Vec::new();
    for (accounts, shoots) in SIZES {
        progress(&format!("claims from {accounts} accounts beside {shoots} Shoots"));
        measures.extend(Pool::fill(accounts, shoots).await?.measure().await?);
    }
    Ok(measures)
}

/// A garden with a pool.
struct Pool {
    garden: EmbeddedGarden,
    accounts: u32,
    shoots: u32,
}

impl Pool {
    async fn fill(accounts: u32, shoots: u32) -> Outcome<Self> {
        let garden = EmbeddedGarden::new()?;
        let definitions: Api<CustomResourceDefinition> = Api::all(client(&garden.control_plane));
        for definition in crds::all() {
            definitions.create(&PostParams::default(), &definition).await?;
        }
        let this = Self { garden, accounts, shoots };
        let make = |kind: &'static str, count: u32, object: fn(u32) -> Value| {
            let api = this.api(kind);
            async move {
                let objects = stream::iter(0..count).map(|number| create(&api, object(number)));
                objects.buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await
            }
        };
        make("Secret", accounts, |number| json!({ "metadata": { "name": account(number) } })).await?;
        make("CredentialsBinding", accounts, binding).await?;
        make("Shoot", shoots, shoot).await?;
        Ok(this)
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        let gvk = match kind {
            "Secret" => GroupVersionKind::gvk("", "v1", kind),
            "CredentialsBinding" => GroupVersionKind::gvk("security.gardener.cloud", "v1alpha1", kind),
            _ => GroupVersionKind::gvk("core.gardener.cloud", "v1beta1", kind),
        };
        Api::namespaced_with(client(&self.garden.garden), GARDEN, &ApiResource::from_gvk(&gvk))
    }

    async fn measure(self) -> Outcome<Vec<Measure>> {
        let tallies = Tallies::default();
        let operator = self.operator(&tallies).await?;
        let running = tokio::spawn({
            let operator = operator.clone();
            async move { operator.run_as_leader().await }
        });
        let started = Instant::now();
        self.claim("warm-up", 1).await?;
        let warm = started.elapsed();
        let mut times = Vec::new();
        tallies.reset();
        for number in 0..ONE_BY_ONE {
            let started = Instant::now();
            self.claim(&format!("one-{number}"), 1).await?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let (alone, _) = tallies.garden.per(ONE_BY_ONE);
        tallies.reset();
        self.claim("few", FEW_AT_ONCE).await?;
        let (together, _) = tallies.garden.per(FEW_AT_ONCE);
        tallies.reset();
        let started = Instant::now();
        self.claim("many", AT_ONCE).await?;
        let rate = f64::from(AT_ONCE) / started.elapsed().as_secs_f64();
        let (calls, bytes) = tallies.per(AT_ONCE);
        running.abort();
        let of = |what: &str| format!("{what}, {} accounts, {} Shoots", self.accounts, self.shoots);
        Ok(vec![
            Measure::new(of("claims"), rate, "1/s"),
            Measure::new(of("claim, p50"), percentile(&times, 50), "ms"),
            Measure::new(of("claim, p99"), percentile(&times, 99), "ms"),
            Measure::new(of("calls per claim, against the fewest"), calls, "calls").against(FEWEST_CALLS),
            Measure::new(of("garden calls per claim, alone"), alone, "calls").against(FEWEST_GARDEN_CALLS),
            Measure::new(of("garden calls per claim, 100 at once"), together, "calls")
                .against(FEWEST_GARDEN_CALLS),
            Measure::new(of("bytes per claim"), bytes, "bytes"),
            Measure::new(of("from start to the first claim"), warm.as_secs_f64(), "s"),
        ])
    }

    async fn operator(&self, tallies: &Tallies) -> Outcome<Operator> {
        let place = Place { garden: "bench".to_owned(), project: GARDEN.to_owned() };
        operator_on(&self.garden, Ledger::open("sqlite::memory:", place).await?, tallies)
    }

    /// So many new tenants ask for an account, all at once; waits until all have one.
    async fn claim(&self, name: &str, times: u32) -> Outcome<()> {
        let api: Api<SubscriptionRequest> = Api::default_namespaced(client(&self.garden.control_plane));
        let made = stream::iter(0..times).map(|number| {
            let request = json!({
                "apiVersion": "control-plane.kyma-project.io/v1alpha1",
                "kind": "SubscriptionRequest",
                "metadata": { "name": format!("{name}-{number}") },
                "spec": { "provider": "aws", "subscriptionSelector": format!("{name}-{number}") },
            });
            let api = &api;
            async move { Ok(api.create(&PostParams::default(), &serde_json::from_value(request)?).await?) }
        });
        made.buffer_unordered(CONCURRENCY)
            .try_collect::<Vec<_>>()
            .await
            .map_err(|error: Box<dyn std::error::Error + Send + Sync>| error)?;
        let is_bound = |request: &SubscriptionRequest| {
            let phase = request.status.as_ref().and_then(|status| status.phase);
            phase == Some(SubscriptionPhase::Bound) && request.name_any().starts_with(&format!("{name}-"))
        };
        // A watch ends after five minutes, and the first claim from a large pool on a busy machine takes longer.
        loop {
            let list = api.list(&ListParams::default()).await?;
            let mut bound: BTreeSet<_> =
                list.items.iter().filter(|request| is_bound(request)).map(ResourceExt::name_any).collect();
            let version = list.metadata.resource_version.unwrap_or_default();
            let mut events = pin!(api.watch(&WatchParams::default(), &version).await?);
            while bound.len() < times as usize
                && let Some(event) = events.try_next().await?
            {
                if let WatchEvent::Modified(request) = event
                    && is_bound(&request)
                {
                    bound.insert(request.name_any());
                }
            }
            if bound.len() >= times as usize {
                return Ok(());
            }
        }
    }
}

/// Calls of an operator, by server.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    control_plane: Arc<Tally>,
    garden: Arc<Tally>,
}

impl Tallies {
    pub(super) fn reset(&self) {
        self.control_plane.reset();
        self.garden.reset();
    }

    /// Calls and bytes for each.
    pub(super) fn per(&self, times: u32) -> (f64, f64) {
        let ((calls, bytes), (garden_calls, garden_bytes)) =
            (self.control_plane.per(times), self.garden.per(times));
        (calls + garden_calls, bytes + garden_bytes)
    }

    pub(super) fn calls(&self) -> u64 {
        self.control_plane.calls() + self.garden.calls()
    }
}

/// An operator whose calls are counted.
pub(super) fn operator_on(garden: &EmbeddedGarden, ledger: Ledger, tallies: &Tallies) -> Outcome<Operator> {
    let options = rules::Options { enabled_plans: Some(vec!["aws".to_owned()]), ..rules::Options::default() };
    let rules = rules::load("rule: [aws]", &options).rules.ok_or("the rules of the benchmark are bad")?;
    Ok(Operator::new(Parts {
        control_plane: tallies.control_plane.client(&garden.control_plane),
        garden: tallies.garden.client(&garden.garden),
        ledger,
        settings: Settings {
            garden_namespace: GARDEN.to_owned(),
            request_namespace: None,
            lease_namespace: "default".to_owned(),
            identity: "bench".to_owned(),
            binding_kind: BindingKind::CredentialsBinding,
            labels: LabelKeys::default(),
            workers: 8,
        },
        policy: Policy {
            rules: Arc::new(rules),
            multi_account: MultiAccount::default(),
            cap: None,
            tenancy: Arc::new(Tenancy::trusted()),
        },
        clock: Clock::system(),
        metrics: Metrics::new(),
    }))
}

fn account(number: u32) -> String {
    format!("account-{number:06}")
}

/// One in ten is somebody's already.
fn binding(number: u32) -> Value {
    let mut labels = json!({ "hyperscalerType": "aws" });
    if number.is_multiple_of(10) {
        labels["tenantName"] = json!(format!("tenant-{number}"));
    }
    json!({
        "metadata": { "name": account(number), "labels": labels },
        "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": account(number), "namespace": GARDEN },
    })
}

/// Twenty to each account that is somebody's, as far as they go.
pub(super) fn shoot(number: u32) -> Value {
    let mut shoot: Value =
        serde_saphyr::from_str(include_str!("../../../../landscape/manifests/shoots/aws.yaml"))
            .unwrap_or_default();
    shoot["metadata"] = json!({ "name": format!("s-{number:06}") });
    shoot["spec"]["credentialsBindingName"] = json!(account(number / 20 * 10));
    shoot
}

pub(super) async fn create(api: &Api<DynamicObject>, object: Value) -> Outcome<()> {
    let object: DynamicObject = serde_json::from_value(object)?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}
