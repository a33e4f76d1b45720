//! Nobody gives away what they do not have: the checks on writes of roles and bindings.

use super::rule::{describe, uncovered};
use super::{Attributes, ClusterRole, Decision, GROUP, Kind, Missing, PolicyRule, Rbac, RoleRef};
use crate::auth::{User, aggregate, quoted, quoted_list, text};
use crate::error::{ApiError, GroupResource};
use serde_json::Value;

/// A write of a role or a binding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    /// Who writes.
    pub user: &'a User,
    /// What.
    pub kind: Kind,
    /// The namespace of the request, empty for the kinds of the cluster.
    pub namespace: &'a str,
    /// The name in the path of the request: empty for a POST, whatever the object is called.
    pub path_name: &'a str,
    /// What is to be written, with its defaults.
    pub new: &'a Value,
    /// What is there, if there is something.
    pub old: Option<&'a Value>,
}

impl Rbac {
    /// Refuses a write that would give somebody rights that the writer does not have. To be asked before the object
    /// is validated, as the real server does.
    pub(crate) fn check_write(&self, write: &Write<'_>) -> Result<(), ApiError> {
        if write.user.is_master() || write.old.is_some_and(|old| only_garbage_collection(write.new, old)) {
            return Ok(());
        }
        match write.kind {
            Kind::Role | Kind::ClusterRole => self.check_role(write),
            Kind::RoleBinding | Kind::ClusterRoleBinding => self.check_binding(write),
        }
    }

    fn check_role(&self, write: &Write<'_>) -> Result<(), ApiError> {
        let escalate = Attributes {
            verb: "escalate",
            group: GROUP,
            resource: write.kind.resource(),
            namespace: write.namespace,
            name: write.path_name,
            ..Attributes::default()
        };
        if self.authorize(write.user, &escalate).is_allowed() {
            return Ok(());
        }
        self.confirm_no_escalation(write, &PolicyRule::all_of(write.new))?;
        let aggregates = |role: &Value| {
            ClusterRole::from_json(role).aggregation.is_some_and(|aggregation| !aggregation.is_empty())
        };
        if write.kind == Kind::ClusterRole && (aggregates(write.new) || write.old.is_some_and(aggregates)) {
            self.confirm_no_escalation(write, &full_authority()).map_err(|_| {
                write.forbidden("must have cluster-admin privileges to use the aggregationRule")
            })?;
        }
        Ok(())
    }

    fn check_binding(&self, write: &Write<'_>) -> Result<(), ApiError> {
        let role = RoleRef::of(write.new);
        let bind = Attributes {
            verb: "bind",
            group: &role.group,
            resource: if role.kind == "Role" { "roles" } else { "clusterroles" },
            namespace: write.namespace,
            name: &role.name,
            ..Attributes::default()
        };
        let is_known_kind = Missing(&role).is_known_kind();
        if is_known_kind && matches!(self.authorize(write.user, &bind), Decision::Allowed(_)) {
            return Ok(());
        }
        let rules = self.rules_of(&role, write.namespace).map_err(|missing| {
            if is_known_kind {
                ApiError::not_found(write.kind.group_resource(), &role.name)
            } else {
                ApiError { code: 500, reason: "", message: missing.for_writers(write.kind), details: None }
            }
        })?;
        self.confirm_no_escalation(write, rules)
    }

    fn confirm_no_escalation(&self, write: &Write<'_>, rules: &[PolicyRule]) -> Result<(), ApiError> {
        let (owned, errors) = self.rules_for(write.user, write.namespace);
        let owned: Vec<PolicyRule> = owned.into_iter().cloned().collect();
        let missing = uncovered(&owned, rules);
        if missing.is_empty() {
            return Ok(());
        }
        let mut why = format!(
            "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            quoted(&write.user.name),
            quoted_list(&write.user.groups),
            describe(&missing)
        );
        if !errors.is_empty() {
            let errors: Vec<String> = errors.iter().map(|error| error.for_writers(write.kind)).collect();
            why = format!("{why}; resolution errors: [{}]", aggregate(&errors));
        }
        Err(write.forbidden(&why))
    }
}

impl Write<'_> {
    fn forbidden(&self, why: &str) -> ApiError {
        let what = GroupResource { group: GROUP, resource: self.kind.resource() };
        ApiError::forbidden(what, text(&self.new["metadata"], "name"), why)
    }
}

fn full_authority() -> [PolicyRule; 2] {
    let all = || vec!["*".to_owned()];
    [
        PolicyRule { verbs: all(), api_groups: all(), resources: all(), ..PolicyRule::default() },
        PolicyRule { verbs: all(), non_resource_urls: all(), ..PolicyRule::default() },
    ]
}

/// Whether a write changes nothing but what the garbage collector changes: that needs no rights.
fn only_garbage_collection(new: &Value, old: &Value) -> bool {
    const ITS_FIELDS: [&str; 4] = ["ownerReferences", "finalizers", "selfLink", "managedFields"];
    let without = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|key, _| !ITS_FIELDS.contains(&key.as_str()));
        }
        object
    };
    without(new) == without(old)
}
