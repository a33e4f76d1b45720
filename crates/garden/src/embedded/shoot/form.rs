//! The form of a Shoot: what can be said without looking at anything else (422).

use super::super::{
    json::{at, is_true, items, text},
    refusals::{
        consecutive_hyphens, dns_label, dns_subdomain, duplicate, forbidden, invalid, required, unsupported,
    },
};
use super::{network, operation, version::Version, workers};
use allotment_apiserver::{
    error::{FieldError, FieldErrorKind},
    extension::Write,
};
use serde_json::{Value, json};

/// What is said of fields that a Shoot without workers cannot have.
pub(super) const WORKERLESS: &str = "this field should not be set for workerless Shoot clusters";

/// Checks the form, in the order of gardener-apiserver.
pub(super) fn check(write: &Write<'_>) -> Vec<FieldError> {
    let shoot = &*write.new;
    let name = text(shoot, "/metadata/name");
    let mut errors = dns_label("metadata.name", name);
    errors.extend(write.metadata_errors().into_iter().filter(|error| error.field != "metadata.name"));
    errors.extend(consecutive_hyphens("metadata.name", name));
    errors.extend(operation::check(shoot));
    errors.extend(cloud_profile(shoot));
    errors.extend(provider(shoot));
    errors.extend(addons(shoot));
    errors.extend(dns(shoot));
    errors.extend(extensions(shoot));
    errors.extend(resources(shoot));
    errors.extend(kubernetes(shoot));
    errors.extend(network::check(shoot));
    errors.extend(maintenance(shoot));
    if text(shoot, "/spec/region").is_empty() {
        errors.push(required("spec.region", "must specify a region"));
    }
    errors.extend(bindings(shoot));
    errors.extend(purpose(shoot));
    errors.extend(hibernation(shoot));
    errors.extend(tolerations(shoot));
    if workers(shoot).is_empty() && at(shoot, "/spec/systemComponents").is_some() {
        errors.push(forbidden("spec.systemComponents", WORKERLESS));
    }
    if let Some(name) = at(shoot, "/spec/schedulerName").and_then(Value::as_str) {
        errors.extend(dns_label("spec.schedulerName", name));
    }
    if let Some(kind) = at(shoot, "/spec/controlPlane/highAvailability/failureTolerance/type")
        && !["node", "zone"].contains(&kind.as_str().unwrap_or_default())
    {
        let field = "spec.controlPlane.highAvailability.failureTolerance.type";
        errors.push(unsupported(field, kind.clone(), &["node", "zone"]));
    }
    errors
}

/// Schedules are cron specs, of which only the number of fields is looked at here.
fn hibernation(shoot: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (n, schedule) in items(shoot, "/spec/hibernation/schedules").iter().enumerate() {
        let path = format!("spec.hibernation.schedules[{n}]");
        let times = ["start", "end"].map(|field| (field, at(schedule, &format!("/{field}"))));
        if times.iter().all(|(_, time)| time.is_none()) {
            errors.push(required(format!("{path}.start/end"), "either start or end has to be provided"));
        }
        for (field, spec) in times.into_iter().filter_map(|(field, time)| Some((field, time?.as_str()?))) {
            let field = format!("{path}.{field}");
            let count = spec.split_whitespace().count();
            if count != 5 && !spec.starts_with('@') {
                let detail =
                    format!("not a valid cron spec: Expected exactly 5 fields, found {count}: {spec}");
                errors.push(invalid(field, spec, detail));
            } else if seen.contains(&spec) {
                errors.push(duplicate(field, spec));
            } else {
                seen.push(spec);
            }
        }
    }
    errors
}

fn since(shoot: &Value, minor: u64) -> bool {
    Version::at_least(text(shoot, "/spec/kubernetes/version"), 1, minor)
}

/// Checks that a Shoot names a CloudProfile.
pub(super) fn cloud_profile(shoot: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if since(shoot, 34) && !text(shoot, "/spec/cloudProfileName").is_empty() {
        let detail = "for Kubernetes version >= 1.34, cloudProfileName field is no longer supported, use spec.cloudProfile.name instead";
        errors.push(forbidden("spec.cloudProfileName", detail));
    }
    match super::mutate::profile_reference(shoot) {
        None | Some((_, "")) => {
            errors.push(required("spec.cloudProfile.name", "must specify a cloud profile"));
        }
        Some(("CloudProfile" | "NamespacedCloudProfile", _)) => {}
        Some((kind, _)) => {
            let kinds = ["CloudProfile", "NamespacedCloudProfile"];
            errors.push(unsupported("spec.cloudProfile.kind", kind, &kinds));
        }
    }
    errors
}

fn provider(shoot: &Value) -> Vec<FieldError> {
    let mut errors = match text(shoot, "/spec/provider/type") {
        "" => vec![required("spec.provider.type", "must specify a provider type")],
        kind => dns_label("spec.provider.type", kind),
    };
    if workers(shoot).is_empty() {
        for field in ["infrastructureConfig", "controlPlaneConfig", "workersSettings"] {
            if at(shoot, &format!("/spec/provider/{field}")).is_some() {
                errors.push(forbidden(format!("spec.provider.{field}"), WORKERLESS));
            }
        }
    } else {
        errors.extend(super::workers::check(shoot));
    }
    errors
}

fn addons(shoot: &Value) -> Option<FieldError> {
    at(shoot, "/spec/addons")?;
    let enabled = |name: &str| is_true(shoot, &format!("/spec/addons/{name}/enabled"));
    let detail = if workers(shoot).is_empty() {
        "addons cannot be enabled for Workerless Shoot clusters"
    } else if since(shoot, 35) {
        "for Kubernetes versions >= 1.35, addons field is no longer supported"
    } else if (enabled("nginxIngress") || enabled("kubernetesDashboard"))
        && text(shoot, "/spec/purpose") != "evaluation"
    {
        "addons can only be enabled on shoots with .spec.purpose=evaluation"
    } else {
        return None;
    };
    Some(forbidden("spec.addons", detail))
}

fn dns(shoot: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(domain) = at(shoot, "/spec/dns/domain").and_then(Value::as_str) {
        errors.extend(dns_subdomain("spec.dns.domain", domain));
    }
    let mut primary_found = false;
    for (n, provider) in items(shoot, "/spec/dns/providers").iter().enumerate() {
        let path = format!("spec.dns.providers[{n}]");
        if at(provider, "/secretName").is_some() && since(shoot, 35) {
            let detail = "for Kubernetes versions >= 1.35, secretName field is no longer supported";
            errors.push(forbidden(format!("{path}.secretName"), detail));
        }
        let primary = is_true(provider, "/primary");
        if primary && primary_found {
            errors.push(forbidden(
                format!("{path}.primary"),
                "multiple primary DNS providers are not supported",
            ));
            continue;
        }
        primary_found |= primary;
        let (credentials, kind) = (at(provider, "/credentialsRef"), text(provider, "/type"));
        if credentials.is_some() && kind.is_empty() {
            errors.push(required(format!("{path}.type"), "type must be set when credentialsRef is set"));
        }
        if credentials.is_none() && !primary {
            let detail = "non-primary DNS providers must specify `credentialsRef`";
            errors.push(required(format!("{path}.credentialsRef"), detail));
        }
    }
    errors
}

fn extensions(shoot: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut known = Vec::new();
    for (n, extension) in items(shoot, "/spec/extensions").iter().enumerate() {
        let field = format!("spec.extensions[{n}].type");
        let kind = text(extension, "/type");
        match kind {
            "" => errors.push(required(field.as_str(), "field must not be empty")),
            kind => errors.extend(dns_label(&field, kind)),
        }
        if known.contains(&kind) {
            errors.push(duplicate(field, kind));
        }
        known.push(kind);
    }
    errors
}

fn resources(shoot: &Value) -> Vec<FieldError> {
    const KINDS: [&str; 3] = [
        "/v1, Kind=Secret",
        "/v1, Kind=ConfigMap",
        "security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity",
    ];
    let mut errors = Vec::new();
    let mut known = Vec::new();
    for (n, resource) in items(shoot, "/spec/resources").iter().enumerate() {
        let path = format!("spec.resources[{n}]");
        match text(resource, "/name") {
            "" => errors.push(required(format!("{path}.name"), "field must not be empty")),
            name if known.contains(&name) => errors.push(duplicate(format!("{path}.name"), name)),
            name => known.push(name),
        }
        let reference = format!("{path}.resourceRef");
        let [version, kind, name] =
            ["apiVersion", "kind", "name"].map(|field| text(&resource["resourceRef"], &format!("/{field}")));
        if version.is_empty() {
            errors.push(required(format!("{reference}.apiVersion"), "must provide an apiVersion"));
        }
        if kind.is_empty() {
            errors.push(required(format!("{reference}.kind"), "must provide a kind"));
        }
        let shown = match version.contains('/') {
            true => format!("{version}, Kind={kind}"),
            false => format!("/{version}, Kind={kind}"),
        };
        if !KINDS.contains(&shown.as_str()) {
            errors.push(unsupported(reference.as_str(), shown, &KINDS));
        }
        if name.is_empty() {
            errors.push(required(format!("{reference}.name"), "must provide a name"));
        }
    }
    errors
}

fn kubernetes(shoot: &Value) -> Vec<FieldError> {
    let below = |field: &str| at(shoot, &format!("/spec/kubernetes/{field}"));
    let path = "spec.kubernetes";
    if text(shoot, "/spec/kubernetes/version").is_empty() {
        return vec![required(format!("{path}.version"), "kubernetes version must not be empty")];
    }
    let mut errors = Vec::new();
    if Version::parse(text(shoot, "/spec/kubernetes/version")).is_none() {
        let field = format!("{path}.kubeAPIServer.admissionPlugins");
        errors.push(FieldError::bare(field, FieldErrorKind::Internal, "invalid semantic version"));
    }
    let mut gone = |field: &str, words: &str| {
        if since(shoot, 35) && below(&field.replace('.', "/")).is_some() {
            let name = field.rsplit('.').next().unwrap_or_default();
            let detail = format!("for Kubernetes {words} >= 1.35, {name} field is no longer supported");
            errors.push(forbidden(format!("{path}.{field}"), detail));
        }
    };
    gone("kubeAPIServer.enableAnonymousAuthentication", "versions");
    gone("kubeScheduler.kubeMaxPDVols", "version");
    if below("kubeAPIServer/structuredAuthentication").is_some()
        && text(shoot, "/spec/kubernetes/kubeAPIServer/structuredAuthentication/configMapName").is_empty()
    {
        let field = format!("{path}.kubeAPIServer.structuredAuthentication.configMapName");
        errors.push(forbidden(field, "must provide a name"));
    }
    if workers(shoot).is_empty() {
        for (field, shown) in [
            ("kubeControllerManager/nodeCIDRMaskSize", "kubeControllerManager.nodeCIDRMaskSize"),
            ("kubeControllerManager/nodeMonitorGracePeriod", "kubeControllerManager.nodeMonitorGracePeriod"),
            ("kubeScheduler", "kubeScheduler"),
            ("kubeProxy", "kubeProxy"),
            ("kubelet", "kubelet"),
            ("clusterAutoscaler", "clusterAutoScaler"),
            ("verticalPodAutoscaler", "verticalPodAutoScaler"),
        ] {
            if below(field).is_some() {
                errors.push(forbidden(format!("{path}.{shown}"), WORKERLESS));
            }
        }
    }
    errors
}

fn maintenance(shoot: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = "spec.maintenance";
    if workers(shoot).is_empty() && at(shoot, "/spec/maintenance/autoUpdate/machineImageVersion").is_some() {
        errors.push(forbidden(format!("{path}.autoUpdate.machineImageVersion"), WORKERLESS));
    }
    let Some(window) = at(shoot, "/spec/maintenance/timeWindow") else { return errors };
    let (begin, end) = (text(window, "/begin"), text(window, "/end"));
    let read = |which: &str, time: &str| {
        clock_seconds(time).ok_or_else(|| {
            let why = format!("could not parse {which} time: could not parse the value into the maintenanceTime format: parsing time {time:?} as \"150405-0700\": cannot parse {time:?} as \"15\"");
            invalid(format!("{path}.timeWindow.begin/end"), json!({ "Begin": begin, "End": end }), why)
        })
    };
    match read("begin", begin).and_then(|begin| Ok((begin, read("end", end)?))) {
        Err(error) => errors.push(error),
        Ok((begin, end)) => {
            let seconds = (end - begin).rem_euclid(24 * 60 * 60);
            let detail = match seconds {
                ..1800 => "time window must not be smaller than 30m0s",
                21601.. => "time window must not be greater than 6h0m0s",
                _ => return errors,
            };
            errors.push(invalid(format!("{path}.timeWindow"), seconds * 1_000_000_000, detail));
        }
    }
    errors
}

/// Seconds of the day in UTC, of a time such as `220000+0100`.
fn clock_seconds(time: &str) -> Option<i64> {
    let digits = |from: usize| -> Option<i64> {
        time.get(from..from + 2)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?
            .parse()
            .ok()
    };
    if time.len() != 11 {
        return None;
    }
    let (hours, minutes, seconds) = (digits(0)?, digits(2)?, digits(4)?);
    let offset = digits(7)? * 3600 + digits(9)? * 60;
    let offset = match time.get(6..7)? {
        "+" => offset,
        "-" => -offset,
        _ => return None,
    };
    let in_range = hours < 24 && minutes < 60 && seconds < 60;
    in_range.then(|| (hours * 3600 + minutes * 60 + seconds - offset).rem_euclid(24 * 60 * 60))
}

fn bindings(shoot: &Value) -> Vec<FieldError> {
    let (secret, credentials) = ("spec.secretBindingName", "spec.credentialsBindingName");
    let mut errors = Vec::new();
    if workers(shoot).is_empty() {
        for field in [secret, credentials] {
            if at(shoot, &format!("/{}", field.replace('.', "/"))).is_some() {
                errors.push(forbidden(field, WORKERLESS));
            }
        }
        return errors;
    }
    let has_secret = !text(shoot, "/spec/secretBindingName").is_empty();
    match (has_secret, !text(shoot, "/spec/credentialsBindingName").is_empty()) {
        (false, false) => errors.push(required(secret, "must be set when credentialsBindingName is not")),
        (true, true) => errors.push(forbidden(secret, "is incompatible with credentialsBindingName")),
        _ => {}
    }
    if has_secret && since(shoot, 34) {
        let detail = "for Kubernetes versions >= 1.34, secretBindingName field is no longer supported, use spec.credentialsBindingName instead";
        errors.push(forbidden(secret, detail));
    }
    errors
}

fn purpose(shoot: &Value) -> Option<FieldError> {
    let purpose = at(shoot, "/spec/purpose")?;
    let mut purposes = vec!["development", "evaluation", "production", "testing"];
    if text(shoot, "/metadata/namespace") == "garden" {
        purposes.insert(2, "infrastructure");
    }
    let known = purposes.contains(&purpose.as_str().unwrap_or_default());
    (!known).then(|| unsupported("spec.purpose", purpose.clone(), &purposes))
}

fn tolerations(shoot: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for (n, toleration) in items(shoot, "/spec/tolerations").iter().enumerate() {
        let key = text(toleration, "/key");
        if key.is_empty() {
            errors.push(required(format!("spec.tolerations[{n}].key"), "cannot be empty"));
        }
        let id = toleration_id(toleration);
        if known.contains(&id) || known.iter().any(|known| known == key) {
            errors.push(duplicate(format!("spec.tolerations[{n}]"), id.as_str()));
        }
        known.push(id);
    }
    errors
}

/// How Gardener names a toleration.
pub(super) fn toleration_id(toleration: &Value) -> String {
    match at(toleration, "/value").and_then(Value::as_str) {
        Some(value) => format!("{}={value}", text(toleration, "/key")),
        None => text(toleration, "/key").to_owned(),
    }
}
