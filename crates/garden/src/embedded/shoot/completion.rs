//! Versions and images that a Shoot leaves open, completed from its CloudProfile.

use super::super::{
    json::{at, items, put, put_default, text},
    refusals::invalid,
};
use super::{
    version::{Version, classification},
    worker,
};
use allotment_apiserver::error::FieldError;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The beginning of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Beginning {
    major: Option<u64>,
    minor: Option<u64>,
}

impl Beginning {
    /// Reads one, or says which part is no number. More than two parts begin anything.
    fn parse(version: &str) -> Result<Self, &str> {
        let parts: Vec<&str> = version.split('.').collect();
        let part = |n: usize| match parts.get(n).filter(|part| !part.is_empty() && parts.len() <= 2) {
            None => Ok(None),
            Some(part) => part.parse().map(Some).map_err(|_| *part),
        };
        let minor = part(1)?;
        Ok(Self { major: part(0)?, minor })
    }

    fn begins(self, version: Version) -> bool {
        self.major.is_none_or(|major| version.major == major)
            && self.minor.is_none_or(|minor| version.minor == minor)
    }
}

fn is_complete(version: &str) -> bool {
    version.split('.').count() == 3
}

/// Completes the Kubernetes versions of a Shoot and its workers: the newest that is supported.
pub(super) fn kubernetes_versions(shoot: &mut Value, profile: &Value, now: Timestamp) -> Vec<FieldError> {
    let field = "spec.kubernetes.version";
    match kubernetes_version(profile, text(shoot, "/spec/kubernetes/version"), field, now) {
        Ok(version) => put(shoot, "/spec/kubernetes/version", json!(version)),
        Err(error) => return vec![error],
    }
    for (n, worker) in workers(shoot).enumerate() {
        let Some(version) = at(worker, "/kubernetes/version").and_then(Value::as_str) else { continue };
        let field = format!("spec.provider.workers[{n}].kubernetes.version");
        match kubernetes_version(profile, version, &field, now) {
            Ok(version) => put(worker, "/kubernetes/version", json!(version)),
            Err(error) => return vec![error],
        }
    }
    Vec::new()
}

fn workers(shoot: &mut Value) -> impl Iterator<Item = &mut Value> {
    shoot.pointer_mut("/spec/provider/workers").and_then(Value::as_array_mut).into_iter().flatten()
}

fn kubernetes_version(
    profile: &Value,
    version: &str,
    field: &str,
    now: Timestamp,
) -> Result<String, FieldError> {
    if is_complete(version) {
        return Ok(version.to_owned());
    }
    let beginning =
        Beginning::parse(version).map_err(|part| invalid(field, part, "must be a semantic version"))?;
    let newest = items(profile, "/kubernetes/versions")
        .iter()
        .filter(|known| classification(known, now) == "supported")
        .map(|known| text(known, "/version"))
        .filter_map(|known| Some((Version::parse(known).filter(|known| beginning.begins(*known))?, known)))
        .max();
    newest.map(|(_, known)| known.to_owned()).ok_or_else(|| {
        let why = "Suitable versions have a non-expired expiration date and are no 'preview' versions. 'Preview'-classified versions have to be selected explicitly";
        invalid(field, version, format!("couldn't find a suitable version for {version}. {why}"))
    })
}

/// Takes the architecture of a worker from its machine type.
pub(super) fn architectures(shoot: &mut Value, profile: &Value) {
    for worker in workers(shoot) {
        let machine = text(worker, "/machine/type");
        let known = items(profile, "/machineTypes").iter().find(|known| text(known, "/name") == machine);
        let architecture = known.map(|known| text(known, "/architecture")).filter(|name| !name.is_empty());
        let architecture = json!(architecture.unwrap_or("amd64"));
        put_default(worker, "/machine/architecture", architecture);
    }
}

/// Completes machine images. An image that is in use already is kept: only maintenance changes it unasked.
pub(super) fn machine_images(
    shoot: &mut Value,
    old: Option<&Value>,
    profile: &Value,
    now: Timestamp,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (n, new) in workers(shoot).enumerate() {
        let before = old.and_then(|old| worker(old, text(new, "/name")));
        let before = before.and_then(|before| at(before, "/machine/image"));
        let image = kept_image(new, before)
            .map_or_else(|| machine_image(new, profile, &format!("spec.provider.workers[{n}]"), now), Ok);
        match image {
            Ok(image) => put(new, "/machine/image", image),
            Err(error) => errors.push(error),
        }
    }
    errors
}

/// The image that a worker has, if it does not ask for another one.
fn kept_image(worker: &Value, before: Option<&Value>) -> Option<Value> {
    let before = before?;
    let Some(image) = at(worker, "/machine/image") else { return Some(before.clone()) };
    let version = text(image, "/version");
    let same = text(image, "/name") == text(before, "/name")
        && (version.is_empty() || version == text(before, "/version"));
    same.then(|| described(before, &before["version"], Some(image)))
}

fn machine_image(worker: &Value, profile: &Value, field: &str, now: Timestamp) -> Result<Value, FieldError> {
    let image = at(worker, "/machine/image");
    let (name, version) = image.map_or(("", ""), |image| (text(image, "/name"), text(image, "/version")));
    let shown = image.map(|_| format!("{name}@{version}")).unwrap_or_default();
    let architecture = text(worker, "/machine/architecture");
    let runs = |version: &&Value| items(version, "/architectures").iter().any(|known| known == architecture);
    let mut images = items(profile, "/machineImages").iter();
    let known = if name.is_empty() {
        let detail = || format!("no valid machine image found that supports architecture `{architecture}`");
        let first = images.find(|known| items(known, "/versions").iter().any(|version| runs(&version)));
        first.ok_or_else(|| invalid(field, shown.as_str(), detail()))?
    } else {
        let named = images.find(|known| text(known, "/name") == name);
        named.ok_or_else(|| invalid(field, name, "image is not supported"))?
    };
    let bare = version.trim_start_matches('v');
    if let Some(image) = image.filter(|_| is_complete(bare)) {
        return Ok(image.clone());
    }
    let beginning = Beginning::parse(bare).map_err(|part| {
        let why =
            format!("{part} must be a semantic version: strconv.ParseUint: parsing {part:?}: invalid syntax");
        invalid(field, version, why)
    })?;
    let newest = items(known, "/versions")
        .iter()
        .filter(runs)
        .filter(|version| classification(version, now) != "preview")
        .filter_map(|version| {
            let parsed =
                Version::parse(text(version, "/version")).filter(|parsed| beginning.begins(*parsed))?;
            // An older version that is not deprecated is better than a newer one that is.
            Some(((classification(version, now) != "deprecated", parsed), version))
        })
        .max_by_key(|(rank, _)| *rank);
    let (_, newest) = newest.ok_or_else(|| {
        let why = "failed to determine latest machine image from cloud profile: unable to determine latest expirable version";
        invalid(field, shown.as_str(), why)
    })?;
    Ok(described(known, &newest["version"], image))
}

/// An image of this name and version, with what was said about it.
fn described(known: &Value, version: &Value, said: Option<&Value>) -> Value {
    let mut image = json!({ "name": known["name"], "version": version });
    if let Some(config) = said.and_then(|said| at(said, "/providerConfig")) {
        image["providerConfig"] = config.clone();
    }
    image
}
