//! Sets of paths: which fields somebody owns.

use super::element::{PathElement, UnreadableElement};
use super::shape::Node;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A set of paths.
///
/// A path that is in the set says nothing about the paths below it, nor about those above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    /// The paths that end here.
    pub(crate) members: BTreeSet<PathElement>,
    /// The paths that go on. None of these sets is empty.
    pub(crate) children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// The set of one field and all paths given by the names of fields.
    pub(crate) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path.iter().map(|name| PathElement::field(*name)).collect::<Vec<_>>());
        }
        set
    }

    /// Reads `fieldsV1`.
    pub(crate) fn from_json(fields: &Value) -> Result<Self, String> {
        Ok(read(fields)?.0.unwrap_or_default())
    }

    /// The `fieldsV1` of the set.
    pub(crate) fn to_value(&self) -> Value {
        self.write(false)
    }

    /// Adds a path. The whole object (no steps) is nobody's.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether there is no path in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// What is in this one or the other.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut children = self.children.clone();
        for (element, set) in &other.children {
            let union = self.children.get(element).map_or_else(|| set.clone(), |own| own.union(set));
            children.insert(element.clone(), union);
        }
        Self { members: self.members.union(&other.members).cloned().collect(), children }
    }

    /// What is in both.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, set)| {
            let both = set.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// What is in this one and not in the other.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, set)| {
            let rest = other.children.get(element).map_or_else(|| set.clone(), |other| set.difference(other));
            (!rest.is_empty()).then(|| (element.clone(), rest))
        });
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// What is in this one and neither in the other nor below a path of the other.
    pub(crate) fn recursive_difference(&self, other: &Self) -> Self {
        let children =
            self.children.iter().filter(|(element, _)| !other.members.contains(element)).filter_map(
                |(element, set)| {
                    let rest = other
                        .children
                        .get(element)
                        .map_or_else(|| set.clone(), |other| set.recursive_difference(other));
                    (!rest.is_empty()).then(|| (element.clone(), rest))
                },
            );
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// The paths as messages name them, in the order of a real server: those that end first.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &str, paths: &mut Vec<String>) {
        paths.extend(self.members.iter().map(|member| format!("{prefix}{member}")));
        for (element, set) in &self.children {
            set.collect_paths(&format!("{prefix}{element}"), paths);
        }
    }

    /// The same set with the fields that lead to its paths, where the schema declares them.
    ///
    /// `a.b.c` leads to `a` and `a.b` being in the set if both are fields of structures, not items of maps.
    pub(crate) fn with_declared_fields(&self, node: Option<Node<'_>>) -> Self {
        let map = node.and_then(Node::map);
        let list = node.and_then(Node::list);
        let mut members = self.members.clone();
        let mut children = BTreeMap::new();
        for (element, set) in &self.children {
            let below = match element {
                PathElement::Field(name) => {
                    let declared = map.as_ref().and_then(|map| map.declared(name));
                    if declared.is_some() {
                        members.insert(element.clone());
                    }
                    declared.or_else(|| map.as_ref().and_then(|map| map.element))
                }
                PathElement::Key(_) => list.as_ref().map(|list| list.item),
                PathElement::Value(_) | PathElement::Index(_) => None,
            };
            children.insert(element.clone(), set.with_declared_fields(below));
        }
        Self { members, children }
    }

    fn steps(&self) -> BTreeSet<&PathElement> {
        self.members.iter().chain(self.children.keys()).collect()
    }

    fn write(&self, is_member: bool) -> Value {
        let mut fields = Map::new();
        if is_member {
            fields.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for element in self.steps() {
            let below = self
                .children
                .get(element)
                .map_or_else(|| Value::Object(Map::new()), |set| set.write(self.members.contains(element)));
            fields.insert(element.encode(), below);
        }
        Value::Object(fields)
    }
}

/// The paths below, if any, and whether the path that leads here is itself in the set.
fn read(fields: &Value) -> Result<(Option<FieldSet>, bool), String> {
    let fields = match fields {
        Value::Null => return Ok((None, true)),
        Value::Object(fields) => fields,
        other => return Err(format!("expected an object, got {}", super::go::json_word(other))),
    };
    let mut set: Option<FieldSet> = None;
    let mut is_member = false;
    for (name, below) in fields {
        if name == "." {
            is_member = true;
            continue;
        }
        let element = match PathElement::decode(name) {
            Ok(element) => element,
            Err(UnreadableElement::UnknownType) => continue,
            Err(UnreadableElement::Malformed(why)) => return Err(why),
        };
        let (below, member) = read(below)?;
        let set = set.get_or_insert_default();
        if member {
            set.members.insert(element.clone());
        }
        if let Some(below) = below {
            set.children.insert(element, below);
        }
    }
    let is_member = is_member || set.is_none();
    Ok((set, is_member))
}
