//! Whole cleanings of Azure subscriptions, on the simulator of `allotment-simulators`. It is filled, and looked at afterwards, through the
//! SDK of Azure alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

#[path = "azure/harness.rs"]
mod harness;

use allotment_clouds::{
    Answer, Cloud, Refusal,
    credentials::{AzureCredentials, WorkloadToken},
    take_witness,
};
use allotment_core::cleanup::{
    Cell, Cloud as CloudName, Count, Keep, KindName, Place, Verdict, kinds::table, plan,
};
use allotment_simulators::azure::{Account, Azure as Simulator, Role, Slow};
use allotment_testing::cloud_script;
use futures::{FutureExt, future::BoxFuture};
use harness::{assert_tells_no_secret, clean, client, client_with, credentials, fill, left, listed, script};
use jiff::Timestamp;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use secrecy::SecretString;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::{Command, ExitCode},
    sync::{Arc, OnceLock},
    time::Duration,
};

/// Each case has a subscription of its own.
type Case = (&'static str, fn(Account) -> BoxFuture<'static, ()>);

const CASES: &[Case] = &[
    ("a_filled_account_is_cleaned_and_proven_empty", |account| filled(account).boxed()),
    ("a_network_that_was_brought_stays_and_what_clusters_made_in_it_goes", |account| {
        brought(account).boxed()
    }),
    ("without_one_permission_its_kind_is_unknown", |account| denied(account).boxed()),
    ("without_the_right_to_read_all_every_kind_is_unknown", |account| filtered(account).boxed()),
    ("rights_that_are_lost_during_a_listing_are_noticed", |account| lost(account).boxed()),
    ("a_lock_that_may_not_be_removed_is_named", |account| locked(account).boxed()),
    ("a_throttled_location_is_unknown", |account| throttled(account).boxed()),
    ("an_operation_that_fails_late_is_a_refusal", |account| fails_late(account).boxed()),
    ("an_item_that_appears_between_the_listings_is_left", |account| appears(account).boxed()),
    ("an_item_that_no_list_shows_keeps_an_account_from_being_empty", |account| hidden(account).boxed()),
    ("a_vault_that_cannot_be_purged_is_left", |account| protected(account).boxed()),
    ("a_role_that_others_gave_is_neither_kept_nor_deleted", |account| others(account).boxed()),
    ("a_provider_that_is_not_registered_is_absent", |account| unregistered(account).boxed()),
    ("a_type_that_is_not_found_is_absent_only_if_its_provider_has_none", |account| retired(account).boxed()),
    ("refused_credentials_are_never_repeated", |account| refused(account).boxed()),
    ("a_token_that_is_revoked_is_renewed", |account| renewed(account).boxed()),
    ("logins_are_those_of_the_sdk", |account| logins(account).boxed()),
    ("every_kind_that_can_be_deleted_is_in_the_table_or_left_out_for_a_reason", |_| audit().boxed()),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let simulator = Arc::new(Simulator::start().unwrap());
    let trials = CASES.iter().map(|(name, run)| {
        let (run, simulator) = (*run, Arc::clone(&simulator));
        Trial::ignorable_test(*name, move || {
            if let Err(why) = installed() {
                return Ok(Completion::ignored_with(why));
            }
            let runtime = tokio::runtime::Runtime::new().map_err(|error| Failed::from(error.to_string()))?;
            runtime.block_on(run(simulator.account()));
            Ok(Completion::Completed)
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Whether the SDK is there; the first time it is installed.
fn installed() -> Result<(), String> {
    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    let install = || {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clouds/install");
        let output = Command::new(path).arg("azure").output().map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    };
    INSTALLED.get_or_init(install).clone()
}

async fn filled(account: Account) {
    account.page(3);
    account.slow(Slow::Calls(7));
    let made = fill(&account, &["--tenant"]);
    account.throttle_every(41);
    let count: usize = made.as_object().unwrap().values().map(|ids| ids.as_array().unwrap().len()).sum();
    assert!(count >= 35, "{made}");
    assert_eq!(left(&account)["empty"], false);
    let cleaned = clean(&client(&account), &Keep::default()).await;
    assert!(matches!(cleaned.verdict, Verdict::Empty(_)), "{}", cleaned.told());
    assert_tells_no_secret(&account, &cleaned.told());
    assert!(cleaned.passes <= 3, "{} passes", cleaned.passes);
    let seen = left(&account);
    assert_eq!(seen["empty"], true, "{seen}");
    let (empty, http) = client_with(&account, credentials(&account, &account.own.secret));
    let inventory = listed(&empty).await;
    let of_listing = http.calls();
    take_witness(&empty, &inventory, &Timestamp::now).await;
    // One for the login, two for the account and its places, two for each kind, and two for each location.
    assert!(of_listing <= 3 + 2 * u64::try_from(inventory.matrix().len()).unwrap() + 5, "{of_listing} calls");
    assert!(http.calls() - of_listing <= 6, "{} calls", http.calls() - of_listing);
}

/// A Shoot in a network that was there before, in a group that stays.
async fn brought(account: Account) {
    account.slow(Slow::Time(Duration::from_millis(30)));
    fill(&account, &["--brought"]);
    let mut keep = Keep::default();
    let config = json!({ "networks": { "vnet": { "name": "Brought", "resourceGroup": "NET" }, "workers": "10.250.0.0/19" } });
    keep.add_existing(CloudName::Azure, "shoot--p--d", &config);
    keep.add(
        account.id("resourceGroups/net/providers/Microsoft.Network/virtualNetworks/brought/subnets/theirs"),
        "theirs",
    );
    let cleaned = clean(&client(&account), &keep).await;
    let Verdict::Empty(proof) = &cleaned.verdict else { panic!("{}", cleaned.told()) };
    assert!(cleaned.passes <= 3, "{} passes", cleaned.passes);
    assert!(proof.kept.iter().any(|kept| kept.key.id.as_str() == "resourcegroups/net"));
    let at = |path: &str| account.id(&format!("resourceGroups/net{path}"));
    let network = "/providers/Microsoft.Network/virtualNetworks/brought";
    let expected = json!({
        "group": [at("")], "resource": [at(network)], "network": [at(network)],
        "subnet": [at(&format!("{network}/subnets/theirs"))],
    });
    assert_eq!(left(&account)["left"], expected);
    // Whoever does not name it loses it: everything else is the tenant's.
    let plan = plan(&listed(&client(&account)).await, &Keep::default(), None);
    assert_eq!(plan.deletions().count(), 1, "the group");
}

async fn denied(account: Account) {
    account.deny("Microsoft.Network/loadBalancers/read");
    let azure = client(&account);
    let cell = listed(&azure).await.cell(&Place::GLOBAL, &KindName::of("LoadBalancer"));
    let Cell::Unknown { missing: Some(missing), .. } = &cell else { panic!("{cell:?}") };
    assert_eq!(missing, "Microsoft.Network/loadBalancers/read");
    let cleaned = clean(&azure, &Keep::default()).await;
    let Verdict::Unknown(unknown) = &cleaned.verdict else { panic!("{}", cleaned.told()) };
    assert_eq!(unknown.len(), 1, "{unknown:?}");
}

async fn filtered(account: Account) {
    fill(&account, &[]);
    for role in [Role::OwnerOf("another"), Role::Gardener] {
        account.set_role(role);
        let inventory = listed(&client(&account)).await;
        for (place, kind) in inventory.matrix() {
            let cell = inventory.cell(&place, &kind.name());
            let Cell::Unknown { missing: Some(missing), .. } = &cell else {
                panic!("{role:?} {}: {cell:?}", kind.name)
            };
            let is_named = missing == "*/read" || kind.list.contains(&missing.as_str());
            assert!(is_named, "{}: {missing}", kind.name);
        }
        let group = inventory.cell(&Place::GLOBAL, &KindName::of("ResourceGroup"));
        assert!(matches!(group, Cell::Unknown { missing: Some(missing), .. } if missing == "*/read"));
    }
}

async fn lost(account: Account) {
    fill(&account, &[]);
    let azure = client(&account);
    azure.whoami().await.unwrap();
    account.lose_role_after(0, Role::OwnerOf("another"));
    let groups = azure.list(&Place::GLOBAL, &KindName::of("ResourceGroup"), None).await;
    assert_eq!(groups.unwrap_err().missing(), Some("*/read"), "an empty list, and no error");
}

async fn locked(account: Account) {
    fill(&account, &[]);
    account.put(json!({
        "id": account.id("resourceGroups/shoot--p--c/providers/Microsoft.Authorization/locks/audit"), "name": "audit",
        "type": "Microsoft.Authorization/locks", "properties": { "level": "CanNotDelete" },
    }));
    account.set_role(Role::Contributor);
    let cleaned = clean(&client(&account), &Keep::default()).await;
    let lock = "resourcegroups/shoot--p--c/providers/microsoft.authorization/locks/audit";
    for kind in ["Lock", "ResourceGroup"] {
        let refused = cleaned.refused.iter().find(|it| it.key.kind.as_str() == kind).unwrap();
        assert!(matches!(&refused.refusal, Refusal::Locked { by, .. } if by.contains(lock)), "{refused:?}");
    }
    assert!(cleaned.ids().contains(&lock.to_owned()));
    assert_tells_no_secret(&account, &cleaned.told());
}

async fn throttled(account: Account) {
    account.throttle("northeurope");
    let azure = client(&account);
    let inventory = listed(&azure).await;
    let counts = azure.counts(&Place::of("northeurope")).await;
    assert_eq!(counts.len(), table(CloudName::Azure).counts.len());
    assert!(counts.values().all(|count| matches!(count, Count::Refused { .. })), "{counts:?}");
    assert!(inventory.unknown().is_empty());
    let cleaned = clean(&azure, &Keep::default()).await;
    let Verdict::Unknown(unknown) = &cleaned.verdict else { panic!("{}", cleaned.told()) };
    assert!(
        unknown
            .iter()
            .all(|cell| cell.place == Place::of("northeurope") && cell.because.contains("throttled"))
    );
}

async fn fails_late(account: Account) {
    fill(&account, &[]);
    account.slow(Slow::Calls(5));
    account.fail_late(
        "shoot--p--c",
        "ResourceGroupDeletionTimeout",
        "Deletion of resource group failed.",
        1000,
    );
    let cleaned = clean(&client(&account), &Keep::default()).await;
    let codes: BTreeSet<&str> = cleaned.refused.iter().map(|it| it.refusal.code()).collect();
    assert_eq!(codes, BTreeSet::from(["ResourceGroupDeletionTimeout"]));
    assert!(cleaned.ids().contains(&"resourcegroups/shoot--p--c".to_owned()));
    account.fail_late("shoot--p--c", "ResourceGroupDeletionTimeout", "", 1);
    let cleaned = clean(&client(&account), &Keep::default()).await;
    assert!(matches!(cleaned.verdict, Verdict::Empty(_)), "{}", cleaned.told());
    assert_eq!(cleaned.refused.len(), 1, "told once, and tried again: {:?}", cleaned.refused);
}

async fn appears(account: Account) {
    let azure = client(&account);
    let before = account.calls();
    listed(&azure).await;
    // During the second listing of the cleaning, behind the list of resource groups of the first.
    account.appear_after(
        account.calls() - before + 5,
        json!({
            "id": account.id("resourceGroups/late"), "name": "late", "type": "Microsoft.Resources/resourceGroups",
            "location": "westeurope", "properties": { "provisioningState": "Succeeded" },
        }),
    );
    assert_eq!(clean(&azure, &Keep::default()).await.ids(), ["resourcegroups/late"]);
}

async fn hidden(account: Account) {
    fill(&account, &[]);
    let disk = "resourceGroups/dark/providers/Microsoft.Compute/disks/d";
    account.put(json!({
        "id": account.id(disk), "name": "d", "type": "Microsoft.Compute/disks", "location": "northeurope",
        "sku": { "name": "Premium_LRS" }, "properties": {},
    }));
    account.hide(disk);
    let cleaned = clean(&client(&account), &Keep::default()).await;
    assert_eq!(cleaned.ids(), ["northeurope compute.disks 1"]);
}

async fn protected(account: Account) {
    let vault = "providers/Microsoft.KeyVault/locations/westeurope/deletedVaults/v";
    account.put(json!({
        "id": account.id(vault), "name": "v", "type": "Microsoft.KeyVault/deletedVaults",
        "properties": { "location": "westeurope", "purgeProtectionEnabled": true, "deletionDate": "2026-01-01T00:00:00Z" },
    }));
    let cleaned = clean(&client(&account), &Keep::default()).await;
    assert_eq!(cleaned.ids(), [vault.to_lowercase()]);
    let mut keep = Keep::default();
    keep.add(account.id(vault), "a person named it");
    assert!(matches!(clean(&client(&account), &keep).await.verdict, Verdict::Empty(_)));
}

async fn others(account: Account) {
    let role = "providers/Microsoft.Authorization/roleAssignments/somebody";
    account.put(json!({
        "id": account.id(role), "name": "somebody", "type": "Microsoft.Authorization/roleAssignments",
        "properties": { "scope": account.id(""), "principalId": "someone", "createdBy": "somebody-else" },
    }));
    let cleaned = clean(&client(&account), &Keep::default()).await;
    assert_eq!(cleaned.ids(), [role.to_lowercase()]);
    assert!(cleaned.refused.is_empty());
}

async fn unregistered(account: Account) {
    for namespace in ["Microsoft.Compute", "Microsoft.Network", "Microsoft.KeyVault"] {
        account.unregister(namespace);
    }
    let azure = client(&account);
    let cell = listed(&azure).await.cell(&Place::GLOBAL, &KindName::of("Disk"));
    assert!(matches!(cell, Cell::Absent { .. }), "{cell:?}");
    let cleaned = clean(&azure, &Keep::default()).await;
    assert!(matches!(cleaned.verdict, Verdict::Empty(_)), "{}", cleaned.told());
}

/// A version of the API that was retired hides what there is; a type that a cloud of Azure never had is absent.
async fn retired(account: Account) {
    fill(&account, &[]);
    account.retire("Microsoft.Compute/disks");
    account.retire("Microsoft.Network/networkManagerConnections");
    account.close("northeurope");
    let azure = client(&account);
    let inventory = listed(&azure).await;
    let cell = |kind| inventory.cell(&Place::GLOBAL, &KindName::of(kind));
    assert!(matches!(cell("Disk"), Cell::Unknown { missing: None, .. }), "{:?}", cell("Disk"));
    assert!(matches!(cell("NetworkManagerConnection"), Cell::Absent { .. }));
    let counts = azure.counts(&Place::of("northeurope")).await;
    assert!(counts.values().all(|count| matches!(count, Count::Absent { .. })), "{counts:?}");
}

async fn refused(account: Account) {
    let (azure, _) = client_with(&account, credentials(&account, "wrong-hush-wrong"));
    let refusal = azure.whoami().await.unwrap_err();
    assert_eq!(refusal.code(), "AADSTS7000215");
    assert!(refusal.missing().is_none(), "nothing is assumed absent for it");
    let told = format!("{refusal:?} {refusal} {azure:?}");
    assert_tells_no_secret(&account, &told);
    let elsewhere = AzureCredentials {
        subscription: "00000000-1".to_owned(),
        ..credentials(&account, &account.own.secret)
    };
    let refusal = client_with(&account, elsewhere).0.whoami().await.unwrap_err();
    assert_eq!(refusal.code(), "SubscriptionNotFound");
}

async fn renewed(account: Account) {
    let azure = client(&account);
    let caller = azure.whoami().await.unwrap();
    assert_eq!(
        (caller.account.as_str(), caller.principal.as_str()),
        (account.subscription.as_str(), account.own.object.as_str())
    );
    account.revoke_tokens();
    assert_eq!(azure.whoami().await.unwrap(), caller);
    assert_eq!(account.logins().len(), 2);
}

struct Tokens(String);

impl WorkloadToken for Tokens {
    fn token(&self) -> Answer<'_, SecretString> {
        async { Ok(self.0.clone().into()) }.boxed()
    }
}

/// The SDK and the client log in to the same simulator, which keeps the forms.
async fn logins(account: Account) {
    assert_eq!(script(&account, "login", &[], &account.own), json!([true, true]));
    let theirs = account.logins();
    let config = json!({
        "apiVersion": "azure.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkloadIdentityConfig",
        "clientID": account.own.client, "tenantID": account.tenant, "subscriptionID": account.subscription,
    });
    let workload = |token: String| {
        let credentials = AzureCredentials::of_workload(&config, Arc::new(Tokens(token))).unwrap();
        client_with(&account, credentials).0
    };
    client(&account).whoami().await.unwrap();
    workload(account.workload_token()).whoami().await.unwrap();
    let ours = account.logins().split_off(theirs.len());
    assert_eq!((theirs.len(), ours.len()), (2, 2));
    let fields = |form: &String| -> BTreeMap<String, String> {
        let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
        // Tokens of a workload identity differ in their times.
        let told = |name: &str, value: &str| {
            if name == "client_assertion" { String::new() } else { value.to_owned() }
        };
        pairs.map(|(name, value)| (name.to_owned(), told(name, value))).collect()
    };
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let (mut theirs, ours) = (fields(theirs), fields(ours));
        theirs.retain(|name, _| name != "client_info");
        assert_eq!(theirs, ours, "byte for byte, in any order");
    }
    let refusal = workload(format!("{}x", account.workload_token())).whoami().await.unwrap_err();
    assert!(refusal.code().starts_with("AADSTS"), "{refusal:?}");
    assert_tells_no_secret(&account, &format!("{refusal:?} {refusal}"));
}

/// The kinds of the pinned SDK against the table.
async fn audit() {
    let audited = cloud_script("azure", "audit", &[], &[]).unwrap();
    let kinds = |name: &str| -> BTreeSet<String> {
        let kinds = audited[name].as_array().unwrap().iter();
        kinds.map(|kind| kind.as_str().unwrap().to_owned()).collect()
    };
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clouds/azure/left-out.txt"),
    )
    .unwrap();
    let mut left_out = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (kind, reason) = line.split_once(": ").unwrap_or_else(|| panic!("no reason: {line}"));
        assert!(left_out.insert(kind.to_owned(), reason).is_none(), "twice: {kind}");
    }
    let in_table: BTreeSet<String> = table(CloudName::Azure)
        .kinds
        .iter()
        .flat_map(|kind| kind.delete)
        .filter_map(|action| action.strip_suffix("/delete").or_else(|| action.strip_suffix("/purge/action")))
        .map(str::to_lowercase)
        .collect();
    // Whatever has a location and is in a group is listed as a `Resource`.
    let covered = kinds("tracked");
    let all = kinds("kinds");
    let missing: Vec<&String> = all
        .iter()
        .filter(|kind| !in_table.contains(*kind) && !covered.contains(*kind) && !left_out.contains_key(*kind))
        .collect();
    assert!(missing.is_empty(), "in neither: {missing:#?}");
    let stale: Vec<&String> = left_out
        .keys()
        .filter(|kind| !all.contains(*kind) || in_table.contains(*kind) || covered.contains(*kind))
        .collect();
    assert!(stale.is_empty(), "stale: {stale:#?}");
    assert!(all.len() > 150, "the SDK has more kinds than {}", all.len());
}
