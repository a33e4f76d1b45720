//! The general rules for a status: what every controller of the contract follows.
//!
//! - `observedGeneration` is that of the object that was looked at, whatever came of it.
//! - Conditions have one entry per type, sorted; the transition time moves with the status only. Those that nobody speaks of
//!   any more stay.
//! - `Terminating` while it is deleted, else `Ready` if every condition holds, else `Progressing`.

use allotment_api::{
    condition::{Condition, ConditionStatus},
    openmcp::{Status, names::Phase},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The longest message that is written: a server may say anything.
const LONGEST_MESSAGE: usize = 4096;

/// What a look says about one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The type. Characters that no type has become `_`.
    pub type_: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, for machines. Where it is empty, it is made from the type and the status.
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

impl Finding {
    /// It holds.
    pub fn holds(type_: impl Into<String>) -> Self {
        Self {
            type_: type_.into(),
            status: ConditionStatus::True,
            reason: String::new(),
            message: String::new(),
        }
    }

    /// It does not hold.
    pub fn fails(type_: impl Into<String>, reason: impl Into<String>, message: impl Into<String>) -> Self {
        let (type_, reason, message) = (type_.into(), reason.into(), message.into());
        Self { type_, status: ConditionStatus::False, reason, message }
    }

    /// The same with a reason and a message.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        (self.reason, self.message) = (reason.into(), message.into());
        self
    }
}

/// The status of an object after a look, from the one before it.
pub fn report(
    metadata: &ObjectMeta,
    before: Option<&Status>,
    findings: impl IntoIterator<Item = Finding>,
    now: Timestamp,
) -> Status {
    let mut conditions = before.map(|before| before.conditions.clone()).unwrap_or_default();
    for finding in findings {
        set(&mut conditions, finding, metadata.generation, now);
    }
    let phase = phase(metadata, &conditions);
    Status {
        observed_generation: metadata.generation.unwrap_or_default(),
        phase: phase.as_str().to_owned(),
        conditions,
    }
}

/// The phase that follows from the conditions.
pub fn phase(metadata: &ObjectMeta, conditions: &[Condition]) -> Phase {
    if metadata.deletion_timestamp.is_some() {
        Phase::Terminating
    } else if conditions.iter().all(|condition| condition.status == ConditionStatus::True) {
        Phase::Ready
    } else {
        Phase::Progressing
    }
}

/// Writes one condition into a list that is sorted by type.
pub fn set(conditions: &mut Vec<Condition>, finding: Finding, generation: Option<i64>, now: Timestamp) {
    let Finding { type_, status, reason, message } = finding;
    let type_ = worded(&type_, true);
    let reason = if reason.is_empty() { format!("{type_}_{status}") } else { reason };
    conditions.sort_by(|one, other| one.type_.cmp(&other.type_));
    let place = conditions.partition_point(|condition| condition.type_ < type_);
    let old = conditions.get(place).filter(|condition| condition.type_ == type_);
    let new = Condition {
        status,
        observed_generation: generation,
        last_transition_time: match old {
            Some(old) if old.status == status => old.last_transition_time.clone(),
            _ => now.into(),
        },
        reason: worded(&reason, false),
        message: shortened(message),
        type_,
    };
    match old {
        Some(_) => conditions[place] = new,
        None => conditions.insert(place, new),
    }
}

/// What is news: each condition that came, or whose status changed, in the words that upstream uses for its Events.
pub fn news(before: Option<&Status>, after: &Status) -> Vec<String> {
    let before = before.map(|before| before.conditions.as_slice()).unwrap_or_default();
    let changes = after.conditions.iter().filter_map(|condition| {
        let Condition { type_, status, .. } = condition;
        match before.iter().find(|old| old.type_ == *type_) {
            None => Some(format!("Condition '{type_}' added with status '{status}'")),
            Some(old) if old.status == *status => None,
            Some(old) => Some(format!("Condition '{type_}' changed from '{}' to '{status}'", old.status)),
        }
    });
    changes.collect()
}

/// Only what a type or a reason may be made of, beginning and ending as it must.
fn worded(text: &str, is_type: bool) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || is_type && matches!(c, '-' | '.');
    let mut text: String = text.chars().map(|c| if is_fine(c) { c } else { '_' }).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || is_type && c.is_ascii_digit()) {
        text.insert(0, 'X');
    }
    if is_type && !text.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        text.push('X');
    }
    text.truncate(if is_type { 316 } else { 1024 });
    text
}

fn shortened(mut message: String) -> String {
    let end = (0..=LONGEST_MESSAGE.min(message.len())).rev().find(|end| message.is_char_boundary(*end));
    message.truncate(end.unwrap_or(0));
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn object(generation: i64) -> ObjectMeta {
        ObjectMeta { generation: Some(generation), ..ObjectMeta::default() }
    }

    #[test]
    fn phases_follow_from_conditions() {
        let one = report(&object(1), None, [Finding::holds("B"), Finding::fails("A", "Why", "so")], at(1));
        assert_eq!((one.phase.as_str(), one.observed_generation), ("Progressing", 1));
        assert_eq!(one.conditions[0].type_, "A", "sorted");
        assert_eq!(one.conditions[1].reason, "B_True", "made up");
        let two = report(&object(2), Some(&one), [Finding::holds("A")], at(2));
        assert_eq!((two.phase.as_str(), two.conditions.len()), ("Ready", 2), "what nobody speaks of stays");
        assert_eq!(two.conditions[0].last_transition_time, Time(at(2)));
        assert_eq!(two.conditions[1].last_transition_time, Time(at(1)), "it did not change");
        assert_eq!(news(Some(&one), &two), ["Condition 'A' changed from 'False' to 'True'"]);
        let ending = ObjectMeta { deletion_timestamp: Some(Time(at(3))), ..object(2) };
        assert_eq!(report(&ending, Some(&two), [], at(3)).phase, "Terminating");
    }

    #[test]
    fn a_second_look_is_the_same_status() {
        let findings = || [Finding::holds("A"), Finding::fails("B", "", "x")];
        let one = report(&object(1), None, findings(), at(1));
        assert_eq!(report(&object(1), Some(&one), findings(), at(9)), one);
    }

    #[test]
    fn odd_words_are_made_fit() {
        let status = report(&object(1), None, [Finding::fails("Project_a b/c", "no way!", "")], at(1));
        assert_eq!(status.conditions[0].type_, "Project_a_b_c");
        assert_eq!(status.conditions[0].reason, "no_way_");
        let long = Finding::fails("A", "B", "é".repeat(5000));
        assert!(report(&object(1), None, [long], at(1)).conditions[0].message.len() <= LONGEST_MESSAGE);
    }
}
