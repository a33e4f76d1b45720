//! Machine types, images and volumes of a worker, against the CloudProfile.

use super::super::{
    json::{at, items, text, texts},
    refusals::{invalid, unsupported},
};
use super::{
    profile::Asked,
    version::{Version, is_active, is_expired},
};
use allotment_apiserver::error::{FieldError, FieldErrorKind};
use serde_json::Value;

/// Checks machine type and image.
pub(super) fn machine(asked: &Asked<'_>, path: &str, worker: &Value, before: &Value) -> Option<FieldError> {
    machine_type(asked, path, worker, before).or_else(|| machine_image(asked, path, worker, before))
}

fn machine_type(asked: &Asked<'_>, path: &str, worker: &Value, before: &Value) -> Option<FieldError> {
    let same = |field: &str| text(worker, field) == text(before, field);
    if same("/machine/type") && same("/machine/architecture") {
        return None;
    }
    let field = format!("{path}.machine.type");
    let (wanted, architecture) = (text(worker, "/machine/type"), text(worker, "/machine/architecture"));
    let types = items(asked.profile, "/machineTypes");
    let fits = |known: &Value| text(known, "/architecture") == architecture;
    let everywhere =
        |known: &Value| !missing_somewhere(asked, worker, text(known, "/name"), "unavailableMachineTypes");
    let mut supported: Vec<&str> = types
        .iter()
        .filter(|known| fits(known) && everywhere(known) && is_usable(known))
        .map(|known| text(known, "/name"))
        .collect();
    supported.sort_unstable();
    let Some(known) = types.iter().find(|known| text(known, "/name") == wanted) else {
        return Some(unsupported(field, wanted, &supported));
    };
    let mut wrong = String::new();
    if !is_usable(known) {
        wrong += "is unusable, ";
    }
    if !everywhere(known) {
        wrong += "is unavailable in at least one zone, ";
    }
    if !fits(known) {
        wrong += &format!("does not support CPU architecture {architecture:?}, ");
    }
    let detail = format!("machine type {wanted:?} {wrong}supported types are [{}]", supported.join(" "));
    (!wrong.is_empty()).then(|| invalid(field, wanted, detail))
}

fn is_usable(known: &Value) -> bool {
    at(known, "/usable") != Some(&Value::Bool(false))
}

/// Whether something is missing in a zone of the worker.
fn missing_somewhere(asked: &Asked<'_>, worker: &Value, name: &str, list: &str) -> bool {
    let zones = texts(worker, "/zones");
    let region = text(asked.shoot, "/spec/region");
    let region = items(asked.profile, "/regions").iter().find(|known| text(known, "/name") == region);
    region
        .map(|region| items(region, "/zones"))
        .unwrap_or_default()
        .iter()
        .any(|zone| zones.contains(&text(zone, "/name")) && texts(zone, &format!("/{list}")).contains(&name))
}

fn machine_image(asked: &Asked<'_>, path: &str, worker: &Value, before: &Value) -> Option<FieldError> {
    let same = |field: &str| at(worker, field) == at(before, field);
    if same("/machine/image") && same("/machine/architecture") {
        return None;
    }
    let (name, version) = (text(worker, "/machine/image/name"), text(worker, "/machine/image/version"));
    let architecture = text(worker, "/machine/architecture");
    let image = items(asked.profile, "/machineImages").iter().find(|image| text(image, "/name") == name);
    let versions = image.map(|image| items(image, "/versions")).unwrap_or_default();
    let fits = |known: &Value| texts(known, "/architectures").contains(&architecture);
    let newer = |known: &Value| {
        let parsed = |text| Version::parse(text);
        !before.is_null() && parsed(text(known, "/version")) >= parsed(text(before, "/machine/image/version"))
    };
    // An existing worker may go to an image that has expired, unless it is older: forced updates go that way.
    let active = |known: &Value| is_active(known, asked.now) || is_expired(known, asked.now) && newer(known);
    let mut valid: Vec<String> = versions
        .iter()
        .filter(|known| active(known) && fits(known))
        .map(|known| format!("{name}:{}", text(known, "/version")))
        .collect();
    valid.sort_unstable();
    let Some(known) = versions.iter().find(|known| text(known, "/version") == version) else {
        return Some(unsupported(format!("{path}.machine.image.version"), version, &valid));
    };
    let mut wrong = String::new();
    if !fits(known) {
        wrong += &format!("does not support CPU architecture {architecture:?}, ");
    }
    if !active(known) {
        wrong += "is expired, ";
    }
    if wrong.is_empty() {
        return None;
    }
    // Go shows the fields of the image by their own names and in their own order.
    let detail = format!(
        "{{\"Name\":{name:?},\"ProviderConfig\":null,\"Version\":{version:?}}}: machine image version '{name}:{version}' {wrong}supported machine image versions are: [{}]",
        valid.join(" ")
    );
    Some(FieldError::bare(format!("{path}.machine.image"), FieldErrorKind::Invalid, detail))
}

/// Checks that the image can run the container runtimes.
pub(super) fn container_runtimes(
    asked: &Asked<'_>,
    path: &str,
    worker: &Value,
    before: &Value,
) -> Vec<FieldError> {
    let same = |field: &str| at(worker, field) == at(before, field);
    if same("/cri") && same("/machine/image") {
        return Vec::new();
    }
    let (name, version) = (text(worker, "/machine/image/name"), text(worker, "/machine/image/version"));
    let image = items(asked.profile, "/machineImages").iter().find(|image| text(image, "/name") == name);
    let versions = image.map(|image| items(image, "/versions")).unwrap_or_default();
    let Some(image) = versions.iter().find(|known| text(known, "/version") == version) else {
        return Vec::new();
    };
    let wanted = text(worker, "/cri/name");
    let Some(known) = items(image, "/cri").iter().find(|known| text(known, "/name") == wanted) else {
        let known: Vec<&str> = items(image, "/cri").iter().map(|known| text(known, "/name")).collect();
        let detail = format!(
            "machine image '{name}@{version}' does not support CRI '{wanted}', supported values: [{}]",
            known.join(" ")
        );
        return vec![invalid(format!("{path}.cri.name"), wanted, detail)];
    };
    let known: Vec<&str> =
        items(known, "/containerRuntimes").iter().map(|known| text(known, "/type")).collect();
    let wanted = items(worker, "/cri/containerRuntimes").iter().map(|runtime| text(runtime, "/type"));
    wanted
        .enumerate()
        .filter(|(_, runtime)| !known.contains(runtime))
        .map(|(n, runtime)| {
            let detail = format!(
                "machine image '{name}@{version}' does not support container runtime '{runtime}', supported values: [{}]",
                known.join(" ")
            );
            invalid(format!("{path}.cri.containerRuntimes[{n}].type"), runtime, detail)
        })
        .collect()
}

/// Checks type and size of the volume.
pub(super) fn volume(asked: &Asked<'_>, path: &str, worker: &Value, before: &Value) -> Option<FieldError> {
    let wanted = at(worker, "/volume/type").and_then(Value::as_str)?;
    let field = format!("{path}.volume.type");
    let types = items(asked.profile, "/volumeTypes");
    let known = types.iter().find(|known| text(known, "/name") == wanted);
    if wanted != text(before, "/volume/type") {
        let everywhere =
            |known: &Value| !missing_somewhere(asked, worker, text(known, "/name"), "unavailableVolumeTypes");
        let mut supported: Vec<&str> = types
            .iter()
            .filter(|known| is_usable(known) && everywhere(known))
            .map(|known| text(known, "/name"))
            .collect();
        supported.sort_unstable();
        let Some(known) = known else { return Some(unsupported(field, wanted, &supported)) };
        let mut wrong = String::new();
        if !is_usable(known) {
            wrong += "is unusable, ";
        }
        if !everywhere(known) {
            wrong += "is unavailable in at least one zone, ";
        }
        if !wrong.is_empty() {
            let detail =
                format!("volume type {wanted:?} {wrong}supported types are [{}]", supported.join(" "));
            return Some(invalid(field, wanted, detail));
        }
    }
    let size = text(worker, "/volume/size");
    let machine = text(worker, "/machine/type");
    let machine = items(asked.profile, "/machineTypes").iter().find(|known| text(known, "/name") == machine);
    let of_machine = machine
        .filter(|machine| text(machine, "/storage/type") == wanted)
        .map(|machine| text(machine, "/storage/minSize"));
    let of_type = known.map(|known| text(known, "/minSize"));
    let smallest =
        [of_machine, of_type].into_iter().flatten().find(|smallest| gibibytes(size) < gibibytes(smallest))?;
    gibibytes(size)?;
    Some(invalid(format!("{path}.volume.size"), size, format!("size must be >= {smallest}")))
}

/// CloudProfiles and workers give sizes in Gi; other units are not compared.
fn gibibytes(size: &str) -> Option<u64> {
    size.strip_suffix("Gi")?.parse().ok()
}
