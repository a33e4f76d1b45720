//! The worked examples of seeds 000 and 002, with their numbers, and what else the decision promises.

use super::super::*;

fn pool() -> PoolKey {
    PoolKey { hyperscaler_type: "aws".to_owned(), shared: false, eu_access: false }
}

fn candidate(name: &str, clusters: u32) -> Candidate {
    Candidate { account: AccountName::new(name), clusters, closed: None }
}

fn names(names: &[&str]) -> Vec<AccountName> {
    names.iter().map(|name| AccountName::new(*name)).collect()
}

/// What a tenant gets who has these accounts, where these are free.
fn ask(accounts: Accounts, own: &[(&str, u32)], free: &[&str]) -> Answer {
    ask_with(accounts, own, free, |_| ())
}

fn ask_with(
    accounts: Accounts,
    own: &[(&str, u32)],
    free: &[&str],
    change: fn(&mut Dedicated<'_>),
) -> Answer {
    let tenant = Tenant::new("ga-1");
    let free = names(free);
    let own: Vec<_> = own.iter().map(|(name, clusters)| candidate(name, *clusters)).collect();
    let held = u32::try_from(own.len()).unwrap();
    let mut dedicated =
        Dedicated { tenant: &tenant, accounts, own, held, cap: None, free: &free, ahead: Ahead::Exactly(0) };
    change(&mut dedicated);
    decide(&Question { pool: &pool(), standing: None, choice: Choice::Dedicated(dedicated) })
}

fn uses(name: &str) -> Answer {
    Answer::Use(AccountName::new(name))
}

fn claims(name: &str) -> Answer {
    Answer::Claim(AccountName::new(name))
}

fn several(limit: u32) -> Accounts {
    Accounts::Several(Limit(limit))
}

#[test]
fn seed_000_the_tenants_one_account_takes_every_cluster() {
    assert_eq!(ask(Accounts::One, &[], &["b", "c"]), claims("b"));
    assert_eq!(ask(Accounts::One, &[("a", 0)], &["b"]), uses("a"));
    assert_eq!(ask(Accounts::One, &[("a", 10_000)], &["b"]), uses("a"));
}

#[test]
fn seed_002_examples_with_a_limit_of_200() {
    assert_eq!(ask(several(200), &[("a", 150)], &["b"]), uses("a"));
    assert_eq!(ask(several(200), &[("a", 200)], &["b"]), claims("b"));
    assert_eq!(ask(several(200), &[("a", 200), ("b", 150)], &["c"]), uses("b"));
    assert_eq!(ask(several(200), &[("a", 199), ("b", 150)], &["c"]), uses("a"));
}

#[test]
fn seed_002_an_account_above_the_limit_is_used_again_once_below() {
    assert_eq!(ask(several(180), &[("a", 250)], &["b"]), claims("b"));
    assert_eq!(ask(several(180), &[("a", 180)], &["b"]), claims("b"));
    assert_eq!(ask(several(180), &[("a", 250 - 71)], &["b"]), uses("a"));
}

#[test]
fn claimed_but_empty_accounts_are_used_before_a_new_one_is_claimed() {
    assert_eq!(ask(several(3), &[("a", 3), ("b", 0)], &["c"]), uses("b"));
}

#[test]
fn ties_are_broken_by_name() {
    assert_eq!(ask(several(3), &[("b", 1), ("a", 1), ("c", 1)], &[]), uses("a"));
}

#[test]
fn seed_002_allowlist_and_limits() {
    let tenant = Tenant::new("GA-1");
    let config = |allowed: &[&str], limits: &[(&str, u32)]| MultiAccount {
        allowed_global_accounts: allowed.iter().map(|name| (*name).to_owned()).collect(),
        limits: limits.iter().map(|(name, limit)| ((*name).to_owned(), Limit(*limit))).collect(),
    };
    let limits = [("default", 3), ("aws", 180)];
    assert_eq!(config(&[], &limits).of(&tenant, "aws"), Accounts::One);
    assert_eq!(config(&["GA-2"], &limits).of(&tenant, "aws"), Accounts::One);
    assert_eq!(config(&["ga-1"], &limits).of(&tenant, "aws"), Accounts::One, "names are case-sensitive");
    assert_eq!(config(&["GA-2", "GA-1"], &limits).of(&tenant, "aws"), several(180));
    assert_eq!(config(&["*"], &limits).of(&tenant, "azure"), several(3));
    assert_eq!(config(&["*"], &[]).of(&tenant, "azure"), several(3), "seed 002's default");
}

#[test]
fn what_the_configuration_gets_wrong_is_said() {
    let config = MultiAccount {
        allowed_global_accounts: vec!["*".to_owned(), "GA-1".to_owned()],
        limits: [("asw".to_owned(), Limit(3)), ("aws".to_owned(), Limit(0))].into(),
    };
    let faults = config.faults(&["aws", "gcp"]);
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert!(faults[0].contains("limits.asw: no such provider; there are aws, gcp, and default"));
}

#[test]
fn a_request_keeps_what_it_has() {
    let question = Question {
        pool: &pool(),
        standing: Some(AccountName::new("z")),
        choice: Choice::Shared(vec![candidate("a", 0)]),
    };
    assert_eq!(decide(&question), Answer::Keep(AccountName::new("z")));
}

#[test]
fn shared_accounts_go_by_least_use_then_name() {
    let shared = |all: Vec<Candidate>| {
        decide(&Question { pool: &pool(), standing: None, choice: Choice::Shared(all) })
    };
    assert_eq!(shared(vec![candidate("a", 2), candidate("b", 1), candidate("c", 1)]), uses("b"));
    let broken = Candidate { closed: Some(Closed::Quarantined), ..candidate("a", 0) };
    assert_eq!(shared(vec![broken.clone(), candidate("b", 9)]), uses("b"));
    assert!(matches!(shared(vec![broken]), Answer::Wait(1, Lack::NothingShared { quarantined: 1, .. })));
    assert!(matches!(shared(vec![]), Answer::Wait(1, Lack::NothingShared { quarantined: 0, .. })));
}

#[test]
fn an_empty_pool_makes_wait_and_nobody_overtakes() {
    assert!(matches!(ask(several(3), &[("a", 3)], &[]), Answer::Wait(1, Lack::PoolExhausted { .. })));
    let two_ahead = |dedicated: &mut Dedicated<'_>| dedicated.ahead = Ahead::Exactly(2);
    assert!(matches!(
        ask_with(several(3), &[], &["b", "c"], two_ahead),
        Answer::Wait(3, Lack::PoolExhausted { spoken_for: 2, .. })
    ));
    assert_eq!(ask_with(several(3), &[], &["b", "c", "d"], two_ahead), claims("b"));
    let far_behind = |dedicated: &mut Dedicated<'_>| dedicated.ahead = Ahead::About(40);
    assert!(matches!(
        ask_with(several(3), &[], &["b", "c"], far_behind),
        Answer::Wait(41, Lack::PoolExhausted { spoken_for: 2, .. })
    ));
}

#[test]
fn a_cap_holds_over_all_pools() {
    let capped = |dedicated: &mut Dedicated<'_>| {
        dedicated.held = 4;
        dedicated.cap = Some(4);
    };
    assert!(matches!(
        ask_with(several(3), &[("a", 3)], &["b"], capped),
        Answer::Wait(1, Lack::CapReached { held: 4, cap: 4, .. })
    ));
    assert_eq!(ask_with(several(3), &[("a", 2)], &["b"], capped), uses("a"), "what is there may be filled");
}

#[test]
fn a_quarantined_account_takes_nothing_new() {
    let broken = |dedicated: &mut Dedicated<'_>| dedicated.own[0].closed = Some(Closed::Quarantined);
    assert_eq!(ask_with(several(3), &[("a", 1), ("b", 0)], &["c"], broken), uses("b"));
    assert_eq!(ask_with(several(3), &[("a", 1)], &["c"], broken), claims("c"));
    let answer = ask_with(Accounts::One, &[("a", 1)], &["c"], broken);
    assert!(matches!(answer, Answer::Wait(1, Lack::Quarantined { .. })), "one account means one account");
}

#[test]
fn a_pool_selects_what_its_selector_says() {
    let keys = LabelKeys::default();
    let labels = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let dedicated = pool();
    let shared = PoolKey { shared: true, ..pool() };
    assert_eq!(dedicated.selector(&keys), "hyperscalerType=aws,!dirty,!internal,shared!=true,euAccess!=true");
    assert_eq!(shared.selector(&keys), "hyperscalerType=aws,shared=true,!internal,euAccess!=true");
    for (pairs, in_dedicated, in_shared) in [
        (&[][..], true, false),
        (&[("shared", "true")], false, true),
        (&[("shared", "false")], true, false),
        (&[("dirty", "false")], false, false),
        (&[("internal", "no")], false, false),
        (&[("euAccess", "false")], true, false),
        (&[("euAccess", "true")], false, false),
        (&[("shared", "true"), ("dirty", "true")], false, true),
    ] {
        let mut labels: std::collections::BTreeMap<_, _> = labels(pairs);
        labels.insert("hyperscalerType".to_owned(), "aws".to_owned());
        assert_eq!(dedicated.matches(&labels, &keys), in_dedicated, "{labels:?}");
        assert_eq!(shared.matches(&labels, &keys), in_shared, "{labels:?}");
    }
}
