//! Random sequences of requests, the same to both servers. A sequence comes from a seed; one that fails is shortened.

use crate::{
    cases::shared::{CONFIG_MAPS, WIDGETS, config_map, widget},
    script::{Step, apply, apply_by_force, create, delete_with, get, json_patch, merge, update},
    servers::Variables,
};
use serde_json::{Value, json};
use std::fmt::Write;

/// Enough to meet every pair of operations a few times; more with `CONFORMANCE_SEQUENCES`.
const SEQUENCES: u64 = 30;
const STEPS: usize = 25;

pub fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("CONFORMANCE_SEQUENCES").ok().and_then(|text| text.parse().ok());
    0..count.unwrap_or(SEQUENCES)
}

/// A small generator of random numbers (SplitMix64): the same everywhere and for ever.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

/// One of the objects that a sequence is about.
#[derive(Clone, Copy)]
struct Target {
    path: &'static str,
    name: &'static str,
}

const TARGETS: [Target; 4] = [
    Target { path: CONFIG_MAPS, name: "a" },
    Target { path: CONFIG_MAPS, name: "b" },
    Target { path: WIDGETS, name: "c" },
    Target { path: WIDGETS, name: "d" },
];

impl Target {
    fn path(self) -> String {
        format!("{}/{}", self.path, self.name)
    }

    fn is_widget(self) -> bool {
        self.path == WIDGETS
    }

    /// What a client might want it to be.
    fn object(self, dice: &mut Dice) -> Value {
        let mut object =
            if self.is_widget() { widget(self.name, json!({})) } else { config_map(self.name, json!({})) };
        for _ in 0..=dice.below(2) {
            self.set_something(&mut object, dice);
        }
        object
    }

    fn set_something(self, object: &mut Value, dice: &mut Dice) {
        match dice.below(if self.is_widget() { 8 } else { 4 }) {
            0 => object["metadata"]["labels"][dice.pick(&["x", "y"])] = json!(dice.pick(&["1", "2"])),
            1 => object["metadata"]["annotations"][dice.pick(&["x", "y"])] = json!(dice.pick(&["1", "2"])),
            2 | 3 if !self.is_widget() => {
                object["data"][dice.pick(&["k", "l", "m"])] = json!(dice.pick(&["1", "2", "3"]));
            }
            2 => object["spec"]["color"] = json!(dice.pick(&["red", "green", "purple"])),
            3 => object["spec"]["size"] = json!(dice.pick(&[1, 2, 3, 1000])),
            4 => object["spec"]["tags"] = json!([dice.pick(&["p", "q"]), dice.pick(&["r", "s"])]),
            5 => {
                let port =
                    |dice: &mut Dice| json!({ "port": dice.pick(&[1, 2]), "name": dice.pick(&["m", "n"]) });
                object["spec"]["ports"] = if dice.below(2) == 0 {
                    json!([port(dice)])
                } else {
                    json!([{ "port": 1 }, { "port": 2, "name": dice.pick(&["m", "n"]) }])
                };
            }
            6 => object["spec"]["nested"][dice.pick(&["first", "second"])] = json!(dice.pick(&["1", "2"])),
            _ => {
                object["spec"]["atomic"] = json!({ dice.pick(&["first", "second"]): dice.pick(&["1", "2"]) });
            }
        }
    }
}

/// The steps of a seed.
pub fn steps(seed: u64) -> Vec<Step> {
    let mut dice = Dice(seed);
    (0..STEPS).map(|_| step(&mut dice)).collect()
}

fn step(dice: &mut Dice) -> Step {
    let target = dice.pick(&TARGETS);
    let step = match dice.below(16) {
        0..3 => create(target.path, target.object(dice)),
        3 => get(target.path()),
        4 | 5 => change_by_update(target, dice),
        6 | 7 => merge(target.path(), target.object(dice)),
        8..11 => change_by_apply(target, dice),
        11 => delete_something(target, dice),
        12 => finalizer(target, dice),
        13 => owner(target, dice),
        14 => {
            get(format!("{}?labelSelector={}", target.path, dice.pick(&["x=1", "x!=1", "y", "x in (1,2)"])))
                .ignore("/body/metadata/resourceVersion")
        }
        _ => status(target, dice),
    };
    let name = target.name;
    match step.call().is_some_and(|call| call.path.contains("labelSelector")) {
        true => step,
        false => step
            .save(&format!("version-{name}"), "/metadata/resourceVersion")
            .save(&format!("uid-{name}"), "/metadata/uid"),
    }
}

/// The steps, after one that makes the UID of the namespace known: it is the owner of what has one.
pub fn with_namespace(steps: Vec<Step>) -> Vec<Step> {
    let first = get("/api/v1/namespaces/{ns}").save("uid-ns", "/metadata/uid");
    std::iter::once(first).chain(steps).collect()
}

/// Before anything is known of an object, its version and UID are those of nobody.
pub fn variables(variables: &mut Variables) {
    for Target { name, .. } in TARGETS {
        variables.insert(format!("version-{name}"), "1".to_owned());
        variables.insert(format!("uid-{name}"), "nobody".to_owned());
    }
}

fn change_by_update(target: Target, dice: &mut Dice) -> Step {
    let mut object = target.object(dice);
    match dice.below(4) {
        0 => {}
        1 => object["metadata"]["resourceVersion"] = json!("1"),
        _ => object["metadata"]["resourceVersion"] = json!(format!("{{version-{}}}", target.name)),
    }
    update(target.path(), object)
}

fn change_by_apply(target: Target, dice: &mut Dice) -> Step {
    let object = target.object(dice);
    let manager = dice.pick(&["one", "two", "three"]);
    match dice.below(2) {
        0 => apply(target.path(), manager, object),
        _ => apply_by_force(target.path(), manager, object),
    }
}

fn delete_something(target: Target, dice: &mut Dice) -> Step {
    let options = match dice.below(5) {
        0 => json!({ "preconditions": { "uid": "00000000-0000-0000-0000-000000000000" } }),
        1 => json!({ "preconditions": { "uid": format!("{{uid-{}}}", target.name) } }),
        2 => json!({ "preconditions": { "resourceVersion": format!("{{version-{}}}", target.name) } }),
        // What follows a deletion in the background comes when it comes; its order cannot be compared.
        _ => json!({ "propagationPolicy": "Orphan", "preconditions": { "resourceVersion": "1" } }),
    };
    delete_with(target.path(), options)
}

fn finalizer(target: Target, dice: &mut Dice) -> Step {
    let finalizers = match dice.below(3) {
        0 => json!(["example.com/held"]),
        1 => json!(["example.com/held", "example.com/twice"]),
        _ => Value::Null,
    };
    merge(target.path(), json!({ "metadata": { "finalizers": finalizers } }))
}

/// Owners stay, so that garbage collection has nothing to do.
fn owner(target: Target, dice: &mut Dice) -> Step {
    let controller = dice.below(2) == 0;
    let owner = json!({ "apiVersion": "v1", "kind": "Namespace", "name": "{ns}", "uid": "{uid-ns}", "controller": controller });
    let owners = if dice.below(3) == 0 { json!([owner.clone(), owner]) } else { json!([owner]) };
    match dice.below(2) {
        0 => merge(target.path(), json!({ "metadata": { "ownerReferences": owners } })),
        _ => json_patch(target.path(), json!([{ "op": "remove", "path": "/metadata/ownerReferences" }])),
    }
}

fn status(target: Target, dice: &mut Dice) -> Step {
    let phase = dice.pick(&["New", "Old"]);
    let patch = json!({ "status": { "phase": phase }, "spec": { "size": 7 }, "data": { "k": "status" } });
    merge(format!("{}/status", target.path()), patch)
}

/// Drops steps as long as the rest still fails, and tells of what is left.
pub async fn shrunk<F>(steps: Vec<Step>, fails: impl Fn(Vec<Step>) -> F) -> Option<String>
where
    F: Future<Output = Option<String>>,
{
    let mut report = fails(steps.clone()).await?;
    let mut steps = steps;
    let mut size = steps.len() / 2;
    while size > 0 {
        let mut start = 0;
        while start < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(start..(start + size).min(steps.len()));
            match fails(fewer.clone()).await {
                Some(shorter) => (steps, report) = (fewer, shorter),
                None => start += size,
            }
        }
        size /= 2;
    }
    let mut text = format!("{} steps are enough:\n", steps.len());
    for (number, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "  {}. {step}", number + 1);
    }
    Some(text + &report)
}
