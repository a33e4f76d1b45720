//! Which Shoot is a Cluster's own.
//!
//! Only the Shoot in the garden proves it, by a UID that we wrote there: that of the Cluster, or that of the Cluster's
//! SubscriptionRequest. Nobody can choose a UID, and tenants cannot write in the garden. Everything in the control plane,
//! status included, may be forged: `status.shootUID` only makes us more careful.

use super::{View, ask, is_marked};
use allotment_api::{
    gardener::Shoot,
    names::{FIELD_MANAGER, annotation, label},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Whose a Shoot is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ownership<'a> {
    /// There is no Shoot.
    Absent,
    /// The Cluster's own, or one that the platform lets it adopt.
    Managed(&'a Shoot),
    /// Somebody else's, and the Cluster never had one.
    Foreign,
    /// Another one than the Cluster had, or the one that it had and that is not its own any more.
    Replaced(&'a Shoot),
}

pub(super) fn ownership<'a>(view: &View<'a>) -> Ownership<'a> {
    let Some(shoot) = view.shoot else { return Ownership::Absent };
    let uid = shoot.metadata.uid.as_deref();
    if view.adopts.is_some() && view.adopts == uid {
        return Ownership::Managed(shoot);
    }
    let known = view.cluster.status.as_ref().and_then(|status| status.shoot_uid.as_deref());
    // A Shoot that came back under another UID, as from a backup, is empty: a person has to say that it will do.
    let is_expected = known.is_none() || known == uid || is_marked(view.cluster, annotation::RECREATE_SHOOT);
    match (known, is_expected && carries_owner(view, shoot) && is_written_by_us(&shoot.metadata)) {
        (_, true) => Ownership::Managed(shoot),
        (None, false) => Ownership::Foreign,
        (Some(_), false) => Ownership::Replaced(shoot),
    }
}

/// Whether a Shoot carries the UID of the Cluster or of its request, whoever wrote it. Such a Shoot goes with the Cluster,
/// and its account is not given back before.
pub(super) fn carries_owner(view: &View<'_>, shoot: &Shoot) -> bool {
    let own = view.request.filter(|request| ask::is_of(request, view.cluster));
    let request = own.and_then(|request| request.metadata.uid.as_deref());
    carries(&shoot.metadata, view.cluster.metadata.uid.as_deref(), request)
}

/// Whether a Shoot is the Cluster's with this UID, whose SubscriptionRequest has that one: it carries one of the two, and
/// we wrote it.
pub fn is_owned_by(shoot: &ObjectMeta, cluster: Option<&str>, request: Option<&str>) -> bool {
    carries(shoot, cluster, request) && is_written_by_us(shoot)
}

/// The UID of the Cluster that a Shoot carries. Shoots that were last written by an older version carry none.
pub fn carried_cluster(shoot: &ObjectMeta) -> Option<&str> {
    carried(shoot, label::CLUSTER_UID)
}

/// The UID of the SubscriptionRequest that a Shoot carries.
pub fn carried_request(shoot: &ObjectMeta) -> Option<&str> {
    carried(shoot, label::SUBSCRIPTION_REQUEST)
}

fn carried<'a>(shoot: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    shoot.labels.as_ref()?.get(key).map(String::as_str)
}

/// The Cluster's UID decides where it is there: the request of an earlier Cluster proves nothing about this one.
fn carries(shoot: &ObjectMeta, cluster: Option<&str>, request: Option<&str>) -> bool {
    match carried_cluster(shoot) {
        Some(uid) => cluster == Some(uid),
        None => request.is_some() && carried_request(shoot) == request,
    }
}

/// Whether we have ever applied anything to it. A copy that somebody made of a Shoot of ours has its labels, but its fields are
/// theirs: what the Cluster no longer asks for would stay in it when we apply.
fn is_written_by_us(metadata: &ObjectMeta) -> bool {
    let managers = metadata.managed_fields.iter().flatten();
    managers.filter_map(|entry| entry.manager.as_deref()).any(|manager| manager == FIELD_MANAGER)
}

/// Leaves of the managed fields what has to be known to tell whose it is. They are most of an object.
pub fn forget_managed_fields(metadata: &mut ObjectMeta) {
    let mut ours: Vec<_> = metadata.managed_fields.take().into_iter().flatten().collect();
    ours.retain(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER) && entry.subresource.is_none());
    ours.truncate(1);
    ours.iter_mut().for_each(|entry| entry.fields_v1 = None);
    metadata.managed_fields = (!ours.is_empty()).then_some(ours);
}
