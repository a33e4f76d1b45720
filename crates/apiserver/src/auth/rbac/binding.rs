//! Bindings, and the index that finds those about somebody.

use super::GROUP;
use crate::auth::{User, items, quoted, service_account_name, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A binding of subjects to a role.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(super) name: String,
    /// Empty for a ClusterRoleBinding.
    pub(super) namespace: String,
    pub(super) role: RoleRef,
    subjects: Vec<Subject>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoleRef {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) name: String,
}

/// One subject of a binding.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    kind: String,
    name: String,
    namespace: String,
    matcher: Matcher,
}

/// ServiceAccounts are users with a certain name: that name is put together once, when the binding changes.
#[derive(Clone, Debug)]
enum Matcher {
    User(String),
    Group(String),
    Nobody,
}

impl RoleRef {
    pub(super) fn of(binding: &Value) -> Self {
        let reference = &binding["roleRef"];
        let group = Some(text(reference, "apiGroup")).filter(|group| !group.is_empty()).unwrap_or(GROUP);
        Self {
            group: group.to_owned(),
            kind: text(reference, "kind").to_owned(),
            name: text(reference, "name").to_owned(),
        }
    }
}

impl Binding {
    pub(super) fn from_json(namespace: &str, name: &str, binding: &Value) -> Self {
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            role: RoleRef::of(binding),
            subjects: items(binding, "subjects").iter().map(|s| Subject::from_json(namespace, s)).collect(),
        }
    }

    pub(super) fn describe(&self) -> String {
        let (kind, name) = match self.namespace.as_str() {
            "" => ("ClusterRoleBinding", self.name.clone()),
            namespace => ("RoleBinding", format!("{}/{namespace}", self.name)),
        };
        format!("{kind} {} of {} {}", quoted(&name), self.role.kind, quoted(&self.role.name))
    }

    pub(super) fn subject_for(&self, user: &User) -> Option<&Subject> {
        self.subjects.iter().find(|subject| match &subject.matcher {
            Matcher::User(name) => *name == user.name,
            Matcher::Group(group) => user.is_in(group),
            Matcher::Nobody => false,
        })
    }
}

impl Subject {
    /// `namespace` is that of the binding: a ServiceAccount without one is meant to live there.
    fn from_json(namespace: &str, subject: &Value) -> Self {
        let (kind, name) = (text(subject, "kind"), text(subject, "name"));
        let namespace = match text(subject, "namespace") {
            "" => namespace,
            own => own,
        };
        let matcher = match kind {
            "User" => Matcher::User(name.to_owned()),
            "Group" => Matcher::Group(name.to_owned()),
            "ServiceAccount" if !namespace.is_empty() => Matcher::User(service_account_name(namespace, name)),
            _ => Matcher::Nobody,
        };
        Self { kind: kind.to_owned(), name: name.to_owned(), namespace: namespace.to_owned(), matcher }
    }

    pub(super) fn describe(&self) -> String {
        match self.kind.as_str() {
            kind @ "ServiceAccount" => {
                format!("{kind} {}", quoted(&format!("{}/{}", self.name, self.namespace)))
            }
            kind => format!("{kind} {}", quoted(&self.name)),
        }
    }
}

/// The bindings of one namespace, or of the cluster, and which of them are about whom.
#[derive(Clone, Debug, Default)]
pub(super) struct Bindings {
    by_name: BTreeMap<String, Arc<Binding>>,
    by_user: BTreeMap<String, BTreeMap<String, Arc<Binding>>>,
    by_group: BTreeMap<String, BTreeMap<String, Arc<Binding>>>,
}

impl Bindings {
    pub(super) fn insert(&mut self, binding: Binding) {
        self.remove(&binding.name);
        let binding = Arc::new(binding);
        for subject in &binding.subjects {
            let (index, who) = match &subject.matcher {
                Matcher::User(name) => (&mut self.by_user, name),
                Matcher::Group(group) => (&mut self.by_group, group),
                Matcher::Nobody => continue,
            };
            index.entry(who.clone()).or_default().insert(binding.name.clone(), binding.clone());
        }
        self.by_name.insert(binding.name.clone(), binding);
    }

    pub(super) fn remove(&mut self, name: &str) {
        let Some(binding) = self.by_name.remove(name) else { return };
        for subject in &binding.subjects {
            let (index, who) = match &subject.matcher {
                Matcher::User(name) => (&mut self.by_user, name),
                Matcher::Group(group) => (&mut self.by_group, group),
                Matcher::Nobody => continue,
            };
            if let Some(bindings) = index.get_mut(who) {
                bindings.remove(name);
                if bindings.is_empty() {
                    index.remove(who);
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// May give one of them twice, if it names the user and one of their groups.
    pub(super) fn about<'a>(&'a self, user: &User) -> impl Iterator<Item = &'a Binding> {
        let by_group = user.groups.iter().filter_map(|group| self.by_group.get(group));
        let all = self.by_user.get(&user.name).into_iter().chain(by_group);
        all.flat_map(|bindings| bindings.values().map(Arc::as_ref))
    }
}
