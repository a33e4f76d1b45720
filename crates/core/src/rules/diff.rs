//! Which requests go to another pool under other rules.

use super::{
    attribute::{INPUTS, Input, Output},
    rule::Rule,
    set::{Request, RuleSet},
};
use serde::Serialize;
use std::{collections::BTreeSet, fmt};

/// Requests that go elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Their plan.
    pub plan: String,
    /// Their cloud.
    pub provider: String,
    /// Whether the plan can be in several clouds, so that this one is worth telling.
    pub several_providers: bool,
    /// Their inputs.
    pub inputs: [Class; INPUTS],
    /// Where they went.
    pub old: Outcome,
    /// Where they go.
    pub new: Outcome,
}

/// The values of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// Whatever it is.
    Any,
    /// This one.
    Is(String),
    /// One that no rule of the plan names.
    Other,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// To this pool.
    #[serde(rename_all = "camelCase")]
    Pool {
        /// The type; `<PR>` or `<HR>` where it has a region in it that no rule names.
        hyperscaler_type: String,
        /// Whether several tenants use one account.
        shared: bool,
        /// Whether it is for EU access only.
        eu_access: bool,
    },
    /// Nowhere.
    Refused(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Pool { hyperscaler_type, shared, eu_access } => {
                f.write_str(hyperscaler_type)?;
                match (eu_access, shared) {
                    (false, false) => Ok(()),
                    (true, false) => f.write_str(" (EU)"),
                    (false, true) => f.write_str(" (shared)"),
                    (true, true) => f.write_str(" (EU, shared)"),
                }
            }
        }
    }
}

impl RuleSet {
    /// Finds all kinds of requests that go to another pool under other rules: every plan and cloud with every value that
    /// a rule of the plan names, old or new, and with one that none names.
    pub fn diff(old: &Self, new: &Self) -> Vec<Change> {
        let plans: BTreeSet<&str> = old.plans().names().chain(new.plans().names()).collect();
        plans.into_iter().flat_map(|plan| diff_plan(old, new, plan)).collect()
    }
}

fn diff_plan(old: &RuleSet, new: &RuleSet, plan: &str) -> Vec<Change> {
    let both = [old, new];
    let rules = || both.into_iter().flat_map(RuleSet::rules).filter(|rule| rule.plan == plan);
    let providers: BTreeSet<&str> =
        both.iter().filter_map(|set| set.plans().providers(plan)).flatten().map(String::as_str).collect();
    let values =
        Input::ALL.map(|input| rules().filter_map(|rule| rule.input(input)).collect::<BTreeSet<&str>>());
    let mut changes = Vec::new();
    for provider in &providers {
        let walk = Walk { old, new, plan, provider, values: &values };
        for (inputs, old, new) in walk.changes(0, &mut [None; INPUTS]) {
            changes.push(Change {
                plan: plan.to_owned(),
                provider: (*provider).to_owned(),
                several_providers: providers.len() > 1,
                inputs,
                old,
                new,
            });
        }
    }
    changes
}

struct Walk<'a> {
    old: &'a RuleSet,
    new: &'a RuleSet,
    plan: &'a str,
    provider: &'a str,
    /// The values of each input that rules name.
    values: &'a [BTreeSet<&'a str>; INPUTS],
}

type Changes = Vec<([Class; INPUTS], Outcome, Outcome)>;

impl<'a> Walk<'a> {
    /// The changes among requests whose first inputs are chosen; `None` stands for a value that no rule names.
    fn changes(&self, depth: usize, chosen: &mut [Option<&'a str>; INPUTS]) -> Changes {
        if depth == INPUTS {
            let [old, new] = [self.old, self.new].map(|set| self.outcome(set, chosen));
            let anything = std::array::from_fn(|_| Class::Any);
            return if old == new { Changes::new() } else { vec![(anything, old, new)] };
        }
        let choices: Vec<Option<&str>> = self.values[depth].iter().copied().map(Some).chain([None]).collect();
        let mut groups: Vec<(Option<&str>, Changes)> = Vec::with_capacity(choices.len());
        for choice in choices {
            chosen[depth] = choice;
            groups.push((choice, self.changes(depth + 1, chosen)));
        }
        // What is the same for every value is told once.
        if let [(_, first), rest @ ..] = groups.as_slice()
            && rest.iter().all(|(_, changes)| changes == first)
        {
            return groups.swap_remove(0).1;
        }
        let mut all = Changes::new();
        for (choice, changes) in groups {
            all.extend(changes.into_iter().map(|(mut inputs, old, new)| {
                inputs[depth] = choice.map_or(Class::Other, |value| Class::Is(value.to_owned()));
                (inputs, old, new)
            }));
        }
        all
    }

    fn outcome(&self, set: &RuleSet, chosen: &[Option<&'a str>; INPUTS]) -> Outcome {
        /// No rule can name it, since it cannot be the value of a label.
        const OTHER: &str = "*";
        let value = |input: Input| Some(chosen[input.index()].unwrap_or(OTHER));
        let request = Request {
            plan: self.plan,
            provider: Some(self.provider),
            platform_region: value(Input::PlatformRegion),
            hyperscaler_region: value(Input::HyperscalerRegion),
        };
        match set.find(&request) {
            Ok(found) => pool(found.rule, found.provider, chosen),
            Err(super::NoMatch::NoRule { .. }) => Outcome::Refused("no rule".to_owned()),
            Err(super::NoMatch::UnknownPlan { .. }) => Outcome::Refused("no such plan".to_owned()),
            Err(_) => Outcome::Refused("not in this cloud".to_owned()),
        }
    }
}

fn pool(rule: &Rule, provider: &str, chosen: &[Option<&str>; INPUTS]) -> Outcome {
    let mut hyperscaler_type = provider.to_owned();
    for input in rule.outputs.suffixes() {
        hyperscaler_type.push('_');
        match chosen[input.index()] {
            Some(value) => hyperscaler_type.push_str(value),
            None => hyperscaler_type.push_str(&format!("<{input}>")),
        }
    }
    let [shared, eu_access] = [Output::Shared, Output::EuAccess].map(|output| rule.has(output));
    Outcome::Pool { hyperscaler_type, shared, eu_access }
}
