//! The servers accept a good share of what people change, in every field that can be changed.

use super::{
    Edit, To, act,
    fields::{Kind, kinds},
    take_back, value,
};
use crate::{
    openmcp::{self, Access, Config, Land, Patch},
    stage::{
        dice::dice_for,
        play::Play,
        script::{Action, Script},
        world::{Faults, World},
    },
    subscription::people::People,
};
use std::collections::{BTreeMap, BTreeSet};

/// How often each field is changed.
const TIMES: u64 = 6;

/// Fields that no value goes into, by kind: a Cluster that Gardener makes is not one that somebody brings, a rule about resources is not
/// one about paths, and objects with a field that cannot be changed are changed field by field.
const REFUSED: [(&str, &str); 9] = [
    ("Cluster", "spec.byoc"),
    ("Cluster", "spec.byoc.kubeconfigSecretRef"),
    ("Cluster", "spec.byoc.kubeconfigSecretRef.key"),
    ("Cluster", "spec.byoc.kubeconfigSecretRef.name"),
    ("Cluster", "spec.core"),
    ("Cluster", "spec.infrastructure"),
    ("KubeconfigRequest", "spec.clusterRole.rules[0].nonResourceURLs[0]"),
    ("KubeconfigRequest", "spec.role.rules[0].nonResourceURLs"),
    ("KubeconfigRequest", "spec.role.rules[0].nonResourceURLs[0]"),
];

/// A world in which nobody works.
async fn world(play: Play, actions: &[Action]) -> World {
    let options = play.scenario().options;
    let world = World::new(&options, Faults::Listed(BTreeMap::new()), false, None).await.unwrap();
    for action in actions {
        match action {
            Action::Openmcp(deed) => openmcp::act(&world, deed),
            other => People::default().act(&world, other),
        }
    }
    world
}

/// The fields that were never changed, how many changes were tried, and how many accepted.
fn tried(world: &World, kind: &Kind, object: &str) -> (BTreeSet<String>, (u64, u64)) {
    let (mut never, mut sum) = (BTreeSet::new(), (0, 0));
    for field in &kind.fields {
        let mut is_done = false;
        for number in 0..TIMES {
            let mut dice = dice_for(number, &["test", &field.path], 0);
            let to = value::sample(&field.schema, &field.meaning, &mut dice);
            let (path, object) = (field.path.clone(), object.to_owned());
            act(world, &Edit { kind: kind.kind.clone(), on: 0, object: object.clone(), path, to: To(to) });
            is_done |= take_back(world, &(kind.kind.clone(), 0, object));
            let counts = std::mem::take(&mut world.state().edits.counts);
            let (tried, accepted) = counts.get(&kind.kind).copied().unwrap_or_default();
            sum = (sum.0 + tried, sum.1 + accepted);
            is_done |= accepted > 0;
        }
        if !is_done {
            never.insert(field.path.clone());
        }
    }
    (never, sum)
}

fn check(world: &World, is_openmcp: bool, objects: &[(&str, &[&str])]) {
    for (name, objects) in objects {
        let kind = kinds().iter().find(|it| it.kind == *name && it.is_openmcp() == is_openmcp).unwrap();
        let all = objects.iter().map(|object| tried(world, kind, object));
        let both = |one: (BTreeSet<String>, (u64, u64)), other: (BTreeSet<String>, (u64, u64))| {
            (&one.0 & &other.0, (one.1.0 + other.1.0, one.1.1 + other.1.1))
        };
        let (never, (tried, accepted)) = all.reduce(both).unwrap();
        let share = accepted * 100 / tried.max(1);
        let known: BTreeSet<String> = REFUSED
            .iter()
            .filter(|(of, _)| of == name && !is_openmcp)
            .map(|(_, path)| (*path).to_owned())
            .collect();
        assert_eq!(never, known, "{name}: fields that were never changed");
        assert!(share >= 40, "{name}: {share} % of all changes were accepted");
    }
}

fn actions(lines: &str) -> Vec<Action> {
    let world = "world seed=1 tenants=1 dedicated=1 eu=0 shared=0 limit=1 several=0 cap=0 workers=1 latency=1 clean=1 same-name=true calm=1";
    let script: Script = format!("{world}\n{lines}").parse().unwrap();
    script.actions.into_iter().map(|(_, action)| action).collect()
}

#[tokio::test(start_paused = true)]
async fn every_field_can_be_changed() {
    let made = actions(
        "at 1 create cluster=k1 rich=true tenant=t1
         at 2 access access=a1-k1 cluster=k1 what=ask
         at 3 access access=a2-k1 cluster=k1 what=ask
         at 4 access access=a2-k1 cluster=k1 what=narrow
         at 5 ask request=r1 tenant=t1 want=own",
    );
    let world = world(Play::Access, &made).await;
    let objects: [(&str, &[&str]); 3] =
        [("Cluster", &["k1"]), ("KubeconfigRequest", &["a1-k1", "a2-k1"]), ("SubscriptionRequest", &["r1"])];
    check(&world, false, &objects);
}

#[tokio::test(start_paused = true)]
async fn every_field_of_openmcp_can_be_changed() {
    use openmcp::Deed as D;
    let name = |name: &str| name.to_owned();
    let (landscape, config) = (name("l1"), name("c1"));
    let deeds = [
        D::Landscape { on: 0, landscape, what: Land::Offer },
        D::Config { on: 0, config, what: Config::Offer },
        D::Patch { on: 0, what: Patch::Make },
        D::Order { on: 0, cluster: name("k1"), profile: name("east.p1.c1") },
        D::Entry { on: 0, access: name("a1-k1"), cluster: name("k1"), what: Access::Spaces },
        D::Entry { on: 0, access: name("a2-k1"), cluster: name("k1"), what: Access::Login },
    ];
    let world = world(Play::Openmcp, &deeds.map(Action::Openmcp)).await;
    let objects: [(&str, &[&str]); 5] = [
        ("Landscape", &["l1"]),
        ("ProviderConfig", &["c1"]),
        ("ClusterConfig", &[openmcp::CLUSTER_CONFIG]),
        ("Cluster", &["k1"]),
        ("AccessRequest", &["a1-k1", "a2-k1"]),
    ];
    check(&world, true, &objects);
}

#[test]
fn a_change_is_a_line_of_a_script() {
    let lines = "at 5 edit kind=KubeconfigRequest object=a1-k1 path=spec.secretRef.key to=\"true\"
         at 6 edit kind=KubeconfigRequest object=a1-k1 path=spec.secretRef.key to=null
         at 7 edit kind=Cluster object=k1 path=spec.administrators to=[\"ann@example.com\",\"b\"]";
    let made = actions(lines);
    let values: Vec<String> = made
        .iter()
        .map(|action| match action {
            Action::Edit(edit) => edit.to.0.to_string(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(values, ["\"true\"", "null", "[\"ann@example.com\",\"b\"]"]);
    let options = Play::Access.scenario().options;
    let at = |action: &Action| (1, action.clone());
    let script = Script { options, actions: made.iter().map(at).collect(), faults: BTreeMap::new() };
    assert_eq!(script.to_string().parse::<Script>().unwrap(), script);
}
