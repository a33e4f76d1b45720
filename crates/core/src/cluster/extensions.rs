//! Gardener's extensions, by name.

use super::{
    lists::{List, Wanted},
    problem::{Findings, Problem},
    scene::Scene,
};
use allotment_api::kyma::Extensions;
use serde_json::{Value, json};

/// What a switch of the Cluster is in Gardener.
struct Switch {
    field: &'static str,
    type_: &'static str,
    on: Option<bool>,
    /// What the extension wants to know, where the configuration does not say; `None` if only the configuration can.
    config: Option<Value>,
}

/// Adds the extensions that the Cluster asks for, or asks not to have. What it does not mention is not touched.
pub(super) fn add(scene: &Scene<'_>, wanted: &mut Wanted, findings: &mut Findings) {
    let asked = scene.input.cluster.spec.extensions.clone().unwrap_or_default();
    for Switch { field, type_, on, config } in switches(asked) {
        let Some(on) = on else { continue };
        let configured = scene.all.extensions.get(type_).cloned();
        let mut entry = json!({ "type": type_, "disabled": !on });
        match configured.or(config) {
            Some(Value::Null) => (),
            Some(config) => entry["providerConfig"] = config,
            None if on => {
                let what = format!(
                    "the configuration lacks clusters.defaults.extensions.{type_}, without which it cannot be used"
                );
                findings.problem(Problem::new(format!("spec.extensions.{field}"), what).allowed([false]));
                continue;
            }
            None => (),
        }
        wanted.put(List::Extensions, entry);
    }
    if let Some(acl) = &scene.infrastructure.api_server_acl {
        let rule = json!({ "action": "ALLOW", "type": "remote_ip", "cidrs": acl.allowed_cidrs });
        wanted.put(List::Extensions, json!({ "type": "acl", "providerConfig": { "rule": rule } }));
    }
}

fn switches(asked: Extensions) -> [Switch; 5] {
    let Extensions { shoot_networking_filter_disabled, registry_cache, audit_log, cert_service, dns_service } =
        asked;
    let switch = |field, type_, on, config| Switch { field, type_, on, config };
    let certificates = json!({
        "apiVersion": "service.cert.extensions.gardener.cloud/v1alpha1", "kind": "CertConfig",
        "shootIssuers": { "enabled": true },
    });
    let names = json!({
        "apiVersion": "service.dns.extensions.gardener.cloud/v1alpha1", "kind": "DNSConfig",
        "syncProvidersFromShootSpecDNS": true, "dnsProviderReplication": { "enabled": true },
    });
    [
        switch(
            "shootNetworkingFilterDisabled",
            "shoot-networking-filter",
            shoot_networking_filter_disabled.map(|disabled| !disabled),
            Some(Value::Null),
        ),
        // Which registries, and where the log goes, only the operators of the garden know.
        switch("registryCache", "registry-cache", registry_cache, None),
        switch("auditLog", "shoot-auditlog-service", audit_log, None),
        switch("certService", "shoot-cert-service", cert_service, Some(certificates)),
        switch("dnsService", "shoot-dns-service", dns_service, Some(names)),
    ]
}
