//! Versions of a kind in the order in which clients prefer them: v2, v1, v1beta2, v1beta1, v1alpha1, then the others.

use std::cmp::{Ordering, Reverse};

/// How a version stands to another: the greater one is preferred.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    match (read(left), read(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => Reverse(left).cmp(&Reverse(right)),
    }
}

/// Stability, major and minor number of `v1beta2`.
fn read(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    for (word, stability) in [("beta", 1), ("alpha", 0)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, major.parse().ok()?, minor.parse().ok()?));
        }
    }
    Some((2, rest.parse().ok()?, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first() {
        let mut versions =
            ["foo10", "v1beta1", "v10", "v1", "v11alpha2", "foo1", "v2", "v3beta1", "v11beta2", "v12alpha1"];
        versions.sort_by(|left, right| compare(right, left));
        let wanted =
            ["v10", "v2", "v1", "v11beta2", "v3beta1", "v1beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];
        assert_eq!(versions, wanted);
    }
}
