//! `allotment cleanup`, as a person sees it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

#[allow(dead_code, reason = "other tests need the rest")]
#[path = "processes/world.rs"]
mod world;

use allotment_operator::subscription::IDENTITY;
use allotment_testing::{AwsAccount, AwsCloud};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use world::{PROJECT, Ran, World, until};

/// One region is enough: every listing of another one takes the test cloud seconds.
const REGION: &str = "eu-central-1";

fn allotment(args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allotment"));
    let output = command.args(args).stdin(Stdio::null()).output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[track_caller]
fn expect(ran: &Ran, code: i32, words: &[&str]) {
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, code, "{all}");
    for words in words {
        assert!(all.contains(words), "no {words:?} in {all}");
    }
}

#[test]
fn the_tables_need_no_cluster() {
    let all = allotment(&["cleanup", "kinds"]);
    expect(&all, 0, &["aws: lower waves", "openstack: lower waves", "KIND", "COUNT"]);
    let line = |kind: &str| {
        let found = all.stdout.lines().find(|line| line.split_whitespace().next() == Some(kind));
        found.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default()
    };
    assert_eq!(
        line("Vpc"),
        "Vpc 8 regional it belongs to another account; default VPC ec2:DescribeVpcs, ec2:DeleteVpc"
    );
    assert!(line("InstanceProfile").starts_with("InstanceProfile 8 by name, SHOOT-nodes iam:Get"));
    assert!(line("Server").contains("cannot go: it is locked"), "{}", line("Server"));
    assert!(line("tagged-resources").contains("any kind ec2:DescribeTags"));

    let aws = allotment(&["cleanup", "kinds", "aws", "-o", "json"]).json();
    assert_eq!(aws.as_array().unwrap().len(), 1);
    let kinds = aws[0]["kinds"].as_array().unwrap();
    let role = kinds.iter().find(|kind| kind["kind"] == "Role").unwrap();
    assert_eq!((&role["scope"], &role["suffix"]), (&json!("byName"), &json!("-nodes")));
    let waves: Vec<u64> = kinds.iter().map(|kind| kind["wave"].as_u64().unwrap()).collect();
    assert!(waves.is_sorted());
    let both = allotment(&["cleanup", "kinds", "-o", "yaml"]);
    expect(&both, 0, &["cloud: aws", "cloud: azure", "cloud: gcp", "cloud: openstack", "cloud: alicloud"]);
    let unknown = allotment(&["cleanup", "kinds", "gdch"]);
    expect(&unknown, 2, &["possible values: aws, azure, gcp, openstack, alicloud"]);
}

#[test]
fn wrong_usage_is_told_before_anything_is_opened() {
    let config = ["--config", "/no/such/file.yaml"];
    let run = allotment(&[&["cleanup", "run", "aws-01"], &config[..]].concat());
    expect(&run, 1, &["aws-01", "say --yes", "allotment cleanup plan aws-01"]);
    for command in
        [&["plan", "a"][..], &["run", "a", "--yes"], &["verify", "a"], &["baseline", "a"], &["status"]]
    {
        let ran = allotment(&[&["cleanup"], command, &config].concat());
        expect(&ran, 2, &["/no/such/file.yaml"]);
        expect(&allotment(&[&["cleanup"], command].concat()), 2, &["--config FILE"]);
    }
    let shoots = ["cleanup", "baseline", "a", "--shoots", "a,,b"];
    expect(&allotment(&[&shoots, &config[..]].concat()), 2, &["or none"]);
    let settle = ["cleanup", "verify", "a", "--settle-seconds", "0"];
    expect(&allotment(&[&settle, &config[..]].concat()), 2, &["--settle-seconds"]);
}

async fn cleanup(world: &World, args: &[&str]) -> Ran {
    let (config, kubeconfig) = (world.folder().join("cleanup.yaml"), world.control_plane_kubeconfig());
    let reach = ["--config", config.to_str().unwrap(), "--kubeconfig", &kubeconfig];
    world.allotment(&[&["cleanup"], args, &reach].concat()).await
}

/// A world whose ledger serves the garden, and a configuration for people.
async fn served(section: &str) -> (World, world::Running) {
    let world = World::new().await;
    let process = world.run("one");
    let maps: Api<ConfigMap> = Api::namespaced(world.garden(), PROJECT);
    until("the ledger serves the garden", async || {
        let map = maps.get_opt(IDENTITY).await.map_err(|error| error.to_string())?;
        map.map(drop).ok_or_else(|| process.log())
    })
    .await;
    let (ledger, garden) = (world.ledger_file(), world.garden_kubeconfig());
    let text = format!(
        "ledger: {{url: 'sqlite://{}'}}\ngardener: {{kubeconfig: {garden}, name: test, requestsPerSecond: 500}}\n\
         controllers: [cleanup]\ntenancy: {{mode: trusted}}\ncleanup: {section}\n",
        ledger.display()
    );
    world.file("cleanup.yaml", &text);
    (world, process)
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_name_the_object_and_the_remedy() {
    let (world, _process) = served("{mode: delete}").await;
    world.change("azure-01", json!({ "labels": { "hyperscalerType": "gdch" } })).await;
    for command in ["plan", "verify", "baseline"] {
        expect(
            &cleanup(&world, &[command, "nobody"]).await,
            1,
            &["no entry nobody", "allotment pool status"],
        );
        let other = cleanup(&world, &[command, "azure-01"]).await;
        expect(&other, 1, &["azure-01", "\"gdch\" accounts is not supported", "by hand"]);
    }
    expect(&cleanup(&world, &["run", "nobody", "--yes"]).await, 1, &["no entry nobody"]);
    expect(
        &cleanup(&world, &["run", "aws-01", "--yes"]).await,
        1,
        &["aws-01 may not be cleaned: it is free"],
    );
    expect(&cleanup(&world, &["status"]).await, 0, &["no account is being cleaned"]);
    world.change("aws-02", json!({ "labels": { "dirty": "true" } })).await;
    let status = cleanup(&world, &["status"]).await;
    expect(&status, 0, &["aws-02 is dirty", "allotment cleanup baseline aws-02 --id-only"]);
    let status = cleanup(&world, &["status", "-o", "json"]).await.json();
    assert_eq!((&status["mode"], &status["cleanings"]), (&json!("delete"), &json!([])));
    assert_eq!(status["withoutRecordedId"], json!(["aws-02", "aws-04"]));
    // Others used the pool before: aws-04 was dirty from the beginning.
    let unknown = status["withUnknownPast"].as_array().unwrap();
    assert!(
        unknown.contains(&json!("aws-01")) && unknown.is_sorted_by_key(|name| name.to_string()),
        "{unknown:?}"
    );
    let caveat = status["caveats"][0].as_str().unwrap_or_default();
    assert!(caveat.contains("no operator cleans now: none ever led"), "{caveat}");
}

async fn add(world: &World, name: &str, cloud: &AwsAccount) {
    let keys = json!({ "accessKeyID": cloud.access_key_id(), "secretAccessKey": cloud.secret_access_key() });
    let secret = json!({ "metadata": { "name": name }, "stringData": keys });
    let secret = serde_json::from_value(secret).unwrap();
    world.secrets().create(&PostParams::default(), &secret).await.unwrap();
    world.add_account(name, name, json!({ "hyperscalerType": "aws" })).await;
}

fn kinds(plan: &Value) -> Vec<&str> {
    let waves = plan["plan"]["waves"].as_array().unwrap().iter();
    let items = waves.flat_map(|wave| wave["items"].as_array().unwrap());
    items.map(|item| item["item"]["kind"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_recorded_planned_emptied_and_proven_empty() {
    let cloud = AwsCloud::shared().unwrap().account_with(&json!({ "regions": [REGION] })).unwrap();
    let (world, _process) = served(&format!(
        "{{mode: 'off', settleSeconds: 1, readsPerSecond: 100, writesPerSecond: 100, awsEndpoint: '{}', \
         assumeAbsent: {{aws: [FileSystem, MountTarget]}}}}",
        cloud.endpoint
    ))
    .await;
    add(&world, "one", &cloud).await;
    let id = cleanup(&world, &["baseline", "one", "--id-only", "--shoots", "none"]).await;
    expect(&id, 0, &["it has no baseline", "every one from now on"]);
    let baseline = cleanup(&world, &["baseline", "one"]).await;
    expect(&baseline, 0, &[&format!("one leads to cloud account {}", cloud.id()), "digest ", "from now on"]);

    for kind in ["volume", "key-pair"] {
        let item = json!({ "kind": kind, "region": REGION, "afterSeconds": 0 });
        cloud.control("appear", &item).unwrap();
    }
    let plan = cleanup(&world, &["plan", "one", "-o", "json"]).await;
    expect(&plan, 0, &[]);
    let plan = plan.json();
    assert_eq!(
        (&plan["state"], &plan["ok"], kinds(&plan)),
        (&json!("free"), &json!(true), vec!["KeyPair", "Volume"])
    );
    let left = cleanup(&world, &["verify", "one"]).await;
    expect(
        &left,
        1,
        &["two listings, 1 s apart", "2 findings left", "listing   eu-central-1  Volume", "vol-"],
    );
    expect(&cleanup(&world, &["run", "one", "--yes"]).await, 1, &["it is free, not dirty"]);

    world.change("one", json!({ "labels": { "dirty": "true" } })).await;
    let plan = cleanup(&world, &["plan", "one"]).await;
    expect(
        &plan,
        0,
        &["one, dirty: aws account", "2 items would be deleted", "Volume in eu-central-1", "would stay"],
    );
    expect(&cleanup(&world, &["baseline", "one"]).await, 1, &["one is dirty", "--id-only"]);
    expect(&cleanup(&world, &["run", "one"]).await, 1, &["say --yes"]);
    // Their credentials lead nowhere, so they may lead anywhere.
    for other in ["aws-05", "aws-shared-01"] {
        let refused = cleanup(&world, &["run", "one", "--yes"]).await;
        expect(&refused, 1, &[other, "may be the same cloud account", "delete the entry"]);
        world.bindings().delete(other, &DeleteParams::default()).await.unwrap();
    }
    let run = cleanup(&world, &["run", "one", "--yes"]).await;
    expect(&run, 0, &["wave 1: 1 KeyPair", "deleting 2 items", "one: empty, and free", "digest"]);
    let labels = world.bindings().get("one").await.unwrap().metadata.labels.unwrap();
    assert!(!labels.contains_key("dirty"), "{labels:?}");
    assert_eq!(cloud.script("left", &[]).unwrap()["empty"], true);
    let status = cleanup(&world, &["status", "-o", "json"]).await.json();
    assert_eq!((&status["cleanings"], &status["withoutRecordedId"]), (&json!([]), &json!(["aws-04"])));

    let proof = cleanup(&world, &["verify", "one", "--settle-seconds", "2", "-o", "json"]).await;
    expect(&proof, 0, &["two listings, 2 s apart"]);
    let proof = proof.json();
    assert_eq!((&proof["empty"], &proof["proof"]["account"]), (&json!(true), &json!(cloud.id())));
    assert_eq!((proof["digest"].as_str().unwrap().len(), &proof["proof"]["settleSeconds"]), (64, &json!(2)));
}
