//! Projects that are not proven empty, each for its own reason.

use crate::project::{Project, clean, judged, listed, planned, refusal_of};
use allotment_clouds::{Cloud, Refusal};
use allotment_core::cleanup::{Cell, Keep, KindName, Left, Place, Verdict};
use serde_json::json;

const SHOOT: &str = "shoot--p--c";

fn unknown(answer: &Verdict) -> String {
    let Verdict::Unknown(cells) = answer else { panic!("{answer:?}") };
    format!("{cells:?}")
}

fn left(answer: &Verdict) -> &[Left] {
    let Verdict::Left(left) = answer else { panic!("{answer:?}") };
    left
}

pub(crate) async fn denied_list(project: &Project) {
    project.cloud.deny("compute.firewalls.list");
    let client = project.client();
    let first = listed(&client).await;
    let plan = planned(&first);
    assert_eq!(plan.unknown.len(), 1, "{:?}", plan.unknown);
    assert_eq!(plan.unknown[0].missing.as_deref(), Some("compute.firewalls.list"));
    // Nobody listed the rules of the default network, and the quota counts them.
    let answer = judged(&client, &first, &Keep::default()).await;
    assert!(matches!(left(&answer), [Left::Witness { surplus: 4, .. }]), "{answer:?}");
    // One aggregated list is one call, however many regions there are.
    project.cloud.allow("compute.firewalls.list");
    project.cloud.deny("compute.disks.list");
    let first = listed(&client).await;
    assert_eq!(planned(&first).unknown.len(), 2, "one for each region");
    let told = unknown(&judged(&client, &first, &Keep::default()).await);
    assert!(told.contains("compute.disks.list"), "{told}");
    // It goes on where the permission comes back.
    project.cloud.allow("compute.disks.list");
    let answer = judged(&client, &listed(&client).await, &Keep::default()).await;
    assert!(matches!(answer, Verdict::Empty(_)), "{answer:?}");
    project.cloud.deny("iam.serviceAccounts.list");
    let told = unknown(&judged(&client, &listed(&client).await, &Keep::default()).await);
    assert!(told.contains("iam.serviceAccounts.list"), "{told}");
}

pub(crate) async fn denied_deletion(project: &Project) {
    project.script("fill", &["--small"]);
    project.cloud.deny("compute.routers.delete");
    let client = project.client();
    let (inventory, refused) = clean(&client, &Keep::default()).await;
    assert_eq!(refusal_of(&refused, "Router").missing(), Some("compute.routers.delete"));
    let blocked = refusal_of(&refused, "Network");
    assert!(
        blocked.blocked_by().is_some_and(|by| by.contains("routers shoot--p--c-cloud-router")),
        "{blocked}"
    );
    assert!(!left(&judged(&client, &inventory, &Keep::default()).await).is_empty());
}

pub(crate) async fn protected(project: &Project) {
    project.script("fill", &["--protect"]);
    project.cloud.deny("compute.instances.setDeletionProtection");
    let client = project.client();
    let (inventory, refused) = clean(&client, &Keep::default()).await;
    assert_eq!(refusal_of(&refused, "Instance").missing(), Some("compute.instances.setDeletionProtection"));
    let answer = judged(&client, &inventory, &Keep::default()).await;
    let is_machine = |left: &Left| matches!(left, Left::Listing(key) if key.kind.as_str() == "Instance");
    assert!(left(&answer).iter().any(is_machine), "{answer:?}");
    project.cloud.allow("compute.instances.setDeletionProtection");
    let (inventory, _) = clean(&client, &Keep::default()).await;
    let answer = judged(&client, &inventory, &Keep::default()).await;
    assert!(matches!(answer, Verdict::Empty(_)), "{answer:?}");
}

pub(crate) async fn throttled(project: &Project) {
    let client = project.client();
    let first = listed(&client).await;
    project.cloud.throttle("regions/us-central1", 1000);
    let told = unknown(&judged(&client, &first, &Keep::default()).await);
    assert!(told.contains("us-central1") && told.contains("throttled"), "{told}");
    assert!(!told.contains("europe-west1"), "{told}");
    // A few refusals are waited out.
    project.cloud.throttle("regions/us-central1", 0);
    project.cloud.throttle("aggregated/disks", 2);
    let again = planned(&listed(&client).await);
    assert!(again.unknown.is_empty(), "{:?}", again.unknown);
}

pub(crate) async fn late(project: &Project) {
    project.script("fill", &["--small"]);
    let network = format!("projects/{}/global/networks/{SHOOT}", project.cloud.id());
    let message = format!(
        "The network resource '{network}' is already being used by 'projects/{}/zones/europe-west1-b/networkInstances/v-1'",
        project.cloud.id()
    );
    project.cloud.fail_late("networks", SHOOT, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", &message);
    let client = project.client();
    let (inventory, refused) = clean(&client, &Keep::default()).await;
    let Refusal::Blocked { code, by } = refusal_of(&refused, "Network") else { panic!("{refused:?}") };
    assert_eq!(code, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE");
    assert_eq!(by, "networkInstances v-1 in europe-west1-b");
    assert!(!left(&judged(&client, &inventory, &Keep::default()).await).is_empty());
    project.cloud.heal("networks", SHOOT);
    let (inventory, _) = clean(&client, &Keep::default()).await;
    assert!(matches!(judged(&client, &inventory, &Keep::default()).await, Verdict::Empty(_)));
}

pub(crate) async fn appearing(project: &Project) {
    let client = project.client();
    let first = listed(&client).await;
    assert!(planned(&first).is_empty());
    let disk = json!({ "sizeGb": "10" });
    project.cloud.appear_after(3, "zones/us-central1-c", "disks", "late", disk);
    let answer = judged(&client, &first, &Keep::default()).await;
    let is_it =
        |left: &Left| matches!(left, Left::Listing(key) if key.id.as_str() == "us-central1-c/disks/late");
    assert!(left(&answer).iter().any(is_it), "{answer:?}");
}

pub(crate) async fn hidden(project: &Project) {
    project.script("fill", &[]);
    project.cloud.hide("disks", "pv--0");
    let client = project.client();
    let (inventory, _) = clean(&client, &Keep::default()).await;
    assert!(planned(&inventory).is_empty());
    let answer = judged(&client, &inventory, &Keep::default()).await;
    let [Left::Witness { place, count, surplus, .. }] = left(&answer) else { panic!("{answer:?}") };
    assert_eq!((place.as_str(), count.as_str(), *surplus), ("europe-west1", "region.SSD_TOTAL_GB", 10));
    assert!(project.cloud.has("disks", "pv--0"));
}

pub(crate) async fn unreachable(project: &Project) {
    project.cloud.lose("zones/europe-west1-b");
    let client = project.client();
    let first = listed(&client).await;
    let place = |name| Place::of(name);
    let disks = |place| first.cell(&place, &KindName::of("Disk"));
    assert!(matches!(disks(place("europe-west1")), Cell::Unknown { .. }));
    assert!(matches!(disks(place("us-central1")), Cell::Listed { .. }));
    let told = format!("{:?}", planned(&first).unknown);
    assert!(told.contains("UNREACHABLE"), "{told}");
    let answer = judged(&client, &first, &Keep::default()).await;
    assert!(!matches!(answer, Verdict::Empty(_)), "{answer:?}");
    project.cloud.find("zones/europe-west1-b");
    project.cloud.lose_quotas("us-central1");
    let first = listed(&client).await;
    assert!(planned(&first).is_empty());
    let told = unknown(&judged(&client, &first, &Keep::default()).await);
    assert!(told.contains("quotas is not known now") && !told.contains("europe-west1"), "{told}");
}

pub(crate) async fn revoked(project: &Project) {
    let client = project.client();
    client.whoami().await.unwrap();
    project.cloud.revoke();
    let refusal = client.whoami().await.unwrap_err();
    assert_eq!(refusal.code(), "invalid_grant");
    assert!(!refusal.is_temporary(), "{refusal}");
    Project::assert_no_secret(&format!("{refusal} {refusal:?}"));
    Project::assert_no_secret(&format!("{client:?}"));
}
