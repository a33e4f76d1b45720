//! What must hold for a request, whatever happens to it and its cluster.

use super::*;
use proptest::prelude::{Just, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

/// What happens.
#[derive(Clone, Debug)]
enum Event {
    /// Time passes, in hours.
    Later(i64),
    /// The cluster is this by now.
    Target(Target),
    /// This goes wrong by now, or nothing does.
    Trouble(Option<Fate>),
    /// The request is changed, into a token or a login.
    Change(bool),
    /// Somebody deletes the Secret.
    Lose,
    /// Somebody wants it looked at.
    Mark,
    /// It is looked at, and what is inside too.
    LookInside,
    /// The kubeconfig would be another one by now.
    Rotate(u8),
}

fn target() -> impl Strategy<Value = Target> {
    let shoot = |uid: &str, is_made| Target::Shoot { uid: uid.to_owned(), is_made, is_ready: is_made };
    prop_oneof![
        3 => Just(shoot("shoot", true)),
        1 => Just(shoot("other", true)),
        1 => Just(shoot("shoot", false)),
        1 => Just(Target::Unknown),
        1 => Just(Target::NotOurs),
        1 => Just(Target::NoShoot),
        1 => Just(Target::NoCluster { name: "Cluster n/c".to_owned() }),
        1 => Just(Target::NoWay { reason: "UnknownLandscape", message: "away".to_owned() }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let fate = prop_oneof![
        3 => Just(None),
        2 => Just(Some(Fate::Passes)),
        1 => Just(Some(Fate::Lasts)),
        1 => Just(Some(Fate::Gone)),
    ];
    prop_oneof![
        3 => (1_i64..400).prop_map(Event::Later),
        3 => target().prop_map(Event::Target),
        3 => fate.prop_map(Event::Trouble),
        1 => prop::bool::ANY.prop_map(Event::Change),
        1 => Just(Event::Lose),
        1 => Just(Event::Mark),
        1 => Just(Event::LookInside),
        1 => (0_u8..3).prop_map(Event::Rotate),
    ]
}

fn happens(world: &mut World, event: Event) {
    world.is_look_due = false;
    match event {
        Event::Later(hours) => world.later(SignedDuration::from_hours(hours)),
        Event::Target(target) => world.target = target,
        Event::Trouble(fate) => {
            let hitch = |fate| Hitch { reason: "Because", message: "it does not work".to_owned(), fate };
            world.trouble = fate.map(hitch);
        }
        Event::Change(is_login) => {
            let other = if is_login { World::oidc() } else { World::token() };
            world.request.spec = other.request.spec;
            let generation = world.request.metadata.generation.unwrap() + 1;
            world.request.metadata.generation = Some(generation);
            let status = world.request.status.as_mut().unwrap();
            status.common.phase = "Pending".to_owned();
            status.common.observed_generation = generation;
        }
        Event::Lose => world.secret = None,
        Event::Mark => {
            let mark = (annotation::OPERATION.to_owned(), "reconcile".to_owned());
            world.request.metadata.annotations = Some([mark].into());
        }
        Event::LookInside => world.is_look_due = true,
        Event::Rotate(number) => world.made_for = number.to_string(),
    }
}

fn works(world: &World) -> bool {
    world.secret.as_ref().is_some_and(|secret| secret.expires.is_none_or(|expires| expires > world.now))
}

proptest! {
    #[test]
    fn a_request_says_what_is_so_and_always_ends(events in prop::collection::vec(event(), 0..40)) {
        let mut world = World::token();
        for event in events {
            let (was_granted, before) = (world.phase() == "Granted", world.clone());
            happens(&mut world, event);
            let is_changed = world.request.metadata.generation != before.request.metadata.generation;
            let (steps, _) = world.look();
            let is_left = steps.contains(&"leave");
            match world.phase() {
                "Granted" if !is_left => prop_assert!(works(&world), "{:?}", world.secret),
                "Denied" if !is_left => prop_assert!(world.secret.is_none() && !steps.contains(&"issue")),
                _ => (),
            }
            // Whoever has a kubeconfig that works is not told otherwise because a call failed.
            let is_passing = world.trouble.as_ref().is_none_or(|trouble| trouble.fate == Fate::Passes);
            let is_same = world.target == before.target && world.trouble == before.trouble && !is_changed;
            if was_granted && works(&world) && is_passing && is_same && before.secret == world.secret {
                prop_assert_eq!(world.phase(), "Granted", "{:?}", steps);
            }
            // A second look has nothing more to do, if nothing is wrong.
            if world.trouble.is_none() {
                let (status, secret) = (world.request.status.clone(), world.secret.clone());
                world.is_look_due = false;
                let again = world.look().0;
                let shoot = matches!(&world.target, Target::Shoot { uid, .. } if uid == "other");
                prop_assert!(again.is_empty() || again == ["leave"] || shoot, "{:?} after {:?}", again, steps);
                prop_assert!(shoot || (status, secret) == (world.request.status.clone(), world.secret.clone()));
            }
        }
        // It ends when the cluster is gone, whatever it was in the middle of.
        let is_held = world.request.metadata.finalizers.is_some();
        world.delete();
        world.target = Target::NoCluster { name: "Cluster n/c".to_owned() };
        let steps = world.look().0;
        prop_assert_eq!(steps, if is_held { ["let go"] } else { ["leave"] });
    }
}
