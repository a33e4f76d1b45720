//! Objects whose deletion was seen. A UID is never used twice: one that comes back was put back with its server.

use std::collections::{BTreeSet, VecDeque};

/// As many are remembered, for each kind: a few hundred kilobytes.
const MOST: usize = 4096;

/// The UIDs of objects that were deleted, the last few thousand.
#[derive(Debug, Default)]
pub(super) struct Graves {
    uids: BTreeSet<String>,
    order: VecDeque<String>,
}

impl Graves {
    /// An object was deleted.
    pub(super) fn dig(&mut self, uid: Option<&str>) {
        let Some(uid) = uid.filter(|uid| !self.uids.contains(*uid)) else { return };
        self.uids.insert(uid.to_owned());
        self.order.push_back(uid.to_owned());
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.uids.remove(&oldest);
        }
    }

    /// An object is there: whether it was deleted before. It is said once.
    pub(super) fn opened(&mut self, uid: Option<&str>) -> bool {
        let was_deleted = uid.is_some_and(|uid| self.uids.remove(uid));
        if was_deleted {
            self.order.retain(|known| Some(known.as_str()) != uid);
        }
        was_deleted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_deleted_is_recognised_once() {
        let mut graves = Graves::default();
        graves.dig(Some("a"));
        graves.dig(Some("a"));
        graves.dig(None);
        assert!(!graves.opened(Some("b")) && !graves.opened(None));
        assert!(graves.opened(Some("a")) && !graves.opened(Some("a")));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut graves = Graves::default();
        (0..=MOST).for_each(|number| graves.dig(Some(&number.to_string())));
        assert!(!graves.opened(Some("0")) && graves.opened(Some("1")));
        assert_eq!(graves.uids.len(), graves.order.len());
    }
}
