//! Which failed calls are made again.

use super::{Access, RateLimiter};
use crate::Refusal;
use allotment_core::cleanup::Place;
use futures::future::BoxFuture;
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;

/// How often, and how fast.
#[derive(Clone, Debug)]
pub struct Retries {
    /// The limiter of all accounts.
    pub limiter: Arc<RateLimiter>,
    /// The account, for the limiter: not a secret.
    pub account: String,
    /// Attempts in all.
    pub attempts: u32,
    /// The first pause; it doubles.
    pub pause: Duration,
}

/// The longest pause that a cloud can ask for.
const LONGEST: Duration = Duration::from_secs(30);

impl Retries {
    /// For an account.
    pub fn new(limiter: Arc<RateLimiter>, account: impl Into<String>) -> Self {
        Self { limiter, account: account.into(), attempts: 5, pause: Duration::from_millis(250) }
    }

    /// Makes a call until it is answered. Throttled calls were not accepted, so any of them is made again; a call that
    /// failed in between may have been accepted, so only reads are.
    pub async fn run<'a, T>(
        &self,
        place: &Place,
        access: Access,
        call: impl Fn() -> BoxFuture<'a, Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let mut pause = self.pause;
        let mut attempt = 1;
        loop {
            self.limiter.turn(&self.account, place, access).await;
            let refusal = match call().await {
                Ok(answer) => return Ok(answer),
                Err(refusal) => refusal,
            };
            let after = match &refusal {
                Refusal::Throttled { after } => {
                    self.limiter.throttled(&self.account, place, access);
                    after.unwrap_or(pause)
                }
                Refusal::Transient { .. } if access == Access::Read => pause,
                _ => return Err(refusal),
            };
            if attempt >= self.attempts {
                return Err(refusal);
            }
            sleep(after.min(LONGEST)).await;
            pause = pause.saturating_mul(2);
            attempt += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Rates;
    use futures::FutureExt;
    use std::sync::atomic::{AtomicU32, Ordering};

    async fn calls_of(access: Access, refusal: Refusal) -> u32 {
        let retries = Retries::new(Arc::new(RateLimiter::new(Rates::default())), "a");
        let calls = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&calls);
        let result: Result<(), _> = retries
            .run(&Place::of("eu-1"), access, move || {
                count.fetch_add(1, Ordering::Relaxed);
                let refusal = refusal.clone();
                async move { Err(refusal) }.boxed()
            })
            .await;
        assert!(result.is_err());
        calls.load(Ordering::Relaxed)
    }

    #[tokio::test(start_paused = true)]
    async fn only_calls_that_are_safe_to_repeat_are_repeated() {
        let transient = || Refusal::Transient { why: "cut".to_owned() };
        assert_eq!(calls_of(Access::Read, transient()).await, 5);
        assert_eq!(calls_of(Access::Write, transient()).await, 1);
        assert_eq!(calls_of(Access::Write, Refusal::Throttled { after: None }).await, 5);
        let blocked = Refusal::Blocked { code: "x".to_owned(), by: String::new() };
        assert_eq!(calls_of(Access::Read, blocked).await, 1);
    }
}
