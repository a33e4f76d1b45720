//! What is in the cloud.

use super::{auth::Bearer, controls::Controls, operations::Operation};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The whole cloud.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) projects: BTreeMap<String, Project>,
    /// The principal of each token; where a workload identity got it, also the calls of its project before.
    pub(crate) tokens: BTreeMap<String, (Bearer, Option<u64>)>,
    serial: u64,
}

/// A new project.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its regions; each has the zones `b` and `c`.
    pub regions: Vec<String>,
    /// Whether it has a default network.
    pub default_network: bool,
}

impl Default for Setup {
    fn default() -> Self {
        let regions = vec!["europe-west1".to_owned(), "us-central1".to_owned()];
        Self { regions, default_network: true }
    }
}

/// Where an item is: scope (`global`, `regions/r`, `zones/z`), collection, name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) scope: String,
    pub(crate) collection: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(scope: &str, collection: &str, name: &str) -> Self {
        Self { scope: scope.to_owned(), collection: collection.to_owned(), name: name.to_owned() }
    }

    pub(crate) fn path(&self) -> String {
        format!("{}/{}/{}", self.scope, self.collection, self.name)
    }
}

/// An item.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) body: Value,
    /// The item that made it, and with which it goes: nobody can delete it by itself, and it holds nothing.
    pub(crate) part_of: Option<Key>,
}

/// One project.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) id: String,
    /// The id that Compute Engine gives it.
    pub(crate) compute_id: String,
    pub(crate) client_email: String,
    pub(crate) regions: Vec<String>,
    pub(crate) resources: BTreeMap<Key, Resource>,
    pub(crate) operations: BTreeMap<String, Operation>,
    pub(crate) accounts: BTreeMap<String, Value>,
    pub(crate) metadata: Vec<Value>,
    pub(crate) controls: Controls,
    pub(crate) calls: u64,
    /// Tokens of workload identities that were accepted.
    pub(crate) exchanges: u64,
    serial: u64,
}

pub(crate) fn client_email(project: &str) -> String {
    format!("gardener@{project}.iam.gserviceaccount.com")
}

impl State {
    pub(crate) fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(crate) fn add_project(&mut self, setup: &Setup) -> String {
        let number = self.next();
        let id = format!("pool-{number}");
        let mut project = Project {
            id: id.clone(),
            compute_id: (4_384_854_555_588_530_000 + number).to_string(),
            client_email: client_email(&id),
            regions: setup.regions.clone(),
            resources: BTreeMap::new(),
            operations: BTreeMap::new(),
            accounts: BTreeMap::new(),
            metadata: Vec::new(),
            controls: Controls::default(),
            calls: 0,
            exchanges: 0,
            serial: number * 1_000_000,
        };
        project.add_account(&client_email(&id), "gardener");
        project.add_account(&format!("{number}-compute@developer.gserviceaccount.com"), "default");
        if setup.default_network {
            project.add_default_network();
        }
        self.projects.insert(id.clone(), project);
        id
    }
}

impl Project {
    pub(crate) fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(crate) fn zones(&self) -> Vec<String> {
        self.regions.iter().flat_map(|region| ["b", "c"].map(|zone| format!("{region}-{zone}"))).collect()
    }

    /// Every scope that items can be in.
    pub(crate) fn scopes(&self) -> Vec<String> {
        let regions = self.regions.iter().map(|region| format!("regions/{region}"));
        let zones = self.zones().into_iter().map(|zone| format!("zones/{zone}"));
        ["global".to_owned()].into_iter().chain(regions).chain(zones).collect()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://www.googleapis.com/compute/v1/projects/{}/{path}", self.id)
    }

    pub(crate) fn add_account(&mut self, email: &str, name: &str) -> Value {
        let account = json!({
            "name": format!("projects/{}/serviceAccounts/{email}", self.id),
            "projectId": self.id,
            "uniqueId": self.next().to_string(),
            "email": email,
            "displayName": name,
        });
        self.accounts.insert(email.to_owned(), account.clone());
        account
    }

    /// Puts an item in, with everything that the cloud adds to it.
    pub(crate) fn put(&mut self, key: Key, mut body: Value, part_of: Option<Key>) {
        body["name"] = json!(key.name);
        body["id"] = json!(self.next().to_string());
        body["creationTimestamp"] = json!("2026-11-18T00:00:00.000-08:00");
        body["selfLink"] = json!(self.url(&key.path()));
        body["kind"] = json!(format!("compute#{}", key.collection.trim_end_matches('s')));
        if let Some((kind, _)) = key.scope.split_once('/') {
            body[kind.trim_end_matches('s')] = json!(self.url(&key.scope));
        }
        let status = match key.collection.as_str() {
            "instances" => Some("RUNNING"),
            "disks" | "snapshots" | "images" | "instantSnapshots" | "machineImages" => Some("READY"),
            "addresses" => Some("RESERVED"),
            _ => None,
        };
        if let (Some(status), None) = (status, body.get("status")) {
            body["status"] = json!(status);
        }
        self.resources.insert(key, Resource { body, part_of });
    }
}
