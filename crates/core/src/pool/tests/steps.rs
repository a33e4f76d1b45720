//! What is done about an account, for every way in which labels, ledger and Shoots can agree or not.

use super::super::*;
use std::collections::BTreeMap;

fn labels(pairs: &str) -> BTreeMap<String, String> {
    let pairs = pairs.split_whitespace().filter_map(|pair| pair.split_once('='));
    let mut labels: BTreeMap<_, _> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    labels.entry("hyperscalerType".to_owned()).or_insert("aws".to_owned());
    labels
}

fn entry(pairs: &str) -> Entry {
    let labels = labels(pairs);
    let quarantine = labels.get("quarantine").cloned();
    Entry::read(&labels, quarantine.as_deref(), &LabelKeys::default())
}

fn pool() -> PoolKey {
    PoolKey { hyperscaler_type: "aws".to_owned(), shared: false, eu_access: false }
}

fn t() -> Tenant {
    Tenant::new("t")
}

fn row(holding: Holding, assignments: u32) -> Row {
    Row { pool: pool(), holding, leaving: false, quarantine: None, assignments }
}

fn step(pairs: &str, row: Option<Row>, shoots: u32) -> Step {
    let shoots = Shoots { all: shoots, ..Shoots::default() };
    account_step(&View { entry: Some(entry(pairs)), row, shoots, in_twins: 0, may_quarantine: true })
}

fn is_quarantine(step: &Step) -> bool {
    matches!(step, Step::Quarantine(_))
}

#[test]
fn what_the_ledger_does_not_know_is_believed_if_it_is_taken() {
    for row in [None, Some(row(Holding::Free, 0))] {
        assert_eq!(step("", row.clone(), 0), Step::Rest);
        assert_eq!(step("tenantName=t", row.clone(), 0), Step::Adopt(t()));
        assert_eq!(step("tenantName=t dirty=true", row.clone(), 0), Step::BecameDirty(Some(t())));
        assert_eq!(step("dirty=true", row.clone(), 0), Step::BecameDirty(None));
        assert_eq!(step("tenantName=t internal=true", row.clone(), 0), Step::Rest);
        assert_eq!(step("shared=true", row, 3), Step::Rest);
    }
}

#[test]
fn a_claim_goes_on_where_it_stopped() {
    let claiming = || Some(row(Holding::Claiming(t()), 1));
    assert_eq!(step("", claiming(), 0), Step::WriteTenant(t()));
    assert_eq!(step("tenantName=t", claiming(), 0), Step::Confirm(t()));
    assert_eq!(step("tenantName=u", claiming(), 0), Step::Lose(t(), Holding::Claimed(Tenant::new("u"))));
    assert_eq!(step("dirty=true", claiming(), 0), Step::Lose(t(), Holding::Dirty(None)));
    assert_eq!(
        step("dirty=false", claiming(), 0),
        Step::Lose(t(), Holding::Free),
        "no selector finds it any more"
    );
    assert_eq!(step("shared=true", claiming(), 0), Step::Lose(t(), Holding::Free));
    let gone =
        View { entry: None, row: claiming(), shoots: Shoots::default(), in_twins: 0, may_quarantine: true };
    assert_eq!(account_step(&gone), Step::Lose(t(), Holding::Free));
}

#[test]
fn a_claimed_account_becomes_more_available_only_if_all_agree() {
    let claimed = |assignments| Some(row(Holding::Claimed(t()), assignments));
    assert_eq!(step("tenantName=t", claimed(1), 1), Step::Rest);
    assert_eq!(
        step("tenantName=t", claimed(0), 0),
        Step::Rest,
        "claimed but empty is used again, not given back"
    );
    assert_eq!(step("tenantName=t euAccess=true", claimed(1), 1), Step::Repool);
    assert_eq!(step("", claimed(0), 0), Step::Free);
    assert!(is_quarantine(&step("", claimed(1), 0)));
    assert!(is_quarantine(&step("", claimed(0), 1)));
    assert!(is_quarantine(&step("tenantName=u", claimed(1), 0)));
    assert_eq!(step("tenantName=t dirty=true", claimed(0), 0), Step::BecameDirty(Some(t())));
    assert!(is_quarantine(&step("tenantName=t dirty=true", claimed(1), 1)));
}

#[test]
fn an_account_drains_when_its_last_shoot_is_gone() {
    let leaving = || Some(Row { leaving: true, ..row(Holding::Claimed(t()), 0) });
    assert_eq!(step("tenantName=t", leaving(), 1), Step::Rest);
    assert_eq!(step("tenantName=t", leaving(), 0), Step::BeginDrain);
    let draining = || Some(row(Holding::Draining(t()), 0));
    assert_eq!(step("tenantName=t", draining(), 0), Step::WriteDirty);
    assert_eq!(step("tenantName=t", draining(), 1), Step::Rest, "never while a Shoot lives there");
    assert_eq!(step("tenantName=t dirty=true", draining(), 0), Step::BecameDirty(Some(t())));
    assert_eq!(step("tenantName=u", draining(), 0), Step::Free, "it is another tenant's by now");
    assert_eq!(step("tenantName=u", draining(), 1), Step::Rest);
}

#[test]
fn a_dirty_account_is_free_when_both_labels_are_gone_and_nothing_is_in_it() {
    let dirty = || Some(row(Holding::Dirty(Some(t())), 0));
    assert_eq!(step("tenantName=t dirty=true", dirty(), 0), Step::Rest);
    assert_eq!(step("", dirty(), 0), Step::Free);
    assert!(is_quarantine(&step("", dirty(), 1)));
    assert!(matches!(step("tenantName=t", dirty(), 0), Step::Show(_)));
}

#[test]
fn an_entry_that_is_gone_is_forgotten_when_nothing_is_in_it() {
    let gone = |row, shoots| {
        let shoots = Shoots { all: shoots, ..Shoots::default() };
        account_step(&View { entry: None, row, shoots, in_twins: 0, may_quarantine: true })
    };
    assert_eq!(gone(None, 0), Step::Rest);
    assert_eq!(gone(Some(row(Holding::Claimed(t()), 0)), 0), Step::Retire);
    assert!(matches!(gone(Some(row(Holding::Claimed(t()), 1)), 0), Step::Show(_)));
    assert!(matches!(gone(Some(row(Holding::Claimed(t()), 0)), 1), Step::Show(_)));
}

#[test]
fn refused_credentials_quarantine_and_a_success_lifts() {
    let view = |pairs: &str, quarantine: Option<&str>, refused, succeeded, may_quarantine| View {
        entry: Some(entry(pairs)),
        row: Some(Row { quarantine: quarantine.map(str::to_owned), ..row(Holding::Claimed(t()), 1) }),
        shoots: Shoots { all: refused + succeeded, refused, succeeded },
        in_twins: 0,
        may_quarantine,
    };
    assert!(is_quarantine(&account_step(&view("tenantName=t", None, 1, 0, true))));
    assert!(
        matches!(account_step(&view("tenantName=t", None, 1, 0, false)), Step::Show(_)),
        "a tenth of the pool is enough"
    );
    let claiming =
        View { row: Some(row(Holding::Claiming(t()), 1)), ..view("tenantName=t", None, 1, 0, false) };
    assert_eq!(account_step(&claiming), Step::Confirm(t()), "and does not stop a claim");
    assert_eq!(
        account_step(&view("tenantName=t", None, 1, 1, true)),
        Step::Rest,
        "another Shoot shows that they work"
    );
    let refused = format!("{REFUSED}:x");
    let annotated = format!("tenantName=t quarantine={}", refused.replace(' ', "-"));
    assert_eq!(account_step(&view(&annotated, Some(&refused), 0, 1, true)), Step::Lift);
    assert_eq!(account_step(&view(&annotated, Some(&refused), 1, 0, true)), Step::Rest);
    assert_eq!(
        account_step(&view("tenantName=t quarantine=by-hand", Some("by-hand"), 0, 1, true)),
        Step::Rest
    );
    assert_eq!(
        account_step(&view("tenantName=t quarantine=by-hand", None, 0, 0, true)),
        Step::LearnQuarantine("by-hand".to_owned())
    );
    assert_eq!(account_step(&view("tenantName=t", Some("by-hand"), 0, 0, true)), Step::LearnLift);
}

#[test]
fn every_step_leads_to_rest_or_to_a_person() {
    // The way of an account whose steps are all taken: what the step says becomes true, and then the next is asked for.
    let mut holding = Holding::Claiming(t());
    let mut pairs = String::new();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let next = step(&pairs, Some(row(holding.clone(), 1)), 0);
        match &next {
            Step::WriteTenant(_) => "tenantName=t".clone_into(&mut pairs),
            Step::Confirm(tenant) => holding = Holding::Claimed(tenant.clone()),
            _ => (),
        }
        seen.push(next);
    }
    assert_eq!(seen, [Step::WriteTenant(t()), Step::Confirm(t()), Step::Rest]);
}

#[test]
fn labels_that_strand_an_account_are_explained() {
    let stranded = |pairs: &str| {
        let labels = labels(pairs);
        entry(pairs).stranded(&labels, &LabelKeys::default())
    };
    assert_eq!(stranded(""), None);
    assert_eq!(stranded("dirty=true tenantName=t"), None);
    assert_eq!(stranded("internal=true"), None);
    assert!(stranded("dirty=false").unwrap().contains("counts as set"));
    assert!(stranded("internal=no").unwrap().contains("internal=\"no\""));
    assert!(stranded("shared=yes").unwrap().contains("neither true nor false"));
    assert_eq!(stranded("shared=false euAccess=false"), None);
    let none = Entry::read(&BTreeMap::new(), None, &LabelKeys::default());
    assert!(none.stranded(&BTreeMap::new(), &LabelKeys::default()).unwrap().contains("hyperscalerType"));
}

#[test]
fn an_account_is_not_empty_while_requests_are_in_an_entry_with_the_same_credentials() {
    let with = |row: Row, in_twins| {
        let (entry, shoots) = (Some(entry("tenantName=t")), Shoots::default());
        account_step(&View { entry, row: Some(row), shoots, in_twins, may_quarantine: true })
    };
    let leaving = || Row { leaving: true, ..row(Holding::Claimed(t()), 0) };
    assert_eq!(with(leaving(), 0), Step::BeginDrain);
    assert_eq!(with(leaving(), 1), Step::Rest);
    assert_eq!(with(row(Holding::Draining(t()), 0), 0), Step::WriteDirty);
    assert_eq!(with(row(Holding::Draining(t()), 0), 1), Step::Rest);
}
