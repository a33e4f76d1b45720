//! The Shoot of a Cluster: the template of its ProviderConfig, its ClusterConfigs over that, and what the provider itself says.
//!
//! It is made from a clean base each time and applied by server-side apply: the same input gives the same Shoot, a patch that
//! adds to a list adds once, and what is no longer asked for goes.

use super::patch;
use crate::{
    cluster::{
        Problem, Problems, Stage,
        applied::stamp,
        lists::{List, Wanted},
        problem::Findings,
        template::{
            check::{Judge, Writer},
            references::Rights,
            take_list,
        },
        version::{Change, Version, changed, fresh, newer_image},
    },
    openmcp::{instance::Instance, names::label_value},
};
use allotment_api::{
    gardener::Shoot,
    openmcp::{
        Cluster, SupportedVersion,
        gardener::{
            ClusterConfig, ProviderConfig, ShootExtension,
            names::{OIDC_EXTENSION, label},
        },
        names::METADATA_PREFIX,
    },
};
use serde_json::{Map, Value, json};

/// What every Shoot of the provider has, as upstream's have, unless the template says otherwise; an empty text leaves it out.
/// Not every Gardener has managed issuers, and one that has not refuses a Shoot that asks for them.
const ANNOTATIONS: [(&str, &str); 2] = [
    ("shoot.gardener.cloud/cleanup-extended-apis-finalize-grace-period-seconds", "30"),
    ("authentication.gardener.cloud/issuer", "managed"),
];

/// What neither a template nor a patch may say.
const PROTECTED: [(&str, &str); 10] = [
    ("/apiVersion", "it is a Shoot"),
    ("/kind", "it is a Shoot"),
    ("/metadata/name", "the Cluster decides"),
    ("/metadata/namespace", "the project decides"),
    ("/metadata/generateName", "the Cluster decides"),
    ("/metadata/uid", "it tells this Shoot from others"),
    ("/metadata/resourceVersion", "the provider decides"),
    ("/metadata/finalizers", "they are others' to set"),
    ("/metadata/ownerReferences", "the Shoot has no owner in the garden"),
    ("/status", "it is Gardener's"),
];

/// Gardener takes these off once it has done what they say, so applying them would never come to an end.
const OPERATIONS: [&str; 2] = ["gardener.cloud/operation", "shoot.gardener.cloud/tasks"];

/// What a Shoot is rendered from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    /// What ClusterConfigs may change.
    pub(super) rights: &'a Rights<'a>,
    pub(super) instance: &'a Instance,
    pub(super) cluster: &'a Cluster,
    pub(super) config: &'a ProviderConfig,
    pub(super) cluster_configs: &'a [&'a ClusterConfig],
    pub(super) versions: &'a [SupportedVersion],
    pub(super) live: Option<&'a Shoot>,
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
}

/// A Shoot to be applied.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rendered {
    pub(super) shoot: Value,
    /// What could not be done as asked, and does not stop anything.
    pub(super) notes: Vec<String>,
}

/// Renders.
pub(super) fn render(input: &Input<'_>) -> Result<Rendered, Problems> {
    let mut findings = Findings::default();
    let mut notes = Vec::new();
    let rendered = whole(input, &mut findings, &mut notes);
    match rendered {
        Some(shoot) if findings.problems.is_empty() => Ok(Rendered { shoot, notes }),
        _ => Err(Problems(findings.problems)),
    }
}

fn whole(input: &Input<'_>, findings: &mut Findings, notes: &mut Vec<String>) -> Option<Value> {
    let mut shoot = base(input, findings)?;
    for config in input.cluster_configs {
        let before = shoot.clone();
        configure(&mut shoot, config, findings);
        let writer = Writer::ClusterConfig(config.metadata.name.as_deref().unwrap_or_default());
        Judge { writer, rights: input.rights }.shoot(&before, &shoot, findings);
        // The next one relies on it.
        shape(&shoot, findings)?;
    }
    check(input, &shoot, findings);
    shape(&shoot, findings)?;
    mark(input, &mut shoot);
    let version = findings.take(version(input, &shoot, notes))?;
    shoot["spec"]["kubernetes"]["version"] = json!(version);
    // The digest is of what is asked for: what follows comes from the live Shoot.
    stamp(&mut shoot);
    if let Some(live) = input.live {
        keep(&mut shoot, live);
    }
    let mut wanted = Wanted::default();
    for list in List::ALL {
        take_list(&mut shoot, list, findings).into_iter().for_each(|entry| wanted.put(list, entry));
    }
    wanted.write(&mut shoot, input.live);
    if let Some(uid) = input.live.and_then(|live| live.metadata.uid.as_ref()) {
        shoot["metadata"]["uid"] = json!(uid);
    }
    Some(shoot)
}

/// The template, with what the ProviderConfig enforces.
fn base(input: &Input<'_>, findings: &mut Findings) -> Option<Value> {
    let template = &input.config.spec.shoot_template;
    let Some(spec) = template.get("spec").filter(|spec| spec.is_object()) else {
        let what = "the template has no spec";
        findings.problem(Problem::new("shootTemplate.spec", what));
        return None;
    };
    let mut shoot = json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {
            "name": input.name,
            "namespace": input.namespace,
            "labels": texts(template, "/metadata/labels"),
            "annotations": texts(template, "/metadata/annotations"),
        },
        "spec": spec,
    });
    shape(&shoot, findings)?;
    let update = &mut shoot["spec"]["maintenance"]["autoUpdate"];
    // An image is what the template says; without this Gardener would bring another one, and each would undo the other's.
    update["machineImageVersion"] = json!(false);
    if update.get("kubernetesVersion").is_none() {
        update["kubernetesVersion"] = json!(true);
    }
    let enforced = input.config.spec.enforced_shoot_extensions.clone();
    let oidc =
        || vec![ShootExtension { type_: OIDC_EXTENSION.to_owned(), provider_config: None, disabled: None }];
    enforced.unwrap_or_else(oidc).iter().for_each(|extension| enforce(&mut shoot, extension));
    Some(shoot)
}

/// An extension that every Shoot has. How it is configured may be in the template.
fn enforce(shoot: &mut Value, extension: &ShootExtension) {
    let entries = list(shoot, "extensions");
    match entries.iter_mut().find(|entry| entry["type"] == extension.type_) {
        Some(entry) if extension.provider_config.is_none() && extension.disabled.is_none() => {
            entry.as_object_mut().map(|entry| entry.remove("disabled"));
        }
        Some(entry) => *entry = json!(extension),
        None => entries.push(json!(extension)),
    }
}

fn configure(shoot: &mut Value, config: &ClusterConfig, findings: &mut Findings) {
    let mut put = |name: &str, key: &str, entry: Value| {
        let entries = list(shoot, name);
        match entries.iter_mut().find(|other| other[key] == entry[key]) {
            Some(other) => *other = entry,
            None => entries.push(entry),
        }
    };
    config.spec.extensions.iter().for_each(|extension| put("extensions", "type", json!(extension)));
    config.spec.resources.iter().for_each(|resource| put("resources", "name", json!(resource)));
    let options = config.spec.patch_options.unwrap_or_default();
    if let Err(why) = patch::apply(shoot, &config.spec.patches, options) {
        let name = config.metadata.name.as_deref().unwrap_or_default();
        findings.problem(Problem::new(format!("ClusterConfig {name}"), why));
    }
}

/// A list below `spec`, made where it is missing.
fn list<'a>(shoot: &'a mut Value, name: &str) -> &'a mut Vec<Value> {
    let place = &mut shoot["spec"][name];
    if !place.is_array() {
        *place = Value::Array(Vec::new());
    }
    match place {
        Value::Array(entries) => entries,
        _ => unreachable!("it was just made a list"),
    }
}

/// Whether what has to be an object is one. Gardener would refuse anything else; here it would be in the way before.
fn shape(shoot: &Value, findings: &mut Findings) -> Option<()> {
    let is_fine = |pointer: &str, is_needed: bool| match shoot.pointer(pointer) {
        None | Some(Value::Null) => !is_needed,
        Some(value) => value.is_object(),
    };
    let needed = ["/metadata", "/spec", "/spec/provider"].map(|pointer| (pointer, true));
    let optional = [
        "/metadata/labels",
        "/metadata/annotations",
        "/spec/kubernetes",
        "/spec/maintenance",
        "/spec/maintenance/autoUpdate",
        "/spec/dns",
    ];
    let all = needed.into_iter().chain(optional.map(|pointer| (pointer, false)));
    let bad: Vec<&str> = all
        .filter(|(pointer, is_needed)| !is_fine(pointer, *is_needed))
        .map(|(pointer, _)| pointer)
        .collect();
    for pointer in &bad {
        let field = pointer.trim_start_matches('/').replace('/', ".");
        findings.problem(Problem::new(field, "must be an object"));
    }
    bad.is_empty().then_some(())
}

fn check(input: &Input<'_>, shoot: &Value, findings: &mut Findings) {
    let plain = json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": { "name": input.name, "namespace": input.namespace },
    });
    for (pointer, instead) in PROTECTED {
        if plain.pointer(pointer) != shoot.pointer(pointer) {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            findings.problem(Problem::new(field, format!("may not be patched: {instead}")));
        }
    }
    for key in OPERATIONS {
        if shoot["metadata"]["annotations"].get(key).is_some() {
            let what = format!("may not set {key}: Gardener takes it off, and it would be set for ever");
            findings.problem(Problem::new("metadata.annotations", what));
        }
    }
}

/// Labels and annotations: the Cluster's own that are passed on, over them the template's, over them ours.
fn mark(input: &Input<'_>, shoot: &mut Value) {
    let Input { instance, cluster, .. } = input;
    let metadata = &cluster.metadata;
    let passed_on = |all: Option<&std::collections::BTreeMap<String, String>>| -> Map<String, Value> {
        let passed_on = all.into_iter().flatten().filter(|(key, _)| key.starts_with(METADATA_PREFIX));
        passed_on.map(|(key, value)| (key.clone(), json!(value))).collect()
    };
    let name = |name: &Option<String>| label_value(name.as_deref().unwrap_or_default());
    let mut labels = passed_on(metadata.labels.as_ref());
    labels.extend(texts(shoot, "/metadata/labels"));
    for (key, value) in [
        (label::CLUSTER_NAME, name(&metadata.name)),
        (label::CLUSTER_NAMESPACE, name(&metadata.namespace)),
        (label::PROVIDER_NAME, label_value(&instance.provider)),
        (label::ENVIRONMENT, label_value(&instance.environment)),
        (label::CLUSTER_UID, metadata.uid.clone().unwrap_or_default()),
    ] {
        labels.insert(key.to_owned(), json!(value));
    }
    let mut annotations = passed_on(metadata.annotations.as_ref());
    annotations.extend(texts(shoot, "/metadata/annotations"));
    for (key, value) in ANNOTATIONS {
        annotations.entry(key).or_insert_with(|| json!(value));
    }
    annotations.retain(|key, value| *value != "" || !ANNOTATIONS.iter().any(|(ours, _)| ours == key));
    shoot["metadata"]["labels"] = Value::Object(labels);
    shoot["metadata"]["annotations"] = Value::Object(annotations);
}

/// The version that the Cluster asks for, else the template's, else the best there is; never one below the live one.
fn version(input: &Input<'_>, shoot: &Value, notes: &mut Vec<String>) -> Result<String, Problem> {
    const FIELD: &str = "spec.kubernetes.version";
    let asked = input.cluster.spec.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref());
    let asked = asked.filter(|asked| !asked.is_empty());
    let offered: Vec<(Version, Stage)> = input.versions.iter().filter_map(offered).collect();
    let of_template = shoot.pointer("/spec/kubernetes/version").and_then(Value::as_str);
    let live = input.live.and_then(|live| live.spec.kubernetes.version.as_deref());
    // What the template says is not limited to what is offered to Clusters: Gardener decides.
    let of_template_is_exact = of_template.is_some_and(|text| text.split('.').count() == 3);
    match (live, asked, of_template) {
        (None, None, Some(exact)) if of_template_is_exact => Ok(exact.to_owned()),
        (None, asked, of_template) => {
            let asked = asked.map(|asked| (FIELD, asked));
            let of_template = of_template.map(|version| ("shootTemplate.spec.kubernetes.version", version));
            fresh(asked.or(of_template), &offered).map(|version| version.to_string())
        }
        (Some(live), Some(asked), _) => match changed(FIELD, asked, live, &offered)? {
            Change::None => Ok(live.to_owned()),
            Change::Below(what) => {
                notes.push(format!("{FIELD}: {what}"));
                Ok(live.to_owned())
            }
            Change::To(version) => Ok(version.to_string()),
        },
        (Some(live), None, Some(of_template)) => {
            let mut offered = offered;
            offered.extend(
                Version::parse(of_template)
                    .filter(|_| of_template_is_exact)
                    .map(|version| (version, Stage::Supported)),
            );
            match changed("shootTemplate.spec.kubernetes.version", of_template, live, &offered)? {
                Change::None | Change::Below(_) => Ok(live.to_owned()),
                Change::To(version) => Ok(version.to_string()),
            }
        }
        (Some(live), None, None) => Ok(live.to_owned()),
    }
}

fn offered(version: &SupportedVersion) -> Option<(Version, Stage)> {
    let stage = if version.deprecated { Stage::Deprecated } else { Stage::Supported };
    Some((Version::parse(&version.version)?, stage))
}

/// What does not change on a live Shoot, or only forward.
fn keep(shoot: &mut Value, live: &Shoot) {
    if let Some(config) = &live.spec.provider.control_plane_config {
        shoot["spec"]["provider"]["controlPlaneConfig"] = config.clone();
    }
    let workers = shoot.pointer_mut("/spec/provider/workers").and_then(Value::as_array_mut);
    for worker in workers.into_iter().flatten() {
        let same = live.spec.provider.workers.iter().find(|live| worker["name"] == live.name);
        let Some(image) = same.and_then(|live| live.machine.image.as_ref()) else { continue };
        let Some(wanted) = worker.pointer_mut("/machine/image") else { continue };
        let (Some(version), Some(live)) = (wanted["version"].as_str(), image.version.as_deref()) else {
            continue;
        };
        if wanted["name"] == image.name {
            wanted["version"] = json!(newer_image(version, live));
        }
    }
}

/// Labels or annotations: what is no text is left out.
fn texts(value: &Value, pointer: &str) -> Map<String, Value> {
    let all = value.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
    all.into_iter().filter(|(_, value)| value.is_string()).collect()
}
