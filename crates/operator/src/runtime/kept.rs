//! Objects that are kept from a follower: what a new list does not name is gone.

use kube::api::ObjectMeta;
use std::collections::BTreeMap;

/// Values by key, each with the list that last named it.
#[derive(Debug)]
pub struct Kept<K, V> {
    values: BTreeMap<K, (u32, V)>,
    list: u32,
    listed: bool,
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), list: 0, listed: false }
    }
}

impl<K: Ord + Clone, V> Kept<K, V> {
    /// A list begins.
    pub fn restart(&mut self) {
        self.list += 1;
    }

    /// The list has ended: the keys that it did not name. Whoever asks removes them.
    pub fn missing(&mut self) -> Vec<K> {
        self.listed = true;
        let outdated = self.values.iter().filter(|(_, (list, _))| *list != self.list);
        outdated.map(|(key, _)| key.clone()).collect()
    }

    /// Whether there has been a whole list.
    pub fn is_listed(&self) -> bool {
        self.listed
    }

    /// A value that the current list, or a watch after it, has told of. A new list may go back in time, and is believed.
    pub fn current(&self, key: &K) -> Option<&V> {
        self.values.get(key).filter(|(list, _)| *list == self.list).map(|(_, value)| value)
    }

    /// Keeps a value, and returns the one that it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.values.insert(key, (self.list, value)).map(|(_, value)| value)
    }

    /// Forgets a value, and returns it.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.values.remove(key).map(|(_, value)| value)
    }

    /// A value.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key).map(|(_, value)| value)
    }

    /// All of them, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.values.iter().map(|(key, (_, value))| (key, value))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Whether an object is an older state of the same one. What we wrote ourselves is known before a watch tells of it, and what
/// it tells then may be from before.
pub fn is_older(new: &ObjectMeta, known: &ObjectMeta) -> bool {
    let version = |metadata: &ObjectMeta| number(metadata.resource_version.as_deref());
    new.uid == known.uid && version(new) < version(known)
}

/// Versions of one kind compare as numbers.
pub fn number(version: Option<&str>) -> u64 {
    version.and_then(|version| version.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_new_list_does_not_name_is_missing() {
        let mut kept = Kept::default();
        kept.restart();
        kept.insert("a", 1);
        kept.insert("b", 2);
        assert!(!kept.is_listed());
        assert!(kept.missing().is_empty());
        assert!(kept.is_listed());
        kept.restart();
        kept.insert("b", 3);
        assert_eq!(kept.missing(), ["a"]);
    }
}
