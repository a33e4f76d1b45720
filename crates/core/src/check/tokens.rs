//! How many tokens requests for access cost.

use std::collections::BTreeMap;

/// As many tokens may one cause cost: the product gives as many without a wait (`access::minting`).
const PER_CAUSE: u64 = 3;

/// No token is replaced sooner than this: seven tenths of the shortest life of one.
const SOONEST_RENEWAL_SECONDS: u64 = 420;

/// The tokens that were given, and what was reason to give them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    requests: BTreeMap<String, Given>,
    /// Whatever may cost any request a token: a fault, the end of a process, a cluster that was made anew.
    common: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Given {
    count: u64,
    causes: u64,
}

impl Tokens {
    /// Somebody who is no operator has created or changed a request, or what it has.
    pub fn changed(&mut self, request: &str) {
        self.requests.entry(request.to_owned()).or_default().causes += 1;
    }

    /// Something went wrong, or was made anew, that any request may depend on.
    pub fn disturbed(&mut self) {
        self.common += 1;
    }

    /// A request was given a token, so many seconds after everything began. Returns how many it has had, if that is more than there
    /// was reason for.
    pub fn given(&mut self, request: &str, seconds: u64) -> Option<u64> {
        let given = self.requests.entry(request.to_owned()).or_default();
        given.count += 1;
        let causes = given.causes.max(1) + self.common + seconds / SOONEST_RENEWAL_SECONDS;
        (given.count > causes * PER_CAUSE).then_some(given.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_need_a_cause_each_few() {
        let mut tokens = Tokens::default();
        tokens.changed("a");
        for _ in 0..3 {
            assert_eq!(tokens.given("a", 10), None);
        }
        assert_eq!(tokens.given("a", 10), Some(4));
        assert_eq!(tokens.given("b", 10), None);
        tokens.changed("a");
        assert_eq!(tokens.given("a", 10), None);
        tokens.disturbed();
        let more = (0..9).filter(|_| tokens.given("a", 10).is_none()).count();
        assert_eq!(more, 4);
    }

    #[test]
    fn a_token_that_runs_out_is_a_cause() {
        let mut tokens = Tokens::default();
        let given = (0..3600).step_by(400).filter_map(|second| tokens.given("a", second)).count();
        assert_eq!(given, 0);
    }
}
