//! Azure.

use super::{
    Simulated,
    pool::{Cleaned, Entry, Pool},
};
use crate::stage::Fault;
use allotment_api::kyma::Provider;
use allotment_core::cleanup::Cloud;
use allotment_simulators::azure::{Account, Azure, Role, Slow};
use allotment_testing::{Landscape, Outcome};
use serde_json::{Value, json};

/// How tokens begin that the simulator signs.
const TOKEN: &str = "eyJ0eXAi";

const LOCK: &str = "resourcegroups/shoot--p--c/providers/microsoft.authorization/locks/audit";
const BALANCERS: &str = "Microsoft.Network/loadBalancers/read";

pub fn simulated() -> Result<Simulated<Azure>, Fault> {
    let simulator = Azure::start()?;
    let account = simulator.account();
    Ok(Simulated {
        provider: Provider::Azure,
        cloud: Cloud::Azure,
        endpoint: account.endpoint.clone(),
        keys: keys(&account),
        environment: environment(&account),
        fill: vec![],
        secret: account.own.secret,
        _simulator: simulator,
    })
}

fn keys(account: &Account) -> Value {
    json!({
        "subscriptionID": account.subscription, "tenantID": account.tenant,
        "clientID": account.own.client, "clientSecret": account.own.secret,
    })
}

pub fn environment(account: &Account) -> Vec<(&'static str, String)> {
    vec![
        ("AZURE_ENDPOINT", account.endpoint.clone()),
        ("AZURE_SUBSCRIPTION_ID", account.subscription.clone()),
        ("AZURE_TENANT_ID", account.tenant.clone()),
        ("AZURE_CLIENT_ID", account.own.client.clone()),
        ("AZURE_CLIENT_SECRET", account.own.secret.clone()),
        ("AZURE_ASSERTION", account.workload_token()),
    ]
}

fn group(account: &Account, name: &str) -> Value {
    json!({
        "id": account.id(&format!("resourceGroups/{name}")), "name": name, "type": "Microsoft.Resources/resourceGroups",
        "location": "westeurope", "properties": { "provisioningState": "Succeeded" },
    })
}

pub async fn refused_subscriptions_of_azure_are_stuck_until_the_refusal_is_lifted(
    landscape: Landscape,
) -> Outcome {
    let simulator = Azure::start()?;
    let names = ["permission", "lock", "throttled", "late", "appears"];
    let accounts = names.map(|_| simulator.account());
    let entry = |(name, account): (&'static str, &Account)| {
        let fill = (name != "appears").then(|| vec!["--disks", "1"]);
        Entry { name, keys: keys(account), environment: environment(account), fill }
    };
    let entries = names.into_iter().zip(&accounts).map(entry).collect();
    let mut secrets: Vec<String> = accounts.iter().map(|account| account.own.secret.clone()).collect();
    secrets.push(TOKEN.to_owned());
    let cleaned =
        Cleaned { provider: Provider::Azure, cloud: Cloud::Azure, endpoint: simulator.endpoint(), secrets };
    let pool = Pool::in_use(&landscape, cleaned, entries).await?;
    pool.fill()?;
    let [permission, lock, throttled, late, appears] = &accounts;
    permission.deny(BALANCERS);
    lock.put(json!({
        "id": lock.id("resourceGroups/shoot--p--c/providers/Microsoft.Authorization/locks/audit"), "name": "audit",
        "type": "Microsoft.Authorization/locks", "properties": { "level": "CanNotDelete" },
    }));
    lock.set_role(Role::Contributor);
    throttled.throttle("northeurope");
    // The deletion is accepted, and nobody knows its end before the next pass.
    late.slow(Slow::Calls(6));
    late.fail_late("shoot--p--c", "ResourceGroupDeletionTimeout", "Deletion of the group failed.", u32::MAX);
    // The first listing finds nothing; it appears before the second.
    appears.appear_at_list("resourceGroups", 2, group(appears, "late"));
    pool.give_back().await?;
    pool.are_stuck(&[
        ("permission", &["LoadBalancer in global is unknown", "denied", &format!("grant {BALANCERS}")]),
        ("lock", &[&format!("Lock {LOCK} in global"), "locks/delete is not granted", "remove the lock"]),
        ("throttled", &["northeurope is unknown", "throttled", "it is listed again later"]),
        (
            "late",
            &[
                "ResourceGroupDeletionTimeout",
                "ResourceGroup resourcegroups/shoot--p--c in global",
                "Deletion of the group failed",
            ],
        ),
    ])
    .await?;
    pool.only_is_handed_on("appears").await?;
    assert_eq!(appears.left(), [] as [&str; 0], "it was seen, and deleted");
    permission.allow(BALANCERS);
    lock.set_role(Role::Owner);
    throttled.unthrottle("northeurope");
    late.fail_late("shoot--p--c", "ResourceGroupDeletionTimeout", "", 0);
    pool.others_are_handed_on("appears").await?;
    for (name, account) in names.iter().zip(&accounts) {
        let made = account.left();
        let is_given = |id: &&String| id.contains("networkwatcher");
        assert_eq!(made.iter().find(|id| !is_given(id)), None, "{name}");
    }
    let log = pool.end().await?;
    assert!(log.has(&["not empty", "appears", "resourcegroups/late"]), "the second listing found it");
    Ok(())
}
