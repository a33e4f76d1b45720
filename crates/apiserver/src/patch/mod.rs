//! The patches that are not server-side apply: JSON patch, merge patch and strategic merge patch.
//!
//! Each has a `decode` for the body of a request and an `apply` that makes a new object of an old one. What is
//! refused, and in which words, is what a real server does; see [`Decoding`] for the part that depends on the request.
//!
//! Bodies nest no deeper than `serde_json` reads them (127 levels; a real server reads 10,000), and a JSON patch makes
//! nothing deeper than 120, so recursion is bounded.

pub(crate) mod json;
pub(crate) mod merge;
pub(crate) mod strategic;
mod syntax;
#[cfg(test)]
mod tests;

use crate::body::{VERSION_AND_KIND, refused_patch};
use crate::error::ApiError;
use serde_json::Value;

/// How closely the body of a patch is looked at. It decides the words of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoding {
    /// With `fieldValidation=Ignore`.
    Lenient,
    /// With `fieldValidation=Warn`, which is the default, and `Strict`.
    Checked,
}

/// Reads JSON; the error is in the words of a real server.
pub(crate) fn read(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|_| syntax::complaint(body))
}

/// Refuses what is not an object after a patch.
fn must_be_object(patched: Value) -> Result<Value, ApiError> {
    if patched.is_object() {
        return Ok(patched);
    }
    let detail = format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type {VERSION_AND_KIND}",
        crate::apply::go::json_word(&patched)
    );
    Err(refused_patch(patched.to_string(), detail))
}
