//! What is counted. Labels are bounded, units are base units, and a gauge that is zero says 0.

use crate::dependencies::Dependencies;
use jiff::SignedDuration;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// From a millisecond to half a minute.
const SECONDS: [f64; 10] = [0.001, 0.005, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0];

/// Everything that a process counts. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Mutex<Registry>,
    claims: Family<Outcome, Counter>,
    claim_duration: Histogram,
    reconcile_duration: Family<Reconcile, Histogram, fn() -> Histogram>,
    reconcile_errors: Family<Failure, Counter>,
    leader: Family<Controller, Gauge>,
    rules_rejected: Gauge,
    api_requests: Family<Call, Counter>,
    admin_kubeconfigs: Family<Outcome, Counter>,
    clusters: Family<ClusterLabel, Gauge>,
    kubeconfigs: Family<PhaseLabel, Gauge>,
    cleanup: CleanupMetrics,
    dependencies: Dependencies,
    last_success: Family<DependencyLabel, Gauge>,
    failing: Family<DependencyLabel, Gauge>,
    /// Gauges that are read off when somebody asks.
    pub(crate) pool: PoolGauges,
}

/// What the pool looks like.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolGauges {
    pub(crate) per_tenant: Family<TenantLabel, Gauge>,
    pub(crate) per_account: Family<AccountLabel, Gauge>,
    /// The same without names.
    pub(crate) by_tenants: Counts,
    /// The same without names.
    pub(crate) by_accounts: Counts,
    pub(crate) available: Family<PoolLabel, Gauge>,
    pub(crate) accounts: Family<StateLabel, Gauge>,
    pub(crate) queue_length: Family<QueueLabel, Gauge>,
    pub(crate) queue_oldest: Family<QueueLabel, Gauge>,
    pub(crate) shoots: Gauge,
    pub(crate) halted: Gauge,
    pub(crate) to_look_at: Gauge,
    pub(crate) assignments_lost: Gauge,
    pub(crate) ledger_write_errors: Counter,
}

/// Returned accounts.
#[derive(Clone, Debug, Default)]
struct CleanupMetrics {
    accounts: Family<StageLabel, Gauge>,
    stuck: Family<CodeLabel, Gauge>,
    waiting: Gauge,
    halted: Gauge,
    cleaned: Counter,
    items: Family<Outcome, Counter>,
}

/// How many objects have how many of something: a histogram of what there is now, made anew each time.
#[derive(Clone, Debug)]
pub(crate) struct Counts(Family<NoLabel, Histogram, fn() -> Histogram>);

/// Families can be cleared, and histograms cannot.
type NoLabel = Vec<(String, String)>;

impl Default for Counts {
    fn default() -> Self {
        // Tenants have a few accounts; the default limit of Shoots in an account is below 200.
        const BUCKETS: [f64; 11] = [0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
        Self(Family::new_with_constructor(|| Histogram::new(BUCKETS)))
    }
}

impl Counts {
    /// These are all; none where nothing is told.
    pub(crate) fn set(&self, counts: Option<impl Iterator<Item = usize>>) {
        self.0.clear();
        let Some(counts) = counts else { return };
        let histogram = self.0.get_or_create_owned(&NoLabel::new());
        for count in counts {
            histogram.observe(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
        }
    }
}

/// Defines the labels of a family.
macro_rules! labels {
    ($name:ident { $($field:ident: $type:ty),* }) => {
        #[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
        pub(crate) struct $name { $(pub(crate) $field: $type),* }
    };
}

labels!(Outcome { outcome: &'static str });
labels!(Reconcile { controller: &'static str, outcome: &'static str });
labels!(Failure { controller: &'static str, category: &'static str });
labels!(Call { target: &'static str, verb: &'static str, code: String });
labels!(Controller { controller: &'static str });
labels!(ClusterLabel { phase: &'static str, provider: &'static str });
labels!(TenantLabel { global_account_id: String });
labels!(AccountLabel { credentials_binding: String });
labels!(PoolLabel { hyperscaler_type: String, eu_access: String, shared: String });
labels!(StateLabel { state: &'static str, provider: String });
// The name that people and logs use, and the labels of the gauge of available accounts, so that both can be joined.
labels!(QueueLabel { pool: String, hyperscaler_type: String, eu_access: String, shared: String });
labels!(PhaseLabel { phase: &'static str });
labels!(StageLabel { stage: &'static str });
labels!(CodeLabel { code: String });
labels!(DependencyLabel { dependency: &'static str });

impl Metrics {
    /// Nothing is counted yet.
    pub fn new() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(SECONDS);
        let inner = Inner {
            registry: Mutex::new(Registry::default()),
            claims: Family::default(),
            claim_duration: Histogram::new(SECONDS),
            reconcile_duration: Family::new_with_constructor(histogram),
            reconcile_errors: Family::default(),
            leader: Family::default(),
            rules_rejected: Gauge::default(),
            api_requests: Family::default(),
            admin_kubeconfigs: Family::default(),
            clusters: Family::default(),
            kubeconfigs: Family::default(),
            cleanup: CleanupMetrics::default(),
            dependencies: Dependencies::default(),
            last_success: Family::default(),
            failing: Family::default(),
            pool: PoolGauges::default(),
        };
        inner.register();
        Self(Arc::new(inner))
    }

    /// Servers and stores that this process depends on.
    pub fn dependencies(&self) -> &Dependencies {
        &self.0.dependencies
    }

    /// What a scrape gets.
    pub fn text(&self) -> String {
        self.read_dependencies();
        let mut text = String::new();
        let registry = self.0.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a string does not fail.
        let _ = encode(&mut text, &registry);
        text
    }

    fn read_dependencies(&self) {
        for statement in self.0.dependencies.statements() {
            let label = DependencyLabel { dependency: statement.dependency.as_str() };
            self.0.failing.get_or_create(&label).set(i64::from(statement.is_failing()));
            let succeeded = statement.succeeded_at.map_or(0, |succeeded| succeeded.as_second());
            self.0.last_success.get_or_create(&label).set(succeeded);
        }
    }

    /// A request got an account, or has to wait.
    pub(crate) fn claimed(&self, outcome: &'static str, latency: Option<SignedDuration>) {
        self.0.claims.get_or_create(&Outcome { outcome }).inc();
        if let Some(latency) = latency {
            self.0.claim_duration.observe(latency.as_secs_f64());
        }
    }

    /// Something was looked at.
    pub(crate) fn reconciled(&self, controller: &'static str, time: Duration, failure: Option<&'static str>) {
        let outcome = if failure.is_some() { "failed" } else { "done" };
        self.0
            .reconcile_duration
            .get_or_create(&Reconcile { controller, outcome })
            .observe(time.as_secs_f64());
        if let Some(category) = failure {
            self.0.reconcile_errors.get_or_create(&Failure { controller, category }).inc();
        }
    }

    /// An API server answered, or did not.
    pub(crate) fn api_request(&self, target: &'static str, verb: &'static str, code: Option<u16>) {
        let code = code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        self.0.api_requests.get_or_create(&Call { target, verb, code }).inc();
    }

    /// An admin kubeconfig was asked for.
    pub(crate) fn asked_for_admin_kubeconfig(&self, outcome: &'static str) {
        self.0.admin_kubeconfigs.get_or_create(&Outcome { outcome }).inc();
    }

    /// How many Clusters there are, by phase and provider.
    pub(crate) fn clusters_are(&self, counts: BTreeMap<(&'static str, &'static str), usize>) {
        self.0.clusters.clear();
        for ((phase, provider), count) in counts {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.0.clusters.get_or_create(&ClusterLabel { phase, provider }).set(count);
        }
    }

    /// How many KubeconfigRequests there are, by phase.
    pub(crate) fn kubeconfigs_are(&self, counts: impl IntoIterator<Item = (&'static str, usize)>) {
        for (phase, count) in counts {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.0.kubeconfigs.get_or_create(&PhaseLabel { phase }).set(count);
        }
    }

    /// The cleanings of accounts: the stage of each, and the code of those that are stuck.
    pub(crate) fn cleanings_are(&self, cleanings: impl Iterator<Item = (&'static str, Option<String>)>) {
        let CleanupMetrics { accounts, stuck, .. } = &self.0.cleanup;
        accounts.clear();
        stuck.clear();
        for (stage, code) in cleanings {
            accounts.get_or_create(&StageLabel { stage }).inc();
            if let Some(code) = code {
                stuck.get_or_create(&CodeLabel { code }).inc();
            }
        }
    }

    /// How many accounts may not be touched now.
    pub(crate) fn cleanings_wait(&self, count: usize) {
        self.0.cleanup.waiting.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Whether the cleaning of all accounts has stopped.
    pub(crate) fn cleanup_halted(&self, halted: bool) {
        self.0.cleanup.halted.set(i64::from(halted));
    }

    /// An account was proven empty and returned to the pool.
    pub(crate) fn cleaned_account(&self) {
        self.0.cleanup.cleaned.inc();
    }

    /// One pass of deletions.
    pub(crate) fn deleted_items(&self, tried: usize, refused: usize) {
        let count = |outcome, count: usize| {
            let counter = self.0.cleanup.items.get_or_create_owned(&Outcome { outcome });
            counter.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
        };
        count("accepted", tried.saturating_sub(refused));
        count("refused", refused);
    }

    /// A process leads, or no longer does.
    pub(crate) fn leads(&self, controller: &'static str, leads: bool) {
        self.0.leader.get_or_create(&Controller { controller }).set(i64::from(leads));
    }

    /// Whether the newest rules were refused and older ones are in force.
    pub fn rules_are_rejected(&self, rejected: bool) {
        self.0.rules_rejected.set(i64::from(rejected));
    }

    pub(crate) fn pool(&self) -> &PoolGauges {
        &self.0.pool
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Inner {
    fn register(&self) {
        let mut all = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        all.register("allotment_claims", "Requests that got an account or have to wait", self.claims.clone());
        all.register(
            "allotment_claim_duration_seconds",
            "From the decision to the published account",
            self.claim_duration.clone(),
        );
        all.register(
            "allotment_reconcile_duration_seconds",
            "One look at an object",
            self.reconcile_duration.clone(),
        );
        all.register(
            "allotment_reconcile_errors",
            "Looks that did not come to their end",
            self.reconcile_errors.clone(),
        );
        all.register("allotment_leader", "1 while this process leads", self.leader.clone());
        all.register(
            "allotment_rules_rejected",
            "1 while the newest rules are refused and older ones are in force",
            self.rules_rejected.clone(),
        );
        all.register(
            "allotment_dependency_last_success_timestamp_seconds",
            "When a server or store last did what it was asked for; 0 if it never did",
            self.last_success.clone(),
        );
        all.register(
            "allotment_dependency_failing",
            "1 while a server or store fails; /readyz?verbose has the error and the remedy",
            self.failing.clone(),
        );
        all.register("allotment_api_requests", "Requests to API servers", self.api_requests.clone());
        all.register(
            "allotment_admin_kubeconfigs",
            "Admin kubeconfigs of Shoots that were asked for, by what came of it",
            self.admin_kubeconfigs.clone(),
        );
        all.register("allotment_clusters", "Clusters by phase", self.clusters.clone());
        all.register("allotment_kubeconfigs", "KubeconfigRequests by phase", self.kubeconfigs.clone());
        let CleanupMetrics { accounts, stuck, waiting, halted, cleaned, items } = &self.cleanup;
        all.register(
            "allotment_cleanup_accounts",
            "Dirty accounts, by the stage of their cleaning",
            accounts.clone(),
        );
        all.register(
            "allotment_cleanup_stuck",
            "Dirty accounts whose cleaning needs a person, by code; the annotation on the pool entry has the remedy",
            stuck.clone(),
        );
        all.register(
            "allotment_cleanup_waiting",
            "Dirty accounts that may not be touched now; `allotment cleanup status` says why",
            waiting.clone(),
        );
        all.register(
            "allotment_cleanup_halted",
            "1 while no account is cleaned because of a common cause",
            halted.clone(),
        );
        all.register(
            "allotment_cleanup_accounts_cleaned",
            "Accounts that were proven empty",
            cleaned.clone(),
        );
        all.register(
            "allotment_cleanup_items",
            "Deletions in dirty accounts, by answer of the cloud",
            items.clone(),
        );
        let PoolGauges {
            per_tenant,
            per_account,
            by_tenants,
            by_accounts,
            available,
            accounts,
            queue_length,
            queue_oldest,
            shoots,
            halted,
            to_look_at,
            assignments_lost,
            ledger_write_errors,
        } = &self.pool;
        all.register("keb_credentials_bindings_per_ga", "Accounts of a tenant", per_tenant.clone());
        all.register("keb_shoots_per_credentials_binding", "Shoots in an account", per_account.clone());
        all.register(
            "allotment_accounts_per_tenant",
            "Accounts of tenants, without their ids, as a histogram of what there is now",
            by_tenants.0.clone(),
        );
        all.register(
            "allotment_shoots_per_account",
            "Shoots in accounts, without their names, as a histogram of what there is now",
            by_accounts.0.clone(),
        );
        all.register(
            "keb_available_credentials_bindings",
            "Accounts of a pool that can be had",
            available.clone(),
        );
        all.register("allotment_accounts", "Accounts by state", accounts.clone());
        all.register("allotment_queue_length", "Requests that wait for a pool", queue_length.clone());
        all.register(
            "allotment_queue_oldest_seconds",
            "How long the first of them has waited",
            queue_oldest.clone(),
        );
        all.register("allotment_shoots_followed", "Shoots that are followed", shoots.clone());
        all.register(
            "allotment_halted",
            "1 while nothing is handed out because the ledger does not fit the garden",
            halted.clone(),
        );
        let help =
            "Accounts that only a person can put right; the log, Events and `allotment pool doctor` say why";
        all.register("allotment_accounts_to_look_at", help, to_look_at.clone());
        all.register(
            "allotment_assignments_lost",
            "Requests that have an account which the ledger has lost",
            assignments_lost.clone(),
        );
        all.register(
            "allotment_ledger_write_errors",
            "Transactions of the ledger that failed because of its database",
            ledger_write_errors.clone(),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    const DOCUMENT: &str = include_str!("../../../docs/configuration.md");

    /// The names that are between these two marks, without the suffix of counters.
    fn names(text: &str, mark: char) -> BTreeSet<String> {
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let quoted = text.split(mark).skip(1).step_by(2);
        let metrics = quoted.filter(|word| word.starts_with("allotment_") || word.starts_with("keb_"));
        metrics
            .map(|word| word.split(|c| !is_name(c)).next().unwrap_or_default())
            .map(|name| name.strip_suffix("_total").unwrap_or(name).to_owned())
            .collect()
    }

    /// An empty family is not in the answer to a scrape, so the source says what is registered.
    #[test]
    fn the_document_has_every_metric_and_no_other() {
        let source = include_str!("metrics.rs");
        let (_, registered) = source.split_once("fn register(&self)").unwrap();
        let (registered, _) = registered.split_once("#[cfg(test)]").unwrap();
        let registered = names(registered, '"');
        assert!(registered.len() > 25 && registered.contains("allotment_queue_length"), "{registered:?}");
        let rows: String = DOCUMENT.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(names(&rows, '`'), registered);
    }
}
