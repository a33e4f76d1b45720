//! Objects counted by namespace and tenant, for caps.
//!
//! Kept from watches, beside the objects themselves. Objects that were admitted count, whatever their age: times of creation
//! are whole seconds, and names can be chosen. Of those that nobody has judged yet, the older ones count for the younger.
//!
//! A worker judges an object and writes its status without holding anything, so as many objects as there are workers can pass
//! a cap at the same time. A refused object is not polled: whoever counted and is gone hands over the objects that were
//! refused first.

use crate::tenancy::NamespaceRoles;
use allotment_core::quotas::{Caps, Exceeded, Group};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// How many refused objects are judged again when room appears. One would do, but for those that another cap keeps out.
const AT_ONCE: usize = 8;

/// What is known of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its namespace.
    pub namespace: String,
    /// The tenant that it names, if it names one. It may name anybody's: see [`Census::counting_by`].
    pub tenant: Option<String>,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// How it was judged.
    pub standing: Standing,
}

/// How an object was judged, by its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Nobody has looked at it yet.
    Pending,
    /// There was room for it.
    Admitted,
    /// There was none.
    Refused,
}

impl Standing {
    /// Of an object that somebody has looked at or not, and whose status says that it was refused or not.
    pub fn new(was_looked_at: bool, is_refused: bool) -> Self {
        match (was_looked_at, is_refused) {
            (_, true) => Self::Refused,
            (true, false) => Self::Admitted,
            (false, false) => Self::Pending,
        }
    }
}

impl Entry {
    fn groups(&self, tenant: Option<String>) -> impl Iterator<Item = Group> + use<> {
        std::iter::once(Group::Namespace(self.namespace.clone())).chain(tenant.map(Group::Tenant))
    }
}

/// Objects in the order of their age.
type ByAge<K> = BTreeSet<(Option<Timestamp>, K)>;

/// The objects of a kind that count, and those that were refused.
#[derive(Clone, Debug)]
pub struct Census<K> {
    /// With the tenant that each counts for.
    entries: BTreeMap<K, (Entry, Option<String>)>,
    roles: Option<Arc<NamespaceRoles>>,
    groups: BTreeMap<(Group, Standing), ByAge<K>>,
}

impl<K> Default for Census<K> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), roles: None, groups: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Census<K> {
    /// Objects count for the tenants that their namespaces have, not for whom they name.
    pub fn counting_by(mut self, roles: Arc<NamespaceRoles>) -> Self {
        self.roles = Some(roles);
        self
    }

    /// The tenants of namespaces have changed: of this one, or of any. Returns refused objects that may have room now.
    pub fn recount(&mut self, namespace: Option<&str>) -> Vec<K> {
        let is_meant = |entry: &Entry| namespace.is_none_or(|namespace| entry.namespace == namespace);
        let entries = self.entries.iter().filter(|(_, (entry, _))| is_meant(entry));
        let entries: Vec<(K, Entry)> =
            entries.map(|(key, (entry, _))| (key.clone(), entry.clone())).collect();
        entries.into_iter().flat_map(|(key, entry)| self.set(&key, Some(entry))).collect()
    }

    fn tenant(&self, entry: &Entry) -> Option<String> {
        let claimed = entry.tenant.as_deref();
        match &self.roles {
            Some(roles) => roles.role_of(&entry.namespace).counts_for(claimed),
            None => claimed.map(str::to_owned),
        }
    }

    /// An object is like this now; none: it does not count any more. Returns refused objects that may have room now.
    pub fn set(&mut self, key: &K, entry: Option<Entry>) -> Vec<K> {
        let entry = entry.map(|entry| (self.tenant(&entry), entry)).map(|(tenant, entry)| (entry, tenant));
        if self.entries.get(key) == entry.as_ref() {
            return Vec::new();
        }
        let left = self.take_out(key);
        if let Some((entry, tenant)) = entry {
            for group in entry.groups(tenant.clone()) {
                let by_age = self.groups.entry((group, entry.standing)).or_default();
                by_age.insert((entry.created, key.clone()));
            }
            self.entries.insert(key.clone(), (entry, tenant));
        }
        let refused = |group: Group| self.groups.get(&(group, Standing::Refused)).into_iter().flatten();
        let waiting = left.into_iter().flat_map(|group| refused(group).take(AT_ONCE));
        let waiting: BTreeSet<&K> = waiting.map(|(_, key)| key).filter(|other| *other != key).collect();
        waiting.into_iter().cloned().collect()
    }

    /// The cap that leaves no room for an object, if there is one. What was admitted stays; what was refused comes last.
    pub fn exceeded(&self, key: &K, entry: &Entry, caps: Caps) -> Option<Exceeded> {
        if entry.standing == Standing::Admitted {
            return None;
        }
        entry.groups(self.tenant(entry)).find_map(|group| {
            let cap = match group {
                Group::Namespace(_) => caps.namespace,
                Group::Tenant(_) => caps.tenant,
            }?;
            let most = usize::try_from(cap).unwrap_or(usize::MAX);
            let of = |standing| self.groups.get(&(group.clone(), standing));
            let admitted = of(Standing::Admitted).map_or(0, BTreeSet::len);
            let pending = of(Standing::Pending).map_or(0, |pending| match entry.standing {
                Standing::Refused => pending.len(),
                _ => pending.range(..(entry.created, key.clone())).take(most).count(),
            });
            (admitted + pending >= most).then_some(Exceeded { group, cap })
        })
    }

    /// The objects that were refused.
    pub fn refused(&self) -> impl Iterator<Item = &K> {
        let refused = self.entries.iter().filter(|(_, (entry, _))| entry.standing == Standing::Refused);
        refused.map(|(key, _)| key)
    }

    /// Takes an object out. Returns the groups that have room for one more by that.
    fn take_out(&mut self, key: &K) -> Vec<Group> {
        let Some((entry, tenant)) = self.entries.remove(key) else { return Vec::new() };
        for group in entry.groups(tenant.clone()) {
            let place = (group, entry.standing);
            if let Some(by_age) = self.groups.get_mut(&place) {
                by_age.remove(&(entry.created, key.clone()));
                if by_age.is_empty() {
                    self.groups.remove(&place);
                }
            }
        }
        if entry.standing == Standing::Refused { Vec::new() } else { entry.groups(tenant).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Standing::*, *};
    use allotment_core::tenancy::Tenancy;

    fn entry(tenant: &str, age: i64, standing: Standing) -> Entry {
        let created = Timestamp::from_second(age).ok();
        Entry { namespace: "ns".to_owned(), tenant: Some(tenant.to_owned()), created, standing }
    }

    fn cap(namespace: u32, tenant: u32) -> Caps {
        Caps { namespace: Some(namespace), tenant: Some(tenant) }
    }

    fn set(
        census: &mut Census<&'static str>,
        name: &'static str,
        age: i64,
        standing: Standing,
    ) -> Vec<&'static str> {
        census.set(&name, Some(entry("t", age, standing)))
    }

    fn is_refused(census: &Census<&'static str>, name: &'static str, caps: Caps) -> bool {
        census.exceeded(&name, &census.entries[name].0, caps).is_some()
    }

    #[tokio::test]
    async fn who_names_a_tenant_of_others_counts_for_its_own() {
        let tenancy = |tenant: &str| {
            let namespaces = BTreeMap::from([("ns".to_owned(), vec![tenant.to_owned()])]);
            Arc::new(Tenancy { namespaces, ..Tenancy::default() })
        };
        let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let roles = Arc::new(NamespaceRoles::new(kube::Client::try_from(nowhere).unwrap(), tenancy("own")));
        let mut census = Census::default().counting_by(roles.clone());
        census.set(&"a", Some(entry("victim", 1, Admitted)));
        let victim = Entry { namespace: "platform".to_owned(), ..entry("victim", 2, Pending) };
        let own = entry("own", 3, Pending);
        assert!(census.exceeded(&"v", &victim, cap(9, 1)).is_none());
        assert!(census.exceeded(&"b", &own, cap(9, 1)).is_some(), "leaving the label out does not help");
        // The namespace is given to somebody else.
        roles.set(tenancy("other"));
        census.recount(Some("ns"));
        assert!(
            census
                .exceeded(&"b", &own, cap(9, 1))
                .is_some_and(|it| it.group == Group::Tenant("other".to_owned()))
        );
    }

    #[test]
    fn the_newest_is_refused_whatever_the_order_in_which_they_are_seen() {
        let mut census = Census::default();
        for (name, age) in [("c", 3), ("a", 1), ("b", 2)] {
            assert!(set(&mut census, name, age, Pending).is_empty());
        }
        let refused = ["a", "b", "c"].map(|name| is_refused(&census, name, cap(2, 9)));
        assert_eq!(refused, [false, false, true]);
        assert!(!is_refused(&census, "c", Caps::default()), "no caps");
    }

    #[test]
    fn what_was_admitted_counts_whatever_its_name_and_age_and_stays() {
        let mut census = Census::default();
        set(&mut census, "y", 1, Admitted);
        set(&mut census, "z", 2, Admitted);
        set(&mut census, "a", 1, Pending);
        assert!(
            is_refused(&census, "a", cap(2, 9)),
            "it comes in the same second, with a name before theirs"
        );
        assert!(!is_refused(&census, "z", cap(0, 0)));
    }

    #[test]
    fn room_goes_to_the_first_that_was_refused() {
        let mut census = Census::default();
        set(&mut census, "a", 1, Admitted);
        set(&mut census, "c", 3, Refused);
        set(&mut census, "b", 2, Refused);
        assert!(is_refused(&census, "b", cap(1, 9)));
        assert_eq!(census.set(&"a", None), ["b", "c"]);
        assert!(!is_refused(&census, "b", cap(1, 9)));
        set(&mut census, "b", 2, Admitted);
        assert!(is_refused(&census, "c", cap(1, 9)));
        assert!(set(&mut census, "b", 2, Admitted).is_empty(), "nothing has changed");
        assert_eq!(census.refused().collect::<Vec<_>>(), [&"c"]);
    }

    #[test]
    fn tenants_are_counted_in_all_namespaces() {
        let mut census = Census::default();
        set(&mut census, "a", 1, Admitted);
        let elsewhere = Entry { namespace: "other".to_owned(), ..entry("t", 2, Pending) };
        let exceeded = census.exceeded(&"b", &elsewhere, cap(9, 1)).unwrap();
        assert_eq!(exceeded.group, Group::Tenant("t".to_owned()));
        assert_eq!(census.exceeded(&"c", &entry("u", 3, Pending), cap(9, 1)), None);
    }
}
