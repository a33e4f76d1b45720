//! The way of an account from dirty to free, and all that keeps it.

use super::*;
use crate::pool::AccountName;

fn facts() -> AccountFacts {
    AccountFacts {
        dirty: true,
        shared: false,
        internal: false,
        quarantine: None,
        shoots: 0,
        assignments: 0,
        used_by: Vec::new(),
        unidentified: Vec::new(),
        cloud: Ok(Cloud::Aws),
        identity: Identity { recorded: Some(account()), reported: Some(Ok(account())), unusable: None },
    }
}

fn observed() -> Observed {
    Observed {
        mode: Mode::Delete,
        facts: facts(),
        record: Some(Record::new(at(0))),
        evidence: Evidence::None,
        fleet: Fleet::default(),
        limits: GuardLimits::default(),
        timing: Timing::default(),
    }
}

fn listed(found: &[Item], seconds: i64, refused: Vec<RefusedItem>) -> Evidence {
    let plan = Box::new(plan(&aws(found), &Keep::default(), None));
    Evidence::Listed { plan, at: at(seconds), refused: Some(refused) }
}

fn stuck_code(step: &Step) -> &str {
    match &step.action {
        Action::Stick(stuck) => &stuck.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_fact_against_it_keeps_an_account_untouched() {
    let cases: [(&str, AccountFacts); 7] = [
        ("shared", AccountFacts { shared: true, ..facts() }),
        ("internal", AccountFacts { internal: true, ..facts() }),
        ("quarantine", AccountFacts { quarantine: Some("by hand".to_owned()), ..facts() }),
        ("1 Shoots", AccountFacts { shoots: 1, ..facts() }),
        ("2 requests", AccountFacts { assignments: 2, ..facts() }),
        ("same cloud account", AccountFacts { used_by: vec!["other".to_owned()], ..facts() }),
        (
            "may be the same cloud account",
            AccountFacts { unidentified: vec![("other".to_owned(), "no key".to_owned())], ..facts() },
        ),
    ];
    let evidence = listed(&[item("Volume", "vol-1", "")], 5, Vec::new());
    for (expected, facts) in cases {
        let step = decide(&Observed { facts, evidence: evidence.clone(), ..observed() }, at(10));
        let Action::Wait { because, .. } = &step.action else { panic!("{expected}: {step:?}") };
        assert!(because.contains(expected), "{because}");
    }
    let clean = AccountFacts { dirty: false, ..facts() };
    assert_eq!(decide(&Observed { facts: clean, evidence, ..observed() }, at(10)).action, Action::Forget);
}

#[test]
fn the_account_id_decides_before_anything_is_listed() {
    let step = |recorded: Option<CloudAccountId>, reported| {
        let facts = AccountFacts { identity: Identity { recorded, reported, unusable: None }, ..facts() };
        decide(&Observed { facts, ..observed() }, at(10))
    };
    assert_eq!(stuck_code(&step(None, None)), "AccountIdUnknown");
    assert_eq!(stuck_code(&step(None, Some(Ok(account())))), "AccountIdUnknown");
    assert_eq!(step(Some(account()), None).action, Action::Identify);
    assert_eq!(stuck_code(&step(Some(account()), Some(Ok(CloudAccountId::of("999"))))), "AccountIdDiffers");
    let denied = Refusal::Denied {
        code: "InvalidClientTokenId".to_owned(),
        action: "sts:GetCallerIdentity".to_owned(),
    };
    assert_eq!(stuck_code(&step(Some(account()), Some(Err(denied)))), "InvalidClientTokenId");
    let later = Refusal::Transient { why: "timeout".to_owned() };
    assert!(matches!(step(Some(account()), Some(Err(later))).action, Action::Wait { .. }));
    assert_eq!(step(Some(account()), Some(Ok(account()))).action, Action::List);
    let other = AccountFacts { cloud: "gdch".parse(), ..facts() };
    assert_eq!(stuck_code(&decide(&Observed { facts: other, ..observed() }, at(10))), "NotSupported");
}

#[test]
fn an_account_becomes_free_step_by_step() {
    let volume = [item("Volume", "vol-1", "state=available")];
    let mut now = observed();
    assert_eq!(decide(&now, at(0)), Step { stage: Stage::Listing, action: Action::List });
    now.evidence = listed(&volume, 5, Vec::new());
    let step = decide(&now, at(6));
    assert!(matches!(&step.action, Action::Delete(plan) if deleted(plan) == ["vol-1"]), "{step:?}");
    assert_eq!(step.stage, Stage::Deleting);
    now.evidence = Evidence::Deleted { at: at(10), refused: Vec::new() };
    assert!(matches!(decide(&now, at(11)).action, Action::Wait { until, .. } if until == at(30)));
    assert_eq!(decide(&now, at(30)).action, Action::List);
    now.evidence = listed(&[], 40, Vec::new());
    let step = decide(&now, at(41));
    assert_eq!(step.stage, Stage::Settling);
    assert!(matches!(step.action, Action::Wait { until, .. } if until == at(640)));
    assert_eq!(decide(&now, at(640)), Step { stage: Stage::Verifying, action: Action::Verify });
    let verdict = judge(&[], &Keep::default(), None, &zero(Cloud::Aws, at(1010)));
    now.evidence = Evidence::Verified { verdict, at: at(700) };
    assert!(matches!(decide(&now, at(701)), Step { stage: Stage::Free, action: Action::Free(_) }));
    assert_eq!(decide(&now, at(1001)).action, Action::List, "a proof does not keep");
}

#[test]
fn without_the_mode_delete_nothing_is_deleted_or_freed() {
    let evidence = listed(&[item("Volume", "vol-1", "")], 5, Vec::new());
    let verdict = judge(&[], &Keep::default(), None, &zero(Cloud::Aws, at(1010)));
    let verified = Evidence::Verified { verdict, at: at(5) };
    for evidence in [evidence, verified] {
        let step = decide(&Observed { mode: Mode::Plan, evidence: evidence.clone(), ..observed() }, at(6));
        assert!(matches!(step.action, Action::Report(_)), "{step:?}");
        let step = decide(&Observed { mode: Mode::Off, evidence, ..observed() }, at(6));
        assert!(matches!(step.action, Action::Ignore(_)), "{step:?}");
    }
    assert_eq!(Mode::default(), Mode::Plan);
}

#[test]
fn passes_that_change_nothing_make_it_stuck_with_the_item_the_code_and_the_remedy() {
    let found = [item("SecurityGroup", "sg-1", "name=a"), item("Volume", "vol-1", "")];
    let refusal = Refusal::Blocked { code: "DependencyViolation".to_owned(), by: "eni-1".to_owned() };
    let refused = vec![RefusedItem { key: found[0].key(), refusal }];
    let evidence = listed(&found, 5, refused);
    let Evidence::Listed { plan, .. } = &evidence else { panic!() };
    let mut record = Record::new(at(0));
    for _ in 0..100 {
        record = record.listed(plan, &Evidence::None);
    }
    assert_eq!(
        record.progress.unchanged, 0,
        "whoever is killed before it deletes anything has tried nothing"
    );
    let deleted = Evidence::Deleted { at: at(4), refused: Vec::new() };
    let mut passes = 0;
    let stuck = loop {
        record = record.listed(plan, if passes == 0 { &Evidence::None } else { &deleted });
        let now = Observed { record: Some(record.clone()), evidence: evidence.clone(), ..observed() };
        match decide(&now, at(6)).action {
            Action::Delete(_) => passes += 1,
            Action::Stick(stuck) => break stuck,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(passes, 15);
    assert_eq!(stuck.item.as_ref().unwrap().id.as_str(), "sg-1");
    assert_eq!(
        stuck.to_string(),
        "DependencyViolation: SecurityGroup sg-1 in eu-1: blocked (DependencyViolation): eni-1; \
         1 more items are left; delete the blocker, or name both in the keep list"
    );
    let late = Observed { evidence: listed(&found, 22_000, Vec::new()), ..observed() };
    assert_eq!(stuck_code(&decide(&late, at(22_001))), "NotGone", "the deadline");
}

#[test]
fn after_a_restart_it_is_tried_again_before_a_person_is_told() {
    let found = [item("Volume", "vol-1", "")];
    let plan = Box::new(plan(&aws(&found), &Keep::default(), None));
    let mut record = Record::new(at(0));
    record.progress.unchanged = 100;
    let evidence = Evidence::Listed { plan, at: at(5), refused: None };
    let now = Observed { record: Some(record), evidence, ..observed() };
    assert!(
        matches!(decide(&now, at(6)).action, Action::Delete(_)),
        "nothing was tried, so no reason is known"
    );
    assert!(
        matches!(decide(&now, at(22_001)).action, Action::Delete(_) | Action::List),
        "nor when it is late"
    );
}

#[test]
fn a_missing_permission_is_told_soon() {
    let found = [item("Volume", "vol-1", "")];
    let refusal =
        Refusal::Denied { code: "UnauthorizedOperation".to_owned(), action: "ec2:DeleteVolume".to_owned() };
    let refused = vec![RefusedItem { key: found[0].key(), refusal }];
    let mut record = Record::new(at(0));
    record.progress.unchanged = 2;
    let now = Observed { record: Some(record), evidence: listed(&found, 5, refused), ..observed() };
    assert_eq!(stuck_code(&decide(&now, at(6))), "UnauthorizedOperation");
}

#[test]
fn a_plan_reports_what_it_does_not_know() {
    let known = plan(&aws(&[item("Volume", "vol-1", "")]), &Keep::default(), None);
    assert_eq!(known.report(), "1 items would be deleted; cleanup.mode is plan");
    let mut unknown = known;
    unknown.waves.clear();
    unknown.unknown.push(crate::cleanup::UnknownCell {
        place: Place::of("eu-1"),
        kind: None,
        because: "no answer".to_owned(),
        missing: None,
    });
    assert_eq!(
        unknown.report(),
        "0 items would be deleted, 1 kinds or regions could not be listed; cleanup.mode is plan"
    );
}

#[test]
fn the_blocker_is_named_where_the_cloud_does_not() {
    let found = [item("Subnet", "subnet-1", "network=vpc-1 cluster=a"), item("Vpc", "vpc-1", "")];
    let refusal =
        Refusal::Blocked { code: "DependencyViolation".to_owned(), by: "vpc-1 has dependencies".to_owned() };
    let refused = [RefusedItem { key: found[1].key(), refusal }];
    let stuck = Stuck::by_plan(&plan(&aws(&found), &Keep::default(), None), &refused).unwrap();
    assert_eq!(stuck.blocked_by.as_deref(), Some("Subnet subnet-1"));
}

#[test]
fn a_reason_that_lasts_is_told_before_those_that_follow_from_it() {
    let found = [item("Instance", "i-1", ""), item("Vpc", "vpc-1", "")];
    let refused = |number: usize, refusal| RefusedItem { key: found[number].key(), refusal };
    let blocked = Refusal::Blocked { code: "DependencyViolation".to_owned(), by: String::new() };
    let denied = Refusal::Denied { code: "AccessDenied".to_owned(), action: "ec2:DeleteVpc".to_owned() };
    let unknown = |missing: Option<&str>| crate::cleanup::UnknownCell {
        place: Place::of("eu-1"),
        kind: Some(KindName::of("Subnet")),
        because: "no answer".to_owned(),
        missing: missing.map(str::to_owned),
    };
    let mut left = plan(&aws(&found), &Keep::default(), None);
    let told = |plan: &Plan, refused: &[RefusedItem]| Stuck::by_plan(plan, refused).unwrap();
    let follows = [refused(0, blocked.clone()), refused(1, blocked.clone())];
    left.unknown = vec![unknown(None)];
    assert_eq!(told(&left, &follows).code, "DependencyViolation", "another listing may know");
    assert_eq!(told(&left, &follows[1..]).item, Some(found[1].key()), "nothing waits for the machine");
    let interface = item("NetworkInterface", "eni-1", "holder=i-1");
    let (because, remedy) = ("it goes with its holder".to_owned(), String::new());
    left.leaving.push(Immovable { item: interface, because, remedy });
    let accepted = told(&left, &follows[1..]);
    assert_eq!((accepted.code.as_str(), accepted.item), ("NotGone", Some(found[0].key())));
    assert_eq!(told(&left, &follows).code, "DependencyViolation", "it was refused");
    left.unknown.push(unknown(Some("ec2:DescribeSubnets")));
    let stuck = told(&left, &follows);
    assert!(stuck.remedy.starts_with("grant ec2:DescribeSubnets"), "{stuck}");
    assert_eq!(stuck.others, 3);
    let paid = item("Instance", "i-2", "");
    let immovable = |item: Item, because: String| Immovable { item, because, remedy: String::new() };
    let of_paid = format!("it is not clear whether {} stays", paid.key());
    left.immovable.push(immovable(item("Volume", "vol-1", ""), of_paid));
    left.immovable.push(immovable(paid.clone(), "paid in advance".to_owned()));
    assert_eq!(told(&left, &follows).item, Some(paid.key()));
    let lasts = [refused(0, blocked), refused(1, denied)];
    assert_eq!(told(&left, &lasts).code, "AccessDenied");
}

#[test]
fn a_stuck_account_is_tried_again_with_two_passes() {
    let timing = Timing::default();
    let stuck = Stuck::account("NotGone", "x", "y");
    let step = Step { stage: Stage::Stuck, action: Action::Stick(stuck.clone()) };
    let progress = Progress { unchanged: 20, ..Progress::default() };
    let record = Record { progress, ..Record::new(at(0)) }.enter(&step, &timing, at(100));
    assert_eq!((record.stage, record.stuck.as_ref()), (Stage::Stuck, Some(&stuck)));
    let evidence = listed(&[item("Volume", "vol-1", "")], 50, Vec::new());
    let now = Observed { record: Some(record.clone()), evidence, ..observed() };
    assert!(matches!(decide(&now, at(200)).action, Action::Wait { .. }));
    let step = decide(&now, at(1900));
    assert_eq!(step.action, Action::List, "old evidence does not make it stuck again");
    let record = record.enter(&step, &timing, at(1900));
    assert_eq!((record.progress.unchanged, record.attempt_at), (13, at(1900)));
    assert_eq!(record.stuck, None);
}

#[test]
fn an_account_that_a_gate_made_stuck_goes_on_once_the_gate_opens() {
    let unknown =
        AccountFacts { identity: Identity { recorded: None, reported: None, unusable: None }, ..facts() };
    let mut now = Observed { facts: unknown, ..observed() };
    let step = decide(&now, at(0));
    now.record = Some(Record::new(at(0)).enter(&step, &now.timing, at(0)));
    assert!(matches!(decide(&now, at(1)).action, Action::Wait { .. }), "one Event is enough");
    now.facts = facts();
    assert_eq!(decide(&now, at(2)).action, Action::List);
}

#[test]
fn what_cannot_be_listed_or_moved_makes_it_stuck_at_once() {
    let locked = with(empty(Cloud::OpenStack, at(0)), &[item("Server", "s", "lockedBy=admin")]);
    let mut blind = empty(Cloud::Aws, at(0));
    let denied = Cell::Unknown { because: "denied".to_owned(), missing: Some("iam:GetRole".to_owned()) };
    blind.fill(Place::GLOBAL, KindName::of("Role"), denied);
    for (inventory, code, text) in [(locked, "Immovable", "unlock"), (blind, "Unknown", "grant iam:GetRole")]
    {
        let plan = Box::new(plan(&inventory, &Keep::default(), None));
        let evidence = Evidence::Listed { plan, at: at(5), refused: Some(Vec::new()) };
        let step = decide(&Observed { evidence, ..observed() }, at(6));
        assert_eq!(stuck_code(&step), code);
        assert!(format!("{step:?}").contains(text), "{step:?}");
    }
}

#[test]
fn verdicts_other_than_empty_list_again_and_then_make_it_stuck() {
    let volume = [item("Volume", "vol-1", "")];
    let verdict = judge(&volume, &Keep::default(), None, &zero(Cloud::Aws, at(1010)));
    let mut record = Record::new(at(0));
    for disagreements in 1..=3 {
        record = record.verified(&verdict);
        let evidence = Evidence::Verified { verdict: verdict.clone(), at: at(5) };
        let step = decide(&Observed { record: Some(record.clone()), evidence, ..observed() }, at(6));
        match disagreements {
            3 => assert_eq!(stuck_code(&step), "Left"),
            _ => assert_eq!(step.action, Action::List),
        }
    }
}

#[test]
fn guards_stop_the_cleaning_once() {
    let name = |index: u32| AccountName::new(format!("account-{index}"));
    let stuck = |kind: &'static str| Stuck {
        item: Some(item(kind, "x", "").key()),
        ..Stuck::account("UnauthorizedOperation", "x", "y")
    };
    let same = |kinds: &[&'static str]| Fleet {
        stuck: (0..).zip(kinds).map(|(index, kind)| (name(index), stuck(kind))).collect(),
        pool: PoolDirt::default(),
    };
    let dirty = |recent: u32, accounts| Fleet {
        stuck: BTreeMap::new(),
        pool: PoolDirt { accounts, dirty_since: (0..recent).map(|index| (name(index), at(0))).collect() },
    };
    let cases = [
        (same(&["Vpc", "Vpc", "Volume"]), false),
        (same(&["Vpc", "Vpc", "Vpc"]), true),
        (dirty(2, 4), false),
        (dirty(3, 4), true),
        (dirty(20, 100), false),
        (dirty(21, 100), true),
    ];
    for (fleet, stops) in cases {
        let step = decide(&Observed { fleet: fleet.clone(), ..observed() }, at(60));
        assert_eq!(matches!(step.action, Action::Halt(_)), stops, "{fleet:?}");
        let step = decide(&Observed { fleet, mode: Mode::Plan, ..observed() }, at(60));
        assert_eq!(step.action, Action::List, "a plan harms nobody");
    }
    assert_eq!(halted(&dirty(21, 100), &GuardLimits::default(), at(3601)), None, "an hour later it goes on");
}
