//! Configuration that changes while the operators run. A good one is taken over; a bad one is refused, and the last good
//! one stays in force.

use super::{
    clients::Garden,
    operators::{Operators, cluster_policy, kubeconfig_policy},
};
use crate::{
    config::{self, Config, Loaded, Settled},
    metrics::Metrics,
    runtime::events::{Recorder, Tone},
    target::Guard,
};
use allotment_core::{
    rules::{Finding, Severity},
    tenancy::Mode,
};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Pod};
use kube::api::ObjectMeta;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{sync::watch, time::sleep};

/// A mounted ConfigMap changes by a symbolic link that is swapped, which no file watch sees everywhere; reading a file of
/// some kilobytes every other second costs nothing.
const LOOK: Duration = Duration::from_secs(2);

/// Everything that follows from the files that a process was started with.
pub(super) struct Reload {
    pub(super) path: PathBuf,
    /// The text that was last looked at, good or bad.
    pub(super) text: String,
    /// What is in force.
    pub(super) config: Config,
    pub(super) operators: Operators,
    pub(super) garden: Garden,
    pub(super) guard: Guard,
    pub(super) metrics: Metrics,
    pub(super) recorder: Recorder,
    pub(super) about: About,
    /// Why the newest configuration is not in force, if it is not.
    pub(super) rejected: watch::Sender<Option<String>>,
    /// Whether namespaces belong to tenants.
    pub(super) tenancy: watch::Sender<Mode>,
}

/// The object that Events about the configuration are on: the pod where there is one, else the Lease.
pub(super) struct About {
    pub(super) pod: Option<String>,
    pub(super) lease: &'static str,
    pub(super) namespace: String,
}

impl Reload {
    /// Looks at the files again and again.
    pub(super) async fn follow(mut self) {
        let mut kubeconfig = self.kubeconfig_text();
        loop {
            sleep(LOOK).await;
            match fs::read_to_string(&self.path) {
                Ok(text) if text == self.text => (),
                Ok(text) => self.consider(text).await,
                Err(error) => {
                    let why = format!("cannot read {}: {error}", self.path.display());
                    self.reject(why).await;
                    // So that it is looked at when it comes back, whatever it says then.
                    self.text.clear();
                }
            }
            let fresh = self.kubeconfig_text();
            if fresh.is_some() && fresh != kubeconfig {
                match self.garden.read_kubeconfig_again().await {
                    Ok(()) => {
                        tracing::info!("the garden's kubeconfig has changed; the new one is used");
                        if let Some(host) = self.garden.host() {
                            self.guard.add_own_server(&host);
                        }
                    }
                    Err(error) => {
                        tracing::error!(%error, "the garden's kubeconfig has changed; the old one is used");
                    }
                }
                kubeconfig = fresh;
            }
        }
    }

    async fn consider(&mut self, text: String) {
        let Loaded { settled, findings } = config::load(&text);
        self.text = text;
        let has_what_is_needed =
            |settled: &Settled| self.operators.subscription.is_none() || settled.rules.is_some();
        let Some(settled) = settled.filter(has_what_is_needed) else {
            self.reject(summary(&self.path, &findings)).await;
            return;
        };
        let restart = self.config.needs_restart(&settled.config);
        if !restart.is_empty() {
            tracing::warn!(keys = restart.join(", "), "these keys take effect with the next start only");
        }
        let taken = self.take_over(settled);
        self.metrics.rules_are_rejected(false);
        self.rejected.send_replace(None);
        let note = format!("in force from {}: {taken}", self.path.display());
        tracing::info!(taken, "the configuration has changed and is in force");
        self.say(Tone::Normal, "RulesReloaded", &note).await;
    }

    /// Hands each operator what it can change while it runs, and says what that is.
    fn take_over(&mut self, settled: Settled) -> String {
        let mut taken = Vec::new();
        if let (Some(operator), Some(policy)) = (&self.operators.subscription, settled.policy()) {
            taken.push(format!("{} rules and the limits", policy.rules.rules().len()));
            operator.set_policy(policy);
        }
        if let Some(operator) = &self.operators.cluster {
            operator.set_rules(settled.rules.clone());
        }
        let Config { hap, clusters, access, tenancy, byoc, cleanup, .. } = &settled.config;
        if let Some(operator) = self.operators.cleanup.as_ref().filter(|_| *cleanup != self.config.cleanup) {
            taken.push("how returned accounts are cleaned".to_owned());
            operator.set_policy(cleanup.policy());
            self.config.cleanup.clone_from(cleanup);
        }
        let has_other_tenants = *tenancy != self.config.tenancy;
        let is_other_access = *access != self.config.access
            || clusters.namespace != self.config.clusters.namespace
            || has_other_tenants;
        // Every Cluster is looked at then, so only if there is something to look for.
        let is_other = *clusters != self.config.clusters || has_other_tenants;
        let is_followed =
            self.config.clusters.follows_namespaced_profiles() || !clusters.follows_namespaced_profiles();
        if let Some(operator) = self.operators.cluster.as_ref().filter(|_| is_other && is_followed) {
            taken.push("what Clusters are made of".to_owned());
            operator.set_policy(cluster_policy(&settled));
            self.config.clusters.clone_from(clusters);
        }
        if let Some(operator) = self.operators.kubeconfig.as_ref().filter(|_| is_other_access) {
            taken.push("what kubeconfigs may be asked for".to_owned());
            operator.set_policy(kubeconfig_policy(&settled.config));
            self.config.access.clone_from(access);
            self.config.clusters.namespace.clone_from(&clusters.namespace);
        }
        if *byoc != self.config.byoc {
            taken.push("where clusters that tenants bring may be".to_owned());
            self.guard.set(byoc.clone());
            self.config.byoc.clone_from(byoc);
        }
        if settled.config.quotas != self.config.quotas {
            taken.push("quotas".to_owned());
            self.config.quotas.clone_from(&settled.config.quotas);
        }
        self.operators.set_fairness(&settled.config);
        self.config.hap.clone_from(hap);
        if has_other_tenants {
            taken.push("which tenants a namespace has".to_owned());
            self.tenancy.send_replace(settled.config.tenancy().mode);
            super::warn_if_trusted(settled.config.tenancy().mode);
            self.config.tenancy.clone_from(tenancy);
        }
        if taken.is_empty() {
            "nothing that concerns a running operator".to_owned()
        } else {
            taken.join(", ")
        }
    }

    async fn reject(&self, why: String) {
        if self.rejected.borrow().as_ref() == Some(&why) {
            return;
        }
        tracing::error!(why, "the new configuration is refused; the last good one stays in force");
        self.metrics.rules_are_rejected(true);
        self.rejected.send_replace(Some(why.clone()));
        let note = format!("the last good configuration stays in force: {why}");
        self.say(Tone::Warning, "RulesRejected", &note).await;
    }

    async fn say(&self, tone: Tone, reason: &str, note: &str) {
        let About { pod, lease, namespace } = &self.about;
        let metadata = |name: &str| ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.clone()),
            ..ObjectMeta::default()
        };
        match pod {
            Some(name) => {
                let pod = Pod { metadata: metadata(name), ..Pod::default() };
                self.recorder.say(&pod, tone, reason, note).await;
            }
            None => {
                let lease = Lease { metadata: metadata(lease), ..Lease::default() };
                self.recorder.say(&lease, tone, reason, note).await;
            }
        }
    }

    fn kubeconfig_text(&self) -> Option<String> {
        fs::read_to_string(self.garden.kubeconfig()?).ok()
    }
}

/// What is wrong with a file, on one line.
fn summary(path: &Path, findings: &[Finding]) -> String {
    let mut errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let first = errors.next().map_or_else(|| "it has no rules".to_owned(), ToString::to_string);
    match errors.count() {
        0 => format!("{}:{first}", path.display()),
        more => format!("{}:{first} (and {more} more; see `allotment config check`)", path.display()),
    }
}
