//! Ledgers that go back, are cloned or lose their fence while operators run.

use super::stage::{Fault, RULES, Running, Stage, until};
use allotment_api::kyma::{SubscriptionPhase, SubscriptionRequest};
use allotment_core::pool::compare;
use allotment_operator::{
    ledger::{Ledger, Place},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
    subscription::{Operator, Parts, Settings},
    survey::{Sources, Survey},
};
use allotment_testing::{Landscape, Outcome, Plot, Postgres, PostgresPair, Replication};
use futures::future::try_join_all;
use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, process::Command, time::Duration};

/// A database whose past can be changed.
struct Database {
    server: Postgres,
    url: String,
    name: String,
}

impl Database {
    fn new() -> Result<Self, Fault> {
        let server = Postgres::start()?;
        let url = server.database()?;
        let name = url.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Self { server, url, name })
    }

    /// Copies the database as it is now, and cuts all connections to it. Returns the URL of the copy.
    fn copy_to(&self, copy: &str) -> Result<String, Fault> {
        self.copy(&self.name, copy)?;
        Ok(self.url.replace(&self.name, copy))
    }

    /// Puts a copy in the place of the database, under everybody who is connected.
    fn put_back(&self, copy: &str) -> Result<(), Fault> {
        self.copy(copy, &self.name)
    }

    fn copy(&self, from: &str, to: &str) -> Result<(), Fault> {
        for _ in 0..200 {
            let cut =
                format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{from}'");
            let commands = [
                format!("DROP DATABASE IF EXISTS {to} WITH (FORCE)"),
                cut,
                format!("CREATE DATABASE {to} TEMPLATE {from}"),
            ];
            let mut psql: Command = self.server.client("psql");
            psql.args(["-v", "ON_ERROR_STOP=1", "-q", "-o", "/dev/null"]);
            for command in &commands {
                psql.args(["-c", command]);
            }
            if psql.output()?.status.success() {
                return Ok(());
            }
        }
        Err(format!("cannot copy database {from} to {to}").into())
    }
}

fn place(stage: &Stage) -> Place {
    Place { garden: "test".to_owned(), project: stage.plot.garden_namespace.clone() }
}

fn fence(stage: &Stage) -> Api<ConfigMap> {
    Api::namespaced(stage.plot.landscape.garden.clone(), &stage.plot.garden_namespace)
}

async fn halts(running: &Running) -> Result<String, Fault> {
    until("it halts", async || running.operator.halted().borrow().clone().ok_or(String::new())).await
}

/// A database that is away for a moment halts, too.
async fn halts_because(running: &Running, why: &str) -> Result<String, Fault> {
    until(&format!("it halts: {why}"), async || {
        let halted = running.operator.halted().borrow().clone().unwrap_or_default();
        if halted.contains(why) { Ok(halted) } else { Err(halted) }
    })
    .await
}

async fn goes_on(running: &Running) -> Result<(), Fault> {
    until("it goes on", async || match running.operator.halted().borrow().clone() {
        None => Ok(()),
        Some(why) => Err(why),
    })
    .await
}

/// Nothing that the sides do not agree on is left, as `allotment ledger verify` has it.
async fn agrees(stage: &Stage, ledger: &Ledger) -> Result<(), Fault> {
    let settings = stage.settings("verify");
    let sources = Sources {
        garden: stage.plot.landscape.garden.clone(),
        control_plane: Some(stage.plot.landscape.control_plane.clone()),
        ledger: Some(ledger),
        settings: &settings,
    };
    until("ledger, bindings, requests and Shoots agree", async || {
        let survey = Survey::read(&sources, |_| ()).await.map_err(|error| error.to_string())?;
        // Plots of other tests are in the same control plane.
        let mut sides = survey.sides();
        let own = format!("{}/", stage.plot.namespace);
        sides.requests.retain(|_, asked| asked.name.starts_with(&own));
        sides.not_ready.clear();
        let found = compare(&sides).disagreements;
        if found.is_empty() { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await
}

/// A standby that takes over without the last commits looks like this, too.
pub async fn a_database_that_lost_commits_is_noticed_before_the_next_request_is_bound(
    landscape: Landscape,
) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(2);
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let database = Database::new()?;
    let ledger = Ledger::open(&database.url, place(&stage)).await?;
    let running = stage.start_with_lease("one", &ledger);
    stage.ask("r1", "ga-1").await?;
    assert_eq!(stage.bound("r1").await?, "a");
    database.copy_to("before")?;
    stage.ask("r2", "ga-1").await?;
    assert_eq!(stage.bound("r2").await?, "a", "there is room for two");
    database.put_back("before")?;

    stage.ask("r3", "ga-1").await?;
    let halted = halts_because(&running, "without the last commits").await?;
    assert!(halted.contains("ledger rebuild"), "{halted}");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let third = stage.requests().get("r3").await?;
    assert_ne!(third.status.and_then(|status| status.phase), Some(SubscriptionPhase::Bound));

    let again = Ledger::open(&database.url, place(&stage)).await?;
    stage.operator("repair", &again).rebuild().await?;
    goes_on(&running).await?;
    assert_eq!(stage.bound("r3").await?, "b", "the one that was lost counts again");
    agrees(&stage, &again).await?;
    Ok(())
}

pub async fn a_standby_that_takes_over_without_the_last_commits_is_noticed(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(2);
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let mut pair = PostgresPair::start(Replication::Asynchronous)?;
    let ledger = Ledger::open(&pair.database()?, place(&stage)).await?;
    let running = stage.start_with_lease("one", &ledger);
    stage.ask("r1", "ga-1").await?;
    stage.bound("r1").await?;
    pair.wait_until_caught_up()?;
    pair.cut()?;
    stage.ask("r2", "ga-1").await?;
    stage.bound("r2").await?;
    let _pair = tokio::task::spawn_blocking(move || pair.fail_over().map(|()| pair)).await??;
    stage.ask("r3", "ga-1").await?;
    let halted = halts_because(&running, "without the last commits").await?;
    assert!(halted.contains("ledger rebuild"), "{halted}");
    let third = stage.requests().get("r3").await?;
    assert_ne!(third.status.and_then(|status| status.phase), Some(SubscriptionPhase::Bound));
    Ok(())
}

/// The operator was stopped meanwhile, so that only the garden knows.
pub async fn an_older_ledger_of_the_same_epoch_is_noticed(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?.with_limit(2);
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let database = Database::new()?;
    let ledger = Ledger::open(&database.url, place(&stage)).await?;
    let running = stage.start_with_lease("one", &ledger);
    stage.ask("r1", "ga-1").await?;
    stage.bound("r1").await?;
    database.copy_to("before")?;
    stage.ask("r2", "ga-1").await?;
    stage.bound("r2").await?;
    drop((running, ledger));
    database.put_back("before")?;

    let ledger = Ledger::open(&database.url, place(&stage)).await?;
    let epoch = ledger.epoch().await?;
    let second = stage.start_with("two", &ledger);
    let halted = halts(&second).await?;
    assert!(halted.contains("without the last commits"), "{halted}");
    assert_eq!(ledger.epoch().await?, epoch, "a ledger that does not fit is not written to");
    Ok(())
}

/// A disaster drill: a second installation, with a control plane of its own, on a copy of the database. `ALLOTMENT_DRILLS=20x200` has
/// it 20 times, with 200 requests in each installation.
pub async fn two_installations_on_copies_of_one_ledger_do_not_both_hand_out(landscape: Landscape) -> Outcome {
    let asked = std::env::var("ALLOTMENT_DRILLS").unwrap_or_else(|_| "1x40".to_owned());
    let (rounds, requests) = asked.split_once('x').ok_or("ALLOTMENT_DRILLS is not like 20x200")?;
    let (rounds, requests): (u32, usize) = (rounds.parse()?, requests.parse()?);
    // The first time the copy is made under an operator that leads, and overtakes it.
    for round in 0..rounds {
        drill(&landscape, requests, round % 2 == 0).await?;
    }
    Ok(())
}

async fn drill(landscape: &Landscape, requests: usize, overtakes: bool) -> Outcome {
    const LIMIT: usize = 3;
    const TENANTS: usize = 4;
    // As many as one installation needs, and some for what the one that halts has told before. Both together would need more.
    let cap = requests.div_ceil(TENANTS).div_ceil(LIMIT) + 4;
    let mut stage = Stage::new(landscape).await?.with_limit(LIMIT as u32);
    stage.cap = Some(cap as u32);
    let names: Vec<String> = (0..2 * TENANTS * cap).map(|number| format!("a{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    stage.accounts(&names, json!({ "hyperscalerType": "aws" })).await?;
    let database = Database::new()?;
    let first = Ledger::open(&database.url, place(&stage)).await?;
    let here = stage.start_with_lease("here", &first);
    stage.ask("before", "ga-1").await?;
    stage.bound("before").await?;
    let (copy, here) = if overtakes {
        (database.copy_to("drill")?, Some(here))
    } else {
        drop(here);
        (database.copy_to("drill")?, None)
    };

    let drill = landscape.plot_without_gardenlet().await?;
    let second = Ledger::open(&copy, place(&stage)).await?;
    let there = start_in(&stage, &drill, &second);
    let here = here.unwrap_or_else(|| stage.start_with_lease("here", &first));
    let tenant = |number: usize| format!("ga-{}", number % TENANTS);
    let asks = (0..requests).flat_map(|number| [(&stage.plot, number), (&drill, number)]);
    try_join_all(asks.map(|(plot, number)| ask_in(plot, number, tenant(number)))).await?;
    until("one of the two halts", async || {
        let halted = [&here, &there].map(|it| it.operator.halted().borrow().clone());
        if halted.iter().flatten().count() == 1 { Ok(()) } else { Err(format!("{halted:?}")) }
    })
    .await?;
    // As long as it takes on a busy machine, while it goes on.
    let mut served = 0;
    let told = loop {
        let told = until("the other one goes on to serve its requests", async || {
            let told = [told(&stage.plot).await, told(&drill).await];
            let most = told.iter().map(BTreeMap::len).max().unwrap_or_default();
            if most > served { Ok(told) } else { Err(format!("{:?}", told.map(|it| it.len()))) }
        })
        .await?;
        served = told.iter().map(BTreeMap::len).max().unwrap_or_default();
        if served >= requests {
            break told;
        }
    };
    let mut by_account: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (request, account) in told.iter().flatten() {
        let tenant = request
            .strip_prefix('r')
            .map_or_else(|| Ok::<_, Fault>("ga-1".to_owned()), |number| Ok(tenant(number.parse()?)))?;
        by_account.entry(account).or_default().push(tenant);
    }
    assert!(by_account.values().all(|tenants| tenants.len() <= LIMIT), "{by_account:?}");
    let is_one = |tenants: &Vec<String>| tenants.iter().all(|tenant| *tenant == tenants[0]);
    assert!(by_account.values().all(is_one), "{by_account:?}");
    let mut by_tenant: BTreeMap<&str, usize> = BTreeMap::new();
    by_account.values().for_each(|tenants| *by_tenant.entry(&tenants[0]).or_default() += 1);
    assert!(by_tenant.values().all(|accounts| *accounts <= cap), "{by_tenant:?}, at most {cap}");
    Ok(())
}

/// Without that, each would take the lead from the other for ever, with all checks green.
pub async fn a_second_installation_on_the_same_ledger_halts(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let run = |operator: Operator| {
        Running::new(operator.tied_to_installation(), |operator| async move { operator.run().await })
    };
    let here = run(stage.operator("here", &stage.ledger));
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    let epoch = stage.ledger.epoch().await?;
    let drill = landscape.plot_without_gardenlet().await?;
    let there = run(operator_in(&stage, &drill, &stage.ledger));
    let halted = halts(&there).await?;
    let names = [&stage.plot.namespace, &drill.namespace];
    assert!(names.iter().all(|name| halted.contains(*name)), "{halted}");
    stage.ask("next", "ga-2").await?;
    stage.bound("next").await?;
    assert_eq!((stage.ledger.epoch().await?, here.operator.halted().borrow().clone()), (epoch, None));
    // A person moves the operators to the other namespace.
    drop(here);
    let rebuilt = stage.operator("person", &stage.ledger).tied_to_control_plane().rebuild().await?;
    assert!(rebuilt > epoch);
    goes_on(&there).await
}

/// Somebody takes fields out of the fence: the ledger remembers whom it served.
pub async fn a_fence_that_lost_fields_is_compared_with_the_ledger(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let run = |operator: Operator| {
        Running::new(operator.tied_to_installation(), |operator| async move { operator.run().await })
    };
    let here = run(stage.operator("here", &stage.ledger));
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    drop(here);
    let maps: Api<ConfigMap> = Api::namespaced(landscape.garden.clone(), &stage.plot.garden_namespace);
    let bare = json!({ "data": { "controlPlane": null, "installation": null } });
    maps.patch("allotment-ledger", &PatchParams::default(), &Patch::Merge(&bare)).await?;
    let drill = landscape.plot_without_gardenlet().await?;
    let there = run(operator_in(&stage, &drill, &stage.ledger));
    halts_because(&there, &stage.plot.namespace).await?;
    drop(there);
    let again = run(stage.operator("again", &stage.ledger));
    stage.ask("next", "ga-1").await?;
    stage.bound("next").await?;
    drop(again);
    Ok(())
}

/// A claim is published only after the fence was written, and whoever waits has to learn why it is not.
pub async fn a_fence_that_cannot_be_written_halts(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let running = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    let maps: Api<ConfigMap> = Api::namespaced(landscape.garden.clone(), &stage.plot.garden_namespace);
    let immutable = json!({ "immutable": true });
    maps.patch("allotment-ledger", &PatchParams::default(), &Patch::Merge(&immutable)).await?;
    stage.ask("next", "ga-2").await?;
    halts_because(&running, "immutable").await?;
    Ok(())
}

/// An operator of another installation on the same garden.
fn start_in(stage: &Stage, plot: &Plot, ledger: &Ledger) -> Running {
    Running::new(operator_in(stage, plot, ledger), |operator| async move { operator.run().await })
}

fn operator_in(stage: &Stage, plot: &Plot, ledger: &Ledger) -> Operator {
    Operator::new(Parts {
        control_plane: plot.landscape.control_plane.clone(),
        garden: plot.landscape.garden.clone(),
        ledger: ledger.clone(),
        settings: Settings {
            request_namespace: Some(plot.namespace.clone()),
            lease_namespace: plot.namespace.clone(),
            ..stage.settings("there")
        },
        policy: stage.policy(RULES),
        clock: Clock::system(),
        metrics: Metrics::new(),
    })
}

async fn ask_in(plot: &Plot, number: usize, tenant: String) -> Result<(), Fault> {
    let request = serde_json::from_value(json!({
        "apiVersion": "control-plane.kyma-project.io/v1alpha1",
        "kind": "SubscriptionRequest",
        "metadata": { "name": format!("r{number}") },
        "spec": { "provider": "aws", "subscriptionSelector": tenant },
    }))?;
    requests_in(plot).create(&Default::default(), &request).await?;
    Ok(())
}

fn requests_in(plot: &Plot) -> Api<SubscriptionRequest> {
    Api::namespaced(plot.landscape.control_plane.clone(), &plot.namespace)
}

/// Requests that were told that they have an account, with its binding.
async fn told(plot: &Plot) -> BTreeMap<String, String> {
    let all = requests_in(plot).list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
    let told = all.into_iter().filter_map(|request| {
        let status = request.status.as_ref()?;
        let is_bound = status.phase == Some(SubscriptionPhase::Bound);
        let binding = status.gardener_secret_name.clone().filter(|_| is_bound)?;
        Some((request.name_any(), binding))
    });
    told.collect()
}

/// Nothing is handed out from a ledger that nobody knows beside a pool that was used.
pub async fn a_removed_fence_halts_whoever_starts_and_whoever_runs(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let running = stage.start_with_lease("one", &stage.ledger);
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    fence(&stage).delete("allotment-ledger", &Default::default()).await?;
    stage.ask("next", "ga-2").await?;
    let halted = halts(&running).await?;
    assert!(halted.contains("is not there") && halted.contains("ledger rebuild"), "{halted}");
    drop(running);
    // An empty ledger is noticed by the request that has an account.
    let empty = Ledger::open("sqlite::memory:", place(&stage)).await?;
    let second = stage.start_with("two", &empty);
    assert!(halts(&second).await?.contains("have accounts"));
    let next = stage.requests().get("next").await?.status.and_then(|status| status.phase);
    assert_ne!(
        next,
        Some(SubscriptionPhase::Bound),
        "a label may be there, which makes an account less available"
    );
    stage.operator("repair", &empty).rebuild().await?;
    stage.bound("next").await?;
    agrees(&stage, &empty).await?;
    Ok(())
}

pub async fn an_emptied_fence_halts_and_can_be_made_anew(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a"], json!({ "hyperscalerType": "aws" })).await?;
    let first = stage.start();
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    drop(first);
    let emptied = json!({ "data": Value::Null });
    fence(&stage).patch("allotment-ledger", &PatchParams::default(), &Patch::Merge(&emptied)).await?;
    let epoch = stage.ledger.epoch().await?;
    let second = stage.start();
    assert!(halts(&second).await?.contains("names no ledger"));
    assert_eq!(stage.ledger.epoch().await?, epoch, "the epoch does not rise while it halts");
    stage.operator("repair", &stage.ledger).rebuild().await?;
    goes_on(&second).await?;
    stage.ask("again", "ga-1").await?;
    assert_eq!(stage.bound("again").await?, "a");
    Ok(())
}

/// Whoever puts a label on the ConfigMap takes nothing over.
pub async fn a_label_on_the_fence_stops_nobody(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let running = stage.start_with_lease("one", &stage.ledger);
    stage.ask("r", "ga-1").await?;
    stage.bound("r").await?;
    let label = json!({ "metadata": { "labels": { "team": "platform" } } });
    fence(&stage).patch("allotment-ledger", &PatchParams::default(), &Patch::Merge(&label)).await?;
    stage.ask("next", "ga-2").await?;
    stage.bound("next").await?;
    assert_eq!(running.operator.halted().borrow().clone(), None);
    let found = fence(&stage).get("allotment-ledger").await?;
    assert_eq!(found.labels().get("team").map(String::as_str), Some("platform"), "the label stays");
    Ok(())
}

/// A pool that today's systems have used: labels say who has what, and nobody has a ledger.
pub async fn a_first_start_takes_over_what_labels_say(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    stage.accounts(&["held"], json!({ "hyperscalerType": "aws", "tenantName": "ga-1" })).await?;
    stage
        .accounts(&["dirty"], json!({ "hyperscalerType": "aws", "tenantName": "ga-2", "dirty": "true" }))
        .await?;
    stage.accounts(&["free"], json!({ "hyperscalerType": "aws" })).await?;
    let running = stage.start();
    stage.ask("r", "ga-1").await?;
    assert_eq!(stage.bound("r").await?, "held");
    // As another tool would have bound it.
    let bare = json!({ "status": { "conditions": null, "secretRef": null } });
    stage.requests().patch_status("r", &PatchParams::default(), &Patch::Merge(&bare)).await?;
    let is_whole = |request: &SubscriptionRequest| {
        let status = request.status.clone().unwrap_or_default();
        !request.finalizers().is_empty() && !status.conditions.is_empty() && status.secret_ref.is_some()
    };
    stage.request_that("r", "has all that a bound request has", is_whole).await?;
    assert_eq!(stage.bound("r").await?, "held");
    stage.ask("other", "ga-2").await?;
    assert_eq!(stage.bound("other").await?, "free");
    assert_eq!(running.operator.halted().borrow().clone(), None);
    let events: Api<Event> = Api::namespaced(landscape.garden.clone(), &stage.plot.garden_namespace);
    let told = until("an Event tells what was found", async || {
        let all = events.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let first = all.iter().find(|event| event.reason.as_deref() == Some("FirstStart"));
        first.and_then(|event| event.note.clone()).ok_or("no Event".to_owned())
    })
    .await?;
    assert!(told.contains("3 accounts, 2 of them held"), "{told}");
    Ok(())
}

/// The ledger loses one assignment, as a database does that somebody repaired by hand.
pub async fn an_assignment_that_was_lost_is_given_back_where_a_shoot_proves_it(
    landscape: Landscape,
) -> Outcome {
    let stage = Stage::with_gardenlet(&landscape).await?;
    stage.accounts(&["a", "b"], json!({ "hyperscalerType": "aws" })).await?;
    let database = Database::new()?;
    let ledger = Ledger::open(&database.url, place(&stage)).await?;
    let first = stage.start_with("one", &ledger);
    let request = stage.ask("r", "ga-1").await?;
    assert_eq!(stage.bound("r").await?, "a");
    stage.shoot("s", "a", Some(&request)).await?;
    drop(first);
    let mut psql = database.server.client("psql");
    psql.args(["-q", "-d", &database.name, "-c", "DELETE FROM assignments"]);
    assert!(psql.status()?.success());
    let _second = stage.start_with("two", &ledger);
    until("the assignment is back", async || {
        let found = ledger.assignment(&allotment_core::pool::RequestUid::new(request.uid().unwrap())).await;
        match found {
            Ok(Some(assignment)) if assignment.account.as_str() == "a" => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await?;
    agrees(&stage, &ledger).await?;
    Ok(())
}
