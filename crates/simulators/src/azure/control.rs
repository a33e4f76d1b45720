//! The controls of a test.

use super::{
    Shared,
    error::Fault,
    login,
    state::{Controls, Granted, Known, Subscription},
};
use crate::federation::Trust;
use http::StatusCode;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

/// How long deletions take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slow {
    /// So many calls of the subscription.
    Calls(u64),
    /// So much time.
    Time(Duration),
}

/// A role of the tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Owner,
    /// Everything but locks, roles and policies.
    Contributor,
    /// What Gardener documents: its own types and no others.
    Gardener,
    /// Everything, in one resource group only.
    OwnerOf(&'static str),
}

/// The credentials of a service principal.
#[derive(Clone, Debug)]
pub struct Principal {
    /// Its application.
    pub client: String,
    /// A secret of the application.
    pub secret: String,
    /// Its object id.
    pub object: String,
}

/// One subscription.
#[derive(Clone)]
pub struct Account {
    state: Shared,
    /// The endpoint of the login and of Resource Manager.
    pub endpoint: String,
    /// The subscription.
    pub subscription: String,
    /// The directory.
    pub tenant: String,
    /// The principal whose credentials the pool has.
    pub own: Principal,
    /// An owner of the subscription, for the test itself.
    pub admin: Principal,
}

impl Account {
    pub(super) fn new(state: Shared, endpoint: String) -> Self {
        let mut all = state.lock();
        all.number += 1;
        let number = all.number;
        let id = |part: u64| format!("{number:08x}-{part:04x}-4000-8000-000000000000");
        let principal = |part: u64| Principal {
            client: id(part),
            secret: format!("hush~{number}.{part}-aZ9+/=&"),
            object: id(part + 1),
        };
        let (own, admin) = (principal(3), principal(5));
        let known = |principal: &Principal| Known {
            client: principal.client.clone(),
            secret: principal.secret.clone(),
            object: principal.object.clone(),
            roles: roles(Role::Owner, &id(1)),
            valid_from: 0,
            trust: None,
        };
        let (subscription, tenant) = (id(1), id(2));
        let made = Subscription {
            id: subscription.clone(),
            tenant: tenant.clone(),
            principals: vec![known(&own), known(&admin)],
            documents: BTreeMap::new(),
            operations: BTreeMap::new(),
            calls: 0,
            number: 0,
            controls: Controls::default(),
        };
        all.subscriptions.insert(subscription.clone(), made);
        drop(all);
        let account = Self { state, endpoint, subscription, tenant, own, admin };
        account.organize();
        account
    }

    /// What the organization has there: roles of the pool's principal and of the owners, one from above, a policy from above.
    fn organize(&self) {
        let at = format!("/subscriptions/{}", self.subscription);
        let above = "/providers/Microsoft.Management/managementGroups/org";
        let role = |scope: &str, name: &str, principal: &str| {
            json!({
                "id": format!("{scope}/providers/Microsoft.Authorization/roleAssignments/{name}"), "name": name,
                "type": "Microsoft.Authorization/roleAssignments",
                "properties": {
                    "scope": scope, "principalId": principal, "createdBy": "org", "createdOn": "2020-01-01T00:00:00Z",
                    "roleDefinitionId": format!("{at}/providers/Microsoft.Authorization/roleDefinitions/owner"),
                },
            })
        };
        self.put(role(&at, "own", &self.own.object));
        self.put(role(above, "inherited", &self.admin.object));
        self.put(json!({
            "id": format!("{above}/providers/Microsoft.Authorization/policyAssignments/locations"), "name": "locations",
            "type": "Microsoft.Authorization/policyAssignments",
            "properties": { "scope": above, "metadata": { "createdBy": "org" } },
        }));
    }

    fn with<T>(&self, act: impl FnOnce(&mut Subscription) -> T) -> Option<T> {
        self.state.lock().subscriptions.get_mut(&self.subscription).map(act)
    }

    fn control(&self, act: impl FnOnce(&mut Controls)) {
        self.with(|subscription| act(&mut subscription.controls));
    }

    /// The id of something in the subscription, by its path.
    pub fn id(&self, path: &str) -> String {
        format!("/subscriptions/{}/{path}", self.subscription)
    }

    fn change_tenant(&self, act: impl FnOnce(&mut Known)) {
        self.with(|subscription| subscription.principals.first_mut().map(act));
    }

    /// Gives the tenant this role and no other.
    pub fn set_role(&self, role: Role) {
        let granted = roles(role, &self.subscription);
        self.change_tenant(|tenant| tenant.roles = granted);
    }

    /// Lets the tenant's application trust a workload identity, or none.
    pub fn trust(&self, trust: Option<Trust>) {
        self.change_tenant(|tenant| tenant.trust = trust);
    }

    /// Takes a role away after so many calls, and gives this one.
    pub fn lose_role_after(&self, calls: u64, role: Role) {
        let granted = roles(role, &self.subscription);
        self.with(|subscription| subscription.controls.losing = Some((subscription.calls + calls, granted)));
    }

    /// Refuses an action to the tenant: `Microsoft.Network/*/read`.
    pub fn deny(&self, action: &str) {
        self.control(|controls| controls.denied.push(action.to_owned()));
    }

    /// Takes a refusal back.
    pub fn allow(&self, action: &str) {
        self.control(|controls| controls.denied.retain(|denied| denied != action));
    }

    /// Shows an item in no list; counts have it.
    pub fn hide(&self, path: &str) {
        let id = self.id(path).to_lowercase();
        self.control(|controls| {
            controls.hidden.insert(id);
        });
    }

    /// Refuses every call with this word in its path for being too many: a location, a type.
    pub fn throttle(&self, word: &str) {
        self.control(|controls| {
            controls.throttled.insert(word.to_lowercase());
        });
    }

    /// Answers these calls again.
    pub fn unthrottle(&self, word: &str) {
        self.control(|controls| {
            controls.throttled.remove(&word.to_lowercase());
        });
    }

    /// Refuses every n-th call for being too many.
    pub fn throttle_every(&self, calls: u64) {
        self.control(|controls| controls.throttle_every = Some(calls));
    }

    /// Shows so many items on a page.
    pub fn page(&self, items: usize) {
        self.control(|controls| controls.page = items);
    }

    /// Lets deletions take their time.
    pub fn slow(&self, slow: Slow) {
        self.control(|controls| controls.slow = slow);
    }

    /// Lets the next deletions of a group fail, some time after they were accepted.
    pub fn fail_late(&self, group: &str, code: &str, message: &str, times: u32) {
        let (id, fault) =
            (self.id(&format!("resourcegroups/{group}")), Fault::new(StatusCode::CONFLICT, code, message));
        self.control(|controls| {
            controls.late.insert(id.to_lowercase(), (fault, times));
        });
    }

    /// Takes the registration with a provider back.
    pub fn unregister(&self, namespace: &str) {
        self.control(|controls| {
            controls.unregistered.insert(namespace.to_lowercase());
        });
    }

    /// Takes the providers out of a location.
    pub fn close(&self, location: &str) {
        self.control(|controls| {
            controls.closed.insert(location.to_lowercase());
        });
    }

    /// Finds the list of a type in no version of the API. The provider goes on to name the type if there are any.
    pub fn retire(&self, kind: &str) {
        self.control(|controls| {
            controls.retired.insert(kind.to_lowercase());
        });
    }

    /// Adds a document now: somebody else made it.
    pub fn put(&self, document: Value) {
        self.with(|subscription| subscription.insert(document));
    }

    /// Adds a document after so many calls.
    pub fn appear_after(&self, calls: u64, document: Value) {
        self.with(|subscription| {
            let at = subscription.calls + calls;
            subscription.controls.coming.push((at, document));
        });
    }

    /// Adds a document right before the n-th list from now on whose path ends with this word: `resourceGroups`.
    pub fn appear_at_list(&self, list: &str, number: u64, document: Value) {
        let coming = (list.to_lowercase(), number.saturating_sub(1), document);
        self.control(|controls| controls.coming_at_list.push(coming));
    }

    /// Refuses a token that a workload identity got, after so many calls of the subscription.
    pub fn sessions_last(&self, calls: u64) {
        self.control(|controls| controls.session_calls = Some(calls));
    }

    /// Refuses all tokens that were given out.
    pub fn revoke_tokens(&self) {
        let number = {
            let mut state = self.state.lock();
            state.number += 1;
            state.number
        };
        self.with(|subscription| {
            for principal in &mut subscription.principals {
                principal.valid_from = number;
            }
        });
    }

    /// Everything in the subscription and above it that is not the organization's, by id.
    pub fn left(&self) -> Vec<String> {
        let organized = ["roleassignments/own", "roleassignments/inherited", "policyassignments/locations"];
        let is_left = |id: &&String| !organized.iter().any(|end| id.ends_with(end));
        self.with(|subscription| subscription.documents.keys().filter(is_left).cloned().collect())
            .unwrap_or_default()
    }

    /// How many calls the subscription had.
    pub fn calls(&self) -> u64 {
        self.with(|subscription| subscription.calls).unwrap_or_default()
    }

    /// The forms with which the tenant's application logged in, as they came.
    pub fn logins(&self) -> Vec<String> {
        let state = self.state.lock();
        let own = state.logins.iter().filter(|(client, _)| *client == self.own.client);
        own.map(|(_, form)| form.clone()).collect()
    }

    /// A token of a workload identity that the application of the tenant trusts.
    pub fn workload_token(&self) -> String {
        login::assertion(&self.state.lock(), &self.own.client)
    }
}

const CONTRIBUTOR_MAY_NOT: &[&str] = &[
    "Microsoft.Authorization/*/Delete",
    "Microsoft.Authorization/*/Write",
    "Microsoft.Authorization/elevateAccess/Action",
    "Microsoft.Compute/galleries/share/action",
];
const GARDENER_MAY: &[&str] = &[
    "Microsoft.Compute/*",
    "Microsoft.Network/*",
    "Microsoft.ManagedIdentity/userAssignedIdentities/*",
    "Microsoft.Resources/subscriptions/resourceGroups/*",
    "Microsoft.Storage/*",
];

fn roles(role: Role, subscription: &str) -> Vec<Granted> {
    let all = |list: &[&str]| list.iter().map(|action| (*action).to_owned()).collect::<Vec<_>>();
    let root = format!("/subscriptions/{subscription}");
    let granted = |scope: String, actions: &[&str], not_actions: &[&str]| {
        vec![Granted { scope, actions: all(actions), not_actions: all(not_actions) }]
    };
    match role {
        Role::Owner => granted(root, &["*"], &[]),
        Role::Contributor => granted(root, &["*"], CONTRIBUTOR_MAY_NOT),
        Role::Gardener => granted(root, GARDENER_MAY, &[]),
        Role::OwnerOf(group) => granted(format!("{root}/resourcegroups/{group}").to_lowercase(), &["*"], &[]),
    }
}
