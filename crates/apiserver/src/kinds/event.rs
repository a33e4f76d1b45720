//! The two faces of an Event: `v1`, which is stored, and `events.k8s.io/v1`.

use serde_json::{Value, json};

/// Fields that only have another name: in `v1`, and in `events.k8s.io/v1`.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Fields that are always there.
pub(super) fn default(event: &mut Value, core: bool) {
    let (controller, source, about) = match core {
        true => ("reportingComponent", "source", "involvedObject"),
        false => ("reportingController", "deprecatedSource", "regarding"),
    };
    let Some(fields) = event.as_object_mut() else { return };
    fields.entry("eventTime").or_insert(Value::Null);
    fields.entry("reportingInstance").or_insert_with(|| json!(""));
    fields.entry(controller).or_insert_with(|| json!(""));
    fields.entry(source).or_insert_with(|| json!({}));
    fields.entry(about).or_insert_with(|| json!({}));
    if !core {
        for time in ["deprecatedFirstTimestamp", "deprecatedLastTimestamp"] {
            fields.entry(time).or_insert(Value::Null);
        }
    } else {
        for time in ["firstTimestamp", "lastTimestamp"] {
            fields.entry(time).or_insert(Value::Null);
        }
    }
}

/// As `events.k8s.io/v1` has it.
pub(crate) fn from_core(event: Value) -> Value {
    rename(event, "events.k8s.io/v1", RENAMED.map(|(core, new)| (core, new)))
}

/// As `v1` has it.
pub(crate) fn to_core(event: Value) -> Value {
    rename(event, "v1", RENAMED.map(|(core, new)| (new, core)))
}

fn rename(mut event: Value, api_version: &str, names: [(&str, &str); 7]) -> Value {
    if let Some(fields) = event.as_object_mut() {
        for (from, to) in names {
            if let Some(value) = fields.remove(from) {
                fields.insert(to.to_owned(), value);
            }
        }
        fields.insert("apiVersion".to_owned(), json!(api_version));
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_the_same() {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": "e" }, "note": "n", "reason": "R",
            "regarding": { "kind": "ConfigMap" }, "reportingController": "c", "eventTime": "t", "action": "A"
        });
        let core = to_core(event.clone());
        assert_eq!(
            (core["message"].as_str(), core["involvedObject"]["kind"].as_str()),
            (Some("n"), Some("ConfigMap"))
        );
        assert_eq!(from_core(core), event);
    }
}
