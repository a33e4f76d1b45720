//! The rule language: which pool a request goes to.
//!
//! ```yaml
//! hap:
//!   rule:
//!     - aws                          # every aws cluster: hyperscalerType=aws
//!     - aws(PR=cf-eu11) -> EU        # but in cf-eu11 only accounts for EU access
//!     - sap-converged-cloud -> HR, S # shared accounts, one pool for each region
//! ```
//!
//! A rule is a plan, inputs that must be equal to what the request says, and outputs that say which pool. Of the rules that
//! match, the one with most inputs decides; rules that would leave that open are refused.
//!
//! | file | what is in it |
//! |---|---|
//! | `attribute` | the inputs and outputs there are |
//! | `rule`, `parse` | one rule: how it is written and read |
//! | `file`, `yaml`, `source` | the file, and where in it things stand |
//! | `plans` | which plans there are |
//! | `finding`, `findings`, `check`, `overlap`, `word` | what can be wrong |
//! | `fix` | rules that a finding offers to add |
//! | `set`, `table` | rules in force: which one decides |
//! | `explain`, `diff`, `format` | what people ask about rules |

mod attribute;
mod check;
mod diff;
mod explain;
mod file;
mod finding;
mod findings;
mod fix;
mod format;
mod overlap;
mod parse;
mod plans;
mod rule;
mod set;
pub mod source;
mod table;
pub mod word;
pub mod yaml;

pub use attribute::{INPUTS, Input, Inputs, Output, Outputs};
pub use diff::{Change, Class, Outcome};
pub use explain::{Explanation, Lost, Won};
pub use finding::{Code, Finding, Severity};
pub use findings::MOST_LISTED;
pub use format::format;
pub use parse::Fault;
pub use plans::{ENABLED_BY_DEFAULT, Plans};
pub use rule::Rule;
pub use set::{Match, NoMatch, NoPool, Request, RuleSet};

use source::Source;
use std::collections::BTreeSet;

/// How rules are checked.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The plans that need a rule, whatever the file says.
    pub enabled_plans: Option<Vec<String>>,
    /// Warnings are errors.
    pub strict: bool,
}

/// What came of a rule file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The rules, unless there is an error.
    pub rules: Option<RuleSet>,
    /// What was found, in the order of the file: [`MOST_LISTED`] at most, and one that says how many more there are.
    pub findings: Vec<Finding>,
}

/// Reads and checks a rule file: the chart's `hap:` block, or the same without `hap:`.
///
/// ```
/// use allotment_core::rules::{Options, Request, load};
///
/// let loaded = load("hap: {rule: [aws, 'aws(PR=cf-eu11) -> EU'], enabledPlans: [aws]}", &Options::default());
/// let rules = loaded.rules.ok_or("the rules are bad")?;
/// let request = Request { plan: "aws", platform_region: Some("cf-eu11"), ..Request::default() };
/// let pool = rules.find(&request).map_err(|error| error.to_string())?.pool_key()?;
/// assert_eq!(pool.to_string(), "aws (EU)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load(text: &str, options: &Options) -> Loaded {
    let source = Source::new(text);
    let checked = check::check(file::read(text, &source), &source, options.enabled_plans.as_deref());
    let check::Checked { rules, plans, enabled, labels, plan_of: _, findings } = checked;
    let good = !findings.has_errors() && (!options.strict || findings.count() == 0);
    let mut findings = findings.into_list();
    if options.strict {
        for finding in &mut findings {
            finding.severity = Severity::Error;
        }
    }
    let rules = good.then(|| RuleSet::new(rules, plans, enabled, labels));
    Loaded { rules, findings }
}

/// The same for whoever asks about one plan: errors in rules of other plans do not keep its rules from being answered from. The rules of every
/// plan with an error are left out of the set.
///
/// An error about the file, and one in a rule whose plan cannot be told, may concern any plan.
///
/// ```
/// use allotment_core::rules::{Options, load_plan};
///
/// let text = "hap: {rule: [aws, gcp, 'gcp(PR=a) -> S', 'gcp(HR=b)'], enabledPlans: [aws, gcp]}";
/// assert!(load_plan(text, &Options::default(), "aws").rules.is_some());
/// assert!(load_plan(text, &Options::default(), "gcp").rules.is_none());
/// ```
pub fn load_plan(text: &str, options: &Options, plan: &str) -> Loaded {
    let source = Source::new(text);
    let checked = check::check(file::read(text, &source), &source, options.enabled_plans.as_deref());
    let check::Checked { mut rules, plans, enabled, labels, plan_of, findings } = checked;
    let findings = findings.into_list();
    let errors = || findings.iter().filter(|finding| finding.severity == Severity::Error);
    let is_cut = findings.iter().any(|finding| finding.code == Code::Truncated);
    let broken: Option<BTreeSet<&String>> = errors().map(|error| plan_of.get(&error.rule)).collect();
    let rules = match broken {
        Some(broken) if broken.is_empty() || !is_cut && !broken.iter().any(|broken| *broken == plan) => {
            rules.retain(|rule| !broken.contains(&rule.plan));
            Some(RuleSet::new(rules, plans, enabled, labels))
        }
        _ => None,
    };
    Loaded { rules, findings }
}
