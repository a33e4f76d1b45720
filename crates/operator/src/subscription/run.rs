//! The operator as a whole: followers all the time, workers while it leads.

use super::{
    Followed, Index, Task, Trouble,
    fence::Fenced,
    forged::BOUND_RESYNC,
    history::HISTORY_DELAY,
    positions::Positions,
    term::{Rebuild, Term, TermError},
    waiting::Waiting,
    write::NewestShoots,
};
use crate::{
    entries::Entries,
    ledger::Ledger,
    metrics::Metrics,
    runtime::{
        clock::Clock,
        controller::{Controller, Leadership},
        events::Recorder,
        follow::MetadataOf,
        keep::{Cache, Keeper},
        lease::Candidate,
        queue::{Outcome, Queue, fair::FairKey},
        report::tell_lasting,
        shared_read::SharedRead,
        work::{Worker, work},
    },
    tenancy::NamespaceRoles,
};
use allotment_api::{
    gardener::{CredentialsBinding, SecretBinding, Shoot},
    kyma::{BindingKind, SubscriptionRequest},
};
use allotment_core::{
    pool::{AccountName, Epoch, Fence, LabelKeys, MultiAccount, RequestUid, Traces, tenant_of, wanted},
    quotas::Fairness,
    rules::RuleSet,
    tenancy::Tenancy,
};
use futures::{
    FutureExt,
    future::{BoxFuture, pending},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt, core::DeserializeGuard};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// The controller's name in Events, metrics and the Lease.
pub(super) const CONTROLLER: &str = "subscription";

/// The Lease that whoever leads holds.
pub const LEASE_NAME: &str = "allotment-subscription";

/// How long until a leader that may not hand anything out looks again whether it may.
const TERM_RETRY: Duration = Duration::from_secs(10);

/// How long until a term that could not begin for another reason is tried again, at first; twice as long each time. Every attempt may
/// raise the epoch.
const TERM_RETRY_AFTER: Duration = Duration::from_secs(1);
const TERM_RETRY_AT_MOST: Duration = Duration::from_secs(30);

/// How often accounts on their way from one state to another are looked at, if nothing else makes somebody look.
const UNFINISHED_LOOK: Duration = Duration::from_secs(60);

/// What does not change while the process runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace of the project in the garden.
    pub garden_namespace: String,
    /// The only namespace whose requests are looked at; none: all.
    pub request_namespace: Option<String>,
    /// Where the Lease is, in the control plane.
    pub lease_namespace: String,
    /// Who this process is: another one in every replica.
    pub identity: String,
    /// What the pool is made of.
    pub binding_kind: BindingKind,
    /// The labels of pool entries.
    pub labels: LabelKeys,
    /// How many requests and accounts are looked at at once.
    pub workers: usize,
}

/// What can change while it runs.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Which pool.
    pub rules: Arc<RuleSet>,
    /// Who may have several accounts, and how full each may get.
    pub multi_account: MultiAccount,
    /// The most accounts of one tenant; none: no cap.
    pub cap: Option<u32>,
    /// Which tenants a namespace may name.
    pub tenancy: Arc<Tenancy>,
}

/// What an operator is made of.
pub struct Parts {
    /// Where requests are.
    pub control_plane: Client,
    /// Where accounts and Shoots are.
    pub garden: Client,
    /// Who sits where.
    pub ledger: Ledger,
    /// What does not change.
    pub settings: Settings,
    /// What does.
    pub policy: Policy,
    /// The time.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Metrics,
}

/// The subscription operator. Cheap to clone.
#[derive(Clone)]
pub struct Operator(Arc<Inner>);

pub(super) struct Inner {
    pub(super) control_plane: Client,
    pub(super) garden: Client,
    pub(super) entries: Entries,
    pub(super) ledger: Ledger,
    pub(super) settings: Settings,
    policy: RwLock<Arc<Policy>>,
    pub(super) roles: Arc<NamespaceRoles>,
    fairness: RwLock<Arc<Fairness>>,
    pub(super) clock: Clock,
    pub(super) metrics: Metrics,
    /// For Events about requests.
    pub(super) recorder: Recorder,
    /// For Events about accounts.
    pub(super) garden_recorder: Recorder,
    /// Accounts that a person has to look at, and why.
    pub(super) shown: Mutex<BTreeMap<AccountName, String>>,
    /// Requests that have an account by the ledger.
    pub(super) assigned: Mutex<BTreeMap<RequestUid, AccountName>>,
    pub(super) cache: Cache<Index>,
    pub(super) positions: Positions,
    pub(super) shoots_of_now: SharedRead<NewestShoots>,
    queue: Queue<Task>,
    pub(super) waiting: Mutex<Waiting>,
    /// Why nothing is handed out, if nothing is.
    pub(super) halted: watch::Sender<Option<String>>,
    /// Since when.
    halted_since: Mutex<Option<Instant>>,
    leadership: Leadership,
    /// The fence as this term wrote it last. Locked while it is written, so that one write serves all who wait.
    pub(super) fenced: tokio::sync::Mutex<Option<Fenced>>,
    /// Somebody else has raised the epoch in the ledger, or has the fence: this term is over, whatever the Lease says.
    pub(super) outdated: watch::Sender<bool>,
    /// Whom the fence names; none: nobody.
    pub(super) tie: OnceLock<Tie>,
}

/// Whom the fence names, so that nobody else takes it by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// The control plane.
    ControlPlane,
    /// The control plane, and the namespace of the operators in it.
    Installation,
}

impl Operator {
    /// Puts it together. Nothing happens before [`Controller::run`].
    pub fn new(parts: Parts) -> Self {
        let Parts { control_plane, garden, ledger, settings, policy, clock, metrics } = parts;
        let recorder = |client: &Client| {
            Recorder::new(client.clone(), "allotment.dev/subscription", &settings.identity, clock.clone())
        };
        let roles = Arc::new(NamespaceRoles::new(control_plane.clone(), policy.tenancy.clone()));
        let index = Index::new(settings.binding_kind, settings.labels.clone())
            .counting_by(roles.clone())
            .planted_like(&ledger);
        let leases = Api::namespaced(control_plane.clone(), &settings.lease_namespace);
        let candidate = Candidate::new(leases, LEASE_NAME, &settings.identity, clock.clone());
        Self(Arc::new(Inner {
            recorder: recorder(&control_plane),
            garden_recorder: recorder(&garden),
            shown: Mutex::new(BTreeMap::new()),
            assigned: Mutex::default(),
            cache: Cache::new(index),
            leadership: Leadership::new(CONTROLLER, Some(candidate), metrics.clone()),
            control_plane,
            entries: Entries::new(garden.clone(), &settings.garden_namespace, settings.binding_kind),
            garden,
            positions: Positions::new(&ledger),
            ledger,
            settings,
            roles,
            policy: RwLock::new(Arc::new(policy)),
            fairness: RwLock::new(Arc::new(Fairness::trusted())),
            clock,
            metrics,
            shoots_of_now: SharedRead::default(),
            queue: Queue::new(),
            waiting: Mutex::default(),
            halted: watch::channel(None).0,
            halted_since: Mutex::default(),
            fenced: tokio::sync::Mutex::new(None),
            outdated: watch::channel(false).0,
            tie: OnceLock::new(),
        }))
    }

    /// Ties the ledger to the control plane: an operator that is started with the kubeconfig of another one halts. Simulated worlds have
    /// control planes without a name.
    #[must_use]
    pub fn tied_to_control_plane(self) -> Self {
        self.tied(Tie::ControlPlane)
    }

    /// Ties the ledger to the control plane and to the operators in this namespace of it: an operator that leads by a Lease in another
    /// namespace halts.
    #[must_use]
    pub fn tied_to_installation(self) -> Self {
        self.tied(Tie::Installation)
    }

    fn tied(self, tie: Tie) -> Self {
        // It is put together once.
        let _ = self.0.tie.set(tie);
        self
    }

    /// Takes new rules, limits and tenants. Requests that have no account yet and are for another pool now, or are not denied any
    /// more, are looked at again; all of them where tenants have changed, since those that have an account report it.
    pub fn set_policy(&self, policy: Policy) {
        let has_other_tenants = self.0.policy().tenancy != policy.tenancy;
        self.0.roles.set(policy.tenancy.clone());
        let policy = Arc::new(policy);
        let before = std::mem::replace(
            &mut *self.0.policy.write().unwrap_or_else(PoisonError::into_inner),
            policy.clone(),
        );
        let is_undecided = |request: &SubscriptionRequest| {
            request.status.as_ref().is_none_or(|status| status.gardener_secret_name.is_none())
        };
        let is_other = |request: &SubscriptionRequest| {
            wanted(&request.spec, &before.rules) != wanted(&request.spec, &policy.rules)
        };
        let names: Vec<super::RequestName> = {
            let mut index = self.0.index();
            index.census.recount(None);
            let others = index
                .requests()
                .filter(|(_, request)| has_other_tenants || (is_undecided(request) && is_other(request)));
            others.map(|(name, _)| name.clone()).collect()
        };
        names.into_iter().for_each(|name| self.0.queue.add(Task::Request(name)));
        self.0.wake_everybody();
    }

    /// Takes new caps, and which namespaces are the platform's. Requests that were refused because of a cap are judged again.
    pub fn set_fairness(&self, fairness: Fairness) {
        *self.0.fairness.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fairness);
        let refused: Vec<super::RequestName> = self.0.index().census.refused().cloned().collect();
        refused.into_iter().for_each(|name| self.0.queue.add(Task::Request(name)));
    }

    /// Looks at what is known.
    pub fn with_index<T>(&self, look: impl FnOnce(&Index) -> T) -> T {
        look(&self.0.index())
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// Why nothing is handed out, if nothing is, as it changes.
    pub fn halted(&self) -> watch::Receiver<Option<String>> {
        self.0.halted.subscribe()
    }

    /// Accounts that a person has to look at, and why.
    pub fn to_look_at(&self) -> BTreeMap<AccountName, String> {
        self.0.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether every kind has been listed once.
    pub fn is_complete(&self) -> bool {
        self.0.cache.is_complete() && self.0.roles.is_listed()
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: Instant) -> bool {
        self.0.queue.is_idle_until(moment)
    }

    /// Looks at everything again, as a restart would.
    pub fn resync(&self) {
        self.0.enqueue_all();
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Makes the ledger anew from the cluster, and the garden's own: whoever leads under an older epoch may write nothing
    /// any more, and an operator that halted because the ledger did not fit goes on.
    pub async fn rebuild(&self) -> Result<Epoch, Trouble> {
        self.rebuild_with(&Rebuild::default()).await
    }

    /// The namespace of the operators that the fence names.
    pub async fn fenced_installation(&self) -> Result<Option<String>, Trouble> {
        match self.0.read_fence().await?.fence {
            Fence::Known(known) => Ok(known.installation),
            Fence::Missing | Fence::Unreadable => Ok(None),
        }
    }

    /// The same, with a choice.
    pub async fn rebuild_with(&self, rebuild: &Rebuild) -> Result<Epoch, Trouble> {
        tokio::select! {
            biased;
            () = Box::pin(self.follow_all()) => pending().await,
            rebuilt = Box::pin(self.0.rebuild(rebuild)) => rebuilt,
        }
    }

    /// Whether the ledger is the one that the garden was served from, and not older. Only reads.
    pub async fn verify_ledger_identity(&self, traces: Traces) -> Result<(), Trouble> {
        self.0.verify_ledger_identity(Some(traces)).await.map(drop)
    }

    async fn serve_requests(&self) {
        let term = self.0.begin_when_possible().await;
        self.0.enqueue_requests();
        self.0.wake_everybody();
        self.0.add(Task::Unfinished);
        self.0.add(Task::Queues);
        self.0.add(Task::Fence);
        self.0.queue.add_after(Task::Bound, BOUND_RESYNC);
        self.0.queue.add_after(Task::History, HISTORY_DELAY);
        let (inner, settings) = (&*self.0, &self.0.settings);
        let key = |task: &Task| inner.fair_key(task);
        let worker = Worker { metrics: &inner.metrics, controller: CONTROLLER, reporter: inner };
        work(settings.workers, &inner.queue, &worker, key, |task| async move {
            self.look_at(term, &task).await.inspect_err(|trouble| {
                if trouble.ends_the_term() {
                    inner.outdated.send_replace(true);
                }
            })
        })
        .await;
    }

    async fn look_at(&self, term: Term, task: &Task) -> Result<Outcome, Trouble> {
        match task {
            Task::Account(account) => self.0.look_at_account(term, account).await,
            Task::Request(name) => self.0.look_at_request(term, name).await,
            Task::Orphan(uid) => self.0.look_at_orphan(term, uid).await,
            Task::Pool(pool) => self.0.look_at_pool(pool).await,
            Task::Line(pool, tenant) => self.0.look_at_line(pool, tenant).await,
            Task::Queues => self.0.look_at_queues().await,
            Task::Unfinished => self.0.look_at_unfinished().await,
            Task::Bound => self.0.look_at_bound().await,
            Task::Fence => self.0.look_at_fence(term).await,
            Task::History => self.0.count_old_history(term).await,
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
            let requests: Api<DeserializeGuard<SubscriptionRequest>> = match &inner.settings.request_namespace
            {
                None => Api::all(inner.control_plane.clone()),
                Some(namespace) => Api::namespaced(inner.control_plane.clone(), namespace),
            };
            let shoots: Api<DeserializeGuard<Shoot>> = Api::namespaced(inner.garden.clone(), garden);
            let credentials: Api<DeserializeGuard<CredentialsBinding>> =
                Api::namespaced(inner.garden.clone(), garden);
            let secret_bindings: Api<DeserializeGuard<SecretBinding>> =
                Api::namespaced(inner.garden.clone(), garden);
            let add = |task| inner.queue.add(task);
            let keeper = inner.cache.keeper(&add);
            tokio::join!(
                keeper.keep_up(
                    Followed::Requests,
                    requests,
                    None,
                    inner.positions.requests.clone(),
                    Index::learn_request,
                    |index, gone| index.forget_request(&super::RequestName::of(&gone)),
                ),
                keeper.keep_up(
                    Followed::Shoots,
                    shoots,
                    None,
                    inner.positions.shoots.clone(),
                    |index, shoot| index.learn_shoot(&shoot),
                    |index, gone| index.forget_shoot(&gone.name_any()),
                ),
                keeper.keep_up(
                    Followed::CredentialsBindings,
                    credentials,
                    None,
                    inner.positions.credentials_bindings.clone(),
                    |index, binding| index.learn_credentials_binding(&binding),
                    |index, gone| index.forget_credentials_binding(&gone.name_any()),
                ),
                keeper.keep_up(
                    Followed::SecretBindings,
                    secret_bindings,
                    None,
                    inner.positions.secret_bindings.clone(),
                    |index, binding| index.learn_secret_binding(&binding),
                    |index, gone| index.forget_secret_binding(&gone.name_any()),
                ),
                inner.follow_secrets(&keeper),
                inner.roles.watch(|namespace| inner.enqueue_requests_in(namespace)),
            );
        }
        .boxed()
    }

    fn serve(&self) -> BoxFuture<'_, ()> {
        async move {
            // Also while no term can begin: those that wait are told why.
            tokio::join!(Box::pin(self.serve_requests()), Box::pin(tell_lasting(&*self.0)));
        }
        .boxed()
    }

    /// Until somebody else leads in the ledger.
    fn serve_a_term(&self) -> BoxFuture<'_, ()> {
        async move {
            self.0.outdated.send_replace(false);
            let mut outdated = self.0.outdated.subscribe();
            tokio::select! {
                biased;
                // The sender lives as long as this does.
                _ = outdated.wait_for(|outdated| *outdated) => {
                    tracing::warn!("the ledger or its fence is not this term's any more; starting over");
                }
                () = Box::pin(self.serve()) => (),
            }
        }
        .boxed()
    }
}

impl Inner {
    pub(super) fn policy(&self) -> Arc<Policy> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn fairness(&self) -> Arc<Fairness> {
        self.fairness.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// For whom a task is done.
    fn fair_key(&self, task: &Task) -> FairKey {
        match task {
            Task::Account(_)
            | Task::Pool(_)
            | Task::Queues
            | Task::Unfinished
            | Task::Bound
            | Task::Fence
            | Task::History => FairKey::Everybody,
            Task::Line(_, tenant) => FairKey::Tenant(tenant.to_string()),
            // Whose it was is known to the ledger only; all of them take turns with the namespaces.
            Task::Orphan(_) => FairKey::namespace(""),
            Task::Request(name) if self.fairness().is_platform(&name.namespace) => {
                let request = self.index().request(name);
                let tenant = request.and_then(|request| tenant_of(&request.spec.subscription_selector));
                FairKey::tenant_or_namespace(tenant.as_ref().map(|tenant| tenant.as_str()), &name.namespace)
            }
            Task::Request(name) => FairKey::namespace(&name.namespace),
        }
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.cache.index()
    }

    pub(super) fn add(&self, task: Task) {
        self.queue.add(task);
    }

    fn enqueue_all(&self) {
        for (account, _) in self.index().entries() {
            self.queue.add(Task::Account(account.clone()));
        }
        self.enqueue_requests();
    }

    fn enqueue_requests(&self) {
        for (name, _) in self.index().requests() {
            self.queue.add(Task::Request(name.clone()));
        }
    }

    fn enqueue_requests_in(&self, namespace: &str) {
        let mut index = self.index();
        let admitted = index.census.recount(Some(namespace));
        let own = index.requests().map(|(name, _)| name).filter(|name| name.namespace == namespace);
        own.cloned().chain(admitted).for_each(|name| self.queue.add(Task::Request(name)));
    }

    /// Whoever changed an account sees to the rest of its way; but it may not have heard that its change came about.
    async fn look_at_unfinished(&self) -> Result<Outcome, Trouble> {
        for account in self.ledger.unfinished().await? {
            self.queue.add(Task::Account(account));
        }
        Ok(Outcome::After(UNFINISHED_LOOK))
    }

    /// Becomes the leader in the ledger too, once the ledger fits the garden.
    async fn begin_when_possible(&self) -> Term {
        self.cache.until_complete().await;
        self.roles.until_listed().await;
        let mut wait = TERM_RETRY_AFTER;
        loop {
            // What came up so far is seen by the comparison, and a term that was dropped has left tasks behind that nobody
            // will finish.
            self.queue.clear();
            let trouble = match self.begin().await {
                Ok(term) => {
                    self.halted.send_replace(None);
                    *self.halted_since() = None;
                    return term;
                }
                Err(trouble) => trouble,
            };
            tracing::error!(error = %trouble, "nothing is handed out");
            self.halted_since().get_or_insert_with(Instant::now);
            self.halted.send_replace(Some(trouble.to_string()));
            // Nothing is written before the ledger was found to fit, so looking again for a person's remedy costs little.
            let waits_for_a_person = matches!(&trouble, Trouble::Term(TermError::Mismatch(_)));
            tokio::time::sleep(if waits_for_a_person { TERM_RETRY } else { wait }).await;
            wait = (wait * 2).min(TERM_RETRY_AT_MOST);
        }
    }

    fn halted_since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.halted_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing is handed out since so long.
    pub(super) fn is_halted_for(&self, time: Duration) -> bool {
        self.halted.borrow().is_some() && self.halted_since().is_some_and(|since| since.elapsed() >= time)
    }

    /// Secrets are followed only where the pool is made of them, and then only their metadata.
    async fn follow_secrets(&self, keeper: &Keeper<'_, Index>) {
        if self.settings.binding_kind != BindingKind::Secret {
            return pending().await;
        }
        let secrets: Api<Secret> = Api::namespaced(self.garden.clone(), &self.settings.garden_namespace);
        let in_the_pool = Some(self.settings.labels.hyperscaler_type.clone());
        keeper
            .keep_up(
                Followed::Secrets,
                MetadataOf(secrets),
                in_the_pool,
                self.positions.secrets.clone(),
                |index, secret| index.learn_secret(&secret.metadata),
                |index, gone| index.forget_secret(&gone.name_any()),
            )
            .await;
    }
}
