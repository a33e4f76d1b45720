//! Judges what a template changes in a Shoot, by the table of fields.

use super::{
    OPERATIONS, PREFIX,
    fields::{Class, Kind, below, class, shape},
    references::Rights,
};
use crate::cluster::problem::{Findings, Problem};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Keys of these domains, and of domains below them, steer Gardener, its extensions, openMCP or us.
pub(crate) const RESERVED: [&str; 8] = [
    "gardener.cloud",
    "sapcloud.io",
    "kyma-project.io",
    "openmcp.cloud",
    "open-control-plane.io",
    "allotment.dev",
    "kubernetes.io",
    "k8s.io",
];

/// How much of a path a message shows.
const SHOWN: usize = 300;

/// What changes a Shoot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Writer<'a> {
    /// The `shootTemplate` of a Cluster.
    Template,
    /// An openMCP ClusterConfig of this name.
    ClusterConfig(&'a str),
}

impl Writer<'_> {
    pub(super) fn problem(self, path: &str, what: impl Into<String>) -> Problem {
        // Whoever writes a template chooses the names in it, and a message has to be stored.
        let path: String = path.chars().take(SHOWN).collect();
        match self {
            Self::Template => Problem::new(format!("spec.shootTemplate.{path}"), what),
            Self::ClusterConfig(name) => Problem::new(format!("ClusterConfig {name}: {path}"), what),
        }
    }

    /// Why a field of the renderer's may not be changed; none if this writer may.
    fn own(self, path: &str, instead: &'static str, rights: &Rights<'_>) -> Option<String> {
        let is_account = ["spec.credentialsBindingName", "spec.secretBindingName"].contains(&path);
        // Pools are a plain list there, and nothing else says how they are called and where they are.
        let is_of_pool = path.starts_with("spec.provider.workers[].");
        match (self, rights) {
            (Self::Template, _) => Some(format!("may not be touched: {instead}")),
            // What is outside of the spec is judged for everybody, where it is rendered.
            (Self::ClusterConfig(_), _) if is_of_pool || !path.starts_with("spec.") => None,
            (Self::ClusterConfig(_), Rights::Platform) if !is_account => None,
            (Self::ClusterConfig(_), _) if path == "spec.kubernetes.version" => {
                Some("may not be patched: use spec.kubernetes.version of the Cluster".to_owned())
            }
            (Self::ClusterConfig(_), _) => Some("may not be patched: the ProviderConfig decides".to_owned()),
        }
    }
}

/// Judges a change, as far as this writer has rights.
pub(crate) struct Judge<'a> {
    pub(crate) writer: Writer<'a>,
    pub(crate) rights: &'a Rights<'a>,
}

impl Judge<'_> {
    /// Judges the change from one Shoot to another.
    pub(crate) fn shoot(&self, before: &Value, after: &Value, findings: &mut Findings) {
        self.visit("", "", before, after, findings);
    }

    /// Judges an entry that is added to a list below `spec`.
    pub(super) fn entry(&self, list: &str, entry: &Value, findings: &mut Findings) {
        let (path, shown) = (format!("spec.{list}"), format!("spec.{list}{}", bracket(entry, 0)));
        if let Some(class) = class(&path) {
            return self.verdict(class, &path, &shown, &Value::Null, entry, findings);
        }
        self.visit(&format!("{path}[]"), &shown, &Value::Null, entry, findings);
    }

    /// `path` is how the table calls the field, `shown` how people find it.
    fn visit(&self, path: &str, shown: &str, before: &Value, after: &Value, findings: &mut Findings) {
        // Two nulls are a null that somebody wrote into a list: a garden stumbles over it as over any other value.
        if before == after && !after.is_null() {
            return;
        }
        if let Some(class) = class(path) {
            return self.verdict(class, path, shown, before, after, findings);
        }
        let shape = shape(path);
        // Whoever writes it: what follows relies on the shape, and Gardener would refuse another one.
        let is_null_entry = before.is_null() && after.is_null() && path.ends_with("[]");
        if let Some(shape) = shape.filter(|shape| is_null_entry || !shape.fits(after)) {
            findings.problem(self.writer.problem(shown, format!("must be {shape}")));
            return;
        }
        let told = findings.problems.len();
        self.visit_below(path, shown, before, after, findings);
        // An unknown field is refused for what is in it, or for itself where nothing is: a garden knows neither.
        let is_set = !after.is_null() || before.is_null();
        if shape.is_none() && is_set && findings.problems.len() == told {
            self.refuse_unknown(shown, findings);
        }
    }

    fn refuse_unknown(&self, shown: &str, findings: &mut Findings) {
        if matches!(self.rights, Rights::Tenant(_)) {
            let what = "is not a field that tenants may set: only the platform may";
            findings.problem(self.writer.problem(shown, what));
        }
    }

    fn visit_below(&self, path: &str, shown: &str, before: &Value, after: &Value, findings: &mut Findings) {
        let nothing = Map::new();
        match (before, after) {
            (Value::Object(_) | Value::Null, Value::Object(_) | Value::Null) => {
                let (before, after) =
                    (before.as_object().unwrap_or(&nothing), after.as_object().unwrap_or(&nothing));
                let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
                for name in names {
                    let of = |all: &Map<String, Value>| all.get(name).cloned().unwrap_or_default();
                    let (path, shown) = (field(path, name), below(shown, name));
                    self.visit(&path, &shown, &of(before), &of(after), findings);
                }
            }
            (Value::Array(_) | Value::Null, Value::Array(_) | Value::Null) => {
                for (place, before, after) in pairs(items(before), items(after)) {
                    self.visit(&format!("{path}[]"), &format!("{shown}{place}"), before, after, findings);
                }
            }
            _ => self.refuse_unknown(shown, findings),
        }
    }

    fn verdict(
        &self,
        class: Class,
        path: &str,
        shown: &str,
        before: &Value,
        after: &Value,
        findings: &mut Findings,
    ) {
        let mut refuse = |what: String| findings.problem(self.writer.problem(shown, what));
        match (class, self.rights) {
            (Class::Own(instead), _) => {
                if let Some(what) = self.writer.own(path, instead, self.rights) {
                    refuse(what);
                }
            }
            (Class::Platform(why), Rights::Tenant(_)) => {
                refuse(format!("only the platform may set it: {why}"));
            }
            (Class::Keys, Rights::Tenant(_)) => {
                for key in reserved(before, after) {
                    let key = cut(&key);
                    refuse(format!("only the platform may set {key}: its prefix is Gardener's or ours"));
                }
            }
            (Class::Reference(kind), Rights::Tenant(_)) => {
                for value in [before, after] {
                    findings.problems.extend(self.reference(kind, shown, value));
                }
            }
            (Class::Allowed, _) | (_, Rights::Platform) => (),
        }
    }

    /// Neither may a tenant name what is not allowed to it, nor take away what somebody else named.
    fn reference(&self, kind: Kind, shown: &str, value: &Value) -> Option<Problem> {
        let (kind, name) = match kind {
            Kind::Is(kind) => (kind, value.as_str()),
            Kind::Inside(kind) => (kind, value["name"].as_str()),
            Kind::Beside => (value["kind"].as_str().unwrap_or("object"), value["name"].as_str()),
        };
        if value.is_null() {
            return None;
        }
        let (kind, name) = (cut(kind), cut(name.unwrap_or_default()));
        if self.rights.may_refer(kind, name) {
            return None;
        }
        let what = format!(
            "{kind} {name:?} is not allowed to this namespace: tenants may refer to what the platform lists in its \
             configuration under references"
        );
        Some(self.writer.problem(shown, what).allowed(self.rights.names(kind)))
    }
}

/// Keys of labels or annotations that differ and are reserved. Those that nobody may set are told elsewhere.
fn reserved(before: &Value, after: &Value) -> Vec<String> {
    let nothing = Map::new();
    let (before, after) = (before.as_object().unwrap_or(&nothing), after.as_object().unwrap_or(&nothing));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let is_reserved = |key: &str| {
        let domain = key.split_once('/').map(|(domain, _)| domain).unwrap_or_default();
        RESERVED.iter().any(|reserved| {
            domain.strip_suffix(reserved).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    };
    let keys = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
    keys.filter(|key| is_reserved(key) && !key.starts_with(PREFIX) && !OPERATIONS.contains(&key.as_str()))
        .cloned()
        .collect()
}

/// No name in a garden is longer.
fn cut(name: &str) -> &str {
    name.get(..name.floor_char_boundary(SHOWN)).unwrap_or(name)
}

/// How the table calls a field. A name that reads like a path is no field, and not the one that it reads like.
fn field(path: &str, name: &str) -> String {
    match name.contains(['.', '[', ']']) {
        true => below(path, &format!("{name:?}")),
        false => below(path, name),
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The entries of a list that differ, with those that they replace: entries of one name are the same one, wherever they stand.
fn pairs<'a>(before: &'a [Value], after: &'a [Value]) -> Vec<(String, &'a Value, &'a Value)> {
    let mut old: Vec<&Value> = before.iter().collect();
    let mut new: Vec<(usize, &Value)> = Vec::new();
    for (number, entry) in after.iter().enumerate() {
        match old.iter().position(|old| *old == entry) {
            Some(place) => drop(old.remove(place)),
            None => new.push((number, entry)),
        }
    }
    let mut pairs = Vec::new();
    for (number, entry) in new {
        let same = old.iter().position(|old| name_of(old).is_some() && name_of(old) == name_of(entry));
        let replaced = same.map_or(&Value::Null, |place| old.remove(place));
        pairs.push((bracket(entry, number), replaced, entry));
    }
    pairs.extend(old.into_iter().map(|gone| (bracket(gone, 0), gone, &Value::Null)));
    pairs
}

fn name_of(entry: &Value) -> Option<&str> {
    ["name", "type", "key"].iter().find_map(|key| entry.get(*key)?.as_str())
}

fn bracket(entry: &Value, number: usize) -> String {
    name_of(entry).map_or_else(|| format!("[{number}]"), |name| format!("[{name}]"))
}
