//! What is secret is where it belongs, and nowhere else: not in a log, however talkative, not in a metric, an object or a file.

use super::{
    kubeconfigs::CLUSTERS,
    world::{PROJECT, Running, TENANTS, World, until},
};
use allotment_api::{
    gardener::{IssuedKubeconfig, KubeconfigAccess, SHORTEST_LIFE_SECONDS, Shoot},
    kyma::{ClusterPhase, KubeconfigPhase},
};
use allotment_garden::landscape::client;
use allotment_testing::{Search, every_object, in_objects};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    config::Kubeconfig,
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

/// In every admin kubeconfig, and in no handed-out one.
const ADMIN: [&str; 2] = ["PRIVATE KEY", "client-key-data"];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_secret_is_nowhere_else() {
    let world = World::new().await;
    world.configure_clusters(CLUSTERS);
    let home = world.folder().join("home");
    fs::create_dir(&home).unwrap();
    let _gardenlet = world.gardenlet();
    let process = world.run_with("one", |command| {
        let stdout = File::create(world.folder().join("stdout")).unwrap();
        command
            .current_dir(&home)
            .env("HOME", &home)
            .env("TMPDIR", &home)
            .env("RUST_LOG", "trace")
            .stdout(stdout);
    });
    let tokens = Tokens::default();
    let watching = tokio::spawn(tokens.clone().watch(world.control_plane()));
    let inside = cluster(&world).await;
    hand_out(&world).await;

    // While they are handed out, they are where they belong.
    let search = tokens.search();
    let published = found(&search, &world.control_plane()).await;
    let where_they_belong = [
        "KubeconfigRequest tenants/revoked:",
        "KubeconfigRequest tenants/rotated:",
        "Secret tenants/in-secret:",
    ];
    let places: BTreeSet<&str> =
        published.iter().filter_map(|line| line.rsplit_once(' ')).map(|(place, _)| place).collect();
    assert_eq!(places, BTreeSet::from(where_they_belong));
    assert_eq!(found(&Search::of(ADMIN), &world.control_plane()).await, [] as [&str; 0]);
    nowhere(&world, &search, &process, &inside).await;

    take_back(&world).await;
    let search = tokens.search();
    assert_eq!(found(&search, &world.control_plane()).await, [] as [&str; 0]);
    nowhere(&world, &search, &process, &inside).await;
    // Three were issued, two of them twice.
    assert_eq!(tokens.0.lock().unwrap().len(), 5);
    watching.abort();

    // Also at the very end.
    let talkative = process.log();
    for target in ["TRACE", "hyper", "allotment_operator", "KubeconfigIssued", "KubeconfigRotated"] {
        assert!(talkative.contains(target), "the log has no {target}");
    }
    assert!(process.stop().await.success());
    in_files(&world, &search);
    planted(&world, &search, &tokens).await;
}

/// It would have been found.
async fn planted(world: &World, search: &Search, tokens: &Tokens) {
    let token = tokens.0.lock().unwrap().first().cloned().unwrap();
    let planted =
        json!({ "metadata": { "name": "planted" }, "stringData": { "x": format!("Bearer {token}") } });
    let secrets: Api<Secret> = Api::namespaced(world.garden(), PROJECT);
    secrets.create(&PostParams::default(), &serde_json::from_value(planted).unwrap()).await.unwrap();
    let lines = found(search, &world.garden()).await;
    assert!(lines.iter().any(|line| line.starts_with("Secret garden-kyma/planted: ")), "{lines:?}");
    let shoot = world.clusters().get("c").await.unwrap().status.unwrap().shoot_name.unwrap();
    let header = format!("authorization: \"Bearer {token}\"");
    for text in [format!("{:?}", header.as_bytes()), header, admin_kubeconfig(world, &shoot).await] {
        let path = world.folder().join("home/planted");
        fs::write(&path, &text).unwrap();
        assert!(search.in_bytes(&fs::read(&path).unwrap()).is_some());
        assert!(files(world.folder()).contains(&path));
        fs::remove_file(&path).unwrap();
    }
}

/// A cluster with administrators, and a client for it.
async fn cluster(world: &World) -> Client {
    world.ask_for_cluster("c", "ga-1").await;
    let patch = json!({ "spec": { "administrators": ["jane@example.com"] } });
    world.clusters().patch("c", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    let cluster = world.cluster_in("c", ClusterPhase::Ready).await;
    let shoot = cluster.status.unwrap().shoot_name.unwrap();
    client(Kubeconfig::from_yaml(&admin_kubeconfig(world, &shoot).await).unwrap()).await.unwrap()
}

async fn admin_kubeconfig(world: &World, shoot: &str) -> String {
    let shoots: Api<Shoot> = Api::namespaced(world.garden(), PROJECT);
    let (access, params) = (KubeconfigAccess::Admin, PostParams::default());
    let request = access.request(SHORTEST_LIFE_SECONDS);
    let issued: IssuedKubeconfig =
        shoots.create_subresource(access.subresource(), shoot, &params, &request).await.unwrap();
    let text = Value::String(issued.status.kubeconfig.expose_secret().to_owned());
    let text: ByteString = serde_json::from_value(text).unwrap();
    String::from_utf8(text.0).unwrap()
}

/// Three are issued, and one of them is replaced as if it had leaked.
async fn hand_out(world: &World) {
    for (name, secret) in [("rotated", None), ("revoked", None), ("kept", Some("in-secret"))] {
        world.ask_for_kubeconfig(name, "c", "get", secret).await;
        world.kubeconfig_in(name, KubeconfigPhase::Issued).await;
    }
    for name in ["rotated", "kept"] {
        world.annotate(name, "rotate", "true").await;
        until("the rotation is done", async || {
            let request = world.kubeconfig_requests().get(name).await.map_err(|error| error.to_string())?;
            let mark = request.annotations().get("operator.kyma-project.io/rotate").cloned();
            if mark.as_deref() == Some("false") { Ok(()) } else { Err(format!("{:?}", request.status)) }
        })
        .await;
    }
}

/// One is revoked, and then all are deleted.
async fn take_back(world: &World) {
    world.annotate("revoked", "revoke", "true").await;
    world.kubeconfig_in("revoked", KubeconfigPhase::Revoked).await;
    for name in ["rotated", "revoked", "kept"] {
        world.kubeconfig_requests().delete(name, &DeleteParams::default()).await.unwrap();
    }
    until("they are gone", async || {
        let left = world.kubeconfig_requests().list(&ListParams::default()).await;
        let left = left.map_err(|error| error.to_string())?.items;
        let secrets: Api<Secret> = Api::namespaced(world.control_plane(), TENANTS);
        let secret = secrets.get_opt("in-secret").await.map_err(|error| error.to_string())?;
        if left.is_empty() && secret.is_none() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
}

/// Looks at the garden, the cluster, what the process says, and its files.
async fn nowhere(world: &World, search: &Search, process: &Running, inside: &Client) {
    let lines = found(search, &world.garden()).await;
    // What Gardener keeps there is its own.
    let leaks: Vec<&String> = lines.iter().filter(|line| !line.starts_with("InternalSecret ")).collect();
    assert!(leaks.is_empty() && !lines.is_empty(), "{lines:?}");
    assert_eq!(found(search, inside).await, [] as [&str; 0]);
    for path in ["/metrics", "/readyz?verbose", "/livez"] {
        let (code, body) = process.get(path).await;
        assert_eq!((code, search.in_text(&body)), (200, None), "{path}");
    }
    in_files(world, search);
}

/// The log, the ledger, and whatever else the process may have written.
fn in_files(world: &World, search: &Search) {
    let all = files(world.folder());
    for name in ["ledger.db", "stdout"] {
        assert!(all.contains(&world.folder().join(name)), "{name} is not among {all:?}");
    }
    for path in all {
        let bytes = fs::read(&path).unwrap();
        if let Some(needle) = search.in_bytes(&bytes) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let lines: Vec<&str> =
                text.lines().filter(|line| search.in_text(line).is_some()).take(5).collect();
            panic!("{needle} is in {}: {lines:#?}", path.display());
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() { all.extend(files(&entry)) } else { all.push(entry) }
    }
    all
}

async fn found(search: &Search, client: &Client) -> Vec<String> {
    let all = every_object(client).await.unwrap();
    assert!(all.len() > 10, "only {} objects", all.len());
    in_objects(search, &all).unwrap()
}

/// Every token that was ever handed out.
#[derive(Clone, Default)]
struct Tokens(Arc<Mutex<BTreeSet<String>>>);

impl Tokens {
    async fn watch(self, control_plane: Client) {
        loop {
            self.look(&control_plane).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn look(&self, control_plane: &Client) {
        let requests: Api<allotment_api::kyma::KubeconfigRequest> =
            Api::namespaced(control_plane.clone(), TENANTS);
        let secrets: Api<Secret> = Api::namespaced(control_plane.clone(), TENANTS);
        let mut texts: Vec<ByteString> = Vec::new();
        for request in requests.list(&ListParams::default()).await.unwrap() {
            let text = request.status.and_then(|status| status.kubeconfig);
            texts.extend(text.map(|text| serde_json::from_value(Value::String(text)).unwrap()));
        }
        for secret in secrets.list(&ListParams::default()).await.unwrap() {
            texts.extend(secret.data.unwrap_or_default().into_values());
        }
        for text in texts {
            let kubeconfig: Value = serde_json::from_slice(&text.0).unwrap();
            let token = kubeconfig["users"][0]["user"]["token"].as_str().unwrap().to_owned();
            self.0.lock().unwrap().insert(token);
        }
    }

    /// Looks for any of them, and for what is in an admin kubeconfig. It is the signature that makes a token valid; its halves
    /// are found too.
    fn search(&self) -> Search {
        let mut needles: Vec<String> = ADMIN.map(str::to_owned).to_vec();
        for token in self.0.lock().unwrap().iter() {
            let signature = token.rsplit('.').next().unwrap();
            assert!(signature.len() > 40, "{signature}");
            let (first, second) = signature.split_at(signature.len() / 2);
            needles.extend([first.to_owned(), second.to_owned()]);
        }
        // A careless `{:?}` prints bytes as numbers.
        let numbers = |text: &String| format!("{:?}", text.as_bytes()).trim_matches(['[', ']']).to_owned();
        let as_numbers: Vec<String> = needles.iter().map(numbers).collect();
        needles.extend(as_numbers);
        Search::of(needles)
    }
}
