//! Which writes a policy, or a binding, is about.

use super::request::{Admission, Operation};
use crate::{
    auth::{items, text, texts},
    encode, kinds, meta,
    resource::Resource,
    selector::LabelSelector,
    server::Server,
    store::Key,
};
use serde_json::Value;
use std::sync::Arc;

/// `matchConstraints` of a policy, `matchResources` of a binding.
#[derive(Debug)]
pub(super) struct Matching {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    namespaces: LabelSelector,
    objects: LabelSelector,
    /// Whether other versions of a kind count as another kind.
    exact: bool,
}

#[derive(Debug)]
struct Rule {
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    operations: Vec<String>,
    names: Vec<String>,
    scope: String,
}

impl Matching {
    pub(super) fn of(matching: &Value) -> Self {
        let rules = |field| items(matching, field).iter().map(Rule::of).collect();
        Self {
            rules: rules("resourceRules"),
            excluded: rules("excludeResourceRules"),
            namespaces: LabelSelector::of_object(&matching["namespaceSelector"]),
            objects: LabelSelector::of_object(&matching["objectSelector"]),
            exact: text(matching, "matchPolicy") == "Exact",
        }
    }

    /// The kind as which a write is matched: that of the request, or another version of it.
    pub(super) fn matches(&self, admission: &Admission<'_>, server: &Server) -> Option<Arc<Resource>> {
        if self.found(&self.excluded, admission, server).is_some() {
            return None;
        }
        let matched = match self.rules.is_empty() {
            true => Arc::clone(admission.resource),
            false => self.found(&self.rules, admission, server)?,
        };
        (self.matches_object(admission) && self.matches_namespace(admission, server)).then_some(matched)
    }

    fn found(&self, rules: &[Rule], admission: &Admission<'_>, server: &Server) -> Option<Arc<Resource>> {
        if rules.iter().any(|rule| rule.matches(admission, admission.resource)) {
            return Some(Arc::clone(admission.resource));
        }
        if self.exact || rules.is_empty() {
            return None;
        }
        let others: Vec<&Arc<Resource>> =
            server.kinds.all().filter(|other| is_other_face(admission.resource, other)).collect();
        let matching = |rule: &Rule| others.iter().find(|other| rule.matches(admission, other)).copied();
        rules.iter().find_map(matching).cloned()
    }

    fn matches_object(&self, admission: &Admission<'_>) -> bool {
        let chosen =
            |object: Option<&Value>| object.is_some_and(|object| self.objects.matches(&meta::labels(object)));
        self.objects.is_empty() || chosen(admission.object) || chosen(admission.old)
    }

    fn matches_namespace(&self, admission: &Admission<'_>, server: &Server) -> bool {
        // What is in no namespace is never left out by one.
        if self.namespaces.is_empty() || admission.namespace.is_empty() {
            return true;
        }
        if let (true, "", Some(new)) = (admission.is_namespace(), admission.subresource, admission.object)
            && admission.operation != Operation::Delete
        {
            return self.namespaces.matches(&meta::labels(new));
        }
        let stored = server.store.get(&kinds::namespaces(), &Key::new("", admission.namespace));
        stored.is_some_and(|stored| self.namespaces.matches(&stored.labels))
    }
}

impl Rule {
    fn of(rule: &Value) -> Self {
        Self {
            groups: texts(rule, "apiGroups"),
            versions: texts(rule, "apiVersions"),
            resources: texts(rule, "resources"),
            operations: texts(rule, "operations"),
            names: texts(rule, "resourceNames"),
            scope: text(rule, "scope").to_owned(),
        }
    }

    fn matches(&self, admission: &Admission<'_>, resource: &Resource) -> bool {
        let among = |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
        let in_scope = match self.scope.as_str() {
            "Namespaced" => resource.namespaced,
            "Cluster" => !resource.namespaced,
            _ => true,
        };
        let is_resource = |named: &String| {
            let (plural, subresource) = named.split_once('/').unwrap_or((named, ""));
            matches!(plural, "*") | (plural == resource.plural)
                && matches!(subresource, "*") | (subresource == admission.subresource)
        };
        in_scope
            && among(&self.operations, admission.operation.as_str())
            && among(&self.groups, &resource.group)
            && among(&self.versions, &resource.version)
            && self.resources.iter().any(is_resource)
            && (self.names.is_empty() || self.names.iter().any(|name| name == admission.name))
    }
}

/// Whether another kind shows the same objects: another version, or the other group of events.
fn is_other_face(one: &Resource, other: &Resource) -> bool {
    let is_event = |resource: &Resource| {
        resource.plural == "events" && matches!(resource.group.as_str(), "" | "events.k8s.io")
    };
    let same = one.plural == other.plural && one.group == other.group;
    (same && one.version != other.version) || (is_event(one) && is_event(other) && one.group != other.group)
}

/// The namespace that an object of a request is in.
pub(super) fn namespace_of(admission: &Admission<'_>, server: &Server) -> Option<Value> {
    if admission.is_namespace() || admission.namespace.is_empty() {
        return None;
    }
    let stored = server.store.get(&kinds::namespaces(), &Key::new("", admission.namespace))?;
    encode::read(&stored.bytes).ok()
}
