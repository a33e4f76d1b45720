//! Writes to objects of the platform. Each is of the state that was decided on: where somebody else was faster, the server
//! refuses it, and no entry of a list that it replaces is lost.

use crate::runtime::{
    call::{CallError, call},
    status::{StatusChange, write_status},
};
use kube::{
    Api, Resource, ResourceExt,
    api::{Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::fmt::Debug;

/// A kind of the platform.
pub(super) trait Kind:
    Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned
{
}

impl<K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned> Kind for K {}

/// Changes an object, as a merge of `change`, whose metadata may be among it.
pub(super) async fn merge<K: Kind>(api: &Api<K>, object: &K, change: Value) -> Result<K, CallError> {
    let (patch, name) = (of_this_state(object, change), object.name_any());
    let what = || format!("change {} {name}", K::kind(&()));
    call(what, api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch))).await
}

/// Writes a status, if it says something else.
pub(super) async fn status<K: Kind, S: Serialize>(
    api: &Api<K>,
    object: &K,
    before: Option<&S>,
    after: &S,
) -> Result<Option<K>, CallError> {
    write_status(api, object, &StatusChange::between(before, after)).await
}

fn of_this_state<K: Kind>(object: &K, mut change: Value) -> Value {
    change["metadata"]["uid"] = json!(object.uid());
    change["metadata"]["resourceVersion"] = json!(object.resource_version());
    change
}
