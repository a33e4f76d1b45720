//! The objects that a binding hands to its policy.

use super::{
    compiled::{Binding, ParamRef, Policy},
    request::Admission,
};
use crate::{encode, resource::Resource, server::Server, store::Key};
use serde_json::Value;
use std::sync::Arc;

/// The kind of a policy's parameters.
pub(super) fn kind_of(policy: &Policy, server: &Server) -> Result<Option<Arc<Resource>>, String> {
    let Some([group, version, kind]) = &policy.param_kind else { return Ok(None) };
    match server.kinds.by_kind(group, version, kind) {
        Some(resource) => Ok(Some(Arc::clone(resource))),
        None => {
            Err(format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"))
        }
    }
}

/// The parameters that a policy is evaluated with, once with each; none of them is `null`, which stands for none.
pub(super) fn collect(
    kind: Option<&Resource>,
    binding: &Binding,
    admission: &Admission<'_>,
    server: &Server,
) -> Result<Vec<Value>, String> {
    let (Some(kind), Some(param)) = (kind, &binding.param) else { return Ok(vec![Value::Null]) };
    let namespace = match (kind.namespaced, param.namespace.as_str()) {
        (true, "") if admission.namespace.is_empty() => {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .to_owned(),
            );
        }
        (true, "") => admission.namespace,
        (true, namespace) => namespace,
        (false, "") => "",
        (false, _) => {
            return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned());
        }
    };
    let found = find(kind, param, namespace, server);
    if found.is_empty() && param.deny_if_missing {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    Ok(found)
}

fn find(kind: &Resource, param: &ParamRef, namespace: &str, server: &Server) -> Vec<Value> {
    let storage = kind.storage();
    let read = |stored| encode::read_as(stored, kind).ok();
    match &param.selector {
        None => {
            let stored = server.store.get(&storage, &Key::new(namespace, &param.name));
            stored.and_then(|stored| read(stored)).into_iter().collect()
        }
        Some(selector) => server
            .store
            .list(&storage, Some(namespace), None)
            .filter(|(_, stored)| selector.matches(&stored.labels))
            .filter_map(|(_, stored)| read(stored))
            .collect(),
    }
}
