//! Which entries of the ledger's history may be replaced by counts.
//!
//! The history is what a person, and a cleaner of clouds, asks what may be left in an account. So an entry stays for as long as it may
//! say something about what the account holds now.

use jiff::{SignedDuration, Timestamp};

/// Claims and releases stay at least so long, whatever is configured: a year's audit has to find them.
pub const CLAIMS_DAYS: u16 = 400;

/// How long entries of the history stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    days: u16,
}

impl Default for Retention {
    fn default() -> Self {
        Self { days: CLAIMS_DAYS }
    }
}

/// An entry, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldEntry {
    /// Its number.
    pub id: i64,
    /// When it was made.
    pub at: Timestamp,
    /// It says who got or gave back an account.
    pub is_claim_or_release: bool,
    /// It is about an account.
    pub is_of_account: bool,
    /// The last entry that says that the account was found empty.
    pub last_cleaned: Option<i64>,
    /// Its request waits for an account now.
    pub waits: bool,
}

impl Retention {
    /// The shortest time that can be configured. The fence names recent entries, and whoever looks for a fault wants a month of them.
    pub const LEAST_DAYS: u16 = 30;

    /// Entries stay for so many days, and not less than [`Self::LEAST_DAYS`].
    pub fn days(days: u16) -> Self {
        Self { days: days.max(Self::LEAST_DAYS) }
    }

    /// Whether an entry made at this time may be old enough for anything to be done with it.
    pub fn is_old(self, at: Timestamp, now: Timestamp) -> bool {
        is_older_than(self.days, at, now)
    }

    /// Whether an entry may be replaced by a count.
    pub fn ends(self, entry: &OldEntry, now: Timestamp) -> bool {
        let OldEntry { id, at, is_claim_or_release, is_of_account, last_cleaned, waits } = *entry;
        let days = if is_claim_or_release { self.days.max(CLAIMS_DAYS) } else { self.days };
        // The entry that says it was empty stays, too: it is the proof.
        let is_before_proof = !is_of_account || last_cleaned.is_some_and(|cleaned| id < cleaned);
        is_older_than(days, at, now) && is_before_proof && !waits
    }
}

fn is_older_than(days: u16, at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) > SignedDuration::from_hours(24 * i64::from(days))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: OldEntry = OldEntry {
        id: 10,
        at: Timestamp::UNIX_EPOCH,
        is_claim_or_release: false,
        is_of_account: true,
        last_cleaned: Some(20),
        waits: false,
    };

    fn after(days: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * days)
    }

    #[test]
    fn entries_end_by_age_proof_and_kind() {
        let of = |change: fn(&mut OldEntry)| {
            let mut entry = ENTRY;
            change(&mut entry);
            entry
        };
        let month = Retention::days(30);
        let rows: [(&str, OldEntry, i64, bool); 10] = [
            ("on the day", ENTRY, 30, false),
            ("the day after", ENTRY, 31, true),
            ("a claim stays 400 days", of(|entry| entry.is_claim_or_release = true), 400, false),
            ("and not longer", of(|entry| entry.is_claim_or_release = true), 401, true),
            ("never found empty", of(|entry| entry.last_cleaned = None), 4000, false),
            ("since it was found empty", of(|entry| entry.last_cleaned = Some(9)), 4000, false),
            ("the proof itself", of(|entry| entry.last_cleaned = Some(10)), 4000, false),
            (
                "of no account",
                of(|entry| (entry.is_of_account, entry.last_cleaned) = (false, None)),
                31,
                true,
            ),
            (
                "of one that waits",
                of(|entry| (entry.is_of_account, entry.waits) = (false, true)),
                4000,
                false,
            ),
            ("from the future", of(|entry| entry.at = after(60)), 31, false),
        ];
        for (name, entry, day, ends) in rows {
            assert_eq!(month.ends(&entry, after(day)), ends, "{name}");
        }
    }

    #[test]
    fn a_short_time_is_not_taken() {
        assert_eq!(Retention::days(1), Retention::days(30));
        assert!(!Retention::default().ends(&ENTRY, after(400)));
        assert!(Retention::default().ends(&ENTRY, after(401)));
    }
}
