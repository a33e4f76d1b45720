//! What `kubectl get` shows of Gardener's kinds.

use allotment_apiserver::extension::{Column, Source};
use jiff::Timestamp;
use serde_json::{Value, json};

type Compute = fn(&Value, Timestamp) -> Value;

/// The columns of a kind.
pub(super) fn of(kind: &str) -> Vec<Column> {
    let own = match kind {
        "Project" => vec![
            narrow("Namespace", |project, _| at(project, "/spec/namespace", UNKNOWN)),
            narrow("Status", |project, _| at(project, "/status/phase", UNKNOWN)),
            narrow("Owner", |project, _| at(project, "/spec/owner/name", UNKNOWN)),
            narrow("Creator", |project, _| at(project, "/spec/createdBy/name", UNKNOWN)),
        ],
        "CloudProfile" => vec![narrow("Provider", |profile, _| at(profile, "/spec/type", ""))],
        "ControllerRegistration" => vec![narrow("Resources", resources)],
        "SecretBinding" => vec![
            narrow("Secret", |binding, _| reference(&binding["secretRef"])),
            narrow("Provider", |binding, _| at(binding, "/provider/type", NONE)),
        ],
        "InternalSecret" => vec![
            narrow("Type", |secret, _| at(secret, "/type", "")),
            narrow("Data", |secret, _| json!(secret["data"].as_object().map_or(0, serde_json::Map::len))),
        ],
        "CredentialsBinding" => vec![
            narrow("Provider", |binding, _| at(binding, "/provider/type", "")),
            narrow("APIVersion", |binding, _| at(binding, "/credentialsRef/apiVersion", "")),
            narrow("Kind", |binding, _| at(binding, "/credentialsRef/kind", "")),
            narrow("Name", |binding, _| reference(&binding["credentialsRef"])),
        ],
        "Shoot" => shoot(),
        _ => Vec::new(),
    };
    std::iter::once(Column::of_name()).chain(own).chain([Column::of_age()]).collect()
}

const NONE: &str = "<none>";
const PENDING: &str = "<pending>";
const UNKNOWN: &str = "<unknown>";

fn shoot() -> Vec<Column> {
    vec![
        narrow("CloudProfile", cloud_profile),
        narrow("Provider", |shoot, _| at(shoot, "/spec/provider/type", "")),
        narrow("Region", |shoot, _| at(shoot, "/spec/region", "")),
        wide("Seed", |shoot, _| at(shoot, "/spec/seedName", NONE)),
        narrow("K8S Version", |shoot, _| at(shoot, "/spec/kubernetes/version", "")),
        narrow("Hibernation", hibernation),
        narrow("Last Operation", last_operation),
        narrow("Status", |shoot, _| at(shoot, "/metadata/labels/shoot.gardener.cloud~1status", PENDING)),
        wide("Purpose", |shoot, _| at(shoot, "/spec/purpose", NONE)),
        wide("Gardener Version", |shoot, _| at(shoot, "/status/gardener/version", UNKNOWN)),
        wide("APIServer", |shoot, _| condition(shoot, "APIServerAvailable")),
        wide("Control", |shoot, _| condition(shoot, "ControlPlaneHealthy")),
        wide("Observability", |shoot, _| condition(shoot, "ObservabilityComponentsHealthy")),
        wide("Nodes", |shoot, _| condition(shoot, "EveryNodeReady")),
        wide("System", |shoot, _| condition(shoot, "SystemComponentsHealthy")),
    ]
}

fn narrow(name: &str, compute: Compute) -> Column {
    Column {
        name: name.to_owned(),
        type_: "string".to_owned(),
        format: "name".to_owned(),
        description: String::new(),
        priority: 0,
        source: Source::Computed(compute),
    }
}

fn wide(name: &str, compute: Compute) -> Column {
    Column { priority: 1, ..narrow(name, compute) }
}

/// The text at a place, or a word for that there is none.
fn at(object: &Value, pointer: &str, none: &str) -> Value {
    let found = object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    json!(found.unwrap_or(none))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn reference(to: &Value) -> Value {
    json!(format!("{}/{}", text(to, "namespace"), text(to, "name")))
}

fn resources(registration: &Value, _: Timestamp) -> Value {
    let resources = registration["spec"]["resources"].as_array().into_iter().flatten();
    let names: Vec<String> =
        resources.map(|resource| format!("{}/{}", text(resource, "kind"), text(resource, "type"))).collect();
    json!(names.join(", "))
}

/// Older Shoots have only the name of a CloudProfile.
fn cloud_profile(shoot: &Value, _: Timestamp) -> Value {
    let profile = &shoot["spec"]["cloudProfile"];
    match (text(profile, "kind"), text(profile, "name")) {
        (_, "") => at(shoot, "/spec/cloudProfileName", ""),
        ("NamespacedCloudProfile", name) => {
            json!(format!("{}/{name}", text(&shoot["metadata"], "namespace")))
        }
        (_, name) => json!(name),
    }
}

fn hibernation(shoot: &Value, _: Timestamp) -> Value {
    let wanted = shoot["spec"]["hibernation"]["enabled"] == true;
    json!(match (wanted, shoot["status"]["hibernated"] == true) {
        (true, true) => "Hibernated",
        (true, false) => "Hibernating",
        (false, true) => "Waking Up",
        (false, false) => "Awake",
    })
}

fn last_operation(shoot: &Value, _: Timestamp) -> Value {
    match &shoot["status"]["lastOperation"] {
        Value::Null => json!(PENDING),
        last => {
            let progress = last["progress"].as_i64().unwrap_or_default();
            json!(format!("{} {} ({progress}%)", text(last, "type"), text(last, "state")))
        }
    }
}

fn condition(shoot: &Value, type_: &str) -> Value {
    let mut conditions = shoot["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .find(|condition| condition["type"] == type_)
        .map_or(json!(UNKNOWN), |found| at(found, "/status", ""))
}
