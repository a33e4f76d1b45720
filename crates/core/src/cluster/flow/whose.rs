//! Whose Shoot it is that has our name.

use super::{View, is_marked};
use allotment_api::{
    gardener::Shoot,
    names::{FIELD_MANAGER, annotation, label},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Whose a Shoot is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose<'a> {
    /// There is none.
    Nobodys,
    /// The one that we made, or were told to take over.
    Ours(&'a Shoot),
    /// One that was there before us.
    Others(&'a Shoot),
    /// One in the place of ours.
    Replaced(&'a Shoot),
}

pub(super) fn whose<'a>(view: &View<'a>) -> Whose<'a> {
    let Some(shoot) = view.shoot else { return Whose::Nobodys };
    let uid = shoot.metadata.uid.as_deref();
    let known = view.cluster.status.as_ref().and_then(|status| status.shoot_uid.as_deref());
    if known.is_some() && known == uid {
        return Whose::Ours(shoot);
    }
    let request = view.request.and_then(|request| request.metadata.uid.as_deref());
    let is_our_work = carries(shoot, request) && is_written_by_us(&shoot.metadata);
    let annotations = view.cluster.metadata.annotations.as_ref();
    let may_take = annotations.and_then(|all| all.get(annotation::ADOPT_SHOOT)).map(String::as_str) == uid;
    match known {
        // We made it, and the status could not be written any more.
        None if is_our_work => Whose::Ours(shoot),
        _ if may_take => Whose::Ours(shoot),
        None => Whose::Others(shoot),
        Some(_) if is_our_work && is_marked(view.cluster, annotation::RECREATE_SHOOT) => Whose::Ours(shoot),
        Some(_) => Whose::Replaced(shoot),
    }
}

/// Whether a Shoot that is ours goes with the Cluster: we made it, or have written to it. One that we were told to take over,
/// and could not, does not.
pub(super) fn is_settled(view: &View<'_>, shoot: &Shoot) -> bool {
    let known = view.cluster.status.as_ref().and_then(|status| status.shoot_uid.as_ref());
    let request = view.request.and_then(|request| request.metadata.uid.as_deref());
    known.is_some() && known == shoot.metadata.uid.as_ref() || carries(shoot, request)
}

/// Whether it carries the UID of this request.
pub(super) fn carries(shoot: &Shoot, request: Option<&str>) -> bool {
    let labels = shoot.metadata.labels.as_ref();
    let carried = labels.and_then(|labels| labels.get(label::SUBSCRIPTION_REQUEST));
    request.is_some() && carried.map(String::as_str) == request
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
