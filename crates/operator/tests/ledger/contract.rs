//! What each operation promises.

use crate::bench::{
    Bench, account, accounts, check, claim, now, pool, position, request, reuse, shared, tenant, version,
    want,
};
use allotment_core::{
    check::over_limit,
    pool::{Answer, Epoch, Holding, Lack, Limit, PoolKey},
};
use allotment_operator::ledger::{
    About, Assignment, Event, Learned, Ledger, LedgerError, Left, Place, Released,
};
use std::collections::BTreeMap;

const DRAIN: Left = Left { foreign: 0, drain: true };

async fn holding(ledger: &Ledger, name: &str) -> Option<Holding> {
    ledger.account(&account(name)).await.unwrap().map(|account| account.holding)
}

pub async fn identity_and_epoch(bench: Bench) {
    let ledger = bench.open().await;
    let first = ledger.identity().await.unwrap();
    assert_eq!((first.epoch, first.is_empty, first.uuid.len()), (Epoch(0), true, 36));
    assert_eq!(ledger.lead("one", "a term", now()).await, Ok(Epoch(1)));
    assert_eq!(ledger.lead("two", "a term", now()).await, Ok(Epoch(2)));
    assert_eq!(ledger.epoch().await, Ok(Epoch(2)));
    want("r", "t", &accounts("a", 1)).ask(&ledger, Epoch(2)).await.unwrap();
    let later = ledger.identity().await.unwrap();
    assert_eq!((later.epoch, later.is_empty, &later.uuid), (Epoch(2), false, &first.uuid));
}

pub async fn nobody_leads_after_an_epoch_that_is_over(bench: Bench) {
    let ledger = bench.open().await;
    assert_eq!(ledger.lead_after("one", "a", Epoch(0), now()).await, Ok(Epoch(1)));
    let entries = ledger.history(About::Everything, 10).await.unwrap();
    for over in [Epoch(0), Epoch(7)] {
        let refused = ledger.lead_after("two", "b", over, now()).await.unwrap_err();
        assert_eq!(refused.category(), "stale", "{refused}");
    }
    assert_eq!(ledger.epoch().await, Ok(Epoch(1)));
    assert_eq!(ledger.history(About::Everything, 10).await.unwrap(), entries, "nothing is left of it");
    assert_eq!(ledger.lead_after("two", "b", Epoch(1), now()).await, Ok(Epoch(2)));
}

pub async fn a_stale_leader_writes_nothing(bench: Bench) {
    let ledger = bench.open().await;
    let free = accounts("a", 3);
    let nobody = want("r", "t", &free).ask(&ledger, Epoch(0)).await;
    assert!(matches!(nobody, Err(LedgerError::Stale { .. })), "{nobody:?}");
    let old = ledger.lead("old", "a term", now()).await.unwrap();
    want("r", "t", &free).ask(&ledger, old).await.unwrap();
    let new = ledger.lead("new", "a term", now()).await.unwrap();
    let before = check(&ledger).await;

    let assignment = ledger.assignment(&request("r").uid).await.unwrap().unwrap();
    let version = version(&ledger, "a-1").await;
    // An epoch that the ledger does not know yet is wrong too: the database was put back.
    for epoch in [old, Epoch(new.0 + 1)] {
        let stale = |error: LedgerError| assert_eq!(error.category(), "stale", "{error}");
        stale(want("s", "t", &free).ask(&ledger, epoch).await.unwrap_err());
        stale(want("r", "t", &free).ask(&ledger, epoch).await.unwrap_err());
        stale(ledger.confirm(epoch, &account("a-1"), &tenant("t"), now()).await.unwrap_err());
        let lost = ledger.lose(epoch, &account("a-1"), &tenant("t"), &Holding::Free, "", now()).await;
        stale(lost.unwrap_err());
        stale(ledger.release(epoch, &request("r").uid, DRAIN, "", now()).await.unwrap_err());
        let quarantine = Learned::Quarantined(String::new());
        let learned =
            ledger.learn(epoch, &account("a-1"), &pool("aws"), version, &quarantine, "", now()).await;
        stale(learned.unwrap_err());
        stale(ledger.assign(epoch, &assignment, "", now()).await.unwrap_err());
        stale(ledger.clear(epoch, "", now()).await.unwrap_err());
    }
    assert_eq!(check(&ledger).await, before);
    assert_eq!(want("r", "t", &free).ask(&ledger, new).await.unwrap().answer, Answer::Keep(account("a-1")));
}

pub async fn reserve_claims_once_and_keeps(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let free = accounts("a", 3);
    let first = want("r", "t", &free).ask(&ledger, epoch).await.unwrap();
    assert_eq!((first.answer, first.confirmed), (claim("a-1"), false));
    let entries = ledger.history(About::Everything, 100).await.unwrap();
    let again = want("r", "t", &free).ask(&ledger, epoch).await.unwrap();
    assert_eq!((again.answer, again.confirmed), (Answer::Keep(account("a-1")), false));
    assert_eq!(
        ledger.history(About::Everything, 100).await.unwrap(),
        entries,
        "a second call writes nothing"
    );

    let second = want("s", "t", &free).ask(&ledger, epoch).await.unwrap();
    assert_eq!((second.answer, second.confirmed), (reuse("a-1"), false));
    ledger.confirm(epoch, &account("a-1"), &tenant("t"), now()).await.unwrap();
    let third = want("u", "t", &free).ask(&ledger, epoch).await.unwrap();
    assert_eq!((third.answer, third.confirmed), (reuse("a-1"), true));
    let kept = want("r", "t", &free).ask(&ledger, epoch).await.unwrap();
    assert!(kept.confirmed, "{kept:?}");
    let other = want("v", "other", &free).ask(&ledger, epoch).await.unwrap();
    assert_eq!(other.answer, claim("a-2"));

    let found = ledger.account(&account("a-1")).await.unwrap().unwrap();
    assert_eq!(found.holding, Holding::Claimed(tenant("t")));
    assert_eq!((found.epoch, found.pool.clone(), found.since), (epoch, pool("aws"), now()));
    let uids: Vec<&str> = found.assignments.iter().map(|assigned| assigned.request.uid.as_str()).collect();
    assert_eq!(uids, ["r", "s", "u"]);
    assert_eq!(found.assignments[0], ledger.assignment(&request("r").uid).await.unwrap().unwrap());
    assert_eq!(ledger.assignment(&request("w").uid).await.unwrap(), None);
    assert_eq!(ledger.accounts().await.unwrap()[0], found);
    check(&ledger).await;
}

pub async fn a_limit_of_three_and_ten_requests(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let free = accounts("a", 20);
    for uid in ["before-1", "before-2"] {
        want(uid, "t", &free).ask(&ledger, epoch).await.unwrap();
    }
    for number in 0..10 {
        want(&format!("r-{number}"), "t", &free).ask(&ledger, epoch).await.unwrap();
    }
    let books = check(&ledger).await;
    assert_eq!(over_limit(&books, Limit(3)), []);
    let mut clusters: BTreeMap<&str, u32> = BTreeMap::new();
    for seat in &books.seats {
        *clusters.entry(seat.account.as_str()).or_default() += 1;
    }
    assert_eq!(clusters, BTreeMap::from([("a-1", 3), ("a-2", 3), ("a-3", 3), ("a-4", 3)]));
}

pub async fn one_account_takes_everything(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let free = accounts("a", 5);
    for number in 0..7 {
        want(&format!("r-{number}"), "t", &free).one().ask(&ledger, epoch).await.unwrap();
    }
    assert_eq!(ledger.accounts().await.unwrap().len(), 1);
    // One account per pool.
    let other = want("s", "t", &accounts("z", 1)).one().in_pool(pool("azure")).ask(&ledger, epoch).await;
    assert_eq!(other.unwrap().answer, claim("z-1"));
    check(&ledger).await;
}

pub async fn a_cap_counts_accounts_of_all_pools(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let free = accounts("a", 5);
    want("r", "t", &free).limit(1).cap(2).ask(&ledger, epoch).await.unwrap();
    let azure = want("s", "t", &accounts("z", 5)).limit(1).cap(2).in_pool(pool("azure"));
    assert_eq!(azure.ask(&ledger, epoch).await.unwrap().answer, claim("z-1"));
    let third = want("u", "t", &free).limit(1).cap(2).ask(&ledger, epoch).await.unwrap();
    let lack = Lack::CapReached { tenant: tenant("t"), held: 2, cap: 2 };
    assert_eq!(third.answer, Answer::Wait(1, lack));
    let raised = want("u", "t", &free).limit(1).cap(3).ask(&ledger, epoch).await.unwrap();
    assert_eq!(raised.answer, claim("a-2"));
    check(&ledger).await;
}

pub async fn what_the_ledger_knows_is_not_free(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let all = accounts("a", 40);
    let learn = async |name: &str, learned: Learned| {
        ledger.learn(epoch, &account(name), &pool("aws"), None, &learned, "seen", now()).await.unwrap();
    };
    // From outside all look free. More of them than one statement asks about are not.
    for taken in &all[..36] {
        learn(taken.as_str(), Learned::Adopted(tenant("other"))).await;
    }
    learn("a-37", Learned::Quarantined("403".to_owned())).await;
    learn("a-38", Learned::BecameDirty(None)).await;
    // A shared account is nobody's, and is not free while somebody is in it.
    let in_shared = want("s", "", &[account("a-39")]).in_pool(shared("aws"));
    assert_eq!(in_shared.ask(&ledger, epoch).await.unwrap().answer, reuse("a-39"));
    assert_eq!(want("r", "t", &all).ask(&ledger, epoch).await.unwrap().answer, claim("a-40"));
    check(&ledger).await;
}

pub async fn confirm_is_idempotent_and_strict(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    want("r", "t", &accounts("a", 1)).ask(&ledger, epoch).await.unwrap();
    let confirm = async |of: &str| ledger.confirm(epoch, &account("a-1"), &tenant(of), now()).await;
    assert_eq!(confirm("other").await.unwrap_err().category(), "refused");
    confirm("t").await.unwrap();
    let seen = version(&ledger, "a-1").await;
    confirm("t").await.unwrap();
    assert_eq!(version(&ledger, "a-1").await, seen, "nothing is written twice");
    ledger.release(epoch, &request("r").uid, DRAIN, "gone", now()).await.unwrap();
    let error = confirm("t").await.unwrap_err();
    assert!(error.to_string().contains("the ledger says: draining by t"), "{error}");
    let unknown = ledger.confirm(epoch, &account("none"), &tenant("t"), now()).await;
    assert_eq!(unknown.unwrap_err().category(), "refused");
}

pub async fn a_lost_claim_gives_back_its_requests(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let free = accounts("a", 2);
    for uid in ["r", "s"] {
        want(uid, "t", &free).ask(&ledger, epoch).await.unwrap();
    }
    let found = Holding::Claimed(tenant("outsider"));
    let lose = async |found: &Holding| {
        ledger.lose(epoch, &account("a-1"), &tenant("t"), found, "labelled by others", now()).await
    };
    let mine = lose(&Holding::Claimed(tenant("t"))).await;
    assert_eq!(mine.unwrap_err().category(), "refused", "that is no loss");
    assert_eq!(lose(&found).await.unwrap(), [request("r"), request("s")]);
    assert_eq!(holding(&ledger, "a-1").await, Some(found.clone()));
    assert_eq!(lose(&found).await.unwrap(), [], "a second time changes nothing");
    assert_eq!(lose(&Holding::Free).await.unwrap_err().category(), "refused");
    assert_eq!(want("r", "t", &free).ask(&ledger, epoch).await.unwrap().answer, claim("a-2"));
    ledger.confirm(epoch, &account("a-2"), &tenant("t"), now()).await.unwrap();
    let confirmed = ledger.lose(epoch, &account("a-2"), &tenant("t"), &Holding::Free, "", now()).await;
    assert_eq!(confirmed.unwrap_err().category(), "refused", "only a claim can be lost");
    check(&ledger).await;
}

pub async fn release_empties_keeps_and_leaves(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let release = async |uid: &str, left: Left| {
        ledger.release(epoch, &request(uid).uid, left, "deleted", now()).await.unwrap()
    };
    let kept = |clusters_left| Released::Kept { account: account("a-1"), clusters_left };
    assert_eq!(release("r", DRAIN).await, Released::NotHeld);
    want("q", "t", &[]).ask(&ledger, epoch).await.unwrap();
    assert_eq!(release("q", DRAIN).await, Released::Queued);
    assert_eq!(release("q", DRAIN).await, Released::NotHeld);

    let free = accounts("a", 2);
    for uid in ["r", "s", "u"] {
        want(uid, "t", &free).ask(&ledger, epoch).await.unwrap();
    }
    assert_eq!(release("r", DRAIN).await, kept(2));
    assert_eq!(release("s", Left { foreign: 2, drain: true }).await, kept(3));
    assert_eq!(release("u", Left { foreign: 2, drain: true }).await, kept(2));
    assert!(ledger.account(&account("a-1")).await.unwrap().unwrap().leaving);
    // A new cluster of the tenant keeps it.
    assert_eq!(want("v", "t", &free).ask(&ledger, epoch).await.unwrap().answer, reuse("a-1"));
    assert!(!ledger.account(&account("a-1")).await.unwrap().unwrap().leaving);
    assert_eq!(release("v", Left { foreign: 0, drain: false }).await, kept(0));
    assert_eq!(holding(&ledger, "a-1").await, Some(Holding::Claiming(tenant("t"))));
    want("w", "t", &free).ask(&ledger, epoch).await.unwrap();
    assert_eq!(release("w", DRAIN).await, Released::Emptied { account: account("a-1") });
    assert_eq!(holding(&ledger, "a-1").await, Some(Holding::Draining(tenant("t"))));
    // Draining accounts are never taken back.
    assert_eq!(want("x", "t", &free).ask(&ledger, epoch).await.unwrap().answer, claim("a-2"));
    check(&ledger).await;
}

pub async fn learning_compares_versions(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let learn = async |expected, learned: Learned| {
        ledger.learn(epoch, &account("a-1"), &pool("aws"), expected, &learned, "seen", now()).await
    };
    let changed = Err(LedgerError::Changed { account: account("a-1") });
    assert_eq!(learn(Some(1), Learned::Freed).await, changed, "there is no row");
    learn(None, Learned::Adopted(tenant("t"))).await.unwrap();
    assert_eq!(learn(None, Learned::Adopted(tenant("t"))).await, changed);
    let first = version(&ledger, "a-1").await;
    want("r", "t", &[]).ask(&ledger, epoch).await.unwrap();
    let second = version(&ledger, "a-1").await;
    assert_ne!(first, second, "an assignment changes the version");
    assert_eq!(learn(first, Learned::BeginDrain).await, changed);
    ledger.release(epoch, &request("r").uid, Left { foreign: 1, drain: true }, "", now()).await.unwrap();
    assert_eq!(learn(second, Learned::BeginDrain).await, changed);
    for (learned, expected) in [
        (Learned::BeginDrain, Some(Holding::Draining(tenant("t")))),
        (Learned::BecameDirty(Some(tenant("t"))), Some(Holding::Dirty(Some(tenant("t"))))),
        (Learned::Freed, Some(Holding::Free)),
        (Learned::Adopted(tenant("u")), Some(Holding::Claimed(tenant("u")))),
        (Learned::Retired, None),
    ] {
        let seen = version(&ledger, "a-1").await;
        learn(seen, learned.clone()).await.unwrap();
        assert_eq!(holding(&ledger, "a-1").await, expected, "{learned:?}");
        assert_eq!(learn(seen, learned).await, changed);
    }
    learn(None, Learned::Retired).await.unwrap();
    learn(None, Learned::Lifted).await.unwrap();
    learn(None, Learned::Freed).await.unwrap();
    assert_eq!(version(&ledger, "a-1").await, None, "what is free without a row gets none");
    learn(None, Learned::Adopted(tenant("u"))).await.unwrap();
    assert!(version(&ledger, "a-1").await > second, "versions do not come back");
}

pub async fn learning_respects_assignments(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    want("r", "t", &accounts("a", 1)).ask(&ledger, epoch).await.unwrap();
    let seen = version(&ledger, "a-1").await;
    let learn = async |to: &PoolKey, learned: Learned| {
        let learned = ledger.learn(epoch, &account("a-1"), to, seen, &learned, "seen", now()).await;
        learned.unwrap_err().category()
    };
    let aws = pool("aws");
    assert_eq!(learn(&aws, Learned::Freed).await, "occupied");
    assert_eq!(learn(&aws, Learned::BeginDrain).await, "occupied");
    assert_eq!(learn(&aws, Learned::Retired).await, "occupied");
    assert_eq!(learn(&aws, Learned::BecameDirty(None)).await, "occupied");
    assert_eq!(learn(&shared("aws"), Learned::Repooled).await, "occupied");
    assert_eq!(learn(&aws, Learned::Adopted(tenant("other"))).await, "refused");
    assert_eq!(learn(&shared("aws"), Learned::Adopted(tenant("t"))).await, "refused");
    check(&ledger).await;
}

pub async fn learning_quarantine_and_pools(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let free = accounts("a", 1);
    want("r", "t", &free).one().ask(&ledger, epoch).await.unwrap();
    let learn = async |to: &PoolKey, learned: Learned| {
        let seen = version(&ledger, "a-1").await;
        ledger.learn(epoch, &account("a-1"), to, seen, &learned, "seen", now()).await.unwrap();
    };
    learn(&pool("aws"), Learned::Quarantined("401 from AWS".to_owned())).await;
    let broken = want("s", "t", &free).one().ask(&ledger, epoch).await.unwrap().answer;
    assert_eq!(broken, Answer::Wait(1, Lack::Quarantined { tenant: tenant("t"), account: account("a-1") }));
    let seen = ledger.account(&account("a-1")).await.unwrap().unwrap();
    assert_eq!(seen.quarantine.as_deref(), Some("401 from AWS"));
    learn(&pool("aws"), Learned::Quarantined("401 from AWS".to_owned())).await;
    assert_eq!(version(&ledger, "a-1").await, Some(seen.version), "the same again is no change");
    learn(&pool("aws"), Learned::Lifted).await;
    assert_eq!(want("s", "t", &free).one().ask(&ledger, epoch).await.unwrap().answer, reuse("a-1"));

    // A used account may change its type or EU access: it stays the tenant's, and counts in its new pool.
    learn(&pool("aws_eu"), Learned::Repooled).await;
    let waits = want("u", "t", &[]).one().ask(&ledger, epoch).await.unwrap().answer;
    assert_eq!(position(&waits), 1);
    let there = want("u", "t", &[]).one().in_pool(pool("aws_eu")).ask(&ledger, epoch).await.unwrap().answer;
    assert_eq!(there, reuse("a-1"));
    check(&ledger).await;
}

pub async fn healing_assigns_what_is_proven(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let proven = |uid: &str, of: Option<&str>, at: &str| Assignment {
        request: request(uid),
        tenant: of.map(tenant),
        account: account(at),
        pool: if of.is_some() { pool("aws") } else { shared("aws") },
        cluster: None,
        since: "2020-01-02T03:04:05Z".parse().unwrap(),
    };
    let assign = async |assignment: &Assignment| ledger.assign(epoch, assignment, "rebuilt", now()).await;
    let refused = |outcome: Result<(), LedgerError>| assert_eq!(outcome.unwrap_err().category(), "refused");
    want("r", "t", &[]).ask(&ledger, epoch).await.unwrap();
    let first = proven("r", Some("t"), "a-1");
    assign(&first).await.unwrap();
    assert_eq!(holding(&ledger, "a-1").await, Some(Holding::Claimed(tenant("t"))));
    assert_eq!(ledger.assignment(&request("r").uid).await.unwrap(), Some(first.clone()));
    assert_eq!(ledger.queues().await.unwrap(), [], "it does not wait any more");
    let seen = version(&ledger, "a-1").await;
    assign(&first).await.unwrap();
    assert_eq!(version(&ledger, "a-1").await, seen, "a second time changes nothing");
    // A limit does not undo what is there.
    for uid in ["s", "u", "v", "w"] {
        assign(&proven(uid, Some("t"), "a-1")).await.unwrap();
    }
    refused(assign(&proven("r", Some("t"), "a-2")).await);
    refused(assign(&proven("x", Some("other"), "a-1")).await);
    refused(assign(&proven("x", None, "a-1")).await);
    assign(&proven("x", None, "s-1")).await.unwrap();
    refused(assign(&proven("y", Some("t"), "s-1")).await);
    let dirty = Learned::BecameDirty(None);
    ledger.learn(epoch, &account("d-1"), &pool("aws"), None, &dirty, "", now()).await.unwrap();
    refused(assign(&proven("z", Some("t"), "d-1")).await);
    check(&ledger).await;
}

pub async fn clear_keeps_history_and_identity(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let before = ledger.identity().await.unwrap().uuid;
    want("r", "t", &accounts("a", 1)).ask(&ledger, epoch).await.unwrap();
    want("q", "other", &[]).ask(&ledger, epoch).await.unwrap();
    ledger.clear(epoch, "ledger rebuild", now()).await.unwrap();
    let after = ledger.identity().await.unwrap();
    assert_eq!((after.uuid, after.epoch), (before, epoch));
    assert!(!after.is_empty, "a rebuild is under way, and that is no first start");
    assert_eq!(check(&ledger).await, allotment_core::check::Books::default());
    let events: Vec<Event> =
        ledger.history(About::Everything, 100).await.unwrap().iter().map(|entry| entry.event).collect();
    assert_eq!(events, [Event::Led, Event::Claimed, Event::Assigned, Event::Queued, Event::Rebuilt]);
    assert_eq!(want("r", "t", &accounts("a", 1)).ask(&ledger, epoch).await.unwrap().answer, claim("a-1"));
}

pub async fn places_do_not_mix(bench: Bench) {
    let (here, epoch) = bench.lead().await;
    want("r", "t", &accounts("a", 1)).ask(&here, epoch).await.unwrap();
    want("q", "u", &[]).ask(&here, epoch).await.unwrap();
    for (garden, project) in [("live", "garden-other"), ("canary", "garden-kyma")] {
        let place = Place { garden: garden.to_owned(), project: project.to_owned() };
        let there = here.at(place);
        assert_eq!(there.identity().await.unwrap().uuid, here.identity().await.unwrap().uuid);
        assert_eq!(there.identity().await.unwrap().epoch, Epoch(0));
        let epoch = there.lead("them", "a term", now()).await.unwrap();
        assert!(there.identity().await.unwrap().is_empty);
        let theirs = want("r", "t", &accounts("a", 1)).ask(&there, epoch).await.unwrap();
        assert_eq!(theirs.answer, claim("a-1"));
        let first = want("q", "u", &[]).ask(&there, epoch).await.unwrap();
        assert_eq!(position(&first.answer), 1);
        there.clear(epoch, "", now()).await.unwrap();
    }
    assert_eq!(check(&here).await.seats.len(), 1);
}

pub async fn history_tells_who_did_what_and_why(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    want("r", "t", &accounts("a", 1)).ask(&ledger, epoch).await.unwrap();
    ledger.confirm(epoch, &account("a-1"), &tenant("t"), now()).await.unwrap();
    ledger.release(epoch, &request("r").uid, DRAIN, "the cluster is gone", now()).await.unwrap();
    let entries = ledger.history(About::Account(&account("a-1")), 100).await.unwrap();
    let events: Vec<&str> = entries.iter().map(|entry| entry.event.as_str()).collect();
    assert_eq!(events, ["claimed", "assigned", "confirmed", "released", "draining"]);
    let released = &entries[3];
    assert_eq!(released.by, "me");
    assert_eq!(released.because, "the cluster is gone");
    assert_eq!(released.request.as_deref(), Some("ns/name-of-r"));
    assert_eq!((released.at, released.epoch), (now(), epoch));
    assert_eq!(
        (released.tenant.clone(), released.account.clone()),
        (Some(tenant("t")), Some(account("a-1")))
    );
    let of_request = ledger.history(About::Request(&request("r").uid), 100).await.unwrap();
    assert_eq!(of_request, [entries[1].clone(), entries[3].clone()]);
    assert_eq!(ledger.history(About::Everything, 2).await.unwrap(), entries[3..]);
}
