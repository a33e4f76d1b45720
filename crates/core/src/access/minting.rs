//! How many tokens one cause may cost.
//!
//! A status says whether a token is needed. A status may be wrong: a server refuses it, somebody writes it, or we write it wrong.
//! So the tokens that a process was given are counted, whatever a status says: the first few for a cause are free, and then each
//! waits twice as long as the one before. One whose life is nearly over is replaced in any case.

use jiff::{SignedDuration, Timestamp};

/// As many tokens of one cause are not waited for: a kubeconfig that somebody deleted, or another leader that took over, is no fault.
const FREE: u32 = 3;

/// As many that somebody asked for by annotation: a person who rotates does not want to wait.
const FREE_BY_HAND: u32 = 10;

/// The first wait; each is twice as long as the one before.
const FIRST_WAIT: SignedDuration = SignedDuration::from_mins(1);

/// The longest wait.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(1);

/// A cause is forgotten when nobody has asked for so long: longer than the longest wait, or each would begin to count anew.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(2);

/// Why a token is asked for. Another cause begins to count anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The UID of the request, since others may have had its name.
    pub uid: Option<String>,
    /// Its generation.
    pub generation: Option<i64>,
    /// How the rotation of the cluster's own credentials stands.
    pub rotation: String,
    /// Whether somebody asked for it by annotation.
    pub is_by_hand: bool,
}

/// The tokens that were given for the last cause.
#[derive(Clone, Debug)]
pub struct Minted {
    cause: Cause,
    count: u32,
    last: Timestamp,
    end: Timestamp,
}

impl Minted {
    /// Counts a token, after those before it.
    pub fn count(before: Option<Self>, cause: Cause, now: Timestamp, end: Timestamp) -> Self {
        let counted = before.filter(|before| before.cause == cause && !before.is_over(now));
        let count = counted.map_or(0, |before| before.count) + 1;
        Self { cause, count, last: now, end }
    }

    /// The moment before which there is no other token for this cause; none if there may be one now.
    pub fn wait(&self, cause: &Cause, now: Timestamp) -> Option<Timestamp> {
        let free = if self.cause.is_by_hand { FREE_BY_HAND } else { FREE };
        if self.cause != *cause || self.count < free || self.is_over(now) {
            return None;
        }
        let doublings = (self.count - free).min(6);
        let wait = FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT);
        self.last.checked_add(wait).ok().filter(|until| *until > now)
    }

    /// Whether the cause is forgotten: it was long ago, or the last token is due to be replaced.
    fn is_over(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.last);
        let life = self.end.duration_since(self.last);
        age >= FORGOTTEN || age.as_millis() * 10 >= life.as_millis() * 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(generation: i64) -> Cause {
        Cause {
            uid: Some("u".to_owned()),
            generation: Some(generation),
            rotation: String::new(),
            is_by_hand: false,
        }
    }

    /// How many tokens somebody gets in a time who always asks for another one, of this life.
    fn tokens_in(span: SignedDuration, life: SignedDuration, cause: impl Fn(u32) -> Cause) -> u32 {
        let (start, mut given, mut minted) = (Timestamp::UNIX_EPOCH, 0, None::<Minted>);
        let mut now = start;
        while now.duration_since(start) < span {
            let cause = cause(given);
            if minted.as_ref().and_then(|minted| minted.wait(&cause, now)).is_none() {
                minted = Some(Minted::count(minted, cause, now, now + life));
                given += 1;
            }
            now += SignedDuration::from_secs(1);
        }
        given
    }

    #[test]
    fn one_cause_costs_a_few_tokens() {
        let (minute, hour, day) =
            (SignedDuration::from_mins(1), SignedDuration::from_hours(1), SignedDuration::from_hours(24));
        assert_eq!(tokens_in(minute, day, |_| cause(1)), 3);
        assert_eq!(tokens_in(hour, day, |_| cause(1)), 8);
        assert!(tokens_in(day, day * 7, |_| cause(1)) < 8 + 24 + 8);
        let by_hand = |_| Cause { is_by_hand: true, ..cause(1) };
        assert_eq!(tokens_in(minute, day, by_hand), 10);
    }

    #[test]
    fn another_cause_is_served_at_once() {
        let day = SignedDuration::from_hours(24);
        assert_eq!(tokens_in(SignedDuration::from_secs(30), day, |given| cause(given.into())), 30);
    }

    #[test]
    fn a_token_that_runs_out_is_replaced_in_time() {
        let now = Timestamp::UNIX_EPOCH;
        let life = SignedDuration::from_mins(10);
        let mut minted = None;
        for _ in 0..20 {
            minted = Some(Minted::count(minted, cause(1), now, now + life));
        }
        let minted = minted.unwrap();
        assert!(minted.wait(&cause(1), now + SignedDuration::from_mins(6)).is_some());
        assert!(minted.wait(&cause(1), now + SignedDuration::from_mins(7)).is_none());
        let next = Minted::count(Some(minted), cause(1), now + SignedDuration::from_mins(7), now + life * 2);
        assert_eq!(next.count, 1);
    }
}
