//! Worker pools: the first one, which `infrastructure` itself describes, and `additionalWorkers`.

use super::{
    facts::{Facts, architecture},
    problem::{Findings, Problem},
    providers,
    scene::Scene,
    version::{newer_image, newest_image},
    zones::{self, Ask},
};
use allotment_api::{
    gardener::{MachineType, Worker},
    kyma::{Provider, Taint, Volume, WorkerPool},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The size of a disk where nobody says: what Kyma gives its nodes.
const DISK: &str = "80Gi";

/// The pools of a Shoot.
pub(super) struct Pools {
    /// In the order of the Cluster, the first one first.
    pub workers: Vec<Value>,
    /// The zones of all pools, those of the first one first.
    pub zones: Vec<String>,
}

/// A disk that was decided on.
#[derive(Clone)]
struct Disk {
    type_: Option<String>,
    size: String,
}

/// Renders all pools.
pub(super) fn pools(scene: &Scene<'_>, findings: &mut Findings) -> Option<Pools> {
    let infrastructure = scene.infrastructure;
    let name = first_name(scene);
    for (n, pool) in infrastructure.additional_workers.iter().enumerate() {
        if pool.name == name {
            let field = format!("spec.infrastructure.additionalWorkers[{n}].name");
            findings.problem(Problem::new(field, format!("{name} is the name of the first pool")));
        }
    }
    let field = "spec.infrastructure";
    let machine = findings.take(machine(scene, field, &infrastructure.machine_type));
    let disk = findings.take(disk(scene, field, infrastructure.volume.as_ref(), None));
    let (machine, disk) = (machine?, disk?);
    let number = usize::try_from(infrastructure.number_of_zones).unwrap_or(1);
    let others: Vec<&str> = infrastructure
        .additional_workers
        .iter()
        .filter(|pool| pool.zones.is_none())
        .map(|pool| pool.machine_type.as_str())
        .collect();
    let ask = ask(scene, field, name, machine, disk.as_ref(), infrastructure.zones.as_deref());
    let zones = zones::of_first_pool(scene, &ask, number, &others, findings)?;
    let first = Pool {
        name,
        machine,
        disk,
        nodes: [infrastructure.auto_scaler_min, infrastructure.auto_scaler_max],
        zones: &zones,
        labels: &infrastructure.labels,
        taints: &infrastructure.taints,
    };
    if infrastructure.auto_scaler_max < i32::try_from(zones.len()).unwrap_or(i32::MAX) {
        let what =
            format!("{} nodes are too few for {} zones: every zone needs one", first.nodes[1], zones.len());
        let field = "spec.infrastructure.autoScalerMax";
        findings.problem(Problem::new(field, what).allowed([format!("{} and more", zones.len())]));
    }
    let mut pools =
        Pools { workers: findings.take(first.render(scene)).into_iter().collect(), zones: zones.clone() };
    for (n, pool) in infrastructure.additional_workers.iter().enumerate() {
        further(scene, &first, (n, pool), &mut pools, findings);
    }
    Some(pools)
}

fn further(
    scene: &Scene<'_>,
    first: &Pool<'_>,
    (n, pool): (usize, &WorkerPool),
    pools: &mut Pools,
    findings: &mut Findings,
) -> Option<()> {
    let field = format!("spec.infrastructure.additionalWorkers[{n}]");
    let machine = findings.take(machine(scene, &field, &pool.machine_type))?;
    let disk = findings.take(disk(scene, &field, pool.volume.as_ref(), first.disk.as_ref()))?;
    let ask = ask(scene, &field, &pool.name, machine, disk.as_ref(), pool.zones.as_deref());
    let zones = zones::of_further_pool(scene, &ask, first.zones, findings)?;
    pools.zones.extend(zones.iter().filter(|zone| !first.zones.contains(zone)).cloned());
    // Several pools may share a zone that the first one is not in.
    let mut seen = std::collections::BTreeSet::new();
    pools.zones.retain(|zone| seen.insert(zone.clone()));
    let pool = Pool {
        name: &pool.name,
        machine,
        disk,
        nodes: [pool.auto_scaler_min, pool.auto_scaler_max],
        zones: &zones,
        labels: &pool.labels,
        taints: &pool.taints,
    };
    pools.workers.push(findings.take(pool.render(scene))?);
    Some(())
}

/// The name of the first pool: the configured one, but a live Shoot whose first pool has another name keeps that, since
/// another name is another pool and all nodes would go.
fn first_name<'a>(scene: &Scene<'a>) -> &'a str {
    let configured = scene.defaults.worker_name.as_str();
    let Some(live) = scene.live else { return configured };
    let further = |name: &str| scene.infrastructure.additional_workers.iter().any(|pool| pool.name == name);
    let mut names = live.provider.workers.iter().map(|worker| worker.name.as_str());
    if names.clone().any(|name| name == configured) {
        return configured;
    }
    names.find(|name| !further(name)).unwrap_or(configured)
}

fn ask<'a>(
    scene: &Scene<'a>,
    field: &'a str,
    name: &str,
    machine: &'a MachineType,
    disk: Option<&'a Disk>,
    named: Option<&'a [String]>,
) -> Ask<'a> {
    let live = scene.live_pool(name).map_or(&[][..], |worker| &worker.zones);
    Ask { field, machine: &machine.name, volume: disk.and_then(|disk| disk.type_.as_deref()), named, live }
}

fn machine<'a>(scene: &Scene<'a>, field: &str, name: &str) -> Result<&'a MachineType, Problem> {
    scene.facts.machine(name).ok_or_else(|| {
        let what =
            format!("CloudProfile {} has no machine type {name:?} to use", scene.defaults.cloud_profile);
        let all = scene.facts.machines().map(|machine| machine.name.as_str());
        Problem::new(format!("{field}.machineType"), what).allowed(all)
    })
}

/// The disk: what the pool says, else the first pool, else the configuration, else what fits the cloud. Machines of OpenStack
/// bring their own, so none is asked for there unless somebody does.
fn disk(
    scene: &Scene<'_>,
    field: &str,
    volume: Option<&Volume>,
    first: Option<&Disk>,
) -> Result<Option<Disk>, Problem> {
    let default = &scene.defaults.volume;
    let type_ = volume
        .and_then(|volume| volume.type_.clone())
        .or_else(|| first.and_then(|disk| disk.type_.clone()))
        .or_else(|| default.type_.clone());
    let size = volume
        .and_then(|volume| volume.size.clone())
        .or_else(|| first.map(|disk| disk.size.clone()))
        .or_else(|| default.size.clone());
    if scene.provider == Provider::Openstack && type_.is_none() && size.is_none() {
        return Ok(None);
    }
    let type_ = type_.or_else(|| usual_disk(scene.provider, scene.facts));
    let size = size.unwrap_or_else(|| DISK.to_owned());
    let Some(name) = &type_ else { return Ok(Some(Disk { type_, size })) };
    let Some(offered) = scene.facts.volumes().find(|volume| volume.name == *name) else {
        let what =
            format!("CloudProfile {} has no volume type {name:?} to use", scene.defaults.cloud_profile);
        let all = scene.facts.volumes().map(|volume| volume.name.as_str());
        return Err(Problem::new(format!("{field}.volume.type"), what).allowed(all));
    };
    let least = offered.min_size.as_deref().unwrap_or_default();
    match (gibibytes(&size), gibibytes(least)) {
        (Some(asked), Some(needed)) if asked < needed => {
            let what = format!("{size} is too small for {name}");
            Err(Problem::new(format!("{field}.volume.size"), what).allowed([format!("{least} and more")]))
        }
        _ => Ok(Some(Disk { type_, size })),
    }
}

fn usual_disk(provider: Provider, facts: Facts<'_>) -> Option<String> {
    let usual = match provider {
        Provider::Aws => "gp3",
        Provider::Azure => "StandardSSD_LRS",
        Provider::Gcp => "pd-balanced",
        Provider::Alicloud => "cloud_essd",
        Provider::Openstack => "",
    };
    let all: Vec<&str> = facts.volumes().map(|volume| volume.name.as_str()).collect();
    let found = all.iter().find(|name| **name == usual).or(all.first());
    found.map(|name| (*name).to_owned())
}

/// `None` for what is not written in Gi, which no comparison should refuse.
fn gibibytes(size: &str) -> Option<u64> {
    size.strip_suffix("Gi")?.parse().ok()
}

/// A pool that was decided on.
struct Pool<'a> {
    name: &'a str,
    machine: &'a MachineType,
    disk: Option<Disk>,
    nodes: [i32; 2],
    zones: &'a [String],
    labels: &'a BTreeMap<String, String>,
    taints: &'a [Taint],
}

impl Pool<'_> {
    fn render(&self, scene: &Scene<'_>) -> Result<Value, Problem> {
        let Self { name, machine, disk, nodes: [minimum, maximum], zones, labels, taints } = self;
        let live = scene.live_pool(name);
        let count = i32::try_from(zones.len()).unwrap_or(i32::MAX);
        let mut worker = Map::new();
        let mut put = |key: &str, value: Value| worker.insert(key.to_owned(), value);
        put("name", json!(name));
        put("minimum", json!(minimum));
        put("maximum", json!(maximum));
        put("maxSurge", json!(count.max(1)));
        put("maxUnavailable", json!(0));
        put("machine", self.machine_of(scene, live, machine)?);
        // Gardener wants a node in every zone for its own components; a pool that cannot promise that has none of them.
        put("systemComponents", json!({ "allow": *maximum >= count.max(1) }));
        if !zones.is_empty() {
            put("zones", json!(zones));
        }
        if let Some(Disk { type_, size }) = disk {
            let type_ = type_.as_ref().map(|type_| json!({ "type": type_, "size": size }));
            put("volume", type_.unwrap_or_else(|| json!({ "size": size })));
        }
        if !labels.is_empty() {
            put("labels", json!(labels));
        }
        if !taints.is_empty() {
            put("taints", json!(taints));
        }
        if scene.provider == Provider::Aws
            && let Some(config) = providers::worker_config(live.map(|live| live.provider_config.as_ref()))
        {
            put("providerConfig", config);
        }
        Ok(Value::Object(worker))
    }

    /// Of the image the name is always written, since Gardener labels the Shoot with it before it fills one in. The version
    /// is written only if one is configured: Gardener chooses it for a new pool, keeps what a live one has, and updates it
    /// in the maintenance window.
    fn machine_of(
        &self,
        scene: &Scene<'_>,
        live: Option<&Worker>,
        machine: &MachineType,
    ) -> Result<Value, Problem> {
        let architecture = architecture(machine);
        let configured = scene.defaults.machine_image.as_ref();
        let live = live.and_then(|live| live.machine.image.as_ref());
        let name = configured.map(|image| image.name.as_str()).or(live.map(|image| image.name.as_str()));
        let Some(name) = name.or_else(|| scene.facts.first_image(architecture)) else {
            let what = format!("no image of the CloudProfile is for its architecture, {architecture}");
            return Err(Problem::new("spec.infrastructure.machineType", what));
        };
        let least = configured.and_then(|image| image.version.as_deref());
        let version = match live {
            Some(live) if live.name == name => least.map(|least| {
                live.version.as_deref().map_or(least, |live| newer_image(live, least)).to_owned()
            }),
            // Another image: the version of the old one would stay beside the name of the new one.
            Some(_) => Some(image_version(scene, name, architecture, least)?),
            None if configured.is_some() => {
                let version = image_version(scene, name, architecture, least)?;
                least.is_some().then_some(version)
            }
            None => None,
        };
        let mut image = json!({ "name": name });
        if let Some(version) = version {
            image["version"] = json!(version);
        }
        Ok(json!({ "type": machine.name, "architecture": architecture, "image": image }))
    }
}

/// The configured version of an image, else its newest.
fn image_version(
    scene: &Scene<'_>,
    name: &str,
    architecture: &str,
    least: Option<&str>,
) -> Result<String, Problem> {
    let offered = scene.facts.images(name, architecture);
    let field = format!("clusters.providers.{}.machineImage", scene.provider);
    let Some(newest) = newest_image(&offered) else {
        let what =
            format!("CloudProfile {} has no image {name} for {architecture}", scene.defaults.cloud_profile);
        return Err(Problem::new(format!("{field}.name"), what));
    };
    match least {
        Some(least) if !offered.iter().any(|(version, _)| *version == least) => {
            let what = format!("there is no version {least} of {name} for {architecture}");
            let all = offered.iter().map(|(version, _)| version);
            Err(Problem::new(format!("{field}.version"), what).allowed(all))
        }
        least => Ok(least.unwrap_or(newest).to_owned()),
    }
}
