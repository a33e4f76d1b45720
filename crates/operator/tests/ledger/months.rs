//! Old entries of the history become counts, but for those that may still be needed.

use crate::{
    bench::{Bench, account, accounts, claim, now, pool, request, tenant, version, want},
    schema::by_hand,
};
use allotment_core::pool::{AccountName, Answer, Epoch, Retention};
use allotment_operator::ledger::{About, Entry, Event, Learned, Ledger, Left};
use jiff::{SignedDuration, Timestamp};

fn days_later(days: i64) -> Timestamp {
    now() + SignedDuration::from_hours(24 * days)
}

/// A tenant gets an account, gives it back, and it is cleaned.
async fn use_once(ledger: &Ledger, epoch: Epoch, name: &str, uid: &str, by: &str) {
    let free = [account(name)];
    assert_eq!(want(uid, by, &free).ask(ledger, epoch).await.unwrap().answer, claim(name));
    ledger.confirm(epoch, &account(name), &tenant(by), now()).await.unwrap();
    let left = Left { foreign: 0, drain: true };
    ledger.release(epoch, &request(uid).uid, left, "gone", now()).await.unwrap();
    for learned in [Learned::BecameDirty(Some(tenant(by))), Learned::Freed] {
        let seen = version(ledger, name).await;
        ledger.learn(epoch, &account(name), &pool("aws"), seen, &learned, "seen", now()).await.unwrap();
    }
}

/// Everything that is to be counted by then, batch after batch.
async fn count_all(ledger: &Ledger, epoch: Epoch, then: Timestamp) -> u64 {
    let (mut next, mut entries) = (Some(0), 0);
    while let Some(after) = next {
        let counted = ledger.count_old(epoch, after, then).await.unwrap();
        entries += counted.entries;
        next = counted.next;
    }
    entries
}

async fn of(ledger: &Ledger, name: &AccountName) -> Vec<Event> {
    let entries = ledger.history(About::Account(name), 10_000).await.unwrap();
    entries.iter().map(|entry| entry.event).collect()
}

pub async fn what_may_be_needed_stays(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let ledger = ledger.with_retention(Retention::days(30));
    let (used, busy, fresh) = (account("a-1"), account("b-1"), account("c-1"));
    for round in 0..3 {
        use_once(&ledger, epoch, "a-1", &format!("r{round}"), "t").await;
    }
    // Never found empty, and in use since it was: all of both stays.
    want("busy", "u", std::slice::from_ref(&busy)).ask(&ledger, epoch).await.unwrap();
    use_once(&ledger, epoch, "c-1", "first", "v").await;
    want("second", "v", std::slice::from_ref(&fresh)).ask(&ledger, epoch).await.unwrap();
    // One waits, and one gave up.
    let nothing: [AccountName; 0] = [];
    for uid in ["waits", "left"] {
        let answer = want(uid, "w", &nothing).ask(&ledger, epoch).await.unwrap().answer;
        assert!(matches!(answer, Answer::Wait { .. }), "{answer:?}");
    }
    ledger.withdraw(epoch, &request("left").uid, "gone", now()).await.unwrap();
    // The last eight stay whatever they are.
    for round in 0..4 {
        let uid = format!("last-{round}");
        want(&uid, "w", &nothing).ask(&ledger, epoch).await.unwrap();
        ledger.withdraw(epoch, &request(&uid).uid, "gone", now()).await.unwrap();
    }

    assert_eq!(count_all(&ledger, epoch, days_later(30)).await, 0, "nothing is old");
    let before = of(&ledger, &busy).await;
    assert!(count_all(&ledger, epoch, days_later(31)).await > 0, "the rest of a cleaned account");
    let claims_stay = of(&ledger, &used).await;
    assert_eq!(claims_stay.iter().filter(|event| **event == Event::Assigned).count(), 3, "for 400 days");
    assert!(count_all(&ledger, epoch, days_later(401)).await > 0);
    assert_eq!(count_all(&ledger, epoch, days_later(4000)).await, 0, "what stays, stays for ever");

    assert_eq!(of(&ledger, &used).await, [Event::Cleaned], "the proof");
    assert_eq!(of(&ledger, &busy).await, before);
    let since = [Event::Cleaned, Event::Claimed, Event::Assigned];
    assert_eq!(of(&ledger, &fresh).await, since);
    let queued = ledger.history(About::Request(&request("waits").uid), 10).await.unwrap();
    assert_eq!(queued.iter().map(|entry| entry.event).collect::<Vec<_>>(), [Event::Queued]);
    assert!(ledger.history(About::Request(&request("left").uid), 10).await.unwrap().is_empty());

    // Nothing is lost: what is not an entry any more is in the counts.
    let months = ledger.months(&used).await.unwrap();
    assert!(
        months.iter().all(
            |count| count.month == "2026-11" && count.tenant.as_ref().is_none_or(|it| *it == tenant("t"))
        )
    );
    let count_of =
        |event| months.iter().filter(|count| count.event == event).map(|count| count.entries).sum::<u64>();
    for (event, expected) in
        [(Event::Claimed, 3), (Event::Assigned, 3), (Event::Released, 3), (Event::Cleaned, 2)]
    {
        assert_eq!(count_of(event), expected, "{event}");
    }
    ledger.check_past().await.unwrap();
    assert_eq!(ledger.months(&busy).await.unwrap(), []);
}

pub async fn many_entries_are_counted_in_batches(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let nothing: [AccountName; 0] = [];
    for number in 0..300 {
        let uid = format!("r{number}");
        want(&uid, &format!("invented-{number}"), &nothing).ask(&ledger, epoch).await.unwrap();
        ledger.withdraw(epoch, &request(&uid).uid, "gone", now()).await.unwrap();
    }
    let first = ledger.count_old(epoch, 0, days_later(401)).await.unwrap();
    assert_eq!((first.entries, first.next.is_some()), (500, true));
    count_all(&ledger, epoch, days_later(401)).await;
    let left: Vec<Entry> = ledger.history(About::Everything, 10_000).await.unwrap();
    assert_eq!(left.len(), 8, "those that the fence may name");
    // A count that is repeated, and one under an epoch that is over, change nothing.
    assert_eq!(count_all(&ledger, epoch, days_later(401)).await, 0);
    ledger.lead("another", "another term", now()).await.unwrap();
    assert!(ledger.count_old(epoch, 0, days_later(401)).await.is_err());
}

/// Invented tenants add no rows that stay.
pub async fn invented_tenants_leave_no_lock_rows(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let free = accounts("a", 1);
    for number in 0..1200 {
        let mut want = want(&format!("r{number}"), &format!("invented-{number}"), &free);
        want.may_queue = false;
        want.ask(&ledger, epoch).await.unwrap();
    }
    // 1,024 rows for tenants and 64 for requests, and one for the pool; a further one would not be accepted.
    by_hand(
        &bench,
        "CREATE TABLE most (rows BIGINT CHECK (rows <= 1089)); INSERT INTO most SELECT count(*) FROM locks",
    )
    .await;
}
