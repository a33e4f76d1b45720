//! Brings ownership in line with a schema that has changed: what was taken apart may be one value now.

use super::element::PathElement;
use super::fieldset::FieldSet;
use super::shape::Node;
use std::collections::BTreeSet;

/// The set with every path into something that is one value replaced by the path to that.
pub(crate) fn reconcile(set: FieldSet, node: Node<'_>) -> FieldSet {
    let mut walk = Walk { path: Vec::new(), atomic: FieldSet::default() };
    walk.visit(Some(&set), false, node);
    if walk.atomic.is_empty() {
        return set;
    }
    set.recursive_difference(&walk.atomic).union(&walk.atomic)
}

struct Walk {
    path: Vec<PathElement>,
    atomic: FieldSet,
}

impl Walk {
    /// `whole` says that the path to here is in the set, and none below.
    fn visit(&mut self, set: Option<&FieldSet>, whole: bool, node: Node<'_>) {
        if let Some(map) = node.map() {
            if map.is_free_form() {
                return;
            }
            if !whole && map.atomic {
                if set.is_some_and(|set| !set.is_empty()) {
                    self.atomic.insert(&self.path);
                }
                return;
            }
            self.visit_below(set, |step| match step {
                PathElement::Field(name) => map.field(name),
                _ => map.element,
            });
        } else if let Some(list) = node.list() {
            if !whole && list.atomic() {
                self.atomic.insert(&self.path);
                return;
            }
            self.visit_below(set, |_| Some(list.item));
        }
    }

    fn visit_below<'a>(&mut self, set: Option<&FieldSet>, node: impl Fn(&PathElement) -> Option<Node<'a>>) {
        let Some(set) = set else { return };
        let steps: BTreeSet<&PathElement> = set.members.iter().chain(set.children.keys()).collect();
        for step in steps {
            let Some(node) = node(step) else { continue };
            let below = set.children.get(step);
            self.path.push(step.clone());
            self.visit(below, set.members.contains(step) && below.is_none(), node);
            self.path.pop();
        }
    }
}
