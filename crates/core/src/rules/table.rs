//! Finds a rule by plan and inputs, in a time that does not depend on how many rules there are, and without allocating.
//!
//! Words become numbers, a rule is a short list of numbers, and both are looked up by a hash that is the same in every
//! run. The tables are filled when rules are loaded and never change; what a request asks for is only looked up, so
//! nobody can make them slow from outside.

/// Open addressing over entries that are kept elsewhere.
#[derive(Clone, Debug)]
struct Index {
    /// The number of an entry from 1; 0 is a free slot. The length is a power of two.
    slots: Vec<u32>,
}

impl Index {
    fn new(hashes: impl ExactSizeIterator<Item = u64>) -> Self {
        // At most every second slot is taken, so a free one is near.
        let mut slots = vec![0; (hashes.len() * 2).next_power_of_two().max(8)];
        let mask = slots.len() - 1;
        for (entry, hash) in hashes.enumerate() {
            let mut slot = position(hash, mask);
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = number(entry) + 1;
        }
        Self { slots }
    }

    fn find(&self, hash: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = position(hash, mask);
        loop {
            match self.slots[slot] {
                0 => return None,
                taken if is_it(taken as usize - 1) => return Some(taken as usize - 1),
                _ => slot = (slot + 1) & mask,
            }
        }
    }
}

/// Words and their numbers, in the order in which they were given.
#[derive(Clone, Debug)]
pub(super) struct Words {
    words: Vec<Box<str>>,
    index: Index,
}

impl Words {
    /// The words must differ.
    pub(super) fn new<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let words: Vec<Box<str>> = words.map(Box::from).collect();
        let index = Index::new(words.iter().map(|word| hash_text(word)));
        Self { words, index }
    }

    pub(super) fn find(&self, word: &str) -> Option<usize> {
        self.index.find(hash_text(word), |entry| &*self.words[entry] == word)
    }
}

/// The words of a rule by their numbers from 1, or 0 for any: the plan, then the inputs.
pub(super) type Key<const N: usize> = (u32, [u32; N]);

/// Keys and the rules they belong to.
#[derive(Clone, Debug)]
pub(super) struct Keys<const N: usize> {
    keys: Vec<Key<N>>,
    index: Index,
}

impl<const N: usize> Keys<N> {
    /// The keys must differ; a key is found by its place.
    pub(super) fn new(keys: Vec<Key<N>>) -> Self {
        let index = Index::new(keys.iter().map(hash_key));
        Self { keys, index }
    }

    pub(super) fn find(&self, key: &Key<N>) -> Option<usize> {
        self.index.find(hash_key(key), |entry| self.keys[entry] == *key)
    }
}

/// Entries are rules and words of a file: there is not memory for 2^32 of them.
pub(super) fn number(entry: usize) -> u32 {
    u32::try_from(entry).unwrap_or(u32::MAX - 1)
}

/// An odd number with its bits well spread: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(hash: u64, value: u64) -> u64 {
    let product = u128::from(hash ^ value) * u128::from(SPREAD);
    // Both halves of the product, else the low bits would depend on low bits only.
    #[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

fn hash_text(text: &str) -> u64 {
    let (chunks, rest) = text.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let hash = chunks.iter().fold(text.len() as u64, |hash, chunk| mix(hash, u64::from_le_bytes(*chunk)));
    mix(hash, u64::from_le_bytes(last))
}

fn hash_key<const N: usize>((plan, inputs): &Key<N>) -> u64 {
    inputs.iter().fold(mix(SPREAD, u64::from(*plan)), |hash, input| mix(hash, u64::from(*input)))
}

fn position(hash: u64, mask: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
    let low = hash as usize;
    low & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_found_and_nothing_else() {
        let words: Vec<String> = (0..5000).map(|n| format!("cf-{n}")).chain(["".to_owned()]).collect();
        let table = Words::new(words.iter().map(String::as_str));
        for (place, word) in words.iter().enumerate() {
            assert_eq!(table.find(word), Some(place));
        }
        for word in ["cf-5000", "cf-", "cf-1\0", "a much longer word than any of the others"] {
            assert_eq!(table.find(word), None);
        }
    }

    #[test]
    fn regions_do_not_pile_up() {
        let words: Vec<String> = (0..1000).map(|n| format!("cf-eu{n}")).collect();
        let mask = 2047;
        let mut taken: Vec<usize> = words.iter().map(|word| position(hash_text(word), mask)).collect();
        taken.sort_unstable();
        taken.dedup();
        // 1000 balls into 2048 urns hit about 790 of them.
        assert!(taken.len() > 700, "{}", taken.len());
    }
}
