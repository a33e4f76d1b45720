//! Which rules of a plan can match the same request, and which requests none of them matches. Both are about inputs only,
//! any number of them: a rule is a list of values, `None` for any, and for every input there are more values than rules
//! name.

use std::collections::{BTreeMap, BTreeSet};

/// Two rules that tie, and the inputs of the rule that would decide.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tie<K, const N: usize> {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) missing: [Option<K>; N],
}

/// Finds every pair of rules with equally many inputs that match one request, unless a rule with more inputs matches
/// every such request too. No two of the rules may be the same.
///
/// Two rules tie on the requests that have the inputs of both, and on nothing less; so it is enough to look for a more
/// specific rule among those whose inputs are some of these. Rules that name the same inputs differ in a value and never
/// tie: only groups with different inputs are compared, and in them only rules that agree on what both name.
pub(super) fn ties<K: Ord + Copy, const N: usize>(rules: &[[Option<K>; N]]) -> Vec<Tie<K, N>> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        groups.entry(named(rule)).or_default().push(index);
    }
    let mut all: Vec<[Option<K>; N]> = rules.to_vec();
    all.sort_unstable();
    let mut ties = Vec::new();
    for (&one, members) in &groups {
        for (&other, others) in groups.range(one + 1..) {
            if one.count_ones() == other.count_ones() {
                let mut partners: Vec<([Option<K>; N], usize)> =
                    others.iter().map(|&index| (only(&rules[index], one & other), index)).collect();
                partners.sort_unstable();
                for &member in members {
                    let shared = only(&rules[member], one & other);
                    let start = partners.partition_point(|(key, _)| *key < shared);
                    for (_, partner) in partners[start..].iter().take_while(|(key, _)| *key == shared) {
                        let both = join(&rules[member], &rules[*partner]);
                        if !decided(&all, &both, one.count_ones()) {
                            let (first, second) = (member.min(*partner), member.max(*partner));
                            ties.push(Tie { first, second, missing: both });
                        }
                    }
                }
            }
        }
    }
    ties
}

/// Whether there is a rule with more than so many inputs, all of them among these.
fn decided<K: Ord + Copy, const N: usize>(
    all: &[[Option<K>; N]],
    both: &[Option<K>; N],
    more_than: u32,
) -> bool {
    let inputs = named(both);
    // All subsets of the inputs, from the whole down.
    let mut subset = inputs;
    while subset != 0 {
        if subset.count_ones() > more_than && all.binary_search(&only(both, subset)).is_ok() {
            return true;
        }
        subset = (subset - 1) & inputs;
    }
    false
}

/// The inputs that a rule names, as bits.
pub(super) fn named<K, const N: usize>(rule: &[Option<K>; N]) -> usize {
    rule.iter().enumerate().filter(|(_, value)| value.is_some()).map(|(index, _)| 1 << index).sum()
}

fn only<K: Copy, const N: usize>(rule: &[Option<K>; N], inputs: usize) -> [Option<K>; N] {
    std::array::from_fn(|index| rule[index].filter(|_| inputs & (1 << index) != 0))
}

fn join<K: Copy, const N: usize>(one: &[Option<K>; N], other: &[Option<K>; N]) -> [Option<K>; N] {
    std::array::from_fn(|index| one[index].or(other[index]))
}

/// What is said about one input of a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part<K> {
    /// It has this value.
    Is(K),
    /// It has a value other than these.
    NoneOf(Vec<K>),
}

/// Requests that no rule matches: what holds for each input, `None` for any.
pub(super) type Gap<K, const N: usize> = [Option<Part<K>>; N];

/// Finds the requests that no rule matches; at most so many kinds of them.
pub(super) fn gaps<K: Ord + Copy, const N: usize>(rules: &[[Option<K>; N]], limit: usize) -> Vec<Gap<K, N>> {
    let mut gaps = Vec::new();
    let all: Vec<&[Option<K>; N]> = rules.iter().collect();
    look(&all, 0, &std::array::from_fn(|_| None), limit, &mut gaps);
    gaps
}

fn look<K: Ord + Copy, const N: usize>(
    rules: &[&[Option<K>; N]],
    input: usize,
    gap: &Gap<K, N>,
    limit: usize,
    gaps: &mut Vec<Gap<K, N>>,
) {
    if gaps.len() >= limit || rules.iter().any(|rule| rule[input..].iter().all(Option::is_none)) {
        return;
    }
    if rules.is_empty() {
        return gaps.push(gap.clone());
    }
    let values: BTreeSet<K> = rules.iter().filter_map(|rule| rule[input]).collect();
    let mut go_on = |part: Option<Part<K>>, matches: &dyn Fn(Option<K>) -> bool| {
        let rest: Vec<_> = rules.iter().copied().filter(|rule| matches(rule[input])).collect();
        let mut gap = gap.clone();
        gap[input] = part;
        look(&rest, input + 1, &gap, limit, gaps);
    };
    if values.is_empty() {
        return go_on(None, &|_| true);
    }
    go_on(Some(Part::NoneOf(values.iter().copied().collect())), &|value| value.is_none());
    for wanted in values {
        go_on(Some(Part::Is(wanted)), &|value| value.is_none_or(|value| value == wanted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rules with four inputs, twice as many as there are, so that nothing here counts to two.
    const N: usize = 4;
    type Inputs = [Option<u8>; N];

    /// A value that no rule names.
    const OTHER: u8 = 9;

    fn rules() -> impl Strategy<Value = Vec<Inputs>> {
        let input = || proptest::option::of(0..2_u8);
        proptest::collection::btree_set([input(), input(), input(), input()], 0..8)
            .prop_map(|rules| rules.into_iter().collect::<Vec<_>>())
            .prop_shuffle()
    }

    fn requests() -> impl Iterator<Item = [u8; N]> {
        let values = [0, 1, OTHER];
        (0..values.len().pow(4))
            .map(move |n| [n / 27, n / 9 % 3, n / 3 % 3, n % 3].map(|place| values[place]))
    }

    fn matches(rule: &Inputs, request: &[u8; N]) -> bool {
        rule.iter().zip(request).all(|(wanted, value)| wanted.is_none_or(|wanted| wanted == *value))
    }

    proptest! {
        #[test]
        fn ties_are_requests_with_two_winners(rules in rules()) {
            let mut expected = BTreeSet::new();
            for request in requests() {
                let all: Vec<usize> = (0..rules.len()).filter(|index| matches(&rules[*index], &request)).collect();
                let count = |index: &usize| rules[*index].iter().flatten().count();
                let most = all.iter().map(count).max();
                let winners: Vec<usize> = all.into_iter().filter(|index| Some(count(index)) == most).collect();
                for (place, first) in winners.iter().enumerate() {
                    expected.extend(winners[place + 1..].iter().map(|second| (*first, *second)));
                }
            }
            let ties = ties(&rules);
            let found: BTreeSet<(usize, usize)> = ties.iter().map(|tie| (tie.first, tie.second)).collect();
            prop_assert_eq!(found.len(), ties.len());
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn adding_what_is_missing_decides(rules in rules()) {
            let mut rules = rules;
            // Each added rule has more inputs than those it decides between, so there is an end.
            while let Some(tie) = ties(&rules).first() {
                prop_assert!(!rules.contains(&tie.missing));
                rules.push(tie.missing);
            }
        }

        #[test]
        fn gaps_are_requests_that_no_rule_matches(rules in rules()) {
            let gaps = gaps(&rules, usize::MAX);
            for request in requests() {
                let inside = |gap: &&Gap<u8, N>| gap.iter().zip(&request).all(|(part, value)| match part {
                    None => true,
                    Some(Part::Is(wanted)) => wanted == value,
                    Some(Part::NoneOf(values)) => !values.contains(value),
                });
                let covered = rules.iter().any(|rule| matches(rule, &request));
                prop_assert_eq!(gaps.iter().filter(inside).count(), usize::from(!covered));
            }
        }
    }
}
