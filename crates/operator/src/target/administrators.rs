//! The administrators of a cluster: ClusterRoleBindings inside it.

use super::{Reached, TargetTrouble};
use allotment_api::names::{FIELD_MANAGER, annotation, label};
use allotment_core::access::administrators::{
    API_GROUP, Found, Owner, Plan, Put, ROLE, Remove, Role, Subject, plan,
};
use k8s_openapi::{
    api::rbac::v1::{self, ClusterRoleBinding, RoleRef},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams, Preconditions},
};
use std::collections::BTreeMap;

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// So many bindings were made.
    pub created: usize,
    /// So many were deleted.
    pub removed: usize,
}

/// Sees to it that exactly these users are administrators, as far as this Cluster is concerned. One call where there is
/// nothing to do. Safe to repeat after any failure.
pub async fn apply(reached: &Reached, owner: &Owner, wanted: &[String]) -> Result<Applied, TargetTrouble> {
    let bindings = Api::<ClusterRoleBinding>::all(reached.client.clone());
    let ours = ListParams::default().labels(&format!("{}={}", label::ADMINISTRATOR, owner.mark()));
    let what = || format!("list ClusterRoleBindings in {}", reached.key);
    let found = reached.call(what, bindings.list(&ours)).await?;
    let found: Vec<Found> = found.items.into_iter().map(fact).collect();
    let Plan { put, remove } = plan(owner, wanted, &found);
    let mut applied = Applied::default();
    for Remove { name, uid } in remove {
        applied.removed += usize::from(delete(reached, &bindings, &name, uid).await?);
    }
    for put in put {
        applied.created += usize::from(create(reached, &bindings, owner, &put).await?);
    }
    Ok(applied)
}

/// False if somebody else was faster.
async fn delete(
    reached: &Reached,
    bindings: &Api<ClusterRoleBinding>,
    name: &str,
    uid: String,
) -> Result<bool, TargetTrouble> {
    let only_this = Preconditions { uid: Some(uid), resource_version: None };
    let how = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
    let what = || format!("delete ClusterRoleBinding {name} in {}", reached.key);
    match reached.call(what, bindings.delete(name, &how)).await {
        Ok(_) => Ok(true),
        Err(TargetTrouble::Call(error)) if error.is_not_found() => Ok(false),
        Err(trouble) => Err(trouble),
    }
}

/// False if somebody else was faster.
async fn create(
    reached: &Reached,
    bindings: &Api<ClusterRoleBinding>,
    owner: &Owner,
    put: &Put,
) -> Result<bool, TargetTrouble> {
    let Put { name, user } = put;
    let how = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let what = || format!("create ClusterRoleBinding {name} in {}", reached.key);
    match reached.call(what, bindings.create(&how, &binding(owner, put))).await {
        Ok(_) => return Ok(true),
        Err(TargetTrouble::Call(error)) if error.is_already_there() => {}
        Err(trouble) => return Err(trouble),
    }
    // Either another operator made it, or somebody took our label off. What it grants decides.
    let what = || format!("read ClusterRoleBinding {name} in {}", reached.key);
    let found = fact(reached.call(what, bindings.get(name)).await?);
    if found.grants(user) && !found.is_leaving {
        return Ok(false);
    }
    Err(TargetTrouble::Taken { target: reached.key.to_string(), what: format!("ClusterRoleBinding {name}") })
}

fn binding(owner: &Owner, put: &Put) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: ObjectMeta {
            name: Some(put.name.clone()),
            labels: Some(BTreeMap::from([(label::ADMINISTRATOR.to_owned(), owner.mark())])),
            annotations: Some(BTreeMap::from([(annotation::CLUSTER.to_owned(), owner.to_string())])),
            ..ObjectMeta::default()
        },
        role_ref: RoleRef {
            api_group: Some(API_GROUP.to_owned()),
            kind: "ClusterRole".to_owned(),
            name: ROLE.to_owned(),
        },
        subjects: Some(vec![v1::Subject {
            api_group: Some(API_GROUP.to_owned()),
            kind: "User".to_owned(),
            name: put.user.clone(),
            namespace: None,
        }]),
    }
}

fn fact(binding: ClusterRoleBinding) -> Found {
    let ClusterRoleBinding { metadata, role_ref, subjects } = binding;
    let subject = |subject: v1::Subject| Subject {
        api_group: subject.api_group.unwrap_or_default(),
        kind: subject.kind,
        namespace: subject.namespace,
        name: subject.name,
    };
    Found {
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        mark: metadata.labels.unwrap_or_default().remove(label::ADMINISTRATOR),
        is_leaving: metadata.deletion_timestamp.is_some(),
        role: Role {
            api_group: role_ref.api_group.unwrap_or_default(),
            kind: role_ref.kind,
            name: role_ref.name,
        },
        subjects: subjects.unwrap_or_default().into_iter().map(subject).collect(),
    }
}
