//! Objects that are kept from a follower: what a new list does not name is gone.

use std::collections::BTreeMap;

/// Values by key, each with the list that last named it.
#[derive(Debug)]
pub(super) struct Kept<K, V> {
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
    pub(super) fn restart(&mut self) {
        self.list += 1;
    }

    /// The list has ended: the keys that it did not name. Whoever asks removes them.
    pub(super) fn missing(&mut self) -> Vec<K> {
        self.listed = true;
        let outdated = self.values.iter().filter(|(_, (list, _))| *list != self.list);
        outdated.map(|(key, _)| key.clone()).collect()
    }

    /// Whether there has been a whole list.
    pub(super) fn is_listed(&self) -> bool {
        self.listed
    }

    /// A value that the current list, or a watch after it, has told of. A new list may go back in time, and is believed.
    pub(super) fn current(&self, key: &K) -> Option<&V> {
        self.values.get(key).filter(|(list, _)| *list == self.list).map(|(_, value)| value)
    }

    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.values.insert(key, (self.list, value)).map(|(_, value)| value)
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        self.values.remove(key).map(|(_, value)| value)
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key).map(|(_, value)| value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.values.iter().map(|(key, (_, value))| (key, value))
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
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
