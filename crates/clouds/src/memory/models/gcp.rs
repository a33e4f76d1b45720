//! Google Cloud: a new project has a default network with a subnetwork in each region; networks are in no region.

use crate::memory::{
    GOES_WITH_HOLDER, HOLDS, Nature,
    model::{Codes, Model, Permissions, States, Witness},
    shoot::{Shoot, item, named, ordinary},
};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Item, Place,
    attribute::{DEFAULT, NETWORK, PRINCIPAL, PRISTINE, ROUTER, STATE},
};
use std::time::Duration;

pub(in crate::memory) static MODEL: Model = Model {
    cloud: CloudName::Gcp,
    codes: Codes {
        revoked: "Unauthorized",
        denied: "PERMISSION_DENIED",
        no_account: "notFound",
        no_place: "invalid",
        blocked: "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE",
        blocked_globally: "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE",
        managed: "resourceInUseByAnotherResource",
        inseparable: "invalidUsage",
    },
    permissions: Permissions { identify: "compute.projects.get", places: "compute.regions.list" },
    states: States {
        leaving: "DELETING",
        leaving_of: &[],
        gone_of: &[],
        shown_when_gone: Duration::ZERO,
        held: &[],
    },
    witness: Witness::Numbers {
        // The type of a disk decides which of the two has it, and no rule reads the type: here both have every disk.
        sums: &[
            ("region.CPUS", CPUS),
            ("region.DISKS_TOTAL_GB", GIGABYTES),
            ("region.SSD_TOTAL_GB", GIGABYTES),
        ],
        without_row: &[("project.INTERCONNECTS", "Interconnect")],
    },
    in_same_network: &[],
    principal,
    of_account: items_of_account,
    of_place: items_of_place,
    of_shoot: leftovers,
};

const CPUS: &str = "cpus";
const GIGABYTES: &str = "gigabytes";

/// The attributes by which items refer to others.
const SUBNETWORK: &str = "subnetwork";
const TARGET: &str = "target";
const HEALTH_CHECK: &str = "healthCheck";
const BACKEND: &str = "backend";
const ADDRESS: &str = "address";

const INSTANCE_TAKES: Duration = Duration::from_secs(45);
const DISK_TAKES: Duration = Duration::from_secs(5);

/// The firewall rules of a new default network.
const RULES: [&str; 4] =
    ["default-allow-icmp", "default-allow-internal", "default-allow-rdp", "default-allow-ssh"];

fn principal(account: &CloudAccountId) -> String {
    format!("gardener@{account}.iam.gserviceaccount.com")
}

/// An item whose name is the end of its path.
fn at(kind: &'static str, place: &Place, path: impl Into<String>) -> Item {
    let path = path.into();
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    named(item(kind, place, path), name)
}

fn items_of_account(account: &CloudAccountId) -> Vec<Item> {
    let global = |kind, path: &str| at(kind, &Place::GLOBAL, path);
    let service_account = |email: String| {
        let name = email.split('@').next().unwrap_or_default().to_owned();
        named(item("ServiceAccount", &Place::GLOBAL, email.as_str()).with(PRINCIPAL, email), name)
    };
    let mut items = vec![
        global("Network", "networks/default").with(DEFAULT, "true"),
        global("Route", "routes/default-route-out").with(NETWORK, "networks/default").with(DEFAULT, "true"),
        service_account(principal(account)),
        service_account(format!("{account}-compute@developer.gserviceaccount.com")).with(DEFAULT, "true"),
        global("ProjectMetadata", "commonInstanceMetadata/enable-oslogin").with(PRISTINE, "true"),
    ];
    items.extend(RULES.map(|rule| {
        let rule = global("Firewall", &format!("firewalls/{rule}"));
        rule.with(NETWORK, "networks/default").with(PRISTINE, "true")
    }));
    items
}

fn items_of_place(_: &CloudAccountId, place: &Place) -> Vec<Item> {
    let subnetwork = at("Subnetwork", place, "subnetworks/default");
    vec![subnetwork.with(NETWORK, "networks/default").with(DEFAULT, "true")]
}

fn leftovers(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    [network(shoot), gateway(shoot), machine(shoot), balancers(shoot), identity(shoot)].concat()
}

fn network_id(shoot: &Shoot<'_>) -> String {
    format!("networks/{}", shoot.technical_id)
}

/// An item in the network of the Shoot, in a place.
fn in_network(shoot: &Shoot<'_>, kind: &'static str, place: &Place, path: String) -> Item {
    at(kind, place, path).with(NETWORK, network_id(shoot))
}

fn path(shoot: &Shoot<'_>, collection: &str, suffix: &str) -> String {
    format!("{collection}/{}", shoot.name(suffix))
}

/// The same for an item in a zone.
fn zonal(shoot: &Shoot<'_>, collection: &str, suffix: &str) -> String {
    format!("{}-b/{collection}/{}", shoot.place, shoot.name(suffix))
}

fn network(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let global = |kind, path| in_network(shoot, kind, &Place::GLOBAL, path);
    let rule = |suffix| global("Firewall", path(shoot, "firewalls", suffix));
    let subnetwork =
        |suffix| in_network(shoot, "Subnetwork", shoot.place, path(shoot, "subnetworks", suffix));
    ordinary(vec![
        at("Network", &Place::GLOBAL, network_id(shoot)),
        subnetwork("nodes"),
        subnetwork("internal"),
        rule("allow-internal-access"),
        rule("allow-external-access"),
        global("Firewall", format!("firewalls/k8s-fw-{}", shoot.technical_id)),
        global("Route", path(shoot, "routes", "default")).with(DEFAULT, "true"),
        global("Route", path(shoot, "routes", "pods-of-node")),
    ])
}

fn gateway(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (router, address) = (path(shoot, "routers", "cloud-router"), path(shoot, "addresses", "nat"));
    let nat = at("RouterNat", shoot.place, format!("{router}/nats/{}", shoot.name("cloud-nat")))
        .with(ROUTER, router.as_str())
        .with(ADDRESS, address.as_str());
    ordinary(vec![in_network(shoot, "Router", shoot.place, router), nat, at("Address", shoot.place, address)])
}

/// An instance with its disk, and the disk of a workload, which stays, with a snapshot.
fn machine(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (root, data) = (zonal(shoot, "disks", "root"), zonal(shoot, "disks", "pvc-data"));
    let instance = in_network(shoot, "Instance", shoot.place, zonal(shoot, "instances", "node"))
        .with(SUBNETWORK, path(shoot, "subnetworks", "nodes"))
        .with(STATE, "RUNNING")
        .with(CPUS, "4")
        .with(HOLDS, format!("{root},{data}"));
    let disk = |path: String| at("Disk", shoot.place, path).with(GIGABYTES, "50").with(STATE, "READY");
    vec![
        (instance, Nature::slow(INSTANCE_TAKES)),
        (disk(root).with(GOES_WITH_HOLDER, "true"), Nature::default()),
        (disk(data), Nature::slow(DISK_TAKES)),
        (at("Snapshot", &Place::GLOBAL, path(shoot, "snapshots", "pvc-data")), Nature::default()),
    ]
}

/// A load balancer to the outside, and one within the network, each from its forwarding rule to its health check.
fn balancers(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let (pool, check) = (path(shoot, "targetPools", "app"), path(shoot, "httpHealthChecks", "app"));
    let (service, group) = (path(shoot, "backendServices", "inner"), zonal(shoot, "instanceGroups", "ig"));
    let inner_check = path(shoot, "healthChecks", "inner");
    let inner = in_network(shoot, "ForwardingRule", shoot.place, path(shoot, "forwardingRules", "inner"))
        .with(SUBNETWORK, path(shoot, "subnetworks", "internal"))
        .with(BACKEND, service.as_str());
    ordinary(vec![
        at("ForwardingRule", shoot.place, path(shoot, "forwardingRules", "app")).with(TARGET, pool.as_str()),
        at("TargetPool", shoot.place, pool).with(HEALTH_CHECK, check.as_str()),
        at("HttpHealthCheck", &Place::GLOBAL, check),
        inner,
        at("RegionBackendService", shoot.place, service)
            .with(BACKEND, group.as_str())
            .with(HEALTH_CHECK, inner_check.as_str()),
        in_network(shoot, "InstanceGroup", shoot.place, group),
        at("RegionHealthCheck", shoot.place, inner_check),
    ])
}

fn identity(shoot: &Shoot<'_>) -> Vec<(Item, Nature)> {
    let email = format!("{}@{}.iam.gserviceaccount.com", shoot.technical_id, shoot.account);
    let account = item("ServiceAccount", &Place::GLOBAL, email.as_str()).with(PRINCIPAL, email);
    let keys = at(
        "ProjectMetadata",
        &Place::GLOBAL,
        format!("commonInstanceMetadata/keys-of-{}", shoot.technical_id),
    );
    ordinary(vec![named(account, shoot.technical_id), keys])
}
