//! What kubectl applied before servers could do it: it is kept in an annotation, and still counts.

use super::{
    Context,
    collect::paths_of,
    compare::Changes,
    managed::ManagedFields,
    ownership::{self, Conflict},
    shape::Node,
};
use crate::meta;
use serde_json::Value;
use std::collections::BTreeSet;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Who goes by another name opts out.
const MANAGER: &str = "kubectl";

/// As [`ownership::apply`]: what kubectl applied in the old way and nobody changed since is no conflict, and who goes
/// on in the old way finds what was applied in the new one.
pub(super) fn apply(
    live: &Value,
    applied: &Value,
    managed: &mut ManagedFields,
    ctx: &Context<'_>,
    force: bool,
) -> Result<Value, Vec<Conflict>> {
    if ctx.manager != MANAGER || annotation(live).is_none() {
        return ownership::apply(live, applied, managed, ctx, force);
    }
    let before = managed.clone();
    let mut object = ownership::apply(live, applied, managed, ctx, force).or_else(|mut conflicts| {
        let own = still_as_applied(live, ctx);
        conflicts.retain(|conflict| !own.contains(&conflict.path));
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
        *managed = before;
        ownership::apply(live, applied, managed, ctx, true)
    })?;
    if annotation(&object).is_some()
        && let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    {
        annotations.insert(ANNOTATION.to_owned(), encode(applied).into());
    }
    Ok(object)
}

fn annotation(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][ANNOTATION].as_str().filter(|text| !text.is_empty())
}

/// The paths of what was applied in the old way and is as it was then.
fn still_as_applied(live: &Value, ctx: &Context<'_>) -> BTreeSet<String> {
    let Some(last) = annotation(live).and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return BTreeSet::new();
    };
    if last["apiVersion"] != ctx.api_version {
        return BTreeSet::new();
    }
    let node = Node::root(ctx.schema);
    let changes = Changes::between(&last, live, node);
    let changed = changes.modified.union(&changes.added).union(&changes.removed);
    paths_of(&last, node).difference(&changed).paths().into_iter().collect()
}

/// As Go writes it: with a line end, and nothing in it that HTML would take for its own.
fn encode(applied: &Value) -> String {
    let mut applied = applied.clone();
    if let Some(annotations) =
        meta::metadata(&mut applied).get_mut("annotations").and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
    }
    applied.sort_all_objects();
    let text = applied.to_string();
    format!("{}\n", text.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e"))
}
