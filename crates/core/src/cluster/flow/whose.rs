//! Whose Shoot it is that has our name.

use super::{View, is_marked};
use allotment_api::{
    gardener::Shoot,
    names::{annotation, label},
};

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
    let has_our_mark = carries(shoot, view.request.and_then(|request| request.metadata.uid.as_deref()));
    let annotations = view.cluster.metadata.annotations.as_ref();
    let may_take = annotations.and_then(|all| all.get(annotation::ADOPT_SHOOT)).map(String::as_str) == uid;
    match known {
        // We made it, and the status could not be written any more.
        None if has_our_mark => Whose::Ours(shoot),
        _ if may_take => Whose::Ours(shoot),
        None => Whose::Others(shoot),
        Some(_) if has_our_mark && is_marked(view.cluster, annotation::RECREATE_SHOOT) => Whose::Ours(shoot),
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
