//! Cleanings that succeed.

use crate::project::{Project, clean, judged, listed, planned};
use allotment_clouds::{Answer, Cloud, credentials::WorkloadToken};
use allotment_core::cleanup::{Cell, Cloud as CloudName, Keep, KindName, Place, Verdict, plan};
use futures::FutureExt;
use secrecy::SecretString;
use serde_json::json;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

fn empty(answer: &Verdict) -> String {
    let Verdict::Empty(proof) = answer else { panic!("{answer:?}") };
    serde_json::to_string(proof).unwrap()
}

pub(crate) async fn filled(project: &Project) {
    let made = project.script("fill", &["--protect", "--all"]);
    let count: usize = made.as_object().unwrap().values().map(|names| names.as_array().unwrap().len()).sum();
    assert!(count > 80, "{count} items: {made}");
    assert_eq!(project.script("left", &[])["empty"], false);
    // Machines take longer than anybody waits for each.
    project.cloud.slow(2, Duration::from_millis(15));
    let client = project.client();
    let before = listed(&client).await;
    let kinds: BTreeSet<&str> = before.items().map(|item| item.kind.as_str()).collect();
    let without: Vec<&str> = allotment_core::cleanup::kinds::table(CloudName::Gcp)
        .kinds
        .iter()
        .map(|kind| kind.name)
        .filter(|kind| !kinds.contains(kind))
        .collect();
    // Nobody can fill these with a few fields.
    let hard = [
        "NetworkEdgeSecurityService",
        "InterconnectAttachment",
        "FutureReservation",
        "RegionBackendBucket",
        "StoragePool",
    ];
    assert_eq!(without.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from(hard));
    let (inventory, refused) = clean(&client, &Keep::default()).await;
    assert!(planned(&inventory).is_empty(), "{refused:?}\n{:?}", planned(&inventory));
    let proof = empty(&judged(&client, &inventory, &Keep::default()).await);
    Project::assert_no_secret(&proof);
    let left = project.script("left", &[]);
    assert_eq!(left["empty"], true, "{left}");
}

pub(crate) async fn untouched(project: &Project) {
    let client = project.client();
    let caller = client.whoami().await.unwrap();
    assert_eq!(caller.principal, project.cloud.client_email());
    assert!(caller.account.as_str().parse::<u64>().is_ok());
    let first = listed(&client).await;
    let plan = planned(&first);
    assert!(plan.is_empty(), "{plan:?}");
    let kept: BTreeSet<&str> = plan.kept.iter().map(|kept| kept.item.kind.as_str()).collect();
    assert_eq!(kept, BTreeSet::from(["Firewall", "Network", "Route", "ServiceAccount", "Subnetwork"]));
    let before = project.cloud.calls();
    empty(&judged(&client, &first, &Keep::default()).await);
    let calls = project.cloud.calls() - before;
    assert!((70..140).contains(&calls), "{calls} calls for a listing and a witness");
}

pub(crate) async fn without_iam(project: &Project) {
    project.cloud.disable("iam");
    let client = project.client();
    let first = listed(&client).await;
    let cell = first.cell(&Place::GLOBAL, &KindName::of("ServiceAccount"));
    assert!(matches!(cell, Cell::Absent { .. }), "{cell:?}");
    empty(&judged(&client, &first, &Keep::default()).await);
}

struct Token(&'static str);

impl WorkloadToken for Token {
    fn token(&self) -> Answer<'_, SecretString> {
        async { Ok(SecretString::from(self.0)) }.boxed()
    }
}

pub(crate) async fn workload(project: &Project) {
    project.cloud.trust("subject-of-gardener");
    let client = project.client_of_workload(Arc::new(Token("subject-of-gardener")));
    let caller = client.whoami().await.unwrap();
    assert_eq!(caller.principal, project.cloud.client_email());
    let first = listed(&client).await;
    empty(&judged(&client, &first, &Keep::default()).await);
    let stranger = project.client_of_workload(Arc::new(Token("subject-of-somebody")));
    let refusal = stranger.whoami().await.unwrap_err();
    assert_eq!(refusal.code(), "invalid_grant");
    Project::assert_no_secret(&format!("{refusal:?}"));
}

pub(crate) async fn existing_network(project: &Project) {
    project.script("fill", &["--small", "--shoot", "their-network"]);
    // As Gardener does in a network that somebody brought, with their router.
    let network =
        |path: &str| format!("https://www.googleapis.com/compute/v1/projects/{}/{path}", project.cloud.id());
    let rule = json!({ "network": network("global/networks/their-network"), "priority": 1000, "direction": "INGRESS" });
    project.cloud.appear_after(0, "global", "firewalls", "shoot--p--c-allow-internal-access", rule);
    let mut keep = Keep::default();
    let config = json!({ "networks": {
        "vpc": { "name": "their-network", "cloudRouter": { "name": "their-network-cloud-router" } },
        "cloudNAT": { "natIPNames": [{ "name": "their-network-manual" }] },
    } });
    keep.add_existing(CloudName::Gcp, "shoot--p--c", &config);
    for part in ["nodes", "internal"] {
        keep.add(format!("subnetworks/their-network-{part}"), "a person named it");
    }
    for part in ["internal-access", "external-access", "health-checks"] {
        keep.add(format!("firewalls/their-network-allow-{part}"), "a person named it");
    }
    let email = format!("their-network@{}.iam.gserviceaccount.com", project.cloud.id());
    let client = project.client();
    let first = plan(&listed(&client).await, &keep, None);
    let stuck: Vec<&str> = first.immovable.iter().map(|left| left.item.id.as_str()).collect();
    assert_eq!(stuck, [email.as_str()], "a service account that is no Shoot's");
    keep.add(email, "a person named it");
    let (inventory, refused) = clean(&client, &keep).await;
    assert!(refused.is_empty(), "{refused:?}");
    assert!(!project.cloud.has("firewalls", "shoot--p--c-allow-internal-access"));
    assert!(
        project.cloud.has("networks", "their-network")
            && project.cloud.has("addresses", "their-network-manual")
    );
    let proof = empty(&judged(&client, &inventory, &keep).await);
    assert!(proof.contains("networks/their-network"), "the proof names what stays: {proof}");
}
