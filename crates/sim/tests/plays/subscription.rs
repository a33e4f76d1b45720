//! The subscription operator.

use super::{find_nothing, finds, fine, replays, stays_mended};
use allotment_operator::planted::Planted;
use allotment_sim::stage::{Play, enumerate, run_planted, run_seed, shrink};

#[test]
fn a_seed_replays_one_run_exactly() {
    let hash = |seed| run_seed(Play::Subscription, seed, false).unwrap().hash;
    for seed in [3, 8] {
        assert_eq!(hash(seed), hash(seed), "seed {seed}");
        replays(Play::Subscription, seed);
    }
    assert_ne!(hash(3), hash(4));
}

#[test]
fn thirty_seeds_find_nothing() {
    find_nothing(Play::Subscription, 30);
}

#[test]
fn a_crash_at_any_write_loses_and_leaks_nothing() {
    let result = enumerate(Play::Subscription, 1, |_, _| ()).unwrap();
    result.failed.iter().for_each(fine);
    assert!(result.writes > 50, "{}", result.writes);
    assert_eq!(result.runs, 2 * result.writes + 1);
}

#[test]
fn planted_faults_are_found() {
    for (fault, seed, says) in [
        (Planted::TenantOutsideTheLock, 83, "may have one account, and has"),
        (Planted::LimitCountedThenWritten, 9, "clusters, 3 are allowed"),
        (Planted::ReleaseLooksOnlyAtShoots, 1, "which is draining by"),
        (Planted::BindingWithoutVersion, 60, "and was labelled for"),
        (Planted::FailedReadIsGone, 17, "which its request"),
        (Planted::ShootsOccupyNothing, 26, "clusters, 1 are allowed"),
        (Planted::SameCredentialsTwice, 81, "account atwin1 has 2 clusters"),
        (Planted::CapIgnored, 48, "holds 2 accounts, 1 are allowed"),
        (Planted::RecentUncounted, 1, "the ledger has lost entry"),
        (Planted::BoundBeforeFence, 2, "before the fence had entry"),
        (Planted::FenceWithoutVersion, 89, "by somebody who had not read it"),
        (Planted::OlderLedgerLeads, 19, "the epoch was raised, but"),
        (Planted::MissingFenceIsFirstStart, 14, "the epoch was raised, but"),
        (Planted::AnyLedgerLeads, 4, "the epoch was raised, but"),
        (Planted::AnyControlPlane, 18, "served for the control plane"),
        (Planted::ReturnUnseen, 107, "is deleted, and stays"),
        (Planted::BoundNeverCompared, 255, "the ledger none"),
        (Planted::EpochRaisedFirst, 4, "the epoch was raised, but"),
    ] {
        finds(Play::Subscription, fault, seed, says);
    }
}

/// What the simulation found in the operator, as small as it made it.
#[test]
fn what_was_found_stays_mended() {
    // A request is made anew while the ledger is asked: whoever looked for what the old one left behind came too early.
    let anew = "\
        world seed=1 tenants=1 dedicated=2 eu=0 shared=0 limit=1 several=1 cap=0 workers=2 latency=5 clean=5000 same-name=false calm=30000
        at 5000 ask request=r1 tenant=t1 want=own
        at 6000 renew request=r1
        fault 0 way-to-reserve 1 delay time=3000
        fault 1 way-to-reserve 1 delay time=3000";
    // Credentials are refused where enough are in quarantine: the account must go there once there is room.
    let room = "\
        world seed=776 tenants=3 dedicated=5 eu=1 shared=0 limit=3 several=0 cap=0 workers=1 latency=1 clean=10000 same-name=true calm=142000
        at 3107 quarantine account=a1
        at 3497 ask request=r8 tenant=t3 want=plan
        at 75840 refuse account=a2
        at 133722 label account=a1 key=internal value=true";
    // The same, and until then its claim must go on.
    let claim = "\
        world seed=1533 tenants=1 dedicated=2 eu=1 shared=2 limit=1 several=1 cap=0 workers=2 latency=100 clean=18000 same-name=false calm=43000
        at 200 ask request=r1 tenant=t1 want=own
        at 818 ask request=r3 tenant=t1 want=plan
        at 890 pause replica=1 time=46000
        at 902 delete request=r3
        at 18263 kill replica=0
        at 33858 quarantine account=a1
        at 37932 grow account=a2 shoot=f3
        at 38967 refuse account=a2
        fault 0 read-an-account 1 refuse code=429
        fault 0 read-an-account 2 hang-before
        fault 0 reserve 1 refuse code=503";
    // The only request leaves an account before its claim is confirmed, and a Shoot of somebody else keeps it.
    let left = "\
        world calm=145000 cap=0 clean=22000 dedicated=3 eu=2 latency=5 limit=1 same-name=false seed=593 several=4 shared=1 tenants=4 used=1 workers=3
        at 200 take account=a2 tenant=x2
        at 3770 label account=a1 key=tenantName value=x1
        at 11270 ask request=r7 tenant=t3 want=own
        at 12651 ask request=r8 tenant=t3 want=trial
        at 13009 ask request=r9 tenant=t4 want=trial
        at 13009 ask request=r10 tenant=t1 want=own
        at 21366 delete request=r10
        at 45884 pause replica=1 time=21000
        at 55080 grow account=a3 shoot=f1
        at 58565 delete request=r7
        fault 0 way-to-confirm 1 refuse code=409
        fault 1 lead 3 refuse code=503
        fault 1 list-entries 2 refuse code=409
        fault 1 list-entries 3 stale back=11
        fault 1 list-others 1 delay time=810
        fault 1 read-identity 2 delay time=2203
        fault 1 read-the-accounts 2 refuse code=429
        fault 1 read-version 2 refuse code=504
        fault 1 watch-shoots 2 refuse code=500
        fault 1 way-to-confirm 2 delay time=2916
        fault 1 way-to-learn 1 refuse code=429";
    // Somebody deletes the fence, and a leader reads the ledger between the two halves of a rebuild: that is no first start.
    let rebuilt = "\
        world calm=98000 cap=0 clean=23000 dedicated=6 eu=2 latency=400 limit=1 same-name=false seed=1064 several=3 shared=1 tenants=3 workers=1
        at 1675 ask request=r3 tenant=t2 want=eu
        at 1967 take account=a2 tenant=x2
        at 4363 take account=a4 tenant=t1
        at 6566 ask request=r13 tenant=t2 want=own
        at 8005 ask request=r14 tenant=t2 want=plan
        at 11570 take account=e2 tenant=x1
        at 14567 delete request=r13
        at 19452 delete request=r3
        at 19980 take account=a1 tenant=x2
        at 20371 delete request=r14
        at 26952 take account=a6 tenant=x2
        at 25046 fence edit=delete
        fault 1 compare-the-last-entries 1 hang-before
        fault 1 list-entries 1 delay time=1433
        fault 1 look-for-shoot 1 hang-before
        fault 1 way-to-withdraw 1 delay time=3884";
    [anew, room, claim, left, rebuilt].into_iter().for_each(stays_mended);
}

#[test]
fn a_failing_run_is_made_small() {
    let failing = run_planted(Play::Subscription, 1, Planted::ReleaseLooksOnlyAtShoots).unwrap();
    let shrunk = shrink(&failing, 40).unwrap();
    assert!(shrunk.after < shrunk.before / 2, "{} of {}", shrunk.after, shrunk.before);
    assert!(!shrunk.run.violations.is_empty() && !shrunk.run.lines.is_empty());
}
