//! How a test makes a project difficult.

use super::{
    Call, GcpProject,
    compute::permission,
    reply::{Answer, refused, refused_with_info},
    state::{Key, Project},
};
use crate::federation::Trust;
use http::Method;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Everything that is not as it should be.
#[derive(Debug)]
pub(crate) struct Controls {
    denied: BTreeSet<String>,
    throttled: BTreeMap<String, u32>,
    appearing: Vec<(u64, Key, Value)>,
    /// Items that appear at a list: its collection, and how many of these lists come before.
    appearing_at_list: Vec<(String, u64, Key, Value)>,
    disabled: BTreeSet<String>,
    pub(crate) hidden: BTreeSet<(String, String)>,
    pub(crate) late: BTreeMap<(String, String), (String, String)>,
    pub(crate) unreachable: BTreeSet<String>,
    pub(crate) without_quotas: BTreeSet<String>,
    pub(crate) revoked: bool,
    pub(crate) workload_token: Option<String>,
    pub(crate) trust: Option<Trust>,
    pub(crate) session_calls: Option<u64>,
    pub(crate) page: usize,
    pub(crate) slow_calls: u32,
    pub(crate) slow_for: Duration,
    pub(crate) slow_machines: Duration,
}

impl Default for Controls {
    /// Small pages, and deletions that are asked for twice.
    fn default() -> Self {
        Self {
            denied: BTreeSet::new(),
            throttled: BTreeMap::new(),
            appearing: Vec::new(),
            appearing_at_list: Vec::new(),
            disabled: BTreeSet::new(),
            hidden: BTreeSet::new(),
            late: BTreeMap::new(),
            unreachable: BTreeSet::new(),
            without_quotas: BTreeSet::new(),
            revoked: false,
            workload_token: None,
            trust: None,
            session_calls: None,
            page: 5,
            slow_calls: 1,
            slow_for: Duration::ZERO,
            slow_machines: Duration::ZERO,
        }
    }
}

impl GcpProject {
    /// Takes a permission away: `compute.firewalls.list`.
    pub fn deny(&self, permission: &str) {
        self.change(|controls| controls.denied.insert(permission.to_owned()));
    }

    /// Gives a permission back.
    pub fn allow(&self, permission: &str) {
        self.change(|controls| controls.denied.remove(permission));
    }

    /// Throttles so many calls whose path has this in it.
    pub fn throttle(&self, path: &str, calls: u32) {
        self.change(|controls| controls.throttled.insert(path.to_owned(), calls));
    }

    /// An API that the project does not have: `iam`.
    pub fn disable(&self, service: &str) {
        self.change(|controls| controls.disabled.insert(service.to_owned()));
    }

    /// No list shows the item, and quotas count it.
    pub fn hide(&self, collection: &str, name: &str) {
        self.change(|controls| controls.hidden.insert((collection.to_owned(), name.to_owned())));
    }

    /// Its deletion is accepted, and fails.
    pub fn fail_late(&self, collection: &str, name: &str, code: &str, message: &str) {
        let reason = (code.to_owned(), message.to_owned());
        self.change(|controls| controls.late.insert((collection.to_owned(), name.to_owned()), reason));
    }

    /// Its deletion can succeed again.
    pub fn heal(&self, collection: &str, name: &str) {
        self.change(|controls| controls.late.remove(&(collection.to_owned(), name.to_owned())));
    }

    /// An item that is there after so many more calls. `scope` is `global`, `regions/r` or `zones/z`.
    pub fn appear_after(&self, calls: u64, scope: &str, collection: &str, name: &str, body: Value) {
        let key = Key::new(scope, collection, name);
        self.with(|project| project.controls.appearing.push((project.calls + calls, key, body)));
    }

    /// An item that is there right before the n-th list of its collection from now on, in all scopes or in one.
    pub fn appear_at_list(&self, number: u64, scope: &str, collection: &str, name: &str, body: Value) {
        let key = Key::new(scope, collection, name);
        let appearing = (collection.to_owned(), number.saturating_sub(1), key, body);
        self.change(|controls| controls.appearing_at_list.push(appearing));
    }

    /// Aggregated lists cannot reach this scope: `zones/europe-west1-b`.
    pub fn lose(&self, scope: &str) {
        self.change(|controls| controls.unreachable.insert(scope.to_owned()));
    }

    /// Aggregated lists reach the scope again.
    pub fn find(&self, scope: &str) {
        self.change(|controls| controls.unreachable.remove(scope));
    }

    /// The usage of the quotas of this region is not known.
    pub fn lose_quotas(&self, region: &str) {
        self.change(|controls| controls.without_quotas.insert(region.to_owned()));
    }

    /// The key is revoked: no token is given, and none is accepted.
    pub fn revoke(&self) {
        self.change(|controls| controls.revoked = true);
    }

    /// The project trusts a workload identity with this token.
    pub fn trust(&self, token: &str) {
        self.change(|controls| controls.workload_token = Some(token.to_owned()));
    }

    /// The project trusts the tokens of a workload identity, or of none.
    pub fn trust_issuer(&self, trust: Option<Trust>) {
        self.change(|controls| controls.trust = trust);
    }

    /// A token that a workload identity got is not accepted any more after so many calls of the project.
    pub fn sessions_last(&self, calls: u64) {
        self.change(|controls| controls.session_calls = Some(calls));
    }

    /// The most items of a page.
    pub fn page(&self, items: usize) {
        self.change(|controls| controls.page = items);
    }

    /// Deletions are done after so many questions about them, and not before this time has passed.
    pub fn slow(&self, calls: u32, time: Duration) {
        self.change(|controls| {
            (controls.slow_calls, controls.slow_for, controls.slow_machines) = (calls, time, time);
        });
    }

    /// Machines take longer than everything else.
    pub fn slow_machines(&self, time: Duration) {
        self.change(|controls| controls.slow_machines = time);
    }

    /// How many calls came in, without logins.
    pub fn calls(&self) -> u64 {
        self.with(|project| project.calls).unwrap_or_default()
    }

    /// How many tokens of workload identities were exchanged.
    pub fn exchanges(&self) -> u64 {
        self.with(|project| project.exchanges).unwrap_or_default()
    }

    /// Whether an item is there, hidden or not.
    pub fn has(&self, collection: &str, name: &str) -> bool {
        let is_it = |key: &Key| key.collection == collection && key.name == name;
        self.with(|project| project.resources.keys().any(is_it)).unwrap_or_default()
    }

    fn change<T>(&self, act: impl FnOnce(&mut Controls) -> T) {
        self.with(|project| act(&mut project.controls));
    }
}

/// What happens before a call is looked at; an answer ends it.
pub(crate) fn before(project: &mut Project, service: &str, call: &Call<'_>) -> Option<Answer> {
    project.calls += 1;
    let now = project.calls;
    let (due, waiting): (Vec<_>, Vec<_>) =
        std::mem::take(&mut project.controls.appearing).into_iter().partition(|(at, ..)| *at <= now);
    project.controls.appearing = waiting;
    let mut due: Vec<(Key, Value)> = due.into_iter().map(|(_, key, body)| (key, body)).collect();
    let is_list = |collection: &str| call.method == Method::GET && call.path.last() == Some(&collection);
    project.controls.appearing_at_list.retain_mut(|(collection, before, key, body)| {
        if !is_list(collection) {
            return true;
        }
        if *before > 0 {
            *before -= 1;
            return true;
        }
        due.push((key.clone(), body.take()));
        false
    });
    for (key, body) in due {
        project.put(key, body, None);
    }
    let path = call.path.join("/");
    let throttled =
        project.controls.throttled.iter_mut().find(|(part, left)| **left > 0 && path.contains(*part));
    if let Some((_, left)) = throttled {
        *left -= 1;
        return Some(refused(403, "rateLimitExceeded", "Rate Limit Exceeded"));
    }
    if project.controls.disabled.contains(service) {
        let metadata = json!({ "service": format!("{service}.googleapis.com"), "consumer": "projects/1" });
        return Some(refused_with_info(403, "PERMISSION_DENIED", "SERVICE_DISABLED", metadata));
    }
    let permission = permission(service, call);
    if !project.controls.denied.contains(&permission) {
        return None;
    }
    let id = &project.id;
    Some(if service == "iam" {
        let metadata = json!({ "permission": permission });
        refused_with_info(403, "PERMISSION_DENIED", "IAM_PERMISSION_DENIED", metadata)
    } else {
        refused(403, "forbidden", &format!("Required '{permission}' permission for 'projects/{id}'"))
    })
}
