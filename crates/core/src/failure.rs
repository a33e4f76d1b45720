//! What an object's condition says while the operator cannot finish its reconcile.
//!
//! Tenants read it. It says what they can do, which is usually nothing, and names neither addresses nor users of the platform. The
//! words of a server about this object are repeated in full.

use crate::condition::{self, Verdict};
use allotment_api::condition::{Condition, ConditionStatus};
use jiff::Timestamp;

/// The condition: False while the last reconcile failed, absent otherwise.
pub const RECONCILED: &str = "Reconciled";

/// For whom it is to wait: the platform's alerts fire, and the operator tries again.
const WAIT: &str =
    "there is nothing for you to do: the platform is told, and it goes on by itself once this is over";

/// For whom it may be to ask: nobody else is told about one object.
const ASK: &str = "it is tried again by itself; if this stays, ask the platform";

/// The class of a failure: the reason of the condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// A server does not answer, or does not accept the platform's credentials.
    ServerUnavailable,
    /// A server answers with an error about this object.
    ServerError,
    /// The garden fails for longer than a moment, whatever it is asked for.
    GardenUnavailable,
    /// The ledger fails.
    LedgerUnavailable,
    /// The ledger does not do what this object needs.
    LedgerRefused,
    /// Nothing is handed out until a person has put the ledger right.
    Halted,
    /// The account is no longer the one that the request got.
    AccountChanged,
    /// A bug.
    InternalError,
}

impl FailureReason {
    /// The word in the condition.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ServerUnavailable => "ServerUnavailable",
            Self::ServerError => "ServerError",
            Self::GardenUnavailable => "GardenUnavailable",
            Self::LedgerUnavailable => "LedgerUnavailable",
            Self::LedgerRefused => "LedgerRefused",
            Self::Halted => "Halted",
            Self::AccountChanged => "AccountChanged",
            Self::InternalError => "InternalError",
        }
    }

    /// Whether it is about a server or store, and not about the object: a lasting failure of the same explains it better.
    pub const fn is_of_a_server(self) -> bool {
        matches!(
            self,
            Self::ServerUnavailable | Self::GardenUnavailable | Self::LedgerUnavailable | Self::Halted
        )
    }

    /// What the reader can do.
    const fn advice(self) -> &'static str {
        match self {
            Self::ServerUnavailable | Self::GardenUnavailable | Self::LedgerUnavailable | Self::Halted => {
                WAIT
            }
            Self::ServerError | Self::LedgerRefused | Self::AccountChanged | Self::InternalError => ASK,
        }
    }
}

/// Why a reconcile could not be finished, for who reads the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The class.
    pub reason: FailureReason,
    /// What failed. The same while the failure is the same.
    pub what: String,
}

impl Failure {
    /// Of this class.
    pub fn new(reason: FailureReason, what: impl Into<String>) -> Self {
        Self { reason, what: what.into() }
    }

    fn verdict(&self) -> Verdict {
        let Self { reason, what } = self;
        Verdict {
            type_: RECONCILED,
            status: ConditionStatus::False,
            reason: reason.as_str(),
            message: format!("{what}; {}", reason.advice()),
        }
    }
}

/// Writes a failure into a list of conditions, or takes the last one out. Returns whether the list is another one now.
///
/// Servers put counters, ports and times into their messages. A message that differs from the one before only in words with digits
/// is not written: every retry would be a write, and each write an event for everybody who watches.
pub fn report(
    conditions: &mut Vec<Condition>,
    failure: Option<&Failure>,
    generation: Option<i64>,
    now: Timestamp,
) -> bool {
    let old = condition::find(conditions, RECONCILED);
    let Some(failure) = failure else {
        let was_there = old.is_some();
        conditions.retain(|condition| condition.type_ != RECONCILED);
        return was_there;
    };
    let verdict = failure.verdict();
    let is_same = old.is_some_and(|old| {
        old.status == verdict.status
            && old.reason == verdict.reason
            && old.observed_generation == generation
            && is_alike(&old.message, &verdict.message)
    });
    !is_same && condition::set(conditions, verdict, generation, now)
}

/// The failure that conditions tell of: its message.
pub fn told(conditions: &[Condition]) -> Option<&Condition> {
    condition::find(conditions, RECONCILED).filter(|condition| condition.status == ConditionStatus::False)
}

/// Whether two texts are the same but for words with digits.
fn is_alike(one: &str, other: &str) -> bool {
    let is_part = |char: char| !char.is_alphanumeric();
    let plain = |text: &str| -> Vec<String> {
        let words = text.split(is_part).filter(|word| !word.chars().any(|char| char.is_ascii_digit()));
        words.map(str::to_owned).collect()
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn failure(what: &str) -> Failure {
        Failure::new(FailureReason::ServerError, what)
    }

    #[test]
    fn a_failure_is_told_once_and_goes_with_the_next_success() {
        let mut conditions = Vec::new();
        let first = failure("cannot apply Shoot a: request 17 failed after 3s");
        assert!(report(&mut conditions, Some(&first), Some(1), at(1)));
        let same = failure("cannot apply Shoot a: request 18 failed after 20s");
        assert!(!report(&mut conditions, Some(&same), Some(1), at(2)), "only numbers differ");
        assert!(told(&conditions).unwrap().message.contains("request 17"));
        assert!(report(&mut conditions, Some(&same), Some(2), at(3)), "another generation");
        let other = failure("cannot read Shoot a: request 18 failed after 20s");
        assert!(report(&mut conditions, Some(&other), Some(2), at(4)), "another failure");
        assert_eq!(told(&conditions).unwrap().last_transition_time, at(1).into(), "it fails since then");
        assert!(report(&mut conditions, None, Some(2), at(5)));
        assert!(conditions.is_empty() && !report(&mut conditions, None, Some(2), at(6)));
    }

    #[test]
    fn a_reader_is_told_whether_there_is_something_to_do() {
        for (reason, says) in [
            (FailureReason::LedgerUnavailable, "nothing for you to do"),
            (FailureReason::ServerError, "ask the platform"),
        ] {
            let mut conditions = Vec::new();
            report(&mut conditions, Some(&Failure::new(reason, "it fails")), None, at(1));
            assert!(told(&conditions).unwrap().message.contains(says), "{conditions:?}");
        }
    }
}
