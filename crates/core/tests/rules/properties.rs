//! What holds for any text and any rules. How many cases are tried is said by `PROPTEST_CASES`: a hundred thousand take minutes.

use super::examine::{agrees, differ, examine, request, requests, winners};
use allotment_core::rules::{Code, Input, Options, Output, Rule, RuleSet, Severity, load};
use proptest::{prelude::*, sample::select};
use std::collections::BTreeSet;

/// What rules are made of, and what people put between.
const TOKENS: [&str; 30] = [
    "aws", "gcp", "free", "trial", "PR", "HR", "S", "EU", "pr", "XX", "(", ")", ",", "=", "->", " ", "\t",
    "\n", "-", ">", "*", "cf-eu11", "a_b", "-a", "é", "\u{a0}", "'", "\"", "#", ": ",
];

fn soup() -> impl Strategy<Value = String> {
    proptest::collection::vec(select(&TOKENS[..]), 0..16).prop_map(|tokens| tokens.concat())
}

/// Something like a rule file.
fn file_soup() -> impl Strategy<Value = String> {
    let key = select(
        &[
            "hap:\n",
            "rule:\n",
            "  rule:\n",
            "rules:\n",
            "enabledPlans: [aws, gcp]\n",
            "plans:\n  x: {providers: [y]}\n",
            "- ",
            "  - ",
            "---\n",
            "# note\n",
            "labels: {dirty: d}\n",
            "\u{feff}",
            "\r\n",
            "[",
            "]",
            "{",
            "}",
            "&a ",
            "*a",
            "\n",
            "- >-\n    ",
            "- |\n  ",
            "\"",
            "'",
            "\\x41",
        ][..],
    );
    let piece = prop_oneof![
        3 => soup().prop_map(|rule| format!("  - {rule}\n")),
        1 => soup().prop_map(|rule| format!("  - \"{rule}\"   # why\n")),
        1 => written_rule().prop_map(|rule| format!("  - {rule}\n")),
        2 => key.prop_map(str::to_owned),
    ];
    let start = select(&["rule:\n", "hap:\n  rule:\n", ""][..]);
    (start, proptest::collection::vec(piece, 0..12))
        .prop_map(|(start, pieces)| start.to_owned() + &pieces.concat())
}

/// A rule as somebody would write it.
fn written_rule() -> impl Strategy<Value = String> {
    let blank = || select(&["", " ", "  "][..]);
    let value = |words: &'static [&'static str]| proptest::option::of(select(words));
    (
        select(&["aws", "gcp", "free"][..]),
        value(&["a", "b", "a_b", "cf-eu11"]),
        value(&["c", "b_c", "d"]),
        proptest::sample::subsequence(Output::ALL.to_vec(), 0..=Output::ALL.len()).prop_shuffle(),
        any::<bool>(),
        blank(),
    )
        .prop_map(|(plan, platform, hyperscaler, outputs, turned, blank)| {
            let mut inputs: Vec<String> =
                [(Input::PlatformRegion, platform), (Input::HyperscalerRegion, hyperscaler)]
                    .into_iter()
                    .filter_map(|(input, value)| Some(format!("{blank}{input}{blank}={blank}{}", value?)))
                    .collect();
            if turned {
                inputs.reverse();
            }
            let inputs = if inputs.is_empty() { String::new() } else { format!("({})", inputs.join(",")) };
            let names: Vec<&str> = outputs.iter().map(|output| output.name()).collect();
            let outputs =
                if names.is_empty() { String::new() } else { format!("{blank}->{}", names.join(",")) };
            format!("{plan}{blank}{inputs}{outputs}")
        })
}

/// Rules that differ, whether they go together or not.
fn written_rules() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(written_rule(), 1..14).prop_map(|rules| {
        let mut seen = BTreeSet::new();
        rules
            .into_iter()
            .filter(|text| {
                let rule = Rule::parse(1, text).unwrap();
                seen.insert((rule.plan, rule.inputs))
            })
            .collect()
    })
}

fn parsed(texts: &[String]) -> Vec<Rule> {
    texts.iter().enumerate().map(|(index, text)| Rule::parse(index + 1, text).unwrap()).collect()
}

/// Every kind of request that rules of [`written_rule`] tell apart.
fn all_requests() -> Vec<[Option<String>; 4]> {
    let mut all = Vec::new();
    for plan in ["aws", "gcp", "free"] {
        for platform in ["a", "b", "a_b", "cf-eu11", "other"] {
            for hyperscaler in ["c", "b_c", "d", "other"] {
                all.push(
                    [Some(plan), None, Some(platform), Some(hyperscaler)].map(|word| word.map(str::to_owned)),
                );
            }
        }
    }
    all
}

fn read(rules: &[String]) -> allotment_core::rules::Loaded {
    let text = serde_json::json!({ "rule": rules }).to_string();
    load(&text, &Options { enabled_plans: Some(Vec::new()), strict: false })
}

/// Rules that go together: those that do not are left out, one by one.
fn good_rules() -> impl Strategy<Value = RuleSet> {
    written_rules().prop_map(|mut rules| {
        loop {
            let loaded = read(&rules);
            match loaded.rules {
                Some(set) => return set,
                None => {
                    let bad = loaded.findings.iter().find(|finding| finding.code == Code::Ambiguous).unwrap();
                    rules.remove(bad.rule - 1);
                }
            }
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        examine(&text);
    }

    #[test]
    fn any_tokens_are_read(text in soup()) {
        examine(&text);
    }

    #[test]
    fn any_file_is_read(text in file_soup()) {
        examine(&text);
    }

    #[test]
    fn a_lookup_is_what_looking_at_every_rule_finds(rules in good_rules()) {
        agrees(&rules);
    }

    #[test]
    fn rules_are_ambiguous_if_a_request_has_two_winners(texts in written_rules()) {
        let rules = parsed(&texts);
        let mut expected = BTreeSet::new();
        for words in all_requests() {
            let winners = winners(rules.iter(), &request(&words));
            for (place, one) in winners.iter().enumerate() {
                for other in &winners[place + 1..] {
                    expected.insert((other.number, Some(one.number)));
                }
            }
        }
        let found: BTreeSet<(usize, Option<usize>)> = read(&texts)
            .findings
            .iter()
            .filter(|finding| finding.code == Code::Ambiguous)
            .map(|finding| (finding.rule, finding.related))
            .collect();
        prop_assert_eq!(found, expected);
    }

    /// Pasted into the file, every offered rule mends its finding, adds none, and moves nobody.
    #[test]
    fn an_offered_fix_is_safe(texts in written_rules()) {
        let before: Vec<Rule> = parsed(&texts);
        let loaded = read(&texts);
        let of = |code: Code| loaded.findings.iter().filter(move |finding| finding.code == code);
        let fixes = |code: Code| of(code).filter_map(|finding| finding.fix.clone()).collect::<Vec<String>>();
        let open = of(Code::Ambiguous).filter(|finding| finding.fix.is_none()).count();
        let offered = [fixes(Code::Ambiguous), fixes(Code::PartialPlan)].concat();
        let pasted = [texts, offered].concat();
        let after: Vec<Rule> = parsed(&pasted);
        let mended = read(&pasted);
        let errors: Vec<_> = mended.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
        prop_assert!(errors.iter().all(|error| error.code == Code::Ambiguous), "{:?}", errors);
        prop_assert_eq!(errors.len(), open);
        for words in all_requests() {
            let request = request(&words);
            let [old, new] = [&before, &after].map(|rules| winners(rules.iter(), &request));
            match (old.as_slice(), new.as_slice()) {
                ([one], [other]) => prop_assert_eq!(one.outputs, other.outputs, "{:?}", request),
                ([_], others) => prop_assert!(false, "{:?} had a pool: {:?}", request, others),
                ([], others) => prop_assert!(others.len() < 2),
                (tied, [other]) => {
                    for output in Output::ALL {
                        let claimed: BTreeSet<bool> = tied.iter().map(|rule| rule.has(output)).collect();
                        if output == Output::EuAccess {
                            prop_assert_eq!(other.has(output), claimed.contains(&true), "{:?}", request);
                        } else {
                            prop_assert_eq!(BTreeSet::from([other.has(output)]), claimed, "{:?}", request);
                        }
                    }
                }
                (tied, others) => prop_assert_eq!(tied.len(), others.len()),
            }
        }
    }

    #[test]
    fn a_plan_is_partial_if_a_request_has_no_winner(texts in written_rules()) {
        let loaded = read(&texts);
        let partial: BTreeSet<String> = loaded
            .findings
            .iter()
            .filter(|finding| finding.code == Code::PartialPlan)
            .map(|finding| Rule::parse(1, &texts[finding.rule - 1]).unwrap().plan)
            .collect();
        let rules: Vec<Rule> = texts.iter().map(|text| Rule::parse(1, text).unwrap()).collect();
        let without_general: BTreeSet<String> = rules
            .iter()
            .map(|rule| rule.plan.clone())
            .filter(|plan| !rules.iter().any(|rule| rule.plan == *plan && rule.specificity() == 0))
            .collect();
        prop_assert_eq!(partial, without_general);
    }

    #[test]
    fn a_diff_has_what_goes_elsewhere(old in good_rules(), new in good_rules()) {
        differ(&old, &new);
        prop_assert!(RuleSet::diff(&old, &old).is_empty());
        prop_assert!(!requests(&[&old, &new]).is_empty());
    }
}
