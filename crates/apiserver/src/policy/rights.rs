//! Nobody reads through a policy what they could not read themselves: whoever names parameters must be allowed to get them.

use super::POLICIES;
use crate::{
    auth::{User, present, rbac::Attributes, text},
    error::{FieldError, FieldErrorKind},
    resource::StorageKey,
    server::{Call, Server},
    store::Key,
};
use serde_json::Value;

impl Server {
    /// What is wrong with the parameters of a policy or of a binding, as far as rights are concerned.
    pub(crate) fn unreadable_params(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: &Value,
    ) -> Option<FieldError> {
        let is_policy = call.resource.plural == POLICIES;
        let field = if is_policy { "paramKind" } else { "paramRef" };
        let named = present(&new["spec"], field)?;
        let unchanged = old.is_some_and(|old| {
            present(&old["spec"], field) == Some(named)
                && old["spec"]["policyName"] == new["spec"]["policyName"]
        });
        if unchanged || call.user.is_master() {
            return None;
        }
        let policy =
            if is_policy { Some(new.clone()) } else { self.policy_named(text(&new["spec"], "policyName")) };
        let kind = policy.as_ref().and_then(|policy| present(&policy["spec"], "paramKind"));
        let (group, resource) = self.params_of(kind);
        let (namespace, name) =
            if is_policy { ("*", "*") } else { (text(named, "namespace"), text(named, "name")) };
        let get = Attributes {
            verb: "get",
            group: &group,
            resource: &resource,
            namespace,
            name,
            ..Attributes::default()
        };
        if self.rbac.authorize(&call.user, &get).is_allowed() {
            return None;
        }
        let user = shown(&call.user);
        let why = match is_policy {
            false if policy.is_none() => format!(
                "unable to get policy {} to determine minimum required permissions and user {user} does not have \"get\" permission for all groups, versions and resources",
                text(&new["spec"], "policyName")
            ),
            true => format!(
                "user {user} must have \"get\" permission on all objects of the referenced paramKind (kind={}, apiVersion={})",
                text(named, "kind"),
                text(named, "apiVersion")
            ),
            false => {
                format!("user {user} does not have \"get\" permission on the object referenced by paramRef")
            }
        };
        Some(FieldError::bare(format!("spec.{field}"), FieldErrorKind::Forbidden, why))
    }

    fn policy_named(&self, name: &str) -> Option<Value> {
        let policies = StorageKey { group: super::GROUP.to_owned(), plural: POLICIES.to_owned() };
        let stored = self.store.get(&policies, &Key::new("", name))?;
        crate::encode::read(&stored.bytes).ok()
    }

    /// Group and plural of a kind of parameters; one that is not known may be any.
    fn params_of(&self, kind: Option<&Value>) -> (String, String) {
        let Some(kind) = kind else { return ("*".to_owned(), "*".to_owned()) };
        let (group, version) =
            text(kind, "apiVersion").split_once('/').unwrap_or(("", text(kind, "apiVersion")));
        let found = self.kinds.by_kind(group, version, text(kind, "kind"));
        (group.to_owned(), found.map_or_else(|| "*".to_owned(), |found| found.plural.clone()))
    }
}

/// A user as Go's `%v` shows one.
fn shown(user: &User) -> String {
    let User { name, uid, groups, extra } = user;
    let extra: Vec<String> =
        extra.iter().map(|(key, values)| format!("{key}:[{}]", values.join(" "))).collect();
    format!("&{{{name} {uid} [{}] map[{}]}}", groups.join(" "), extra.join(" "))
}
