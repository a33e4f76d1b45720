//! `allotment config` and `allotment run` with a bad file, as a person or a pipeline sees them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::Path,
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

/// Runs in a folder, with this in ALLOTMENT_CONFIG.
fn in_folder(folder: &Path, variable: Option<&str>, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allotment"));
    command.args(args).current_dir(folder).env_remove("ALLOTMENT_CONFIG").stdin(Stdio::null());
    if let Some(variable) = variable {
        command.env("ALLOTMENT_CONFIG", variable);
    }
    command.output().unwrap()
}

#[test]
fn the_configuration_is_found_where_it_usually_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let ledger =
        |name: &str| GOOD.replace("sqlite::memory:", &format!("sqlite://{}/{name}", folder.display()));
    for args in [
        &["ledger", "migrate"][..],
        &["ledger", "backup", "copy.db"],
        &["run"],
        &["config", "check"],
        &["pool", "status"],
        &["ledger", "verify"],
        &["cluster", "explain", "c"],
        &["cleanup", "status"],
    ] {
        let ran = in_folder(folder, None, args);
        assert_eq!(ran.status.code(), Some(2), "{args:?}: {}", text(&ran.stderr));
        for place in ["--config", "ALLOTMENT_CONFIG", "./allotment.yaml", "/etc/allotment/config.yaml"] {
            assert!(
                text(&ran.stderr).contains(place),
                "{args:?} does not name {place}: {}",
                text(&ran.stderr)
            );
        }
        let help = in_folder(folder, None, &[args, &["--help"]].concat());
        let help = text(&help.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("[env: ALLOTMENT_CONFIG] [default: ./allotment.yaml"), "{args:?}: {help}");
    }

    fs::write(folder.join("allotment.yaml"), ledger("here.db")).unwrap();
    fs::write(folder.join("named.yaml"), ledger("named.db")).unwrap();
    fs::write(folder.join("given.yaml"), ledger("given.db")).unwrap();
    let migrate = ["ledger", "migrate"];
    for (variable, args, made) in [
        (None, &migrate[..], "here.db"),
        (Some(""), &migrate[..], "here.db"),
        (Some("named.yaml"), &migrate[..], "named.db"),
        (Some("named.yaml"), &["ledger", "migrate", "--config", "given.yaml"], "given.db"),
    ] {
        let ran = in_folder(folder, variable, args);
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        assert!(folder.join(made).exists(), "{variable:?} {args:?}");
        fs::remove_file(folder.join(made)).unwrap();
    }
    let lost = in_folder(folder, Some("nowhere.yaml"), &migrate);
    assert_eq!(lost.status.code(), Some(2));
    assert!(text(&lost.stderr).contains("ALLOTMENT_CONFIG names nowhere.yaml"), "{}", text(&lost.stderr));
    // A garden that is named is asked by itself, not with the ledger of a configuration that lies around.
    let named =
        in_folder(folder, None, &["pool", "history", "a", "--garden-kubeconfig", "nowhere.kubeconfig"]);
    assert!(!folder.join("here.db").exists() && named.status.code() != Some(0));
}

#[test]
fn commands_for_developers_are_apart_from_the_others() {
    let help = text(&allotment(&["--help"], "").stdout);
    let (commands, developers) = help.split_once("For developers of Allotment:").unwrap();
    for command in ["sim", "bench"] {
        let is_listed =
            |part: &str| part.lines().any(|line| line.trim_start().starts_with(&format!("{command} ")));
        assert!(!is_listed(commands) && is_listed(developers), "{command}: {help}");
        assert_eq!(allotment(&[command, "--help"], "").status.code(), Some(0));
    }
    assert!(commands.contains("ALLOTMENT_CONFIG"), "{help}");
}

/// Whoever pipes them into kubectl gets the kinds that the operators need, and no others.
#[test]
fn kinds_of_openmcp_are_printed_only_when_asked_for() {
    let groups = |args: &[&str]| -> BTreeSet<String> {
        let ran = allotment(&[&["crds", "-o", "json"], args].concat(), "");
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        let objects: Value = serde_json::from_slice(&ran.stdout).unwrap();
        let items = objects["items"].as_array().unwrap().iter();
        items.map(|crd| crd["spec"]["group"].as_str().unwrap().to_owned()).collect()
    };
    let set = |groups: &[&str]| groups.iter().map(|group| (*group).to_owned()).collect::<BTreeSet<_>>();
    let ours = set(&["allotment.dev", "control-plane.kyma-project.io", "operator.kyma-project.io"]);
    let theirs = set(&["clusters.openmcp.cloud", "gardener.clusters.openmcp.cloud"]);
    assert_eq!(groups(&[]), ours);
    assert_eq!(groups(&["--openmcp"]), theirs);
    assert_eq!(groups(&["--group", "clusters.openmcp.cloud"]), set(&["clusters.openmcp.cloud"]));
    assert_eq!(allotment(&["crds", "--openmcp", "--group", "allotment.dev"], "").status.code(), Some(2));
}
