//! `allotment demo --tour`: the product in two minutes. Everything is done for real, and each step says how to do it.

mod returning;

use super::{EXAMPLE_NAMESPACE, cloud::Cleaning};
use crate::output::{self, Paint};
use allotment_api::{
    gardener::{CredentialsBinding, Shoot},
    kyma::{
        Cluster, ClusterPhase, KubeconfigPhase, KubeconfigRequest, SubscriptionPhase, SubscriptionRequest,
        SubscriptionRequestStatus,
    },
    names::{annotation, pool},
};
use allotment_garden::landscape::{Landscape, client};
use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams},
    config::Kubeconfig,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    fmt::Debug,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::time::sleep;

const CLUSTER: &str = include_str!("../../../../../examples/cluster.yaml");
const REQUEST: &str = include_str!("../../../../../examples/subscription-request.yaml");
const KUBECONFIG: &str = include_str!("../../../../../examples/kubeconfig-request.yaml");

/// Nothing in the tour takes longer.
const PATIENCE: Duration = Duration::from_secs(90);

/// How often it is looked whether something is so.
const LOOK: Duration = Duration::from_millis(100);

/// People at a terminal need so long to read what comes now.
const READING: Duration = Duration::from_secs(10);

/// What makes Gardener find that the credentials of an account are refused.
const REFUSED: &str = r#"{"fail": {"codes": ["ERR_INFRA_UNAUTHENTICATED"]}}"#;

/// Who leads, and where.
pub(super) struct Tour<'a> {
    landscape: &'a Landscape,
    garden_namespace: &'a str,
    /// Where the kubeconfig of the tour is put.
    small: PathBuf,
    /// The configuration of the operators.
    config: PathBuf,
    /// None where the operators do not clean.
    cleaning: Option<Cleaning>,
    step: usize,
}

impl<'a> Tour<'a> {
    pub(super) fn new(
        landscape: &'a Landscape,
        garden_namespace: &'a str,
        config: &Path,
        cleaning: Option<Cleaning>,
    ) -> Self {
        let (small, config) = (config.with_file_name("small.kubeconfig"), config.to_owned());
        Self { landscape, garden_namespace, small, config, cleaning, step: 0 }
    }

    /// From the first step to the last.
    pub(super) async fn walk(mut self) -> Result<()> {
        let started = Instant::now();
        self.taken_in().await?;
        let first = self.first_cluster().await?;
        let second = self.second_tenant(&first).await?;
        self.shared().await?;
        self.dry().await?;
        let kubeconfig = self.kubeconfig().await?;
        self.revocation(&kubeconfig).await?;
        self.quarantine(&second).await?;
        self.returning(&first).await?;
        self.say(&format!("\nThat was the tour, in {} seconds.", started.elapsed().as_secs()))
    }

    async fn first_cluster(&mut self) -> Result<String> {
        self.begin(
            "A tenant's first cluster",
            "The tenant abcd-0001 asks for a cluster. It gets an account out of the pool, which is its own from now on, and Gardener\n\
             makes the cluster in it.",
            &["control apply -f examples/cluster.yaml".to_owned()],
        )
        .await?;
        self.apply(EXAMPLE_NAMESPACE, CLUSTER).await?;
        let account = self.ready("example-cluster").await?;
        self.say(&format!("example-cluster is ready, in account {account}."))?;
        Ok(account)
    }

    async fn second_tenant(&mut self, first: &str) -> Result<String> {
        self.begin(
            "A second tenant",
            "Another tenant, acme, gets another account: a dedicated account never has two tenants, whoever crashes when.",
            &["sed 's/example-cluster/acme-cluster/; s/abcd-0001/acme/' examples/cluster.yaml | control apply -f -"
                .to_owned()],
        )
        .await?;
        let cluster = CLUSTER.replace("example-cluster", "acme-cluster").replace("abcd-0001", "acme");
        self.apply(EXAMPLE_NAMESPACE, &cluster).await?;
        let account = self.ready("acme-cluster").await?;
        ensure!(account != first, "two tenants are in account {account}");
        self.say(&format!("acme-cluster is ready, in account {account}."))?;
        Ok(account)
    }

    async fn shared(&mut self) -> Result<()> {
        self.begin(
            "A shared trial",
            "Trials share an account, which the rules say with S, and a request with the selector \"shared\".",
            &[self.ask_for("trial-1", "shared"), self.ask_for("trial-2", "shared")],
        )
        .await?;
        self.request("trial-1", "shared").await?;
        self.request("trial-2", "shared").await?;
        let (one, two) = (self.bound("trial-1").await?, self.bound("trial-2").await?);
        ensure!(one == two, "the trials are in {one} and {two}, though there is room in one");
        self.say(&format!("Both trials are in account {one}."))
    }

    async fn dry(&mut self) -> Result<()> {
        let dirty = self.dirty().await?;
        self.begin(
            "A pool that runs dry",
            &format!(
                "A third tenant takes the last free AWS account, and a fourth has to wait: it is told its place in the queue. When\n\
                 somebody has cleaned {dirty} and takes the label away, it is served at once."
            ),
            &[
                self.ask_for("third", "third"),
                self.ask_for("fourth", "fourth"),
                format!("garden label credentialsbinding {dirty} {}-", pool::DIRTY),
            ],
        )
        .await?;
        self.request("third", "third").await?;
        let last = self.bound("third").await?;
        self.request("fourth", "fourth").await?;
        self.subscription("fourth", "waits", |status| {
            (status.phase == Some(SubscriptionPhase::Waiting)).then_some(())
        })
        .await?;
        self.say(&format!("third has {last}, the last one; fourth waits. Now {dirty} is clean again:"))?;
        let clean = json!({ "metadata": { "labels": { (pool::DIRTY): null } } });
        self.bindings()
            .patch(&dirty, &PatchParams::default(), &Patch::Merge(clean))
            .await
            .with_context(|| format!("cannot take the label off {dirty}"))?;
        let account = self.bound("fourth").await?;
        self.say(&format!("fourth has {account}."))
    }

    async fn kubeconfig(&mut self) -> Result<Kubeconfig> {
        let name = "example-cluster.compass-operator";
        let (kubectl, small) = (self.landscape.kubectl.display(), self.small.display());
        let patch = json!({ "spec": { "role": { "createNamespace": true } } });
        self.begin(
            "A kubeconfig that can do exactly what was asked",
            "A component asks for access to Secrets of one namespace, for an hour. Nobody hands out the admin's kubeconfig, and none is\n\
             stored anywhere.",
            &[
                "control apply -f examples/kubeconfig-request.yaml".to_owned(),
                format!("control patch kubereq {name} --type merge -p '{patch}'"),
                format!("control wait kubereq {name} --for=condition=Ready"),
                format!("control get kubereq {name} -o jsonpath='{{.status.kubeconfig}}' | base64 -d > {small}"),
                format!("{kubectl} --kubeconfig {small} get secret any    # NotFound: it may look"),
                format!("{kubectl} --kubeconfig {small} get secrets       # Forbidden: nobody asked to list"),
            ],
        )
        .await?;
        self.apply("default", KUBECONFIG).await?;
        let requests = self.kubeconfigs();
        requests
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .with_context(|| format!("cannot change KubeconfigRequest {name}"))?;
        let issued = self
            .until(&requests, name, "is issued", |request: &KubeconfigRequest| {
                let status = request.status.as_ref()?;
                status.kubeconfig.clone().filter(|_| status.phase == Some(KubeconfigPhase::Issued))
            })
            .await?;
        // Base64, as everything in JSON that is bytes.
        let text: ByteString =
            serde_json::from_value(json!(issued)).context("the kubeconfig is no base64")?;
        let text = String::from_utf8(text.0).context("the kubeconfig is no text")?;
        let kubeconfig = Kubeconfig::from_yaml(&text).context("the kubeconfig cannot be read")?;
        let secrets = secrets(&kubeconfig).await?;
        self.expect("get secret any", secrets.get("any").await.map(drop), 404)?;
        self.expect("get secrets", secrets.list(&ListParams::default()).await.map(drop), 403)?;
        Ok(kubeconfig)
    }

    async fn revocation(&mut self, kubeconfig: &Kubeconfig) -> Result<()> {
        let name = "example-cluster.compass-operator";
        self.begin(
            "Its revocation",
            "It has leaked, say. The grant is taken away, and the request is called revoked only when a try with the old token was\n\
             refused.",
            &[
                format!("control annotate kubereq {name} --overwrite {}=true", annotation::REVOKE),
                format!("control wait kubereq {name} --for=condition=Revoked"),
                format!(
                    "{} --kubeconfig {} get secret any    # Unauthorized",
                    self.landscape.kubectl.display(),
                    self.small.display()
                ),
            ],
        )
        .await?;
        let revoke = json!({ "metadata": { "annotations": { (annotation::REVOKE): "true" } } });
        let requests = self.kubeconfigs();
        requests
            .patch(name, &PatchParams::default(), &Patch::Merge(revoke))
            .await
            .with_context(|| format!("cannot revoke KubeconfigRequest {name}"))?;
        self.until(&requests, name, "is revoked", |request: &KubeconfigRequest| {
            (request.status.as_ref()?.phase == Some(KubeconfigPhase::Revoked)).then_some(())
        })
        .await?;
        self.expect("get secret any", secrets(kubeconfig).await?.get("any").await.map(drop), 401)
    }

    async fn quarantine(&mut self, account: &str) -> Result<()> {
        let clusters: Api<Cluster> = Api::namespaced(self.landscape.control_plane.clone(), EXAMPLE_NAMESPACE);
        let shoot = self
            .until(&clusters, "acme-cluster", "has a Shoot", |cluster: &Cluster| {
                cluster.status.as_ref()?.shoot_name.clone()
            })
            .await?;
        self.begin(
            "An account in quarantine",
            &format!(
                "The cloud refuses the credentials of {account}. No new cluster goes there until a Shoot in it succeeds again, or somebody\n\
                 takes the annotation away."
            ),
            &[
                format!(
                    "garden annotate shoot {shoot} --overwrite gardenlet.allotment.dev/script='{REFUSED}' gardener.cloud/operation=reconcile"
                ),
                format!("garden get credentialsbinding {account} -o jsonpath='{{.metadata.annotations}}'"),
            ],
        )
        .await?;
        let fail = json!({ "metadata": { "annotations": {
            "gardenlet.allotment.dev/script": REFUSED, "gardener.cloud/operation": "reconcile",
        }}});
        Api::<Shoot>::namespaced(self.landscape.garden.clone(), self.garden_namespace)
            .patch(&shoot, &PatchParams::default(), &Patch::Merge(fail))
            .await
            .with_context(|| format!("cannot annotate Shoot {shoot}"))?;
        let why = self
            .until(&self.bindings(), account, "is in quarantine", |binding: &CredentialsBinding| {
                binding.annotations().get(annotation::QUARANTINE).cloned()
            })
            .await?;
        self.say(&format!("{account} is in quarantine: {why}."))
    }

    /// Says what comes now, and how to do it.
    async fn begin(&mut self, title: &str, what: &str, commands: &[String]) -> Result<()> {
        self.step += 1;
        let paint = Paint::for_standard_output();
        let commands: String = commands.iter().map(|command| format!("  {command}\n")).collect();
        let title = paint.bold(&format!("{}. {title}", self.step));
        output::print(&format!("\n{title}\n{what}\n{}", paint.dim(&commands)))?;
        if io::stdout().is_terminal() {
            sleep(READING).await;
        }
        Ok(())
    }

    fn say(&self, text: &str) -> Result<()> {
        output::print(&format!("{}\n", Paint::for_standard_output().green(text)))
    }

    /// Says how a call was answered, if it was answered as it should be.
    fn expect(&self, call: &str, answer: Result<(), kube::Error>, code: u16) -> Result<()> {
        match answer {
            Err(kube::Error::Api(status)) if status.code == code => {
                self.say(&format!("{call}: {} ({code})", status.reason))
            }
            answer => bail!("`{call}` should have been answered with {code}, and was with {answer:?}"),
        }
    }

    fn ask_for(&self, name: &str, selector: &str) -> String {
        format!(
            "sed 's/name: subscription-request/name: {name}/; s/abcd-0001/{selector}/' examples/subscription-request.yaml | control apply -f -"
        )
    }

    async fn request(&self, name: &str, selector: &str) -> Result<()> {
        let text = REQUEST.replace("name: subscription-request", &format!("name: {name}"));
        self.apply(EXAMPLE_NAMESPACE, &text.replace("abcd-0001", selector)).await
    }

    /// Applies an example.
    async fn apply(&self, namespace: &str, text: &str) -> Result<()> {
        let mut object: Value = serde_saphyr::from_str(text).context("the example is no YAML")?;
        // What the seed shows there is what the operators write.
        object.as_object_mut().and_then(|object| object.remove("status"));
        // As kubectl leaves it, which otherwise warns whoever applies the same by hand.
        let applied = format!("{object}\n");
        object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
            json!(applied);
        let control_plane = self.landscape.control_plane.clone();
        match object["kind"].as_str() {
            Some("Cluster") => apply::<Cluster>(Api::namespaced(control_plane, namespace), &object).await,
            Some("SubscriptionRequest") => {
                apply::<SubscriptionRequest>(Api::namespaced(control_plane, namespace), &object).await
            }
            _ => apply::<KubeconfigRequest>(Api::namespaced(control_plane, namespace), &object).await,
        }
    }

    /// Waits until a cluster is ready, and says in which account.
    async fn ready(&self, name: &str) -> Result<String> {
        let clusters = Api::namespaced(self.landscape.control_plane.clone(), EXAMPLE_NAMESPACE);
        self.until(&clusters, name, "is ready", |cluster: &Cluster| {
            let status =
                cluster.status.as_ref().filter(|status| status.phase == Some(ClusterPhase::Ready))?;
            status.subscription.as_ref()?.binding_name.clone()
        })
        .await
    }

    /// Waits until a request has an account, and says which.
    async fn bound(&self, name: &str) -> Result<String> {
        self.subscription(name, "has an account", |status| {
            status.gardener_secret_name.clone().filter(|_| status.phase == Some(SubscriptionPhase::Bound))
        })
        .await
    }

    async fn subscription<T>(
        &self,
        name: &str,
        what: &str,
        is: impl Fn(&SubscriptionRequestStatus) -> Option<T>,
    ) -> Result<T> {
        let requests = Api::namespaced(self.landscape.control_plane.clone(), EXAMPLE_NAMESPACE);
        self.until(&requests, name, what, |request: &SubscriptionRequest| is(request.status.as_ref()?)).await
    }

    /// The account that waits to be cleaned.
    async fn dirty(&self) -> Result<String> {
        let selector = format!("{}=true,{}=aws", pool::DIRTY, pool::HYPERSCALER_TYPE);
        let found = self.bindings().list(&ListParams::default().labels(&selector)).await;
        let found = found.context("cannot list the accounts")?;
        found.iter().map(ResourceExt::name_any).next().context("there is no dirty account in the pool")
    }

    async fn until<K, T>(
        &self,
        api: &Api<K>,
        name: &str,
        what: &str,
        is: impl Fn(&K) -> Option<T>,
    ) -> Result<T>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
    {
        let kind = K::kind(&());
        let awaited = format!("{kind} {name} {what}");
        let read = async || api.get(name).await.with_context(|| format!("cannot read {kind} {name}"));
        let waited = self.in_time(&awaited, async || Ok(is(&read().await?))).await;
        match waited {
            // The servers are gone when somebody reads this, so it says how the object was.
            Err(error) => Err(error.context(match read().await {
                Ok(object) => format!("{kind} {name} was: {}", how(&object)),
                Err(error) => error.to_string(),
            })),
            found => found,
        }
    }

    /// Asks until there is an answer.
    async fn in_time<T>(&self, what: &str, ask: impl AsyncFn() -> Result<Option<T>>) -> Result<T> {
        let started = Instant::now();
        loop {
            if let Some(found) = ask().await? {
                return Ok(found);
            }
            ensure!(started.elapsed() < PATIENCE, "waited {} s until {what}", PATIENCE.as_secs());
            sleep(LOOK).await;
        }
    }

    fn bindings(&self) -> Api<CredentialsBinding> {
        Api::namespaced(self.landscape.garden.clone(), self.garden_namespace)
    }

    fn kubeconfigs(&self) -> Api<KubeconfigRequest> {
        Api::namespaced(self.landscape.control_plane.clone(), "default")
    }
}

/// The phase of an object and its conditions.
fn how(object: &impl Serialize) -> String {
    let object = serde_json::to_value(object).unwrap_or_default();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or("?").to_owned();
    let condition = |condition: &Value| {
        let [type_, status, reason, message] =
            ["type", "status", "reason", "message"].map(|key| text(condition, key));
        format!("{type_}={status} ({reason}): {message}")
    };
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten().map(condition);
    let phase = text(&object["status"], "phase");
    std::iter::once(phase).chain(conditions).collect::<Vec<_>>().join("; ")
}

async fn apply<K>(api: Api<K>, object: &Value) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let applied = api.patch(name, &PatchParams::apply("allotment-tour").force(), &Patch::Apply(object)).await;
    applied.map(drop).with_context(|| format!("cannot apply {} {name}", K::kind(&())))
}

/// The Secrets that the kubeconfig of the example is for.
async fn secrets(kubeconfig: &Kubeconfig) -> Result<Api<Secret>> {
    Ok(Api::namespaced(client(kubeconfig.clone()).await?, "compass-system"))
}
