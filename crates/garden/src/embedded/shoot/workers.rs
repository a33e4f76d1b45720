//! The form of the workers of a Shoot.

use super::super::{
    json::{at, is_true, items, number, text},
    refusals::{dns_label, duplicate, forbidden, invalid, required, too_long, unsupported},
};
use super::version::Version;
use allotment_apiserver::error::FieldError;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The name of a worker becomes part of the names of machines.
const NAME_LIMIT_BYTES: usize = 15;

/// Checks every worker, then what they must be together.
pub(super) fn check(shoot: &Value) -> Vec<FieldError> {
    let path = "spec.provider.workers";
    let workers = super::workers(shoot);
    let version = text(shoot, "/spec/kubernetes/version");
    let mut errors = Vec::new();
    for (n, worker) in workers.iter().enumerate() {
        errors.extend(one(&format!("{path}[{n}]"), worker, version));
    }
    let mut names = BTreeSet::new();
    for (n, worker) in workers.iter().enumerate() {
        let name = text(worker, "/name");
        if !names.insert(name) {
            errors.push(duplicate(format!("{path}[{n}].name"), name));
        }
    }
    errors.extend(system_components(path, workers));
    errors
}

fn one(path: &str, worker: &Value, version: &str) -> Vec<FieldError> {
    let name = text(worker, "/name");
    let mut errors = dns_label(&format!("{path}.name"), name);
    if name.len() > NAME_LIMIT_BYTES {
        errors.push(too_long(format!("{path}.name"), NAME_LIMIT_BYTES));
    }
    if text(worker, "/machine/type").is_empty() {
        errors.push(required(format!("{path}.machine.type"), "must specify a machine type"));
    }
    match at(worker, "/machine/image") {
        None => errors.push(required(format!("{path}.machine.image"), "must specify a machine image")),
        Some(image) => {
            for (field, detail) in [
                ("name", "must specify a machine image name"),
                ("version", "must specify a machine image version"),
            ] {
                if text(image, &format!("/{field}")).is_empty() {
                    errors.push(required(format!("{path}.machine.image.{field}"), detail));
                }
            }
        }
    }
    errors.extend(numbers(path, worker));
    errors.extend(kubernetes(path, worker, version));
    errors.extend(volume(path, worker));
    errors.extend(machine(path, worker));
    errors
}

fn numbers(path: &str, worker: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (minimum, maximum) = (number(worker, "/minimum"), number(worker, "/maximum"));
    for (field, value) in [("minimum", minimum), ("maximum", maximum)] {
        if value < 0 {
            errors.push(invalid(
                format!("{path}.{field}"),
                value,
                format!("{field} value must not be negative"),
            ));
        }
    }
    if maximum < minimum {
        errors
            .push(forbidden(format!("{path}.maximum"), "maximum value must not be less than minimum value"));
    }
    for field in ["maxSurge", "maxUnavailable"] {
        let field_path = format!("{path}.{field}");
        match at(worker, &format!("/{field}")) {
            Some(Value::String(share)) if percent(share).is_none() => {
                errors.push(invalid(
                    field_path,
                    share.as_str(),
                    "must be an integer or percentage (e.g '5%')",
                ));
            }
            Some(Value::String(share)) if field == "maxUnavailable" && percent(share) > Some(100) => {
                errors.push(invalid(field_path, share.as_str(), "must not be greater than 100%"));
            }
            Some(value) if value.as_i64().is_some_and(|count| count < 0) => {
                errors.push(invalid(field_path, value.clone(), "must be greater than or equal to 0"));
            }
            _ => {}
        }
    }
    let nothing = |field: &str| match at(worker, &format!("/{field}")) {
        None => true,
        Some(Value::String(share)) => percent(share).unwrap_or_default() == 0,
        Some(count) => count.as_i64() == Some(0),
    };
    if nothing("maxSurge")
        && nothing("maxUnavailable")
        && text(worker, "/updateStrategy") != "ManualInPlaceUpdate"
    {
        let value = worker["maxUnavailable"].clone();
        errors.push(invalid(format!("{path}.maxUnavailable"), value, "may not be 0 when `maxSurge` is 0"));
    }
    errors
}

fn percent(share: &str) -> Option<u64> {
    share.strip_suffix('%')?.parse().ok()
}

fn kubernetes(path: &str, worker: &Value, control_plane: &str) -> Vec<FieldError> {
    let Some(version) = at(worker, "/kubernetes/version").and_then(Value::as_str) else { return Vec::new() };
    let (Some(version), Some(control_plane)) = (Version::parse(version), Version::parse(control_plane))
    else {
        return Vec::new();
    };
    let field = format!("{path}.kubernetes.version");
    if version > control_plane {
        let detail = "worker group kubernetes version must not be higher than control plane version";
        return vec![forbidden(field, detail)];
    }
    if (control_plane.major, control_plane.minor) >= (version.major, version.minor + 4) {
        let detail = "worker group kubernetes version must be at most three minor versions behind control plane version";
        return vec![forbidden(field, detail)];
    }
    Vec::new()
}

fn volume(path: &str, worker: &Value) -> Vec<FieldError> {
    let is_size = |size: &str| {
        size.strip_suffix("Gi")
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let mut errors = Vec::new();
    let size = at(worker, "/volume").map(|volume| text(volume, "/size"));
    if let Some(size) = size.filter(|size| !is_size(size)) {
        let detail = r"volume size must match the regex ^(\d)+Gi$";
        errors.push(invalid(format!("{path}.volume.size"), size, detail));
    }
    let data_volumes = items(worker, "/dataVolumes");
    if !data_volumes.is_empty() && at(worker, "/volume").is_none() {
        let detail = "a worker volume must be defined if data volumes are defined";
        errors.push(required(format!("{path}.volume"), detail));
    }
    let mut names = BTreeSet::new();
    for (n, volume) in data_volumes.iter().enumerate() {
        let (name, size) = (text(volume, "/name"), text(volume, "/size"));
        let path = format!("{path}.dataVolumes[{n}]");
        match name {
            "" => errors.push(required(format!("{path}.name"), "must specify a name")),
            name => errors.extend(dns_label(&format!("{path}.name"), name)),
        }
        if name.len() > NAME_LIMIT_BYTES {
            errors.push(too_long(format!("{path}.name"), NAME_LIMIT_BYTES));
        }
        if !names.insert(name) {
            errors.push(duplicate(format!("{path}.name"), name));
        }
        if !is_size(size) {
            let detail = r"data volume size must match the regex ^(\d)+Gi$";
            errors.push(invalid(format!("{path}.size"), size, detail));
        }
    }
    errors
}

fn machine(path: &str, worker: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut one_of = |field: &str, known: &[&str]| {
        let pointer = format!("/{}", field.replace('.', "/"));
        let value = at(worker, &pointer).and_then(Value::as_str).filter(|value| !known.contains(value));
        errors.extend(value.map(|value| unsupported(format!("{path}.{field}"), value, known)));
    };
    one_of("cri.name", &["containerd"]);
    one_of("machine.architecture", &["amd64", "arm64"]);
    one_of("updateStrategy", &["AutoInPlaceUpdate", "AutoRollingUpdate", "ManualInPlaceUpdate"]);
    errors
}

/// Gardener's own components need a worker that takes them, and a machine in each of its zones. Workers with the same
/// zones count as one.
fn system_components(path: &str, workers: &[Value]) -> Vec<FieldError> {
    let mut enough = BTreeMap::new();
    for (n, worker) in workers.iter().enumerate() {
        let maximum = number(worker, "/maximum");
        if !is_true(worker, "/systemComponents/allow") || maximum == 0 {
            continue;
        }
        let zones = super::super::json::texts(worker, "/zones");
        let suffices = usize::try_from(maximum).is_ok_and(|maximum| maximum >= zones.len());
        let mut key: Vec<&str> = zones;
        key.sort_unstable();
        key.dedup();
        let known = enough.entry(key).or_insert((false, n));
        *known = if suffices || known.0 { (true, n) } else { (false, n) };
    }
    if enough.is_empty() {
        let detail = "at least one active (workers[i].maximum > 0) worker pool with systemComponents.allow=true needed";
        return vec![forbidden(path, detail)];
    }
    let detail =
        "maximum node count should be greater than or equal to the number of zones specified for this pool";
    let lacking = enough.values().filter(|(suffices, _)| !suffices);
    lacking.map(|(_, n)| forbidden(format!("{path}[{n}].maximum"), detail)).collect()
}
