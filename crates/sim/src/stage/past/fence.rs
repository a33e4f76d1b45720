//! Changes of the fence by hand.

use super::{FenceEdit, guard::changed, person::read_fence};
use crate::stage::{
    call::Side,
    world::{World, path_of},
};
use allotment_core::pool::Fence;
use allotment_operator::subscription::IDENTITY;
use http::Method;
use serde_json::{Value, json};

/// Changes it, if it is there.
pub(super) fn change(world: &World, edit: FenceEdit) {
    let Some(path) = path_of("configmaps", IDENTITY) else { return };
    let epoch = match read_fence(world) {
        Fence::Known(record) => record.epoch.0,
        Fence::Missing | Fence::Unreadable => 0,
    };
    let data = |key: &str, value: String| json!({ "data": { key: value } });
    let patch: Option<Value> = match edit {
        FenceEdit::Delete => None,
        FenceEdit::Empty => Some(json!({ "data": null })),
        FenceEdit::OtherLedger => Some(data("ledger", "00000000-0000-4000-8000-000000000009".to_owned())),
        FenceEdit::HigherEpoch => Some(data("epoch", (epoch + 7).to_string())),
        FenceEdit::LowerEpoch => Some(data("epoch", (epoch - 1).to_string())),
        FenceEdit::OtherTerm => Some(data("term", "somebody".to_owned())),
        FenceEdit::UnknownEntry => Some(data("entries", "1000000".to_owned())),
        FenceEdit::NoEntries => Some(json!({ "data": { "entries": null, "number": null } })),
        FenceEdit::Label => Some(json!({ "metadata": { "labels": { "seen": "yes" } } })),
    };
    let method = if patch.is_some() { Method::PATCH } else { Method::DELETE };
    let (code, _) = world.ask(Side::Garden, method, &path, patch.as_ref());
    changed(world);
    world.tell(|| format!("somebody changes the fence: {edit:?} {code}"));
}
