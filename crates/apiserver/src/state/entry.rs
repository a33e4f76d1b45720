//! What is written down, and how it looks as bytes.
//!
//! A file begins with [`BEGINNING`]. Every entry has a head of twelve bytes, all numbers with the lowest byte first:
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 3 | how long the body is |
//! | 4 to 7 | the checksum of all bodies of the file so far, and of this one |
//! | 8 to 11 | the checksum of the eight bytes before |
//!
//! The length has a checksum of its own, so that one that is wrong is not taken for a file that ends too early: a file
//! that does end within an entry was cut off while that was written, and nobody was told that it is kept.

use crate::{
    resource::StorageKey,
    store::{Key, Revision},
};
use bytes::Bytes;
use crc32fast::Hasher;

/// What every file begins with. The last byte is the version of the format.
pub(super) const BEGINNING: &[u8; 8] = b"ALLOTM\x00\x01";

/// How long the head of an entry is.
const HEAD: usize = 12;

/// Something that is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An object is this now.
    Put {
        /// Since which revision.
        revision: Revision,
        /// Its kind.
        kind: StorageKey,
        /// Its name.
        key: Key,
        /// The object.
        bytes: Bytes,
    },
    /// An object is gone.
    Remove {
        /// Since which revision.
        revision: Revision,
        /// Its kind.
        kind: StorageKey,
        /// Its name.
        key: Key,
    },
    /// A snapshot is complete.
    Complete {
        /// What the last write before it was.
        revision: Revision,
        /// How many objects it has.
        count: u64,
    },
}

/// Why an entry is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// The file ends before it does.
    Short,
    /// It is not what was written.
    Damaged(&'static str),
}

/// The checksum of the bodies so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain(Hasher);

impl Chain {
    fn with(&self, body: &[u8]) -> Self {
        let mut hasher = self.0.clone();
        hasher.update(body);
        Self(hasher)
    }

    fn sum(&self) -> [u8; 4] {
        self.0.clone().finalize().to_le_bytes()
    }
}

impl Entry {
    /// Writes it to the end of the bytes, and goes on with the chain. What is too long for a head cannot be written: four
    /// gigabytes are a thousand times what a request may have.
    pub(super) fn write(&self, chain: &mut Chain, to: &mut Vec<u8>) {
        let body = self.body();
        *chain = chain.with(&body);
        let mut head = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        head.extend(chain.sum());
        to.extend(&head);
        to.extend(crc32fast::hash(&head).to_le_bytes());
        to.extend(body);
    }

    /// Reads the one that the bytes begin with, and says how long it is there.
    pub(super) fn read(bytes: &[u8], chain: &mut Chain) -> Result<(Self, usize), Unreadable> {
        let (head, rest) = bytes.split_at_checked(HEAD).ok_or(Unreadable::Short)?;
        let (Some(length), Some(sum), Some(of_head)) = (number(head, 0), number(head, 4), number(head, 8))
        else {
            return Err(Unreadable::Short);
        };
        if crc32fast::hash(&head[..8]) != of_head {
            return Err(Unreadable::Damaged("the checksum of an entry's head does not fit"));
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let body = rest.get(..length).ok_or(Unreadable::Short)?;
        let next = chain.with(body);
        if next.sum() != sum.to_le_bytes() {
            return Err(Unreadable::Damaged("the checksum of an entry does not fit"));
        }
        let entry = Self::from_body(body).ok_or(Unreadable::Damaged("an entry is not understood"))?;
        *chain = next;
        Ok((entry, HEAD + length))
    }

    fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let named = |body: &mut Vec<u8>, tag: u8, revision: &Revision, kind: &StorageKey, key: &Key| {
            body.push(tag);
            body.extend(revision.to_le_bytes());
            for text in [&*kind.group, &*kind.plural, &*key.namespace, &*key.name] {
                body.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
                body.extend(text.as_bytes());
            }
        };
        match self {
            Self::Put { revision, kind, key, bytes } => {
                named(&mut body, b'p', revision, kind, key);
                body.extend(bytes);
            }
            Self::Remove { revision, kind, key } => named(&mut body, b'r', revision, kind, key),
            Self::Complete { revision, count } => {
                body.push(b'c');
                body.extend(revision.to_le_bytes());
                body.extend(count.to_le_bytes());
            }
        }
        body
    }

    fn from_body(body: &[u8]) -> Option<Self> {
        let (tag, rest) = body.split_first()?;
        let (revision, mut rest) = rest.split_at_checked(8)?;
        let revision = u64::from_le_bytes(revision.try_into().ok()?);
        if *tag == b'c' {
            return Some(Self::Complete { revision, count: u64::from_le_bytes(rest.try_into().ok()?) });
        }
        let mut text = || -> Option<String> {
            let length = usize::try_from(number(rest, 0)?).ok()?;
            let (text, after) = rest.get(4..)?.split_at_checked(length)?;
            rest = after;
            String::from_utf8(text.to_vec()).ok()
        };
        let kind = StorageKey { group: text()?, plural: text()? };
        let key = Key::new(&text()?, &text()?);
        match *tag {
            b'p' => Some(Self::Put { revision, kind, key, bytes: Bytes::copy_from_slice(rest) }),
            b'r' if rest.is_empty() => Some(Self::Remove { revision, kind, key }),
            _ => None,
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Gives every entry of a file the checksums that fit it, as far as the lengths lead: what a fuzzer changes would otherwise
/// never be read.
#[cfg(any(test, fuzzing))]
pub(super) fn put_right(file: &mut [u8]) {
    let (mut chain, mut at) = (Chain::default(), BEGINNING.len());
    while let Some(length) = number(file, at).and_then(|length| usize::try_from(length).ok()) {
        let Some(body) = file.get(at + HEAD..at + HEAD + length) else { return };
        chain = chain.with(body);
        file[at + 4..at + 8].copy_from_slice(&chain.sum());
        let of_head = crc32fast::hash(&file[at..at + 8]);
        file[at + 8..at + HEAD].copy_from_slice(&of_head.to_le_bytes());
        at += HEAD + length;
    }
}
