//! Which labels an object must have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which labels an object must have, as Kubernetes spells it. An empty one takes everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Selector {
    /// Labels with their values.
    pub match_labels: BTreeMap<String, String>,
    /// What labels are asked for otherwise.
    pub match_expressions: Vec<Requirement>,
}

/// What is asked of one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Requirement {
    /// The label.
    pub key: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what: for `In` and `NotIn` only.
    #[serde(default)]
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// It has one of the values.
    In,
    /// It has none of the values, or is not there.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
}

impl Selector {
    /// Whether labels are as asked for.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let Self { match_labels, match_expressions } = self;
        match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && match_expressions.iter().all(|requirement| requirement.matches(labels))
    }

    /// Both; where they name the same label, this one's value counts.
    pub fn and(&self, other: &Self) -> Self {
        let mut both = other.clone();
        both.match_labels.extend(self.match_labels.clone());
        both.match_expressions.extend(self.match_expressions.clone());
        both
    }

    /// What is wrong with it.
    pub(super) fn check(&self, place: &str) -> Vec<String> {
        let all = self.match_expressions.iter().enumerate();
        all.filter_map(|(number, requirement)| {
            let place = format!("{place}.matchExpressions[{number}]");
            let needs_values = matches!(requirement.operator, Operator::In | Operator::NotIn);
            match (needs_values, requirement.values.is_empty()) {
                (true, true) => {
                    Some(format!("{place}.values: {:?} needs at least one", requirement.operator))
                }
                (false, false) => Some(format!("{place}.values: {:?} takes none", requirement.operator)),
                _ => None,
            }
        })
        .collect()
    }
}

impl Requirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let found = labels.get(&self.key);
        let is_listed = || found.is_some_and(|found| self.values.contains(found));
        match self.operator {
            Operator::In => is_listed(),
            Operator::NotIn => !is_listed(),
            Operator::Exists => found.is_some(),
            Operator::DoesNotExist => found.is_none(),
        }
    }
}
