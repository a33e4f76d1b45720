//! The cost of returning accounts: calls to the cloud, and seconds at its limits for each account and region.
//!
//! The clouds are in memory, and each of their answers takes as long as one of a real cloud. The calls are those that the rows of
//! each client make, as `allotment_clouds::memory` counts them; logins are not among them, no limit concerns them. Time is
//! simulated: it does not wobble.

mod clouds;

use super::{
    Measure, Outcome,
    claims::{Tallies, create, operator_on},
    rules::allocated,
    tally::client,
};
use allotment_api::{crds, gardener::CredentialsBinding, kyma::BindingKind};
use allotment_clouds::{Patience, http::Rates};
use allotment_core::{
    cleanup::{Cloud as CloudName, GuardLimits, Mode, Timing},
    pool::{AccountName, LabelKeys},
};
use allotment_garden::embedded::EmbeddedGarden;
use allotment_operator::{
    cleanup::{Operator, Parts, Policy, Settings},
    ledger::{Ledger, Place as LedgerPlace},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
};
use clouds::{LimitedClouds, id};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
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

/// Locations of Azure with machines in them; an account sees all of them.
const LOCATIONS: [&str; 20] = [
    "australiaeast",
    "brazilsouth",
    "canadacentral",
    "centralindia",
    "centralus",
    "eastasia",
    "eastus",
    "eastus2",
    "francecentral",
    "germanywestcentral",
    "japaneast",
    "koreacentral",
    "northeurope",
    "norwayeast",
    "southcentralus",
    "southeastasia",
    "swedencentral",
    "uksouth",
    "westeurope",
    "westus2",
];

/// Regions of Google Cloud; every project has all of them.
const REGIONS_OF_GCP: [&str; 20] = [
    "asia-east1",
    "asia-northeast1",
    "asia-northeast3",
    "asia-south1",
    "asia-southeast1",
    "australia-southeast1",
    "europe-central2",
    "europe-north1",
    "europe-west1",
    "europe-west2",
    "europe-west3",
    "europe-west4",
    "me-west1",
    "northamerica-northeast1",
    "southamerica-east1",
    "us-central1",
    "us-east1",
    "us-east4",
    "us-west1",
    "us-west2",
];

/// The regions of Alibaba Cloud outside of China and some within, as ECS lists them.
const REGIONS_OF_ALICLOUD: [&str; 17] = [
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-southeast-1",
    "ap-southeast-3",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "cn-beijing",
    "cn-hangzhou",
    "cn-hongkong",
    "cn-shanghai",
    "cn-shenzhen",
    "eu-central-1",
    "eu-west-1",
    "me-east-1",
    "us-east-1",
    "us-west-1",
];

/// A project of OpenStack has the regions of its catalog, mostly one.
const REGION_OF_OPENSTACK: [&str; 1] = ["eu-de-1"];

/// The places of an account of each cloud.
const fn places_of(cloud: CloudName) -> &'static [&'static str] {
    match cloud {
        CloudName::Aws => &REGIONS,
        CloudName::Azure => &LOCATIONS,
        CloudName::Gcp => &REGIONS_OF_GCP,
        CloudName::OpenStack => &REGION_OF_OPENSTACK,
        CloudName::Alicloud => &REGIONS_OF_ALICLOUD,
    }
}

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

/// Many times what all accounts together take.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Calls are counted over so long: bursts that the limit allows do not matter.
const WINDOW: Duration = Duration::from_secs(10);

pub(super) async fn measure(progress: &impl Fn(&str)) -> Outcome<Vec<Measure>> {
    let settle = Timing::default().settle.as_secs_f64();
    let places = f64::from(u32::try_from(REGIONS.len())?) + 1.0;
    let mut measures = Vec::new();
    for (name, shoots) in [("an empty account", 0), ("an account with 100 leftovers", SHOOTS)] {
        progress(&format!("{name} of 17 regions"));
        let Costs { calls, seconds, .. } = simulated(CloudName::Aws, 1, shoots).await?;
        measures.extend([
            Measure::new(format!("cleaning {name}, calls"), calls, "calls"),
            Measure::new(format!("cleaning {name}, calls per region"), calls / places, "calls"),
            Measure::new(format!("cleaning {name}, against the settle time"), seconds, "s").against(settle),
        ]);
    }
    for cloud in CloudName::ALL.into_iter().filter(|cloud| *cloud != CloudName::Aws) {
        let name = match places_of(cloud) {
            [place] => format!("an empty account of {cloud} in {place}"),
            places => format!("an empty account of {cloud} in {} places", places.len()),
        };
        progress(&name);
        let Costs { calls, seconds, .. } = simulated(cloud, 1, 0).await?;
        let name = format!("cleaning {name}");
        measures.extend([
            Measure::new(format!("{name}, calls"), calls, "calls"),
            Measure::new(format!("{name}, against the settle time"), seconds, "s").against(settle),
        ]);
    }
    progress("100 dirty accounts of 17 regions");
    let Costs { calls, seconds, busiest, bytes } = simulated(CloudName::Aws, MANY, 1).await?;
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
async fn simulated(cloud: CloudName, accounts: u32, shoots: u32) -> Outcome<Costs> {
    tokio::task::spawn_blocking(move || {
        let mut cleaned = Err("nothing was measured".into());
        let clean = || -> Outcome<Costs> {
            let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
            runtime.block_on(clean(cloud, accounts, shoots))
        };
        let counted = allocated(|| cleaned = clean());
        if counted.is_none() {
            cleaned = clean();
        }
        cleaned.map(|costs| Costs { bytes: counted.map(|(_, most)| most), ..costs })
    })
    .await?
}

async fn clean(cloud: CloudName, accounts: u32, shoots: u32) -> Outcome<Costs> {
    let (garden, started) = (EmbeddedGarden::new()?, Instant::now());
    let names: Vec<AccountName> =
        (0..accounts).map(|number| AccountName::new(format!("{cloud}-{number:03}"))).collect();
    fill(&garden, cloud, &names).await?;
    let place = LedgerPlace { garden: "bench".to_owned(), project: GARDEN.to_owned() };
    let ledger = Ledger::open("sqlite::memory:", place).await?;
    let began: Timestamp = "2026-01-01T00:00:00Z".parse()?;
    let clock = Clock::new(move || {
        let passed = SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX);
        began.saturating_add(passed).unwrap_or(Timestamp::MAX)
    });
    let clouds = Arc::new(LimitedClouds::new(cloud, places_of(cloud)));
    let subscriptions = operator_on(&garden, ledger.clone(), &Tallies::default())?;
    let operator = operator(&garden, &ledger, clouds.clone(), clock.clone());
    let running = [
        tokio::spawn(async move { subscriptions.run_as_leader().await }),
        tokio::spawn(async move { operator.run_as_leader().await }),
    ];
    for name in &names {
        while ledger.cloud_account(name).await?.is_none_or(|recorded| recorded.baseline.is_none()) {
            in_time(started, &ledger, &format!("{name} has no baseline")).await?;
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
        in_time(returned, &ledger, "an account is dirty").await?;
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

/// Waits a second. An account that is stuck would be waited for without an end.
async fn in_time(since: Instant, ledger: &Ledger, what: &str) -> Outcome<()> {
    if since.elapsed() < LONGEST {
        sleep(Duration::from_secs(1)).await;
        return Ok(());
    }
    let cleanings = ledger.cleanings().await?;
    let told = cleanings.iter().map(|(name, cleaning)| {
        let stuck = cleaning.record.stuck.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{name} {} {stuck}", cleaning.record.stage.as_str())
    });
    let told: Vec<String> = told.take(3).collect();
    Err(format!("{what} after {} s: {}", LONGEST.as_secs(), told.join("; ")).into())
}

async fn fill(garden: &EmbeddedGarden, cloud: CloudName, names: &[AccountName]) -> Outcome<()> {
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
    // The garden comes with a pool of its own, whose accounts would be cleaned and counted, too.
    for entry in bindings.list_metadata(&ListParams::default()).await? {
        bindings.delete(&entry.name_any(), &DeleteParams::default()).await?;
    }
    for name in names {
        create(&secrets, json!({ "metadata": { "name": name } })).await?;
        create(&bindings, binding(cloud, name)).await?;
    }
    Ok(())
}

fn binding(cloud: CloudName, name: &AccountName) -> Value {
    json!({
        "metadata": { "name": name, "labels": { "hyperscalerType": cloud } },
        "provider": { "type": cloud },
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
