//! Lists that server-side apply knows only as a whole: extensions, resources, access restrictions, DNS providers. What others
//! put into them has to be written with ours, or it would go.
//!
//! An annotation on the Shoot says which entries are ours, so that one that is no longer asked for goes, and one that somebody
//! else made stays.

use allotment_api::{gardener::Shoot, names::annotation};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A list of that sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    AccessRestrictions,
    DnsProviders,
    Extensions,
    Resources,
}

impl List {
    pub const ALL: [Self; 4] =
        [Self::AccessRestrictions, Self::DnsProviders, Self::Extensions, Self::Resources];

    /// Where it stands below `spec`.
    pub fn path(self) -> &'static [&'static str] {
        match self {
            Self::AccessRestrictions => &["accessRestrictions"],
            Self::DnsProviders => &["dns", "providers"],
            Self::Extensions => &["extensions"],
            Self::Resources => &["resources"],
        }
    }

    /// What it is called in the annotation and in messages.
    pub fn name(self) -> String {
        self.path().join(".")
    }

    /// What tells an entry from the others.
    fn key(self, entry: &Value) -> String {
        let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        match self {
            Self::AccessRestrictions | Self::Resources => text("/name").to_owned(),
            Self::Extensions => text("/type").to_owned(),
            Self::DnsProviders => {
                format!("{}/{}{}", text("/type"), text("/secretName"), text("/credentialsRef/name"))
            }
        }
    }

    fn live(self, shoot: &Shoot) -> Vec<Value> {
        let spec = &shoot.spec;
        match self {
            Self::AccessRestrictions => values(&spec.access_restrictions),
            Self::DnsProviders => spec.dns.as_ref().map(|dns| dns.providers.clone()).unwrap_or_default(),
            Self::Extensions => values(&spec.extensions),
            Self::Resources => values(&spec.resources),
        }
    }
}

fn values<T: Serialize>(entries: &[T]) -> Vec<Value> {
    entries.iter().filter_map(|entry| serde_json::to_value(entry).ok()).collect()
}

/// What we want in each list.
#[derive(Default)]
pub(crate) struct Wanted(BTreeMap<List, Vec<Value>>);

impl Wanted {
    /// Adds an entry; one of the same key gives way.
    pub fn put(&mut self, list: List, entry: Value) {
        let entries = self.0.entry(list).or_default();
        match entries.iter_mut().find(|other| list.key(other) == list.key(&entry)) {
            Some(other) => *other = entry,
            None => entries.push(entry),
        }
    }

    /// Writes the lists into a Shoot, with what others have in them.
    pub fn write(mut self, shoot: &mut Value, live: Option<&Shoot>) {
        let before = live.map(own_entries).unwrap_or_default();
        let mut own = BTreeMap::new();
        for list in List::ALL {
            let wanted = self.0.remove(&list).unwrap_or_default();
            let ours_before = before.get(&list.name());
            if wanted.is_empty() && ours_before.is_none() {
                continue;
            }
            let keys: Vec<String> = wanted.iter().map(|entry| list.key(entry)).collect();
            let ours = ours_before.map(Vec::as_slice).unwrap_or_default();
            let merged = merge(list, wanted, live.map(|live| list.live(live)).unwrap_or_default(), ours);
            if merged.is_empty() {
                continue;
            }
            // Even without entries of ours: we have written this list, so we go on writing it for the others.
            own.insert(list.name(), keys);
            put(shoot, list, merged);
        }
        if !own.is_empty() {
            shoot["metadata"]["annotations"][annotation::OWN_ENTRIES] = json!(json!(own).to_string());
        }
    }
}

fn put(shoot: &mut Value, list: List, entries: Vec<Value>) {
    let place = list.path().iter().fold(&mut shoot["spec"], |place, step| &mut place[*step]);
    *place = Value::Array(entries);
}

/// The order of the live list stays; what is new comes last.
fn merge(list: List, mut wanted: Vec<Value>, live: Vec<Value>, ours: &[String]) -> Vec<Value> {
    let mut merged = Vec::new();
    for entry in live {
        let key = list.key(&entry);
        match wanted.iter().position(|wanted| list.key(wanted) == key) {
            Some(place) => merged.push(wanted.remove(place)),
            None if ours.contains(&key) => (),
            None => merged.push(entry),
        }
    }
    merged.append(&mut wanted);
    merged
}

/// What the annotation says. One that somebody spoiled says nothing: then all entries count as others'.
fn own_entries(live: &Shoot) -> BTreeMap<String, Vec<String>> {
    let text = live.metadata.annotations.as_ref().and_then(|all| all.get(annotation::OWN_ENTRIES));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
