//! `allotment kubeconfig`: who has access, and taking it away.

mod lock;
mod revoke;

use super::{input::WRONG_USAGE, run::refuse};
use crate::{
    args::kubeconfig::{KubeconfigCommand, Selection},
    output::{self, Format},
};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{KubeconfigCondition, KubeconfigPhase, KubeconfigRequest},
};
use allotment_operator::{metrics::Metrics, process::clients};
use anyhow::{Context, Result, anyhow};
use kube::{Api, Client, ResourceExt, api::ListParams};
use serde::Serialize;
use serde_json::json;
use std::{collections::BTreeSet, process::ExitCode};
use tokio::runtime::Runtime;

pub(crate) fn run(command: KubeconfigCommand) -> Result<ExitCode> {
    Runtime::new().context("cannot start the runtime")?.block_on(async {
        match command {
            KubeconfigCommand::List { selection, refused, output } => match Scope::open(&selection).await {
                Ok(scope) => list(&scope, refused, output).await,
                Err(code) => Ok(code),
            },
            KubeconfigCommand::Revoke { selection, lock, yes, timeout, output } => {
                let Selection { names, namespace, cluster, all, .. } = &selection;
                if names.is_empty() && namespace.is_none() && cluster.is_none() && !all {
                    output::complain(&anyhow!(
                        "say which: NAME, --namespace NAMESPACE, --cluster CLUSTER, or --all"
                    ));
                    return Ok(ExitCode::from(WRONG_USAGE));
                }
                let locks = match lock.lock.then(|| lock::locks(&selection, &lock)).transpose() {
                    Ok(locks) => locks,
                    Err(error) => {
                        output::complain(&error);
                        return Ok(ExitCode::from(WRONG_USAGE));
                    }
                };
                let order = revoke::Order { is_all: *all, yes, timeout, output, locks };
                match Scope::open(&selection).await {
                    Ok(scope) if is_open(&selection) => match several_clusters(&scope).await? {
                        Some(code) => Ok(code),
                        None => revoke::run(&scope, &order).await,
                    },
                    Ok(scope) => revoke::run(&scope, &order).await,
                    Err(code) => Ok(code),
                }
            }
        }
    })
}

/// Whether a name is given and no namespace: Clusters of different tenants may have it.
fn is_open(selection: &Selection) -> bool {
    selection.cluster.is_some() && selection.namespace.is_none() && !selection.all_namespaces
}

/// Refuses to choose between Clusters of the same name.
async fn several_clusters(scope: &Scope) -> Result<Option<ExitCode>> {
    let namespaces = cluster_namespaces(&scope.read().await?);
    if namespaces.len() < 2 {
        return Ok(None);
    }
    output::complain(&anyhow!(
        "requests name a Cluster of this name in several namespaces ({}), and these may be different Clusters: say which with \
         --namespace NAMESPACE, or --all-namespaces for all of them",
        namespaces.into_iter().collect::<Vec<_>>().join(", ")
    ));
    Ok(Some(ExitCode::from(WRONG_USAGE)))
}

/// The namespaces of the Clusters that requests are for, as far as the requests themselves say.
fn cluster_namespaces(requests: &[KubeconfigRequest]) -> BTreeSet<String> {
    let of = |request: &KubeconfigRequest| request.spec.cluster_namespace.clone().or(request.namespace());
    requests.iter().filter_map(of).collect()
}

/// The KubeconfigRequests that are meant.
struct Scope {
    client: Client,
    /// Where they are; in all namespaces without it.
    namespace: Option<String>,
    which: ListParams,
    /// Only these, if there are any.
    names: BTreeSet<String>,
}

impl Scope {
    /// Else says why not, and how to end.
    async fn open(selection: &Selection) -> Result<Self, ExitCode> {
        let Selection { names, namespace, cluster, all_namespaces: _, all: _, kubeconfig } = selection;
        let client = clients::control_plane(kubeconfig.as_deref(), &Metrics::new())
            .await
            .map_err(|error| refuse(error.into()))?;
        let own = || client.default_namespace().to_owned();
        let namespace = namespace.clone().or_else(|| (!names.is_empty()).then(own));
        let mut which = ListParams::default();
        if let Some(cluster) = cluster {
            which = which.fields(&format!("spec.cluster={cluster}"));
        }
        if let [name] = names.as_slice() {
            which = which.fields(&format!("metadata.name={name}"));
        }
        Ok(Self { namespace, which, names: names.iter().cloned().collect(), client })
    }

    fn requests_in(&self, namespace: Option<&str>) -> Api<KubeconfigRequest> {
        match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    async fn read(&self) -> Result<Vec<KubeconfigRequest>> {
        let api = self.requests_in(self.namespace.as_deref());
        let list = api.list(&self.which).await.context("cannot list KubeconfigRequests")?;
        let is_meant =
            |request: &KubeconfigRequest| self.names.is_empty() || self.names.contains(&request.name_any());
        Ok(list.items.into_iter().filter(is_meant).collect())
    }

    /// Those that are named, and are not there.
    fn missing(&self, found: &[KubeconfigRequest]) -> Vec<String> {
        let is_there = |name: &&String| found.iter().any(|request| request.name_any() == **name);
        self.names.iter().filter(|name| !is_there(name)).cloned().collect()
    }
}

/// A KubeconfigRequest, as it stands.
#[derive(Debug, Serialize)]
struct Row {
    namespace: String,
    name: String,
    cluster: String,
    phase: Option<KubeconfigPhase>,
    expires: Option<String>,
    revoked: bool,
}

impl Row {
    fn of(request: &KubeconfigRequest) -> Self {
        let status = request.status.as_ref();
        let expires = status.and_then(|status| status.expiration_timestamp.as_ref());
        Self {
            namespace: request.namespace().unwrap_or_default(),
            name: request.name_any(),
            cluster: request.spec.cluster.clone(),
            phase: status.and_then(|status| status.phase),
            expires: expires.map(|time| time.0.to_string()),
            revoked: is_revoked(request),
        }
    }

    fn cells(&self) -> [String; 6] {
        let Self { namespace, name, cluster, phase, expires, revoked } = self;
        let phase = phase.map_or("-", KubeconfigPhase::as_str).to_owned();
        let expires = expires.clone().unwrap_or_else(|| "-".to_owned());
        let revoked = if *revoked { "yes" } else { "no" }.to_owned();
        [namespace.clone(), name.clone(), cluster.clone(), phase, expires, revoked]
    }
}

async fn list(scope: &Scope, only_refused: bool, format: Option<Format>) -> Result<ExitCode> {
    let found = scope.read().await?;
    let missing = scope.missing(&found);
    let is_listed = |request: &&KubeconfigRequest| !only_refused || is_refused(request);
    let rows: Vec<Row> = found.iter().filter(is_listed).map(Row::of).collect();
    match format {
        Some(format) => output::print_value(&json!({ "requests": rows }), format)?,
        None if rows.is_empty() => output::note("there is none"),
        None => {
            let heading = ["NAMESPACE", "NAME", "CLUSTER", "PHASE", "EXPIRES", "REVOKED"].map(str::to_owned);
            let rows: Vec<[String; 6]> =
                std::iter::once(heading).chain(rows.iter().map(Row::cells)).collect();
            output::print(&output::table(&rows))?;
        }
    }
    for name in &missing {
        output::complain(&anyhow!("there is no KubeconfigRequest {name}"));
    }
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the grant is gone, and its tokens have been seen to be refused.
fn is_revoked(request: &KubeconfigRequest) -> bool {
    says(request, KubeconfigCondition::Revoked, ConditionStatus::True)
}

/// Whether there is access that the policies no longer allow.
fn is_refused(request: &KubeconfigRequest) -> bool {
    let is_granted = request.status.as_ref().is_some_and(|status| !status.tokens.is_empty());
    is_granted && says(request, KubeconfigCondition::PolicyAllowed, ConditionStatus::False)
}

fn says(request: &KubeconfigRequest, type_: KubeconfigCondition, status: ConditionStatus) -> bool {
    let mut conditions = request.status.iter().flat_map(|status| &status.conditions);
    conditions.any(|condition| condition.type_ == type_.as_str() && condition.status == status)
}

#[cfg(test)]
mod tests {
    use super::is_refused;
    use serde_json::{Value, json};

    #[test]
    fn access_is_refused_where_it_is_granted_and_not_allowed() {
        let is_refused = |tokens: Value, allowed: &str| {
            is_refused(&serde_json::from_value(json!({
                "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "KubeconfigRequest",
                "metadata": { "name": "r", "namespace": "n" },
                "spec": { "cluster": "c" },
                "status": { "tokens": tokens, "conditions": [{ "type": "PolicyAllowed", "status": allowed, "reason": "r",
                            "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z" }] },
            })).unwrap())
        };
        let token = json!([{ "secret": "s", "state": "Published" }]);
        assert!(is_refused(token.clone(), "False"));
        assert!(!is_refused(token, "True") && !is_refused(json!([]), "False"));
    }
}
