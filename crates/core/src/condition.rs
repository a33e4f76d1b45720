//! When a condition changes, and when its transition time does.

use crate::text::{LONGEST_MESSAGE, bounded};
use allotment_api::condition::{Condition, ConditionStatus};
use jiff::Timestamp;

/// What a decision says about one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The condition type.
    pub type_: &'static str,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, one word from the fixed list of its kind.
    pub reason: &'static str,
    /// Why, for people.
    pub message: String,
}

/// Writes a verdict into a list, and returns whether the list is another one now.
///
/// The transition time moves only when the status does, and the list stays sorted by type, so that a second look at the
/// same state writes nothing.
pub fn set(
    conditions: &mut Vec<Condition>,
    verdict: Verdict,
    generation: Option<i64>,
    now: Timestamp,
) -> bool {
    let Verdict { type_, status, reason, message } = verdict;
    let place = conditions.partition_point(|condition| condition.type_.as_str() < type_);
    let old = conditions.get(place).filter(|condition| condition.type_ == type_);
    let new = Condition {
        type_: type_.to_owned(),
        status,
        observed_generation: generation,
        last_transition_time: match old {
            Some(old) if old.status == status => old.last_transition_time.clone(),
            _ => now.into(),
        },
        reason: reason.to_owned(),
        message: bounded(message, LONGEST_MESSAGE),
    };
    match old {
        Some(old) if *old == new => return false,
        Some(_) => conditions[place] = new,
        None => conditions.insert(place, new),
    }
    true
}

/// Writes a verdict where there is one, and removes the condition where there is none.
pub fn set_or_remove(
    conditions: &mut Vec<Condition>,
    type_: &'static str,
    verdict: Option<Verdict>,
    generation: Option<i64>,
    now: Timestamp,
) {
    match verdict {
        Some(verdict) => {
            set(conditions, verdict, generation, now);
        }
        None => conditions.retain(|condition| condition.type_ != type_),
    }
}

/// The condition that generic tools wait for.
pub const READY: &str = "Ready";

/// There while an object is on its way.
pub const RECONCILING: &str = "Reconciling";

/// There while an object goes no further by itself.
pub const STALLED: &str = "Stalled";

/// How an object stands, for tools that know nothing of its kind: kstatus, and with it Flux and Argo CD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is as asked for, or goes on by itself from time to time.
    Rests,
    /// It is on its way.
    Reconciling,
    /// It goes no further before somebody acts.
    Stalled,
}

/// Writes [`RECONCILING`] or [`STALLED`], and removes the other: they are there only while they hold.
pub fn set_progress(
    conditions: &mut Vec<Condition>,
    progress: Progress,
    (reason, message): (&'static str, &str),
    generation: Option<i64>,
    now: Timestamp,
) {
    for (type_, standing) in [(RECONCILING, Progress::Reconciling), (STALLED, Progress::Stalled)] {
        let verdict =
            || Verdict { type_, status: ConditionStatus::True, reason, message: message.to_owned() };
        set_or_remove(conditions, type_, (progress == standing).then(verdict), generation, now);
    }
}

/// Finds a condition by its type.
pub fn find<'list>(conditions: &'list [Condition], type_: &str) -> Option<&'list Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether a condition is there, holds, and was observed for this generation.
pub fn holds(conditions: &[Condition], type_: &str, generation: Option<i64>) -> bool {
    find(conditions, type_).is_some_and(|condition| {
        condition.status == ConditionStatus::True && condition.observed_generation == generation
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn verdict(type_: &'static str, status: ConditionStatus, message: &str) -> Verdict {
        Verdict { type_, status, reason: "Because", message: message.to_owned() }
    }

    #[test]
    fn transition_time_moves_only_with_the_status() {
        let mut list = Vec::new();
        assert!(set(&mut list, verdict("Ready", ConditionStatus::False, "waiting"), Some(1), at(10)));
        assert!(set(&mut list, verdict("Ready", ConditionStatus::False, "still waiting"), Some(2), at(20)));
        assert_eq!(find(&list, "Ready").unwrap().last_transition_time, at(10).into());
        assert_eq!(find(&list, "Ready").unwrap().message, "still waiting");
        assert!(set(&mut list, verdict("Ready", ConditionStatus::True, "done"), Some(2), at(30)));
        assert_eq!(find(&list, "Ready").unwrap().last_transition_time, at(30).into());
    }

    #[test]
    fn the_same_verdict_again_changes_nothing() {
        let mut list = Vec::new();
        set(&mut list, verdict("Ready", ConditionStatus::True, "done"), Some(1), at(10));
        let before = list.clone();
        assert!(!set(&mut list, verdict("Ready", ConditionStatus::True, "done"), Some(1), at(99)));
        assert_eq!(list, before);
    }

    #[test]
    fn the_list_stays_sorted_and_others_stay() {
        let mut list = Vec::new();
        for type_ in ["Ready", "PoolAvailable", "Zebra", "Ant"] {
            set(&mut list, verdict(type_, ConditionStatus::True, ""), None, at(1));
        }
        let types: Vec<&str> = list.iter().map(|condition| condition.type_.as_str()).collect();
        assert_eq!(types, ["Ant", "PoolAvailable", "Ready", "Zebra"]);
    }

    #[test]
    fn an_old_generation_does_not_hold() {
        let mut list = Vec::new();
        set(&mut list, verdict("Ready", ConditionStatus::True, ""), Some(1), at(1));
        assert!(holds(&list, "Ready", Some(1)));
        assert!(!holds(&list, "Ready", Some(2)));
    }
}
