//! The processes of a second installation, and of the person who rebuilds.

use super::{PERSON, SECOND, Second};
use crate::stage::{
    call::{Role, Side},
    eyes::now,
    process::{Actor, Crew, Process},
    run,
    wire::Wire,
    world::{NAMESPACE, World},
};
use allotment_core::check::Violation;
use allotment_operator::{
    ledger::{Ledger, Place},
    runtime::controller::Controller as _,
    subscription::Operator,
};
use http::Method;
use serde_json::json;
use std::{
    sync::Arc,
    task::{Context, Poll},
};

/// Where the second installation has its Lease: beside ours, both lead.
const ELSEWHERE: &str = "elsewhere";

/// A second installation begins, with a ledger of its own.
pub(super) fn begin(world: &World, copy: bool, time: u64) {
    if world.state().past.second.is_some() {
        return;
    }
    let ledger = if copy {
        now(world.ledger.copy_in_memory())
    } else {
        let place = Place { garden: "sim".to_owned(), project: super::super::world::GARDEN.to_owned() };
        now(Ledger::open_as("sqlite::memory:", place, "00000000-0000-4000-8000-000000000001"))
    };
    let ledger = match ledger {
        Ok(ledger) => ledger,
        Err(error) => return world.found(vec![Violation::Untold(error.to_string())]),
    };
    let ledger = match world.planted {
        Some(fault) => ledger.plant(fault),
        None => ledger,
    };
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": ELSEWHERE } });
    // It may be there from the last time.
    world.ask(Side::ControlPlane, Method::POST, "/api/v1/namespaces", Some(&namespace));
    let until = world.millis() + time;
    let mut state = world.state();
    state.past.was_lost = true;
    state.past.lost_in = None;
    state.eyes.scene.lost = true;
    state.past.second = Some(Second { ledger, control_plane: None, until });
}

/// An operator with our ledger serves a control plane that has no requests. Nothing may come of it.
pub(super) fn begin_elsewhere(world: &World, time: u64) {
    if world.state().past.second.is_some() {
        return;
    }
    match world.another_control_plane(ELSEWHERE) {
        Ok(control_plane) => {
            let (ledger, until) = (world.ledger.clone(), world.millis() + time);
            world.state().past.second = Some(Second { ledger, control_plane: Some(control_plane), until });
        }
        Err(error) => world.found(vec![Violation::Untold(error.to_string())]),
    }
}

/// Whoever is there beside the operators.
#[derive(Default)]
pub(crate) struct Troupe {
    second: Option<Process<Elsewhere>>,
    person: Option<Actor>,
}

impl Troupe {
    /// Lets them run as far as they can.
    pub(crate) fn poll(&mut self, world: &Arc<World>, context: &mut Context<'_>) {
        let (has_second, rebuilds) = {
            let past = &world.state().past;
            (past.second.is_some(), past.rebuilds)
        };
        if has_second {
            self.second.get_or_insert_with(|| Process::new(SECOND)).poll(world, &[], context);
        } else {
            self.second = None;
        }
        if !rebuilds {
            return;
        }
        let person = self.person.get_or_insert_with(|| rebuild(world));
        if let Poll::Ready(()) = person.as_mut().poll(context) {
            self.person = None;
            world.state().past.rebuilds = false;
        }
    }
}

/// `allotment ledger rebuild`.
fn rebuild(world: &Arc<World>) -> Actor {
    let identity = format!("person-{}", world.state().past.rebuilt);
    let wire = Wire::new(world, Side::ControlPlane, Role::Subscription, PERSON);
    let operator = run::start(world, wire, identity, &world.ledger, NAMESPACE);
    let world = world.clone();
    Box::pin(async move {
        let result = operator.rebuild().await;
        world.tell(|| format!("a person has rebuilt the ledger: {result:?}"));
    })
}

#[derive(Default)]
struct Elsewhere(Option<Operator>);

impl Crew for Elsewhere {
    const NAME: &'static str = "second";

    fn begin(&mut self, world: &Arc<World>, replica: usize, identity: String) -> Option<Actor> {
        let (ledger, control_plane) = {
            let state = world.state();
            let Second { ledger, control_plane, until: _ } = state.past.second.as_ref()?;
            (ledger.clone(), control_plane.clone())
        };
        let wire = Wire::new(world, Side::ControlPlane, Role::Subscription, replica);
        let wire = match control_plane {
            Some(server) => wire.with_server(server),
            None => wire,
        };
        let operator = run::start(world, wire, identity, &ledger, ELSEWHERE);
        self.0 = Some(operator.clone());
        Some(Box::pin(async move { operator.run().await }))
    }

    fn resync(&self) {
        if let Some(operator) = &self.0 {
            operator.resync();
        }
    }
}
