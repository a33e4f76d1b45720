//! RBAC: an index of roles and bindings that is told of every change and answers who may do what.

mod aggregation;
mod binding;
mod bootstrap;
mod escalation;
mod rule;
#[cfg(test)]
pub(super) mod tests;
mod validation;

pub(crate) use aggregation::{Aggregation, aggregated_rules};
pub(crate) use binding::{Binding, Subject};
pub(crate) use bootstrap::bootstrap_objects;
pub(crate) use escalation::Write;
pub(crate) use rule::PolicyRule;
pub(super) use validation::{invalid, operator_errors, required, requirement_errors};
pub(crate) use validation::{selector_errors, set_defaults, validate};

use super::{User, aggregate, quoted, text};
use crate::error::{ApiError, GroupResource};
use binding::{Bindings, RoleRef};
use serde_json::Value;
use std::collections::BTreeMap;

/// The group of the four kinds.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// The four kinds of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Rules for one namespace.
    Role,
    /// Who has them, in one namespace.
    RoleBinding,
    /// Rules for anywhere.
    ClusterRole,
    /// Who has them everywhere.
    ClusterRoleBinding,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Self; 4] =
        [Self::Role, Self::RoleBinding, Self::ClusterRole, Self::ClusterRoleBinding];

    /// The kind with a name, if it is one of these.
    pub(crate) fn named(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == kind)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Role => "Role",
            Self::RoleBinding => "RoleBinding",
            Self::ClusterRole => "ClusterRole",
            Self::ClusterRoleBinding => "ClusterRoleBinding",
        }
    }

    /// Its plural, as paths and refusals name it.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Self::Role => "roles",
            Self::RoleBinding => "rolebindings",
            Self::ClusterRole => "clusterroles",
            Self::ClusterRoleBinding => "clusterrolebindings",
        }
    }

    /// Whether its objects live in namespaces.
    pub(crate) fn is_namespaced(self) -> bool {
        matches!(self, Self::Role | Self::RoleBinding)
    }

    fn group_resource(self) -> GroupResource<'static> {
        GroupResource { group: GROUP, resource: self.resource() }
    }
}

/// What somebody asks to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// `get`, `list`, `deletecollection`, …; for a path the method in lower case.
    pub verb: &'a str,
    /// The group of the resource.
    pub group: &'a str,
    /// The plural.
    pub resource: &'a str,
    /// `status`, `token`, …, or empty.
    pub subresource: &'a str,
    /// The namespace, empty for the whole cluster.
    pub namespace: &'a str,
    /// The name of the object, empty for all of them.
    pub name: &'a str,
    /// The path, if this is not about a resource; then all but the verb is empty.
    pub path: Option<&'a str>,
}

impl<'a> Attributes<'a> {
    /// A request for a path that is no resource.
    pub fn path(verb: &'a str, path: &'a str) -> Self {
        Self { verb, path: Some(path), ..Self::default() }
    }
}

/// What RBAC says to a request.
#[derive(Clone, Debug)]
pub(crate) enum Decision<'a> {
    /// Yes, because of this.
    Allowed(Grant<'a>),
    /// Nothing allows it. Roles that were bound and not found are in the list.
    NoOpinion(Vec<String>),
}

/// Why something is allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Grant<'a> {
    /// The user is in `system:masters`.
    Masters,
    /// A binding to a role that allows it, and which of its subjects the user is.
    Binding(&'a Binding, &'a Subject),
}

impl Decision<'_> {
    /// Whether it is a yes.
    pub(crate) fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// The words of a review, empty if there are none.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Allowed(Grant::Masters) => String::new(),
            Self::Allowed(Grant::Binding(binding, subject)) => {
                format!("RBAC: allowed by {} to {}", binding.describe(), subject.describe())
            }
            Self::NoOpinion(errors) if errors.is_empty() => String::new(),
            Self::NoOpinion(errors) => format!("RBAC: {}", aggregate(errors)),
        }
    }
}

/// A ClusterRole, as far as RBAC is concerned.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClusterRole {
    /// Its name.
    pub name: String,
    /// Its labels, by which others collect its rules.
    pub labels: BTreeMap<String, String>,
    /// Its rules.
    pub rules: Vec<PolicyRule>,
    /// By which labels it collects the rules of others.
    pub aggregation: Option<Aggregation>,
}

impl ClusterRole {
    /// Reads one.
    pub(crate) fn from_json(role: &Value) -> Self {
        let labels = role.pointer("/metadata/labels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        Self {
            name: text(&role["metadata"], "name").to_owned(),
            labels: labels.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect(),
            rules: PolicyRule::all_of(role),
            aggregation: Aggregation::of(role),
        }
    }
}

/// All roles and bindings, and what follows from them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rbac {
    cluster_roles: BTreeMap<String, ClusterRole>,
    roles: BTreeMap<String, BTreeMap<String, Vec<PolicyRule>>>,
    cluster_bindings: Bindings,
    bindings: BTreeMap<String, Bindings>,
}

impl Rbac {
    /// An object was created or changed.
    pub(crate) fn upsert(&mut self, kind: Kind, namespace: &str, name: &str, object: &Value) {
        match kind {
            Kind::ClusterRole => {
                let role = ClusterRole { name: name.to_owned(), ..ClusterRole::from_json(object) };
                self.cluster_roles.insert(name.to_owned(), role);
            }
            Kind::Role => {
                let roles = self.roles.entry(namespace.to_owned()).or_default();
                roles.insert(name.to_owned(), PolicyRule::all_of(object));
            }
            Kind::ClusterRoleBinding => self.cluster_bindings.insert(Binding::from_json("", name, object)),
            Kind::RoleBinding => {
                let bindings = self.bindings.entry(namespace.to_owned()).or_default();
                bindings.insert(Binding::from_json(namespace, name, object));
            }
        }
    }

    /// An object is gone.
    pub(crate) fn remove(&mut self, kind: Kind, namespace: &str, name: &str) {
        match kind {
            Kind::ClusterRole => drop(self.cluster_roles.remove(name)),
            Kind::ClusterRoleBinding => self.cluster_bindings.remove(name),
            Kind::Role => {
                let Some(roles) = self.roles.get_mut(namespace) else { return };
                roles.remove(name);
                if roles.is_empty() {
                    self.roles.remove(namespace);
                }
            }
            Kind::RoleBinding => {
                let Some(bindings) = self.bindings.get_mut(namespace) else { return };
                bindings.remove(name);
                if bindings.is_empty() {
                    self.bindings.remove(namespace);
                }
            }
        }
    }

    /// Whether somebody may do something.
    pub(crate) fn authorize(&self, user: &User, request: &Attributes<'_>) -> Decision<'_> {
        if user.is_master() {
            return Decision::Allowed(Grant::Masters);
        }
        let mut errors = Vec::new();
        let local = self.bindings.get(request.namespace);
        let local = local.into_iter().flat_map(|bindings| bindings.about(user));
        for binding in self.cluster_bindings.about(user).chain(local) {
            match self.rules_of(&binding.role, &binding.namespace) {
                Ok(rules) if rules.iter().any(|rule| rule.allows(request)) => {
                    if let Some(subject) = binding.subject_for(user) {
                        return Decision::Allowed(Grant::Binding(binding, subject));
                    }
                }
                Ok(_) => {}
                Err(missing) => errors.push(missing.for_readers()),
            }
        }
        Decision::NoOpinion(errors)
    }

    /// What everything that somebody has adds up to in a namespace, and which roles were not found.
    pub(super) fn rules_for(&self, user: &User, namespace: &str) -> (Vec<&PolicyRule>, Vec<Missing<'_>>) {
        let (mut rules, mut missing) = (Vec::new(), Vec::new());
        let local = self.bindings.get(namespace);
        for bindings in std::iter::once(&self.cluster_bindings).chain(local) {
            let mut about: Vec<&Binding> = bindings.about(user).collect();
            about.sort_by(|a, b| a.name.cmp(&b.name));
            about.dedup_by(|a, b| a.name == b.name);
            for binding in about {
                match self.rules_of(&binding.role, &binding.namespace) {
                    Ok(found) => rules.extend(found),
                    Err(error) => missing.push(error),
                }
            }
        }
        (rules, missing)
    }

    fn rules_of<'a>(&'a self, role: &'a RoleRef, namespace: &str) -> Result<&'a [PolicyRule], Missing<'a>> {
        let found = match role.kind.as_str() {
            "ClusterRole" => self.cluster_roles.get(&role.name).map(|found| &found.rules),
            "Role" => self.roles.get(namespace).and_then(|roles| roles.get(&role.name)),
            _ => None,
        };
        found.map(Vec::as_slice).ok_or(Missing(role))
    }

    /// The 403 for a request that is not allowed.
    pub(crate) fn forbidden(user: &User, request: &Attributes<'_>, decision: &Decision<'_>) -> ApiError {
        let mut why = forbidden_message(user, request);
        let reason = decision.reason();
        if !reason.is_empty() {
            why = format!("{why}: {reason}");
        }
        match request.path {
            None => {
                let what = GroupResource { group: request.group, resource: request.resource };
                ApiError::forbidden(what, request.name, why)
            }
            Some(_) => ApiError {
                code: 403,
                reason: "Forbidden",
                message: format!("forbidden: {why}"),
                // Details without anything in them, as the real server has it.
                ..ApiError::no_such_path()
            },
        }
    }

    /// Allows a request, or says why not.
    pub(crate) fn check(&self, user: &User, request: &Attributes<'_>) -> Result<(), ApiError> {
        match self.authorize(user, request) {
            Decision::Allowed(_) => Ok(()),
            decision => Err(Self::forbidden(user, request, &decision)),
        }
    }
}

/// A role that is bound and not there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing<'a>(&'a RoleRef);

impl Missing<'_> {
    /// As those hear it who are refused.
    pub(super) fn for_readers(self) -> String {
        self.named(&self.0.kind.to_lowercase())
    }

    /// As those hear it who write a role or a binding: the real server calls the missing role by the resource of
    /// the request.
    fn for_writers(self, kind: Kind) -> String {
        self.named(kind.resource())
    }

    fn is_known_kind(self) -> bool {
        matches!(self.0.kind.as_str(), "Role" | "ClusterRole")
    }

    fn named(self, resource: &str) -> String {
        let RoleRef { kind, name, .. } = self.0;
        if self.is_known_kind() {
            format!("{resource}.{GROUP} {} not found", quoted(name))
        } else {
            format!("unsupported role reference kind: {}", quoted(kind))
        }
    }
}

fn forbidden_message(user: &User, request: &Attributes<'_>) -> String {
    let Attributes { verb, group, resource, subresource, namespace, name: _, path } = *request;
    let user = quoted(&user.name);
    let message = if let Some(path) = path {
        format!("User {user} cannot {verb} path {}", quoted(path))
    } else {
        let resource = match subresource {
            "" => quoted(resource),
            subresource => quoted(&format!("{resource}/{subresource}")),
        };
        let scope = match namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {}", quoted(namespace)),
        };
        format!("User {user} cannot {verb} resource {resource} in API group {} {scope}", quoted(group))
    };
    // So that nothing that a user chose looks like HTML to a browser.
    message.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
