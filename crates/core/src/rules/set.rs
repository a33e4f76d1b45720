//! Rules in force: which of them decides about a request.

use super::{
    attribute::{INPUTS, Input, Output},
    overlap,
    plans::Plans,
    rule::Rule,
    table::{Keys, Words, number},
    word,
};
use crate::{
    label,
    pool::{LabelKeys, PoolKey},
};
use std::{collections::BTreeSet, fmt};

/// What the rules look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request<'a> {
    /// The plan.
    pub plan: &'a str,
    /// The cloud; a plan that has only one does not need it.
    pub provider: Option<&'a str>,
    /// `PR`.
    pub platform_region: Option<&'a str>,
    /// `HR`.
    pub hyperscaler_region: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// The value of an input; an empty one is none.
    pub fn input(&self, input: Input) -> Option<&'a str> {
        let value = match input {
            Input::PlatformRegion => self.platform_region,
            Input::HyperscalerRegion => self.hyperscaler_region,
        };
        value.filter(|value| !value.is_empty())
    }
}

/// Rules without a fault, ready to be asked.
#[derive(Clone, Debug)]
pub struct RuleSet {
    rules: Vec<Rule>,
    plans: Plans,
    enabled: Vec<String>,
    labels: LabelKeys,
    /// The names of all plans, in the order of `offers`; then the values of inputs.
    words: Words,
    offers: Vec<Offer>,
    keys: Keys<INPUTS>,
}

/// What there is for a plan.
#[derive(Clone, Debug)]
struct Offer {
    providers: Vec<String>,
    /// Which inputs its rules name, as bits, those with most of them first: no others need to be looked for.
    shapes: Vec<usize>,
}

impl PartialEq for RuleSet {
    fn eq(&self, other: &Self) -> bool {
        // The rest follows from these.
        let Self { rules, plans, enabled, labels, words: _, offers: _, keys: _ } = self;
        *rules == other.rules && *plans == other.plans && *enabled == other.enabled && *labels == other.labels
    }
}

impl RuleSet {
    pub(super) fn new(rules: Vec<Rule>, plans: Plans, enabled: Vec<String>, labels: LabelKeys) -> Self {
        let names: BTreeSet<&str> = plans.names().collect();
        let values: BTreeSet<&str> =
            rules.iter().flat_map(|rule| rule.inputs.iter().flatten()).map(String::as_str).collect();
        let words = Words::new(names.iter().chain(values.difference(&names)).copied());
        let id = |word: &str| words.find(word).map_or(0, |place| number(place) + 1);
        let keys = rules
            .iter()
            .map(|rule| (id(&rule.plan), rule.inputs.each_ref().map(|value| value.as_deref().map_or(0, id))))
            .collect();
        let mut offers: Vec<Offer> = names
            .iter()
            .map(|name| Offer {
                providers: plans.providers(name).unwrap_or_default().to_vec(),
                shapes: Vec::new(),
            })
            .collect();
        for rule in &rules {
            if let Some(offer) = words.find(&rule.plan).and_then(|place| offers.get_mut(place)) {
                offer.shapes.push(overlap::named(&rule.inputs));
            }
        }
        for Offer { shapes, .. } in &mut offers {
            shapes.sort_unstable_by_key(|shape| (std::cmp::Reverse(shape.count_ones()), *shape));
            shapes.dedup();
        }
        Self { rules, plans, enabled, labels, words, offers, keys: Keys::new(keys) }
    }

    /// The rules, in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The plans that exist.
    pub fn plans(&self) -> &Plans {
        &self.plans
    }

    /// The plans that are offered.
    pub fn enabled(&self) -> &[String] {
        &self.enabled
    }

    /// The names of the labels on pool entries.
    pub fn labels(&self) -> &LabelKeys {
        &self.labels
    }

    /// Finds the rule that decides. It takes the same time whatever the number of rules, and does not allocate.
    pub fn find<'a>(&'a self, request: &Request<'a>) -> Result<Match<'a>, NoMatch<'a>> {
        let plan = self.words.find(request.plan).filter(|place| *place < self.offers.len());
        let Some(place) = plan else {
            return Err(NoMatch::UnknownPlan { plan: request.plan, rules: &self.rules });
        };
        let offer = &self.offers[place];
        let given: [Option<u32>; INPUTS] = Input::ALL.map(|input| {
            request.input(input).and_then(|value| self.words.find(value)).map(|place| number(place) + 1)
        });
        let rule = offer.shapes.iter().find_map(|shape| {
            let mut key = (number(place) + 1, [0; INPUTS]);
            for (index, value) in given.iter().enumerate() {
                if shape & (1 << index) != 0 {
                    key.1[index] = (*value)?;
                }
            }
            self.keys.find(&key)
        });
        let Some(rule) = rule else { return Err(NoMatch::NoRule { request: *request }) };
        let provider = match (request.provider, offer.providers.as_slice()) {
            (None, [only]) => only,
            (None, providers) => return Err(NoMatch::ProviderMissing { plan: request.plan, providers }),
            (Some(wanted), providers) => providers
                .iter()
                .find(|provider| *provider == wanted)
                .ok_or(NoMatch::ProviderNotOffered { plan: request.plan, provider: wanted, providers })?,
        };
        Ok(Match { rule: &self.rules[rule], provider, request: *request })
    }
}

/// The rule that decides about a request.
#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The cloud, from the table of plans or, where that leaves a choice, from the request.
    pub provider: &'a str,
    request: Request<'a>,
}

impl<'a> Match<'a> {
    /// What was asked.
    pub fn request(&self) -> Request<'a> {
        self.request
    }

    /// The pool that the request goes to.
    pub fn pool_key(&self) -> Result<PoolKey, NoPool> {
        let mut text = self.provider.to_owned();
        for input in self.rule.outputs.suffixes() {
            let value = self.request.input(input).ok_or_else(|| NoPool::RegionMissing {
                rule: self.rule.number,
                text: self.rule.text.clone(),
                region: input.title(),
            })?;
            text.push('_');
            text.push_str(value);
        }
        label::check(&text).map_err(|fault| NoPool::BadType {
            rule: self.rule.number,
            text: self.rule.text.clone(),
            type_: text.clone(),
            fault,
        })?;
        let [shared, eu_access] = [Output::Shared, Output::EuAccess].map(|output| self.rule.has(output));
        Ok(PoolKey { hyperscaler_type: text, shared, eu_access })
    }
}

/// Why no rule decides about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMatch<'a> {
    /// The plan does not exist.
    UnknownPlan {
        /// The plan.
        plan: &'a str,
        /// The rules, which name those that exist.
        rules: &'a [Rule],
    },
    /// No rule is for it.
    NoRule {
        /// What was asked.
        request: Request<'a>,
    },
    /// The plan can be in several clouds, and the request does not say which.
    ProviderMissing {
        /// The plan.
        plan: &'a str,
        /// The clouds it can be in.
        providers: &'a [String],
    },
    /// The plan cannot be in this cloud.
    ProviderNotOffered {
        /// The plan.
        plan: &'a str,
        /// The cloud that was asked for.
        provider: &'a str,
        /// The clouds it can be in.
        providers: &'a [String],
    },
}

impl std::error::Error for NoMatch<'_> {}

impl fmt::Display for NoMatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPlan { plan, rules } => {
                let plans: BTreeSet<&str> = rules.iter().map(|rule| rule.plan.as_str()).collect();
                write!(f, "there is no plan `{plan}`: expected {}", word::one_of(plans))
            }
            Self::NoRule { request } => {
                write!(f, "no rule matches plan `{}`", request.plan)?;
                for input in Input::ALL {
                    match request.input(input) {
                        Some(value) => write!(f, ", {} `{value}`", input.title())?,
                        None => write!(f, ", no {}", input.title())?,
                    }
                }
                Ok(())
            }
            Self::ProviderMissing { plan, providers } => {
                write!(f, "plan `{plan}` needs a provider: {}", word::one_of(*providers))
            }
            Self::ProviderNotOffered { plan, provider, providers } => {
                write!(
                    f,
                    "plan `{plan}` cannot be in provider `{provider}`: expected {}",
                    word::one_of(*providers)
                )
            }
        }
    }
}

/// Why the rule that decides leads to no pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPool {
    /// The type has a region in it, and the request has none.
    #[error("rule {rule} (`{text}`) makes the {region} part of the type, and the request has no {region}")]
    RegionMissing {
        /// The number of the rule.
        rule: usize,
        /// The rule as written.
        text: String,
        /// What is missing.
        region: &'static str,
    },
    /// The type cannot be the value of a label.
    #[error(
        "rule {rule} (`{text}`) leads to hyperscalerType `{type_}`, which cannot be the value of a label: {fault}"
    )]
    BadType {
        /// The number of the rule.
        rule: usize,
        /// The rule as written.
        text: String,
        /// What it composes to.
        type_: String,
        /// What is wrong with that.
        fault: label::Fault,
    },
}
