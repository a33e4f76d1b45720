//! What a Shoot asks for, against what its project, its binding and its CloudProfile allow. Only what changed is looked
//! at, so that a Shoot stays valid when a CloudProfile changes.

use super::super::{
    facts::{Facts, project_of},
    json::{at, items, text, texts},
    kinds::{CORE, SECURITY},
    refusals::{aggregate, bare_error, invalid, unsupported},
};
use super::{
    forbid, machines,
    mutate::{cloud_profile, profile_reference},
    network,
    version::is_active,
    worker, workers,
};
use allotment_apiserver::{
    auth::Attributes,
    error::{ApiError, FieldError},
    extension::Write,
};
use jiff::Timestamp;
use serde_json::Value;

/// Project and Shoot become part of the names of resources in the cloud, some of which may be no longer.
const NAMES_LIMIT_BYTES: usize = 21;

/// A Shoot with what it was, and what its CloudProfile allows.
pub(super) struct Asked<'a> {
    pub(super) shoot: &'a Value,
    /// Null for a new Shoot.
    pub(super) old: &'a Value,
    /// The spec of the CloudProfile.
    pub(super) profile: &'a Value,
    pub(super) now: Timestamp,
}

/// Checks all of it.
pub(super) fn check(write: &Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    let old = write.old.unwrap_or(&Value::Null);
    if old["spec"] == write.new["spec"] && old["metadata"] == write.new["metadata"] {
        return Ok(());
    }
    let Some(profile) = cloud_profile(write.new, facts)? else { return Ok(()) };
    same_profile(write)?;
    let namespace = text(write.new, "/metadata/namespace");
    let project = project_of(facts, namespace).ok_or_else(|| {
        ApiError::internal(
            "could not find referenced project: Project.core.gardener.cloud \"<unknown>\" not found",
        )
    })?;
    membership(write, &project)?;
    let binding = |shoot: &Value, group: &str, plural: &str, field: &str| {
        let name = at(shoot, &format!("/spec/{field}")).and_then(Value::as_str)?;
        facts.get(group, plural, namespace, name)
    };
    let secret = binding(write.new, CORE, "secretbindings", "secretBindingName");
    let credentials = binding(write.new, SECURITY, "credentialsbindings", "credentialsBindingName");
    if let Some(credentials) = &credentials {
        let old_secret = binding(old, CORE, "secretbindings", "secretBindingName");
        let old_credentials = binding(old, SECURITY, "credentialsbindings", "credentialsBindingName");
        same_secret(write, old_secret.as_ref(), credentials)?;
        may_read_both(write, facts, old_credentials.as_ref(), credentials)?;
    }
    let asked = Asked { shoot: write.new, old, profile: &profile, now: write.now };
    let mut errors = internal_versions(write.new);
    errors.extend(network::disjoint(write.new));
    errors.extend(kubernetes_version(&asked));
    errors.extend(region(&asked));
    errors.extend(access_restrictions(&asked));
    match provider_type(&asked, secret.as_ref(), credentials.as_ref()) {
        Some(error) => errors.push(error),
        None => errors.extend(all_workers(&asked)),
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(forbid(write, aggregate(&errors))),
    }
}

fn same_profile(write: &Write<'_>) -> Result<(), ApiError> {
    let before = write.old.and_then(profile_reference);
    match (before, profile_reference(write.new)) {
        (Some((_, before)), Some((_, after))) if before != after => Err(bare_error(format!(
            "cloud profile reference change is invalid: cannot change from {before:?} to {after:?}. The cloud profile reference must remain within the same hierarchy"
        ))),
        _ => Ok(()),
    }
}

fn membership(write: &Write<'_>, project: &Value) -> Result<(), ApiError> {
    if write.old.is_some() {
        return Ok(());
    }
    let (name, project_name) = (text(write.new, "/metadata/name"), text(project, "/metadata/name"));
    if name.len() + project_name.len() > NAMES_LIMIT_BYTES {
        let detail = format!(
            "the length of the shoot name and the project name must not exceed {NAMES_LIMIT_BYTES} characters (project: {project_name}; shoot: {name})"
        );
        return Err(ApiError::invalid(CORE, "Shoot", name, vec![invalid("name", name, detail)]));
    }
    if !text(project, "/metadata/deletionTimestamp").is_empty() {
        let why = format!(
            "cannot create shoot '{name}' in project '{project_name}' that is already marked for deletion"
        );
        return Err(forbid(write, why));
    }
    Ok(())
}

/// A Shoot that moves from a SecretBinding to a CredentialsBinding stays in its account.
fn same_secret(write: &Write<'_>, before: Option<&Value>, credentials: &Value) -> Result<(), ApiError> {
    let moves = at(write.new, "/spec/secretBindingName").is_none();
    let Some(before) = before.filter(|_| moves) else { return Ok(()) };
    let reference = &credentials["credentialsRef"];
    let same = text(reference, "/kind") == "Secret"
        && text(reference, "/apiVersion") == "v1"
        && reference["name"] == before["secretRef"]["name"]
        && reference["namespace"] == before["secretRef"]["namespace"];
    match same {
        true => Ok(()),
        false => Err(forbid(
            write,
            "it is not allowed to change the referenced Secret when migrating from SecretBindingName to CredentialsBindingName",
        )),
    }
}

/// Whoever moves a Shoot to other credentials must know the old ones too: it may be somebody else's account.
fn may_read_both(
    write: &Write<'_>,
    facts: &dyn Facts,
    before: Option<&Value>,
    after: &Value,
) -> Result<(), ApiError> {
    let Some(before) = before.filter(|before| before["metadata"]["name"] != after["metadata"]["name"]) else {
        return Ok(());
    };
    for (binding, which) in [(before, "previously"), (after, "newly")] {
        let reference = &binding["credentialsRef"];
        let (group, resource) = match text(reference, "/kind") {
            "InternalSecret" => (CORE, "internalsecrets"),
            "WorkloadIdentity" => (SECURITY, "workloadidentities"),
            _ => ("", "secrets"),
        };
        let (namespace, name) = (text(reference, "/namespace"), text(reference, "/name"));
        let attributes =
            Attributes { verb: "get", group, resource, namespace, name, ..Attributes::default() };
        if !facts.allowed(write.user, &attributes) {
            let why = format!(
                "user {:?} is not allowed to read the {which} referenced {} {:?}",
                write.user.name,
                text(reference, "/kind"),
                format!("{namespace}/{name}")
            );
            return Err(forbid(write, why));
        }
    }
    Ok(())
}

/// Versions that Gardener keeps for itself.
fn internal_versions(shoot: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut look = |field: String, config: &Value| {
        if let Some(group) = text(config, "/apiVersion").strip_suffix("/__internal") {
            let shown = format!("{group}/__internal, Kind={}", text(config, "/kind"));
            errors.push(invalid(field, shown, "must not use apiVersion 'internal'"));
        }
    };
    for field in ["provider.infrastructureConfig", "provider.controlPlaneConfig", "networking.providerConfig"]
    {
        let pointer = format!("/spec/{}", field.replace('.', "/"));
        look(format!("spec.{field}"), at(shoot, &pointer).unwrap_or(&Value::Null));
    }
    for (n, worker) in workers(shoot).iter().enumerate() {
        look(format!("spec.provider.workers[{n}].providerConfig"), &worker["providerConfig"]);
    }
    errors
}

fn kubernetes_version(asked: &Asked<'_>) -> Option<FieldError> {
    let version = text(asked.shoot, "/spec/kubernetes/version");
    if version == text(asked.old, "/spec/kubernetes/version") {
        return None;
    }
    let known: Vec<&Value> = items(asked.profile, "/kubernetes/versions")
        .iter()
        // To upgrade to a version that has expired is allowed: forced upgrades go that way.
        .filter(|known| !asked.old.is_null() || is_active(known, asked.now))
        .collect();
    if known.iter().any(|known| text(known, "/version") == version) {
        return None;
    }
    let shown: Vec<String> = known
        .iter()
        .map(|known| match text(known, "/classification") {
            "preview" => format!("{} (preview)", text(known, "/version")),
            _ => text(known, "/version").to_owned(),
        })
        .collect();
    Some(unsupported("spec.kubernetes.version", version, &shown))
}

fn region(asked: &Asked<'_>) -> Option<FieldError> {
    let region = text(asked.shoot, "/spec/region");
    let regions: Vec<&str> =
        items(asked.profile, "/regions").iter().map(|known| text(known, "/name")).collect();
    let known = region == text(asked.old, "/spec/region") || regions.contains(&region);
    (!known).then(|| unsupported("spec.region", region, &regions))
}

fn access_restrictions(asked: &Asked<'_>) -> Vec<FieldError> {
    let names = |shoot| -> std::collections::BTreeSet<&str> {
        items(shoot, "/spec/accessRestrictions")
            .iter()
            .map(|restriction| text(restriction, "/name"))
            .collect()
    };
    if names(asked.shoot) == names(asked.old) {
        return Vec::new();
    }
    let region = text(asked.shoot, "/spec/region");
    let Some(known) = items(asked.profile, "/regions").iter().find(|known| text(known, "/name") == region)
    else {
        return vec![invalid("spec.region", region, "region not present in CloudProfile")];
    };
    let known: Vec<&str> =
        items(known, "/accessRestrictions").iter().map(|known| text(known, "/name")).collect();
    let asked =
        items(asked.shoot, "/spec/accessRestrictions").iter().map(|restriction| text(restriction, "/name"));
    asked
        .enumerate()
        .filter(|(_, name)| !known.contains(name))
        .map(|(n, name)| unsupported(format!("spec.accessRestrictions[{n}]"), name, &known))
        .collect()
}

fn provider_type(
    asked: &Asked<'_>,
    secret: Option<&Value>,
    credentials: Option<&Value>,
) -> Option<FieldError> {
    let provider = text(asked.shoot, "/spec/provider/type");
    let wrong = |detail: String| Some(invalid("spec.provider.type", provider, detail));
    let of_profile = text(asked.profile, "/type");
    if provider != of_profile {
        return wrong(format!(
            "provider type in shoot must equal provider type of referenced CloudProfile: {of_profile:?}"
        ));
    }
    for (kind, binding) in [("SecretBinding", secret), ("CredentialsBinding", credentials)] {
        let of_binding = binding.map(|binding| text(binding, "/provider/type"));
        if let Some(of_binding) = of_binding.filter(|types| !types.split(',').any(|type_| type_ == provider))
        {
            return wrong(format!(
                "provider type in shoot must match provider type of referenced {kind}: {of_binding:?}"
            ));
        }
    }
    None
}

fn all_workers(asked: &Asked<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (n, new) in workers(asked.shoot).iter().enumerate() {
        let path = format!("spec.provider.workers[{n}]");
        let before = worker(asked.old, text(new, "/name")).unwrap_or(&Value::Null);
        match machines::machine(asked, &path, new, before) {
            Some(error) => errors.push(error),
            None => errors.extend(machines::container_runtimes(asked, &path, new, before)),
        }
        errors.extend(machines::volume(asked, &path, new, before));
        errors.extend(zones(asked, &path, new, before));
    }
    errors
}

fn zones(asked: &Asked<'_>, path: &str, worker: &Value, before: &Value) -> Vec<FieldError> {
    let region = text(asked.shoot, "/spec/region");
    let zones = texts(worker, "/zones");
    if region == text(asked.old, "/spec/region") && zones == texts(before, "/zones") {
        return Vec::new();
    }
    let known = items(asked.profile, "/regions").iter().find(|known| text(known, "/name") == region);
    let known: Vec<&str> = known
        .map(|region| items(region, "/zones"))
        .unwrap_or_default()
        .iter()
        .map(|zone| text(zone, "/name"))
        .collect();
    let mut errors = Vec::new();
    for (n, zone) in zones.iter().enumerate() {
        let field = format!("{path}.zones[{n}]");
        if known.is_empty() {
            let detail = "this region does not support availability zones, please do not configure them";
            errors.push(invalid(field.as_str(), region, detail));
        } else if !known.contains(zone) {
            errors.push(unsupported(field.as_str(), *zone, &known));
        }
        if zones[..n].contains(zone) {
            errors.push(super::super::refusals::duplicate(field, *zone));
        }
    }
    errors
}
