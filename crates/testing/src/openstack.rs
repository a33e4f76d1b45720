//! The OpenStack of `clouds/`, for tests: the real services. Tests fill projects, and look into them afterwards, through openstacksdk alone.

use crate::clouds::{clouds, script, send};
use serde_json::{Map, Value, json};
use std::{
    env, fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

/// Names the file with the line that `clouds/up openstack` printed.
const READY: &str = "CLOUDS_OPENSTACK";

/// A running OpenStack.
#[derive(Clone, Debug)]
pub struct OpenStackCloud {
    ready: Value,
}

impl OpenStackCloud {
    /// The one that `clouds/with openstack` started. There is no other way to have one: it takes gigabytes, so nothing starts it in passing.
    pub fn find() -> Result<Self, String> {
        let file = env::var_os(READY).filter(|file| !file.is_empty());
        let file = file.ok_or(format!("{READY} names no running OpenStack: run `make test-openstack`"))?;
        let text = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Self { ready: serde_json::from_slice(&text).map_err(|error| error.to_string())? })
    }

    /// Keystone.
    pub fn auth_url(&self) -> &str {
        self.ready["authUrl"].as_str().unwrap_or_default()
    }

    /// The only region.
    pub fn region(&self) -> &str {
        self.ready["region"].as_str().unwrap_or_default()
    }

    /// A new project with nothing in it, and a user who has no other.
    pub fn project(&self) -> Result<OpenStackProject, String> {
        Ok(OpenStackProject { facts: script("openstack", "project", &[], &[])? })
    }

    /// A proxy in front of every service, which counts calls.
    pub fn counted(&self) -> Result<CallCounter, String> {
        let services = self.ready["services"].as_object().cloned().unwrap_or_default();
        CallCounter::start(&services)
    }
}

/// A project of the test cloud.
#[derive(Clone, Debug)]
pub struct OpenStackProject {
    facts: Value,
}

impl OpenStackProject {
    /// The name, which its user has too.
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// The project id.
    pub fn id(&self) -> &str {
        self.text("projectId")
    }

    /// The id of its user.
    pub fn user_id(&self) -> &str {
        self.text("userId")
    }

    /// The secret of the application credential.
    pub fn secret(&self) -> &str {
        self.text("applicationCredentialSecret")
    }

    /// The keys of a Secret, with user and password.
    pub fn password_keys(&self) -> Value {
        json!({
            "domainName": self.text("domainName"), "tenantName": self.name(),
            "username": self.text("username"), "password": self.text("password"),
        })
    }

    /// The keys of a Secret, with an application credential.
    pub fn application_credential_keys(&self) -> Value {
        json!({
            "domainName": self.text("domainName"), "tenantName": self.name(),
            "applicationCredentialID": self.text("applicationCredentialId"), "applicationCredentialSecret": self.secret(),
        })
    }

    /// Runs a script of the test cloud on this project: `fill`, `left`, `remove`, `peer`.
    pub fn script(&self, name: &str, arguments: &[&str]) -> Result<Value, String> {
        script("openstack", name, &[&["--project", self.name()], arguments].concat(), &[])
    }

    fn text(&self, field: &str) -> &str {
        self.facts[field].as_str().unwrap_or_default()
    }
}

/// A proxy in front of an OpenStack. Whoever begins at its keystone reaches every service through it: it rewrites the catalog.
#[derive(Debug)]
pub struct CallCounter {
    process: Child,
    auth_url: String,
    endpoint: String,
}

impl CallCounter {
    fn start(services: &Map<String, Value>) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("clouds/proxy.py does not start: {error}");
        let origin = |url: &str| url.split('/').take(3).collect::<Vec<_>>().join("/");
        let upstreams = services.iter().flat_map(|(name, url)| {
            ["--upstream".to_owned(), format!("{name}={}", origin(url.as_str().unwrap_or_default()))]
        });
        let mut process = Command::new("python3")
            .arg(clouds().join("proxy.py"))
            .arg("--watch-stdin")
            .args(upstreams)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(failed)?;
        }
        let ready: Value =
            serde_json::from_str(&line).map_err(|error| format!("clouds/proxy.py: {error}"))?;
        let text = |pointer: &str| ready.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let auth_url = format!("{}/v3", text("/endpoints/identity"));
        Ok(Self { process, auth_url, endpoint: text("/endpoint").to_owned() })
    }

    /// Keystone, through the proxy.
    pub fn auth_url(&self) -> &str {
        &self.auth_url
    }

    /// The calls since the last time that this was asked.
    pub fn take(&self) -> Result<u64, String> {
        let counts = send(&self.endpoint, "GET", "/_proxy/counts", &Value::Null)?;
        send(&self.endpoint, "DELETE", "/_proxy/counts", &Value::Null)?;
        counts["total"].as_u64().ok_or_else(|| format!("the proxy does not count: {counts}"))
    }
}

impl Drop for CallCounter {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // It is gone already if this fails.
        let _ = self.process.wait();
    }
}
