//! A plot with a pool, and operators on it.

use allotment_api::{
    gardener::{CredentialsBinding, Shoot},
    kyma::{BindingKind, Provider, SubscriptionPhase, SubscriptionRequest},
    names::label,
};
use allotment_core::{
    pool::{LabelKeys, Limit, MultiAccount},
    rules,
    tenancy::Tenancy,
};
use allotment_operator::{
    ledger::{Ledger, Place},
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller as _},
    subscription::{Operator, Parts, Policy, Settings},
};
use allotment_testing::{Landscape, Plot, Postgres};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::Instant};

pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Seed 001's rules, and one for each plan that they leave out.
pub const RULES: &str = "rule: [aws, 'aws(PR=cf-eu11) -> EU', azure, 'azure(PR=cf-ch20) -> EU', gcp, 'gcp(PR=cf-sa30) -> PR', \
    trial -> S, 'sap-converged-cloud -> HR, S', azure_lite, preview, free]";

/// A plot with a pool.
pub struct Stage {
    pub plot: Plot,
    pub ledger: Ledger,
    pub kind: BindingKind,
    pub provider: Provider,
    pub multi_account: MultiAccount,
    pub cap: Option<u32>,
}

/// An operator that ends with its handle.
pub struct Running {
    pub operator: Operator,
    task: JoinHandle<()>,
}

impl Running {
    /// Runs an operator in one of the ways in which it can be run.
    pub fn new<F: Future<Output = ()> + Send + 'static>(
        operator: Operator,
        run: impl FnOnce(Operator) -> F,
    ) -> Self {
        let task = tokio::spawn(run(operator.clone()));
        Self { operator, task }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stage {
    pub async fn new(landscape: &Landscape) -> Result<Self, Fault> {
        landscape.install_crds().await?;
        Self::on(landscape.plot_without_gardenlet().await?).await
    }

    /// The same with somebody who looks after Shoots.
    pub async fn with_gardenlet(landscape: &Landscape) -> Result<Self, Fault> {
        landscape.install_crds().await?;
        Self::on(landscape.plot().await?).await
    }

    /// On a plot of one's own.
    pub async fn on(plot: Plot) -> Result<Self, Fault> {
        let place = Place { garden: "test".to_owned(), project: plot.garden_namespace.clone() };
        let ledger = Ledger::open("sqlite::memory:", place).await?;
        Ok(Self {
            plot,
            ledger,
            kind: BindingKind::default(),
            provider: Provider::Aws,
            multi_account: MultiAccount::default(),
            cap: None,
        })
    }

    /// Every tenant may have several accounts, with this many clusters each.
    pub fn with_limit(mut self, limit: u32) -> Self {
        let limits = BTreeMap::from([("default".to_owned(), Limit(limit))]);
        self.multi_account = MultiAccount { allowed_global_accounts: vec!["*".to_owned()], limits };
        self
    }

    /// Puts accounts with these names into the pool.
    pub async fn accounts(&self, names: &[&str], labels: Value) -> Result<(), Fault> {
        for name in names {
            self.plot.add_account(name, self.provider, labels.clone()).await?;
        }
        Ok(())
    }

    pub fn settings(&self, identity: &str) -> Settings {
        Settings {
            garden_namespace: self.plot.garden_namespace.clone(),
            request_namespace: Some(self.plot.namespace.clone()),
            lease_namespace: self.plot.namespace.clone(),
            identity: identity.to_owned(),
            binding_kind: self.kind,
            labels: LabelKeys::default(),
            workers: 4,
        }
    }

    pub fn policy(&self, text: &str) -> Policy {
        let options = rules::Options { enabled_plans: Some(Vec::new()), ..rules::Options::default() };
        let loaded = rules::load(text, &options);
        let rules = loaded.rules.unwrap_or_else(|| panic!("{:?}", loaded.findings));
        Policy {
            rules: Arc::new(rules),
            multi_account: self.multi_account.clone(),
            cap: self.cap,
            tenancy: Arc::new(Tenancy::trusted()),
        }
    }

    /// An operator, not started.
    pub fn operator(&self, identity: &str, ledger: &Ledger) -> Operator {
        Operator::new(Parts {
            control_plane: self.plot.landscape.control_plane.clone(),
            garden: self.plot.landscape.garden.clone(),
            ledger: ledger.clone(),
            settings: self.settings(identity),
            policy: self.policy(RULES),
            clock: Clock::system(),
            metrics: Metrics::new(),
        })
    }

    /// An operator at work, on the stage's own ledger, without a Lease.
    pub fn start(&self) -> Running {
        self.start_with("one", &self.ledger)
    }

    pub fn start_with(&self, identity: &str, ledger: &Ledger) -> Running {
        let operator = self.operator(identity, ledger);
        Running::new(operator, |operator| async move { operator.run_as_leader().await })
    }

    /// An operator that works only while it holds the Lease.
    pub fn start_with_lease(&self, identity: &str, ledger: &Ledger) -> Running {
        let operator = self.operator(identity, ledger);
        Running::new(operator, |operator| async move { operator.run().await })
    }

    /// Two operators that contend for the Lease, each with its own connections to one PostgreSQL.
    pub async fn start_two(&self) -> Result<(Postgres, [Running; 2]), Fault> {
        let (postgres, [one, two]) = self.postgres().await?;
        Ok((postgres, [self.start_with_lease("one", &one), self.start_with_lease("two", &two)]))
    }

    /// Two operators that both believe that they lead.
    pub async fn start_two_leaders(&self) -> Result<(Postgres, [Running; 2]), Fault> {
        let (postgres, [one, two]) = self.postgres().await?;
        Ok((postgres, [self.start_with("one", &one), self.start_with("two", &two)]))
    }

    /// One ledger in PostgreSQL, opened twice.
    async fn postgres(&self) -> Result<(Postgres, [Ledger; 2]), Fault> {
        let postgres = Postgres::start()?;
        let url = postgres.database()?;
        let place = || Place { garden: "test".to_owned(), project: self.plot.garden_namespace.clone() };
        let ledgers = [Ledger::open(&url, place()).await?, Ledger::open(&url, place()).await?];
        Ok((postgres, ledgers))
    }

    pub fn requests(&self) -> Api<SubscriptionRequest> {
        Api::namespaced(self.plot.landscape.control_plane.clone(), &self.plot.namespace)
    }

    pub fn bindings(&self) -> Api<CredentialsBinding> {
        Api::namespaced(self.plot.landscape.garden.clone(), &self.plot.garden_namespace)
    }

    /// Asks for an account for this tenant.
    pub async fn ask(&self, name: &str, tenant: &str) -> Result<SubscriptionRequest, Fault> {
        let provider = self.provider.as_str();
        self.ask_with(name, json!({ "provider": provider, "subscriptionSelector": tenant })).await
    }

    pub async fn ask_with(&self, name: &str, spec: Value) -> Result<SubscriptionRequest, Fault> {
        let request = serde_json::from_value(json!({
            "apiVersion": "control-plane.kyma-project.io/v1alpha1",
            "kind": "SubscriptionRequest",
            "metadata": { "name": name },
            "spec": spec,
        }))?;
        Ok(self.requests().create(&PostParams::default(), &request).await?)
    }

    pub async fn delete(&self, name: &str) -> Result<(), Fault> {
        self.requests().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Waits until a request is in this phase.
    pub async fn in_phase(&self, name: &str, phase: SubscriptionPhase) -> Result<SubscriptionRequest, Fault> {
        self.request_that(name, &format!("is {phase:?}"), |request| {
            request.status.as_ref().and_then(|status| status.phase) == Some(phase)
        })
        .await
    }

    /// Waits until a request has an account, and returns the binding's name.
    pub async fn bound(&self, name: &str) -> Result<String, Fault> {
        let request = self.in_phase(name, SubscriptionPhase::Bound).await?;
        Ok(request.status.unwrap().gardener_secret_name.unwrap())
    }

    pub async fn request_that(
        &self,
        name: &str,
        what: &str,
        is: impl Fn(&SubscriptionRequest) -> bool,
    ) -> Result<SubscriptionRequest, Fault> {
        let api = self.requests();
        until(&format!("request {name} {what}"), async || {
            let request = api.get(name).await.map_err(|error| error.to_string())?;
            if is(&request) { Ok(request) } else { Err(format!("{:?}", request.status)) }
        })
        .await
    }

    pub async fn gone(&self, name: &str) -> Result<(), Fault> {
        let api = self.requests();
        until(&format!("request {name} is gone"), async || match api.get_opt(name).await {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await
    }

    /// Waits until the labels of a binding are what is waited for.
    pub async fn labelled(&self, account: &str, key: &str, value: Option<&str>) -> Result<(), Fault> {
        let api = self.bindings();
        until(&format!("binding {account} has {key}={value:?}"), async || {
            let binding = api.get(account).await.map_err(|error| error.to_string())?;
            let found = binding.labels().get(key).map(String::as_str);
            if found == value {
                Ok(())
            } else {
                Err(format!("{:?} {:?}", binding.labels(), binding.annotations()))
            }
        })
        .await
    }

    pub async fn label(&self, account: &str, labels: Value) -> Result<(), Fault> {
        let patch = json!({ "metadata": { "labels": labels } });
        self.bindings().patch(account, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    }

    /// The accounts that carry a tenant's name.
    pub async fn held_by(&self, tenant: &str) -> Result<Vec<String>, Fault> {
        let bindings = self.bindings().list(&Default::default()).await?;
        let held = bindings
            .iter()
            .filter(|binding| binding.labels().get("tenantName").is_some_and(|name| name == tenant));
        Ok(held.map(ResourceExt::name_any).collect())
    }

    /// A Shoot on a binding, for a request or for nobody.
    pub async fn shoot(
        &self,
        name: &str,
        binding: &str,
        request: Option<&SubscriptionRequest>,
    ) -> Result<Shoot, Fault> {
        let manifest = match self.provider {
            Provider::Aws => include_str!("../../../../landscape/manifests/shoots/aws.yaml"),
            Provider::Azure => include_str!("../../../../landscape/manifests/shoots/az.yaml"),
            Provider::Gcp => include_str!("../../../../landscape/manifests/shoots/gcp.yaml"),
            Provider::Openstack => include_str!("../../../../landscape/manifests/shoots/openstack.yaml"),
            Provider::Alicloud => include_str!("../../../../landscape/manifests/shoots/alicloud.yaml"),
        };
        let mut shoot: Value = serde_saphyr::from_str(manifest)?;
        shoot["metadata"] = json!({ "name": name, "namespace": self.plot.garden_namespace });
        if let Some(request) = request {
            shoot["metadata"]["labels"] = json!({ label::SUBSCRIPTION_REQUEST: request.uid().unwrap() });
        }
        shoot["spec"]["credentialsBindingName"] = json!(binding);
        let shoot: Shoot = serde_json::from_value(shoot)?;
        Ok(self.plot.create_shoot(&shoot).await?)
    }

    pub async fn delete_shoot(&self, name: &str) -> Result<(), Fault> {
        let confirm =
            json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": "true" } } });
        let shoots = self.plot.shoots();
        shoots.patch(name, &PatchParams::default(), &Patch::Merge(&confirm)).await?;
        shoots.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }
}

/// So long is waited for anything: whoever shares the machine may need it for longer than one thinks.
const PATIENCE: Duration = Duration::from_secs(90);

/// Tries, twenty times a second.
pub async fn until<T>(what: &str, attempt: impl AsyncFn() -> Result<T, String>) -> Result<T, Fault> {
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt().await {
            Ok(value) => return Ok(value),
            Err(last) if Instant::now() > end => {
                return Err(format!("{what}: not in {} s; last seen: {last}", PATIENCE.as_secs()).into());
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
