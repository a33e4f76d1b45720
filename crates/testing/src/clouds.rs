//! The AWS of `clouds/`, for tests: moto behind a layer that refuses, pages, delays and checks signatures and rights as AWS does. Tests fill
//! it, and look into it afterwards, through boto3 alone.

use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, OnceLock, PoisonError},
};

static SHARED: OnceLock<Result<AwsCloud, NoCloud>> = OnceLock::new();

/// Why there is no test cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCloud(pub String);

impl std::fmt::Display for NoCloud {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NoCloud {}

/// A running AWS. It ends with its standard input, so it cannot outlive this process.
#[derive(Debug)]
pub struct AwsCloud {
    process: Mutex<Child>,
    /// The endpoint of all services and regions.
    pub endpoint: String,
}

impl AwsCloud {
    /// The one of this process, started when it is first wanted; the first start on a machine installs its packages.
    pub fn shared() -> Result<&'static Self, NoCloud> {
        SHARED.get_or_init(Self::start).as_ref().map_err(Clone::clone)
    }

    /// Stops the one of this process, and waits for its end.
    pub fn stop_shared() {
        if let Some(Ok(cloud)) = SHARED.get() {
            let mut process = cloud.process.lock().unwrap_or_else(PoisonError::into_inner);
            drop(process.stdin.take());
            let _ = process.wait();
        }
    }

    fn start() -> Result<Self, NoCloud> {
        let failed = |error: std::io::Error| NoCloud(format!("clouds/up does not start: {error}"));
        let mut process = Command::new(clouds().join("up"))
            .args(["aws", "--watch-stdin", "--page", "5", "--slow-seconds", "2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(failed)?;
        }
        let ready: Value = serde_json::from_str(&line).map_err(|_| {
            NoCloud(
                "clouds/up aws did not start, for the reason above; it needs Python 3.11 with venv"
                    .to_owned(),
            )
        })?;
        let endpoint = ready["endpoint"].as_str().unwrap_or_default().to_owned();
        Ok(Self { process: Mutex::new(process), endpoint })
    }

    /// A new account with nothing in it; its credentials have the rights that Gardener documents.
    pub fn account(&self) -> Result<AwsAccount, String> {
        self.account_with(&json!({}))
    }

    /// The same, with settings: `regions`, `policy` and others of `clouds/README.md`.
    pub fn account_with(&self, settings: &Value) -> Result<AwsAccount, String> {
        let facts = post(&self.endpoint, "/_control/accounts", settings)?;
        Ok(AwsAccount { endpoint: self.endpoint.clone(), facts })
    }
}

/// An account of the test cloud.
#[derive(Clone, Debug)]
pub struct AwsAccount {
    /// The endpoint of all services and regions.
    pub endpoint: String,
    facts: Value,
}

impl AwsAccount {
    /// The account id.
    pub fn id(&self) -> &str {
        self.text("/account")
    }

    /// The access key of the tenant.
    pub fn access_key_id(&self) -> &str {
        self.text("/accessKeyId")
    }

    /// Its secret.
    pub fn secret_access_key(&self) -> &str {
        self.text("/secretAccessKey")
    }

    fn text(&self, pointer: &str) -> &str {
        self.facts.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// Runs a script of the test cloud, with all rights: `fill`, `left`.
    pub fn script(&self, name: &str, arguments: &[&str]) -> Result<Value, String> {
        script(
            "aws",
            name,
            arguments,
            &[
                ("AWS_ENDPOINT_URL", &self.endpoint),
                ("AWS_ACCESS_KEY_ID", self.text("/admin/accessKeyId")),
                ("AWS_SECRET_ACCESS_KEY", self.text("/admin/secretAccessKey")),
            ],
        )
    }

    /// Changes how the test cloud treats this account; see `clouds/README.md`.
    pub fn control(&self, what: &str, body: &Value) -> Result<Value, String> {
        post(&self.endpoint, &format!("/_control/accounts/{}/{what}", self.id()), body)
    }

    /// Takes a control back.
    pub fn control_delete(&self, what: &str) -> Result<Value, String> {
        send(&self.endpoint, "DELETE", &format!("/_control/accounts/{}/{what}", self.id()), &Value::Null)
    }
}

/// Runs a Python script of `clouds/`, with the packages of a cloud, and reads the JSON that it prints.
pub fn script(
    cloud: &str,
    name: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<Value, String> {
    let output = Command::new(clouds().join("run"))
        .args([cloud, name])
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .map_err(|error| format!("clouds/run: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// Compares a table of kinds with everything that the pinned SDK of a cloud can delete (`audit.py`): each is known to the table, or in
/// `left-out.txt` with a reason, and never in both. Returns the faults.
pub fn audit(cloud: &str, known: &BTreeSet<String>) -> Result<Vec<String>, String> {
    let all: BTreeSet<String> =
        serde_json::from_value(script(cloud, "audit", &[], &[])?).map_err(|error| error.to_string())?;
    let path = clouds().join(cloud).join("left-out.txt");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut faults = Vec::new();
    let mut left_out = BTreeSet::new();
    for line in lines {
        match line.split_once(": ").filter(|(_, reason)| !reason.trim().is_empty()) {
            Some((name, _)) if left_out.insert(name.to_owned()) => (),
            Some((name, _)) => faults.push(format!("left-out.txt has {name} twice")),
            None => faults.push(format!("left-out.txt: a line without a reason: {line}")),
        }
    }
    let covered: BTreeSet<String> = known.union(&left_out).cloned().collect();
    faults.extend(all.difference(&covered).map(|name| format!("{name} is in no table and not left out")));
    faults.extend(left_out.difference(&all).map(|name| format!("left-out.txt: the SDK has no {name}")));
    faults.extend(left_out.intersection(known).map(|name| format!("left-out.txt: {name} is in the table")));
    Ok(faults)
}

pub(crate) fn clouds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clouds")
}

fn post(endpoint: &str, path: &str, body: &Value) -> Result<Value, String> {
    send(endpoint, "POST", path, body)
}

/// One request, on a connection of its own: tests need no HTTP client for it.
pub(crate) fn send(endpoint: &str, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let failed = |error: std::io::Error| format!("{method} {path}: {error}");
    let (host, body) = (endpoint.trim_start_matches("http://"), body.to_string());
    let mut stream = TcpStream::connect(host).map_err(failed)?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
    .map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    if !head.split(' ').nth(1).unwrap_or_default().starts_with('2') {
        return Err(answer);
    }
    // Some answers have no body.
    Ok(serde_json::from_str(body).unwrap_or(Value::Null))
}
