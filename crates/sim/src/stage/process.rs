//! A process: it starts, stands still, ends, and is started again.

use super::{dice::dice_for, world::World};
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Sleep, sleep};

/// Something that goes on for as long as it is asked.
pub(crate) type Actor = Pin<Box<dyn Future<Output = ()>>>;

/// What runs in a process.
pub(crate) trait Crew: Default {
    /// How its processes are called.
    const NAME: &'static str;

    /// Starts all of it; none: it cannot be started yet.
    fn begin(&mut self, world: &Arc<World>, index: usize, identity: String) -> Option<Actor>;

    /// It is about to go on.
    fn wake(&mut self, _: &World) {}

    /// Looks at everything again.
    fn resync(&self);
}

/// A process, and what runs in it.
pub(crate) struct Process<C> {
    index: usize,
    /// How often it was started.
    starts: u64,
    crew: C,
    life: Option<Actor>,
    /// Until when it does not run.
    rest: Option<Pin<Box<Sleep>>>,
}

impl<C: Crew> Process<C> {
    pub(crate) fn new(index: usize) -> Self {
        Self { index, starts: 0, crew: C::default(), life: None, rest: None }
    }

    pub(crate) fn is_awake(&self) -> bool {
        self.rest.is_none()
    }

    pub(crate) fn resync(&self) {
        self.crew.resync();
    }

    /// Lets it run as far as it can, after it was stopped as often as somebody said.
    pub(crate) fn poll(&mut self, world: &Arc<World>, pauses: &[(usize, u64)], context: &mut Context<'_>) {
        let index = self.index;
        for (_, time) in pauses.iter().filter(|(paused, _)| *paused == index) {
            self.pause(world, *time);
        }
        while let Poll::Ready(()) = self.go_on(world, context) {}
    }

    fn pause(&mut self, world: &World, time: u64) {
        if self.life.is_some() && self.rest.is_none() {
            world.tell(|| format!("{} {} stands still for {time}", C::NAME, self.index));
            self.rest = Some(Box::pin(sleep(Duration::from_millis(time))));
        }
    }

    /// Ready if it has ended, and may begin anew at once.
    fn go_on(&mut self, world: &Arc<World>, context: &mut Context<'_>) -> Poll<()> {
        if world.is_crashed(self.index) {
            self.end(world);
        }
        if let Some(rest) = &mut self.rest {
            if rest.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.rest = None;
        }
        if self.life.is_none() {
            self.begin(world);
        }
        self.crew.wake(world);
        let Some(life) = &mut self.life else { return Poll::Pending };
        if life.as_mut().poll(context).is_ready() {
            world.crash(self.index);
        }
        if world.is_crashed(self.index) { Poll::Ready(()) } else { Poll::Pending }
    }

    fn begin(&mut self, world: &Arc<World>) {
        let (name, index, starts) = (C::NAME, self.index, self.starts);
        world.tell(|| format!("{name} {index} starts"));
        let identity = match world.options.same_name {
            true => format!("{name}-{index}"),
            false => format!("{name}-{index}-{starts}"),
        };
        self.starts += 1;
        self.life = self.crew.begin(world, index, identity);
    }

    /// The process has ended; another one is started after a while.
    fn end(&mut self, world: &World) {
        self.life = None;
        self.crew = C::default();
        world.state().crashed[self.index] = false;
        let who = self.index.to_string();
        let wait = dice_for(world.options.seed, &["start", &who], self.starts).between(100, 20_000);
        self.rest = Some(Box::pin(sleep(Duration::from_millis(wait))));
    }
}
