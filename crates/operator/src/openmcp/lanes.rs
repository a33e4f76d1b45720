//! A queue of work for each landscape. A garden that hangs keeps the workers of its own lane busy, and nobody else's.

use crate::{
    metrics::Metrics,
    runtime::{
        queue::{Outcome, Queue, fair::FairKey},
        report::NoObjects,
        work::{Obstacle, Worker, work_alone},
    },
};
use futures::{StreamExt, stream::FuturesUnordered};
use std::{
    collections::BTreeMap,
    fmt::Display,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::watch, time::Instant};

/// Queues, by lane. A lane is there as soon as something is added to it.
#[derive(Debug)]
pub struct Lanes<T> {
    queues: Mutex<BTreeMap<String, Arc<Queue<T>>>>,
    count: watch::Sender<usize>,
}

impl<T: Ord + Clone + Display + Sync> Lanes<T> {
    /// Nothing to do.
    pub fn new() -> Self {
        Self { queues: Mutex::default(), count: watch::channel(0).0 }
    }

    /// To be looked at now, in this lane.
    pub fn add(&self, lane: &str, task: T) {
        let queue = {
            let mut queues = self.queues();
            match queues.get(lane) {
                Some(queue) => queue.clone(),
                None => {
                    let queue = Arc::new(Queue::new());
                    queues.insert(lane.to_owned(), queue.clone());
                    self.count.send_replace(queues.len());
                    queue
                }
            }
        };
        queue.add(task);
    }

    /// Forgets everything that is to be done.
    pub fn clear(&self) {
        self.queues().values().for_each(|queue| queue.clear());
    }

    /// Whether nothing runs, and nothing is due before this moment.
    pub fn is_idle_until(&self, moment: Instant) -> bool {
        self.queues().values().all(|queue| queue.is_idle_until(moment))
    }

    /// Works for ever, with so many workers in each lane.
    pub async fn work<E: Obstacle, F: Future<Output = Result<Outcome, E>>>(
        &self,
        workers: usize,
        metrics: &Metrics,
        controller: &'static str,
        key: impl Fn(&T) -> FairKey,
        look: impl Fn(T) -> F,
    ) {
        let (mut count, key, look) = (self.count.subscribe(), &key, &look);
        // The kinds of openMCP have conditions of their own for what fails in a garden.
        let worker = &Worker { metrics, controller, reporter: &NoObjects };
        let mut served: BTreeMap<String, Arc<Queue<T>>> = BTreeMap::new();
        let mut working = FuturesUnordered::new();
        loop {
            let new: Vec<(String, Arc<Queue<T>>)> = {
                let queues = self.queues();
                let new = queues.iter().filter(|(lane, _)| !served.contains_key(*lane));
                new.map(|(lane, queue)| (lane.clone(), queue.clone())).collect()
            };
            for (lane, queue) in new {
                for _ in 0..workers.max(1) {
                    let queue = queue.clone();
                    working.push(Box::pin(async move {
                        work_alone(&queue, worker, key, look).await;
                    }));
                }
                served.insert(lane, queue);
            }
            tokio::select! {
                biased;
                // The sender lives as long as we do.
                _ = count.changed() => (),
                Some(()) = working.next() => (),
            }
        }
    }

    fn queues(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Queue<T>>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Ord + Clone + Display + Sync> Default for Lanes<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::pending;
    use std::time::Duration;
    use tokio::{sync::mpsc, time::timeout};

    #[derive(Debug, thiserror::Error)]
    #[error("never")]
    struct Never;

    impl Obstacle for Never {
        fn category(&self) -> &'static str {
            "never"
        }

        fn outcome(&self) -> Outcome {
            Outcome::Failed
        }
    }

    #[tokio::test(start_paused = true)]
    async fn g9_a_lane_that_hangs_holds_up_no_other() {
        let (lanes, metrics) = (Lanes::new(), Metrics::new());
        let (tell, mut told) = mpsc::unbounded_channel();
        let looking = lanes.work(
            2,
            &metrics,
            "test",
            |_| FairKey::Everybody,
            |task: u32| {
                let tell = tell.clone();
                async move {
                    if task < 100 {
                        return pending().await;
                    }
                    tell.send(task).unwrap();
                    Ok::<_, Never>(Outcome::Done)
                }
            },
        );
        (0..10).for_each(|task| lanes.add("bad", task));
        let asking = async {
            lanes.add("good", 100);
            assert_eq!(told.recv().await, Some(100));
            lanes.add("new", 101);
            assert_eq!(told.recv().await, Some(101));
        };
        tokio::select! {
            () = looking => panic!("it works for ever"),
            asked = timeout(Duration::from_secs(5), asking) => asked.unwrap(),
        }
    }
}
