//! `allotment kubeconfig revoke --lock`: AccessLocks in the operator's namespace, which tenants cannot lift.

use super::Scope;
use crate::{
    args::kubeconfig::{LockArgs, Selection},
    commands::operators,
    output,
};
use allotment_api::{
    allotment::{AccessLock, AccessLockSpec},
    names::FIELD_MANAGER,
};
use allotment_core::access::lock::Lock;
use allotment_operator::process;
use anyhow::{Context, Result, bail};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};

/// Locks to be written.
pub(super) struct Order {
    /// The namespace of the operators.
    namespace: String,
    locks: Vec<AccessLock>,
}

impl Order {
    /// Whether it locks more than single requests.
    pub(super) fn is_wide(&self) -> bool {
        self.locks.iter().any(|lock| lock.spec.request.is_none())
    }

    pub(super) fn describe(&self) -> String {
        let of = |lock: &AccessLock| match &lock.spec {
            AccessLockSpec { namespace, request: Some(request), .. } => {
                format!("request {namespace}/{request}")
            }
            AccessLockSpec { namespace, cluster: Some(cluster), .. } => {
                format!("all access to Cluster {namespace}/{cluster} and its administrators")
            }
            AccessLockSpec { namespace, .. } => {
                format!("all access of namespace {namespace} and the administrators of its Clusters")
            }
        };
        self.locks.iter().map(of).collect::<Vec<_>>().join(", ")
    }
}

/// The locks that a selection means.
pub(super) fn locks(selection: &Selection, lock: &LockArgs) -> Result<Order> {
    let Selection { names, namespace, cluster, .. } = selection;
    let Some(namespace) = namespace else {
        bail!(
            "say with --namespace what is locked: the namespace of the requests, or of the Cluster with --cluster"
        );
    };
    let requests: Vec<Option<&String>> = match names.as_slice() {
        [] => vec![None],
        names => names.iter().map(Some).collect(),
    };
    let locks = requests.into_iter().map(|request| {
        let spec = AccessLockSpec {
            namespace: namespace.clone(),
            cluster: cluster.clone(),
            request: request.cloned(),
            reason: lock.reason.clone(),
        };
        let lock = Lock { namespace: namespace.clone(), cluster: cluster.clone(), request: request.cloned() };
        AccessLock::new(&lock.object_name(), spec)
    });
    let own = lock.operator_namespace.clone().unwrap_or_else(process::own_namespace);
    Ok(Order { namespace: own, locks: locks.collect() })
}

pub(super) async fn write(scope: &Scope, order: &Order) -> Result<()> {
    operators::must_be_in(&scope.client, &order.namespace).await?;
    let api: Api<AccessLock> = Api::namespaced(scope.client.clone(), &order.namespace);
    for lock in &order.locks {
        let name = lock.name_any();
        let params = PatchParams::apply(FIELD_MANAGER).force();
        api.patch(&name, &params, &Patch::Apply(lock))
            .await
            .with_context(|| format!("cannot write AccessLock {name} in namespace {}", order.namespace))?;
    }
    Ok(())
}

/// Says what is there now, and how it ends.
pub(super) fn report(order: &Order) {
    for lock in &order.locks {
        let (namespace, name) = (&order.namespace, lock.name_any());
        output::note(&format!("locked; to unlock: kubectl delete accesslock -n {namespace} {name}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(names: &[&str], namespace: Option<&str>, cluster: Option<&str>) -> Result<Order> {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let selection = Selection {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            namespace: own(namespace),
            cluster: own(cluster),
            all_namespaces: false,
            all: false,
            kubeconfig: None,
        };
        let lock = LockArgs { lock: true, reason: None, operator_namespace: Some("system".to_owned()) };
        locks(&selection, &lock)
    }

    #[test]
    fn a_selection_is_locked_under_names_that_stay() {
        let all = [
            order(&[], Some("a"), None),
            order(&[], Some("a"), Some("c")),
            order(&["c"], Some("a"), None),
            order(&["one", "two"], Some("a"), None),
        ];
        let locks: Vec<AccessLock> = all.into_iter().flat_map(|order| order.unwrap().locks).collect();
        let names: std::collections::BTreeSet<String> = locks.iter().map(ResourceExt::name_any).collect();
        assert_eq!((locks.len(), names.len()), (5, 5));
        assert!(names.iter().all(|name| name.starts_with("a-") && name.len() == 18), "{names:?}");
        let again = order(&[], Some("a"), None).unwrap();
        assert_eq!(again.locks[0], locks[0]);
        assert!(again.is_wide() && !order(&["one"], Some("a"), None).unwrap().is_wide());
    }

    #[test]
    fn a_lock_needs_a_namespace() {
        assert!(order(&[], None, Some("c")).is_err());
        assert!(order(&["one"], None, None).is_err());
    }
}
