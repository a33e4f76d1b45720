//! Any bytes as the log of a server that remembers.

use crate::state::{begun_with, whole_entries};

/// Reads it, and says how many entries of it are whole.
pub fn examine(bytes: &[u8]) -> usize {
    // What is understood of it says no more than what was written, and a server can begin with it.
    if let Some((log, again)) = begun_with(bytes) {
        assert_eq!(log, again);
    }
    let Ok((count, length)) = whole_entries(bytes) else { return 0 };
    let length = usize::try_from(length).unwrap();
    assert!(length <= bytes.len());
    // What is kept of it is a log of its own, and cutting it off anywhere never makes more of it.
    assert_eq!(whole_entries(&bytes[..length]).unwrap(), (count, length as u64));
    for at in [length.saturating_sub(1), length / 2] {
        if let Ok((fewer, shorter)) = whole_entries(&bytes[..at]) {
            assert!(fewer <= count && shorter <= at as u64);
        }
    }
    count
}
