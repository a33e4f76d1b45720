//! Whoever applies an example gets what it is about: an account by the rules of the chart, and a Shoot that the garden of the landscapes takes.

use crate::stage::Stage;
use allotment_api::kyma::{Cluster, Provider};
use allotment_core::rules::{self, Options, Request, RuleSet};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Every example of a kind, by the name of its file.
fn examples(kind: &str) -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut all = BTreeMap::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let object: Value = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        if object["kind"] == kind {
            all.insert(name, object);
        }
    }
    all
}

/// The rules that the chart comes with.
fn rules_of_the_chart() -> RuleSet {
    let values = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/allotment/values.yaml");
    rules::load(&fs::read_to_string(values).unwrap(), &Options::default()).rules.unwrap()
}

#[test]
fn every_cluster_gets_a_pool_and_a_shoot() {
    let rules = rules_of_the_chart();
    let mut shown = BTreeSet::new();
    for (file, object) in examples("Cluster") {
        let cluster: Cluster = serde_json::from_value(without_status(object.clone())).unwrap();
        let Some(infrastructure) = &cluster.spec.infrastructure else { continue };
        shown.insert(infrastructure.provider);
        if let Some(plan) = cluster.metadata.labels.as_ref().and_then(|labels| labels.get("plan")) {
            let core = cluster.spec.core.as_ref().unwrap();
            let request = Request {
                plan,
                provider: Some(infrastructure.provider.as_str()),
                platform_region: core.platform_region.as_deref(),
                hyperscaler_region: Some(&core.region),
            };
            let pool =
                rules.find(&request).unwrap_or_else(|none| panic!("{file}: {none}")).pool_key().unwrap();
            let asks_for_shared = infrastructure.subscription_selector == "shared";
            assert!(pool.shared || !asks_for_shared, "{file}: {pool} gives each tenant its own accounts");
        }
        let mut stage = Stage::new(infrastructure.provider);
        stage.cluster = without_status(object);
        stage.cluster["metadata"]["uid"] = json!("example");
        match stage.render() {
            Ok(rendered) => {
                let workers = rendered.shoot["spec"]["provider"]["workers"].as_array().unwrap().len();
                assert_eq!(workers, 1 + infrastructure.additional_workers.len(), "{file}");
            }
            Err(problems) => assert!(file == "cluster-with-bad-issuer.yaml", "{file}: {problems}"),
        }
    }
    assert_eq!(shown, BTreeSet::from(Provider::ALL), "there is an example for each provider");
}

/// What newcomers look for.
#[test]
fn there_is_an_example_of_everything() {
    let clusters = examples("Cluster");
    let has = |found: &dyn Fn(&Value) -> bool| clusters.values().any(|cluster| found(&cluster["spec"]));
    assert!(has(&|spec| spec["byoc"].is_object()), "byoc");
    assert!(has(&|spec| spec["infrastructure"]["additionalWorkers"][1].is_object()), "worker pools");
    assert!(has(&|spec| spec["infrastructure"]["subscriptionSelector"] == "shared"), "shared");
    let requests = examples("KubeconfigRequest");
    assert!(requests.values().any(|request| request["spec"]["secretRef"].is_object()), "secretRef");
    let named = |name: &Value| clusters.values().any(|cluster| cluster["metadata"]["name"] == *name);
    for (file, request) in &requests {
        assert!(named(&request["spec"]["cluster"]), "{file} is for a Cluster of the examples");
    }
    let mut names = BTreeSet::new();
    for (file, cluster) in &clusters {
        // It is the first one with a typing error.
        let is_new = names.insert(cluster["metadata"]["name"].to_string());
        assert!(is_new || file == "cluster.yaml" || file == "cluster-with-bad-issuer.yaml", "{file}");
    }
}

/// No server takes a status from a user.
fn without_status(mut object: Value) -> Value {
    object["status"] = Value::Null;
    object
}
