//! One rule of a role: what it allows, what it covers, and how it is shown.

use super::Attributes;
use crate::auth::{quoted_list, texts};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// One rule of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyRule {
    /// What may be done; `*` is everything.
    pub verbs: Vec<String>,
    /// In which groups; the empty one is the core group, `*` is all.
    pub api_groups: Vec<String>,
    /// With which resources: `secrets`, `shoots/status`, `*/scale`, `*`.
    pub resources: Vec<String>,
    /// With which objects; none is all of them.
    pub resource_names: Vec<String>,
    /// With which paths; a `*` at the end is everything below.
    pub non_resource_urls: Vec<String>,
}

impl PolicyRule {
    /// Reads a rule; what is absent is empty.
    pub(crate) fn from_json(rule: &Value) -> Self {
        Self {
            verbs: texts(rule, "verbs"),
            api_groups: texts(rule, "apiGroups"),
            resources: texts(rule, "resources"),
            resource_names: texts(rule, "resourceNames"),
            non_resource_urls: texts(rule, "nonResourceURLs"),
        }
    }

    /// The rules of a role.
    pub(crate) fn all_of(role: &Value) -> Vec<Self> {
        crate::auth::items(role, "rules").iter().map(Self::from_json).collect()
    }

    /// As it goes over the wire: what is empty is left out.
    pub(crate) fn to_json(&self) -> Value {
        let Self { verbs, api_groups, resources, resource_names, non_resource_urls } = self;
        let mut rule = json!({ "verbs": verbs });
        let optional = [
            ("apiGroups", api_groups),
            ("resources", resources),
            ("resourceNames", resource_names),
            ("nonResourceURLs", non_resource_urls),
        ];
        for (key, values) in optional.into_iter().filter(|(_, values)| !values.is_empty()) {
            rule[key] = json!(values);
        }
        rule
    }

    /// Whether it allows a request.
    pub(crate) fn allows(&self, request: &Attributes<'_>) -> bool {
        if !has_or_all(&self.verbs, request.verb) {
            return false;
        }
        match request.path {
            Some(path) => self.non_resource_urls.iter().any(|url| url == "*" || url_covers(url, path)),
            None => {
                has_or_all(&self.api_groups, request.group)
                    && self
                        .resources
                        .iter()
                        .any(|rule| resource_matches(rule, request.resource, request.subresource))
                    && (self.resource_names.is_empty() || has(&self.resource_names, request.name))
            }
        }
    }

    fn covers(&self, atom: &Atom<'_>) -> bool {
        if !has_or_all(&self.verbs, atom.verb) {
            return false;
        }
        match atom.what {
            What::Url(url) => {
                self.resource_names.is_empty()
                    && self.non_resource_urls.iter().any(|own| url_covers(own, url))
            }
            What::Resource { group, resource, name } => {
                has_or_all(&self.api_groups, group)
                    && covers_resource(&self.resources, resource)
                    && (self.resource_names.is_empty()
                        || name.is_some_and(|name| has(&self.resource_names, name)))
            }
        }
    }

    fn atoms(&self) -> Vec<Atom<'_>> {
        let mut atoms = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let mut push = |name| {
                        atoms.push(Atom { verb, what: What::Resource { group, resource, name } });
                    };
                    if self.resource_names.is_empty() {
                        push(None);
                    }
                    self.resource_names.iter().for_each(|name| push(Some(name)));
                }
            }
        }
        for url in &self.non_resource_urls {
            atoms.extend(self.verbs.iter().map(|verb| Atom { verb, what: What::Url(url) }));
        }
        atoms
    }
}

/// One thing that may be done: rules are taken apart into these, because one of them is always covered by a single
/// rule or by none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Atom<'a> {
    verb: &'a str,
    what: What<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What<'a> {
    Resource { group: &'a str, resource: &'a str, name: Option<&'a str> },
    Url(&'a str),
}

/// What `requested` grants and `owned` does not; nothing if all of it is covered.
pub(crate) fn uncovered<'a>(owned: &[PolicyRule], requested: &'a [PolicyRule]) -> Vec<Atom<'a>> {
    let atoms = requested.iter().flat_map(PolicyRule::atoms);
    atoms.filter(|atom| !owned.iter().any(|rule| rule.covers(atom))).collect()
}

/// The lines that tell somebody which rights are missing: the verbs of one resource together, sorted.
pub(super) fn describe(missing: &[Atom<'_>]) -> String {
    let mut lines = BTreeSet::new();
    let mut by_resource: BTreeMap<What<'_>, Vec<&str>> = BTreeMap::new();
    for atom in missing {
        match atom.what {
            What::Url(url) => {
                let (url, verb) = (quoted_list(&[url]), quoted_list(&[atom.verb]));
                lines.insert(format!("{{NonResourceURLs:{url}, Verbs:{verb}}}"));
            }
            what @ What::Resource { .. } => by_resource.entry(what).or_default().push(atom.verb),
        }
    }
    for (what, verbs) in by_resource {
        let What::Resource { group, resource, name } = what else { continue };
        let mut parts = vec![
            format!("APIGroups:{}", quoted_list(&[group])),
            format!("Resources:{}", quoted_list(&[resource])),
        ];
        parts.extend(name.map(|name| format!("ResourceNames:{}", quoted_list(&[name]))));
        parts.push(format!("Verbs:{}", quoted_list(&verbs)));
        lines.insert(format!("{{{}}}", parts.join(", ")));
    }
    lines.into_iter().collect::<Vec<_>>().join("\n")
}

fn has(set: &[String], element: &str) -> bool {
    set.iter().any(|e| e == element)
}

fn has_or_all(set: &[String], element: &str) -> bool {
    set.iter().any(|e| e == "*" || e == element)
}

fn url_covers(own: &str, url: &str) -> bool {
    own == url || (own.ends_with('*') && url.starts_with(own.trim_end_matches('*')))
}

/// Compares without putting `resource/subresource` together: this runs for every rule of every request.
fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    let Some(before) = rule.strip_suffix(subresource).and_then(|before| before.strip_suffix('/')) else {
        return false;
    };
    before == "*" || before == resource
}

fn covers_resource(owned: &[String], resource: &str) -> bool {
    owned.iter().any(|own| {
        own == "*"
            || own == resource
            || resource.split_once('/').is_some_and(|(_, sub)| own.strip_prefix("*/") == Some(sub))
    })
}
