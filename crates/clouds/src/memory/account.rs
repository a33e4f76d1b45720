//! One account: its items, and what time and deletions do to them.

use super::{
    Deletion, Nature,
    dependencies::{GOES_WITH_HOLDER, blocked_by, blocks, holds, is_deletable, is_part_of},
    model::Model,
};
use allotment_core::cleanup::{
    CloudAccountId, Item, ItemKey, Place, Refusal,
    attribute::{OWNER, STATE},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

pub(super) struct Account {
    pub(super) model: &'static Model,
    pub(super) id: CloudAccountId,
    pub(super) places: BTreeSet<Place>,
    pub(super) deletions: Vec<Deletion>,
    items: BTreeMap<ItemKey, Stored>,
}

#[derive(Debug)]
pub(super) struct Stored {
    pub(super) item: Item,
    pub(super) nature: Nature,
    pub(super) came_with_account: bool,
    put_at: Instant,
    /// The end of an accepted deletion.
    gone_at: Option<Instant>,
    /// The deletion ended, and lists may still show the item.
    is_gone: bool,
}

/// An item as calls see it.
pub(super) struct Shown {
    pub(super) item: Item,
    pub(super) is_hidden: bool,
    pub(super) is_gone: bool,
}

impl Account {
    pub(super) fn new(model: &'static Model, id: CloudAccountId) -> Self {
        let (places, deletions, items) = (BTreeSet::new(), Vec::new(), BTreeMap::new());
        let mut account = Self { model, id, places, deletions, items };
        account.come_with((model.of_account)(&account.id));
        account
    }

    pub(super) fn add_place(&mut self, place: Place) {
        if self.places.insert(place.clone()) {
            self.come_with((self.model.of_place)(&self.id, &place));
        }
    }

    fn come_with(&mut self, items: Vec<Item>) {
        for item in items {
            self.insert(item, Nature::default(), true, Instant::now());
        }
    }

    pub(super) fn put(&mut self, item: Item, nature: Nature, now: Instant) {
        self.advance(now);
        self.insert(item, nature, false, now);
    }

    fn insert(&mut self, mut item: Item, nature: Nature, came_with_account: bool, put_at: Instant) {
        item.attributes.entry(OWNER.to_owned()).or_insert_with(|| self.id.as_str().to_owned());
        let key = item.key();
        let stored = Stored { item, nature, came_with_account, put_at, gone_at: None, is_gone: false };
        self.items.insert(key, stored);
    }

    pub(super) fn remove(&mut self, key: &ItemKey, now: Instant) {
        self.advance(now);
        self.leave(key, now);
        self.advance(now);
    }

    /// The items that are really there.
    pub(super) fn items(&self, is_asked_for: impl Fn(&Stored) -> bool) -> Vec<Item> {
        let there = self.items.values().filter(|stored| !stored.is_gone && is_asked_for(stored));
        there.map(|stored| self.as_shown(stored)).collect()
    }

    /// The items that calls can see, in order of place, kind and id.
    pub(super) fn shown(&self, now: Instant, is_asked_for: impl Fn(&Item) -> bool) -> Vec<Shown> {
        let is_shown = |stored: &&Stored| {
            let has_appeared = after(stored.put_at, stored.nature.appears_after) <= now;
            has_appeared && is_asked_for(&stored.item)
        };
        let shown = self.items.values().filter(is_shown).map(|stored| Shown {
            item: self.as_shown(stored),
            is_hidden: stored.nature.hidden,
            is_gone: stored.is_gone,
        });
        shown.collect()
    }

    /// Starts a deletion. An item that is gone, or leaving already, is no error.
    pub(super) fn delete(&mut self, key: &ItemKey, now: Instant) -> Result<(), Refusal> {
        let Some(stored) = self.items.get(key) else { return Ok(()) };
        if stored.gone_at.is_some() {
            return Ok(());
        }
        if let Some(refusal) = &stored.nature.refuses {
            return Err(refusal.clone());
        }
        is_deletable(self.model, &stored.item, &self.id)?;
        if let Some(blocker) = self.blocker(&stored.item) {
            return Err(blocked_by(self.model, blocker));
        }
        let gone_at = after(now, stored.nature.delete_takes);
        self.leave(key, gone_at);
        self.deletions.push(Deletion { item: key.clone(), at: now });
        self.advance(now);
        Ok(())
    }

    /// Lets deletions end whose time has come, in order of time.
    pub(super) fn advance(&mut self, now: Instant) {
        loop {
            let leaving = self.items.iter().filter(|(_, stored)| !stored.is_gone);
            let due = leaving.filter_map(|(key, stored)| Some((stored.gone_at?, key)));
            match due.min() {
                Some((at, key)) if at <= now => self.end(&key.clone(), at),
                _ => break,
            }
        }
        let model = self.model;
        self.items.retain(|key, stored| {
            let shown =
                model.gone(key.kind.as_str()).map(|_| model.states.shown_when_gone).unwrap_or_default();
            !(stored.is_gone && stored.gone_at.is_some_and(|at| after(at, shown) <= now))
        });
    }

    /// Ends a deletion: the parts of the item go at once, and those that it held go or are free.
    fn end(&mut self, key: &ItemKey, at: Instant) {
        let Some(stored) = self.items.get_mut(key) else { return };
        stored.is_gone = true;
        let (ended, model) = (stored.item.clone(), self.model);
        for stored in self.items.values_mut().filter(|stored| stored.gone_at.is_none()) {
            if is_part_of(model, &stored.item, &ended) {
                stored.gone_at = Some(at);
            } else if holds(&ended, &stored.item) {
                stored.release(model, &ended, at);
            }
        }
    }

    fn leave(&mut self, key: &ItemKey, gone_at: Instant) {
        if let Some(stored) = self.items.get_mut(key) {
            stored.gone_at = Some(gone_at);
        }
    }

    /// The first item that keeps another one from being deleted. A part that refuses to go keeps the whole, and so does
    /// whoever keeps a part and is none.
    fn blocker(&self, item: &Item) -> Option<&Item> {
        let whole = self.with_parts(item);
        let there = self.items.values().filter(|stored| !stored.is_gone && stored.item.key() != item.key());
        let mut blocking = there.filter(|stored| {
            if whole.iter().any(|part| part.key() == stored.item.key()) {
                return stored.nature.refuses.is_some();
            }
            whole.iter().any(|part| blocks(self.model, &stored.item, part))
        });
        blocking.next().map(|stored| &stored.item)
    }

    /// An item, its parts, and theirs.
    fn with_parts<'a>(&'a self, item: &'a Item) -> Vec<&'a Item> {
        let mut whole = vec![item];
        let mut next = 0;
        while let Some(part) = whole.get(next).copied() {
            let there = self.items.values().filter(|stored| !stored.is_gone).map(|stored| &stored.item);
            let parts = there.filter(|other| is_part_of(self.model, other, part));
            let new: Vec<&Item> =
                parts.filter(|other| whole.iter().all(|known| known.key() != other.key())).collect();
            whole.extend(new);
            next += 1;
        }
        whole
    }

    fn as_shown(&self, stored: &Stored) -> Item {
        let kind = stored.item.kind.as_str();
        let held = || {
            let (held, _) = self.model.held(kind)?;
            let mut there = self.items.values().filter(|other| !other.is_gone);
            there.any(|other| holds(&other.item, &stored.item)).then_some(held)
        };
        let state = match stored.gone_at {
            Some(_) if stored.is_gone => self.model.gone(kind),
            Some(_) => self.model.leaving(kind),
            None => held(),
        };
        match state {
            Some(state) => stored.item.clone().with(STATE, state),
            None => stored.item.clone(),
        }
    }
}

impl Stored {
    /// Its holder is gone, and it names that one no longer.
    fn release(&mut self, model: &Model, holder: &Item, at: Instant) {
        if self.item.attribute(GOES_WITH_HOLDER) == Some("true") && self.nature.refuses.is_none() {
            self.gone_at = Some(after(at, self.nature.delete_takes));
            return;
        }
        self.item.attributes.retain(|_, value| value != holder.id.as_str());
        if let Some((_, free)) = model.held(self.item.kind.as_str()) {
            self.item.attributes.insert(STATE.to_owned(), free.to_owned());
        }
    }
}

/// Longer than any simulation, and short enough for every clock.
const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

fn after(at: Instant, time: Duration) -> Instant {
    at + time.min(NEVER)
}
