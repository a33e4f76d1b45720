use super::*;
use crate::pool::{LabelKeys, PoolKey};

fn name(account: &str) -> AccountName {
    AccountName::new(account)
}

fn pool(shared: bool) -> PoolKey {
    PoolKey { hyperscaler_type: "aws".to_owned(), shared, eu_access: false }
}

/// An entry with these labels beside its type.
fn entry(labels: &[(&str, &str)]) -> Entry {
    let labels = labels.iter().chain(&[("hyperscalerType", "aws")]);
    let labels = labels.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Entry::read(&labels, None, &LabelKeys::default())
}

fn row(holding: Holding, assignments: u32) -> Row {
    Row { pool: pool(false), holding, leaving: false, quarantine: None, assignments }
}

fn t() -> Tenant {
    Tenant::new("t")
}

fn seat(request: &str, account: &str) -> Seat {
    Seat { request: RequestUid::new(request), tenant: Some(t()), account: name(account) }
}

fn asked(phase: Phase, account: Option<&str>) -> Asked {
    Asked {
        name: "n/r".to_owned(),
        phase: Some(phase),
        account: account.map(name),
        tenant: account.map(|_| t()),
    }
}

fn shoot(request: Option<&str>) -> Grown {
    Grown { name: "s".to_owned(), account: name("a"), request: request.map(RequestUid::new) }
}

/// One account `a`, claimed by `t`, with request `r` and its Shoot in it.
fn agreed() -> Sides {
    Sides {
        entries: BTreeMap::from([(name("a"), entry(&[("tenantName", "t")]))]),
        rows: BTreeMap::from([(name("a"), row(Holding::Claimed(t()), 1))]),
        seats: vec![seat("r", "a")],
        waiting: Vec::new(),
        awaits_leader: false,
        requests: BTreeMap::from([(RequestUid::new("r"), asked(Phase::Bound, Some("a")))]),
        shoots: vec![shoot(Some("r"))],
        not_ready: Vec::new(),
    }
}

/// The codes of what is found after a change.
fn after(change: impl FnOnce(&mut Sides)) -> Vec<&'static str> {
    let mut sides = agreed();
    change(&mut sides);
    compare(&sides).disagreements.iter().map(|found| found.code.as_str()).collect()
}

fn set(sides: &mut Sides, labels: &[(&str, &str)], holding: Holding) {
    sides.entries.insert(name("a"), entry(labels));
    sides.rows.insert(name("a"), row(holding, 1));
}

/// An account that nobody is in.
fn empty(sides: &mut Sides, labels: &[(&str, &str)], holding: Holding) {
    *sides = Sides::default();
    sides.entries.insert(name("a"), entry(labels));
    sides.rows.insert(name("a"), row(holding, 0));
}

#[test]
fn who_agrees_is_left_alone() {
    assert_eq!(compare(&agreed()), Compared::default());
    assert_eq!(compare(&Sides::default()), Compared::default());
}

#[test]
fn what_is_being_written_is_no_disagreement() {
    let nothing: [&str; 0] = [];
    assert_eq!(after(|sides| set(sides, &[], Holding::Claiming(t()))), nothing);
    assert_eq!(after(|sides| empty(sides, &[("tenantName", "t")], Holding::Draining(t()))), nothing);
    assert_eq!(
        after(|sides| empty(sides, &[("tenantName", "t"), ("dirty", "true")], Holding::Dirty(None))),
        nothing
    );
    let publishing = |sides: &mut Sides| {
        sides.requests.insert(RequestUid::new("r"), asked(Phase::Pending, None));
    };
    assert_eq!(after(publishing), nothing);
    let given_back = |sides: &mut Sides| {
        *sides = Sides {
            requests: BTreeMap::from([(RequestUid::new("r"), asked(Phase::Releasing, Some("a")))]),
            ..Sides::default()
        };
    };
    assert_eq!(after(given_back), nothing);
}

#[test]
fn labels_against_the_ledger() {
    assert_eq!(after(|sides| set(sides, &[("tenantName", "u")], Holding::Claimed(t()))), ["tenant"]);
    assert_eq!(after(|sides| set(sides, &[], Holding::Claimed(t()))), ["tenant"]);
    assert_eq!(after(|sides| set(sides, &[("tenantName", "u")], Holding::Claiming(t()))), ["tenant"]);
    assert_eq!(
        after(|sides| set(sides, &[("tenantName", "t"), ("dirty", "true")], Holding::Claimed(t()))),
        ["dirty"]
    );
    assert_eq!(after(|sides| empty(sides, &[("tenantName", "t")], Holding::Free)), ["tenant"]);
    assert_eq!(after(|sides| empty(sides, &[("dirty", "true")], Holding::Free)), ["dirty"]);
    assert_eq!(after(|sides| empty(sides, &[("tenantName", "t")], Holding::Dirty(None))), ["dirty"]);
    assert_eq!(after(|sides| empty(sides, &[], Holding::Dirty(None))), ["dirty"]);
    assert_eq!(after(|sides| set(sides, &[("shared", "true")], Holding::Claimed(t()))), ["tenant", "pool"]);
    assert_eq!(
        after(|sides| set(sides, &[("tenantName", "t"), ("euAccess", "true")], Holding::Claimed(t()))),
        ["pool"]
    );
}

#[test]
fn accounts_that_one_side_does_not_know() {
    assert_eq!(after(|sides| sides.entries.clear()), ["entry-gone"]);
    // The ledger is empty: the label, the request and the Shoot all say so.
    let lost = |sides: &mut Sides| {
        sides.rows.clear();
        sides.seats.clear();
    };
    assert_eq!(after(lost), ["tenant", "not-assigned", "shoot-elsewhere"]);
}

/// A ledger that lost everything makes a finding of every healthy cluster. Somebody follows the advice at night.
#[test]
fn no_remedy_endangers_a_healthy_shoot() {
    let mut lost = agreed();
    lost.rows.clear();
    lost.seats.clear();
    let mut elsewhere = agreed();
    elsewhere.seats = vec![seat("r", "b")];
    let mut relabelled = agreed();
    set(&mut relabelled, &[("tenantName", "u"), ("dirty", "true")], Holding::Claimed(t()));
    let mut unlabelled = agreed();
    set(&mut unlabelled, &[], Holding::Claimed(t()));
    let mut foreign = Sides::default();
    empty(&mut foreign, &[("dirty", "true")], Holding::Dirty(None));
    foreign.shoots.push(shoot(None));
    for sides in [lost, elsewhere, relabelled, unlabelled, foreign] {
        let found = compare(&sides).disagreements;
        assert!(!found.is_empty(), "{sides:?}");
        for Complaint { code, remedy, .. } in found {
            assert!(!remedy.contains("delete") && !remedy.contains("move the Shoot"), "{code:?}: {remedy}");
            assert!(rests_on_ledger(code), "{code:?}");
        }
    }
    let mut lost = agreed();
    lost.seats.clear();
    let found = compare(&lost).disagreements;
    let of_shoot = found.iter().find(|found| found.code == Ailment::ShootElsewhere).unwrap();
    assert!(of_shoot.remedy.contains("ledger rebuild"), "the request says the same: {}", of_shoot.remedy);
    lost.requests.insert(RequestUid::new("r"), asked(Phase::Bound, Some("b")));
    let found = compare(&lost).disagreements;
    let of_shoot = found.iter().find(|found| found.code == Ailment::ShootElsewhere).unwrap();
    assert!(of_shoot.remedy.contains("leave the Shoot running"), "nobody can tell: {}", of_shoot.remedy);
}

#[test]
fn quarantine_stands_on_both() {
    let on_the_binding = |sides: &mut Sides| {
        sides.entries.get_mut(&name("a")).unwrap().quarantine = Some("why".to_owned());
    };
    assert_eq!(after(on_the_binding), ["quarantine"]);
    let in_the_ledger = |sides: &mut Sides| {
        sides.rows.get_mut(&name("a")).unwrap().quarantine = Some("why".to_owned());
    };
    assert_eq!(after(in_the_ledger), ["quarantine"]);
}

#[test]
fn requests_against_the_ledger() {
    let elsewhere = |sides: &mut Sides| {
        sides.requests.insert(RequestUid::new("r"), asked(Phase::Bound, Some("b")));
    };
    assert_eq!(after(elsewhere), ["not-assigned"]);
    let of_another = |sides: &mut Sides| {
        let other = Asked { tenant: Some(Tenant::new("u")), ..asked(Phase::Bound, Some("a")) };
        sides.requests.insert(RequestUid::new("r"), other);
    };
    assert_eq!(after(of_another), ["not-assigned"]);
    let waits = |sides: &mut Sides| {
        sides.requests.insert(RequestUid::new("w"), asked(Phase::Waiting, None));
    };
    assert_eq!(after(waits), ["not-queued"]);
    let made_anew = |sides: &mut Sides| {
        waits(sides);
        sides.awaits_leader = true;
    };
    assert_eq!(after(made_anew), [""; 0], "the next leader queues it");
    let queued = |sides: &mut Sides| {
        waits(sides);
        sides.waiting.push(RequestUid::new("w"));
    };
    assert_eq!(after(queued), [""; 0]);
    assert_eq!(after(|sides| sides.waiting.push(RequestUid::new("gone"))), ["request-gone"]);
    let gone = |sides: &mut Sides| {
        sides.requests.clear();
        sides.shoots.clear();
    };
    assert_eq!(after(gone), ["request-gone"]);
}

#[test]
fn shoots_against_the_ledger() {
    let moved = |sides: &mut Sides| {
        sides.entries.insert(name("b"), entry(&[("tenantName", "t")]));
        sides.rows.insert(name("b"), row(Holding::Claimed(t()), 0));
        sides.shoots[0].account = name("b");
    };
    assert_eq!(after(moved), ["shoot-elsewhere"]);
    assert_eq!(
        after(|sides| {
            empty(sides, &[], Holding::Free);
            sides.shoots.push(shoot(None));
        }),
        Vec::<&str>::new(),
        "the account is occupied, and nothing disagrees"
    );
    assert_eq!(
        after(|sides| {
            empty(sides, &[("dirty", "true")], Holding::Dirty(None));
            sides.shoots.push(shoot(Some("nobody")));
        }),
        ["shoot-in-empty"]
    );
    // In an account that is somebody's, it is foreign and no more than that.
    let mut sides = agreed();
    sides.shoots.push(shoot(None));
    let compared = compare(&sides);
    assert_eq!((compared.disagreements, compared.foreign), (Vec::new(), vec![shoot(None)]));
}

#[test]
fn books_that_contradict_themselves() {
    let twice = |sides: &mut Sides| {
        sides.seats.push(seat("r", "a"));
    };
    assert_eq!(after(twice), ["books"]);
}

#[test]
fn a_cluster_that_is_not_ready_though_it_says_so_is_told() {
    let of = |is_there| {
        let found = NotReady { cluster: "n/c".to_owned(), shoot: "s".to_owned(), is_there };
        let mut sides = agreed();
        sides.not_ready.push(found);
        compare(&sides).disagreements.iter().map(ToString::to_string).collect::<Vec<_>>().join("")
    };
    assert!(of(true).starts_with("not-ready: Cluster n/c says that it is ready, but Shoot s is not its own"));
    assert!(of(false).contains("Shoot s is not there"));
}
