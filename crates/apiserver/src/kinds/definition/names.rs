//! The names of a definition: the first one in a group that wants a name has it.

use super::{condition, is_established};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The names that other definitions of a group have.
#[derive(Debug, Default)]
pub(super) struct InUse {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl InUse {
    pub(super) fn add(&mut self, names: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.resources.extend([text(&names["plural"]), text(&names["singular"])]);
        self.resources.extend(names["shortNames"].as_array().into_iter().flatten().map(text));
        self.kinds.extend([text(&names["kind"]), text(&names["listKind"])]);
    }
}

/// Gives a definition those of its names that are free, and says in its conditions how that went.
pub(super) fn accept(object: &mut Value, in_use: &InUse, now: Timestamp) {
    let wanted = object["spec"]["names"].clone();
    if object["status"]["acceptedNames"] == wanted && is_established(object) {
        return;
    }
    let mut conflict = None;
    let mut accepted = object["status"]["acceptedNames"].clone();
    let mut try_name = |field: &str, reason: &'static str, used: &BTreeSet<String>| {
        let name = wanted[field].as_str().unwrap_or_default();
        if accepted[field] != name && used.contains(name) {
            conflict = Some((reason, format!("{name:?} is already in use")));
        } else {
            accepted[field] = json!(name);
        }
    };
    try_name("plural", "PluralConflict", &in_use.resources);
    try_name("singular", "SingularConflict", &in_use.resources);
    try_name("kind", "KindConflict", &in_use.kinds);
    try_name("listKind", "ListKindConflict", &in_use.kinds);
    let short = wanted["shortNames"].as_array().into_iter().flatten();
    let taken = short.filter_map(Value::as_str).find(|name| in_use.resources.contains(*name));
    match taken {
        Some(name) => {
            conflict.get_or_insert(("ShortNamesConflict", format!("{name:?} is already in use")));
        }
        None => copy(&wanted, &mut accepted, "shortNames"),
    }
    copy(&wanted, &mut accepted, "categories");
    object["status"]["acceptedNames"] = accepted;
    let accepted = conflict.is_none();
    let (reason, message) = conflict.unwrap_or(("NoConflicts", "no conflicts found".to_owned()));
    set(object, condition("NamesAccepted", accepted, reason, &message, now));
    if accepted {
        let message = "the initial names have been accepted";
        set(object, condition("Established", true, "InitialNamesAccepted", message, now));
    } else if !is_established(object) {
        let message = "not all names are accepted";
        set(object, condition("Established", false, "NotAccepted", message, now));
    }
}

fn copy(from: &Value, to: &mut Value, field: &str) {
    match (from.get(field), to.as_object_mut()) {
        (Some(value), Some(to)) => drop(to.insert(field.to_owned(), value.clone())),
        (None, Some(to)) => drop(to.remove(field)),
        _ => {}
    }
}

/// Puts a condition in the place of the one of its type. Its time is that of its last change of status.
fn set(object: &mut Value, mut condition: Value) {
    if !object["status"]["conditions"].is_array() {
        object["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = object["status"]["conditions"].as_array_mut() else { return };
    match conditions.iter_mut().find(|known| known["type"] == condition["type"]) {
        Some(known) => {
            if known["status"] == condition["status"] {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}
