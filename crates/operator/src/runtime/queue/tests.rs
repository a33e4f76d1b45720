//! What the queue promises.

use super::{fair::FairKey, *};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

fn everybody<T>(_: &T) -> FairKey {
    FairKey::Everybody
}

#[tokio::test(start_paused = true)]
async fn tasks_come_in_order_and_once() {
    let queue = Queue::new();
    queue.add_after("later", Duration::from_secs(5));
    queue.add("b");
    queue.add("a");
    queue.add("b");
    assert_eq!(queue.next(everybody).await, "b");
    assert_eq!(queue.next(everybody).await, "a");
    let started = Instant::now();
    assert_eq!(queue.next(everybody).await, "later");
    assert_eq!(started.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn what_is_added_while_it_runs_runs_again() {
    let queue = Queue::new();
    queue.add(1);
    let task = queue.next(everybody).await;
    queue.add(1);
    assert!(!queue.is_idle_until(Instant::now()) && queue.is_running(&1) && !queue.is_running(&2));
    queue.finish(&task, Outcome::Done);
    assert_eq!(queue.next(everybody).await, 1);
    queue.finish(&1, Outcome::Done);
    assert!(queue.is_empty() && queue.is_idle_until(Instant::now()));
}

#[tokio::test(start_paused = true)]
async fn failures_wait_longer_and_longer_up_to_a_cap() {
    let queue = Queue::new();
    queue.add(1);
    let mut waits = Vec::new();
    for _ in 0..12 {
        let started = Instant::now();
        let task = queue.next(everybody).await;
        waits.push(started.elapsed().as_millis());
        queue.finish(&task, Outcome::Failed);
    }
    assert_eq!(waits[..4], [0, 200, 400, 800]);
    assert_eq!(waits[11], 30_000);
}

#[tokio::test(start_paused = true)]
async fn an_earlier_date_wins() {
    let queue = Queue::new();
    queue.add_after(1, Duration::from_secs(60));
    queue.add_after(1, Duration::from_secs(1));
    queue.add_after(1, Duration::from_secs(90));
    let started = Instant::now();
    queue.next(everybody).await;
    assert_eq!(started.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_workers_share_what_comes_at_once() {
    let queue = std::sync::Arc::new(Queue::new());
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.next(everybody).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    queue.add(1);
    queue.add(2);
    let mut got = Vec::new();
    for worker in workers {
        got.push(worker.await.unwrap());
    }
    got.sort_unstable();
    assert_eq!(got, [1, 2]);
}

fn whose(task: &(&'static str, u32)) -> FairKey {
    match task.0 {
        "" => FairKey::Everybody,
        namespace => FairKey::namespace(namespace),
    }
}

#[tokio::test(start_paused = true)]
async fn thousands_of_tasks_of_one_namespace_delay_another_by_a_handful() {
    let queue = Queue::new();
    (0..3_000).for_each(|number| queue.add(("loud", number)));
    assert_eq!(queue.next(whose).await, ("loud", 0));
    queue.add(("quiet", 0));
    queue.add(("", 0));
    let next = [queue.next(whose).await, queue.next(whose).await, queue.next(whose).await];
    assert_eq!(next, [("", 0), ("loud", 1), ("quiet", 0)]);
}

#[tokio::test(start_paused = true)]
async fn our_own_work_takes_every_other_turn() {
    let queue = Queue::new();
    for number in 0..3 {
        queue.add(("", number));
        queue.add(("a", number));
        queue.add(("b", number));
    }
    let mut order = Vec::new();
    for _ in 0..9 {
        order.push(queue.next(whose).await.0);
    }
    assert_eq!(order, ["", "a", "", "b", "", "a", "b", "a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_forgotten_while_its_key_is_asked_for_stays_forgotten() {
    let queue = Queue::new();
    queue.add(1);
    let forgetting = |_: &i32| {
        queue.clear();
        FairKey::Everybody
    };
    let next = tokio::time::timeout(Duration::from_secs(1), queue.next(forgetting)).await;
    assert!(next.is_err() && queue.is_empty() && queue.is_idle_until(Instant::now()));
    queue.add(1);
    assert_eq!(queue.next(everybody).await, 1);
}

/// A queue that is a list: what is due waits in the order in which it came due, and each turn goes to the key whose last turn
/// is longest ago.
#[derive(Default)]
struct Naive {
    later: Vec<(u64, u64, u32)>,
    ready: Vec<u32>,
    running: BTreeSet<u32>,
    again: BTreeSet<u32>,
    turns: VecDeque<u32>,
    numbers: u64,
}

impl Naive {
    fn add(&mut self, task: u32, due: u64) {
        if self.running.contains(&task) {
            self.again.insert(task);
            return;
        }
        if self.ready.contains(&task) {
            return;
        }
        if let Some(index) = self.later.iter().position(|(_, _, known)| *known == task) {
            if self.later[index].0 <= due {
                return;
            }
            self.later.remove(index);
        }
        self.later.push((due, self.numbers, task));
        self.numbers += 1;
    }

    fn next(&mut self, now: u64) -> Option<u32> {
        self.later.sort_unstable();
        while let Some((_, _, task)) = self.later.first().copied().filter(|(due, _, _)| *due <= now) {
            self.later.remove(0);
            self.ready.push(task);
            if !self.turns.contains(&(task % 3)) {
                self.turns.push_back(task % 3);
            }
        }
        let key = self.turns.pop_front()?;
        let index = self.ready.iter().position(|task| task % 3 == key)?;
        let task = self.ready.remove(index);
        if self.ready.iter().any(|task| task % 3 == key) {
            self.turns.push_back(key);
        }
        self.running.insert(task);
        Some(task)
    }

    fn finish(&mut self, task: u32, wait: Option<u64>, now: u64) {
        self.running.remove(&task);
        let wait = if self.again.remove(&task) { Some(0) } else { wait };
        if let Some(wait) = wait {
            self.add(task, now + wait);
        }
    }
}

#[derive(Clone, Debug)]
enum Doing {
    Add(u32, u64),
    Next,
    Finish(usize, Option<u64>),
    Wait(u64),
}

fn doings() -> impl Strategy<Value = Doing> {
    prop_oneof![
        4 => (0..12_u32, 0..5_u64).prop_map(|(task, wait)| Doing::Add(task, wait)),
        4 => Just(Doing::Next),
        3 => (any::<usize>(), prop::option::of(1..5_u64)).prop_map(|(which, wait)| Doing::Finish(which, wait)),
        2 => (1..4_u64).prop_map(Doing::Wait),
    ]
}

proptest! {
    #[test]
    fn the_queue_agrees_with_a_naive_one(doings in prop::collection::vec(doings(), 1..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
        runtime.block_on(async {
            let key = |task: &u32| FairKey::namespace(&(task % 3).to_string());
            let (queue, mut naive, start) = (Queue::new(), Naive::default(), Instant::now());
            let mut running: Vec<u32> = Vec::new();
            for doing in doings {
                let now = start.elapsed().as_secs();
                match doing {
                    Doing::Add(task, wait) => {
                        queue.add_after(task, Duration::from_secs(wait));
                        naive.add(task, now + wait);
                    }
                    Doing::Next => {
                        let taken = queue.take(&key).ok();
                        prop_assert_eq!(taken, naive.next(now));
                        running.extend(taken);
                    }
                    Doing::Finish(which, wait) if !running.is_empty() => {
                        let task = running.remove(which % running.len());
                        let outcome = wait.map_or(Outcome::Done, |wait| Outcome::After(Duration::from_secs(wait)));
                        queue.finish(&task, outcome);
                        naive.finish(task, wait, now);
                    }
                    Doing::Finish(..) => (),
                    Doing::Wait(wait) => tokio::time::advance(Duration::from_secs(wait)).await,
                }
                let is_idle = running.is_empty() && naive.ready.is_empty()
                    && naive.later.iter().all(|(due, _, _)| *due > start.elapsed().as_secs());
                prop_assert_eq!(queue.is_idle_until(Instant::now()), is_idle);
                prop_assert_eq!(queue.len(), naive.later.len() + naive.ready.len());
            }
            Ok(())
        })?;
    }
}
