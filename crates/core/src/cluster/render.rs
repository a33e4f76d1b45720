//! Puts a Shoot together.

use super::{
    authentication::{self, Authentication},
    extensions,
    lists::{List, Wanted},
    maintenance, network,
    problem::{Findings, Note, Problem, Problems},
    providers::{self, Ground},
    scene::{Input, Scene},
    template::{self, references::Rights},
    version, workers,
};
use allotment_api::{
    kyma::{FailureTolerance, Provider},
    names::{annotation, label},
};
use serde_json::{Map, Value, json};

/// The restriction that keeps a Shoot to people and places with EU access.
const EU_ACCESS: &str = "eu-access-only";

/// A Shoot to be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The fields that are ours, for server-side apply. With a live Shoot it carries that one's UID, so that another one of
    /// the same name is not taken for it.
    pub shoot: Value,
    /// The ConfigMap that the Shoot refers to; it has to be there first.
    pub authentication: Option<Authentication>,
    /// What could not be done as asked.
    pub notes: Vec<Note>,
}

/// Renders the Shoot of a Cluster. The same input gives the same Shoot, and a live Shoot that was rendered gives itself.
///
/// # Errors
///
/// Everything that stops the rollout, all at once.
pub fn render(input: &Input<'_>) -> Result<Rendered, Problems> {
    let mut findings = Findings::default();
    let rendered = whole(*input, &mut findings);
    let Findings { problems, notes } = findings;
    match rendered {
        Some((shoot, authentication)) if problems.is_empty() => Ok(Rendered { shoot, authentication, notes }),
        _ => Err(Problems(problems)),
    }
}

fn whole(input: Input<'_>, findings: &mut Findings) -> Option<(Value, Option<Authentication>)> {
    let scene = &Scene::new(input, findings)?;
    let mut wanted = Wanted::default();
    let authentication = authentication::render(scene, findings);
    extensions::add(scene, &mut wanted, findings);
    restrict(scene, &mut wanted, findings);
    let kubernetes = kubernetes(scene, authentication.as_ref(), findings);
    let control_plane = control_plane(scene, findings);
    let maintenance = maintenance::render(scene, findings);
    let ranges = network::ranges(scene, findings);
    let pools = workers::pools(scene, findings);
    let (ranges, pools) = (ranges?, pools?);
    let ground = Ground { scene, nodes: ranges.nodes, zones: &pools.zones };
    let configs = providers::configs(&ground, findings)?;

    let defaults = scene.defaults;
    let mut spec = Map::new();
    let mut put = |key: &str, value: Value| spec.insert(key.to_owned(), value);
    put("cloudProfile", json!({ "kind": defaults.cloud_profile_kind, "name": defaults.cloud_profile }));
    put("credentialsBindingName", json!(input.binding));
    put("region", json!(scene.core.region));
    put("kubernetes", kubernetes?);
    put("networking", networking(scene, ranges, findings));
    put("maintenance", maintenance);
    put(
        "provider",
        json!({
            "type": scene.provider,
            "infrastructureConfig": configs.infrastructure,
            "controlPlaneConfig": configs.control_plane,
            "workers": pools.workers,
            "workersSettings": { "sshAccess": { "enabled": scene.all.ssh_access } },
        }),
    );
    if let Some(purpose) = &scene.core.purpose {
        put("purpose", json!(purpose.to_ascii_lowercase()));
    }
    if let Some(control_plane) = control_plane {
        put("controlPlane", control_plane);
    }
    if let Some(class) = &defaults.exposure_class {
        put("exposureClassName", json!(class));
    }
    let mut shoot = json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": metadata(&input),
        "spec": spec,
    });
    if let Some(patch) = &input.cluster.spec.shoot_template {
        let namespace = input.cluster.metadata.namespace.as_deref().unwrap_or_default();
        let rights = Rights::of(input.role, namespace, &input.clusters.references);
        template::apply(patch, &rights, &mut shoot, &mut wanted, findings);
        // A Shoot that somebody bent out of shape cannot be written into.
        if !findings.problems.is_empty() {
            return None;
        }
    }
    wanted.write(&mut shoot, input.live);
    Some((shoot, authentication))
}

fn metadata(input: &Input<'_>) -> Value {
    let of = &input.cluster.metadata;
    let cluster =
        format!("{}/{}", of.namespace.as_deref().unwrap_or_default(), of.name.as_deref().unwrap_or_default());
    let mut metadata = json!({
        "name": input.name,
        "namespace": input.namespace,
        "labels": { (label::SUBSCRIPTION_REQUEST): input.request },
        "annotations": { (annotation::CLUSTER): cluster },
    });
    if let Some(uid) = &of.uid {
        metadata["labels"][label::CLUSTER_UID] = json!(uid);
    }
    if let Some(uid) = input.live.and_then(|live| live.metadata.uid.as_ref()) {
        metadata["uid"] = json!(uid);
    }
    metadata
}

fn kubernetes(
    scene: &Scene<'_>,
    authentication: Option<&Authentication>,
    findings: &mut Findings,
) -> Option<Value> {
    // Gardener switches the autoscaler on by itself, but after it has filled in what goes with it: unless we say so too, what
    // it stores lacks that, and the next apply is a write.
    let autoscaler = scene.live.and_then(|live| live.kubernetes.vertical_pod_autoscaler.as_ref());
    let mut kubernetes = json!({
        "version": version::kubernetes(scene, findings)?,
        "verticalPodAutoscaler": { "enabled": autoscaler.is_none_or(|live| live.enabled) },
    });
    if let Some(Authentication { name, .. }) = authentication {
        kubernetes["kubeAPIServer"] = json!({ "structuredAuthentication": { "configMapName": name } });
    }
    Some(kubernetes)
}

fn networking(scene: &Scene<'_>, ranges: network::Ranges, findings: &mut Findings) -> Value {
    let live = scene.live.and_then(|live| live.networking.as_ref());
    let type_ = live.and_then(|live| live.type_.as_ref()).unwrap_or(&scene.defaults.networking);
    let dual = scene.infrastructure.networking.as_ref().and_then(|networking| networking.dual_stack);
    if dual == Some(true) && !matches!(scene.provider, Provider::Aws | Provider::Gcp) {
        let what = format!("{} has no IPv6 for Shoots", scene.provider);
        findings.problem(Problem::new("spec.infrastructure.networking.dualStack", what).allowed([false]));
    }
    let families = match (dual, live.map(|live| live.ip_families.as_slice())) {
        (None, Some(live)) if !live.is_empty() => json!(live),
        (Some(true), _) => json!(["IPv4", "IPv6"]),
        _ => json!(["IPv4"]),
    };
    let network::Ranges { nodes, pods, services } = ranges;
    json!({ "type": type_, "nodes": nodes, "pods": pods, "services": services, "ipFamilies": families })
}

/// Once a Shoot is highly available, it stays so in the same way.
fn control_plane(scene: &Scene<'_>, findings: &mut Findings) -> Option<Value> {
    let live = scene.live.and_then(|live| live.control_plane.as_ref()?.high_availability.as_ref());
    let live = live.map(|live| live.failure_tolerance.type_.as_str());
    let asked = scene.infrastructure.high_availability.map(|asked| match asked {
        FailureTolerance::Node => "node",
        FailureTolerance::Zone => "zone",
    });
    if let (Some(live), Some(asked)) = (live, asked)
        && live != asked
    {
        let what = format!("the control plane survives the loss of a {live}, which cannot change");
        findings.problem(Problem::new("spec.infrastructure.highAvailability", what).allowed([live]));
    }
    let type_ = live.or(asked)?;
    Some(json!({ "highAvailability": { "failureTolerance": { "type": type_ } } }))
}

fn restrict(scene: &Scene<'_>, wanted: &mut Wanted, findings: &mut Findings) {
    let platform = scene.core.platform_region.as_ref();
    let promised = platform.is_some_and(|platform| scene.all.eu_access.contains(platform));
    if scene.infrastructure.eu_access != Some(true) && !promised {
        return;
    }
    let offers = |region: &allotment_api::gardener::Region| {
        region.access_restrictions.iter().any(|restriction| restriction.name == EU_ACCESS)
    };
    if !offers(scene.region) {
        let what = format!("{} does not offer {EU_ACCESS}, which is asked for", scene.region.name);
        let regions = scene.facts.profile.regions.iter().filter(|region| offers(region));
        let names = regions.map(|region| region.name.as_str());
        findings.problem(Problem::new("spec.core.region", what).allowed(names));
    }
    wanted.put(List::AccessRestrictions, json!({ "name": EU_ACCESS }));
}
