//! A landscape of one's own, and processes on it.

use allotment_api::{
    gardener::{CredentialsBinding, Shoot},
    kyma::{Cluster, ClusterPhase, SubscriptionPhase, SubscriptionRequest},
};
use allotment_garden::{
    embedded::EmbeddedLandscape,
    gardenlet::{Gardenlet, Running as RunningGardenlet, Script, Scripts},
};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The project that the embedded garden comes with.
pub const PROJECT: &str = "garden-kyma";

/// Where tenants ask.
pub const TENANTS: &str = "tenants";

/// The machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

pub const RULES: &str = "{rule: [aws, azure], enabledPlans: [aws, azure]}";

pub struct World {
    landscape: EmbeddedLandscape,
    folder: TempDir,
    ledger: String,
}

/// What a command came to.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.stdout, self.stderr))
    }
}

impl World {
    pub async fn new() -> Self {
        let landscape = EmbeddedLandscape::start().await.unwrap();
        landscape.landscape.install_crds().await.unwrap();
        let namespace = json!({ "metadata": { "name": TENANTS } });
        let namespaces: Api<Namespace> = Api::all(landscape.landscape.control_plane.clone());
        namespaces.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let ledger = format!("sqlite://{}", folder.path().join("ledger.db").display());
        let world = Self { landscape, folder, ledger };
        world.configure(RULES);
        world
    }

    pub fn with_ledger(mut self, url: String) -> Self {
        self.ledger = url;
        self.configure(RULES);
        self
    }

    /// Writes the configuration, by a link that is swapped as a mounted ConfigMap's is.
    pub fn configure(&self, hap: &str) {
        self.configure_with(&format!(
            "hap: {hap}\nledger: {{url: '{}'}}\ncontrollers: [subscription]\n",
            self.ledger
        ));
    }

    /// The same for several operators.
    pub fn configure_clusters(&self, clusters: &str) {
        self.configure_with(&format!(
            "hap: {RULES}\nledger: {{url: '{}'}}\nclusters: {clusters}\ncontrollers: [subscription, cluster, kubeconfig]\n",
            self.ledger
        ));
    }

    /// The same with these sections, beside those that say where everything is.
    pub fn configure_with(&self, sections: &str) {
        let garden = self.landscape.landscape.garden_kubeconfig.display();
        let text = format!(
            "{sections}gardener: {{kubeconfig: {garden}, name: test, requestsPerSecond: 500}}\n\
             server: {{address: '127.0.0.1:0'}}\ntenancy: {{mode: trusted}}\n\
             byoc: {{allow: [127.0.0.0/8]}}\nmetrics: {{tenantIds: true}}\n",
        );
        let count = fs::read_dir(self.folder.path()).unwrap().count();
        let (version, link) =
            (self.folder.path().join(format!("config-{count}")), self.folder.path().join("link"));
        fs::write(&version, text).unwrap();
        std::os::unix::fs::symlink(&version, &link).unwrap();
        fs::rename(&link, self.config()).unwrap();
    }

    pub fn config(&self) -> PathBuf {
        self.folder.path().join("config.yaml")
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn ledger_file(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    /// Lets Shoots grow, until what this returns is dropped.
    pub fn gardenlet(&self) -> RunningGardenlet {
        let scripts = Scripts::with_default(Script { step_milliseconds: 20, ..Script::default() });
        let servers = self.landscape.landscape.servers.clone();
        Gardenlet::new(self.garden(), servers, scripts).start(None)
    }

    pub fn garden(&self) -> Client {
        self.landscape.landscape.garden.clone()
    }

    pub fn control_plane(&self) -> Client {
        self.landscape.landscape.control_plane.clone()
    }

    /// Starts `allotment run` as the pod of this name.
    pub fn run(&self, pod: &str) -> Running {
        self.run_with(pod, |_| ())
    }

    /// The same, otherwise.
    pub fn run_with(&self, pod: &str, otherwise: impl FnOnce(&mut Command)) -> Running {
        let count = fs::read_dir(self.folder.path()).unwrap().count();
        let log = self.folder.path().join(format!("{pod}-{count}.log"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_allotment"));
        command
            .arg("run")
            .arg("--config")
            .arg(self.config())
            .arg("--kubeconfig")
            .arg(&self.landscape.landscape.control_plane_kubeconfig)
            .env("POD_NAME", pod)
            .env("POD_NAMESPACE", "default")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap());
        otherwise(&mut command);
        Running { child: command.spawn().unwrap(), log }
    }

    /// Starts another command as the pod of this name.
    pub fn run_command(&self, pod: &str, args: &[&str], otherwise: impl FnOnce(&mut Command)) -> Running {
        let log = self.folder.path().join(format!("{pod}.log"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_allotment"));
        command
            .args(args)
            .env("POD_NAME", pod)
            .env("POD_NAMESPACE", "default")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap());
        otherwise(&mut command);
        Running { child: command.spawn().unwrap(), log }
    }

    /// Runs a command that asks about the pool.
    pub async fn ask_about(&self, args: &[&str]) -> Ran {
        let kubeconfig = self.control_plane_kubeconfig();
        let config = self.config().display().to_string();
        self.allotment(&[args, &["--config", &config, "--kubeconfig", &kubeconfig]].concat()).await
    }

    pub async fn allotment(&self, args: &[&str]) -> Ran {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_allotment"));
        let output =
            command.args(args).env_remove("POD_NAMESPACE").stdin(Stdio::null()).output().await.unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn garden_kubeconfig(&self) -> String {
        self.landscape.landscape.garden_kubeconfig.display().to_string()
    }

    pub fn control_plane_kubeconfig(&self) -> String {
        self.landscape.landscape.control_plane_kubeconfig.display().to_string()
    }

    pub fn requests(&self) -> Api<SubscriptionRequest> {
        Api::namespaced(self.control_plane(), TENANTS)
    }

    pub fn clusters(&self) -> Api<Cluster> {
        Api::namespaced(self.control_plane(), TENANTS)
    }

    /// Writes a file, and says where it is.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Shoots with all that our narrow type does not have.
    fn whole_shoots(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.garden(), PROJECT, &ApiResource::erase::<Shoot>(&()))
    }

    pub async fn whole_shoot(&self, name: &str) -> Value {
        serde_json::to_value(self.whole_shoots().get(name).await.unwrap()).unwrap()
    }

    pub async fn plant_shoot(&self, shoot: Value) {
        let shoot = serde_json::from_value(shoot).unwrap();
        self.whole_shoots().create(&PostParams::default(), &shoot).await.unwrap();
    }

    pub fn bindings(&self) -> Api<CredentialsBinding> {
        Api::namespaced(self.garden(), PROJECT)
    }

    pub fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.garden(), PROJECT)
    }

    /// Asks for an AWS account for a tenant.
    pub async fn ask(&self, name: &str, tenant: &str) {
        self.ask_with(name, json!({ "provider": "aws", "subscriptionSelector": tenant })).await;
    }

    pub async fn ask_with(&self, name: &str, spec: Value) {
        let request = json!({
            "apiVersion": "control-plane.kyma-project.io/v1alpha1",
            "kind": "SubscriptionRequest",
            "metadata": { "name": name },
            "spec": spec,
        });
        self.requests()
            .create(&PostParams::default(), &serde_json::from_value(request).unwrap())
            .await
            .unwrap();
    }

    pub async fn delete(&self, name: &str) {
        self.requests().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until a request is in this phase.
    pub async fn in_phase(&self, name: &str, phase: SubscriptionPhase) -> SubscriptionRequest {
        until(&format!("request {name} is {phase:?}"), async || {
            let request = self.requests().get(name).await.map_err(|error| error.to_string())?;
            let status = request.status.as_ref();
            match status.and_then(|status| status.phase) == Some(phase) {
                true => Ok(request),
                false => Err(format!("{status:?}")),
            }
        })
        .await
    }

    /// Waits until a request has an account, and says which.
    pub async fn bound(&self, name: &str) -> String {
        let request = self.in_phase(name, SubscriptionPhase::Bound).await;
        request.status.unwrap().gardener_secret_name.unwrap()
    }

    /// Asks for a cluster on AWS for a tenant.
    pub async fn ask_for_cluster(&self, name: &str, tenant: &str) {
        let cluster = serde_json::from_value(self.cluster(name, tenant)).unwrap();
        self.clusters().create(&PostParams::default(), &cluster).await.unwrap();
    }

    pub fn cluster(&self, name: &str, tenant: &str) -> Value {
        json!({
            "apiVersion": "operator.kyma-project.io/v1alpha1",
            "kind": "Cluster",
            "metadata": { "name": name, "namespace": TENANTS, "labels": { "globalaccountid": tenant } },
            "spec": {
                "core": { "purpose": "Production", "region": "eu-central-1" },
                "infrastructure": {
                    "provider": "aws", "machineType": "m5.large", "autoScalerMin": 1, "autoScalerMax": 3,
                    "numberOfZones": 1, "subscriptionSelector": format!("globalaccount:{tenant}"),
                },
            },
        })
    }

    /// Waits until a Cluster is in this phase for its newest spec.
    pub async fn cluster_in(&self, name: &str, phase: ClusterPhase) -> Cluster {
        until(&format!("Cluster {name} is {phase:?}"), async || {
            let cluster = self.clusters().get(name).await.map_err(|error| error.to_string())?;
            let status = cluster.status.clone().unwrap_or_default();
            let is_newest = status.observed_generation == cluster.metadata.generation;
            if status.phase == Some(phase) && is_newest { Ok(cluster) } else { Err(format!("{status:?}")) }
        })
        .await
    }

    /// Puts an account into the pool; `secret` says whose credentials it has.
    pub async fn add_account(&self, name: &str, secret: &str, labels: Value) {
        if self.secrets().get_opt(secret).await.unwrap().is_none() {
            let secret = json!({ "metadata": { "name": secret }, "stringData": { "account": secret } });
            let secret = serde_json::from_value(secret).unwrap();
            self.secrets().create(&PostParams::default(), &secret).await.unwrap();
        }
        let binding = json!({
            "apiVersion": "security.gardener.cloud/v1alpha1",
            "kind": "CredentialsBinding",
            "metadata": { "name": name, "labels": labels },
            "provider": { "type": "aws" },
            "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": secret, "namespace": PROJECT },
        });
        let binding = serde_json::from_value(binding).unwrap();
        self.bindings().create(&PostParams::default(), &binding).await.unwrap();
    }

    pub async fn change(&self, account: &str, metadata: Value) {
        let patch = json!({ "metadata": metadata });
        self.bindings().patch(account, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    /// Account and tenant of every entry that has one.
    pub async fn held(&self) -> Vec<(String, String)> {
        let bindings = self.bindings().list(&Default::default()).await.unwrap();
        let tenant = |binding: &CredentialsBinding| binding.labels().get("tenantName").cloned();
        bindings.iter().filter_map(|binding| Some((binding.name_any(), tenant(binding)?))).collect()
    }
}

/// A process. It is killed when this is dropped.
pub struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Where it serves health and metrics.
    pub async fn address(&self) -> SocketAddr {
        until("the process listens", async || {
            let log = self.log();
            let address =
                log.split_once("health and metrics: http://").and_then(|(_, rest)| rest.split('/').next());
            address.and_then(|address| address.parse().ok()).ok_or(log)
        })
        .await
    }

    /// Code and text of an answer.
    pub async fn get(&self, path: &str) -> (u16, String) {
        self.get_as(path, "").await
    }

    /// The same with more headers, each with a line break.
    pub async fn get_as(&self, path: &str, headers: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address().await).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: allotment\r\n{headers}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        (code, body.to_owned())
    }

    /// Waits until an answer has this in it.
    pub async fn get_with(&self, path: &str, words: &str) -> String {
        until(&format!("{path} says {words}"), async || {
            let (code, body) = self.get(path).await;
            if body.contains(words) { Ok(body) } else { Err(format!("{code} {body} {}", self.log())) }
        })
        .await
    }

    /// Tells it to stop, as a cluster does.
    pub async fn stop(mut self) -> ExitStatus {
        let told = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(told.success());
        until("the process ends", async || if is_gone(self.child.id()) { Ok(()) } else { Err(self.log()) })
            .await;
        self.child.wait().unwrap()
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Whether a child has ended; it may not have been waited for.
fn is_gone(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tries, ten times a second for a minute.
pub async fn until<T>(what: &str, attempt: impl AsyncFn() -> Result<T, String>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt().await {
            Ok(value) => return value,
            Err(last) if Instant::now() > end => panic!("{what}: not in {PATIENCE:?}; last seen: {last}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}
