//! Who refers to whom, read backwards.

use std::collections::{BTreeMap, BTreeSet};

/// For each object that is referred to, who does.
#[derive(Debug)]
pub(super) struct Referrers<T, R> {
    all: BTreeMap<T, BTreeSet<R>>,
}

impl<T, R> Default for Referrers<T, R> {
    fn default() -> Self {
        Self { all: BTreeMap::new() }
    }
}

impl<T: Ord, R: Ord + Clone> Referrers<T, R> {
    /// From now on it refers to this.
    pub(super) fn insert(&mut self, to: T, from: R) {
        self.all.entry(to).or_default().insert(from);
    }

    /// From now on it does not.
    pub(super) fn remove(&mut self, to: &T, from: &R) {
        if let Some(referrers) = self.all.get_mut(to) {
            referrers.remove(from);
            if referrers.is_empty() {
                self.all.remove(to);
            }
        }
    }

    /// Who refers to this.
    pub(super) fn to(&self, to: &T) -> impl Iterator<Item = &R> + use<'_, T, R> {
        self.all.get(to).into_iter().flatten()
    }
}
