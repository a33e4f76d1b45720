//! Faults of an account: rights, throttling, late failures, items that are hidden or appear.

use super::{
    access::Call,
    account::{Account, Resource, State},
    answers::{Refused, refuse},
    creation,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Faults {
    /// Permissions that are missing, from the n-th call on.
    denied: BTreeMap<String, u64>,
    /// Regions, and how the permissions begin whose calls are throttled there.
    throttled: BTreeSet<(String, String)>,
    /// Every so many calls are throttled once.
    every: Option<u64>,
    /// Deletions that fail late, and how often.
    late: BTreeMap<String, u32>,
    pub(super) hidden: BTreeSet<String>,
    appearing: Vec<Appearing>,
    pub(super) counted: BTreeMap<String, u64>,
    all: u64,
}

/// An item that comes into being before a call is answered.
#[derive(Clone, Debug)]
pub struct Appearing {
    /// The call, as a policy names it.
    pub before: String,
    /// Which one of them.
    pub call: u64,
    /// The kind, as the table names it.
    pub kind: &'static str,
    /// Where.
    pub region: String,
    /// Its fields.
    pub fields: Value,
}

impl Account<'_> {
    /// A permission is missing: `ecs:DescribeDisks`.
    pub fn deny(&mut self, permission: &str) {
        self.lose(permission, 0);
    }

    /// A permission is missing after so many calls.
    pub fn lose(&mut self, permission: &str, after: u64) {
        let made = self.0.faults.counted.get(permission).copied().unwrap_or(0);
        self.0.faults.denied.insert(permission.to_owned(), made + after);
    }

    /// Gives a permission back.
    pub fn allow(&mut self, permission: &str) {
        self.0.faults.denied.remove(permission);
    }

    /// Every call in a region is throttled whose permission begins like this.
    pub fn throttle(&mut self, region: &str, permission: &str) {
        self.0.faults.throttled.insert((region.to_owned(), permission.to_owned()));
    }

    /// These calls are answered again.
    pub fn unthrottle(&mut self, region: &str, permission: &str) {
        self.0.faults.throttled.remove(&(region.to_owned(), permission.to_owned()));
    }

    /// Every so many calls are throttled, once.
    pub fn throttle_every(&mut self, calls: u64) {
        self.0.faults.every = Some(calls);
    }

    /// The deletion of an item is accepted, and fails so often after a while.
    pub fn fail_late(&mut self, id: &str, times: u32) {
        self.0.faults.late.insert(id.to_owned(), times);
    }

    /// No list shows an item, unless it is asked for what services manage.
    pub fn hide(&mut self, id: &str) {
        self.0.faults.hidden.insert(id.to_owned());
    }

    /// An item comes into being.
    pub fn appear(&mut self, appearing: Appearing) {
        self.0.faults.appearing.push(appearing);
    }

    /// A person changes an item in the console: what it is paid by, for example.
    pub fn change(&mut self, id: &str, field: &str, value: impl Into<Value>) {
        if let Some(resource) = self.0.any(id) {
            resource.set(field, value);
        }
    }

    /// Adds an item that no call of ours can make.
    pub fn add(&mut self, kind: &'static str, region: &str, id: &str, fields: Value) {
        let (region, id) = (region.to_owned(), id.to_owned());
        self.0.resources.push(Resource { kind, region, id, fields, due: None });
    }
}

impl Faults {
    /// Whether the deletion of an item fails this time.
    pub(super) fn fails_late(&mut self, id: &str) -> bool {
        let Some(times) = self.late.get_mut(id).filter(|times| **times > 0) else { return false };
        *times -= 1;
        true
    }
}

/// Counts a call, and refuses it if it has to be.
pub(super) fn check(state: &mut State, call: &Call, made: &mut u64) -> Result<(), Refused> {
    let permission = call.permission();
    let region = call.parameters.region().unwrap_or_default().to_owned();
    state.faults.all += 1;
    if state.faults.every.is_some_and(|every| state.faults.all.is_multiple_of(every)) {
        return Err(refuse(400, "Throttling.User", "Request was denied due to user flow control."));
    }
    let is_throttled =
        |(place, start): &(String, String)| *place == region && permission.starts_with(start.as_str());
    if state.faults.throttled.iter().any(is_throttled) {
        return Err(refuse(400, "Throttling.Api", "Request was denied due to api flow control."));
    }
    let count = state.faults.counted.entry(permission.clone()).or_default();
    *count += 1;
    let count = *count;
    if state.faults.denied.get(&permission).is_some_and(|after| count > *after) {
        let code = if ["nlb", "ros"].contains(&call.service) { "NoPermission" } else { "Forbidden.RAM" };
        return Err(refuse(403, code, "User not authorized to operate on the specified resource."));
    }
    let (now, later): (Vec<_>, Vec<_>) = std::mem::take(&mut state.faults.appearing)
        .into_iter()
        .partition(|appearing| appearing.before == permission && appearing.call <= count);
    state.faults.appearing = later;
    for appearing in now {
        creation::put(state, appearing.kind, &appearing.region, appearing.fields, made);
    }
    Ok(())
}
