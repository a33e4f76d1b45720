//! How deep objects may nest.

use serde_json::Value;

/// As deep as an object may nest.
///
/// What we store we must be able to read again, and `serde_json` reads 127 levels. The managed fields of an object
/// nest five levels deeper than the object, and lists of objects two. A real server goes on to 10,000.
pub(crate) const MAX_DEPTH: usize = 120;

/// Whether a value nests deeper than that many levels. It looks no deeper than it has to.
pub(crate) fn nests_deeper(value: &Value, levels: usize) -> bool {
    let below = |value: &Value| levels == 0 || nests_deeper(value, levels - 1);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(below),
        Value::Object(fields) => levels == 0 || fields.values().any(below),
        _ => false,
    }
}
