//! The kinds of items that each cloud's table knows, as data: where they live, in which order they go, and which of them
//! stay.

mod alicloud;
mod aws;
mod azure;
mod gcp;
mod openstack;

pub use azure::canonical_id as azure_id;
pub(super) use azure::{existing as azure_existing, holders as azure_holders};

use super::{Cloud, CountName, Item, KindName, ShootHistory};
use serde::Serialize;
use std::fmt;

/// The table of one cloud.
#[derive(Debug)]
pub struct Table {
    /// The kinds, in the order in which they are shown.
    pub kinds: &'static [Kind],
    /// The independent counts.
    pub counts: &'static [CountKind],
}

/// The table of a cloud.
pub const fn table(cloud: Cloud) -> &'static Table {
    match cloud {
        Cloud::Aws => &aws::TABLE,
        Cloud::Azure => &azure::TABLE,
        Cloud::Gcp => &gcp::TABLE,
        Cloud::OpenStack => &openstack::TABLE,
        Cloud::Alicloud => &alicloud::TABLE,
    }
}

impl Table {
    /// The row of a kind.
    pub fn kind(&self, name: &str) -> Option<&'static Kind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    /// The waves of deletion, ascending.
    pub fn waves(&self) -> Vec<u8> {
        let mut waves: Vec<u8> = self.kinds.iter().map(|kind| kind.wave).collect();
        waves.sort_unstable();
        waves.dedup();
        waves
    }
}

/// Where the items of a kind are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In each region.
    Regional,
    /// In [`super::Place::GLOBAL`].
    Global,
    /// In [`super::Place::GLOBAL`], and only by name: the technical id of a Shoot with this suffix. Credentials with
    /// Gardener's documented policy cannot list these.
    ByName {
        /// `-nodes`.
        suffix: &'static str,
    },
}

/// One kind of item.
#[derive(Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// Where its items are.
    pub scope: Scope,
    /// When its items are deleted. A refusal "in use" postpones an item to the next pass; a wave saves passes.
    pub wave: u8,
    /// The kinds whose items keep items of this kind from being deleted.
    pub after: &'static [&'static str],
    /// The permissions that listing needs.
    pub list: &'static [&'static str],
    /// The permissions that deleting needs.
    pub delete: &'static [&'static str],
    /// The first rule that matches decides; without one the item is deleted.
    pub rules: &'static [(When, Treatment)],
    /// Calls before the deletion.
    pub prepare: &'static [Prepare],
}

impl Kind {
    /// Its name.
    pub const fn name(&self) -> KindName {
        KindName::of(self.name)
    }

    /// The names to ask for, for a kind that cannot be listed. None if the history has gaps.
    pub fn names(&self, history: &ShootHistory) -> Option<Vec<String>> {
        match (self.scope, history) {
            (Scope::ByName { suffix }, ShootHistory::Complete(shoots)) => {
                Some(shoots.iter().map(|shoot| format!("{shoot}{suffix}")).collect())
            }
            (Scope::ByName { .. }, ShootHistory::Incomplete) => None,
            (Scope::Regional | Scope::Global, _) => Some(Vec::new()),
        }
    }

    /// Whether items stay visible for a while after their deletion was accepted.
    pub fn is_slow(&self) -> bool {
        self.rules.iter().any(|(_, treatment)| matches!(treatment, Treatment::Gone))
    }

    /// Whether the cloud shows an item that is gone.
    pub fn is_gone(&self, item: &Item) -> bool {
        self.rules.iter().any(|(when, treatment)| match (when, treatment) {
            (When::Is(attribute, values), Treatment::Gone) => {
                item.attribute(attribute).is_some_and(|value| values.contains(&value))
            }
            _ => false,
        })
    }

    /// The kinds that its rules refer to: these are judged first.
    pub fn refers_to(&self) -> Vec<&'static str> {
        let mut kinds = Vec::new();
        for (when, treatment) in self.rules {
            when.refers_to(&mut kinds);
            if let Treatment::GoesWith { kind, .. } = treatment {
                kinds.push(*kind);
            }
        }
        kinds
    }
}

/// A condition on an item.
#[derive(Debug)]
pub enum When {
    /// The attribute has one of these values.
    Is(&'static str, &'static [&'static str]),
    /// The attribute is known and has none of these values.
    IsNot(&'static str, &'static [&'static str]),
    /// The attribute begins with one of these.
    StartsWith(&'static str, &'static [&'static str]),
    /// The name is one of these.
    Named(&'static [&'static str]),
    /// The name begins with one of these.
    NamedLike(&'static [&'static str]),
    /// The attribute names another account.
    Foreign(&'static str),
    /// The attribute names the principal whose credentials these are.
    OurPrincipal(&'static str),
    /// Two attributes are known and differ.
    Differ(&'static str, &'static str),
    /// The attribute names an item of this kind that stays.
    InStaying(&'static str, &'static str),
    /// The same, and nobody named it: it stays by a rule or the baseline, which know its parts.
    InStayingUnnamed(&'static str, &'static str),
    /// The attribute names an item of this kind that is in the baseline. This one is not: it came later.
    InBaseline(&'static str, &'static str),
    /// An item of this kind stays and names this item in the attribute.
    UsedByStaying(&'static str, &'static str),
    /// The same, and it is in the baseline. This one is not: it came later.
    UsedByBaseline(&'static str, &'static str),
    /// All of them.
    All(&'static [When]),
    /// For the last rule.
    Always,
}

impl When {
    fn refers_to(&self, kinds: &mut Vec<&'static str>) {
        match self {
            Self::InStaying(_, kind)
            | Self::InStayingUnnamed(_, kind)
            | Self::InBaseline(_, kind)
            | Self::UsedByStaying(kind, _)
            | Self::UsedByBaseline(kind, _) => kinds.push(*kind),
            Self::All(all) => all.iter().for_each(|when| when.refers_to(kinds)),
            _ => (),
        }
    }
}

/// What happens to an item that a rule matches.
#[derive(Debug)]
pub enum Treatment {
    /// It is deleted.
    Delete,
    /// The cloud still shows it, but it is gone.
    Gone,
    /// It stays, because.
    Keep(&'static str),
    /// It goes by itself, because; nothing is called.
    Leaving(&'static str),
    /// It cannot be deleted by itself and goes with the item that the attribute names. It stays if that one stays.
    GoesWith {
        /// The attribute with the id.
        attribute: &'static str,
        /// The kind of the other item.
        kind: &'static str,
    },
    /// Nobody with these credentials can delete it.
    Immovable {
        /// Why.
        because: &'static str,
        /// What a person has to do.
        remedy: &'static str,
    },
}

/// A call before the deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Prepare {
    /// Switch the protection against deletion off.
    DisableProtection,
    /// Detach it from its network, server or gateway.
    Detach,
    /// Dissolve its associations.
    Disassociate,
    /// Take the roles out of an instance profile.
    RemoveRoles,
    /// Detach managed policies and delete inline ones.
    RemovePolicies,
    /// Delete the static routes of a router.
    ClearRoutes,
}

impl fmt::Display for Prepare {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::DisableProtection => "switch deletion protection off",
            Self::Detach => "detach",
            Self::Disassociate => "dissolve associations",
            Self::RemoveRoles => "remove roles",
            Self::RemovePolicies => "remove policies",
            Self::ClearRoutes => "clear routes",
        })
    }
}

/// An independent count: not made by the calls that list the kinds.
#[derive(Debug)]
pub struct CountKind {
    /// Its name.
    pub name: &'static str,
    /// Where it is taken; never by name.
    pub scope: Scope,
    /// The permission that it needs.
    pub permission: &'static str,
    /// The kinds that it counts: their kept items are part of the number. Empty for a count of items of any kind.
    pub of: &'static [&'static str],
    /// Whether the service may be missing: then there is nothing to count.
    pub optional: bool,
}

impl CountKind {
    /// Its name.
    pub const fn name(&self) -> CountName {
        CountName::of(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_table_is_sound() {
        for cloud in Cloud::ALL {
            let table = table(cloud);
            let names: BTreeSet<_> = table.kinds.iter().map(|kind| kind.name).collect();
            assert_eq!(names.len(), table.kinds.len(), "{cloud}: a kind is there twice");
            for kind in table.kinds {
                let name = &kind.name;
                assert!(!kind.list.is_empty() && !kind.delete.is_empty(), "{cloud} {name}: permissions");
                for before in kind.after {
                    let before = table.kind(before).expect("a kind of this table");
                    assert!(before.wave < kind.wave, "{cloud}: {} before {name}", before.name);
                }
                let goes = |(when, treatment): &(When, Treatment)| {
                    !matches!(treatment, Treatment::Gone) || matches!(when, When::Is(..))
                };
                assert!(
                    kind.rules.iter().all(goes),
                    "{cloud} {name}: an item alone tells whether it is gone"
                );
                for parent in kind.refers_to() {
                    assert!(table.kind(parent).is_some(), "{cloud} {name} refers to {parent}");
                    assert_ne!(parent, *name, "{cloud}: {name} refers to itself");
                }
            }
            for count in table.counts {
                assert!(!matches!(count.scope, Scope::ByName { .. }), "{cloud} {}", count.name);
                for kind in count.of {
                    assert!(table.kind(kind).is_some(), "{cloud} {} counts {kind}", count.name);
                }
            }
        }
    }

    #[test]
    fn names_follow_from_the_history() {
        let role = table(Cloud::Aws).kind("Role").unwrap();
        let shoots = BTreeSet::from([super::super::TechnicalId::of("shoot--p--a")]);
        assert_eq!(role.names(&ShootHistory::Complete(shoots)), Some(vec!["shoot--p--a-nodes".to_owned()]));
        assert_eq!(role.names(&ShootHistory::Incomplete), None, "an unknown history is not an empty one");
    }
}
