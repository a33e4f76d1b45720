//! The three operators, over all namespaces of the world.

use super::{super::stage::RULES, Done};
use allotment_api::kyma::BindingKind;
use allotment_core::{
    cluster::Clusters,
    pool::{LabelKeys, MultiAccount},
    rules::{self, RuleSet},
    tenancy::Tenancy,
};
use allotment_operator::{
    cluster, kubeconfig,
    ledger::Ledger,
    metrics::Metrics,
    runtime::{clock::Clock, controller::Controller, events::Recorder},
    stray::tell_strays,
    subscription,
    target::{self, Connect, Targets},
};
use allotment_testing::Plot;
use kube::Client;
use serde_json::json;
use std::sync::Arc;
use tokio::task::JoinHandle;

pub struct Operators {
    pub cluster: cluster::Operator,
    pub kubeconfig: kubeconfig::Operator,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Operators {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

pub fn operators(plot: &Plot, ledger: &Ledger, admin: &Client, tenancy: Tenancy) -> Done<Operators> {
    let (garden, clock, metrics) = (plot.landscape.garden.clone(), Clock::system(), Metrics::new());
    let tenancy = Arc::new(tenancy);
    let targets = targets(plot, admin, &clock, &metrics);
    let subscription = subscription::Operator::new(subscription::Parts {
        control_plane: admin.clone(),
        garden: garden.clone(),
        ledger: ledger.clone(),
        settings: subscription::Settings {
            garden_namespace: plot.garden_namespace.clone(),
            request_namespace: None,
            lease_namespace: plot.namespace.clone(),
            identity: "subscription-operator".to_owned(),
            binding_kind: BindingKind::default(),
            labels: LabelKeys::default(),
            workers: 4,
        },
        policy: subscription::Policy {
            rules: rules()?,
            multi_account: MultiAccount::default(),
            cap: None,
            tenancy: tenancy.clone(),
        },
        clock: clock.clone(),
        metrics: metrics.clone(),
    });
    let clusters: Clusters =
        serde_json::from_value(json!({ "providers": { "aws": { "cloudProfile": "aws" } } }))?;
    let cluster = cluster::Operator::new(cluster::Parts {
        control_plane: admin.clone(),
        garden: garden.clone(),
        targets: targets.clone(),
        settings: cluster::Settings {
            garden_namespace: plot.garden_namespace.clone(),
            project: plot.project.clone(),
            cluster_namespace: None,
            lease_namespace: plot.namespace.clone(),
            identity: "cluster-operator".to_owned(),
            binding_kind: BindingKind::default(),
            labels: LabelKeys::default(),
            workers: 4,
        },
        policy: cluster::Policy {
            clusters: Arc::new(clusters),
            tenancy: tenancy.clone(),
            rules: Some(rules()?),
        },
        clock: clock.clone(),
        metrics: metrics.clone(),
    });
    let kubeconfig = kubeconfig::Operator::new(kubeconfig::Parts {
        control_plane: admin.clone(),
        garden,
        targets,
        settings: kubeconfig::Settings {
            garden_namespace: plot.garden_namespace.clone(),
            request_namespace: None,
            lease_namespace: plot.namespace.clone(),
            identity: "kubeconfig-operator".to_owned(),
            workers: 4,
        },
        policy: kubeconfig::Policy {
            access: Arc::default(),
            cluster_namespace: plot.namespace.clone(),
            tenancy,
        },
        clock,
        metrics,
    });
    let (admin, own_namespace) = (admin.clone(), plot.namespace.clone());
    let recorder = Recorder::new(admin.clone(), "allotment.dev/operator", "strays", Clock::system());
    let tasks = vec![
        tokio::spawn(async move { Box::pin(tell_strays(&admin, &own_namespace, &recorder)).await }),
        tokio::spawn(leads(subscription)),
        tokio::spawn(leads(cluster.clone())),
        tokio::spawn(leads(kubeconfig.clone())),
    ];
    Ok(Operators { cluster, kubeconfig, tasks })
}

async fn leads(operator: impl Controller) {
    operator.run_as_leader().await;
}

fn rules() -> Done<Arc<RuleSet>> {
    let options = rules::Options { enabled_plans: Some(Vec::new()), ..rules::Options::default() };
    Ok(Arc::new(rules::load(RULES, &options).rules.ok_or("the rules are wrong")?))
}

fn targets(plot: &Plot, admin: &Client, clock: &Clock, metrics: &Metrics) -> Targets {
    Targets::new(target::Parts {
        garden: plot.landscape.garden.clone(),
        garden_namespace: plot.garden_namespace.clone(),
        control_plane: admin.clone(),
        clock: clock.clone(),
        // As in production: nothing on this machine is connected to, but for Shoots.
        connect: Connect::over_https(metrics),
        metrics: metrics.clone(),
    })
}
