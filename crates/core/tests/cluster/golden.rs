//! What a Shoot of each provider looks like. `ALLOTMENT_GOLDEN=write cargo test -p allotment-core --test cluster` writes the
//! files anew.

use crate::stage::Stage;
use allotment_api::kyma::Provider;
use serde_json::json;
use std::path::Path;

fn compare(name: &str, stage: &Stage) {
    let rendered = stage.render().unwrap_or_else(|problems| panic!("{name}: {problems}"));
    let mut text = serde_saphyr::to_string(&rendered.shoot).unwrap();
    if let Some(authentication) = &rendered.authentication {
        let map = authentication.config_map("garden-kyma");
        text = format!("{text}---\n{}", serde_saphyr::to_string(&map).unwrap());
    }
    for note in &rendered.notes {
        text = format!("{text}# {note}\n");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cluster/golden/{name}.yaml"));
    if std::env::var_os("ALLOTMENT_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, golden, "{name} is another one; see the top of golden.rs");
}

#[test]
fn each_provider_has_its_shoot() {
    for provider in Provider::ALL {
        compare(provider.as_str(), &Stage::new(provider));
    }
}

#[test]
fn everything_that_can_be_asked_for_is_there() {
    let issuer = |url: &str| {
        json!({
            "issuerURL": url, "clientID": "kyma", "usernameClaim": "email", "usernamePrefix": "-",
            "groupsClaim": "groups", "groupsPrefix": "oidc:", "signingAlgs": ["RS256"],
            "requiredClaims": { "tenant": "abcd-0001", "hd": "example.org" },
            "caBundle": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        })
    };
    let pool = json!({
        "name": "gpu", "machineType": "g4dn.xlarge", "autoScalerMin": 0, "autoScalerMax": 2,
        "labels": { "kind": "gpu" }, "taints": [{ "key": "gpu", "value": "true", "effect": "NoSchedule" }],
        "volume": { "size": "200Gi" },
    });
    let mut stage = Stage::new(Provider::Aws)
        .with("spec.core.kubernetesVersion", json!("1.35"))
        .with("spec.oidcConfig", issuer("https://one.example.org"))
        .with("spec.additionalOidcConfigs", json!([issuer("https://two.example.org/path")]))
        .with(
            "spec.extensions",
            json!({
                "shootNetworkingFilterDisabled": false, "registryCache": true, "auditLog": false,
                "certService": true, "dnsService": true,
            }),
        )
        .with(
            "spec.maintenance",
            json!({
                "timeWindow": { "begin": "220000+0100", "end": "230000+0100" },
                "autoUpdate": { "kubernetesVersion": false },
            }),
        )
        .with(
            "spec.shootTemplate",
            json!({ "spec": {
            "hibernation": { "enabled": false },
            "provider": { "workers": [{ "name": "gpu", "priority": 10 }] },
            "extensions": [{ "type": "shoot-oidc-service" }],
        } }),
        )
        .infrastructure("volume", json!({ "type": "io1", "size": "100Gi" }))
        .infrastructure("labels", json!({ "team": "blue" }))
        .infrastructure("networking", json!({ "nodes": "10.180.0.0/20", "dualStack": true }))
        .infrastructure("additionalWorkers", json!([pool]))
        .infrastructure("highAvailability", json!("zone"))
        .infrastructure("apiServerACL", json!({ "allowedCIDRs": ["192.0.2.0/24"] }))
        .infrastructure("euAccess", json!(true));
    stage.clusters.defaults.extensions.insert(
        "registry-cache".to_owned(),
        json!({
            "apiVersion": "registry.extensions.gardener.cloud/v1alpha3", "kind": "RegistryConfig",
            "caches": [{ "upstream": "docker.io" }],
        }),
    );
    compare("everything", &stage);
}
