//! Conditions, with the limits that Kubernetes itself puts on them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One observation about an object. The rules for changing one are in `allotment_core::condition`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What is observed, unique in its list.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// The `metadata.generation` that the observation was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When `status` last changed.
    pub last_transition_time: Time,
    /// Why, for machines: one word from a fixed list.
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It cannot be told.
    Unknown,
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        })
    }
}

/// The schema of a list of conditions, as `metav1.Condition` has it.
pub fn list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "description": "What is observed about the object, one entry per type.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        // Ours are fewer than ten; others may add theirs.
        "maxItems": 64,
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "type": "string", "format": "date-time", "description": "When status last changed."
                },
                "message": { "type": "string", "maxLength": 32768, "description": "Why, for people." },
                "observedGeneration": {
                    "type": "integer", "format": "int64", "minimum": 0,
                    "description": "The metadata.generation that the observation was made for."
                },
                "reason": {
                    "type": "string", "minLength": 1, "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                    "description": "Why, for machines: one word from a fixed list."
                },
                "status": {
                    "type": "string", "enum": ["True", "False", "Unknown"], "description": "Whether it holds."
                },
                "type": {
                    "type": "string", "maxLength": 316,
                    "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                    "description": "What is observed."
                }
            }
        }
    })
}

/// [`list`], whose entries may carry a `lastUpdateTime` too. Older tools write it; we accept it and never write it, since a
/// time that moves without a transition makes a write out of every look.
pub fn list_with_update_time(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = list(generator);
    if let Some(properties) = schema.pointer_mut("/items/properties").and_then(|value| value.as_object_mut())
    {
        properties.insert(
            "lastUpdateTime".into(),
            serde_json::json!({
                "type": "string", "format": "date-time", "description": "Accepted from older tools, and not used."
            }),
        );
    }
    schema
}
