//! How fast calls are made: per account, place, and read or write.

use allotment_core::cleanup::Place;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// Whether a call changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It lists or reads. It may be repeated.
    Read,
    /// It deletes or changes. It is repeated only if the cloud did not accept it.
    Write,
}

/// Calls per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Of reads.
    pub reads: f64,
    /// Of writes.
    pub writes: f64,
}

impl Default for Rates {
    /// Half of the bucket that EC2 refills per second for describe calls, and as many writes as it allows for the rarer ones.
    fn default() -> Self {
        Self { reads: 10.0, writes: 5.0 }
    }
}

/// One limiter for all accounts of a process.
#[derive(Debug)]
pub struct RateLimiter {
    rates: Rates,
    buckets: Mutex<BTreeMap<(String, Place, Access), Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Calls per second, now.
    rate: f64,
    /// When the next call is due if all were evenly spaced.
    due: Instant,
    /// When the rate was changed last.
    changed: Option<Instant>,
}

impl Bucket {
    fn unchanged_for(&self, time: Duration, now: Instant) -> bool {
        self.changed.is_none_or(|changed| now.duration_since(changed) >= time)
    }
}

/// So many calls may be made at once after a pause.
const BURST: f64 = 5.0;

/// Below this, an account would not be listed within hours.
const SLOWEST: f64 = 0.5;

/// After so long without throttling the rate doubles, up to where it began.
const RECOVERY: Duration = Duration::from_secs(30);

impl RateLimiter {
    /// With these rates.
    pub fn new(rates: Rates) -> Self {
        Self { rates, buckets: Mutex::default() }
    }

    /// Waits for a turn.
    pub async fn turn(&self, account: &str, place: &Place, access: Access) {
        let at = self.with(account, place, access, |bucket, full| {
            let now = Instant::now();
            if bucket.rate < full && bucket.unchanged_for(RECOVERY, now) {
                (bucket.rate, bucket.changed) = ((bucket.rate * 2.0).min(full), Some(now));
            }
            let spacing = Duration::from_secs_f64(1.0 / bucket.rate);
            let earliest = now.checked_sub(spacing.mul_f64(BURST - 1.0)).unwrap_or(now);
            let due = bucket.due.max(earliest);
            bucket.due = due + spacing;
            due
        });
        sleep_until(at).await;
    }

    /// The cloud throttled: half as fast from now on. Several refusals of calls that were under way count once.
    pub fn throttled(&self, account: &str, place: &Place, access: Access) {
        self.with(account, place, access, |bucket, _| {
            let now = Instant::now();
            if bucket.unchanged_for(Duration::from_secs(1), now) {
                (bucket.rate, bucket.changed) = ((bucket.rate / 2.0).max(SLOWEST), Some(now));
            }
            bucket.due = bucket.due.max(now);
        });
    }

    /// Calls per second, now.
    pub fn rate(&self, account: &str, place: &Place, access: Access) -> f64 {
        self.with(account, place, access, |bucket, _| bucket.rate)
    }

    fn with<T>(
        &self,
        account: &str,
        place: &Place,
        access: Access,
        act: impl FnOnce(&mut Bucket, f64) -> T,
    ) -> T {
        let full = match access {
            Access::Read => self.rates.reads,
            Access::Write => self.rates.writes,
        };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry((account.to_owned(), place.clone(), access)).or_insert_with(|| {
            let now = Instant::now();
            Bucket { rate: full, due: now, changed: None }
        });
        act(bucket, full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EU: Place = Place::of("eu-1");

    #[tokio::test(start_paused = true)]
    async fn calls_are_spaced_and_throttling_halves() {
        let limiter = RateLimiter::new(Rates { reads: 10.0, writes: 5.0 });
        let began = Instant::now();
        for _ in 0..30 {
            limiter.turn("a", &EU, Access::Read).await;
        }
        let taken = began.elapsed().as_secs_f64();
        assert!((2.4..3.0).contains(&taken), "{taken}");
        limiter.throttled("a", &EU, Access::Read);
        limiter.throttled("a", &EU, Access::Read);
        assert!((limiter.rate("a", &EU, Access::Read) - 5.0).abs() < 0.01, "once for calls under way");
        assert!((limiter.rate("a", &EU, Access::Write) - 5.0).abs() < 0.01);
        assert!((limiter.rate("b", &EU, Access::Read) - 10.0).abs() < 0.01, "another account");
        tokio::time::advance(Duration::from_secs(31)).await;
        limiter.turn("a", &EU, Access::Read).await;
        assert!((limiter.rate("a", &EU, Access::Read) - 10.0).abs() < 0.01, "it recovers");
        for _ in 0..20 {
            tokio::time::advance(Duration::from_secs(2)).await;
            limiter.throttled("a", &EU, Access::Read);
        }
        assert!((limiter.rate("a", &EU, Access::Read) - SLOWEST).abs() < 0.01);
    }
}
