//! The demo: it says what to type next, and typing it works.

use super::world::until;
use allotment_api::kyma::{Cluster, ClusterPhase};
use allotment_garden::landscape::client;
use kube::{Api, api::PostParams, config::Kubeconfig};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
};

#[tokio::test(flavor = "multi_thread")]
async fn the_example_grows_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let mut demo =
        demo(&[]).env("TMPDIR", folder.path()).stdout(File::create(&said).unwrap()).spawn().unwrap();
    let text = said_by(&said, "Ctrl-C stops everything").await;
    // The pool as it is at the start, and where to look next.
    assert!(text.contains("aws                         4      3     0        1"), "{text}");
    let [functions, page] = ["source ", "More to try, step by step: less "]
        .map(|before| text.lines().find_map(|line| line.trim().strip_prefix(before)).unwrap().to_owned());
    let tries = fs::read_to_string(&page).unwrap();
    assert!(tries.contains("/readyz?verbose") && tries.contains("pool history aws-01\n"), "{tries}");
    // With the first lines of a picture it fits on a small screen, but for the table of the pool.
    let table = text.lines().filter(|line| line.starts_with("POOL") || line.contains("  0  ")).count();
    assert!(text.lines().count() - table <= 20, "{text}");

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
    let asked = Command::new("bash")
        .args(["-c", &format!("source {functions} && allotment pool history aws-01 && control get kcl -A")])
        .output()
        .unwrap();
    let answer = String::from_utf8_lossy(&asked.stdout);
    assert!(answer.contains("abcd-0001") && answer.contains("example-cluster"), "{asked:?}");

    let told = Command::new("kill").args(["-INT", &demo.id().to_string()]).status().unwrap();
    assert!(told.success());
    assert!(demo.wait().unwrap().success());
    assert!([path, &functions, &page].iter().all(|path| !Path::new(path).exists()));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["said"]);
}

fn demo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allotment"));
    command.arg("demo").args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit());
    command
}

/// What every tour shows, in this order.
const SHOWN: [&str; 14] = [
    "example-cluster is ready, in account aws-01",
    "acme-cluster is ready, in account aws-02",
    "Both trials are in account aws-shared-01",
    "fourth waits. Now aws-04 is clean again",
    "fourth has aws-04",
    "get secret any: NotFound (404)",
    "get secrets: Forbidden (403)",
    "get secret any: Unauthorized (401)",
    "aws-02 is in quarantine: credentials refused",
    "aws-01 is dirty, with",
    "Planned: 22 items would be deleted",
    "aws-01 is empty and free; the proof is",
    "next has aws-01",
    "That was the tour",
];

fn assert_shown(text: &str) {
    let mut rest = text;
    for shown in SHOWN {
        let at = rest.find(shown).unwrap_or_else(|| panic!("no {shown:?} in its place in: {text}"));
        rest = &rest[at..];
    }
}

#[test]
fn the_tour_shows_what_it_says() {
    let toured = demo(&["--tour"]).output().unwrap();
    let text = String::from_utf8_lossy(&toured.stdout);
    assert!(toured.status.success(), "{text}");
    assert_shown(&text);
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_that_are_killed_every_few_seconds_get_there() {
    let folder = tempfile::tempdir().unwrap();
    let said = folder.path().join("said");
    let mut process = demo(&["--crash", "4s"])
        .env("TMPDIR", folder.path())
        .stdout(File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let text = said_by(&said, "Ctrl-C stops everything").await;
    let path = text.lines().find_map(|line| line.trim().strip_prefix("the control plane  ")).unwrap();
    let client = client(Kubeconfig::read_from(path).unwrap()).await.unwrap();
    let clusters: Api<Cluster> = Api::namespaced(client, "cluster-operator");
    let example = include_str!("../../../../examples/cluster.yaml");
    let tenants = ["one", "two", "three"];
    for tenant in tenants {
        let example = example.replace("example-cluster", tenant).replace("abcd-0001", tenant);
        clusters.create(&PostParams::default(), &serde_saphyr::from_str(&example).unwrap()).await.unwrap();
    }
    let mut accounts = BTreeSet::new();
    for tenant in tenants {
        let account = until("a cluster is ready", async || {
            let status = clusters.get(tenant).await.unwrap().status.unwrap_or_default();
            let account = status.subscription.as_ref().and_then(|account| account.binding_name.clone());
            account.filter(|_| status.phase == Some(ClusterPhase::Ready)).ok_or(format!("{status:?}"))
        })
        .await;
        accounts.insert(account);
    }
    assert_eq!(accounts.len(), tenants.len(), "{accounts:?}");
    said_by(&said, "operators: killed for the 2nd time").await;
    let told = Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap();
    assert!(told.success() && process.wait().unwrap().success());
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["said"]);
}

/// All that a demo has said, once it has said this.
async fn said_by(file: &Path, this: &str) -> String {
    until(this, async || {
        let text = fs::read_to_string(file).unwrap();
        if text.contains(this) { Ok(text) } else { Err(text) }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_that_remembers_goes_on_after_it_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let start = || {
        let said = folder.path().join("said");
        let process =
            demo(&["--state", state.to_str().unwrap()]).stdout(File::create(&said).unwrap()).spawn().unwrap();
        (process, said)
    };
    let ready = async |said: &Path| {
        said_by(said, "also after kill -9").await;
        let path = state.join("control-plane.kubeconfig");
        let client = client(Kubeconfig::read_from(path).unwrap()).await.unwrap();
        Api::<Cluster>::namespaced(client, "cluster-operator")
    };
    let (mut first, said) = start();
    let clusters = ready(&said).await;
    let example = include_str!("../../../../examples/cluster.yaml");
    clusters.create(&PostParams::default(), &serde_saphyr::from_str(example).unwrap()).await.unwrap();
    until("the example is being made", async || {
        let status = clusters.get("example-cluster").await.unwrap().status.unwrap_or_default();
        if status.phase == Some(ClusterPhase::Creating) { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
    first.kill().unwrap();
    first.wait().unwrap();

    let (mut second, said) = start();
    let clusters = ready(&said).await;
    let status = until("the example is ready, and has its administrators", async || {
        let cluster = clusters.get("example-cluster").await.map_err(|error| error.to_string())?;
        let status = cluster.status.unwrap_or_default();
        let is_ready = status.phase == Some(ClusterPhase::Ready);
        if is_ready && status.administrators.len() == 2 { Ok(status) } else { Err(format!("{status:?}")) }
    })
    .await;
    assert_eq!(status.subscription.unwrap().binding_name.as_deref(), Some("aws-01"));
    let told = Command::new("kill").args(["-INT", &second.id().to_string()]).status().unwrap();
    assert!(told.success() && second.wait().unwrap().success());
    assert!(state.join("ledger.db").exists());
}
