//! What a subscription holds.

use super::{Asked, control::Slow, error::Fault, operation::Operation};
use crate::federation::Trust;
use http::{Method, StatusCode};
use jiff::Timestamp;
use ring::hmac;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// All of it.
pub(super) struct State {
    pub(super) subscriptions: BTreeMap<String, Subscription>,
    /// Signs tokens.
    pub(super) key: hmac::Key,
    pub(super) number: u64,
    /// The forms of logins, as they came, by client.
    pub(super) logins: Vec<(String, String)>,
}

impl Default for State {
    fn default() -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"of this simulator alone");
        Self { subscriptions: BTreeMap::new(), key, number: 0, logins: Vec::new() }
    }
}

/// The caller.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) tenant: String,
    pub(super) object: String,
}

/// A service principal.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) client: String,
    pub(super) secret: String,
    pub(super) object: String,
    pub(super) roles: Vec<Granted>,
    /// Tokens with a lower number are refused.
    pub(super) valid_from: u64,
    /// The workload identity that its application trusts.
    pub(super) trust: Option<Trust>,
}

/// A role at a scope, in lower case.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    pub(super) scope: String,
    pub(super) actions: Vec<String>,
    pub(super) not_actions: Vec<String>,
}

/// One subscription.
pub(super) struct Subscription {
    pub(super) id: String,
    pub(super) tenant: String,
    pub(super) principals: Vec<Known>,
    /// Documents by their ids in lower case.
    pub(super) documents: BTreeMap<String, Value>,
    pub(super) operations: BTreeMap<String, Operation>,
    pub(super) calls: u64,
    pub(super) number: u64,
    pub(super) controls: Controls,
}

/// How it behaves.
pub(super) struct Controls {
    pub(super) page: usize,
    pub(super) slow: Slow,
    pub(super) hidden: BTreeSet<String>,
    pub(super) denied: Vec<String>,
    pub(super) throttled: BTreeSet<String>,
    pub(super) throttle_every: Option<u64>,
    pub(super) unregistered: BTreeSet<String>,
    /// Locations that providers are not in.
    pub(super) closed: BTreeSet<String>,
    /// Types whose list is not found in the versions of the API that are asked for.
    pub(super) retired: BTreeSet<String>,
    /// Groups whose deletion fails, and how often still.
    pub(super) late: BTreeMap<String, (Fault, u32)>,
    /// Documents that appear at a call.
    pub(super) coming: Vec<(u64, Value)>,
    /// Documents that appear at a list: its last segment, and how many of these lists come before.
    pub(super) coming_at_list: Vec<(String, u64, Value)>,
    /// The calls of the subscription after which a token of a workload identity is not accepted any more.
    pub(super) session_calls: Option<u64>,
    /// When the tenant loses a role.
    pub(super) losing: Option<(u64, Vec<Granted>)>,
}

impl Default for Controls {
    fn default() -> Self {
        Self {
            page: 1000,
            slow: Slow::Calls(0),
            hidden: BTreeSet::new(),
            denied: Vec::new(),
            throttled: BTreeSet::new(),
            throttle_every: None,
            unregistered: BTreeSet::new(),
            closed: BTreeSet::new(),
            retired: BTreeSet::new(),
            late: BTreeMap::new(),
            coming: Vec::new(),
            coming_at_list: Vec::new(),
            session_calls: None,
            losing: None,
        }
    }
}

impl Subscription {
    /// `/subscriptions/ID`, in lower case.
    pub(super) fn root(&self) -> String {
        format!("/subscriptions/{}", self.id)
    }

    /// A number that was not used before, as a GUID.
    pub(super) fn guid(&mut self) -> String {
        self.number += 1;
        format!("{:08x}-0000-4000-8000-{:012x}", self.number, self.number)
    }

    /// Time passes by a call: operations end, items appear, roles are lost.
    pub(super) fn pass(&mut self) {
        self.calls += 1;
        let calls = self.calls;
        let (due, later) =
            std::mem::take(&mut self.controls.coming).into_iter().partition(|(at, _)| *at <= calls);
        self.controls.coming = later;
        let due: Vec<(u64, Value)> = due;
        for (_, document) in due {
            self.insert(document);
        }
        if self.controls.losing.as_ref().is_some_and(|(at, _)| *at <= calls)
            && let Some((_, roles)) = self.controls.losing.take()
            && let Some(tenant) = self.principals.first_mut()
        {
            tenant.roles = roles;
        }
        self.end_operations();
    }

    /// Adds the documents that appear at this list.
    pub(super) fn pass_list(&mut self, asked: &Asked<'_>) {
        let lower = asked.lower();
        let is_list = |name: &String| *asked.method == Method::GET && lower.last() == Some(name);
        let mut due = Vec::new();
        self.controls.coming_at_list.retain_mut(|(list, before, document)| {
            if !is_list(list) {
                return true;
            }
            if *before > 0 {
                *before -= 1;
                return true;
            }
            due.push(document.take());
            false
        });
        for document in due {
            self.insert(document);
        }
    }

    /// Adds a document under its id.
    pub(super) fn insert(&mut self, document: Value) {
        let id = document.get("id").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        self.documents.insert(id, document);
    }

    pub(super) fn throttle(&self, asked: &Asked<'_>) -> Result<(), Fault> {
        let lower = asked.lower();
        let is_place = lower.iter().any(|segment| self.controls.throttled.contains(segment));
        let is_turn =
            self.controls.throttle_every.is_some_and(|every| self.calls.is_multiple_of(every.max(1)));
        if is_place || is_turn {
            let message = "The request is being throttled as the limit has been reached.";
            return Err(Fault::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message));
        }
        Ok(())
    }

    /// The documents whose ids begin like this one, without itself.
    pub(super) fn within(&self, id: &str) -> Vec<String> {
        let start = format!("{}/", id.to_lowercase());
        let from = self.documents.range(start.clone()..);
        from.take_while(|(key, _)| key.starts_with(&start)).map(|(key, _)| key.clone()).collect()
    }
}

/// Now, as Azure writes it.
pub(super) fn now() -> String {
    Timestamp::now().to_string()
}

/// The type of an id in lower case: `microsoft.network/virtualnetworks/subnets`. None for groups and subscriptions.
pub(super) fn type_of(id: &str) -> Option<String> {
    let (_, rest) = id.rsplit_once("/providers/")?;
    let mut segments = rest.split('/');
    let namespace = segments.next()?;
    let types: Vec<&str> = segments.step_by(2).collect();
    (!types.is_empty()).then(|| format!("{namespace}/{}", types.join("/")))
}

/// The group of an id in lower case, as an id.
pub(super) fn group_of(id: &str) -> Option<String> {
    let segments: Vec<&str> = id.split('/').collect();
    match segments.as_slice() {
        ["", "subscriptions", subscription, "resourcegroups", group, ..] => {
            Some(format!("/subscriptions/{subscription}/resourcegroups/{group}"))
        }
        _ => None,
    }
}

/// The text at a JSON pointer.
pub(super) fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
