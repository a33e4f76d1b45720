//! Servers and stores that fail: `/readyz?verbose` and metrics report it within seconds, and report when it is over.

use super::world::{Running, World, until};
use allotment_api::kyma::SubscriptionPhase;
use serde_json::{Value, json};
use std::{
    fs,
    net::SocketAddr,
    time::{Duration, Instant},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// A failure shows within this time, and its end too: 15 seconds on a machine with nothing else to do, and up to ten more until a changed
/// kubeconfig is read.
const SHOWN_WITHIN: Duration = Duration::from_secs(45);

/// The way to the garden's API server, which can be cut.
struct Way {
    address: SocketAddr,
    to: SocketAddr,
    open: Option<JoinSet<()>>,
}

impl Way {
    async fn open(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut way = Self { address, to, open: None };
        way.forward(listener);
        way
    }

    fn forward(&mut self, listener: TcpListener) {
        let (mut tasks, to) = (JoinSet::new(), self.to);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut from, _)) = listener.accept().await {
                connections.spawn(async move {
                    let Ok(mut server) = TcpStream::connect(to).await else { return };
                    // Either end may close it.
                    let _ = copy_bidirectional(&mut from, &mut server).await;
                });
            }
        });
        self.open = Some(tasks);
    }

    /// Every connection ends, and no new one is accepted.
    async fn cut(&mut self) {
        if let Some(mut open) = self.open.take() {
            open.shutdown().await;
        }
    }

    async fn mend(&mut self) {
        let listener = until("the port is free again", async || {
            TcpListener::bind(self.address).await.map_err(|error| error.to_string())
        })
        .await;
        self.forward(listener);
    }
}

/// Puts the garden behind a way that can be cut. Returns it, and the path of the kubeconfig that leads over it.
async fn behind_a_way(world: &World) -> (Way, String) {
    let kubeconfig = fs::read_to_string(world.garden_kubeconfig()).unwrap();
    let (_, rest) = kubeconfig.split_once("https://").unwrap();
    let server = rest.split(|it: char| !it.is_ascii_digit() && !".:".contains(it)).next().unwrap();
    let way = Way::open(server.parse().unwrap()).await;
    let path = world.file("garden.kubeconfig", &kubeconfig.replace(server, &way.address.to_string()));
    let config = fs::read_to_string(world.config()).unwrap();
    fs::write(world.config(), config.replace(&world.garden_kubeconfig(), &path)).unwrap();
    (way, path)
}

async fn fails(process: &Running, dependency: &str, words: &str) {
    let began = Instant::now();
    let text = process.get_with("/readyz?verbose", &format!("[-] {dependency}: fails since")).await;
    assert!(began.elapsed() < SHOWN_WITHIN, "{:?}: {text}", began.elapsed());
    assert!(text.contains(words), "{text}");
    let failing = format!("allotment_dependency_failing{{dependency=\"{dependency}\"}} 1");
    process.get_with("/metrics", &failing).await;
    until("the log says so once", async || {
        let log = process.log();
        let lines = log.lines().filter(|line| line.contains("fails") && line.contains(dependency)).count();
        if lines == 1 { Ok(()) } else { Err(format!("{lines} lines: {log}")) }
    })
    .await;
}

async fn works_again(process: &Running, dependency: &str) {
    let began = Instant::now();
    let text = process.get_with("/readyz?verbose", &format!("[+] {dependency}: last succeeded")).await;
    assert!(began.elapsed() < SHOWN_WITHIN, "{:?}: {text}", began.elapsed());
    let working = format!("allotment_dependency_failing{{dependency=\"{dependency}\"}} 0");
    process.get_with("/metrics", &working).await;
}

/// Waits until a request that waits has this failure, or none.
async fn tells(world: &World, name: &str, failure: Option<&str>) {
    let began = Instant::now();
    until(&format!("request {name} has the failure {failure:?}"), async || {
        let request = world.requests().get(name).await.map_err(|error| error.to_string())?;
        let conditions = request.status.map(|status| status.conditions).unwrap_or_default();
        let told = conditions.iter().find(|condition| condition.type_ == "Reconciled");
        match told.map(|condition| condition.reason.as_str()) == failure {
            true => Ok(()),
            false => Err(format!("{told:?}")),
        }
    })
    .await;
    assert!(began.elapsed() < SHOWN_WITHIN, "{:?}", began.elapsed());
}

/// A request that nobody wakes.
async fn wait_for_an_account(world: &World) {
    // All accounts of this provider are of a region, and the request is for none.
    world.ask_with("waits", json!({ "provider": "openstack", "subscriptionSelector": "t-1" })).await;
    world.in_phase("waits", SubscriptionPhase::Waiting).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_garden_that_is_gone_shows_and_so_does_its_return() {
    let world = World::new().await;
    let (mut way, _) = behind_a_way(&world).await;
    let process = world.run("one");
    process.get_with("/readyz?verbose", "[+] handing out").await;
    wait_for_an_account(&world).await;

    way.cut().await;
    fails(&process, "garden-read", "check the garden's API server").await;
    tells(&world, "waits", Some("GardenUnavailable")).await;
    let (code, text) = process.get("/readyz?verbose").await;
    assert_eq!(code, 200, "{text}");
    assert!(text.contains("[!] handing out: "), "{text}");
    process.get_with("/metrics", "allotment_halted 1").await;

    way.mend().await;
    works_again(&process, "garden-read").await;
    process.get_with("/readyz?verbose", "[+] handing out").await;
    process.get_with("/metrics", "allotment_halted 0").await;
    tells(&world, "waits", None).await;
    assert!(!process.log().contains("ServiceError"), "{}", process.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_the_garden_refuses_show() {
    let world = World::new().await;
    let (_way, path) = behind_a_way(&world).await;
    let process = world.run("one");
    process.get_with("/readyz?verbose", "[+] handing out").await;

    let good = fs::read_to_string(&path).unwrap();
    let mut bad: Value = serde_json::from_str(&good).unwrap();
    bad["users"][0]["user"] = json!({ "token": "wrong" });
    fs::write(&path, bad.to_string()).unwrap();
    fails(&process, "garden-read", "does not accept the credentials (401)").await;

    fs::write(&path, &good).unwrap();
    works_again(&process, "garden-read").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_without_its_namespace_shows() {
    let world = World::new().await;
    let process = world.run_with("one", |command| {
        command.env("POD_NAMESPACE", "nowhere");
    });
    fails(&process, "lease", "POD_NAMESPACE").await;
    process.get_with("/readyz?verbose", "[-] subscription: does not lead").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_whose_file_was_deleted_shows() {
    let world = World::new().await;
    let process = world.run("one");
    process.get_with("/readyz?verbose", "[+] handing out").await;
    wait_for_an_account(&world).await;
    let (file, aside) = (world.ledger_file(), world.folder().join("aside.db"));
    fs::rename(&file, &aside).unwrap();
    fails(&process, "ledger-read", "was removed or replaced").await;
    process.get_with("/readyz?verbose", "[!] handing out: ").await;
    tells(&world, "waits", Some("LedgerUnavailable")).await;
    let (code, text) = process.get("/readyz").await;
    assert_eq!(code, 200, "no other replica has another ledger: {text}");
    assert!(text.contains("[-] ledger: ") && text.ends_with("ok\n"), "{text}");
    fs::rename(&aside, &file).unwrap();
    works_again(&process, "ledger-read").await;
    tells(&world, "waits", None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_can_be_read_by_machines() {
    let world = World::new().await;
    let process = world.run_with("one", |command| {
        command.env("ALLOTMENT_LOG_FORMAT", "json");
    });
    process.get_with("/readyz?verbose", "[+] handing out").await;
    let log = process.log();
    let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let started = lines.iter().find(|line| line["message"] == "starting");
    assert!(started.is_some_and(|line| line["level"] == "INFO" && line["identity"].is_string()), "{log}");
}
