//! Server-side apply, and who owns which field.
//!
//! [`apply`] merges what a manager applies into what is there, and [`update`] notes who changed what in any other
//! write. Both are plain functions of their arguments: the time is one of them.
//!
//! A caller [defaults](crate::schema::default) and [prunes](crate::schema::prune) before `update` and after `apply`,
//! puts back what the request may not write (such as the status, by a write to the object itself), and calls
//! [`keep_times`] last.
//!
//! Objects that nest deeper than 120 levels are not tracked, and not applied, so recursion is bounded.

mod check;
mod collect;
mod compare;
pub(crate) mod depth;
mod element;
mod fieldset;
pub(crate) mod go;
mod last_applied;
mod managed;
mod merge;
mod metadata;
mod ownership;
mod reconcile;
mod remove;
mod shape;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use fieldset::FieldSet;
pub(crate) use managed::{ManagedFields, keep_times};

use crate::error::{ApiError, Cause};
use crate::schema::Schema;
use check::Duplicates;
use jiff::Timestamp;
use ownership::Conflict;
use serde_json::{Value, json};
use shape::Node;

/// Who writes what kind of object, and when.
#[derive(Clone, Debug)]
pub(crate) struct Context<'a> {
    /// The schema of the kind.
    pub schema: &'a Schema,
    /// The version in which the object is written: `v1`, `apps/v1`.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The field manager; empty if it is not known.
    pub manager: &'a str,
    /// The subresource that is written; empty for the object itself.
    pub subresource: &'a str,
    /// The time.
    pub now: Timestamp,
    /// What this request cannot write, so that nobody comes to own it: the status, by a write to the object itself.
    pub ignored: FieldSet,
    /// What an object of this kind looks like before anything is written to it; nothing for `{}`. Structures that
    /// are always there (the `spec` of most kinds that are built in) are not owned by who creates the object.
    pub empty: Option<&'a Value>,
}

/// The object that results from applying `applied` to `live`, with its managed fields.
///
/// An object without a UID is taken as not there. If nothing changes, the result equals `live`.
pub(crate) fn apply(
    live: Option<&Value>,
    applied: &Value,
    ctx: &Context<'_>,
    force: bool,
) -> Result<Value, ApiError> {
    if is_too_deep(applied) || live.is_some_and(is_too_deep) {
        return Err(ApiError::bad_request("error decoding YAML: exceeded max depth"));
    }
    let applied = match applied {
        Value::Object(_) => applied.clone(),
        Value::Null => json!({}),
        other => {
            let message = format!(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go::json_word(other)
            );
            return Err(ApiError::bad_request(message));
        }
    };
    let empty = ctx.empty_object();
    let mut before = live.unwrap_or(&empty).clone();
    let mut managed = ManagedFields::of(&before)
        .map_err(|why| unexpected(format!("failed to decode managed fields: {why}")))?;
    managed::take(&mut before);
    ctx.check_type(&applied)?;
    if managed.owners.is_empty() {
        // What was there before anything was tracked belongs to somebody, too.
        ownership::update(&empty, &before, &mut managed, ctx, "before-first-apply")
            .map_err(|why| unexpected(format!("failed to create manager for existing fields: {why}")))?;
    }
    if applied.pointer("/metadata/managedFields").is_some_and(Value::is_array) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let node = Node::root(ctx.schema);
    check::check(&applied, node, Duplicates::Refused).map_err(|why| {
        unexpected(format!("failed to create typed patch object ({}): {why}", describe(&applied)))
    })?;
    check::check(&before, node, Duplicates::Allowed).map_err(|why| {
        unexpected(format!("failed to create typed live object ({}): {why}", describe(&before)))
    })?;

    let mut object = last_applied::apply(&before, &applied, &mut managed, ctx, force).map_err(refusal)?;
    managed::take(&mut object);
    managed.write_to(&mut object);
    Ok(object)
}

/// Notes in the managed fields of `new` who changed what, for every write but [`apply`].
///
/// `old` is what is stored; nothing, or an object without a UID, if the write creates the object. If the client sends
/// managed fields of its own they are taken as they are, and an empty list (or one empty entry) makes the server
/// forget all owners. An object that does not fit its schema, or nests too deep, is not tracked.
pub(crate) fn update(old: Option<&Value>, new: &mut Value, ctx: &Context<'_>) {
    if is_too_deep(new) || old.is_some_and(is_too_deep) {
        managed::take(new);
        return;
    }
    let empty = ctx.empty_object();
    let mut before = old.unwrap_or(&empty).clone();
    let mut managed = known_owners(&before, new, ctx);
    managed::take(&mut before);
    managed::take(new);
    let exists = before.pointer("/metadata/uid").and_then(Value::as_str).is_some_and(|uid| !uid.is_empty());
    if managed.owners.is_empty() && exists {
        return;
    }
    if ownership::update(&before, new, &mut managed, ctx, ctx.manager).is_ok() {
        managed::cap(&mut managed);
        managed.write_to(new);
    }
}

/// The owners before an update: those that the client sends, or those that are stored.
fn known_owners(before: &Value, new: &Value, ctx: &Context<'_>) -> ManagedFields {
    let sent = new.pointer("/metadata/managedFields").filter(|_| ctx.subresource.is_empty());
    if sent.is_some_and(managed::is_reset) {
        return ManagedFields::default();
    }
    sent.and_then(|sent| ManagedFields::decode(sent).ok())
        .filter(|managed| !managed.owners.is_empty())
        .or_else(|| ManagedFields::of(before).ok())
        .unwrap_or_default()
}

/// Managed fields aside: they nest deeper than the object.
fn is_too_deep(object: &Value) -> bool {
    let Some(fields) = object.as_object() else { return false };
    let allowed = depth::MAX_DEPTH - 1;
    fields.iter().any(|(name, value)| match (name.as_str(), value) {
        ("metadata", Value::Object(metadata)) => metadata
            .iter()
            .any(|(name, value)| name != "managedFields" && depth::nests_deeper(value, allowed - 1)),
        (_, value) => depth::nests_deeper(value, allowed),
    })
}

impl Context<'_> {
    fn empty_object(&self) -> Value {
        self.empty.cloned().unwrap_or_else(|| json!({}))
    }

    fn check_type(&self, applied: &Value) -> Result<(), ApiError> {
        let type_ = type_of(applied);
        if type_ == group_version_kind(self.api_version, self.kind) {
            Ok(())
        } else {
            Err(ApiError::bad_request(format!("invalid object type: {type_}")))
        }
    }
}

/// The type of an object as messages name it: `apps/v1, Kind=Deployment`.
fn type_of(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("apiVersion") {
        version if version.matches('/').count() > 1 => group_version_kind("", ""),
        version => group_version_kind(version, text("kind")),
    }
}

fn group_version_kind(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={kind}")
}

fn describe(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}; {}", text("/metadata/namespace"), text("/metadata/name"), type_of(object))
}

/// What a real server did not expect: 500, without a reason.
pub(crate) fn unexpected(message: String) -> ApiError {
    ApiError { code: 500, reason: "", message, details: None }
}

fn refusal(conflicts: Vec<Conflict>) -> ApiError {
    let causes = conflicts
        .iter()
        .map(|Conflict { owner, path }| Cause {
            reason: "FieldManagerConflict",
            message: format!("conflict with {owner}"),
            field: path.clone(),
        })
        .collect();
    let message = match conflicts.as_slice() {
        [Conflict { owner, path }] => format!("Apply failed with 1 conflict: conflict with {owner}: {path}"),
        many => {
            let lines: Vec<String> = many
                .chunk_by(|left, right| left.owner == right.owner)
                .flat_map(|chunk| {
                    let title = chunk.first().map(|first| format!("conflicts with {}:", first.owner));
                    title.into_iter().chain(chunk.iter().map(|conflict| format!("- {}", conflict.path)))
                })
                .collect();
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    ApiError::apply_conflict(causes, message)
}
