//! Looks at what the rule language makes of any text: the fuzzer and the property tests call the same function.

use allotment_core::rules::{
    Change, Class, Finding, Input, Match, NoMatch, Options, Outcome, Output, Request, Rule, RuleSet, format,
    load,
};
use std::collections::BTreeSet;

/// Loads a text as a rule file and as a rule, and panics if anything about the answer cannot be.
pub fn examine(text: &str) {
    if let Ok(rule) = Rule::parse(1, text) {
        survives(&rule);
    }
    let loaded = load(text, &Options { enabled_plans: Some(Vec::new()), strict: false });
    for finding in &loaded.findings {
        is_in_the_text(finding, text);
    }
    let Some(rules) = loaded.rules else {
        assert!(!loaded.findings.is_empty(), "refused without a reason: {text:?}");
        return;
    };
    rules.rules().iter().for_each(survives);
    agrees(&rules);
    let spelled = format(text).expect("what is good can be spelled");
    let again = load(&spelled, &Options { enabled_plans: Some(Vec::new()), strict: false }).rules;
    let again = again.unwrap_or_else(|| panic!("{spelled:?} is bad, but {text:?} was good"));
    assert!(RuleSet::diff(&rules, &again).is_empty(), "spelling changes what rules mean: {text:?}");
    assert_eq!(format(&spelled).as_deref(), Ok(spelled.as_str()), "spelling is not done at once");
}

/// A rule that is printed and read is the same rule.
fn survives(rule: &Rule) {
    let printed = rule.to_string();
    let read = Rule::parse(rule.number, &printed).unwrap_or_else(|faults| panic!("{printed:?}: {faults:?}"));
    assert_eq!((&read.plan, &read.inputs, read.outputs), (&rule.plan, &rule.inputs, rule.outputs));
    assert_eq!(read.to_string(), printed);
}

fn is_in_the_text(finding: &Finding, text: &str) {
    let Finding { line, column, source_line, message, .. } = finding;
    // An error of the YAML reader may be right behind the end.
    let lines = text.replace("\r\n", "\n").replace('\r', "\n").lines().count();
    assert!(*line >= 1 && *line <= lines + 1, "{finding}");
    assert!(*column >= 1, "{finding}");
    assert!(text.contains(source_line.as_str()), "{finding}");
    assert!(!message.is_empty() && !finding.caret().is_empty());
}

/// Every request that can make a difference: each plan with a rule, each cloud, each value that is named, one that is
/// not, and none.
pub fn requests(sets: &[&RuleSet]) -> Vec<[Option<String>; 4]> {
    let rules = || sets.iter().flat_map(|set| set.rules());
    let plans: BTreeSet<&str> = rules().map(|rule| rule.plan.as_str()).chain(["oracle"]).collect();
    let values = |input: Input| {
        let named: BTreeSet<&str> = rules().filter_map(|rule| rule.input(input)).collect();
        // Not the same for two inputs: one and the other after the arrow would look alike.
        let other = if input == Input::PlatformRegion { "other-platform" } else { "other-hyperscaler" };
        named.into_iter().map(Some).chain([Some(other), None]).collect::<Vec<_>>()
    };
    // With many rules, a part of all requests is enough.
    const MOST: usize = 20_000;
    let mut requests = Vec::new();
    for plan in plans {
        for provider in [None, Some("aws"), Some("azure"), Some("gcp")] {
            for platform in values(Input::PlatformRegion) {
                for hyperscaler in values(Input::HyperscalerRegion) {
                    requests.push(
                        [Some(plan), provider, platform, hyperscaler].map(|word| word.map(str::to_owned)),
                    );
                    if requests.len() == MOST {
                        return requests;
                    }
                }
            }
        }
    }
    requests
}

pub fn request(words: &[Option<String>; 4]) -> Request<'_> {
    let [plan, provider, platform_region, hyperscaler_region] = words.each_ref().map(Option::as_deref);
    Request { plan: plan.unwrap_or_default(), provider, platform_region, hyperscaler_region }
}

/// The rules that match with most inputs, found by looking at every one.
pub fn winners<'r>(rules: impl Iterator<Item = &'r Rule>, request: &Request<'_>) -> Vec<&'r Rule> {
    let matches: Vec<&Rule> = rules
        .filter(|rule| rule.plan == request.plan)
        .filter(|rule| {
            Input::ALL
                .iter()
                .all(|&input| rule.input(input).is_none() || rule.input(input) == request.input(input))
        })
        .collect();
    let most = matches.iter().map(|rule| rule.specificity()).max();
    matches.into_iter().filter(|rule| Some(rule.specificity()) == most).collect()
}

/// The table finds what looking at every rule finds, and `explain` says the same.
pub fn agrees(rules: &RuleSet) {
    for words in requests(&[rules]) {
        let request = request(&words);
        let found = rules.find(&request);
        let explained = rules.explain(&request);
        match winners(rules.rules().iter(), &request).as_slice() {
            [] => {
                let refused = matches!(found, Err(NoMatch::UnknownPlan { .. } | NoMatch::NoRule { .. }));
                assert!(refused, "{request:?}: {found:?}");
                assert!(explained.outcome.is_err());
            }
            [rule] => match found {
                Ok(found) => explains(rules, &found, rule),
                Err(error) => {
                    let providers = rules.plans().providers(request.plan).unwrap();
                    let offered = request
                        .provider
                        .map_or(providers.len() == 1, |name| providers.iter().any(|p| p == name));
                    assert!(!offered, "{request:?}: {error}");
                    assert_eq!(explained.outcome.unwrap_err(), error.to_string());
                }
            },
            several => panic!("{request:?} is ambiguous: {several:?}"),
        }
        let told = explained.lost.len() + usize::from(!winners(rules.rules().iter(), &request).is_empty());
        assert_eq!(told, rules.rules().iter().filter(|rule| rule.plan == request.plan).count());
    }
}

fn explains(rules: &RuleSet, found: &Match<'_>, rule: &Rule) {
    assert_eq!(found.rule.number, rule.number);
    let outcome = rules.explain(&found.request()).outcome;
    match (found.pool_key(), outcome) {
        (Ok(pool), Ok(won)) => {
            assert_eq!((won.number, &won.pool), (rule.number, &pool));
            assert_eq!(won.selector, pool.selector(rules.labels()));
            assert_eq!(pool.shared, rule.has(Output::Shared));
            assert_eq!(pool.eu_access, rule.has(Output::EuAccess));
            let expected = [found.provider]
                .into_iter()
                .chain(rule.outputs.suffixes().filter_map(|input| found.request().input(input)))
                .collect::<Vec<_>>()
                .join("_");
            assert_eq!(pool.hyperscaler_type, expected);
        }
        (Err(error), Err(why)) => assert_eq!(error.to_string(), why),
        (pool, outcome) => panic!("{pool:?} against {outcome:?}"),
    }
}

/// A request is among the changes if and only if it goes elsewhere.
pub fn differ(old: &RuleSet, new: &RuleSet) {
    let changes = RuleSet::diff(old, new);
    for words in requests(&[old, new]).iter().filter(|[_, provider, ..]| provider.is_some()) {
        let request = request(words);
        let pool = |rules: &RuleSet| rules.find(&request).ok().and_then(|found| found.pool_key().ok());
        let both_find = [old, new].map(|rules| rules.find(&request).is_ok());
        let no_region =
            [old, new].iter().any(|rules| matches!(rules.find(&request), Ok(f) if f.pool_key().is_err()));
        if no_region {
            continue;
        }
        let listed: Vec<&Change> =
            changes.iter().filter(|change| is_among(change, &request, [old, new])).collect();
        let goes_elsewhere = pool(old) != pool(new) || both_find[0] != both_find[1];
        match listed.as_slice() {
            [] => assert!(!goes_elsewhere, "{request:?} is missing in {changes:?}"),
            [change] => {
                let refused = |outcome: &Outcome| matches!(outcome, Outcome::Refused(_));
                assert!(
                    goes_elsewhere || (refused(&change.old) && refused(&change.new)),
                    "{request:?}: {change:?}"
                );
                assert_eq!([&change.old, &change.new].map(refused), both_find.map(|found| !found));
            }
            several => panic!("{request:?} is there twice: {several:?}"),
        }
    }
}

fn is_among(change: &Change, request: &Request<'_>, sets: [&RuleSet; 2]) -> bool {
    let fits = |input: Input| match &change.inputs[input.index()] {
        Class::Any => true,
        Class::Is(value) => request.input(input) == Some(value),
        Class::Other => !sets
            .iter()
            .flat_map(|set| set.rules())
            .filter(|rule| rule.plan == change.plan)
            .any(|rule| rule.input(input).is_some() && rule.input(input) == request.input(input)),
    };
    change.plan == request.plan
        && Some(change.provider.as_str()) == request.provider
        && Input::ALL.into_iter().all(fits)
}
