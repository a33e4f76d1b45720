//! One run: processes, gardenlets and people on one stage, in one order.

use super::{calm, garden, people, rest, staff};
use crate::stage::{
    edit,
    process::{Actor, Crew, Process},
    script::{Action, Script},
    world::World,
};
use allotment_core::check::{Astray, Violation};
use allotment_operator::openmcp::process::Controllers;
use futures::future::{pending, poll_fn};
use std::{cell::RefCell, future::Future, sync::Arc, task::Poll, time::Duration};
use tokio::time::{sleep, sleep_until};

/// How often people look at what they have to do.
const LOOK: u64 = 250;

/// Once nothing goes wrong any more, everything has come to rest after this time. The longest that may have to run out first
/// are a watch that stalls (290 s), and five minutes after a refusal or for what the watch did not tell.
const REST_WITHIN: u64 = 1_200_000;

/// It is at rest when it has been so for this long: what fails is tried again after half a minute at the latest, and what is
/// being deleted is looked at every minute.
const AT_REST: u64 = 70_000;

/// After a resync nothing may be written for this long.
const QUIET: u64 = 75_000;

type Cast = RefCell<Vec<Process<Provider>>>;

/// Everything is one task, and its parts are asked in one order.
pub(crate) async fn perform(world: &Arc<World>, script: &Script) {
    let count = world.realm.as_ref().map_or(0, |realm| realm.instances.len());
    let cast: Cast = RefCell::new((0..count).map(Process::new).collect());
    let mut play = Box::pin(play(world, script, &cast));
    let mut gardenlets: Actor = Box::pin(garden::tend(world.clone()));
    poll_fn(|context| {
        let played = play.as_mut().poll(context);
        let pauses = std::mem::take(&mut world.state().pauses);
        for process in cast.borrow_mut().iter_mut() {
            process.poll(world, &pauses, context);
        }
        // They never end.
        let _ = gardenlets.as_mut().poll(context);
        // The first violation says it all; what follows from it would only hide it.
        if world.state().found.is_empty() { played } else { Poll::Ready(()) }
    })
    .await;
}

async fn play(world: &Arc<World>, script: &Script, cast: &Cast) {
    let mut actions = script.actions.clone();
    actions.sort_by_key(|(at, _)| *at);
    let (calm, count) = (script.options.calm, cast.borrow().len());
    for (at, action) in actions.iter().filter(|(at, _)| *at < calm) {
        sleep_until(world.instant(*at)).await;
        world.tell(|| format!("people: {action:?}"));
        match action {
            Action::Openmcp(deed) => people::act(world, deed),
            Action::Edit(change) => edit::act(world, change),
            Action::Pause { replica, time } if *replica < count => {
                world.state().pauses.push((*replica, *time));
            }
            Action::Kill { replica } if *replica < count => world.crash(*replica),
            // The others are of other plays.
            _ => (),
        }
    }
    sleep_until(world.instant(calm)).await;
    world.tell(|| "calm".to_owned());
    world.state().calm = true;
    if !comes_to_rest(world, cast).await {
        return;
    }
    world.tell(|| "at rest".to_owned());
    stays_at_rest(world, cast).await;
}

async fn comes_to_rest(world: &World, cast: &Cast) -> bool {
    let end = world.millis() + REST_WITHIN;
    let (mut since, mut last) = (None, 0);
    loop {
        sleep(Duration::from_millis(LOOK)).await;
        let busy = calm::look(world);
        let (now, found) = (world.millis(), rest::at_rest(world));
        let awake = cast.borrow().iter().all(Process::is_awake);
        let writes = world.state().server_writes;
        let rests = found.is_empty() && awake && !busy && writes == last;
        last = writes;
        since = if rests { Some(since.unwrap_or(now)) } else { None };
        if since.is_some_and(|since| now >= since + AT_REST) {
            return true;
        }
        if now > end {
            let why = format!("awake {awake}, people busy {busy}, {writes} writes");
            let found = if found.is_empty() { vec![Astray::Restless(why)] } else { found };
            world.found(found.into_iter().map(Violation::from).collect());
            return false;
        }
    }
}

async fn stays_at_rest(world: &World, cast: &Cast) {
    let before = world.state().server_writes;
    for process in cast.borrow().iter() {
        process.resync();
    }
    sleep(Duration::from_millis(QUIET)).await;
    let writes = world.state().server_writes - before;
    if writes > 0 {
        let why = format!("a resync wrote {writes} times");
        world.found(vec![Astray::Restless(why).into()]);
    }
    world.found(rest::at_rest(world).into_iter().map(Violation::from).collect());
}

/// The controllers of a process.
#[derive(Default)]
struct Provider(Option<Controllers>);

impl Crew for Provider {
    const NAME: &'static str = "process";

    fn begin(&mut self, world: &Arc<World>, process: usize, identity: String) -> Option<Actor> {
        let controllers = staff::start(world, process, identity)?;
        self.0 = Some(controllers.clone());
        Some(Box::pin(async move { controllers.run_until(pending()).await }))
    }

    /// Also inside Shoots.
    fn resync(&self) {
        let Some(Controllers { landscapes: _, provider, access, generic, scheduler }) = &self.0 else {
            return;
        };
        provider.iter().for_each(|it| it.resync());
        access.iter().for_each(|it| it.look_into_all());
        generic.iter().for_each(|it| it.resync());
        scheduler.iter().for_each(|it| it.resync());
    }
}
