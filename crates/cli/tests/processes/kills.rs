//! Two processes on one PostgreSQL, killed at random moments: nothing is lost, nothing leaks.

use super::world::{Running, World, until};
use allotment_testing::{NoPostgres, Postgres};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, ResourceExt, api::DeleteParams};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, RandomState},
    time::Duration,
};

const KILLS: usize = 20;
const TENANTS: usize = 6;

/// Another number every time.
fn random(below: u64) -> u64 {
    RandomState::new().hash_one(0) % below
}

async fn leader(world: &World) -> Option<String> {
    let leases: Api<Lease> = Api::namespaced(world.control_plane(), "default");
    let lease = leases.get_opt("allotment-subscription").await.unwrap()?;
    lease.spec?.holder_identity.and_then(|holder| holder.split('_').next().map(str::to_owned))
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_random_moments_nothing_is_lost_and_nothing_leaks() {
    let postgres = match Postgres::start() {
        Ok(postgres) => postgres,
        Err(error) if error.is::<NoPostgres>() => return eprintln!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    };
    let world = World::new().await.with_ledger(postgres.database().unwrap());
    // Enough for every tenant to be given another account whenever it has given back its last.
    for number in 0..KILLS * 2 {
        let name = format!("more-{number:02}");
        world.add_account(&name, &name, json!({ "hyperscalerType": "aws" })).await;
    }
    let mut processes: BTreeMap<String, Running> =
        ["a", "b"].map(|pod| (pod.to_owned(), world.run(pod))).into_iter().collect();
    let mut asked: BTreeSet<(String, String)> = BTreeSet::new();
    let mut killed_leaders = 0;
    for round in 0..KILLS {
        until("somebody leads", async || leader(&world).await.ok_or_else(String::new)).await;
        for number in 0..3 {
            let (name, tenant) = (format!("r{round:02}-{number}"), format!("ga-{}", random(TENANTS as u64)));
            world.ask(&name, &tenant).await;
            asked.insert((name, tenant));
        }
        // Some are given back, bound or not.
        if let Some(gone) = asked.iter().nth(random(2 * asked.len() as u64) as usize).cloned() {
            world.delete(&gone.0).await;
            asked.remove(&gone);
        }
        tokio::time::sleep(Duration::from_millis(random(1200))).await;
        let leads = leader(&world).await.unwrap_or_else(|| "a".to_owned());
        let standby = if leads == "a" { "b" } else { "a" }.to_owned();
        let victim = if random(4) == 0 { standby } else { leads.clone() };
        processes.remove(&victim).unwrap().kill();
        if victim == leads {
            killed_leaders += 1;
            // Else the other one waits until the Lease has run out.
            let leases: Api<Lease> = Api::namespaced(world.control_plane(), "default");
            let _ = leases.delete("allotment-subscription", &DeleteParams::default()).await;
        }
        processes.insert(victim.clone(), world.run(&victim));
    }
    settled(&world, &asked).await;
    let verified = world.ask_about(&["ledger", "verify"]).await;
    let logs: Vec<String> = processes.values().map(Running::log).collect();
    assert_eq!(verified.code, 0, "{}\n{}", verified.stdout, logs.join("\n"));
    eprintln!("{KILLS} kills, {killed_leaders} of leaders, {} requests in the end", asked.len());
}

/// Every request that was not given back has an account, and accounts and tenants belong together.
async fn settled(world: &World, asked: &BTreeSet<(String, String)>) {
    let mut accounts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, tenant) in asked {
        accounts.entry(tenant.clone()).or_default().insert(world.bound(name).await);
    }
    for (tenant, of) in &accounts {
        assert_eq!(of.len(), 1, "{tenant} has {of:?}");
    }
    let all: BTreeSet<&String> = accounts.values().flatten().collect();
    assert_eq!(all.len(), accounts.len(), "one account, one tenant: {accounts:?}");
    // What was given back is gone, and accounts without a request are dirty or free, never kept.
    until("what was given back is gone", async || {
        let left = world.requests().list(&Default::default()).await.map_err(|error| error.to_string())?;
        if left.items.len() == asked.len() { Ok(()) } else { Err(format!("{} left", left.items.len())) }
    })
    .await;
    until("accounts without a request are dirty", async || {
        let bindings = world.bindings().list(&Default::default()).await.map_err(|error| error.to_string())?;
        let leaked = bindings.iter().filter(|binding| {
            let labels = binding.labels();
            let held = labels.contains_key("tenantName") && !labels.contains_key("dirty");
            held && !all.contains(&binding.name_any())
        });
        let leaked: Vec<String> = leaked.map(ResourceExt::name_any).collect();
        if leaked.is_empty() { Ok(()) } else { Err(format!("{leaked:?}")) }
    })
    .await;
}
