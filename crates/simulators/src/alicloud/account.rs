//! One account: what is in it, and how it is treated.

use super::{Credentials, deletion, faults::Faults};
use jiff::SignedDuration;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// How long deletions take.
#[derive(Clone, Copy, Debug)]
pub enum Slow {
    /// So many calls of the account.
    Calls(u64),
    /// So long.
    Real(Duration),
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) secret: String,
    pub(super) is_admin: bool,
    pub(super) is_active: bool,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) id: String,
    pub(super) keys: BTreeMap<String, Key>,
    pub(super) regions: BTreeSet<String>,
    pub(super) resources: Vec<Resource>,
    /// The clock of slow deletions.
    pub(super) calls: u64,
    pub(super) skew: SignedDuration,
    pub(super) slow: Slow,
    pub(super) page: usize,
    /// Regions without a service.
    pub(super) missing: BTreeSet<(String, String)>,
    pub(super) faults: Faults,
}

/// One thing in an account.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) kind: &'static str,
    pub(super) region: String,
    pub(super) id: String,
    /// As a list shows it.
    pub(super) fields: Value,
    pub(super) due: Option<Due>,
}

/// When a deletion ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Call(u64),
    At(Instant),
}

impl Resource {
    /// The first text at a path of keys, through lists.
    pub(super) fn text(&self, path: &str) -> &str {
        self.texts(path).into_iter().next().unwrap_or_default()
    }

    /// All texts at a path.
    pub(super) fn texts(&self, path: &str) -> Vec<&str> {
        let mut found = vec![&self.fields];
        for key in path.split('/') {
            let values = found.into_iter().filter_map(|value| value.get(key));
            found = values
                .flat_map(|value| match value {
                    Value::Array(values) => values.iter().collect(),
                    value => vec![value],
                })
                .collect();
        }
        found.into_iter().filter_map(Value::as_str).collect()
    }

    pub(super) fn is(&self, field: &str) -> bool {
        self.fields.get(field).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(super) fn set(&mut self, field: &str, value: impl Into<Value>) {
        if let Some(fields) = self.fields.as_object_mut() {
            fields.insert(field.to_owned(), value.into());
        }
    }
}

impl State {
    pub(super) fn new(credentials: &Credentials, regions: &[&str]) -> Self {
        let key = |secret: &str, is_admin| Key { secret: secret.to_owned(), is_admin, is_active: true };
        let keys = BTreeMap::from([
            (credentials.access_key_id.clone(), key(&credentials.access_key_secret, false)),
            (credentials.admin_key_id.clone(), key(&credentials.admin_key_secret, true)),
        ]);
        Self {
            id: credentials.account.clone(),
            keys,
            regions: regions.iter().map(|region| (*region).to_owned()).collect(),
            resources: Vec::new(),
            calls: 0,
            skew: SignedDuration::ZERO,
            slow: Slow::Calls(0),
            page: 100,
            missing: BTreeSet::new(),
            faults: Faults::default(),
        }
    }

    pub(super) fn find(&self, kind: &str, id: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.kind == kind && resource.id == id)
    }

    pub(super) fn find_mut(&mut self, kind: &str, id: &str) -> Option<&mut Resource> {
        self.resources.iter_mut().find(|resource| resource.kind == kind && resource.id == id)
    }

    pub(super) fn any(&mut self, id: &str) -> Option<&mut Resource> {
        self.resources.iter_mut().find(|resource| resource.id == id)
    }

    pub(super) fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Resource> {
        self.resources.iter().filter(move |resource| resource.kind == kind)
    }

    pub(super) fn remove(&mut self, goes: impl Fn(&Resource) -> bool) {
        self.resources.retain(|resource| !goes(resource));
    }

    /// When a deletion that begins now ends.
    pub(super) fn due(&self) -> Due {
        match self.slow {
            Slow::Calls(calls) => Due::Call(self.calls + calls),
            Slow::Real(time) => Due::At(Instant::now() + time),
        }
    }

    /// Counts a call, and ends what is due.
    pub(super) fn pass_time(&mut self) {
        self.calls += 1;
        self.end_due();
    }

    pub(super) fn end_due(&mut self) {
        let (calls, now) = (self.calls, Instant::now());
        let is_due = |resource: &Resource| match resource.due {
            Some(Due::Call(call)) => call <= calls,
            Some(Due::At(at)) => at <= now,
            None => false,
        };
        let due: Vec<(&'static str, String)> = self
            .resources
            .iter()
            .filter(|resource| is_due(resource))
            .map(|resource| (resource.kind, resource.id.clone()))
            .collect();
        for (kind, id) in due {
            deletion::end(self, kind, &id);
        }
    }
}

/// The settings and faults of an account.
#[derive(Debug)]
pub struct Account<'a>(pub(super) &'a mut State);

impl<'a> Account<'a> {
    pub(super) fn new(state: &'a mut State) -> Self {
        Self(state)
    }

    /// At most so many items on a page.
    pub fn page(&mut self, items: usize) {
        self.0.page = items.max(1);
    }

    /// How long deletions take.
    pub fn slow(&mut self, slow: Slow) {
        self.0.slow = slow;
    }

    /// Its clock is ahead.
    pub fn skew(&mut self, seconds: i64) {
        self.0.skew = SignedDuration::from_secs(seconds);
    }

    /// A region does not have a service.
    pub fn without(&mut self, service: &str, region: &str) {
        self.0.missing.insert((service.to_owned(), region.to_owned()));
    }

    /// Disables the key of the RAM user.
    pub fn revoke_keys(&mut self) {
        for key in self.0.keys.values_mut().filter(|key| !key.is_admin) {
            key.is_active = false;
        }
    }

    /// The calls of the RAM user, by permission.
    pub fn calls(&self) -> BTreeMap<String, u64> {
        self.0.faults.counted.clone()
    }

    /// The ids of everything that is there, default VPCs with their parts left out.
    pub fn left(&self) -> Vec<String> {
        let is_given = |resource: &&Resource| !resource.is("Given");
        self.0.resources.iter().filter(is_given).map(|resource| resource.id.clone()).collect()
    }
}
