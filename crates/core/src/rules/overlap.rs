//! Which rules of a plan can match the same request, and which requests none of them matches. Both are about inputs only,
//! any number of them: a rule is a list of values, `None` for any, and for every input there are more values than rules
//! name.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

/// So many comparisons of a rule are made in search of gaps, then the search ends: their number grows with the square of the
/// number of rules, and a gap is a warning only.
const MOST_COMPARISONS: usize = 5_000_000;

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
///
/// There can be as many ties as pairs of rules, so they are handed out one by one, until `visit` has seen enough. A pair that
/// is decided takes a rule of its own, so it is the ties that take the time.
pub(super) fn ties<K: Ord + Copy, const N: usize>(
    rules: &[[Option<K>; N]],
    mut visit: impl FnMut(Tie<K, N>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        groups.entry(named(rule)).or_default().push(index);
    }
    let mut all: Vec<[Option<K>; N]> = rules.to_vec();
    all.sort_unstable();
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
                            visit(Tie { first, second, missing: both })?;
                        }
                    }
                }
            }
        }
    }
    ControlFlow::Continue(())
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
    let mut search = Search { gaps: Vec::new(), limit, left: MOST_COMPARISONS };
    let all: Vec<&[Option<K>; N]> = rules.iter().collect();
    search.look(&all, 0, &std::array::from_fn(|_| None));
    search.gaps
}

struct Search<K, const N: usize> {
    gaps: Vec<Gap<K, N>>,
    limit: usize,
    /// Comparisons.
    left: usize,
}

impl<K: Ord + Copy, const N: usize> Search<K, N> {
    fn look(&mut self, rules: &[&[Option<K>; N]], input: usize, gap: &Gap<K, N>) {
        if self.is_over() || rules.iter().any(|rule| is_any(rule, input)) {
            return;
        }
        if rules.is_empty() {
            return self.gaps.push(gap.clone());
        }
        let values: BTreeSet<K> = rules.iter().filter_map(|rule| rule[input]).collect();
        if values.is_empty() {
            return self.go_on(rules, input, gap, None, |_| true);
        }
        let others = Part::NoneOf(values.iter().copied().collect());
        self.go_on(rules, input, gap, Some(others), |value| value.is_none());
        // A rule that asks for nothing else leaves no gap.
        let covered: BTreeSet<K> =
            rules.iter().filter(|rule| is_any(rule, input + 1)).filter_map(|rule| rule[input]).collect();
        for wanted in values.difference(&covered).copied() {
            self.go_on(rules, input, gap, Some(Part::Is(wanted)), |value| {
                value.is_none_or(|value| value == wanted)
            });
        }
    }

    fn go_on(
        &mut self,
        rules: &[&[Option<K>; N]],
        input: usize,
        gap: &Gap<K, N>,
        part: Option<Part<K>>,
        matches: impl Fn(Option<K>) -> bool,
    ) {
        if self.is_over() {
            return;
        }
        self.left = self.left.saturating_sub(rules.len());
        let rest: Vec<_> = rules.iter().copied().filter(|rule| matches(rule[input])).collect();
        let mut gap = gap.clone();
        gap[input] = part;
        self.look(&rest, input + 1, &gap);
    }

    fn is_over(&self) -> bool {
        self.gaps.len() >= self.limit || self.left == 0
    }
}

/// Whether a rule takes every value of the inputs from here on.
fn is_any<K, const N: usize>(rule: &[Option<K>; N], input: usize) -> bool {
    rule[input..].iter().all(Option::is_none)
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

    fn all_ties(rules: &[Inputs]) -> Vec<Tie<u8, N>> {
        let mut all = Vec::new();
        let visited = ties(rules, |tie| {
            all.push(tie);
            ControlFlow::Continue(())
        });
        assert!(visited.is_continue());
        all
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
            let ties = all_ties(&rules);
            let found: BTreeSet<(usize, usize)> = ties.iter().map(|tie| (tie.first, tie.second)).collect();
            prop_assert_eq!(found.len(), ties.len());
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn adding_what_is_missing_decides(rules in rules()) {
            let mut rules = rules;
            // Each added rule has more inputs than those it decides between, so there is an end.
            while let Some(tie) = all_ties(&rules).first() {
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
