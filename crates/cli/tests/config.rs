//! `allotment config` and `allotment run` with a bad file, as a person or a pipeline sees them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    process::{Command, Output, Stdio},
};

const GOOD: &str =
    "hap: {rule: [aws], enabledPlans: [aws]}\nledger: {url: 'sqlite::memory:'}\ntenancy: {mode: trusted}\n";
const BAD: &str = "hap: {rule: [aws, gpc], enabledPlans: [aws]}\nledgr: {}\nserver: {address: here}\ntenancy: {mode: trusted}\n";

fn allotment(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_allotment"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn check_says_everything_with_its_place() {
    let good = allotment(&["config", "check", "-"], GOOD);
    assert_eq!(
        (good.status.code(), text(&good.stdout)),
        (Some(0), "standard input: 1 rule, all good\n".to_owned())
    );

    let bad = allotment(&["config", "check", "-"], BAD);
    assert_eq!((bad.status.code(), text(&bad.stderr)), (Some(1), String::new()));
    let said = text(&bad.stdout);
    assert!(said.contains("there is no plan `gpc`"), "{said}");
    assert!(said.contains(" --> standard input:2:1\n2 | ledgr: {}\n  | ^^^^^\n"), "{said}");
    assert!(said.ends_with("standard input: 3 errors\n"), "{said}");

    let json = allotment(&["config", "check", "-o", "json", "-"], BAD);
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((json.status.code(), &value["ok"]), (Some(1), &json!(false)));
    assert_eq!(value["findings"].as_array().unwrap().len(), 3);
    assert_eq!(value["findings"][2]["code"], "invalid-value");

    assert_eq!(allotment(&["config", "check", "/nowhere"], "").status.code(), Some(2));
    assert_eq!(allotment(&["config"], "").status.code(), Some(2));
}

#[test]
fn the_schema_is_one() {
    let schema = allotment(&["config", "schema"], "");
    let schema: Value = serde_json::from_slice(&schema.stdout).unwrap();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["additionalProperties"], false);
    let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "access",
            "byoc",
            "cleanup",
            "clusters",
            "controllers",
            "gardener",
            "hap",
            "ledger",
            "metrics",
            "openmcp",
            "quotas",
            "server",
            "tenancy"
        ]
    );
    assert_eq!(schema["$defs"]["Server"]["properties"]["perObjectMetrics"]["default"], true);
}

#[test]
fn bad_rules_end_a_start_with_every_finding() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yaml");
    fs::write(&path, BAD).unwrap();
    let ran = allotment(&["run", "--config", path.to_str().unwrap()], "");
    assert_eq!((ran.status.code(), text(&ran.stdout)), (Some(1), String::new()));
    let said = text(&ran.stderr);
    assert!(said.contains("gpc") && said.contains("ledgr") && said.contains("`here`"), "{said}");
    assert!(said.ends_with("config.yaml: 3 errors\n"), "{said}");

    fs::write(&path, "controllers: [cluster]\ntenancy: {mode: trusted}\n").unwrap();
    let run = ["run", "--config", path.to_str().unwrap()];
    let ran = allotment(&[&run[..], &["--controllers", "subscription"]].concat(), "");
    assert_eq!(ran.status.code(), Some(1));
    assert!(text(&ran.stderr).contains("needs rules"), "{}", text(&ran.stderr));
    fs::write(&path, "controllers: []\ntenancy: {mode: trusted}\n").unwrap();
    let ran = allotment(&run, "");
    assert_eq!(ran.status.code(), Some(1));
    assert!(text(&ran.stderr).contains("nothing to run"), "{}", text(&ran.stderr));
}

#[test]
fn questions_about_the_pool_and_clusters_need_a_place() {
    for args in [
        &["pool", "status"][..],
        &["pool", "doctor"],
        &["ledger", "verify"],
        &["pool", "history", "a"],
        &["cluster", "explain", "a"],
        &["cluster", "diff"],
        &["cluster", "adopt", "a", "--shoot", "b"],
    ] {
        let ran = allotment(args, "");
        assert_eq!(ran.status.code(), Some(2), "{args:?}");
        assert!(text(&ran.stderr).contains("--config"), "{args:?}");
    }
}
