//! Objects that are kept from a follower: what a new list does not name is gone.

use kube::api::ObjectMeta;
use std::collections::BTreeMap;

/// Values by key, each with the list that last named it.
#[derive(Debug)]
pub struct Kept<K, V> {
    values: BTreeMap<K, (u32, V)>,
    list: u32,
    listed: bool,
    /// The version that the follower has come to, since the last list.
    seen: u64,
}

/// How far a follower has come with what it tells.
pub trait Progress {
    /// A list begins.
    fn restart(&mut self);

    /// Everything up to this version has been told.
    fn reached(&mut self, version: u64);
}

impl<K, V> Progress for Kept<K, V> {
    fn restart(&mut self) {
        self.list += 1;
        self.seen = 0;
    }

    fn reached(&mut self, version: u64) {
        self.seen = version;
    }
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), list: 0, listed: false, seen: 0 }
    }
}

impl<K: Ord + Clone, V> Kept<K, V> {
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

    /// Whether an object has become something else by now. What we wrote ourselves is learned from the answer, which may come
    /// after the follower has told of that, and of what came next: that somebody deleted it. And what the follower tells may be
    /// from before what we wrote.
    pub fn is_past(&self, key: &K, new: &ObjectMeta, metadata: impl Fn(&V) -> &ObjectMeta) -> bool {
        let version = number(new.resource_version.as_deref());
        let known = self.current(key).map(metadata).filter(|known| known.uid == new.uid);
        self.is_told(version)
            || known.is_some_and(|known| version < number(known.resource_version.as_deref()))
    }

    /// Whether the follower has told of this version already.
    pub fn is_told(&self, version: u64) -> bool {
        (1..=self.seen).contains(&version)
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

    fn object(uid: &str, version: u64) -> ObjectMeta {
        let (uid, version) = (Some(uid.to_owned()), Some(version.to_string()));
        ObjectMeta { uid, resource_version: version, ..ObjectMeta::default() }
    }

    #[test]
    fn an_answer_that_comes_late_brings_nothing_back() {
        let mut kept: Kept<&str, ObjectMeta> = Kept::default();
        let is_past = |kept: &Kept<_, _>, uid, version| kept.is_past(&"a", &object(uid, version), |it| it);
        kept.restart();
        assert!(!is_past(&kept, "one", 3), "a list may name anything");
        kept.insert("a", object("one", 3));
        kept.reached(5);
        // Somebody deleted it, and the follower said so before the answer to our write came.
        assert!(!is_past(&kept, "one", 7));
        kept.insert("a", object("one", 7));
        assert!(is_past(&kept, "one", 6), "the follower tells of what was before our write");
        kept.remove(&"a");
        kept.reached(8);
        assert!(is_past(&kept, "one", 7));
        // Another one has its name.
        assert!(!is_past(&kept, "two", 9));
        kept.insert("a", object("two", 9));
        kept.reached(9);
        assert!(is_past(&kept, "one", 7));
        // A list from before is believed.
        kept.restart();
        assert!(!is_past(&kept, "one", 4));
    }
}
