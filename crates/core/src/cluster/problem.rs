//! Why a Cluster is not rolled out, and what is worth saying about one that is.

use crate::condition::Verdict;
use allotment_api::{condition::ConditionStatus, kyma::ClusterCondition};
use std::fmt;

/// How many allowed values a message lists. A CloudProfile may have hundreds of machine types.
const LISTED: usize = 40;

/// How many problems a message tells. A template may have thousands of them, and a status has to be stored.
const TOLD: usize = 20;

/// Something that stops the rollout: a field, what is wrong with it, and what it could be instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field: `spec.…` of the Cluster, `clusters.…` of the configuration.
    pub field: String,
    /// What is wrong with it.
    pub what: String,
    /// What it could be; empty where that is not a list.
    pub allowed: Vec<String>,
    /// The condition that shows it.
    pub about: ClusterCondition,
}

impl Problem {
    pub(crate) fn new(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            what: what.into(),
            allowed: Vec::new(),
            about: ClusterCondition::ClusterProvisioned,
        }
    }

    pub(crate) fn allowed<T: ToString>(mut self, values: impl IntoIterator<Item = T>) -> Self {
        self.allowed = values.into_iter().map(|value| value.to_string()).collect();
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, what, allowed, about: _ } = self;
        write!(f, "{field}: {what}")?;
        if allowed.is_empty() {
            return Ok(());
        }
        write!(f, "; allowed: {}", allowed[..allowed.len().min(LISTED)].join(", "))?;
        match allowed.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Everything that stops the rollout of a Cluster; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", join(.0))]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Whether all of them are in the configuration, where no tenant can mend them.
    pub fn is_platforms(&self) -> bool {
        self.0.iter().all(|problem| problem.field.starts_with("clusters."))
    }

    /// The conditions that show them. `ClusterProvisioned` is always among them, since nothing is rolled out.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let of = |type_: ClusterCondition, reason, message| Verdict {
            type_: type_.as_str(),
            status: ConditionStatus::False,
            reason,
            message,
        };
        let reason = if self.is_platforms() { "ConfigurationInvalid" } else { "Invalid" };
        let mut verdicts = vec![of(ClusterCondition::ClusterProvisioned, reason, self.to_string())];
        let oidc: Vec<&Problem> =
            self.0.iter().filter(|problem| problem.about == ClusterCondition::OidcApplied).collect();
        if !oidc.is_empty() {
            verdicts.push(of(ClusterCondition::OidcApplied, "Invalid", join(oidc)));
        }
        verdicts
    }
}

/// Something that could not be done as asked, and does not stop the rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The field.
    pub field: String,
    /// What became of it.
    pub what: String,
    /// The condition whose message says so.
    pub about: ClusterCondition,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.what)
    }
}

/// What was found on the way. Rendering goes on after a problem, so that all of them are told at once.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub problems: Vec<Problem>,
    pub notes: Vec<Note>,
}

impl Findings {
    /// Keeps the problem, if it is one.
    pub fn take<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.push(problem)).ok()
    }

    pub fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    pub fn note(&mut self, about: ClusterCondition, field: impl Into<String>, what: impl Into<String>) {
        self.notes.push(Note { field: field.into(), what: what.into(), about });
    }
}

fn join<'list>(problems: impl IntoIterator<Item = &'list Problem>) -> String {
    let all: Vec<String> = problems.into_iter().map(Problem::to_string).collect();
    let told = all[..all.len().min(TOLD)].join("; ");
    match all.len().saturating_sub(TOLD) {
        0 => told,
        more => format!("{told}; and {more} more"),
    }
}
