//! One run: processes, gardenlets and people on one stage, in one order.

use super::{calm, garden, people, rest, staff};
use crate::stage::{
    dice::dice_for,
    script::{Action, Script},
    world::World,
};
use allotment_core::check::{Astray, Violation};
use allotment_operator::openmcp::process::Controllers;
use futures::future::{pending, poll_fn};
use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Sleep, sleep, sleep_until};

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

type Actor = Pin<Box<dyn Future<Output = ()>>>;

/// Everything is one task, and its parts are asked in one order.
pub(crate) async fn perform(world: &Arc<World>, script: &Script) {
    let count = world.realm.as_ref().map_or(0, |realm| realm.instances.len());
    let cast = RefCell::new((0..count).map(Process::new).collect::<Vec<_>>());
    let mut play = Box::pin(play(world, script, &cast));
    let mut gardenlets: Actor = Box::pin(garden::tend(world.clone()));
    poll_fn(|context| {
        let played = play.as_mut().poll(context);
        let pauses = std::mem::take(&mut world.state().pauses);
        for process in cast.borrow_mut().iter_mut() {
            let index = process.index;
            for (_, time) in pauses.iter().filter(|(paused, _)| *paused == index) {
                process.pause(world, *time);
            }
            process.poll(world, context);
        }
        // They never end.
        let _ = gardenlets.as_mut().poll(context);
        // The first violation says it all; what follows from it would only hide it.
        if world.state().found.is_empty() { played } else { Poll::Ready(()) }
    })
    .await;
}

async fn play(world: &Arc<World>, script: &Script, cast: &RefCell<Vec<Process>>) {
    let mut actions = script.actions.clone();
    actions.sort_by_key(|(at, _)| *at);
    let (calm, count) = (script.options.calm, cast.borrow().len());
    for (at, action) in actions.iter().filter(|(at, _)| *at < calm) {
        sleep_until(world.instant(*at)).await;
        world.tell(|| format!("people: {action:?}"));
        match action {
            Action::Openmcp(deed) => people::act(world, deed),
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

async fn comes_to_rest(world: &World, cast: &RefCell<Vec<Process>>) -> bool {
    let end = world.millis() + REST_WITHIN;
    let (mut since, mut last) = (None, 0);
    loop {
        sleep(Duration::from_millis(LOOK)).await;
        let busy = calm::look(world);
        let (now, found) = (world.millis(), rest::at_rest(world));
        let awake = cast.borrow().iter().all(|process| process.rest.is_none());
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

async fn stays_at_rest(world: &World, cast: &RefCell<Vec<Process>>) {
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

/// The process of a provider.
struct Process {
    index: usize,
    /// How often it was started.
    starts: u64,
    controllers: Option<Controllers>,
    life: Option<Actor>,
    /// Until when it does not run.
    rest: Option<Pin<Box<Sleep>>>,
}

impl Process {
    fn new(index: usize) -> Self {
        Self { index, starts: 0, controllers: None, life: None, rest: None }
    }

    fn pause(&mut self, world: &World, time: u64) {
        let index = self.index;
        if self.life.is_some() && self.rest.is_none() {
            world.tell(|| format!("process {index} stands still for {time}"));
            self.rest = Some(Box::pin(sleep(Duration::from_millis(time))));
        }
    }

    fn poll(&mut self, world: &Arc<World>, context: &mut Context<'_>) {
        loop {
            if world.is_crashed(self.index) {
                self.end(world);
            }
            if let Some(rest) = &mut self.rest {
                if rest.as_mut().poll(context).is_pending() {
                    return;
                }
                self.rest = None;
            }
            if self.life.is_none() {
                self.begin(world);
            }
            let Some(life) = &mut self.life else { return };
            let ended = life.as_mut().poll(context).is_ready();
            if ended {
                world.crash(self.index);
            }
            if !world.is_crashed(self.index) {
                return;
            }
        }
    }

    fn begin(&mut self, world: &Arc<World>) {
        let (process, starts) = (self.index, self.starts);
        world.tell(|| format!("process {process} starts"));
        let identity = if world.options.same_name {
            format!("process-{process}")
        } else {
            format!("process-{process}-{starts}")
        };
        self.starts += 1;
        let Some(controllers) = staff::start(world, process, identity) else { return };
        self.controllers = Some(controllers.clone());
        self.life = Some(Box::pin(async move { controllers.run_until(pending()).await }));
    }

    /// The process has ended; another one is started after a while.
    fn end(&mut self, world: &World) {
        self.life = None;
        self.controllers = None;
        world.state().crashed[self.index] = false;
        let who = self.index.to_string();
        let wait = dice_for(world.options.seed, &["start", &who], self.starts).between(100, 20_000);
        self.rest = Some(Box::pin(sleep(Duration::from_millis(wait))));
    }

    /// Looks at everything again, also inside Shoots.
    fn resync(&self) {
        let Some(Controllers { landscapes: _, provider, access, generic, scheduler }) = &self.controllers
        else {
            return;
        };
        provider.iter().for_each(|it| it.resync());
        access.iter().for_each(|it| it.look_into_all());
        generic.iter().for_each(|it| it.resync());
        scheduler.iter().for_each(|it| it.resync());
    }
}
