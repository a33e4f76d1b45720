//! What a single write of ours must not do.

use super::{Scene, Violation};
use crate::pool::{AccountName, Entry};

/// What is wrong with a change that we made to the entry of an account. Others may do what they like.
pub fn entry_change(account: &AccountName, before: &Entry, after: &Entry) -> Vec<Violation> {
    let mut violations = Vec::new();
    match (&before.tenant, &after.tenant) {
        (None, Some(tenant)) if !(before.selectable && before.is_dedicated()) => {
            violations.push(Violation::TookWhatIsNotFree(account.clone(), tenant.clone()));
        }
        (Some(old), Some(new)) if old != new => {
            violations.push(Violation::TookFrom(account.clone(), old.clone(), new.clone()));
        }
        (Some(old), None) => violations.push(Violation::LetGo(account.clone(), old.clone())),
        _ => (),
    }
    if before.dirty && !after.dirty {
        violations.push(Violation::Cleaned(account.clone()));
    }
    violations
}

/// What is wrong with what happened between two moments of which the second comes right after the first.
pub fn change(before: &Scene, after: &Scene) -> Vec<Violation> {
    let mut violations = Vec::new();
    let lost = before.lost || after.lost;
    for seat in after.books.seats.iter().filter(|_| !lost) {
        match before.books.seats.iter().find(|old| old.request == seat.request) {
            Some(old) if old.account != seat.account => {
                violations.push(Violation::Moved(seat.clone(), old.account.clone()));
            }
            Some(_) => (),
            None if before.quarantined.contains(&seat.account) => {
                violations.push(Violation::SeatedInQuarantine(seat.clone()));
            }
            None => violations.extend(before.seated(after, seat)),
        }
    }
    if !lost {
        violations.extend(before.claimed(after));
    }
    for (request, asked) in after.requests.iter().filter(|(request, _)| !after.returned.contains(*request)) {
        let Some(old) = before.requests.get(request) else { continue };
        if let (Some(old), Some(new)) = (&old.account, &asked.account)
            && old != new
        {
            violations.push(Violation::Republished(request.clone(), old.clone(), new.clone()));
        }
    }
    violations
}
