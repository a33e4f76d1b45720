//! The operator as a whole: list-watches all the time, workers while it leads.

use super::{
    Clouds, ReconcileError, Task,
    evidence::Held,
    index::Index,
    others::Asked,
    report::{Report, Reports},
};
use crate::{
    entries::Entries,
    ledger::{Ledger, LedgerError},
    metrics::Metrics,
    planted::Bed,
    runtime::{
        clock::Clock,
        controller::{Controller, Leadership},
        events::Recorder,
        follow::{MetadataOf, Position},
        keep::{Cache, Keeper},
        lease::Candidate,
        queue::{Outcome, Queue, fair::FairKey},
        report::NoObjects,
        work::{Worker, work},
    },
    subscription::Followed,
};
use allotment_api::{
    gardener::{CredentialsBinding, SecretBinding, Shoot},
    kyma::BindingKind,
};
use allotment_clouds::Patience;
use allotment_core::{
    cleanup::{GuardLimits, KindName, Mode, Record, Timing},
    pool::{AccountName, LabelKeys},
};
use futures::{
    FutureExt,
    future::{BoxFuture, pending},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt, core::DeserializeGuard};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

/// The controller's name in Events, metrics and the Lease.
pub(super) const CONTROLLER: &str = "cleanup";

/// The Lease of the leader.
pub const LEASE_NAME: &str = "allotment-cleanup";

/// Every dirty account is reconciled so often, if nothing else makes it due.
const RESYNC: Duration = Duration::from_secs(60);

/// How long a leader waits for the ledger before it tries again.
const LEDGER_RETRY: Duration = Duration::from_secs(5);

/// Settings that need a restart.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace of the project in the garden.
    pub garden_namespace: String,
    /// The project: a part of the technical ids of Shoots.
    pub project: String,
    /// The namespace of the Lease, in the control plane.
    pub lease_namespace: String,
    /// The name of this process, unique among replicas.
    pub identity: String,
    /// The kind of pool entries.
    pub binding_kind: BindingKind,
    /// The labels of pool entries.
    pub labels: LabelKeys,
    /// So many accounts are worked on at once.
    pub workers: usize,
}

/// Settings that can change while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How far it goes.
    pub mode: Mode,
    /// Times and numbers.
    pub timing: Timing,
    /// When the cleaning of all accounts stops.
    pub limits: GuardLimits,
    /// Ids that are never deleted.
    pub keep: BTreeSet<String>,
    /// Kinds that the credentials can neither list nor create, by cloud.
    pub assume_absent: BTreeMap<String, BTreeSet<KindName>>,
    /// Whether accounts that were never used get a baseline.
    pub baselines: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            timing: Timing::default(),
            limits: GuardLimits::default(),
            keep: BTreeSet::new(),
            assume_absent: BTreeMap::new(),
            baselines: true,
        }
    }
}

/// The parts of an operator.
pub struct Parts {
    /// The Lease is here.
    pub control_plane: Client,
    /// Accounts and Shoots are here.
    pub garden: Client,
    /// The ledger.
    pub ledger: Ledger,
    /// The clouds.
    pub clouds: Arc<dyn Clouds>,
    /// Settings that need a restart.
    pub settings: Settings,
    /// Settings that can change.
    pub policy: Policy,
    /// How long a wave waits for slow deletions.
    pub patience: Patience,
    /// The time.
    pub clock: Clock,
    /// The metrics.
    pub metrics: Metrics,
}

/// The cleanup operator. Cheap to clone.
#[derive(Clone)]
pub struct Operator(Arc<Inner>);

pub(crate) struct Inner {
    pub(super) garden: Client,
    pub(super) entries: Entries,
    pub(super) ledger: Ledger,
    pub(super) clouds: Arc<dyn Clouds>,
    pub(super) settings: Settings,
    policy: RwLock<Arc<Policy>>,
    pub(super) patience: Patience,
    pub(super) clock: Clock,
    pub(super) metrics: Metrics,
    pub(super) recorder: Recorder,
    pub(super) cache: Cache<Index>,
    pub(super) shoots: Position,
    queue: Queue<Task>,
    leadership: Leadership,
    held: Mutex<BTreeMap<AccountName, Held>>,
    records: Mutex<BTreeMap<AccountName, Record>>,
    pub(super) asked: Asked,
    pub(super) reports: Reports,
    pub(crate) planted: Bed,
}

impl Operator {
    /// Puts it together. Nothing happens before [`Controller::run`].
    pub fn new(parts: Parts) -> Self {
        let Parts { control_plane, garden, ledger, clouds, settings, policy, patience, clock, metrics } =
            parts;
        let recorder =
            Recorder::new(garden.clone(), "allotment.dev/cleanup", &settings.identity, clock.clone());
        let index = Index::new(settings.binding_kind, settings.labels.clone(), settings.project.clone());
        let leases = Api::namespaced(control_plane, &settings.lease_namespace);
        let candidate = Candidate::new(leases, LEASE_NAME, &settings.identity, clock.clone());
        Self(Arc::new(Inner {
            recorder,
            cache: Cache::new(index),
            leadership: Leadership::new(CONTROLLER, Some(candidate), metrics.clone()),
            entries: Entries::new(garden.clone(), &settings.garden_namespace, settings.binding_kind),
            garden,
            ledger,
            clouds,
            settings,
            policy: RwLock::new(Arc::new(policy)),
            patience,
            clock,
            metrics,
            shoots: Position::new(),
            queue: Queue::new(),
            held: Mutex::default(),
            records: Mutex::default(),
            asked: Asked::default(),
            reports: Reports::default(),
            planted: Bed::default(),
        }))
    }

    /// Takes a new policy, and reconciles every account by it.
    pub fn set_policy(&self, policy: Policy) {
        *self.0.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
        self.0.enqueue_all();
    }

    /// The state of all cleanings that this process knows of.
    pub fn report(&self) -> Report {
        self.0.reports.get()
    }

    /// Whether every kind has been listed once.
    pub fn is_complete(&self) -> bool {
        self.0.cache.is_complete()
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: tokio::time::Instant) -> bool {
        self.0.queue.is_idle_until(moment)
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    async fn reconcile(&self, task: &Task) -> Result<Outcome, ReconcileError> {
        match task {
            Task::Account(account) => Box::pin(self.0.reconcile_account(account)).await,
            Task::Baseline(account) => Box::pin(self.0.take_baseline(account)).await,
            Task::Shoot(name) => self.0.remember_shoot(name).await,
            Task::Resync => {
                self.0.enqueue_dirty();
                Ok(Outcome::After(RESYNC))
            }
        }
    }
}

impl Controller for Operator {
    fn leadership(&self) -> &Leadership {
        &self.0.leadership
    }

    fn follow_all(&self) -> BoxFuture<'_, ()> {
        async move {
            let (inner, garden) = (&self.0, &self.0.settings.garden_namespace);
            let shoots: Api<DeserializeGuard<Shoot>> = Api::namespaced(inner.garden.clone(), garden);
            let credentials: Api<DeserializeGuard<CredentialsBinding>> =
                Api::namespaced(inner.garden.clone(), garden);
            let secret_bindings: Api<DeserializeGuard<SecretBinding>> =
                Api::namespaced(inner.garden.clone(), garden);
            let add = |task| inner.queue.add(task);
            let keeper = inner.cache.keeper(&add);
            tokio::join!(
                keeper.keep_up(
                    Followed::Shoots,
                    shoots,
                    None,
                    inner.shoots.clone(),
                    |index, shoot| index.upsert_shoot(&shoot),
                    |index, gone| index.remove_shoot(&gone.name_any()),
                ),
                keeper.keep(
                    Followed::CredentialsBindings,
                    credentials,
                    None,
                    |index, binding| index.change(|pool| pool.learn_credentials_binding(&binding)),
                    |index, gone| index.change(|pool| pool.forget_credentials_binding(&gone.name_any())),
                ),
                keeper.keep(
                    Followed::SecretBindings,
                    secret_bindings,
                    None,
                    |index, binding| index.change(|pool| pool.learn_secret_binding(&binding)),
                    |index, gone| index.change(|pool| pool.forget_secret_binding(&gone.name_any())),
                ),
                inner.follow_secrets(&keeper),
            );
        }
        .boxed()
    }

    fn serve(&self) -> BoxFuture<'_, ()> {
        async move {
            let inner = &self.0;
            inner.cache.until_complete().await;
            inner.queue.clear();
            inner.begin_when_possible().await;
            let _reports = ReportsOfTerm(inner);
            inner.enqueue_all();
            inner.queue.add_after(Task::Resync, RESYNC);
            // Listings of accounts that wait for nobody take turns with the cleaning.
            let key = |task: &Task| match task {
                Task::Baseline(_) => FairKey::namespace("baselines"),
                Task::Account(_) | Task::Shoot(_) | Task::Resync => FairKey::Everybody,
            };
            // Accounts have their reports; requests are the subscription operator's.
            let worker = Worker { metrics: &inner.metrics, controller: CONTROLLER, reporter: &NoObjects };
            work(inner.settings.workers, &inner.queue, &worker, key, |task| async move {
                self.reconcile(&task).await
            })
            .await;
        }
        .boxed()
    }
}

/// Ends with the term: the next leader reports from then on.
struct ReportsOfTerm<'a>(&'a Inner);

impl Drop for ReportsOfTerm<'_> {
    fn drop(&mut self) {
        self.0.records().clear();
        self.0.withdraw_reports();
    }
}

impl Inner {
    pub(super) fn policy(&self) -> Arc<Policy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.cache.index()
    }

    pub(super) fn add(&self, task: Task) {
        self.queue.add(task);
    }

    /// The evidence about an account.
    pub(super) fn held(&self, account: &AccountName) -> Held {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).get(account).cloned().unwrap_or_default()
    }

    /// Changes the evidence about an account.
    pub(super) fn hold(&self, account: &AccountName, change: impl FnOnce(&mut Held)) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        change(held.entry(account.clone()).or_default());
    }

    /// Drops the evidence about an account: everything is asked and listed anew.
    pub(super) fn drop_evidence(&self, account: &AccountName) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(account);
    }

    /// The records of all cleanings, as this process knows them.
    pub(super) fn records(&self) -> MutexGuard<'_, BTreeMap<AccountName, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enqueue_all(&self) {
        let index = self.index();
        index.pool.entries().for_each(|(account, _)| self.queue.add(Task::Account(account.clone())));
        index.shoot_names().for_each(|name| self.queue.add(Task::Shoot(name.clone())));
        drop(index);
        let records: Vec<AccountName> = self.records().keys().cloned().collect();
        records.into_iter().for_each(|account| self.queue.add(Task::Account(account)));
    }

    fn enqueue_dirty(&self) {
        let index = self.index();
        let dirty = index.pool.entries().filter(|(_, entry)| entry.entry.dirty);
        dirty.for_each(|(account, _)| self.queue.add(Task::Account(account.clone())));
    }

    /// Waits for the ledger, and reads the records of all cleanings.
    async fn begin_when_possible(&self) {
        loop {
            match self.read_records().await {
                Ok(()) => return,
                Err(error) => tracing::error!(%error, "nothing is cleaned"),
            }
            tokio::time::sleep(LEDGER_RETRY).await;
        }
    }

    async fn read_records(&self) -> Result<(), LedgerError> {
        let cleanings = self.ledger.cleanings().await?;
        // Whoever led before may have worked on them since.
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clear();
        *self.records() =
            cleanings.into_iter().map(|(account, cleaning)| (account, cleaning.record)).collect();
        Ok(())
    }

    /// Secrets are followed only where they are the pool entries, and then only their metadata.
    async fn follow_secrets(&self, keeper: &Keeper<'_, Index>) {
        if self.settings.binding_kind != BindingKind::Secret {
            return pending().await;
        }
        let secrets: Api<Secret> = Api::namespaced(self.garden.clone(), &self.settings.garden_namespace);
        let in_the_pool = Some(self.settings.labels.hyperscaler_type.clone());
        keeper
            .keep(
                Followed::Secrets,
                MetadataOf(secrets),
                in_the_pool,
                |index, secret| index.change(|pool| pool.learn_secret(&secret.metadata)),
                |index, gone| index.change(|pool| pool.forget_secret(&gone.name_any())),
            )
            .await;
    }
}
