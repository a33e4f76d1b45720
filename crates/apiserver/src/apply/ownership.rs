//! Moves fields between owners as an object changes.

use super::Context;
use super::check::{Duplicates, check};
use super::compare::Changes;
use super::element::equal;
use super::fieldset::FieldSet;
use super::managed::{ManagedFields, Operation, Owned, Owner};
use super::merge::merge;
use super::metadata;
use super::reconcile::reconcile;
use super::remove::remove;
use super::shape::Node;
use serde_json::Value;
use std::mem;

/// Somebody else owns a field that would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub owner: Owner,
    pub path: String,
}

/// Gives what changed from `old` to `new` to a manager that updates.
pub(crate) fn update(
    old: &Value,
    new: &Value,
    managed: &mut ManagedFields,
    ctx: &Context<'_>,
    manager: &str,
) -> Result<(), String> {
    let node = Node::root(ctx.schema);
    check(new, node, Duplicates::Allowed)?;
    check(old, node, Duplicates::Allowed)?;
    bring_in_line(managed, node);
    let changes = Changes::between(old, new, node).without(&ctx.ignored);
    let taken = changes.modified.union(&changes.added);
    disown(managed, &taken.union(&changes.removed), None);
    let fields = taken.difference(metadata::untracked());
    if !fields.is_empty() {
        let owner = ctx.owner(manager, Operation::Update);
        let owned = managed.owners.entry(owner).or_insert_with(|| ctx.owned(FieldSet::default()));
        owned.fields = owned.fields.union(&fields);
        owned.time = Some(ctx.now);
    }
    Ok(())
}

/// Merges what is applied, gives it to the manager, and removes what that manager applied before and does no longer.
pub(crate) fn apply(
    live: &Value,
    applied: &Value,
    managed: &mut ManagedFields,
    ctx: &Context<'_>,
    force: bool,
) -> Result<Value, Vec<Conflict>> {
    let node = Node::root(ctx.schema);
    bring_in_line(managed, node);
    let owner = ctx.owner(ctx.manager, Operation::Apply);
    let fields = super::collect::paths_of(applied, node).recursive_difference(&ctx.ignored);
    let last = managed.owners.remove(&owner);
    let time = last.as_ref().and_then(|last| last.time);
    managed.owners.insert(owner.clone(), Owned { time, ..ctx.owned(fields) });

    let merged = merge(live, applied, node);
    let merged = match last {
        Some(last) => prune(merged, managed, &last.fields, node),
        None => merged,
    };

    let changes = Changes::between(live, &merged, node).without(&ctx.ignored);
    let taken = changes.modified.union(&changes.added);
    let conflicts = conflicts(managed, &taken, &owner);
    if !force && !conflicts.is_empty() {
        return Err(conflicts);
    }
    disown(managed, &taken.union(&changes.removed), Some(&owner));

    let changed = !equal(live, &merged);
    if let Some(owned) = managed.owners.get_mut(&owner) {
        owned.fields = owned.fields.difference(metadata::untracked());
        if changed {
            owned.time = Some(ctx.now);
        }
    }
    managed.owners.retain(|_, owned| !owned.fields.is_empty());
    Ok(if changed { merged } else { live.clone() })
}

impl Context<'_> {
    fn owner(&self, manager: &str, operation: Operation) -> Owner {
        Owner {
            manager: if manager.is_empty() { "unknown" } else { manager }.to_owned(),
            operation,
            api_version: (operation == Operation::Update).then(|| self.api_version.to_owned()),
            subresource: self.subresource.to_owned(),
        }
    }

    fn owned(&self, fields: FieldSet) -> Owned {
        Owned { fields, api_version: self.api_version.to_owned(), time: None }
    }
}

fn bring_in_line(managed: &mut ManagedFields, node: Node<'_>) {
    for owned in managed.owners.values_mut() {
        owned.fields = reconcile(mem::take(&mut owned.fields), node);
    }
}

/// Takes fields from all owners but one. Who owns nothing any more is none.
fn disown(managed: &mut ManagedFields, fields: &FieldSet, except: Option<&Owner>) {
    for (owner, owned) in &mut managed.owners {
        if Some(owner) != except {
            owned.fields = owned.fields.difference(fields);
        }
    }
    managed.owners.retain(|_, owned| !owned.fields.is_empty());
}

fn conflicts(managed: &ManagedFields, taken: &FieldSet, applier: &Owner) -> Vec<Conflict> {
    managed
        .owners
        .iter()
        .filter(|(owner, _)| *owner != applier)
        .flat_map(|(owner, owned)| {
            let paths = owned.fields.intersection(taken).paths();
            paths.into_iter().map(|path| Conflict { owner: owner.clone(), path })
        })
        .collect()
}

/// Removes what the manager applied last time and does not apply now, unless somebody owns it.
fn prune(merged: Value, managed: &ManagedFields, last: &FieldSet, node: Node<'_>) -> Value {
    if last.is_empty() {
        return merged;
    }
    let all = |value: &Value| super::collect::paths_of(value, node).with_declared_fields(Some(node));
    let last = last.with_declared_fields(Some(node));
    let present = all(&merged);
    let pruned = remove(&merged, &last, node);

    // What anybody owns, the manager now among them, comes back.
    let owned = managed.owners.values().fold(FieldSet::default(), |all, owned| all.union(&owned.fields));
    let kept = all(&pruned).union(&owned.with_declared_fields(Some(node)));
    let pruned = remove(&merged, &present.difference(&kept), node);

    // What went along although it was never applied comes back.
    let gone = present.difference(&all(&pruned)).intersection(&last);
    remove(&merged, &gone, node)
}
