//! Rules of the kinds that the platform writes.

use super::Row;
use serde_json::{Value, json};

const ADOPTION: &str = "shootadoptions.allotment.dev";

fn adoption() -> Value {
    json!({ "spec": { "clusterNamespace": "team-a", "clusterName": "a", "shootName": "older", "shootUID": "u" } })
}

pub(super) fn rows() -> Vec<Row> {
    vec![Row {
        crd: ADOPTION,
        at: "spec",
        message: "spec is immutable; delete the ShootAdoption and create another",
        base: adoption(),
        good: json!({}),
        bad: json!({ "spec": { "shootUID": "v" } }),
        change: true,
    }]
}
