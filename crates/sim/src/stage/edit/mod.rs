//! People change every field that they may: set it, change it, remove it.
//!
//! | file | content |
//! |---|---|
//! | `fields` | the fields of each kind, from its schema, and the path to each |
//! | `value`, `pattern` | values that a schema accepts |
//! | `draw` | the changes that a seed draws |
//! | `act` | a change carried out, and taken back |
//! | `calm` | the end: people take back what they are told is wrong |

mod act;
mod calm;
mod draw;
mod fields;
mod pattern;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use act::{Edits, act, changed, take_back};
pub(crate) use calm::look;
pub(crate) use draw::add;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Somebody changes a field of an object. The server may refuse it: then it is not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The kind.
    pub kind: String,
    /// The platform, with openMCP.
    #[serde(default, skip_serializing_if = "is_first")]
    pub on: usize,
    /// The name.
    pub object: String,
    /// The field, as in `spec.secretRef.key` and `spec.taints[0].effect`.
    pub path: String,
    /// Its value, as JSON; `null` removes it.
    pub to: To,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it like that")]
fn is_first(on: &usize) -> bool {
    *on == 0
}

/// A value. A script has it as JSON, so that a text can be told from a number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct To(pub Value);

impl Serialize for To {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_string())
    }
}
