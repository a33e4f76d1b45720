//! Clusters that say that they are ready, and whose Shoot is not there or not their own.

use super::{PAGE, SurveyError};
use crate::{
    runtime::call::call,
    subscription::{Index, RequestName},
};
use allotment_api::kyma::{Cluster, ClusterPhase};
use allotment_core::{
    cluster::flow::{is_owned_by, is_request_of, request_name},
    pool::NotReady,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, ObjectMeta},
};
use std::collections::BTreeMap;

/// Finds them. `shoots` were listed before the Clusters: a Cluster is ready minutes after its Shoot is there.
pub(super) async fn not_ready(
    control_plane: Client,
    index: &Index,
    shoots: &BTreeMap<String, ObjectMeta>,
) -> Result<Vec<NotReady>, SurveyError> {
    let (api, mut found): (Api<Cluster>, _) = (Api::all(control_plane), Vec::new());
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = match call(|| "list Clusters".to_owned(), api.list(&params)).await {
            // Whoever runs the subscription operator alone need not have the kind.
            Err(error) if error.is_not_found() => return Ok(found),
            page => page?,
        };
        found.extend(page.items.iter().filter_map(|cluster| judge(cluster, index, shoots)));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(found),
        }
    }
}

fn judge(cluster: &Cluster, index: &Index, shoots: &BTreeMap<String, ObjectMeta>) -> Option<NotReady> {
    let status = cluster.status.as_ref().filter(|_| cluster.spec.byoc.is_none())?;
    if status.phase != Some(ClusterPhase::Ready) {
        return None;
    }
    let namespace = cluster.namespace().unwrap_or_default();
    let request = index.request(&RequestName { namespace: namespace.clone(), name: request_name(cluster) });
    let request = request.filter(|request| is_request_of(request, cluster)).and_then(|request| request.uid());
    let name = status.shoot_name.clone().unwrap_or_default();
    let shoot = shoots.get(&name);
    let is_own = |shoot: &ObjectMeta| {
        shoot.uid == status.shoot_uid
            && is_owned_by(shoot, cluster.metadata.uid.as_deref(), request.as_deref())
    };
    if shoot.is_some_and(is_own) {
        return None;
    }
    let cluster = format!("{namespace}/{}", cluster.name_any());
    Some(NotReady { cluster, shoot: name, is_there: shoot.is_some() })
}
