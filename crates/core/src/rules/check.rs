//! What can be wrong with rules, beyond how each is written.

use super::{
    attribute::{INPUTS, Input, Inputs, Output},
    file::File,
    finding::Code,
    findings::{Findings, MOST_COUNTED, Told},
    fix::{self, Fix},
    overlap::{self, Gap, Part},
    parse::{self, Draft},
    plans::{ENABLED_BY_DEFAULT, Plans},
    rule::Rule,
    source::{Place, Scalar, Source},
    word,
};
use crate::{label, pool::LabelKeys};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

/// What is left of a file once it is checked.
pub(super) struct Checked {
    pub(super) rules: Vec<Rule>,
    pub(super) plans: Plans,
    pub(super) enabled: Vec<String>,
    pub(super) labels: LabelKeys,
    /// The plan of every rule that names one which exists, by the number of the rule, also of one that is not written well.
    pub(super) plan_of: BTreeMap<usize, String>,
    pub(super) findings: Findings,
}

pub(super) fn check(file: File, source: &Source<'_>, enabled: Option<&[String]>) -> Checked {
    let File { rules: entries, enabled: listed, plans, labels, place, findings } = file;
    let mut checker = Checker {
        source,
        plans: &plans,
        entries: &entries,
        mentioned: BTreeSet::new(),
        broken: BTreeSet::new(),
        plan_of: BTreeMap::new(),
        findings,
    };
    let rules = checker.rules();
    let by_plan = checker.duplicates(&rules);
    checker.ambiguities(&rules, &by_plan);
    let enabled = Enabled::new(enabled, listed, place);
    // Without any rule, one finding says so already.
    if !entries.is_empty() {
        checker.coverage(&enabled, &by_plan);
    }
    checker.collisions(&rules);
    checker.unreachable(&enabled, &rules);
    let Checker { plan_of, findings, .. } = checker;
    let enabled = enabled.plans.into_iter().map(|(plan, _)| plan).collect();
    Checked { rules, plans, enabled, labels, plan_of, findings }
}

/// The plans that need a rule, and where it says so.
struct Enabled {
    plans: Vec<(String, Place)>,
    /// Somebody said so; it is not the built-in list.
    explicit: bool,
}

impl Enabled {
    fn new(wanted: Option<&[String]>, listed: Option<Vec<Scalar>>, place: Place) -> Self {
        let explicit = wanted.is_some() || listed.is_some();
        let plans = match (wanted, listed) {
            (Some(wanted), _) => wanted.iter().map(|plan| (plan.clone(), place)).collect(),
            (None, Some(listed)) => listed.into_iter().map(|plan| (plan.text, plan.place)).collect(),
            (None, None) => ENABLED_BY_DEFAULT.iter().map(|&plan| (plan.to_owned(), place)).collect(),
        };
        Self { plans, explicit }
    }
}

/// What a type is composed of: the provider, then the values of inputs.
type Parts<'r> = (&'r str, [Option<&'r str>; INPUTS]);

/// The rules of each plan, only the first of those that are the same.
type ByPlan<'r> = BTreeMap<&'r str, Vec<&'r Rule>>;

struct Checker<'c, 't> {
    source: &'c Source<'t>,
    plans: &'c Plans,
    entries: &'c [Option<Scalar>],
    /// Plans that some rule is for, also one that is not written well.
    mentioned: BTreeSet<String>,
    /// Plans with a rule that is not written well.
    broken: BTreeSet<String>,
    plan_of: BTreeMap<usize, String>,
    findings: Findings,
}

impl Checker<'_, '_> {
    /// Reads every rule, and keeps those without a fault.
    fn rules(&mut self) -> Vec<Rule> {
        let mut rules = Vec::with_capacity(self.entries.len());
        for (index, entry) in self.entries.iter().enumerate() {
            if let Some(scalar) = entry {
                rules.extend(self.rule(index + 1, scalar));
            }
        }
        rules
    }

    fn rule(&mut self, number: usize, scalar: &Scalar) -> Option<Rule> {
        let Draft { plan, inputs, outputs, faults } = parse::parse(&scalar.text);
        let mut good = faults.is_empty();
        for parse::Fault { code, at, message } in faults {
            let place = self.source.part(scalar, &at);
            self.findings.add(self.source, (code, number, place, None), || message);
        }
        let plan = plan?;
        if self.plans.providers(&plan.name).is_some() {
            self.plan_of.insert(number, plan.name.clone());
        } else if plan.valid {
            good = false;
            let place = self.source.part(scalar, &plan.at);
            self.findings.add(self.source, (Code::UnknownPlan, number, place, None), || {
                let hint = word::did_you_mean(&plan.name, self.plans.names());
                format!("there is no plan `{}`{hint}", plan.name)
            });
        }
        if good {
            let text = scalar.text.trim().to_owned();
            let rule = Rule { number, text, plan: plan.name, inputs, outputs };
            if !self.mentioned.contains(&rule.plan) {
                self.mentioned.insert(rule.plan.clone());
            }
            return self.composes(&rule).then_some(rule);
        }
        self.mentioned.insert(plan.name.clone());
        self.broken.insert(plan.name);
        None
    }

    /// Whether the type can be the value of a label, as far as it is known: what comes from the request has at least one
    /// character.
    fn composes(&mut self, rule: &Rule) -> bool {
        let too_long = fix::too_long(self.plans, &rule.plan, &rule.inputs, rule.outputs);
        if let Some((provider, length)) = too_long {
            self.report(Code::InvalidValue, rule.number, None, || {
                format!(
                    "hyperscalerType would be at least {length} characters long for provider `{provider}`, and a label \
                     value has at most {}",
                    label::MAX_LENGTH,
                )
            });
            self.broken.insert(rule.plan.clone());
        }
        too_long.is_none()
    }

    /// Tells which rules are the same, and sorts the others by plan.
    fn duplicates<'r>(&mut self, rules: &'r [Rule]) -> ByPlan<'r> {
        let mut by_plan = ByPlan::new();
        let mut first: BTreeMap<(&str, &Inputs), &Rule> = BTreeMap::new();
        for rule in rules {
            let twin = *first.entry((&rule.plan, &rule.inputs)).or_insert(rule);
            if twin.number == rule.number {
                by_plan.entry(&rule.plan).or_default().push(rule);
            } else {
                let why = if twin.outputs == rule.outputs {
                    ""
                } else {
                    ": both have the same plan and inputs, and what comes after `->` does not tell rules apart"
                };
                self.report(Code::DuplicateRule, rule.number, Some(twin.number), || {
                    format!("rule {} is the same as rule {} (`{}`){why}", rule.number, twin.number, twin.text)
                });
            }
        }
        by_plan
    }

    fn ambiguities(&mut self, all: &[Rule], by_plan: &ByPlan<'_>) {
        let mut left = MOST_COUNTED;
        let plans = self.plans;
        for rules in by_plan.values() {
            let visited = overlap::ties(&values(rules), |tie| {
                if left == 0 {
                    return ControlFlow::Break(());
                }
                left -= 1;
                let (first, second) = (rules[tie.first], rules[tie.second]);
                self.report(Code::Ambiguous, second.number, Some(first.number), || {
                    let missing = tie.missing.map(|value| value.map(str::to_owned));
                    let fix = Fix::of_tie(all, plans, first, &missing);
                    Told { message: ambiguous(first, second, &missing, fix.as_ref()), fix }
                });
                ControlFlow::Continue(())
            });
            if visited.is_break() {
                return self.findings.leave_open();
            }
        }
    }

    fn coverage(&mut self, enabled: &Enabled, by_plan: &ByPlan<'_>) {
        for (plan, place) in &enabled.plans {
            if self.plans.providers(plan).is_none() {
                self.findings.add(self.source, (Code::UnknownPlan, 0, *place, None), || {
                    let hint = word::did_you_mean(plan, self.plans.names());
                    format!("there is no plan `{plan}`, but it is enabled{hint}")
                });
            } else if !self.mentioned.contains(plan) {
                self.findings.add(self.source, (Code::UncoveredPlan, 0, *place, None), || {
                    format!("enabled plan `{plan}` has no rule: add at least `{plan}`")
                });
            }
        }
        // What a rule covers that is not written well cannot be told.
        for (plan, rules) in
            by_plan.iter().filter(|(plan, _)| !self.broken.contains(**plan)).collect::<Vec<_>>()
        {
            // More of them help nobody.
            const SHOWN: usize = 3;
            let gaps = overlap::gaps(&values(rules), SHOWN + 1);
            if gaps.is_empty() {
                continue;
            }
            let mut texts: Vec<String> = gaps.iter().take(SHOWN).map(describe).collect();
            if gaps.len() > SHOWN {
                texts.push("others".to_owned());
            }
            self.report(Code::PartialPlan, rules[0].number, None, || {
                let fix = Fix::of_gap(plan, rules);
                let advice = match &fix {
                    Some(fix) => format!("add `{}` to cover every request", fix.as_str()),
                    None => format!(
                        "decide which pool they belong to, and add `{plan}` with its attributes to cover every \
                         request"
                    ),
                };
                let gaps = texts.join("; or ");
                let message =
                    format!("plan `{plan}` has no rule for requests with {gaps}: they are refused; {advice}");
                Told { message, fix }
            });
        }
    }

    /// Types that are the same although their parts are not: clusters of both would share a pool.
    fn collisions(&mut self, rules: &[Rule]) {
        let mut types: BTreeMap<String, (Parts<'_>, &Rule)> = BTreeMap::new();
        let mut told = BTreeSet::new();
        let plans = self.plans;
        for rule in rules {
            // What comes from the request is not known.
            if rule.outputs.suffixes().any(|input| rule.input(input).is_none()) {
                continue;
            }
            let suffix = rule.inputs.each_ref().map(Option::as_deref);
            let suffix =
                Input::ALL.map(|input| suffix[input.index()].filter(|_| rule.has(Output::Suffix(input))));
            for provider in plans.providers(&rule.plan).unwrap_or_default() {
                let mut type_ = provider.clone();
                for value in suffix.iter().flatten() {
                    type_.push('_');
                    type_.push_str(value);
                }
                let parts = (provider.as_str(), suffix);
                let (first_parts, first) = types.entry(type_).or_insert((parts, rule));
                if *first_parts != parts && told.insert((first.number, rule.number)) {
                    let first = *first;
                    let type_: Vec<&str> =
                        [provider.as_str()].into_iter().chain(suffix.into_iter().flatten()).collect();
                    self.report(Code::TypeCollision, rule.number, Some(first.number), || {
                        format!(
                            "rules {} (`{}`) and {} both lead to hyperscalerType `{}`, from different regions",
                            first.number,
                            first.text,
                            rule.number,
                            type_.join("_"),
                        )
                    });
                }
            }
        }
    }

    /// Values are open-ended, so a rule always has requests that no more specific rule takes: only its plan can keep
    /// requests from it.
    fn unreachable(&mut self, enabled: &Enabled, rules: &[Rule]) {
        if !enabled.explicit {
            return;
        }
        let names: BTreeSet<&str> = enabled.plans.iter().map(|(plan, _)| plan.as_str()).collect();
        for rule in rules.iter().filter(|rule| !names.contains(rule.plan.as_str())) {
            self.report(Code::Unreachable, rule.number, None, || {
                format!(
                    "no request reaches this rule: plan `{}` is not enabled; enable it, or leave the rule out",
                    rule.plan,
                )
            });
        }
    }

    /// Reports something about the whole of a rule.
    fn report<T: Into<Told>>(
        &mut self,
        code: Code,
        number: usize,
        related: Option<usize>,
        message: impl FnOnce() -> T,
    ) {
        if let Some(Some(scalar)) = self.entries.get(number - 1) {
            self.findings.add(self.source, (code, number, scalar.place, related), message);
        }
    }
}

/// Says that two rules tie, and how to decide.
fn ambiguous(first: &Rule, second: &Rule, inputs: &Inputs, fix: Option<&Fix>) -> String {
    let advice = match fix {
        Some(fix) => format!("add `{}` to decide about them", fix.as_str()),
        None => {
            let named = |input: Input| Some(format!("{input}={}", inputs[input.index()].as_deref()?));
            let inputs = Input::ALL.into_iter().filter_map(named).collect::<Vec<_>>().join(", ");
            format!(
                "decide which pool requests with {inputs} belong to, and add a rule with these inputs and the attributes \
                 of that pool"
            )
        }
    };
    format!(
        "rules {} (`{}`) and {} match the same requests, and neither is more specific: {advice}",
        first.number, first.text, second.number,
    )
}

fn values<'r>(rules: &[&'r Rule]) -> Vec<[Option<&'r str>; INPUTS]> {
    rules.iter().map(|rule| rule.inputs.each_ref().map(Option::as_deref)).collect()
}

/// "PR other than a, b and HR=c".
fn describe(gap: &Gap<&str, INPUTS>) -> String {
    // A list that nobody reads to its end.
    const SHOWN: usize = 5;
    let part = |input: Input| match &gap[input.index()] {
        None => None,
        Some(Part::Is(value)) => Some(format!("{input}={value}")),
        Some(Part::NoneOf(values)) => {
            let more = match values.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown: Vec<&str> = values.iter().take(SHOWN).copied().collect();
            Some(format!("{input} other than {}{more}", shown.join(", ")))
        }
    };
    Input::ALL.into_iter().filter_map(part).collect::<Vec<_>>().join(" and ")
}
