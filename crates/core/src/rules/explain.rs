//! Why a request goes where it goes.

use super::{
    attribute::Input,
    rule::Rule,
    set::{Request, RuleSet},
};
use crate::pool::PoolKey;

/// What the rules make of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The rule that decides and where it leads, or why there is none.
    pub outcome: Result<Won, String>,
    /// The other rules of the plan, in the order of the file.
    pub lost: Vec<Lost>,
    /// How many rules are for other plans.
    pub others: usize,
}

/// The rule that decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Won {
    /// Its number.
    pub number: usize,
    /// As it is written.
    pub rule: String,
    /// The pool it leads to.
    pub pool: PoolKey,
    /// The label selector of that pool.
    pub selector: String,
}

/// A rule that does not decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its number.
    pub number: usize,
    /// As it is written.
    pub rule: String,
    /// Why not.
    pub because: String,
}

impl RuleSet {
    /// Tells which rule decides about a request, where it leads, and why the others do not.
    pub fn explain(&self, request: &Request<'_>) -> Explanation {
        let found = self.find(request);
        // Also where the provider is at fault, a rule has won over the others.
        let winner =
            self.rules().iter().filter(|rule| fits(rule, request)).max_by_key(|rule| rule.specificity());
        let outcome = found.map_err(|error| error.to_string()).and_then(|found| {
            let pool = found.pool_key().map_err(|error| error.to_string())?;
            let selector = pool.selector(self.labels());
            Ok(Won { number: found.rule.number, rule: found.rule.text.clone(), pool, selector })
        });
        let plan: Vec<&Rule> = self.rules().iter().filter(|rule| rule.plan == request.plan).collect();
        let lost = plan
            .iter()
            .filter(|rule| winner.is_none_or(|winner| winner.number != rule.number))
            .map(|rule| Lost {
                number: rule.number,
                rule: rule.text.clone(),
                because: because(rule, winner, request),
            })
            .collect();
        Explanation { outcome, lost, others: self.rules().len() - plan.len() }
    }
}

fn fits(rule: &Rule, request: &Request<'_>) -> bool {
    rule.plan == request.plan
        && Input::ALL
            .iter()
            .all(|&input| rule.input(input).is_none_or(|value| request.input(input) == Some(value)))
}

fn because(rule: &Rule, winner: Option<&Rule>, request: &Request<'_>) -> String {
    let misses: Vec<String> = Input::ALL
        .into_iter()
        .filter_map(|input| {
            let wanted = rule.input(input)?;
            match request.input(input) {
                Some(value) if value == wanted => None,
                Some(value) => Some(format!("{} is {value}, not {wanted}", input.title())),
                None => Some(format!("there is no {}, and it wants {wanted}", input.title())),
            }
        })
        .collect();
    match winner {
        Some(winner) if misses.is_empty() => {
            let inputs = |count: usize| match count {
                0 => "no input".to_owned(),
                1 => "1 input".to_owned(),
                count => format!("{count} inputs"),
            };
            format!(
                "it matches, but rule {} is more specific ({} against {})",
                winner.number,
                inputs(winner.specificity()),
                inputs(rule.specificity()),
            )
        }
        _ => misses.join(", "),
    }
}
