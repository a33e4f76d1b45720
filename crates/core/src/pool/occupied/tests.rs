use super::*;
use crate::pool::LabelKeys;
use std::collections::BTreeMap;

fn entry(labels: &str) -> Entry {
    let pairs = labels.split_whitespace().filter_map(|pair| pair.split_once('='));
    let labels: BTreeMap<_, _> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Entry::read(&labels, None, &LabelKeys::default())
}

/// The one that stands for `name@age labels` with the same credentials, and whether they are contested.
fn of(entries: &[(&str, i64, &str)]) -> (String, bool) {
    let known: Vec<(AccountName, Entry, Option<Timestamp>)> = entries
        .iter()
        .map(|(name, age, labels)| {
            (AccountName::new(*name), entry(labels), Timestamp::from_second(1_800_000_000 + age).ok())
        })
        .collect();
    let twins: Vec<Twin<'_>> = known
        .iter()
        .map(|(account, entry, created)| Twin { account, entry, created: *created, taken: false })
        .collect();
    (stands_for(&twins).map(ToString::to_string).unwrap_or_default(), is_contested(&twins))
}

const FREE: &str = "hyperscalerType=aws";
const OF_T: &str = "hyperscalerType=aws tenantName=t";
const OF_U: &str = "hyperscalerType=aws tenantName=u";
const DIRTY: &str = "hyperscalerType=aws tenantName=t dirty=true";
const SHARED: &str = "hyperscalerType=aws shared=true";

#[test]
fn of_free_entries_the_oldest_counts_then_the_first_by_name() {
    assert_eq!(of(&[("a", 5, FREE), ("b", 3, FREE), ("c", 9, FREE)]), ("b".to_owned(), false));
    assert_eq!(of(&[("b", 3, FREE), ("a", 3, FREE)]), ("a".to_owned(), false));
}

#[test]
fn an_entry_in_use_counts_before_an_older_one() {
    for used in [
        OF_T,
        DIRTY,
        SHARED,
        "hyperscalerType=aws internal=true",
        "tenantName=t",
        "hyperscalerType=aws dirty=no",
    ] {
        assert_eq!(of(&[("a", 1, FREE), ("b", 2, used)]), ("b".to_owned(), false), "{used}");
    }
    assert_eq!(of(&[("a", 1, SHARED), ("b", 2, OF_T)]).0, "b", "a tenant's before one of everybody");
}

#[test]
fn bindings_outside_of_every_pool_are_no_entries() {
    assert_eq!(of(&[("a", 1, ""), ("b", 2, FREE)]), ("b".to_owned(), false));
    assert_eq!(of(&[("a", 1, "")]), (String::new(), false));
}

#[test]
fn two_uses_of_one_account_contest_it() {
    assert!(!of(&[("a", 1, OF_T), ("b", 2, OF_T)]).1, "one tenant may go on with both");
    assert!(!of(&[("a", 1, OF_T), ("b", 2, FREE)]).1);
    assert!(!of(&[("a", 1, SHARED), ("b", 2, SHARED)]).1);
    assert!(of(&[("a", 1, OF_T), ("b", 2, OF_U)]).1);
    assert!(of(&[("a", 1, OF_T), ("b", 2, SHARED)]).1);
    assert!(of(&[("a", 1, OF_T), ("b", 2, DIRTY)]).1, "cleaning one destroys what is in the other");
    assert!(of(&[("a", 1, OF_T), ("b", 2, "hyperscalerType=aws internal=true")]).1);
}

#[test]
fn a_claim_that_its_labels_do_not_show_yet_counts() {
    let (a, b, free) = (AccountName::new("a"), AccountName::new("b"), entry(FREE));
    let twin = |account, taken| Twin { account, entry: &free, created: None, taken };
    assert_eq!(stands_for(&[twin(&a, false), twin(&b, true)]), Some(&b));
}

#[test]
fn those_who_wait_read_a_few_names_and_a_number() {
    let names: Vec<AccountName> = ["a", "b", "c", "d", "e"].map(AccountName::new).to_vec();
    let whys = [
        Occupied::Shoots(1),
        Occupied::SameCredentials(AccountName::new("a")),
        Occupied::Shoots(7),
        Occupied::Shoots(1),
        Occupied::Shoots(1),
    ];
    let sentence = |count: usize| occupied_sentence(names.iter().zip(&whys).take(count));
    assert_eq!(sentence(0), None);
    assert_eq!(sentence(1).unwrap(), "occupied: a has 1 Shoot in it");
    assert_eq!(
        sentence(5).unwrap(),
        "occupied: a has 1 Shoot in it, b has the same credentials as a, c has 7 Shoots in it, and 2 more"
    );
}
