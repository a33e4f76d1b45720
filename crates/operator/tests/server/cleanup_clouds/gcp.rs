//! Google Cloud.

use super::{
    Simulated,
    pool::{Cleaned, Entry, Pool},
};
use crate::stage::Fault;
use allotment_api::kyma::Provider;
use allotment_core::cleanup::Cloud;
use allotment_simulators::{
    gcp::{GcpCloud, GcpProject, PRIVATE_KEY, Setup},
    server::Server,
};
use allotment_testing::{Landscape, Outcome};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const SHOOT: &str = "shoot--p--c";
const MACHINE: &str = "shoot--p--c-node-0";
const RULES: &str = "compute.firewalls.list";
const UNPROTECT: &str = "compute.instances.setDeletionProtection";

pub fn simulated() -> Result<Simulated<(Arc<GcpCloud>, Server)>, Fault> {
    let cloud = GcpCloud::new();
    let server = Server::start(cloud.clone())?;
    let (project, endpoint) = (quick(&cloud), server.endpoint());
    Ok(Simulated {
        provider: Provider::Gcp,
        cloud: Cloud::Gcp,
        keys: keys(&project, &endpoint),
        environment: environment(&project, &endpoint),
        endpoint,
        fill: vec![],
        secret: "PRIVATE KEY".to_owned(),
        _simulator: (cloud, server),
    })
}

/// A project whose deletions end at once: the client waits half a second for each that does not.
pub fn quick(cloud: &Arc<GcpCloud>) -> GcpProject {
    let project = cloud.project(&Setup::default());
    project.slow(0, Duration::ZERO);
    project
}

fn keys(project: &GcpProject, endpoint: &str) -> Value {
    json!({ "serviceaccount.json": project.key(endpoint).to_string() })
}

pub fn environment(project: &GcpProject, endpoint: &str) -> Vec<(&'static str, String)> {
    vec![("GCP_ENDPOINT", endpoint.to_owned()), ("GCP_KEY", project.key(endpoint).to_string())]
}

/// The key, and how tokens and assertions begin.
fn secrets() -> Vec<String> {
    let line = PRIVATE_KEY.lines().nth(1).unwrap();
    ["PRIVATE KEY", line, "ya29.", "eyJhbGciOi"].map(str::to_owned).to_vec()
}

pub async fn refused_projects_of_google_are_stuck_until_the_refusal_is_lifted(
    landscape: Landscape,
) -> Outcome {
    let cloud = GcpCloud::new();
    let server = Server::start(cloud.clone())?;
    let names = ["permission", "protected", "throttled", "late", "machine", "appears"];
    let projects = names.map(|_| quick(&cloud));
    let endpoint = server.endpoint();
    let entry = |(name, project): (&'static str, &GcpProject)| {
        let fill = match name {
            "appears" | "throttled" => None,
            "protected" => Some(vec!["--small", "--machine", "--protect"]),
            "machine" => Some(vec!["--small", "--machine"]),
            _ => Some(vec!["--small"]),
        };
        Entry { name, keys: keys(project, &endpoint), environment: environment(project, &endpoint), fill }
    };
    let entries = names.into_iter().zip(&projects).map(entry).collect();
    let cleaned = Cleaned {
        provider: Provider::Gcp,
        cloud: Cloud::Gcp,
        endpoint: endpoint.clone(),
        secrets: secrets(),
    };
    let pool = Pool::in_use(&landscape, cleaned, entries).await?;
    pool.fill()?;
    refuse(&projects);
    pool.give_back().await?;
    pool.are_stuck(&[
        ("permission", &["Firewall in global is unknown", "denied", &format!("grant {RULES}")]),
        ("protected", &[MACHINE, "denied", &format!("grant {UNPROTECT}")]),
        ("throttled", &["us-central1 is unknown", "throttled", "it is listed again later"]),
        (
            "late",
            &[
                "Network networks/shoot--p--c in global",
                "networkInstances v-1 in europe-west1-b",
                "delete the blocker",
            ],
        ),
        ("machine", &[MACHINE, "INVALID_USAGE", "under maintenance"]),
    ])
    .await?;
    pool.only_is_handed_on("appears").await?;
    let [permission, protected, throttled, late, machine, appears] = &projects;
    assert!(!appears.has("disks", "late"), "it was seen, and deleted");
    permission.allow(RULES);
    protected.allow(UNPROTECT);
    throttled.throttle("regions/us-central1", 0);
    late.heal("networks", SHOOT);
    machine.heal("instances", MACHINE);
    pool.others_are_handed_on("appears").await?;
    for (name, project) in names.iter().zip(&projects) {
        let is_left =
            [("networks", SHOOT), ("instances", MACHINE), ("firewalls", "shoot--p--c-allow-health-checks")]
                .into_iter()
                .find(|(collection, item)| project.has(collection, item));
        assert_eq!(is_left, None, "{name}");
    }
    let log = pool.end().await?;
    assert!(log.has(&["not empty", "appears", "disks/late"]), "the second listing found it");
    Ok(())
}

fn refuse(projects: &[GcpProject; 6]) {
    let [permission, protected, throttled, late, machine, appears] = projects;
    permission.deny(RULES);
    protected.deny(UNPROTECT);
    throttled.throttle("regions/us-central1", u32::MAX);
    let id = late.id();
    let in_use = format!(
        "The network resource 'projects/{id}/global/networks/{SHOOT}' is already being used by \
         'projects/{id}/zones/europe-west1-b/networkInstances/v-1'"
    );
    late.slow(1, Duration::ZERO);
    late.fail_late("networks", SHOOT, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", &in_use);
    // Nobody waits for a machine for longer than two seconds before the next item.
    machine.slow_machines(Duration::from_millis(2200));
    machine.fail_late("instances", MACHINE, "INVALID_USAGE", "The machine is under maintenance.");
    // The first listing finds nothing; it appears before the second.
    appears.appear_at_list(2, "zones/us-central1-c", "disks", "late", json!({ "sizeGb": "10" }));
}
