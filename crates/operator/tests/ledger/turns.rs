//! Whose turn it is, and what is shared.

use crate::bench::{
    Bench, account, accounts, check, claim, foreign, now, pool, position, request, reuse, shared, tenant,
    want,
};
use allotment_core::pool::{Answer, Lack};
use allotment_operator::ledger::{About, Left, Released};

const DRAIN: Left = Left { foreign: 0, drain: true };

pub async fn queues_are_served_by_turns(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let ask = async |uid: &str, of: &str, free: &[_]| {
        want(uid, of, free).limit(1).ask(&ledger, epoch).await.unwrap().answer
    };
    for (uid, of, expected) in
        [("a1", "a", 1), ("a2", "a", 2), ("a3", "a", 3), ("b1", "b", 2), ("c1", "c", 3)]
    {
        assert_eq!(position(&ask(uid, of, &[]).await), expected, "{uid}");
    }
    let waiting = ledger.waiting(&pool("aws")).await.unwrap();
    let order: Vec<&str> = waiting.iter().map(|(waiting, ..)| waiting.request.as_str()).collect();
    assert_eq!(order, ["a1", "b1", "c1", "a2", "a3"]);
    assert_eq!((&waiting[1].1, waiting[1].2), (&request("b1"), now()));
    let queues = ledger.queues().await.unwrap();
    assert_eq!((queues.len(), &queues[0].pool, queues[0].length), (1, &pool("aws"), 5));
    assert_eq!(queues[0].oldest, now());

    // Asking again keeps the place.
    let entries = ledger.history(About::Everything, 100).await.unwrap().len();
    assert_eq!(position(&ask("a2", "a", &[]).await), 4);
    assert_eq!(ledger.history(About::Everything, 100).await.unwrap().len(), entries);

    let free = accounts("f", 5);
    for (uid, of, expected) in
        [("a1", "a", "f-1"), ("b1", "b", "f-2"), ("c1", "c", "f-3"), ("a2", "a", "f-4")]
    {
        assert_eq!(ask(uid, of, &free).await, claim(expected), "{uid}");
    }
    assert_eq!(ledger.queues().await.unwrap()[0].length, 1);
    check(&ledger).await;
}

pub async fn nobody_is_overtaken(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    want("first", "a", &[]).ask(&ledger, epoch).await.unwrap();
    let one = accounts("f", 1);
    let late = want("late", "b", &one).ask(&ledger, epoch).await.unwrap().answer;
    assert_eq!(late, Answer::Wait(2, Lack::PoolExhausted { pool: pool("aws"), spoken_for: 1 }));
    // With enough for both, the second need not wait for the first to come back.
    let two = accounts("f", 2);
    assert_eq!(want("late", "b", &two).ask(&ledger, epoch).await.unwrap().answer, claim("f-1"));
    assert_eq!(want("first", "a", &two).ask(&ledger, epoch).await.unwrap().answer, claim("f-2"));
    check(&ledger).await;
}

pub async fn a_request_that_changes_pool_changes_queue(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    want("r", "t", &[]).ask(&ledger, epoch).await.unwrap();
    want("r", "t", &[]).in_pool(pool("azure")).ask(&ledger, epoch).await.unwrap();
    assert_eq!(ledger.waiting(&pool("aws")).await.unwrap(), []);
    assert_eq!(ledger.waiting(&pool("azure")).await.unwrap().len(), 1);
    want("r", "", &[]).in_pool(shared("aws")).ask(&ledger, epoch).await.unwrap();
    assert_eq!(ledger.waiting(&pool("azure")).await.unwrap(), []);
    let waiting = ledger.waiting(&shared("aws")).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].0.tenant.as_str()), (1, ""));
    check(&ledger).await;
}

pub async fn shared_pools_use_the_least_used(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let all = accounts("s", 3);
    let mut ask = want("r", "", &all).in_pool(shared("aws"));
    ask.observed = foreign("s-1", 1);
    for (uid, expected) in [("1", "s-2"), ("2", "s-3"), ("3", "s-1"), ("4", "s-2")] {
        ask.request = request(uid);
        let reserved = ask.ask(&ledger, epoch).await.unwrap();
        assert_eq!((reserved.answer, reserved.confirmed), (reuse(expected), true), "{uid}");
    }
    let kept = ask.ask(&ledger, epoch).await.unwrap();
    assert_eq!((kept.answer, kept.confirmed), (Answer::Keep(account("s-2")), true));
    let released = ledger.release(epoch, &request("4").uid, DRAIN, "gone", now()).await.unwrap();
    assert_eq!(released, Released::Kept { account: account("s-2"), clusters_left: 1 });
    let released = ledger.release(epoch, &request("1").uid, DRAIN, "gone", now()).await.unwrap();
    assert_eq!(released, Released::Kept { account: account("s-2"), clusters_left: 0 });

    // Labels say shared, but the ledger knows a tenant: not used until the ledger agrees.
    want("d", "t", &accounts("d", 1)).ask(&ledger, epoch).await.unwrap();
    let ask = want("5", "", &accounts("d", 1)).in_pool(shared("aws"));
    let waits = ask.ask(&ledger, epoch).await.unwrap().answer;
    assert_eq!(waits, Answer::Wait(1, Lack::NothingShared { pool: shared("aws"), quarantined: 0 }));
    check(&ledger).await;
}

pub async fn a_tenant_that_was_served_goes_to_the_end_of_the_round(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let ask = async |uid: &str, of: &str, free: &[_]| {
        want(uid, of, free).limit(1).ask(&ledger, epoch).await.unwrap().answer
    };
    for (uid, of) in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("b2", "b")] {
        ask(uid, of, &[]).await;
    }
    let heads = async || {
        let heads = ledger.heads(&pool("aws"), 8).await.unwrap();
        heads.into_iter().map(|head| head.uid.to_string()).collect::<Vec<_>>()
    };
    // One account at a time: who asked a thousand times before does not get all of them.
    for (number, (uid, of)) in
        [("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b"), ("a3", "a")].iter().enumerate()
    {
        assert_eq!(heads().await.first().map(String::as_str), Some(*uid));
        let one = [account(&format!("f-{number}"))];
        assert_eq!(ask(uid, of, &one).await, claim(one[0].as_str()), "{uid}");
    }
    assert!(heads().await.is_empty());
    check(&ledger).await;
}

pub async fn the_place_of_a_request_that_leaves_is_its_tenants(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    for (uid, of) in [("a1", "a"), ("a2", "a"), ("b1", "b")] {
        want(uid, of, &[]).limit(1).ask(&ledger, epoch).await.unwrap();
    }
    assert!(ledger.withdraw(epoch, &request("a1").uid, "gone", now()).await.unwrap());
    let heads = ledger.heads(&pool("aws"), 8).await.unwrap();
    assert_eq!(heads, [request("a2"), request("b1")]);
    assert_eq!(ledger.first_of(&pool("aws"), &tenant("a")).await.unwrap(), Some(request("a2")));
    assert_eq!(ledger.first_of(&pool("aws"), &tenant("c")).await.unwrap(), None);
    check(&ledger).await;
}

pub async fn who_may_not_queue_gets_what_is_there_and_no_place(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let ask = async |uid: &str, free: &[_]| {
        let mut want = want(uid, uid, free);
        want.may_queue = false;
        want.ask(&ledger, epoch).await.unwrap()
    };
    let refused = ask("a", &[]).await;
    assert_eq!((position(&refused.answer), refused.queued), (1, false));
    assert_eq!(ledger.queues().await.unwrap(), []);
    assert_eq!(ask("a", &accounts("f", 1)).await.answer, claim("f-1"));
    // A place that it has stays its own.
    assert!(want("b", "b", &[]).ask(&ledger, epoch).await.unwrap().queued);
    assert!(ask("b", &[]).await.queued);
    check(&ledger).await;
}

pub async fn a_long_queue_costs_no_more_than_a_short_one(bench: Bench) {
    let (ledger, epoch) = bench.lead().await;
    let ask = async |uid: &str, of: &str| want(uid, of, &[]).limit(1).ask(&ledger, epoch).await.unwrap();
    // One tenant with many requests, and many tenants with one each.
    for number in 0..100 {
        ask(&format!("one-{number}"), "loud").await;
        ask(&format!("many-{number}"), &format!("t{number}")).await;
    }
    let effort = async |uid: &str, of: &str| {
        let before = ledger.effort();
        let answer = ask(uid, of).await.answer;
        (ledger.effort().since(before), answer)
    };
    let (early, answer) = effort("early", "new-1").await;
    assert_eq!(position(&answer), 201, "about as many as there are");
    let (early_of_loud, _) = effort("early-of-loud", "loud").await;
    for number in 100..1_000 {
        ask(&format!("one-{number}"), "loud").await;
        ask(&format!("many-{number}"), &format!("t{number}")).await;
    }
    let (late, answer) = effort("late", "new-2").await;
    assert_eq!(position(&answer), 2101, "rounded up");
    let (late_of_loud, _) = effort("late-of-loud", "loud").await;
    for (early, late) in [(early, late), (early_of_loud, late_of_loud)] {
        // The first ones make the lock rows that tenants share.
        assert!(late.statements <= early.statements, "{early:?} {late:?}");
        assert_eq!(late.rows, early.rows);
        assert!(late.steps <= early.steps + early.steps / 2, "{early:?} {late:?}");
    }
    assert_eq!(ledger.first_in_line(&pool("aws")).await.unwrap().len(), 32);
    assert_eq!(ledger.queued().await.unwrap().len(), 2_004);
}
