//! `metadata.managedFields`: who owns which fields, and since when.

use super::fieldset::FieldSet;
use super::go;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fmt};

/// How somebody came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who owns fields. The same name is somebody else with another operation, subresource or, unless it applies,
/// version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    /// The name of the field manager.
    pub manager: String,
    /// How it writes.
    pub operation: Operation,
    /// The version it writes, if it updates.
    pub api_version: Option<String>,
    /// The subresource it writes to; empty for the object itself.
    pub subresource: String,
}

/// As conflicts name it.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { manager, operation: _, api_version, subresource } = self;
        f.write_str(&go::quote(manager))?;
        if !subresource.is_empty() {
            write!(f, " with subresource {}", go::quote(subresource))?;
        }
        match api_version {
            Some(version) => write!(f, " using {version}"),
            None => Ok(()),
        }
    }
}

/// What an owner owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    /// The fields.
    pub fields: FieldSet,
    /// The version that the paths are of.
    pub api_version: String,
    /// When that last changed. Who came to own a field by applying the value it had already, has none.
    pub time: Option<Timestamp>,
}

/// Who owns which fields of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ManagedFields {
    /// The owners.
    pub owners: BTreeMap<Owner, Owned>,
}

impl ManagedFields {
    /// Reads the value of `metadata.managedFields`.
    pub(crate) fn decode(entries: &Value) -> Result<Self, String> {
        let mut owners = BTreeMap::new();
        for (index, entry) in entries.as_array().map_or(&[] as &[Value], Vec::as_slice).iter().enumerate() {
            let (owner, owned) = decode_entry(index, entry)?;
            owners.insert(owner, owned);
        }
        Ok(Self { owners })
    }

    /// The value of `metadata.managedFields`, in the order of a real server: who applies first, then by time, name,
    /// version and subresource.
    pub(crate) fn encode(&self) -> Value {
        let mut owners: Vec<(&Owner, &Owned)> = self.owners.iter().collect();
        owners.sort_by_key(|(owner, owned)| {
            let seconds = owned.time.map_or(0, Timestamp::as_second);
            (owner.operation, seconds, &owner.manager, &owned.api_version, &owner.subresource)
        });
        owners.into_iter().map(|(owner, owned)| encode_entry(owner, owned)).collect()
    }

    /// Reads them from an object.
    pub(crate) fn of(object: &Value) -> Result<Self, String> {
        Self::decode(object.pointer("/metadata/managedFields").unwrap_or(&Value::Null))
    }

    /// Writes them to an object; nothing is written if there are none.
    pub(crate) fn write_to(&self, object: &mut Value) {
        if !self.owners.is_empty()
            && let Some(object) = object.as_object_mut()
        {
            let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("managedFields".to_owned(), self.encode());
            }
        }
    }
}

/// Takes the managed fields out of an object.
pub(crate) fn take(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}

/// Whether a client asks to forget all owners: with no entry, or with one that is empty.
pub(crate) fn is_reset(entries: &Value) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([entry]) => entry.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

fn decode_entry(index: usize, entry: &Value) -> Result<(Owner, Owned), String> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
        other => {
            return Err(format!("invalid fieldsType {} in managed fields entry {index}", go::quote(other)));
        }
    }
    let fields = FieldSet::from_json(entry.get("fieldsV1").unwrap_or(&json!({}))).map_err(|why| {
        format!("error decoding versioned set from {}: error decoding set: {why}", go::plain(entry))
    })?;
    let time = match text("time") {
        "" => None,
        time => Some(time.parse().map_err(|error: jiff::Error| error.to_string())?),
    };
    let owner = Owner {
        manager: text("manager").to_owned(),
        operation,
        api_version: (operation == Operation::Update).then(|| api_version.to_owned()),
        subresource: text("subresource").to_owned(),
    };
    Ok((owner, Owned { fields, api_version: api_version.to_owned(), time }))
}

fn encode_entry(owner: &Owner, owned: &Owned) -> Value {
    let Owner { manager, operation, api_version: _, subresource } = owner;
    let Owned { fields, api_version, time } = owned;
    let mut entry = json!({
        "operation": operation.name(), "apiVersion": api_version,
        "fieldsType": "FieldsV1", "fieldsV1": fields.to_value(),
    });
    for (name, value) in [("manager", manager), ("subresource", subresource)] {
        if !value.is_empty() {
            entry[name] = json!(value);
        }
    }
    if let Some(time) = time {
        entry["time"] = json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    }
    entry
}

/// How many owners that update an object may have before the oldest are taken together.
const MAX_UPDATERS: usize = 10;

/// Takes the oldest owners that update together, so that no more than [`MAX_UPDATERS`] are left. Owners of different
/// versions stay apart.
pub(crate) fn cap(managed: &mut ManagedFields) {
    let mut updaters: Vec<(i64, Owner)> = managed
        .owners
        .iter()
        .filter(|(owner, _)| owner.operation == Operation::Update)
        .map(|(owner, owned)| (owned.time.map_or(0, Timestamp::as_second), owner.clone()))
        .collect();
    updaters.sort();
    let mut left = updaters.len();
    let mut first_of: BTreeMap<String, Owner> = BTreeMap::new();
    for (_, owner) in updaters {
        if left <= MAX_UPDATERS {
            return;
        }
        let Some(version) = managed.owners.get(&owner).map(|owned| owned.api_version.clone()) else {
            continue;
        };
        let Some(first) = first_of.get(&version).cloned() else {
            first_of.insert(version, owner);
            continue;
        };
        let bucket = Owner {
            manager: "ancient-changes".to_owned(),
            operation: Operation::Update,
            api_version: Some(version),
            subresource: String::new(),
        };
        if !managed.owners.contains_key(&bucket)
            && let Some(owned) = managed.owners.remove(&first)
        {
            managed.owners.insert(bucket.clone(), owned);
        }
        if let Some(owned) = managed.owners.remove(&owner)
            && let Some(ancient) = managed.owners.get_mut(&bucket)
        {
            ancient.fields = ancient.fields.union(&owned.fields);
            // The younger of the two.
            ancient.time = owned.time;
        }
        left -= 1;
    }
}

/// Undoes a new time in the managed fields if nothing else of the object has changed.
///
/// A real server does this last, right before it decides whether there is anything to write: a write that was taken
/// back by defaults or by the rules of the kind shall not make a new version of the object.
pub(crate) fn keep_times(old: &Value, new: &mut Value) {
    let path = "/metadata/managedFields";
    let (Some(before), Some(after)) = (old.pointer(path), new.pointer(path)) else { return };
    if before == after || without_times(before) != without_times(after) {
        return;
    }
    let before = before.clone();
    let mut candidate = new.clone();
    if let Some(entries) = candidate.pointer_mut(path) {
        *entries = before;
    }
    if candidate == *old {
        *new = candidate;
    }
}

fn without_times(entries: &Value) -> Value {
    let mut entries = entries.clone();
    for entry in entries.as_array_mut().into_iter().flatten() {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("time");
        }
    }
    entries
}
