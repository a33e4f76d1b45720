//! How fast what nobody asked for is rolled out: a changed configuration, a new CloudProfile, a new version of ourselves.

use super::ClusterName;
use std::{collections::BTreeMap, time::Duration};
use tokio::time::Instant;

/// Turns, so many a minute, evenly. Whoever has to wait gets a time of their own, so that nobody is woken in vain.
#[derive(Debug, Default)]
pub(super) struct Rollout {
    turns: BTreeMap<ClusterName, Instant>,
    next: Option<Instant>,
}

impl Rollout {
    /// Whether it is this one's turn.
    pub(super) fn has_turn(&self, name: &ClusterName, now: Instant) -> bool {
        let turn = self.turns.get(name).copied().or(self.next);
        turn.is_none_or(|turn| turn <= now)
    }

    /// Takes the turn, if it is this one's.
    pub(super) fn take(&mut self, name: &ClusterName, per_minute: u32, now: Instant) -> bool {
        let has_turn = self.has_turn(name, now);
        if has_turn && self.turns.remove(name).is_none() {
            self.next = Some(now + interval(per_minute));
        }
        has_turn
    }

    /// Waits for a turn, and says for how long.
    pub(super) fn queue(&mut self, name: &ClusterName, per_minute: u32, now: Instant) -> Duration {
        if let Some(turn) = self.turns.get(name) {
            return turn.saturating_duration_since(now);
        }
        let turn = self.free(now);
        self.next = Some(turn + interval(per_minute));
        self.turns.insert(name.clone(), turn);
        turn.saturating_duration_since(now)
    }

    pub(super) fn forget(&mut self, name: &ClusterName) {
        self.turns.remove(name);
    }

    fn free(&self, now: Instant) -> Instant {
        self.next.map_or(now, |next| next.max(now))
    }
}

fn interval(per_minute: u32) -> Duration {
    Duration::from_mins(1) / per_minute.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn turns_come_evenly_and_in_order() {
        let name = |name: &str| ClusterName { namespace: String::new(), name: name.to_owned() };
        let (a, b, c) = (name("a"), name("b"), name("c"));
        let mut rollout = Rollout::default();
        assert!(rollout.has_turn(&a, Instant::now()));
        assert!(rollout.take(&a, 6, Instant::now()));
        assert!(!rollout.take(&b, 6, Instant::now()));
        assert!(!rollout.has_turn(&b, Instant::now()));
        assert_eq!(rollout.queue(&b, 6, Instant::now()), Duration::from_secs(10));
        assert_eq!(rollout.queue(&c, 6, Instant::now()), Duration::from_secs(20));
        assert_eq!(rollout.queue(&b, 6, Instant::now()), Duration::from_secs(10), "its own");
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(rollout.has_turn(&b, Instant::now()) && !rollout.has_turn(&c, Instant::now()));
        assert!(rollout.take(&b, 6, Instant::now()));
        tokio::time::advance(Duration::from_secs(20)).await;
        assert!(rollout.take(&c, 6, Instant::now()));
        assert!(rollout.has_turn(&a, Instant::now()));
    }
}
