//! Rules that a finding offers to add. People paste them, so a fix is offered only if it is proven: nobody's pool changes who had one, and
//! requests that had none get one that loses no attribute of the rules that claim them.

use super::{
    attribute::{Input, Inputs, Output, Outputs},
    plans::Plans,
    rule::{Rule, Spelled},
};
use crate::label;

/// A rule to add, as it is written in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fix(String);

impl Fix {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// The rule for the requests that two rules tie on, which have exactly the inputs of both.
    ///
    /// All rules that match some of these requests, and have at least as many inputs as the two, must lead to the same pool but for EU access.
    /// Then the new rule sends each of them to that pool, with EU access if any of the rules asks for it: an account for EU access serves
    /// other requests too, and no other account serves one that needs it. Where `S` or the parts of the type differ, only a person knows which
    /// pool is meant. A rule with more inputs decides about its requests without a tie, so the new one must not differ from it at all.
    pub(super) fn of_tie(rules: &[Rule], plans: &Plans, one: &Rule, inputs: &Inputs) -> Option<Self> {
        let tied = one.specificity();
        let is_contender = |rule: &&Rule| {
            rule.plan == one.plan && rule.specificity() >= tied && can_match(&rule.inputs, inputs)
        };
        let contenders: Vec<&Rule> = rules.iter().filter(is_contender).collect();
        let mut outputs = one.outputs;
        if contenders.iter().any(|rule| rule.has(Output::EuAccess)) {
            outputs.add(Output::EuAccess);
        }
        let agree = contenders.iter().all(|rule| {
            let pool = if rule.specificity() > tied { rule.outputs } else { with_eu(rule.outputs, outputs) };
            pool == outputs
        });
        (agree && too_long(plans, &one.plan, inputs, outputs).is_none())
            .then(|| Self(Spelled(&one.plan, inputs, outputs).to_string()))
    }

    /// The rule for all requests of a plan that no rule matches, where every rule of the plan says the same about the pool. It has no input,
    /// so every other rule wins over it.
    pub(super) fn of_gap(plan: &str, rules: &[&Rule]) -> Option<Self> {
        let (first, rest) = rules.split_first()?;
        rest.iter()
            .all(|rule| rule.outputs == first.outputs)
            .then(|| Self(Spelled(plan, &Inputs::default(), first.outputs).to_string()))
    }
}

/// `outputs`, with EU access as `other` has it.
fn with_eu(mut outputs: Outputs, other: Outputs) -> Outputs {
    if other.has(Output::EuAccess) {
        outputs.add(Output::EuAccess);
    }
    outputs
}

/// Whether a request can have the inputs of both.
fn can_match(one: &Inputs, other: &Inputs) -> bool {
    one.iter().zip(other).all(|(one, other)| one.is_none() || other.is_none() || one == other)
}

/// A cloud for which the type is too long for a label, and its shortest length: a value that comes from the request has at least one
/// character.
pub(super) fn too_long<'p>(
    plans: &'p Plans,
    plan: &str,
    inputs: &Inputs,
    outputs: Outputs,
) -> Option<(&'p str, usize)> {
    let value = |input: Input| inputs[input.index()].as_deref().map_or(1, str::len);
    let suffix: usize = outputs.suffixes().map(|input| 1 + value(input)).sum();
    let providers = plans.providers(plan).unwrap_or_default();
    providers
        .iter()
        .map(|provider| (provider.as_str(), provider.len() + suffix))
        .find(|(_, length)| *length > label::MAX_LENGTH)
}
