//! Bad input, and what is said about it.

use crate::stage::Stage;
use allotment_api::kyma::Provider;
use serde_json::{Value, json};

fn aws() -> Stage {
    Stage::new(Provider::Aws)
}

fn networking(fields: Value) -> Stage {
    aws().infrastructure("networking", fields)
}

fn pool(fields: Value) -> Stage {
    let mut pool =
        json!({ "name": "more", "machineType": "m6i.large", "autoScalerMin": 1, "autoScalerMax": 3 });
    fields.as_object().unwrap().iter().for_each(|(key, value)| pool[key] = value.clone());
    aws().infrastructure("additionalWorkers", json!([pool]))
}

fn window(begin: &str, end: &str) -> Stage {
    aws().with("spec.maintenance.timeWindow", json!({ "begin": begin, "end": end }))
}

#[test]
fn the_field_and_the_allowed_values_are_told() {
    let regions = "eu-central-1, eu-west-1, us-east-1, us-west-1, ap-southeast-1, ca-central-1";
    let machines = "m5.large, m5.xlarge, m5.2xlarge, m5.4xlarge, m5.8xlarge, m6i.large, m6i.xlarge, m6i.2xlarge, \
                    m6i.4xlarge, m6i.8xlarge, c7i.large, c7i.xlarge, m7g.large, g4dn.xlarge";
    let versions = "1.33.8, 1.33.11, 1.34.7, 1.35.1, 1.35.4, 1.36.0, 1.36.1";
    let window_words = "30 minutes to 6 hours, as in 220000+0100 to 230000+0100";
    for (stage, problem) in [
        (
            aws().with("spec.core.region", json!("mars-1")),
            format!("spec.core.region: CloudProfile aws has no region \"mars-1\"; allowed: {regions}"),
        ),
        (
            aws().infrastructure("machineType", json!("m5.huge")),
            format!("spec.infrastructure.machineType: CloudProfile aws has no machine type \"m5.huge\" to use; allowed: {machines}"),
        ),
        (
            aws().infrastructure("machineType", json!("m4.large")),
            format!("spec.infrastructure.machineType: CloudProfile aws has no machine type \"m4.large\" to use; allowed: {machines}"),
        ),
        (
            aws().infrastructure("numberOfZones", json!(4)),
            "spec.infrastructure.numberOfZones: region eu-central-1 has 3 zones with m6i.large, and 4 are asked for; allowed: 1, 2, 3".to_owned(),
        ),
        (
            aws().infrastructure("zones", json!(["eu-central-1a", "eu-central-1b", "eu-central-1x"])),
            "spec.infrastructure.zones: region eu-central-1 has no zone \"eu-central-1x\"; allowed: eu-central-1a, eu-central-1b, eu-central-1c".to_owned(),
        ),
        (
            aws().infrastructure("volume", json!({ "type": "tape" })),
            "spec.infrastructure.volume.type: CloudProfile aws has no volume type \"tape\" to use; allowed: gp3, gp2, io1".to_owned(),
        ),
        (
            aws().infrastructure("volume", json!({ "type": "io1", "size": "2Gi" })),
            "spec.infrastructure.volume.size: 2Gi is too small for io1; allowed: 4Gi and more".to_owned(),
        ),
        (
            networking(json!({ "nodes": "10.96.0.0/16" })),
            "spec.infrastructure.networking.nodes: 10.96.0.0/16 overlaps 10.96.0.0/13 of the pods".to_owned(),
        ),
        (
            networking(json!({ "pods": "10.104.0.0/14" })),
            "spec.infrastructure.networking.pods: 10.104.0.0/14 overlaps 10.104.0.0/13 of the services".to_owned(),
        ),
        (
            networking(json!({ "services": "10.250.128.0/20" })),
            "spec.infrastructure.networking.services: 10.250.128.0/20 overlaps 10.250.0.0/16 of the nodes".to_owned(),
        ),
        (
            networking(json!({ "nodes": "10.250.1.0/16" })),
            "spec.infrastructure.networking.nodes: 10.250.1.0/16 is not the beginning of its range; allowed: 10.250.0.0/16".to_owned(),
        ),
        (
            networking(json!({ "nodes": "2001:db8::/56" })),
            "spec.infrastructure.networking.nodes: \"2001:db8::/56\" is not an IPv4 range such as 10.250.0.0/16".to_owned(),
        ),
        (
            Stage::new(Provider::Alicloud).infrastructure("networking", json!({ "pods": "100.64.0.0/12" })),
            "spec.infrastructure.networking.pods: 100.64.0.0/12 overlaps 100.64.0.0/10, which alicloud keeps for itself".to_owned(),
        ),
        (
            Stage::new(Provider::Azure).infrastructure("networking", json!({ "dualStack": true })),
            "spec.infrastructure.networking.dualStack: azure has no IPv6 for Shoots; allowed: false".to_owned(),
        ),
        (
            aws().with("spec.core.kubernetesVersion", json!("1.20")),
            format!("spec.core.kubernetesVersion: Kubernetes 1.20 is not offered, or has expired; allowed: {versions}"),
        ),
        (
            aws().with("spec.core.kubernetesVersion", json!("1.34.2")),
            format!("spec.core.kubernetesVersion: Kubernetes 1.34.2 is not offered, or has expired; allowed: {versions}"),
        ),
        (
            aws().with("spec.core.region", json!("us-east-1")).infrastructure("euAccess", json!(true)),
            "spec.core.region: us-east-1 does not offer eu-access-only, which is asked for; allowed: eu-central-1, eu-west-1".to_owned(),
        ),
        (
            aws().with("spec.extensions.auditLog", json!(true)),
            "spec.extensions.auditLog: the configuration lacks clusters.defaults.extensions.shoot-auditlog-service, without which it cannot be used; allowed: false".to_owned(),
        ),
        (
            pool(json!({ "name": "cpu-worker-0" })),
            "spec.infrastructure.additionalWorkers[0].name: cpu-worker-0 is the name of the first pool".to_owned(),
        ),
        (
            pool(json!({ "machineType": "no" })),
            format!("spec.infrastructure.additionalWorkers[0].machineType: CloudProfile aws has no machine type \"no\" to use; allowed: {machines}"),
        ),
        (
            pool(json!({ "zones": ["eu-central-1d"] })),
            "spec.infrastructure.additionalWorkers[0].zones: region eu-central-1 has no zone \"eu-central-1d\"; allowed: eu-central-1a, eu-central-1b, eu-central-1c".to_owned(),
        ),
        (
            window("220000+0100", "220500+0100"),
            format!("spec.maintenance.timeWindow: 220000+0100 to 220500+0100 is not a window that Gardener takes; allowed: {window_words}"),
        ),
        (
            window("220000+0100", "060000+0100"),
            format!("spec.maintenance.timeWindow: 220000+0100 to 060000+0100 is not a window that Gardener takes; allowed: {window_words}"),
        ),
    ] {
        assert_eq!(stage.problem(), problem);
    }
}

#[test]
fn a_pool_without_a_zone_of_the_first_one_is_told_what_there_is() {
    let pool = json!({ "name": "gpu", "machineType": "g4dn.xlarge", "autoScalerMin": 0, "autoScalerMax": 2 });
    let stage = aws()
        .with("spec.core.region", json!("us-east-1"))
        .infrastructure("numberOfZones", json!(1))
        .infrastructure("zones", json!(["us-east-1c"]))
        .infrastructure("additionalWorkers", json!([pool]));
    let problem = stage.problem();
    let begin = "spec.infrastructure.additionalWorkers[0].machineType: no zone of the first pool (us-east-1c) has g4dn.xlarge; allowed: m5.large";
    assert!(problem.starts_with(begin), "{problem}");
}

#[test]
fn a_provider_without_configuration_is_not_offered() {
    let mut stage = aws();
    stage.clusters.providers.remove(&Provider::Aws);
    assert_eq!(
        stage.problem(),
        "spec.infrastructure.provider: clusters on aws are not offered here; allowed: azure, gcp, openstack, alicloud"
    );
}

#[test]
fn configuration_that_does_not_fit_the_garden_is_told_as_such() {
    let mut stage = aws();
    stage.profile = crate::stage::profile(Provider::Gcp);
    assert_eq!(stage.problem(), "clusters.providers.aws.cloudProfile: CloudProfile aws is for \"gcp\"");
    let mut stage = Stage::new(Provider::Openstack);
    stage.profile.provider_config = None;
    assert_eq!(
        stage.problem(),
        "clusters.providers.openstack.floatingPool: neither the configuration nor the CloudProfile names one for region eu-de-1"
    );
}

#[test]
fn all_problems_are_told_at_once() {
    let stage = aws()
        .infrastructure("machineType", json!("x"))
        .infrastructure("networking", json!({ "nodes": "10.0.0.0/8", "pods": "no" }))
        .with("spec.core.kubernetesVersion", json!("9.9"))
        .with("spec.oidcConfig", json!({ "clientID": "x" }));
    let fields: Vec<String> = stage.problems().into_iter().map(|problem| problem.field).collect();
    assert_eq!(
        fields,
        [
            "spec.oidcConfig.issuerURL",
            "spec.core.kubernetesVersion",
            "spec.infrastructure.networking.pods",
            "spec.infrastructure.machineType"
        ]
    );
}

#[test]
fn unknown_keys_of_the_configuration_are_refused() {
    use allotment_core::cluster::Clusters;
    for text in
        ["nodes: 1", "providers: {aws: {cloudProfile: aws, node: 10.0.0.0/16}}", "defaults: {sshacces: true}"]
    {
        assert!(serde_saphyr::from_str::<Clusters>(text).is_err(), "{text}");
    }
}
