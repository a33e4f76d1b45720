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
    pub fn is_past<'a, M: Into<Mark<'a>>>(&'a self, key: &K, new: M, mark: impl Fn(&'a V) -> M) -> bool {
        let (new, known) = (new.into(), self.current(key).map(|known| mark(known).into()));
        match known {
            // Who takes off the last finalizer is answered with the version before.
            Some(known) if known.uid == new.uid => new.version < known.version,
            _ => (1..=self.seen).contains(&new.version),
        }
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

/// Which object, and at which version.
#[derive(Clone, Copy, Debug)]
pub struct Mark<'a> {
    /// Its UID.
    pub uid: Option<&'a str>,
    /// Its version.
    pub version: u64,
}

impl<'a> From<&'a ObjectMeta> for Mark<'a> {
    fn from(metadata: &'a ObjectMeta) -> Self {
        Self { uid: metadata.uid.as_deref(), version: number(metadata.resource_version.as_deref()) }
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
        fn is_past(kept: &Kept<&str, ObjectMeta>, uid: &str, version: u64) -> bool {
            kept.is_past(&"a", &object(uid, version), |known| known)
        }
        kept.restart();
        assert!(!is_past(&kept, "one", 3), "a list may name anything");
        kept.insert("a", object("one", 3));
        kept.reached(5);
        assert!(!is_past(&kept, "one", 7), "we wrote it, and the follower has not come that far");
        kept.insert("a", object("one", 7));
        assert!(is_past(&kept, "one", 6), "the follower tells of what was before our write");
        kept.reached(7);
        assert!(!is_past(&kept, "one", 7), "who takes off the last finalizer gets this answer");
        // Somebody deleted it, and the follower said so before the answer to our write came.
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
