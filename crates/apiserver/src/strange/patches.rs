//! Any bytes as an object in JSON and, below it, a patch of each kind.

use crate::{
    patch::{Decoding, json, merge, strategic},
    schema,
};
use serde_json::Value;

/// Patches it in every way, and says whether one of them was taken.
pub fn examine(bytes: &[u8]) -> bool {
    let at = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let Ok(object) = serde_json::from_slice::<Value>(&bytes[..at]) else { return false };
    let patch = bytes.get(at + 1..).unwrap_or_default();
    let mut taken = false;
    if let Ok(patch) = json::decode(patch, Decoding::Checked) {
        taken |= json::apply(&object, &patch).is_ok();
    }
    if let Ok(patch) = merge::decode(patch, Decoding::Checked)
        && let Ok(once) = merge::apply(&object, &patch)
    {
        assert_eq!(merge::apply(&once, &patch).unwrap(), once, "merging twice is merging once");
        taken = true;
    }
    if let Ok(patch) = strategic::decode(patch)
        && let Some(schema) = schema::builtin("", "ServiceAccount")
    {
        taken |= strategic::apply(&object, &patch, schema).is_ok();
    }
    taken
}
