//! People change a field, and take back what they are told is wrong.

use super::{
    Edit,
    fields::{Kind, get, kinds, put, steps},
    value,
};
use crate::{
    openmcp::{self, Place},
    stage::{
        call::Side,
        dice::dice_for,
        world::{By, NAMESPACE, World},
    },
};
use http::Method;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// An object: its kind, its platform and its name.
pub(crate) type Object = (String, usize, String);

/// What people have changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edits {
    /// How often each kind was to be changed, and how often the server took it.
    pub(crate) counts: BTreeMap<String, (u64, u64)>,
    /// The UIDs of objects that were changed, and what their fields were before.
    pub(crate) before: BTreeMap<Object, (String, BTreeMap<String, Value>)>,
    /// The UIDs of objects whose changes were taken back.
    pub(crate) taken_back: BTreeSet<String>,
}

/// Changes a field.
pub(crate) fn act(world: &World, edit: &Edit) {
    let is_openmcp = world.realm.is_some();
    let Some(kind) = kinds().iter().find(|kind| kind.kind == edit.kind && kind.is_openmcp() == is_openmcp)
    else {
        return;
    };
    let path = path_of(kind, &edit.object);
    let Some(object) = read(world, kind, edit.on, &path) else { return };
    let mut changed = object.clone();
    set(world, kind, &mut changed, &edit.path, &edit.to.0);
    if changed == object {
        return;
    }
    if let Some(realm) = &world.realm {
        openmcp::announce(realm, &edit.kind, &object, &edit.to.0);
    }
    let is_done = write(world, edit.on, &path, &changed);
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let mut state = world.state();
    let counts = state.edits.counts.entry(edit.kind.clone()).or_default();
    *counts = (counts.0 + 1, counts.1 + u64::from(is_done));
    if is_done {
        let key = (edit.kind.clone(), edit.on, edit.object.clone());
        let known = state.edits.before.entry(key).or_default();
        if known.0 != uid {
            *known = (uid, BTreeMap::new());
        }
        // An empty permission of openMCP is refused for ever; an empty worker is as good as none.
        let made = if is_openmcp { outermost_new(&object, &edit.path) } else { &edit.path };
        let value = get(&object, made).cloned().unwrap_or_default();
        known.1.entry(made.to_owned()).or_insert(value);
    }
}

/// The field itself, or the outermost of those around it that a change has to make: it goes with the change.
fn outermost_new<'a>(object: &Value, path: &'a str) -> &'a str {
    let ends = path.char_indices().filter(|(_, letter)| matches!(letter, '.' | '[')).map(|(end, _)| end);
    let mut around = ends.map(|end| &path[..end]);
    around.find(|prefix| get(object, prefix).is_none()).unwrap_or(path)
}

/// Takes back whatever was changed in the spec of an object, if the server lets it; whether anything was.
pub(crate) fn take_back(world: &World, key: &Object) -> bool {
    let Some((uid, fields)) = world.state().edits.before.remove(key) else { return false };
    let is_openmcp = world.realm.is_some();
    let Some(kind) = kinds().iter().find(|kind| kind.kind == key.0 && kind.is_openmcp() == is_openmcp) else {
        return false;
    };
    world.state().edits.taken_back.insert(uid.clone());
    let path = path_of(kind, &key.2);
    let mut is_done = false;
    // One by one: some may not go back, and are no reason to leave the others.
    for (field, value) in fields.iter().rev() {
        let Some(object) = read(world, kind, key.1, &path).filter(|it| it["metadata"]["uid"] == *uid) else {
            break;
        };
        let mut changed = object.clone();
        set(world, kind, &mut changed, field, value);
        is_done |= changed != object && write(world, key.1, &path, &changed);
    }
    is_done
}

/// The objects of a kind that were changed and are still there, as they are now.
pub(crate) fn changed(world: &World, kind: &str) -> Vec<(Object, Value)> {
    let known: Vec<(Object, String)> = {
        let state = world.state();
        let all = state.edits.before.iter().filter(|(key, _)| key.0 == kind);
        all.map(|(key, (uid, _))| (key.clone(), uid.clone())).collect()
    };
    let is_openmcp = world.realm.is_some();
    let Some(kind) = kinds().iter().find(|it| it.kind == kind && it.is_openmcp() == is_openmcp) else {
        return Vec::new();
    };
    let there = known.into_iter().filter_map(|(key, uid)| {
        let object = read(world, kind, key.1, &path_of(kind, &key.2))?;
        (object["metadata"]["uid"] == *uid).then_some((key, object))
    });
    there.collect()
}

/// What else has to be there is drawn for the field, so that a script does the same as the seed it came from.
fn set(world: &World, kind: &Kind, object: &mut Value, path: &str, to: &Value) {
    let mut dice = dice_for(world.options.seed, &["fill", &kind.kind, path], 0);
    let schema = json!({ "properties": { "spec": kind.schema } });
    let mut fill = |schema: &Value, name: &str| value::sample(schema, name, &mut dice);
    put(object, &schema, &steps(path), to, &mut fill);
}

fn path_of(kind: &Kind, name: &str) -> String {
    let (group, plural) = (&kind.group, &kind.plural);
    let place = match kind.kind.as_str() {
        "Landscape" | "ProviderConfig" => String::new(),
        _ => format!("namespaces/{NAMESPACE}/"),
    };
    format!("/apis/{group}/v1alpha1/{place}{plural}/{name}")
}

fn read(world: &World, kind: &Kind, on: usize, path: &str) -> Option<Value> {
    let (code, object) = match kind.is_openmcp() {
        true => world.ask_server(&Place::Platform(on).server(world)?, Method::GET, path, None),
        false => world.ask(Side::ControlPlane, Method::GET, path, None),
    };
    (code == 200).then_some(object)
}

/// Writes an object as it was read, so that fields can go.
fn write(world: &World, on: usize, path: &str, object: &Value) -> bool {
    let code = match world.realm {
        Some(_) => openmcp::write(world, &Place::Platform(on), Method::PUT, path, Some(object)),
        None => world.act(By::Other, Method::PUT, path, Some(object)),
    };
    code < 300
}
