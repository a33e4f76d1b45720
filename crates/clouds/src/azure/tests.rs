//! The rows against the table of the core, and the client without a cloud.

use super::{Azure, AzureConfig, delete, list, rows, witness};
use crate::{
    credentials::{AzureCloud, AzureCredentials, AzureLogin},
    http::{Http, RateLimiter, Rates},
};
use allotment_core::cleanup::{Cloud as CloudName, kinds::table};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

pub(super) fn client(cloud: AzureCloud) -> Azure {
    Azure::new(AzureConfig {
        credentials: AzureCredentials {
            subscription: "S-1".to_owned(),
            tenant: "t".to_owned(),
            client: "c".to_owned(),
            login: AzureLogin::Secret("hush".into()),
            cloud,
        },
        http: Http::new(None).unwrap(),
        limiter: Arc::new(RateLimiter::new(Rates::default())),
        name: "a".to_owned(),
        endpoint: None,
        now: Arc::new(Timestamp::now),
    })
}

#[test]
fn the_client_has_a_row_for_every_kind_of_the_table_and_no_other() {
    let mine: Vec<&str> = rows::ROWS.iter().map(|row| row.kind).collect();
    let theirs: BTreeSet<&str> = table(CloudName::Azure).kinds.iter().map(|kind| kind.name).collect();
    assert_eq!(mine.iter().copied().collect::<BTreeSet<_>>(), theirs);
    assert_eq!(mine.len(), theirs.len(), "a kind has two rows");
}

#[test]
fn the_client_counts_what_the_table_expects_and_nothing_else() {
    let mine: BTreeSet<(&str, &str)> = witness::SOURCES
        .iter()
        .flat_map(|source| source.counts.iter().map(|(name, _)| (*name, source.permission)))
        .collect();
    let theirs = table(CloudName::Azure).counts.iter().map(|count| (count.name, count.permission));
    assert_eq!(mine, theirs.collect());
}

#[test]
fn the_table_names_the_permission_of_every_call() {
    for row in rows::ROWS {
        // Parts of a network are listed with it; deleted vaults are purged at their location.
        let listed = if row.within.is_empty() { row.action } else { "Microsoft.Network/virtualNetworks" };
        assert_eq!(list::permission(row), format!("{listed}/read"), "{}", row.kind);
        let deleted = match row.end {
            rows::End::Delete(_) | rows::End::Begin(_) => format!("{}/delete", row.action),
            rows::End::OfItsType => "*/delete".to_owned(),
            rows::End::Purge => {
                format!("{}/purge/action", row.action.replace("KeyVault/", "KeyVault/locations/"))
            }
        };
        assert_eq!(delete::permission(row), deleted, "{}", row.kind);
        // The path that lists is that of the type.
        let path = row.list.trim_start_matches("/providers/");
        let is_its_type = listed.eq_ignore_ascii_case(path)
            || listed.to_lowercase().ends_with(&format!("subscriptions{}", row.list.to_lowercase()));
        assert!(is_its_type, "{}: {}", row.kind, row.list);
    }
}

#[test]
fn each_cloud_has_its_hosts() {
    for (cloud, login, manager) in [
        (AzureCloud::Public, "https://login.microsoftonline.com", "https://management.azure.com"),
        (AzureCloud::China, "https://login.chinacloudapi.cn", "https://management.chinacloudapi.cn"),
        (AzureCloud::Government, "https://login.microsoftonline.us", "https://management.usgovcloudapi.net"),
    ] {
        let client = client(cloud);
        assert_eq!((client.hosts.login.as_str(), client.hosts.manager.as_str()), (login, manager));
        let printed = format!("{client:?}");
        assert!(printed.contains(manager) && !printed.contains("hush"), "{printed}");
    }
}

#[test]
fn the_token_goes_to_resource_manager_only() {
    let client = client(AzureCloud::Public);
    let path = |url: &str| client.path_of(url);
    assert_eq!(path("https://management.azure.com/a?b=c").as_deref(), Some("/a?b=c"));
    assert_eq!(path("https://westeurope.management.azure.com/a").as_deref(), Some("/a"));
    for elsewhere in [
        "https://evil.example/a",
        "https://evilmanagement.azure.com/a",
        "https://management.azure.com.evil.example/a",
        "http://management.azure.com/a",
        "https://management.azure.com:8443/a",
        "/a",
        "",
    ] {
        assert_eq!(path(elsewhere), None, "{elsewhere}");
    }
    assert!(client.next(&json!({ "nextLink": "https://evil.example/a" })).is_err(), "no last page");
    for last in [json!({}), json!({ "nextLink": null }), json!({ "nextLink": "" })] {
        assert_eq!(client.next(&last), Ok(None));
    }
}

fn item(kind: &str, value: &Value) -> allotment_core::cleanup::Item {
    client(AzureCloud::Public).item(rows::find(kind).unwrap(), value).unwrap()
}

#[test]
fn items_are_read_with_what_the_rules_need() {
    let disk = item(
        "Disk",
        &json!({
            "id": "/subscriptions/s-1/resourceGroups/G/providers/Microsoft.Compute/disks/D", "name": "D",
            "location": "West Europe", "tags": { "k8s-azure-created-by": "kubernetes-azure-dd" },
            "properties": { "provisioningState": "Succeeded", "uniqueId": "u" },
        }),
    );
    assert_eq!(disk.id.as_str(), "resourcegroups/g/providers/microsoft.compute/disks/d");
    let expected = [
        ("resourceGroup", Some("resourcegroups/g")),
        ("location", Some("westeurope")),
        ("cluster", Some("kubernetes-azure-dd")),
        ("state", Some("Succeeded")),
        ("scope", Some("below")),
    ];
    for (name, value) in expected {
        assert_eq!(disk.attribute(name), value, "{name}");
    }
    assert_eq!(disk.incarnation.as_deref(), Some("u"));
    let inherited = json!({
        "id": "/providers/Microsoft.Management/managementGroups/M/providers/Microsoft.Authorization/roleAssignments/R",
        "properties": { "principalId": "P", "createdBy": "C" },
    });
    let inherited = item("RoleAssignment", &inherited);
    assert_eq!(inherited.attribute("scope"), Some("above"));
    assert_eq!((inherited.attribute("principal"), inherited.attribute("creator")), (Some("p"), Some("c")));
    let group = item(
        "ResourceGroup",
        &json!({ "id": "/subscriptions/S-1/resourceGroups/shoot--p--c", "name": "shoot--p--c" }),
    );
    assert_eq!((group.attribute("resourceGroup"), group.attribute("cluster")), (None, Some("shoot--p--c")));
    let nobody = client(AzureCloud::Public);
    assert!(nobody.item(rows::find("Disk").unwrap(), &json!({ "name": "no id" })).is_err());
}

#[tokio::test]
async fn nothing_is_deleted_outside_of_the_subscription() {
    let client = client(AzureCloud::Public);
    for path in [
        "/subscriptions/other/resourceGroups/g",
        "/providers/Microsoft.Management/managementGroups/m",
        "/subscriptions/s-1",
        "/subscriptions/s-1/resourceGroups/../x",
    ] {
        let item = item("ResourceGroup", &json!({ "id": path, "name": "g" }));
        let refusal = client.delete_row(&item).await.unwrap_err();
        assert_eq!(refusal.code(), "ForeignId", "{path}");
    }
}
