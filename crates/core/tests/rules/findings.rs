//! What is found, and where. `findings.txt` has, for every case, all findings with the line and the caret as people see
//! them; after a change, `ALLOTMENT_GENERATE=1 cargo test -p allotment-core --test rules` writes it anew for you to read.

use allotment_core::rules::{Code, MOST_LISTED, Options, Severity, load};
use std::{collections::BTreeSet, fs};

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rules/findings.txt");

/// What the case is about, the enabled plans where the file does not say, and the file.
const CASES: &[(&str, Option<&str>, &str)] = &[
    (
        "syntax",
        Some("aws"),
        "rule:
  - aws
  - (PR=x) -> S
  - ''
  - aws(PR=cf eu11) -> EU
  - aws(PR=a=b)
  - aws(PR)
  - aws(PR=)
  - aws(,)
  - aws(PR=a,)
  - aws(PR=a
  - aws(PR=a -> S
  - aws(PR=x)foo
  - )aws(PR=x
  - 'aws # comment'
  - a w s
  - aws - > S
  - aws ->
  - aws -> S,
  - aws -> S -> EU
  - aws -> S=true, EU
  - aws -> S EU
",
    ),
    (
        "several faults of one rule come together",
        Some("aws"),
        "rule:
  - aws
  - aws(XX=1, PR, HR=-a, PR=*) -> S, s, S, Q
",
    ),
    (
        "unknown attribute",
        Some("aws"),
        "rule: [aws, 'aws(pr=x)', 'aws(EU=x)', aws -> EX, 'aws(HR=a) -> eu, S']
",
    ),
    (
        "duplicate attribute",
        Some("aws"),
        "rule:
- aws
- aws(PR=a, HR=b, PR=c)
- aws(HR=a) -> S, EU, S
",
    ),
    (
        "invalid value",
        Some("aws,gcp,sap-converged-cloud"),
        "rule:\n- sap-converged-cloud(HR=*) -> S\n- aws\n- aws(PR=cf-*)\n- aws(PR=-bad-)\n- aws(PR=a;b)\n- \"aws(PR=a\u{a0}b)\"\n- a$s\n- '*'\n- gcp(PR=*, HR=us) -> EU\n- aws(PR=rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr)\n- gcp(PR=rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr) -> PR\n- gcp(PR=rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr) -> PR, HR\n",
    ),
    (
        "unknown plan",
        Some("aws,awz"),
        "rule:
- aws
- Azure
- azuer -> S
- oracle
",
    ),
    (
        "duplicate rule",
        Some("gcp"),
        "hap:
  rule:
    - gcp
    - gcp -> S                      # invalid entry
    - gcp(HR=europe-west3)          # valid entry
    - gcp ( HR = europe-west3 )     # invalid entry
    - gcp(  )
",
    ),
    (
        "ambiguous",
        Some("gcp"),
        "rule:
- gcp
- gcp(PR=a)
- gcp(PR=b) -> S
- gcp(HR=c)
- gcp(PR=b, HR=c)
- gcp(HR=d) -> EU
",
    ),
    (
        "uncovered plan",
        None,
        "hap:
  rule:
  - aws
  - azure(PR=
  - gcp
  - trial
  - free
  enabledPlans:
  - aws
  - azure
  - preview  # soon
",
    ),
    (
        "partial plan",
        Some("aws,gcp,azure"),
        "rule:
- aws(PR=cf-eu11) -> EU
- aws(PR=cf-us10)
- gcp(PR=a)
- gcp(PR=b, HR=c)
- azure(HR=x)
- azure(PR=p, HR=y)
",
    ),
    (
        "type collision",
        Some("gcp"),
        "rule:
- gcp
- gcp(PR=a_b, HR=c) -> PR, HR
- gcp(PR=a, HR=b_c) -> HR, PR
- gcp(PR=a_b_c) -> PR, S
- gcp(PR=q) -> HR
",
    ),
    (
        "unreachable",
        None,
        "rule: [aws, azure, alicloud -> S]
enabledPlans: [aws, azure]
",
    ),
    (
        "misspelt keys",
        Some("aws"),
        "hap:
  rules:
  - aws
",
    ),
    (
        "more misspelt keys",
        Some("aws"),
        "rule: [aws]
enabledPlan: [aws]
plans:
  trial: {provider: [aws]}
  free: {providers: []}
  own: {providers: [a b]}
  'o n': {providers: [aws]}
labels: {tenant-name: x, hyperscalerType: 1}
",
    ),
    (
        "keys beside hap",
        Some("aws"),
        "hap:
  rule: [aws]
rule: [aws]
gardener: {}
hep: 1
foo: 2
",
    ),
    (
        "an empty list",
        None,
        "hap:
  rule: []
",
    ),
    (
        "an empty value",
        None,
        "hap:
  rule:
",
    ),
    (
        "no list",
        None,
        "rule: aws
",
    ),
    (
        "no rule key",
        None,
        "hap:
  bindingKind: Secret
",
    ),
    ("an empty file", None, ""),
    (
        "only a text",
        None,
        "aws
",
    ),
    (
        "a list without key",
        None,
        "- aws
",
    ),
    (
        "not yaml",
        None,
        "rule:
  - aws
  - [aws
",
    ),
    (
        "a key twice",
        None,
        "rule: [aws]
rule: [gcp]
",
    ),
    (
        "items that are no text",
        Some("aws"),
        "rule:
  - aws
  - 12
  -
  - {aws: 1}
  - [aws]
",
    ),
    (
        "places in other spellings",
        Some("aws"),
        "# a comment\r\nhap:\r\n  rule:\t# another\r\n  - aws\r\n  - \"aws(XR=a)\"\r\n  - 'aws( YR=a)'   # why\r\n  - é(PR=x)\r\n  - >-\r\n    aws(\r\n    ZR=a)\r\n  - |\r\n    aws(QR=a)\r\n  - \"aws(\\x50Q=a)\"\r\n  - &x aws(WR=a)\r\n  - *x\r\n",
    ),
    ("carriage returns alone end lines", Some("aws"), "rule:\r- aws\r- aws ->\r"),
];

fn options(plans: Option<&str>) -> Options {
    let plans = plans.map(|plans| plans.split(',').map(str::to_owned).collect());
    Options { enabled_plans: plans, strict: false }
}

/// All findings of a file.
fn report(text: &str, options: &Options) -> String {
    let mut report = String::new();
    for finding in load(text, options).findings {
        let related = finding.related.map(|rule| format!(", see rule {rule}")).unwrap_or_default();
        let rule = finding.rule;
        report.push_str(&format!("{finding} [rule {rule}{related}]\n"));
        report.push_str(&format!("  | {}\n  | {}\n", finding.source_line, finding.caret()));
    }
    report
}

#[test]
fn findings_are_as_expected() {
    let mut found = String::new();
    for (name, plans, text) in CASES {
        found.push_str(&format!("=== {name}\n{}\n", report(text, &options(*plans))));
    }
    #[allow(clippy::disallowed_methods, reason = "how a person asks for the file to be written anew")]
    if std::env::var("ALLOTMENT_GENERATE").is_ok() {
        fs::write(EXPECTED, &found).unwrap();
    }
    let expected = fs::read_to_string(EXPECTED).unwrap();
    for (found, expected) in found.split("=== ").zip(expected.split("=== ")) {
        assert_eq!(found, expected, "\n--- found ---\n{found}\n--- expected ---\n{expected}");
    }
    assert_eq!(found, expected);
}

#[test]
fn every_code_has_a_case() {
    let codes: BTreeSet<Code> = CASES
        .iter()
        .flat_map(|(_, plans, text)| load(text, &options(*plans)).findings)
        .map(|finding| finding.code)
        // It has a test of its own.
        .chain([Code::Truncated])
        .collect();
    assert_eq!(codes.into_iter().collect::<Vec<_>>(), Code::ALL);
}

#[test]
fn rules_are_used_unless_there_is_an_error() {
    for (name, plans, text) in CASES {
        for strict in [false, true] {
            let loaded = load(text, &Options { strict, ..options(*plans) });
            let error = loaded.findings.iter().any(|finding| finding.severity == Severity::Error);
            assert_eq!(loaded.rules.is_none(), error, "{name}");
            assert!(
                !strict || loaded.findings.iter().all(|finding| finding.severity == Severity::Error),
                "{name}"
            );
        }
    }
}

#[test]
fn a_finding_is_json() {
    let findings = load("rule: [gcp, gcp -> S]\n", &options(Some("gcp"))).findings;
    assert_eq!(
        serde_json::to_value(&findings).unwrap(),
        serde_json::json!([{
            "severity": "error",
            "code": "duplicate-rule",
            "rule": 2,
            "line": 1,
            "column": 13,
            "message": "rule 2 is the same as rule 1 (`gcp`): both have the same plan and inputs, and what comes after `->` does \
                        not tell rules apart",
            "related": 1,
            "fix": null
        }])
    );
}

#[test]
fn the_chart_is_known() {
    let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/allotment");
    let values = fs::read_to_string(format!("{chart}/values.yaml")).unwrap();
    let loaded = load(&values, &Options { strict: true, ..Options::default() });
    assert_eq!(loaded.findings, []);
    // Every key that the chart can have, so that nobody is told that one of them is unknown.
    let schema = fs::read_to_string(format!("{chart}/values.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    for key in schema["properties"].as_object().unwrap().keys().filter(|key| *key != "hap") {
        let text = format!("hap: {{rule: [aws], enabledPlans: [aws]}}\n{key}: {{}}\n");
        assert_eq!(load(&text, &Options::default()).findings, [], "{key} is missing in rules/file.rs");
    }
}

#[test]
fn the_page_shows_good_rules() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md")).unwrap();
    let example = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let loaded = load(example, &Options { strict: true, ..Options::default() });
    assert_eq!(loaded.findings, []);
    for code in Code::ALL {
        assert!(page.contains(&format!("| `{code}` |")), "{code} is missing on the page");
    }
    for plan in loaded.rules.unwrap().plans().names() {
        assert!(page.contains(plan), "{plan} is missing on the page");
    }
}

/// Rules of one plan with as many platform as hyperscaler regions: every pair of them is ambiguous.
fn ambiguous(each: usize) -> String {
    let mut text = "rule:\n- aws\n".to_owned();
    for input in ["PR", "HR"] {
        (0..each).for_each(|n| text.push_str(&format!("- aws({input}=r{n})\n")));
    }
    text
}

#[test]
fn the_first_findings_are_listed_and_the_others_counted() {
    let options = Options { enabled_plans: Some(vec!["aws".to_owned()]), strict: false };
    // As many as are listed, and one more.
    let loaded = load(&ambiguous(10), &options);
    assert_eq!((loaded.findings.len(), loaded.rules.is_none()), (MOST_LISTED, true));
    assert!(loaded.findings.iter().all(|finding| finding.code == Code::Ambiguous));
    let loaded = load(&ambiguous(11), &options);
    assert_eq!(loaded.findings.len(), MOST_LISTED + 1);
    let last = loaded.findings.last().unwrap();
    assert_eq!(last.code, Code::Truncated);
    assert!(last.message.starts_with("21 more findings are not listed"), "{last}");
    // The first in the order of the file.
    let related: Vec<(usize, Option<usize>)> =
        loaded.findings.iter().take(12).map(|finding| (finding.rule, finding.related)).collect();
    assert_eq!(related[0], (13, Some(2)));
    assert_eq!(related[11], (14, Some(2)));
    let loaded = load(&ambiguous(1_500), &options);
    let last = loaded.findings.last().unwrap();
    assert!(last.message.starts_with("at least 9900 more findings are not listed"), "{last}");
}

#[test]
fn an_error_is_listed_before_warnings_and_refuses_also_where_it_is_not() {
    let mut text = "enabledPlans: [aws]\nrule:\n- aws\n".to_owned();
    (0..200).for_each(|n| text.push_str(&format!("- gcp(PR=r{n})\n")));
    let warned = load(&text, &Options::default());
    assert!(warned.rules.is_some() && warned.findings.len() == MOST_LISTED + 1);
    assert!(warned.findings.iter().all(|finding| finding.severity == Severity::Warning));
    assert!(load(&text, &Options { strict: true, ..Options::default() }).rules.is_none());
    text.push_str("- nothing\n");
    let refused = load(&text, &Options::default());
    assert!(refused.rules.is_none());
    assert!(refused.findings.iter().any(|finding| finding.code == Code::UnknownPlan));
}

/// A file on one line: no finding holds all of it.
#[test]
fn findings_in_a_long_line_are_short() {
    let rules: Vec<String> = (0..1_000).map(|n| format!("'aws(PR=r{n}'")).collect();
    let loaded = load(&format!("rule: [{}]", rules.join(", ")), &Options::default());
    assert_eq!(loaded.findings.len(), MOST_LISTED + 1);
    for finding in &loaded.findings {
        assert!(finding.source_line.len() <= 200 && finding.caret().len() <= 400, "{finding}");
    }
}
