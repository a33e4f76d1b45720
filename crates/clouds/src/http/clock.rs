//! The time of the server: a signature with a wrong time is refused.

use http::{HeaderMap, header::DATE};
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use std::sync::atomic::{AtomicI64, Ordering};

/// The difference between our clock and the server's, learned from refusals.
#[derive(Debug, Default)]
pub struct ServerClock {
    offset_seconds: AtomicI64,
}

/// A smaller difference is no reason for a refusal: AWS accepts five minutes.
const TOLERATED: SignedDuration = SignedDuration::from_secs(60);

impl ServerClock {
    /// The server's time, as far as it is known.
    pub fn now(&self, local: Timestamp) -> Timestamp {
        let offset = SignedDuration::from_secs(self.offset_seconds.load(Ordering::Relaxed));
        local.checked_add(offset).unwrap_or(local)
    }

    /// Learns from a refused answer. Returns whether a new attempt makes sense.
    pub fn learn(&self, headers: &HeaderMap, local: Timestamp) -> bool {
        let date = headers.get(DATE).and_then(|date| date.to_str().ok());
        let Some(server) = date.and_then(|date| rfc2822::parse(date).ok()) else { return false };
        let off = server.timestamp().duration_since(self.now(local));
        if off.abs() < TOLERATED {
            return false;
        }
        let offset = server.timestamp().duration_since(local);
        self.offset_seconds.store(offset.as_secs(), Ordering::Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_is_corrected_once() {
        let local: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(DATE, "Tue, 17 Nov 2026 12:30:00 GMT".parse().unwrap());
        let clock = ServerClock::default();
        assert!(clock.learn(&headers, local));
        assert_eq!(clock.now(local), "2026-11-17T12:30:00Z".parse::<Timestamp>().unwrap());
        assert!(!clock.learn(&headers, local), "it is right now, so the refusal has another reason");
        assert!(!clock.learn(&HeaderMap::new(), local));
    }
}
