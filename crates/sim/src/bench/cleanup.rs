//! The cost of returning accounts: calls to the cloud, and seconds at its limits for each account and region.
//!
//! The cloud is in memory, and each of its answers takes as long as one of AWS. Time is simulated: it does not wobble.

use super::{
    Measure, Outcome,
    claims::{Tallies, create, operator_on},
    rules::allocated,
    tally::client,
};
use allotment_api::{crds, gardener::CredentialsBinding, kyma::BindingKind};
use allotment_clouds::{
    Answer, Caller, Cloud, Page, PageToken, Patience,
    http::{Access, RateLimiter, Rates},
    memory::{Faults, MemoryClient, MemoryCloud, Nature, leftovers_of_shoot},
};
use allotment_core::{
    cleanup::{
        Cloud as CloudName, CloudAccountId, Count, CountName, GuardLimits, Item, KindName, Mode, Place,
        PlaceState, TechnicalId, Timing, kinds::table,
    },
    pool::{AccountName, LabelKeys},
};
use allotment_garden::embedded::EmbeddedGarden;
use allotment_operator::{
    cleanup::{Clouds, OpenAccount, OpenError, Operator, Parts, Policy, Settings},
    ledger::{Ledger, PastShoot, Place as LedgerPlace},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
};
use futures::{FutureExt, future::BoxFuture};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    runtime::Builder,
    time::{Instant, sleep},
};

const GARDEN: &str = "garden-kyma";

/// AWS enables so many regions in a new account.
const REGIONS: [&str; 17] = [
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "ca-central-1",
    "eu-central-1",
    "eu-north-1",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
];

/// A call to a region on another continent.
const LATENCY: Duration = Duration::from_millis(150);

/// As in most listings of EC2.
const PAGE_SIZE: usize = 1000;

/// A Shoot that is deleted by force leaves about a third of this behind.
const LEFTOVERS: usize = 100;
const SHOOTS: u32 = 3;

const MANY: u32 = 100;

/// The default of `accountsAtOnce`.
const AT_ONCE: usize = 8;

/// Calls are counted over so long: bursts that the limit allows do not matter.
const WINDOW: Duration = Duration::from_secs(10);

pub(super) async fn measure(progress: &impl Fn(&str)) -> Outcome<Vec<Measure>> {
    let settle = Timing::default().settle.as_secs_f64();
    let places = f64::from(u32::try_from(REGIONS.len())?) + 1.0;
    let mut measures = Vec::new();
    for (name, shoots) in [("an empty account", 0), ("an account with 100 leftovers", SHOOTS)] {
        progress(&format!("{name} of 17 regions"));
        let Costs { calls, seconds, .. } = simulated(1, shoots).await?;
        measures.extend([
            Measure::new(format!("cleaning {name}, calls"), calls, "calls"),
            Measure::new(format!("cleaning {name}, calls per region"), calls / places, "calls"),
            Measure::new(format!("cleaning {name}, against the settle time"), seconds, "s").against(settle),
        ]);
    }
    progress("100 dirty accounts of 17 regions");
    let Costs { calls, seconds, busiest, bytes } = simulated(MANY, 1).await?;
    measures.extend([
        Measure::new("cleaning 100 accounts, 8 at once", seconds, "s"),
        Measure::new("cleaning 100 accounts, calls per account", calls / f64::from(MANY), "calls"),
        Measure::new("cleaning 100 accounts, reads of the busiest region, against the limit", busiest, "1/s")
            .against(Rates::default().reads),
    ]);
    let memory = |bytes: f64| Measure::new("cleaning 100 accounts, memory of everything", bytes / 1e6, "MB");
    measures.extend(bytes.map(memory));
    Ok(measures)
}

/// The cost of cleaning some accounts.
struct Costs {
    calls: f64,
    seconds: f64,
    /// The most reads per second of one region of an account.
    busiest: f64,
    /// The most memory at once, with garden, ledger and cloud.
    bytes: Option<f64>,
}

/// Cleans so many accounts, with so many Shoots' leftovers in each, in a thread with a time of its own.
async fn simulated(accounts: u32, shoots: u32) -> Outcome<Costs> {
    tokio::task::spawn_blocking(move || {
        let mut cleaned = Err("nothing was measured".into());
        let clean = || -> Outcome<Costs> {
            let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
            runtime.block_on(clean(accounts, shoots))
        };
        let counted = allocated(|| cleaned = clean());
        if counted.is_none() {
            cleaned = clean();
        }
        cleaned.map(|costs| Costs { bytes: counted.map(|(_, most)| most), ..costs })
    })
    .await?
}

async fn clean(accounts: u32, shoots: u32) -> Outcome<Costs> {
    let (garden, started) = (EmbeddedGarden::new()?, Instant::now());
    let names: Vec<AccountName> =
        (0..accounts).map(|number| AccountName::new(format!("aws-{number:03}"))).collect();
    fill(&garden, &names).await?;
    let place = LedgerPlace { garden: "bench".to_owned(), project: GARDEN.to_owned() };
    let ledger = Ledger::open("sqlite::memory:", place).await?;
    let began: Timestamp = "2026-01-01T00:00:00Z".parse()?;
    let clock = Clock::new(move || {
        let passed = SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX);
        began.saturating_add(passed).unwrap_or(Timestamp::MAX)
    });
    let clouds = Arc::new(LimitedClouds::new());
    let subscriptions = operator_on(&garden, ledger.clone(), &Tallies::default())?;
    let operator = operator(&garden, &ledger, clouds.clone(), clock.clone());
    let running = [
        tokio::spawn(async move { subscriptions.run_as_leader().await }),
        tokio::spawn(async move { operator.run_as_leader().await }),
    ];
    for name in &names {
        while ledger.cloud_account(name).await?.is_none_or(|recorded| recorded.baseline.is_none()) {
            sleep(Duration::from_secs(1)).await;
        }
    }
    for name in &names {
        for shoot in clouds.leave_behind(name, shoots) {
            ledger.remember_shoot(name, &shoot, clock.now()).await?;
        }
    }
    let (calls, returned) = (clouds.cloud.calls(), Instant::now());
    let bindings: Api<CredentialsBinding> = Api::namespaced(client(&garden.garden), GARDEN);
    let dirty = json!({ "metadata": { "labels": { "dirty": "true", "tenantName": "t" } } });
    for name in &names {
        bindings.patch(name.as_str(), &PatchParams::default(), &Patch::Merge(&dirty)).await?;
    }
    while bindings.list(&ListParams::default()).await?.iter().any(|one| one.labels().contains_key("dirty")) {
        sleep(Duration::from_secs(1)).await;
    }
    let costs = Costs {
        calls: (clouds.cloud.calls() - calls) as f64,
        seconds: returned.elapsed().as_secs_f64(),
        busiest: clouds.busiest(),
        bytes: None,
    };
    running.iter().for_each(tokio::task::JoinHandle::abort);
    let left: usize = names.iter().map(|name| clouds.cloud.leftovers(&id(name)).len()).sum();
    if left > 0 { Err(format!("{left} items are left in accounts that are free").into()) } else { Ok(costs) }
}

async fn fill(garden: &EmbeddedGarden, names: &[AccountName]) -> Outcome<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client(&garden.control_plane));
    for definition in crds::all() {
        definitions.create(&PostParams::default(), &definition).await?;
    }
    let api = |group: &str, version: &str, kind: &str| -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(client(&garden.garden), GARDEN, &resource)
    };
    let (secrets, bindings) =
        (api("", "v1", "Secret"), api("security.gardener.cloud", "v1alpha1", "CredentialsBinding"));
    for name in names {
        create(&secrets, json!({ "metadata": { "name": name } })).await?;
        create(&bindings, binding(name)).await?;
    }
    Ok(())
}

fn binding(name: &AccountName) -> Value {
    json!({
        "metadata": { "name": name, "labels": { "hyperscalerType": "aws" } },
        "provider": { "type": "aws" },
        "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": name, "namespace": GARDEN },
    })
}

fn operator(garden: &EmbeddedGarden, ledger: &Ledger, clouds: Arc<LimitedClouds>, clock: Clock) -> Operator {
    Operator::new(Parts {
        control_plane: client(&garden.control_plane),
        garden: client(&garden.garden),
        ledger: ledger.clone(),
        clouds,
        settings: Settings {
            garden_namespace: GARDEN.to_owned(),
            project: "kyma".to_owned(),
            lease_namespace: "default".to_owned(),
            identity: "bench".to_owned(),
            binding_kind: BindingKind::CredentialsBinding,
            labels: LabelKeys::default(),
            workers: AT_ONCE,
        },
        policy: Policy {
            mode: Mode::Delete,
            limits: GuardLimits { dirty_percent: 100, ..GuardLimits::default() },
            ..Policy::default()
        },
        patience: Patience::default(),
        clock,
        metrics: Metrics::new(),
    })
}

fn id(account: &AccountName) -> CloudAccountId {
    CloudAccountId::new(account.as_str())
}

/// A cloud in memory, called no faster than AWS would be.
struct LimitedClouds {
    cloud: MemoryCloud,
    limiter: Arc<RateLimiter>,
    reads: Arc<Reads>,
}

/// The reads of all accounts.
#[derive(Default)]
struct Reads(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    /// Those of the last seconds, by account and place.
    recent: BTreeMap<(CloudAccountId, Place), VecDeque<Instant>>,
    /// The most that there ever were in one of them.
    most: usize,
}

impl Reads {
    fn add(&self, account: &CloudAccountId, place: &Place) {
        let Counted { recent, most } = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (recent, now) = (recent.entry((account.clone(), place.clone())).or_default(), Instant::now());
        while recent.front().is_some_and(|at| now.duration_since(*at) >= WINDOW) {
            recent.pop_front();
        }
        recent.push_back(now);
        *most = recent.len().max(*most);
    }
}

impl LimitedClouds {
    fn new() -> Self {
        let cloud = MemoryCloud::new().with_page_size(PAGE_SIZE);
        Self { cloud, limiter: Arc::new(RateLimiter::new(Rates::default())), reads: Arc::default() }
    }

    /// Leaves so many Shoots' leftovers in an account, in a region each; for several, as many items as are measured.
    fn leave_behind(&self, account: &AccountName, shoots: u32) -> Vec<PastShoot> {
        let (id, mut items) = (id(account), 0);
        let mut left = Vec::new();
        for (number, region) in (0..shoots).zip(REGIONS) {
            let (technical_id, place) = (format!("shoot--kyma--s{number}"), Place::of(region));
            for (item, nature) in leftovers_of_shoot(&technical_id, &place) {
                self.cloud.put(&id, item, nature);
                items += 1;
            }
            left.push(PastShoot { technical_id: TechnicalId::new(technical_id), existing: BTreeSet::new() });
        }
        let more = if shoots > 1 { items..LEFTOVERS } else { 0..0 };
        for number in more {
            let volume = allotment_core::cleanup::ItemId::new(format!("vol-{number:017}"));
            let item = Item::new(KindName::of("Volume"), Place::of(REGIONS[0]), volume);
            self.cloud.put(&id, item, Nature::default());
        }
        left
    }

    fn busiest(&self) -> f64 {
        let most = self.reads.0.lock().unwrap_or_else(PoisonError::into_inner).most;
        most as f64 / WINDOW.as_secs_f64()
    }
}

impl Clouds for LimitedClouds {
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>> {
        let id = id(&account.name);
        self.cloud.add_account(id.clone(), REGIONS.map(Place::of));
        self.cloud.set_faults(&id, Faults { latency: LATENCY, ..Faults::default() });
        let inner = self.cloud.client(&id, account.history);
        let client: Arc<dyn Cloud> =
            Arc::new(Limited { inner, id, limiter: self.limiter.clone(), reads: self.reads.clone() });
        async move { Ok(client) }.boxed()
    }
}

struct Limited {
    inner: MemoryClient,
    id: CloudAccountId,
    limiter: Arc<RateLimiter>,
    reads: Arc<Reads>,
}

impl Limited {
    async fn read(&self, place: &Place) {
        self.limiter.turn(self.id.as_str(), place, Access::Read).await;
        self.reads.add(&self.id, place);
    }
}

impl Cloud for Limited {
    fn cloud(&self) -> CloudName {
        self.inner.cloud()
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        async {
            self.read(&Place::GLOBAL).await;
            self.inner.whoami().await
        }
        .boxed()
    }

    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        async {
            self.read(&Place::GLOBAL).await;
            self.inner.places().await
        }
        .boxed()
    }

    fn kinds(&self) -> Vec<KindName> {
        self.inner.kinds()
    }

    fn list<'a>(
        &'a self,
        place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page> {
        async move {
            self.read(place).await;
            self.inner.list(place, kind, page).await
        }
        .boxed()
    }

    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()> {
        async move {
            self.limiter.turn(self.id.as_str(), &item.place, Access::Write).await;
            self.inner.delete(item).await
        }
        .boxed()
    }

    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
        async move {
            for _ in table(CloudName::Aws).counts {
                self.read(place).await;
            }
            self.inner.counts(place).await
        }
        .boxed()
    }
}
