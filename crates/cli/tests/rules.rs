//! `allotment rules` as a person or a pipeline sees it: exit codes, what is printed where, JSON.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

/// The rules that the chart comes with.
const VALUES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/allotment/values.yaml");

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// Runs `allotment rules …` with a file on standard input.
fn rules(args: &[&str], input: &str) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_allotment"))
        .arg("rules")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_chart_passes_the_strictest_check() {
    let ran = rules(&["check", "--strict", VALUES], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("values.yaml: 11 rules, all good\n"), "{}", ran.stdout);
}

#[test]
fn check_shows_every_finding_with_its_place() {
    let ran = rules(&["check", "-", "--enabled-plans", "gcp,aws"], "rule:\n  - gcp\n  - gcp -> S\n");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let expected = "\
error[uncovered-plan]: enabled plan `aws` has no rule: add at least `aws`
 --> standard input:1:1
1 | rule:
  | ^^^^

error[duplicate-rule]: rule 2 is the same as rule 1 (`gcp`): both have the same plan and inputs, and what comes after `->` \
does not tell rules apart
 --> standard input:3:5
3 |   - gcp -> S
  |     ^^^^^^^^

standard input: 2 errors
";
    assert_eq!(ran.stdout, expected);
}

#[test]
fn check_as_json() {
    let good = rules(&["check", "-", "-o", "json"], &fs::read_to_string(VALUES).unwrap());
    assert_eq!((good.code, good.json()), (0, json!({ "ok": true, "findings": [] })));

    let bad = rules(&["check", "-o", "json", "--enabled-plans=aws", "-"], "hap: {rules: [aws]}\n");
    let finding = json!({
        "severity": "error",
        "code": "syntax",
        "rule": 0,
        "line": 1,
        "column": 7,
        "message": "unknown key `rules`; did you mean `rule`?",
        "related": null,
        "fix": null
    });
    assert_eq!((bad.code, bad.json()), (1, json!({ "ok": false, "findings": [finding] })));
}

#[test]
fn warnings_fail_only_if_strict() {
    let partial = "rule: [aws(PR=x)]\nenabledPlans: [aws]\n";
    let ran = rules(&["check", "-", "-o", "json"], partial);
    assert_eq!(
        (ran.code, &ran.json()["ok"], &ran.json()["findings"][0]["severity"]),
        (0, &json!(true), &json!("warning"))
    );
    let ran = rules(&["check", "-", "-o", "json", "--strict"], partial);
    assert_eq!(
        (ran.code, &ran.json()["ok"], &ran.json()["findings"][0]["severity"]),
        (1, &json!(false), &json!("error"))
    );
    let ran = rules(&["check", "-"], partial);
    assert!(ran.stdout.ends_with("standard input: 1 warning\n"), "{}", ran.stdout);
}

#[test]
fn nothing_crashes_on_an_empty_file() {
    for text in ["", "hap:\n", "rule: []\n", "hap: {rule: }\n", "rules: [aws]\n", "\0", "[", "---\n---\n"] {
        for command in
            [&["check", "-"][..], &["explain", "-", "--plan", "aws"], &["fmt", "-"], &["diff", "-", VALUES]]
        {
            let ran = rules(command, text);
            assert_eq!(ran.code, 1, "{command:?} {text:?}: {}{}", ran.stdout, ran.stderr);
            assert!(
                format!("{}{}", ran.stdout, ran.stderr).contains("error[syntax]"),
                "{command:?} {text:?}"
            );
        }
    }
}

#[test]
fn explain_as_json() {
    let ran = rules(&["explain", VALUES, "--plan", "aws", "--platform-region", "cf-eu11", "-o", "json"], "");
    let expected = json!({
        "rule": "aws(PR=cf-eu11) -> EU",
        "number": 2,
        "hyperscalerType": "aws",
        "shared": false,
        "euAccess": true,
        "selector": "hyperscalerType=aws,!dirty,!internal,shared!=true,euAccess=true"
    });
    assert_eq!((ran.code, ran.json()), (0, expected));

    let region = ["--hyperscaler-region", "eu-de-1"];
    let ran = rules(
        &[&["explain", VALUES, "--plan", "sap-converged-cloud", "-o", "json"][..], &region].concat(),
        "",
    );
    assert_eq!(ran.json()["hyperscalerType"], "openstack_eu-de-1");
    assert_eq!(ran.json()["shared"], true);

    let ran = rules(&["explain", VALUES, "--plan", "trial", "--provider", "azure", "-o", "json"], "");
    assert_eq!(ran.json()["hyperscalerType"], "azure");
}

#[test]
fn explain_says_why_there_is_no_pool() {
    for (args, error) in [
        (&["--plan", "gdch"][..], "no rule matches plan `gdch`, no platform region, no hyperscaler region"),
        (&["--plan", "trial"], "plan `trial` needs a provider: `aws` or `azure`"),
        (
            &["--plan", "sap-converged-cloud"],
            "rule 8 (`sap-converged-cloud -> HR, S`) makes the hyperscaler region part of the type, and the request has no \
             hyperscaler region",
        ),
    ] {
        let ran = rules(&[&["explain", VALUES, "-o", "json"], args].concat(), "");
        assert_eq!((ran.code, ran.json()), (1, json!({ "error": error })));
    }
    let bad = rules(&["explain", "-", "--plan", "aws", "-o", "json"], "rule: [aws]\n");
    assert_eq!((bad.code, &bad.json()["error"]), (1, &json!("standard input: 7 errors")));
    let good =
        rules(&["explain", "-", "--plan", "aws", "-o", "json", "--enabled-plans", "aws"], "rule: [aws]\n");
    assert_eq!(good.code, 0);
}

/// Somebody mends the rules of one plan, and somebody else wants to know about another.
#[test]
fn an_error_in_the_rules_of_another_plan_does_not_stop_an_explanation() {
    let text =
        "enabledPlans: [aws, gcp]\nrule: [aws, 'aws(PR=eu) -> EU', 'gcp(PR=a) -> S', 'gcp(HR=b)', gcp]\n";
    let aws = rules(&["explain", "-", "--plan", "aws", "--platform-region", "eu", "-o", "json"], text);
    assert_eq!((aws.code, &aws.json()["rule"]), (0, &json!("aws(PR=eu) -> EU")), "{}", aws.stderr);
    assert!(aws.stderr.contains("1 error about other plans"), "{}", aws.stderr);
    for (what, text) in [
        ("its own plan", text),
        ("a rule that may be for it", "enabledPlans: [gcp]\nrule: [gcp, 'gpc(PR=x) -> EU']\n"),
        ("a rule without a plan", "enabledPlans: [gcp]\nrule: [gcp, '(PR=x) -> EU']\n"),
        ("the file", "enabledPlans: [gcp]\nrules: [gcp]\n"),
    ] {
        let gcp = rules(&["explain", "-", "--plan", "gcp"], text);
        assert_eq!(gcp.code, 1, "{what}: {}", gcp.stdout);
    }
}

#[test]
fn explain_for_people() {
    let ran = rules(&["explain", VALUES, "--plan", "aws", "--platform-region", "cf-eu11"], "");
    let expected = "\
rule 2    aws(PR=cf-eu11) -> EU
pool      aws (EU)
selector  hyperscalerType=aws,!dirty,!internal,shared!=true,euAccess=true

Other rules of the plan
rule 1  aws  it matches, but rule 2 is more specific (1 input against no input)
9 rules are for other plans
";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, expected));
    let ran = rules(&["explain", VALUES, "--plan", "aws", "--platform-region", "cf-us10"], "");
    assert!(
        ran.stdout.contains("rule 2  aws(PR=cf-eu11) -> EU  platform region is cf-us10, not cf-eu11\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn diff_shows_who_goes_elsewhere() {
    let values = fs::read_to_string(VALUES).unwrap();
    let same = rules(&["diff", VALUES, "-"], &values);
    assert_eq!((same.code, same.stdout.as_str()), (0, "every request goes to the pool that it went to\n"));

    let new = values
        .replace("- azure(PR=cf-ch20) -> EU ", "- azure(PR=cf-ch20) -> EU, PR ")
        .replace("- gcp  ", "- gcp -> HR  ")
        .replace("- trial -> S", "- trial");
    let ran = rules(&["diff", VALUES, "-"], &new);
    let expected = "\
PLAN   PROVIDER  PR         HR   OLD             NEW
azure            cf-ch20    any  azure (EU)      azure_cf-ch20 (EU)
gcp              any other  any  gcp             gcp_<HR>
trial  aws       any        any  aws (shared)    aws
trial  azure     any        any  azure (shared)  azure
4 kinds of requests go elsewhere
";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, expected));

    let ran = rules(&["diff", VALUES, "-", "-o", "json"], &new);
    let expected = json!({
        "plan": "gcp",
        "provider": "gcp",
        "platformRegion": "<other>",
        "hyperscalerRegion": null,
        "old": { "hyperscalerType": "gcp", "shared": false, "euAccess": false },
        "new": { "hyperscalerType": "gcp_<HR>", "shared": false, "euAccess": false }
    });
    assert_eq!((ran.code, &ran.json()["changes"][1]), (0, &expected));
}

#[test]
fn fmt_spells_rules_alike_and_keeps_the_rest() {
    let text = "# mine\nhap:\n  rule:\n  - aws( )            # all\n  - \"aws(HR=b,PR=a)->EU,S\"\n  - gcp\n  labels: {}\n";
    let spelled = "# mine\nhap:\n  rule:\n  - aws               # all\n  - \"aws(PR=a, HR=b) -> S, EU\"\n  - gcp\n  labels: {}\n";
    let ran = rules(&["fmt", "-"], text);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, spelled));
    assert_eq!(rules(&["fmt", "-"], spelled).stdout, spelled);

    let path = std::env::temp_dir().join(format!("allotment-rules-fmt-{}.yaml", std::process::id()));
    fs::write(&path, text).unwrap();
    let ran = rules(&["fmt", "--write", path.to_str().unwrap()], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(&path).unwrap(), spelled);
    fs::remove_file(&path).unwrap();

    let ran = rules(&["fmt", "-"], "rule: [aws ->]\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("expected an output attribute"), "{}", ran.stderr);
}

#[test]
fn wrong_usage_is_two() {
    for args in [
        &["check"][..],
        &["check", "/no/such/file"],
        &["explain", VALUES],
        &["diff", VALUES],
        &["check", VALUES, "-o", "xml"],
        &["what"],
        &[],
    ] {
        let ran = rules(args, "");
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn help_has_examples() {
    for command in ["check", "explain", "diff", "fmt"] {
        let ran = rules(&[command, "--help"], "");
        assert_eq!(ran.code, 0);
        assert!(ran.stdout.contains("Example"), "{command}");
    }
}
