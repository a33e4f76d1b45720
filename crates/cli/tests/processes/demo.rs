//! The demo: it says what to type next, and typing it works.

use super::world::until;
use allotment_api::kyma::{Cluster, ClusterPhase};
use allotment_garden::landscape::client;
use kube::{Api, api::PostParams, config::Kubeconfig};
use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
};

#[tokio::test(flavor = "multi_thread")]
async fn the_example_grows_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let mut demo = Command::new(env!("CARGO_BIN_EXE_allotment"))
        .arg("demo")
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .stdout(File::create(&said).unwrap())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let text = until("the demo is ready", async || {
        let text = fs::read_to_string(&said).unwrap();
        if text.contains("Ctrl-C stops everything") { Ok(text) } else { Err(text) }
    })
    .await;
    // The pool as it is at the start, and where to look next.
    assert!(text.contains("aws                         4      3     0        1"), "{text}");
    assert!(text.contains("/readyz?verbose") && text.contains("pool history aws-01 "), "{text}");

    let path = text.lines().find_map(|line| line.trim().strip_prefix("the control plane  ")).unwrap();
    let client = client(Kubeconfig::read_from(path).unwrap()).await.unwrap();
    let clusters: Api<Cluster> = Api::namespaced(client, "cluster-operator");
    let example = include_str!("../../../../examples/cluster.yaml");
    clusters.create(&PostParams::default(), &serde_saphyr::from_str(example).unwrap()).await.unwrap();
    until("the example is ready", async || {
        let cluster = clusters.get("example-cluster").await.map_err(|error| error.to_string())?;
        let status = cluster.status.unwrap_or_default();
        let account = status.subscription.as_ref().and_then(|account| account.binding_name.as_deref());
        if status.phase == Some(ClusterPhase::Ready) && account == Some("aws-01") {
            Ok(())
        } else {
            Err(format!("{status:?}"))
        }
    })
    .await;
    let config = text.lines().find_map(|line| line.rsplit_once(" config=").map(|(_, path)| path)).unwrap();
    let asked = Command::new(env!("CARGO_BIN_EXE_allotment"))
        .args(["pool", "history", "aws-01", "--config", config, "--kubeconfig", path])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&asked.stdout).contains("abcd-0001"), "{asked:?}");

    let told = Command::new("kill").args(["-INT", &demo.id().to_string()]).status().unwrap();
    assert!(told.success());
    assert!(demo.wait().unwrap().success());
    assert!(!Path::new(config).exists() && !Path::new(path).exists());
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["said"]);
}
