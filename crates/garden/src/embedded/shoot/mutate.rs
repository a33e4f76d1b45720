//! What a Shoot gets from the garden: labels, tolerations, tasks.

use super::super::{
    facts::{Facts, project_of},
    json::{annotate, annotation, at, items, labels, put, put_default, remove, text, unannotate},
    kinds::CORE,
    refusals::{aggregate, bare_error},
};
use super::{completion, defaults, forbid, version::Version};
use allotment_api::gardener::names;
use allotment_apiserver::{error::ApiError, extension::Write};
use serde_json::{Value, json};

const TASKS: &str = "shoot.gardener.cloud/tasks";
const CREATED_BY: &str = "gardener.cloud/created-by";
const CONFIRMED_BY: &str = "deletion.gardener.cloud/confirmed-by";
const DNS_TASKS: [&str; 3] = ["deployDNSRecordInternal", "deployDNSRecordExternal", "deployDNSRecordIngress"];
const EXTENSION_LABELS: [&str; 7] = [
    "extensions.extensions.gardener.cloud/",
    "provider.extensions.gardener.cloud/",
    "dnsrecord.extensions.gardener.cloud/",
    "networking.extensions.gardener.cloud/",
    "operatingsystemconfig.extensions.gardener.cloud/",
    "containerruntime.extensions.gardener.cloud/",
    "selfhostedshootexposure.extensions.gardener.cloud/",
];

/// Makes the changes, in the order of the admission plugins.
pub(super) fn admit(write: &mut Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    extension_labels(write.new);
    if write.old.is_none() {
        tolerations(write, facts)?;
    }
    unknown_places(write)?;
    from_profile(write, facts)?;
    confirmation(write);
    if write.old.is_none() && !super::workers(write.new).is_empty() {
        put_default(write.new, "/spec/kubernetes/verticalPodAutoscaler", json!({ "enabled": true }));
        defaults::vertical_pod_autoscaler(write.new);
    }
    if !super::workers(write.new).is_empty() && text(write.new, "/metadata/deletionTimestamp").is_empty() {
        for (resource, quantity) in [("cpu", "80m"), ("memory", "1Gi"), ("pid", "20k")] {
            put_default(
                write.new,
                &format!("/spec/kubernetes/kubelet/kubeReserved/{resource}"),
                json!(quantity),
            );
        }
    }
    Ok(())
}

/// Labels that say which extensions a Shoot needs, so that it can be found by them.
pub(super) fn extension_labels(shoot: &mut Value) {
    let mut wanted =
        vec![format!("provider.extensions.gardener.cloud/{}", text(shoot, "/spec/provider/type"))];
    if let Some(network) = at(shoot, "/spec/networking/type").and_then(Value::as_str) {
        wanted.push(format!("networking.extensions.gardener.cloud/{network}"));
    }
    for extension in items(shoot, "/spec/extensions") {
        if at(extension, "/disabled") != Some(&json!(true)) {
            wanted.push(format!("extensions.extensions.gardener.cloud/{}", text(extension, "/type")));
        }
    }
    for worker in super::workers(shoot) {
        if let Some(image) = at(worker, "/machine/image") {
            wanted.push(format!("operatingsystemconfig.extensions.gardener.cloud/{}", text(image, "/name")));
        }
        for runtime in items(worker, "/cri/containerRuntimes") {
            wanted.push(format!("containerruntime.extensions.gardener.cloud/{}", text(runtime, "/type")));
        }
    }
    for provider in items(shoot, "/spec/dns/providers") {
        if let Some(kind) = at(provider, "/type").and_then(Value::as_str).filter(|kind| *kind != "unmanaged")
        {
            wanted.push(format!("dnsrecord.extensions.gardener.cloud/{kind}"));
        }
    }
    let labels = labels(shoot);
    labels.retain(|name, _| !EXTENSION_LABELS.iter().any(|prefix| name.starts_with(prefix)));
    labels.extend(wanted.into_iter().map(|name| (name, json!("true"))));
}

/// Tolerations that the project gives to each of its Shoots.
fn tolerations(write: &mut Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    let namespace = text(write.new, "/metadata/namespace").to_owned();
    let project = project_of(facts, &namespace).ok_or_else(|| forbid(write, NO_PROJECT))?;
    let mut tolerations = items(write.new, "/spec/tolerations").to_vec();
    for default in items(&project, "/spec/tolerations/defaults") {
        if !tolerations.iter().any(|known| text(known, "/key") == text(default, "/key")) {
            tolerations.push(default.clone());
        }
    }
    if !tolerations.is_empty() {
        put(write.new, "/spec/tolerations", json!(tolerations));
    }
    Ok(())
}

pub(super) const NO_PROJECT: &str = "Internal error occurred: could not find referenced project: Project.core.gardener.cloud \"<unknown>\" not found";

/// Seeds and exposure classes are not served here, so there is none of any name.
fn unknown_places(write: &Write<'_>) -> Result<(), ApiError> {
    if let Some(class) = at(write.new, "/spec/exposureClassName").and_then(Value::as_str) {
        return Err(forbid(write, format!("exposureclass.core.gardener.cloud {class:?} not found")));
    }
    match at(write.new, "/spec/seedName").and_then(Value::as_str) {
        None => Ok(()),
        Some(seed) => Err(bare_error(format!(
            "error retrieving default domains: Internal error occurred: could not get seed {seed}: seed.core.gardener.cloud {seed:?} not found"
        ))),
    }
}

/// What the CloudProfile decides: versions, images, architectures.
fn from_profile(write: &mut Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    let shoot = &*write.new;
    let both = !text(shoot, "/spec/cloudProfileName").is_empty() && at(shoot, "/spec/cloudProfile").is_some();
    if write.old.is_none() && both {
        return Err(bare_error(
            "new shoot can only specify either cloudProfileName or cloudProfile reference",
        ));
    }
    let Some(profile) = cloud_profile(shoot, facts)? else { return Ok(()) };
    tasks(write);
    if write.old.is_none() {
        let rotation = "/spec/maintenance/autoRotation/credentials/etcdEncryptionKey";
        put_default(write.new, rotation, json!({ "rotationPeriod": "672h0m0s" }));
    }
    let mut errors = completion::kubernetes_versions(write.new, &profile, write.now);
    completion::architectures(write.new, &profile);
    if text(write.new, "/metadata/deletionTimestamp").is_empty() {
        errors.extend(completion::machine_images(write.new, write.old, &profile, write.now));
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(forbid(write, aggregate(&errors))),
    }
}

/// The spec of the CloudProfile that a Shoot names, if it names one.
pub(super) fn cloud_profile(shoot: &Value, facts: &dyn Facts) -> Result<Option<Value>, ApiError> {
    let missing =
        |why: String| Err(ApiError::internal(format!("could not find referenced cloud profile: {why}")));
    let Some((kind, name)) = profile_reference(shoot) else { return Ok(None) };
    match kind {
        "CloudProfile" => match facts.get(CORE, "cloudprofiles", "", name) {
            Some(profile) => Ok(at(&profile, "/spec").cloned()),
            None => missing(format!("cloudprofile.core.gardener.cloud {name:?} not found")),
        },
        "NamespacedCloudProfile" => {
            missing(format!("namespacedcloudprofile.core.gardener.cloud {name:?} not found"))
        }
        kind => missing(format!("could not find referenced cloud profile with kind {kind:?}")),
    }
}

/// Kind and name of the CloudProfile that a Shoot names, in either field.
pub(super) fn profile_reference(shoot: &Value) -> Option<(&str, &str)> {
    match at(shoot, "/spec/cloudProfile") {
        Some(reference) => {
            let kind = at(reference, "/kind").and_then(Value::as_str).filter(|kind| !kind.is_empty());
            Some((kind.unwrap_or("CloudProfile"), text(reference, "/name")))
        }
        None => {
            at(shoot, "/spec/cloudProfileName").and_then(Value::as_str).map(|name| ("CloudProfile", name))
        }
    }
}

/// What has to be done by the next reconciliation that is not done by each.
fn tasks(write: &mut Write<'_>) {
    let infrastructure = ["deployInfrastructure"];
    let Some(old) = write.old else {
        annotate(write.new, CREATED_BY, &write.user.name);
        add_tasks(write.new, &infrastructure);
        return add_tasks(write.new, &DNS_TASKS);
    };
    let hibernates = |shoot: &Value| super::super::json::is_true(shoot, "/spec/hibernation/enabled");
    let changed = |pointer: &str| at(write.new, pointer) != at(old, pointer);
    let wakes = hibernates(old) && !hibernates(write.new);
    let dns = changed("/spec/dns");
    let rebuilt = changed("/spec/provider/infrastructureConfig")
        || changed("/spec/provider/workersSettings/sshAccess/enabled");
    if wakes || rebuilt {
        add_tasks(write.new, &infrastructure);
    }
    if wakes || dns {
        add_tasks(write.new, &DNS_TASKS);
    }
}

fn add_tasks(shoot: &mut Value, tasks: &[&str]) {
    let mut list: Vec<String> =
        annotation(shoot, TASKS).split(',').filter(|task| !task.is_empty()).map(str::to_owned).collect();
    for task in tasks {
        if !list.iter().any(|known| known == task) {
            list.push((*task).to_owned());
        }
    }
    annotate(shoot, TASKS, &list.join(","));
}

/// Who confirmed a deletion is put down, for projects where somebody else must do it.
fn confirmation(write: &mut Write<'_>) {
    let confirmed = |shoot: &Value| super::deletion::is_confirmed(annotation(shoot, names::CONFIRM_DELETION));
    match (write.old, confirmed(write.new)) {
        (_, false) => unannotate(write.new, CONFIRMED_BY),
        (Some(old), true) if confirmed(old) => {
            let by = annotation(old, CONFIRMED_BY).to_owned();
            annotate(write.new, CONFIRMED_BY, &by);
        }
        (_, true) => annotate(write.new, CONFIRMED_BY, &write.user.name),
    }
}

/// Keeps the two fields that name a CloudProfile together, as long as there are two.
pub(super) fn sync_cloud_profile(shoot: &mut Value, old: Option<&Value>) {
    if !text(shoot, "/metadata/deletionTimestamp").is_empty() {
        return;
    }
    let name = at(shoot, "/spec/cloudProfileName").and_then(Value::as_str).map(str::to_owned);
    let one_field = Version::at_least(text(shoot, "/spec/kubernetes/version"), 1, 34);
    if !one_field
        && at(shoot, "/spec/cloudProfile").is_none()
        && let Some(name) = &name
    {
        put(shoot, "/spec/cloudProfile", json!({ "kind": "CloudProfile", "name": name }));
    }
    if at(shoot, "/spec/cloudProfile").is_some() {
        put_default(shoot, "/spec/cloudProfile/kind", json!("CloudProfile"));
    }
    let (kind, profile) =
        (text(shoot, "/spec/cloudProfile/kind"), text(shoot, "/spec/cloudProfile/name").to_owned());
    let Some(name) = name.filter(|_| kind == "CloudProfile") else { return };
    let unchanged = old.is_some_and(|old| text(old, "/spec/cloudProfileName") == name);
    if one_field && unchanged && name == profile {
        remove(shoot, "/spec/cloudProfileName");
    } else if !one_field && !name.is_empty() && name != profile {
        put(shoot, "/spec/cloudProfileName", json!(profile));
    }
}
