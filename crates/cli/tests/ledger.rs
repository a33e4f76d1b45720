//! `allotment ledger migrate` and `allotment ledger backup`, as a person sees them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use std::{fs, path::Path, process::Command};

struct Ran {
    code: Option<i32>,
    said: String,
}

fn allotment(folder: &Path, args: &[&str]) -> Ran {
    let ran = Command::new(env!("CARGO_BIN_EXE_allotment"))
        .args(args)
        .args(["--config", "config.yaml"])
        .current_dir(folder)
        .output()
        .unwrap();
    Ran { code: ran.status.code(), said: String::from_utf8_lossy(&ran.stderr).into_owned() }
}

fn configured(url: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let url = url.replace("<folder>", &folder.path().display().to_string());
    let config = format!(
        "hap: {{rule: [aws], enabledPlans: [aws]}}\nledger: {{url: '{url}'}}\ntenancy: {{mode: trusted}}\n"
    );
    fs::write(folder.path().join("config.yaml"), config).unwrap();
    folder
}

#[track_caller]
fn expect(ran: &Ran, code: i32, words: &str) {
    assert_eq!(ran.code, Some(code), "{}", ran.said);
    assert!(ran.said.contains(words), "{}", ran.said);
}

#[test]
fn a_ledger_is_made_migrated_and_copied() {
    let folder = configured("sqlite://<folder>/ledger.db");
    let folder = folder.path();
    let backup = ["ledger", "backup", "copy.db"];
    expect(&allotment(folder, &backup), 2, "run `allotment ledger migrate`");
    assert!(!folder.join("ledger.db").exists() && !folder.join("copy.db").exists());

    expect(&allotment(folder, &["ledger", "migrate"]), 0, "made a ledger");
    let made = fs::read(folder.join("ledger.db")).unwrap();
    expect(&allotment(folder, &["ledger", "migrate"]), 0, "already");
    assert_eq!(fs::read(folder.join("ledger.db")).unwrap(), made);

    expect(&allotment(folder, &backup), 0, "copy.db, complete and checked");
    expect(&allotment(folder, &backup), 1, "is there already");
    expect(&allotment(folder, &["ledger", "backup", "no/such/folder.db"]), 1, "no/such/folder.db");
}

#[test]
fn a_database_that_cannot_be_used_says_what_to_do() {
    let folder = configured("postgres://user:s3cret@127.0.0.1:1/ledger");
    let ran = allotment(folder.path(), &["ledger", "migrate"]);
    expect(&ran, 1, "refused");
    assert!(!ran.said.contains("s3cret"), "{}", ran.said);
    expect(&allotment(folder.path(), &["ledger", "backup", "copy.db"]), 1, "pg_dump");

    let folder = configured("postgres://user:s3cret@db.example.com/ledger?sslmode=prefer");
    expect(&allotment(folder.path(), &["ledger", "migrate"]), 1, "use verify-full");
}

/// Whoever asks from time to time must be able to tell "no" from "nobody answered".
#[test]
fn what_cannot_be_read_is_not_a_finding() {
    let folder = configured("postgres://user:s3cret@127.0.0.1:1/ledger");
    let kubeconfig = folder.path().join("kubeconfig");
    let server = "{name: k, cluster: {server: 'https://127.0.0.1:1'}}";
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{server}]\nusers: [{{name: k, user: {{token: t}}}}]\n\
         contexts: [{{name: k, context: {{cluster: k, user: k}}}}]\ncurrent-context: k\n"
    );
    fs::write(&kubeconfig, text).unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap();
    for command in
        [&["ledger", "verify"][..], &["pool", "doctor"], &["pool", "status"], &["pool", "history", "a"]]
    {
        let reach = ["--garden-kubeconfig", kubeconfig, "--kubeconfig", kubeconfig];
        let ran = allotment(folder.path(), &[command, &reach].concat());
        expect(&ran, 3, "127.0.0.1:1");
        assert!(!ran.said.contains("s3cret"), "{}", ran.said);
    }
}
