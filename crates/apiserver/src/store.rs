//! Objects as bytes, the order in which they changed, and how far back that is known.
//!
//! Every write takes the next revision of the whole store, as with etcd. An object is serialised once, when it is
//! written; reads, lists and watches share those bytes.

use crate::{resource::StorageKey, state::Entry};
use bytes::Bytes;
use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::{Arc, OnceLock},
};

/// How many changes of one kind are remembered for watches that start in the past.
const HISTORY_LENGTH: usize = 4096;

/// A revision of the store.
pub(crate) type Revision = u64;

/// The namespace (empty for the whole cluster) and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The namespace.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
}

impl Key {
    /// A key.
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// An object as it was written.
#[derive(Debug)]
pub(crate) struct Stored {
    /// The revision of the write.
    pub revision: Revision,
    /// The object in JSON, with its resourceVersion.
    pub bytes: Bytes,
    /// Its labels, so that selectors need not read the bytes.
    pub labels: Box<[(Box<str>, Box<str>)]>,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// It is new.
    Added,
    /// It is another one now.
    Modified,
    /// It is gone. The object is as it was last, with the revision of its end.
    Deleted,
}

/// A change of an object.
#[derive(Debug)]
pub(crate) struct Change {
    /// When.
    pub revision: Revision,
    /// What.
    pub kind: ChangeKind,
    /// To which object.
    pub key: Key,
    /// The object then.
    pub object: Arc<Stored>,
    /// The object before.
    pub previous: Option<Arc<Stored>>,
    /// The event as watchers without a selector get it, written once.
    pub(crate) frame: OnceLock<Bytes>,
}

/// The objects of one kind.
#[derive(Clone, Debug, Default)]
struct Collection {
    objects: BTreeMap<Key, Arc<Stored>>,
    changes: VecDeque<Arc<Change>>,
    /// Changes up to this revision are forgotten.
    compacted: Revision,
}

/// All objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    revision: Revision,
    collections: BTreeMap<StorageKey, Collection>,
    /// What has changed and is not on the disk yet, if it is to be.
    unwritten: Option<Vec<Entry>>,
}

/// The history does not go back that far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted;

impl Store {
    /// The revision of the last write.
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// The revision that the next write will have.
    pub(crate) fn next_revision(&self) -> Revision {
        self.revision + 1
    }

    /// An object.
    pub(crate) fn get(&self, kind: &StorageKey, key: &Key) -> Option<&Arc<Stored>> {
        self.collections.get(kind)?.objects.get(key)
    }

    /// The objects of a kind, in order, in one namespace or in all.
    pub(crate) fn list<'a>(
        &'a self,
        kind: &StorageKey,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Stored>)> + use<'a> {
        let start = match (after, namespace) {
            (Some(after), _) => Bound::Excluded(after.clone()),
            (None, Some(namespace)) => Bound::Included(Key::new(namespace, "")),
            (None, None) => Bound::Unbounded,
        };
        let namespace: Option<Box<str>> = namespace.map(Into::into);
        self.collections
            .get(kind)
            .into_iter()
            .flat_map(move |collection| collection.objects.range((start.clone(), Bound::Unbounded)))
            .take_while(move |(key, _)| {
                namespace.as_ref().is_none_or(|namespace| key.namespace == *namespace)
            })
    }

    /// The objects of a kind as they were at a revision.
    pub(crate) fn list_at(
        &self,
        kind: &StorageKey,
        revision: Revision,
    ) -> Result<BTreeMap<Key, Arc<Stored>>, Compacted> {
        let Some(collection) = self.collections.get(kind) else { return Ok(BTreeMap::new()) };
        if revision < collection.compacted {
            return Err(Compacted);
        }
        let mut objects = collection.objects.clone();
        for change in collection.changes.iter().rev().take_while(|change| change.revision > revision) {
            match &change.previous {
                Some(previous) => drop(objects.insert(change.key.clone(), previous.clone())),
                None => drop(objects.remove(&change.key)),
            }
        }
        Ok(objects)
    }

    /// The oldest revision whose objects are known, of every kind.
    pub(crate) fn oldest(&self) -> Revision {
        self.collections.values().map(|collection| collection.compacted).max().unwrap_or_default()
    }

    /// All objects as they were at a revision, to read. Kinds whose history does not go back that far are as far back as it
    /// does. The history itself is not there: a watch cannot start in it.
    pub(crate) fn past(&self, revision: Revision) -> Self {
        let collections = self.collections.iter().map(|(kind, collection)| {
            let objects = self.list_at(kind, revision.max(collection.compacted)).unwrap_or_default();
            (kind.clone(), Collection { objects, changes: VecDeque::new(), compacted: revision })
        });
        Self { revision, collections: collections.collect(), unwritten: None }
    }

    /// How many objects of a kind there are.
    pub(crate) fn count(&self, kind: &StorageKey) -> usize {
        self.collections.get(kind).map_or(0, |collection| collection.objects.len())
    }

    /// Whether there is any object of a kind in a namespace.
    pub(crate) fn any_in(&self, kind: &StorageKey, namespace: &str) -> bool {
        self.list(kind, Some(namespace), None).next().is_some()
    }

    /// Writes an object. The bytes must carry [`Store::next_revision`] as their resourceVersion.
    pub(crate) fn put(
        &mut self,
        kind: &StorageKey,
        key: Key,
        bytes: Bytes,
        labels: Box<[(Box<str>, Box<str>)]>,
    ) -> Arc<Change> {
        self.revision += 1;
        self.note(self.revision, kind, &key, Some(&bytes));
        let object = Arc::new(Stored { revision: self.revision, bytes, labels });
        let collection = self.collection(kind);
        let previous = collection.objects.insert(key.clone(), object.clone());
        let change_kind = if previous.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.record(kind, change_kind, key, object, previous)
    }

    /// Puts other bytes in the place of those of an object, without a change: nobody is told.
    pub(crate) fn rewrite(&mut self, kind: &StorageKey, key: &Key, bytes: Bytes) {
        let Some(stored) = self.collection(kind).objects.get_mut(key) else { return };
        let (revision, labels) = (stored.revision, stored.labels.clone());
        *stored = Arc::new(Stored { revision, bytes: bytes.clone(), labels });
        self.note(revision, kind, key, Some(&bytes));
    }

    /// Removes an object. `last` is what it was last, with [`Store::next_revision`] as its resourceVersion.
    pub(crate) fn remove(&mut self, kind: &StorageKey, key: &Key, last: Bytes) -> Option<Arc<Change>> {
        let previous = self.collection(kind).objects.remove(key)?;
        self.revision += 1;
        self.note(self.revision, kind, key, None);
        let labels = previous.labels.clone();
        let object = Arc::new(Stored { revision: self.revision, bytes: last, labels });
        Some(self.record(kind, ChangeKind::Deleted, key.clone(), object, Some(previous)))
    }

    /// The changes of a kind after a revision.
    pub(crate) fn changes_after(
        &self,
        kind: &StorageKey,
        revision: Revision,
    ) -> Result<impl Iterator<Item = &Arc<Change>>, Compacted> {
        let collection = self.collections.get(kind);
        if collection.is_some_and(|collection| revision < collection.compacted) {
            return Err(Compacted);
        }
        let changes = collection.map(|collection| &collection.changes);
        let start =
            changes.map_or(0, |changes| changes.partition_point(|change| change.revision <= revision));
        Ok(changes.into_iter().flat_map(move |changes| changes.range(start..)))
    }

    /// Begins with a kind: of the time before nothing is known.
    pub(crate) fn begin(&mut self, kind: &StorageKey) {
        let revision = self.revision;
        let collection = self.collection(kind);
        collection.changes.clear();
        collection.compacted = revision;
    }

    /// Forgets all changes so far.
    pub(crate) fn compact(&mut self) {
        for collection in self.collections.values_mut() {
            collection.changes.clear();
            collection.compacted = self.revision;
        }
    }

    /// All objects of all kinds.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&StorageKey, &Key, &Arc<Stored>)> {
        self.collections.iter().flat_map(|(kind, collection)| {
            collection.objects.iter().map(move |(key, stored)| (kind, key, stored))
        })
    }

    /// Puts back an object that was written before, without a change.
    pub(crate) fn bring_back(&mut self, kind: &StorageKey, key: Key, stored: Stored) {
        self.advance(stored.revision);
        self.collection(kind).objects.insert(key, Arc::new(stored));
    }

    /// Leaves out an object that was removed before.
    pub(crate) fn leave_out(&mut self, kind: &StorageKey, key: &Key, revision: Revision) {
        self.advance(revision);
        self.collection(kind).objects.remove(key);
    }

    /// The last write was this one, or a later one.
    pub(crate) fn advance(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision);
    }

    /// From now on, every change is noted for [`Store::take_unwritten`].
    pub(crate) fn note_changes(&mut self) {
        self.unwritten = Some(Vec::new());
    }

    /// What has changed since the last time.
    pub(crate) fn take_unwritten(&mut self) -> Vec<Entry> {
        self.unwritten.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn note(&mut self, revision: Revision, kind: &StorageKey, key: &Key, bytes: Option<&Bytes>) {
        let Some(unwritten) = &mut self.unwritten else { return };
        let (kind, key) = (kind.clone(), key.clone());
        unwritten.push(match bytes.cloned() {
            Some(bytes) => Entry::Put { revision, kind, key, bytes },
            None => Entry::Remove { revision, kind, key },
        });
    }

    fn collection(&mut self, kind: &StorageKey) -> &mut Collection {
        self.collections.entry(kind.clone()).or_default()
    }

    fn record(
        &mut self,
        kind: &StorageKey,
        change_kind: ChangeKind,
        key: Key,
        object: Arc<Stored>,
        previous: Option<Arc<Stored>>,
    ) -> Arc<Change> {
        let change = Arc::new(Change {
            revision: self.revision,
            kind: change_kind,
            key,
            object,
            previous,
            frame: OnceLock::new(),
        });
        let collection = self.collection(kind);
        collection.changes.push_back(change.clone());
        if collection.changes.len() > HISTORY_LENGTH
            && let Some(oldest) = collection.changes.pop_front()
        {
            collection.compacted = oldest.revision;
        }
        change
    }
}

#[cfg(test)]
mod tests;
