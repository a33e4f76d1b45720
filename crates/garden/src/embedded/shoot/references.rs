//! What a Shoot refers to: it must be there, and be registered (403).

use super::super::{
    facts::{Facts, project_of},
    json::{at, is_true, items, text},
    kinds::{CORE, SECURITY},
    refusals::{bullets, forbidden},
};
use super::{forbid, form::toleration_id, mutate::NO_PROJECT, workers};
use allotment_apiserver::{auth::Attributes, error::ApiError, extension::Write};
use serde_json::Value;

/// Checks what a Shoot refers to.
pub(super) fn check(write: &Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    objects(write, facts).map_err(|why| forbid(write, why))?;
    if write.old.is_none_or(|old| old["spec"] != write.new["spec"]) {
        extensions(write.new, facts).map_err(|why| forbid(write, why))?;
    }
    tolerations(write, facts).map_err(|why| forbid(write, why))
}

/// What changed at a pointer, if it did and is still there.
fn changed<'a>(write: &'a Write<'_>, pointer: &str) -> Option<&'a Value> {
    let new = at(write.new, pointer)?;
    (write.old.and_then(|old| at(old, pointer)) != Some(new)).then_some(new)
}

fn objects(write: &Write<'_>, facts: &dyn Facts) -> Result<(), String> {
    let namespace = text(write.new, "/metadata/namespace");
    let there = |group: &str, plural: &str, shown: &str, name: &str| match facts
        .get(group, plural, namespace, name)
    {
        Some(_) => Ok(()),
        None => Err(format!("{shown} {name:?} not found")),
    };
    for (field, group, plural) in [
        ("secretBindingName", CORE, "secretbindings"),
        ("credentialsBindingName", SECURITY, "credentialsbindings"),
    ] {
        if let Some(name) = changed(write, &format!("/spec/{field}")).and_then(Value::as_str) {
            there(group, plural, &format!("{}.{group}", plural.trim_end_matches('s')), name)?;
        }
    }
    if changed(write, "/spec/resources").is_some() {
        for resource in items(write.new, "/spec/resources") {
            referenced(write, facts, resource)?;
        }
    }
    if !text(write.new, "/metadata/deletionTimestamp").is_empty() {
        return Ok(());
    }
    for (what, words) in [("Authentication", "authentication"), ("Authorization", "authorization")] {
        let pointer = format!("/spec/kubernetes/kubeAPIServer/structured{what}");
        if let Some(structured) = changed(write, &pointer) {
            there("", "configmaps", "configmaps", text(structured, "/configMapName"))
                .map_err(|why| format!("failed to resolve structured {words} config map reference: {why}"))?;
        }
    }
    if changed(write, "/spec/dns").is_some() {
        for provider in items(write.new, "/spec/dns/providers") {
            if text(provider, "/credentialsRef/kind") == "Secret" {
                there("", "secrets", "secrets", text(provider, "/credentialsRef/name")).map_err(|why| {
                    format!("failed to resolve credentials reference of type Secret: {why}")
                })?;
            }
        }
    }
    Ok(())
}

/// A Shoot whose binding is gone cannot be written at all.
pub(super) fn binding_stays(write: &Write<'_>, facts: &dyn Facts) -> Result<(), ApiError> {
    let namespace = text(write.new, "/metadata/namespace");
    for (field, group, plural) in [
        ("secretBindingName", CORE, "secretbindings"),
        ("credentialsBindingName", SECURITY, "credentialsbindings"),
    ] {
        let name = text(write.new, &format!("/spec/{field}"));
        if !name.is_empty() && facts.get(group, plural, namespace, name).is_none() {
            let kind = plural.trim_end_matches('s');
            return Err(ApiError::internal(format!("{kind}.{group} {name:?} not found")));
        }
    }
    Ok(())
}

/// One of the resources that a Shoot carries along for its extensions.
fn referenced(write: &Write<'_>, facts: &dyn Facts, resource: &Value) -> Result<(), String> {
    let namespace = text(write.new, "/metadata/namespace");
    let name = text(resource, "/resourceRef/name");
    let (group, plural, shown) = match text(resource, "/resourceRef/kind") {
        "Secret" => ("", "secrets", "secrets"),
        "ConfigMap" => ("", "configmaps", "configmaps"),
        _ => (SECURITY, "workloadidentities", "workloadidentities.security.gardener.cloud"),
    };
    let attributes =
        Attributes { verb: "get", group, resource: plural, namespace, name, ..Attributes::default() };
    if !facts.allowed(write.user, &attributes) {
        return Err("cannot reference a resource you are not allowed to read".to_owned());
    }
    match facts.get(group, plural, namespace, name) {
        Some(_) => Ok(()),
        None => Err(format!(
            "failed to resolve resource reference {:?}: {shown} {name:?} not found",
            text(resource, "/name")
        )),
    }
}

/// A kind of extension, its type, the word for it, and the field that asks for it.
type Needed<'a> = (&'static str, &'a str, &'static str, String);

fn extensions(shoot: &Value, facts: &dyn Facts) -> Result<(), String> {
    let registrations = facts.list(CORE, "controllerregistrations", None);
    let resources: Vec<&Value> =
        registrations.iter().flat_map(|registration| items(registration, "/spec/resources")).collect();
    let registered = |kind: &str, type_: &str| {
        resources.iter().any(|resource| {
            let for_shoots = items(resource, "/clusterCompatibility");
            text(resource, "/kind") == kind
                && text(resource, "/type") == type_
                && at(resource, "/primary") != Some(&Value::Bool(false))
                && (for_shoots.is_empty() || for_shoots.iter().any(|kind| kind == "shoot"))
        })
    };
    let needed = needed(shoot);
    let missing: Vec<String> = needed
        .iter()
        .filter(|(kind, type_, _, _)| !registered(kind, type_))
        .map(|(_, type_, words, field)| {
            format!("given Shoot uses non-registered {words} type: {field} ({type_:?})")
        })
        .collect();
    let without_workers = |type_: &str| {
        resources
            .iter()
            .any(|resource| text(resource, "/type") == type_ && is_true(resource, "/workerlessSupported"))
    };
    let unfit: Vec<String> = needed
        .iter()
        .filter(|(kind, type_, _, _)| {
            workers(shoot).is_empty() && *kind == "Extension" && !without_workers(type_)
        })
        .map(|(_, type_, _, field)| {
            format!("given Shoot is workerless and uses non-supported extension type: {field} ({type_:?})")
        })
        .collect();
    let wrong: Vec<String> = missing.into_iter().chain(unfit).collect();
    if wrong.is_empty() { Ok(()) } else { Err(bullets(&wrong)) }
}

fn needed(shoot: &Value) -> Vec<Needed<'_>> {
    let mut needed: Vec<Needed<'_>> = Vec::new();
    if !workers(shoot).is_empty() {
        for kind in ["ControlPlane", "Infrastructure", "Worker"] {
            needed.push((
                kind,
                text(shoot, "/spec/provider/type"),
                "provider",
                "spec.provider.type".to_owned(),
            ));
        }
        if let Some(network) = at(shoot, "/spec/networking/type").and_then(Value::as_str) {
            needed.push(("Network", network, "networking", "spec.networking.type".to_owned()));
        }
    }
    for (n, provider) in items(shoot, "/spec/dns/providers").iter().enumerate() {
        let kind = text(provider, "/type");
        if is_true(provider, "/primary") && !matches!(kind, "" | "unmanaged") {
            needed.push(("DNSRecord", kind, "extension", format!("spec.dns.providers[{n}].type")));
        }
    }
    for (n, extension) in items(shoot, "/spec/extensions").iter().enumerate() {
        needed.push((
            "Extension",
            text(extension, "/type"),
            "extension",
            format!("spec.extensions[{n}].type"),
        ));
    }
    for (n, worker) in workers(shoot).iter().enumerate() {
        let path = format!("spec.provider.workers[{n}]");
        for (m, runtime) in items(worker, "/cri/containerRuntimes").iter().enumerate() {
            let field = format!("{path}.cri.containerRuntimes[{m}].type");
            needed.push(("ContainerRuntime", text(runtime, "/type"), "container runtime", field));
        }
        if let Some(image) = at(worker, "/machine/image") {
            let field = format!("{path}.machine.image.name");
            needed.push(("OperatingSystemConfig", text(image, "/name"), "operating system", field));
        }
    }
    needed
}

fn tolerations(write: &Write<'_>, facts: &dyn Facts) -> Result<(), String> {
    let project = project_of(facts, text(write.new, "/metadata/namespace")).ok_or(NO_PROJECT)?;
    let allowed: Vec<String> =
        items(&project, "/spec/tolerations/whitelist").iter().map(toleration_id).collect();
    let before: Vec<String> = write
        .old
        .map(|old| items(old, "/spec/tolerations"))
        .unwrap_or_default()
        .iter()
        .map(toleration_id)
        .collect();
    let new = items(write.new, "/spec/tolerations")
        .iter()
        .filter(|toleration| !before.contains(&toleration_id(toleration)));
    let refused: Vec<String> = new
        .enumerate()
        .filter(|(_, toleration)| {
            !allowed.contains(&toleration_id(toleration))
                && !allowed.iter().any(|known| known == text(toleration, "/key"))
        })
        .map(|(n, _)| {
            let detail = format!("only the following tolerations are allowed: [{}]", allowed.join(" "));
            forbidden(format!("spec.tolerations[{n}]"), detail).to_string()
        })
        .collect();
    match refused.is_empty() {
        true => Ok(()),
        false => {
            Err(format!("error while validating tolerations against allowlist: [{}]", refused.join(" ")))
        }
    }
}
