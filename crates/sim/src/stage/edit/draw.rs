//! What a seed draws: few changes in most seeds, many in some. Each field draws for itself, so that a new one moves no other.

use super::{
    Edit, To,
    fields::{Field, Kind, kinds},
    value,
};
use crate::{
    cluster, openmcp,
    stage::{
        dice::{Dice, dice_for},
        script::{Action, Script},
    },
};
use serde_json::Value;

/// A kind with fewer fields has few.
const FEW: usize = 30;

/// Adds what people change to what they do anyway.
pub(crate) fn add(seed: u64, script: &mut Script) {
    let rate = rate(&mut dice_for(seed, &["edits"], 0));
    let objects: Vec<Known> = script.actions.iter().filter_map(|(at, action)| made(*at, action)).collect();
    let (is_openmcp, calm) = (script.options.openmcp.is_some(), script.options.calm);
    // With openMCP, others are for later: a ProviderConfig that somebody has changed in every way leaves Clusters that are never answered, and
    // whose fault that is has not been found out.
    let is_changed = |kind: &&Kind| !is_openmcp || kind.kind == "AccessRequest";
    for kind in kinds().iter().filter(|kind| kind.is_openmcp() == is_openmcp).filter(is_changed) {
        let of_kind: Vec<&Known> = objects.iter().filter(|known| known.kind == kind.kind).collect();
        // Kinds with few fields would be changed in few seeds.
        let rate = if kind.fields.len() < FEW { rate * 4 } else { rate };
        for field in &kind.fields {
            let mut dice = dice_for(seed, &["edit", &kind.kind, &field.path], 0);
            if dice.happens(rate) {
                script.actions.extend(changes(kind, field, &of_kind, calm, &mut dice));
            }
        }
    }
}

/// How often a field is changed, in fields out of a thousand.
fn rate(dice: &mut Dice) -> u64 {
    match dice.below(10) {
        0..3 => 0,
        3..8 => 30,
        _ => 200,
    }
}

/// An object that people make.
struct Known {
    kind: &'static str,
    /// The platform, with openMCP.
    on: usize,
    name: String,
    at: u64,
}

fn made(at: u64, action: &Action) -> Option<Known> {
    use openmcp::Deed as D;
    let known = |kind, on: usize, name: &String| Some(Known { kind, on, name: name.clone(), at });
    match action {
        Action::Ask { request, .. } => known("SubscriptionRequest", 0, request),
        Action::Cluster(cluster::Deed::Create { cluster, .. }) => known("Cluster", 0, cluster),
        Action::Cluster(cluster::Deed::Access { access, what: cluster::Favour::Ask, .. }) => {
            known("KubeconfigRequest", 0, access)
        }
        Action::Openmcp(D::Order { on, cluster, .. }) => known("Cluster", *on, cluster),
        Action::Openmcp(D::Entry { on, access, .. }) => known("AccessRequest", *on, access),
        Action::Openmcp(D::Book { on, request, .. }) => known("ClusterRequest", *on, request),
        Action::Openmcp(D::Landscape { on, landscape, .. }) => known("Landscape", *on, landscape),
        Action::Openmcp(D::Config { on, config, .. }) => known("ProviderConfig", *on, config),
        Action::Openmcp(D::Patch { on, .. }) => {
            known("ClusterConfig", *on, &openmcp::CLUSTER_CONFIG.to_owned())
        }
        _ => None,
    }
}

/// Sets, changes and removes a field of one object, a few times.
fn changes(kind: &Kind, field: &Field, objects: &[&Known], calm: u64, dice: &mut Dice) -> Vec<(u64, Action)> {
    let Some(known) = dice.pick(objects) else { return Vec::new() };
    let mut at = dice.between(known.at + 1, calm.max(known.at + 2));
    let (mut changes, mut is_set) = (Vec::new(), false);
    for _ in 0..dice.between(1, 5) {
        let removes = !field.is_required && dice.happens(if is_set { 500 } else { 150 });
        let to = if removes { Value::Null } else { value::sample(&field.schema, &field.meaning, dice) };
        is_set = !to.is_null();
        let (kind, path) = (kind.kind.clone(), field.path.clone());
        let edit = Edit { kind, on: known.on, object: known.name.clone(), path, to: To(to) };
        changes.push((at, Action::Edit(edit)));
        at += dice.between(1, 30_000);
    }
    changes.retain(|(at, _)| *at < calm);
    changes
}
