//! How a cloud says no.

use crate::text::one_line;
use std::{fmt, time::Duration};

/// A refused call. It never holds a body as it came: a cloud that rejects a signature repeats the signed request in it,
/// with the session token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Something else has to go first.
    #[error("blocked ({code}){}", because(by))]
    Blocked {
        /// The cloud's code.
        code: String,
        /// The blocker, as far as the cloud names it.
        by: String,
    },
    /// Too many calls.
    #[error("throttled")]
    Throttled {
        /// How long the cloud asks to wait.
        after: Option<Duration>,
    },
    /// The credentials lack a permission, or are not accepted at all.
    #[error("denied ({code}): {action}")]
    Denied {
        /// The cloud's code.
        code: String,
        /// The permission that is missing: `ec2:DescribeVpcs`.
        action: String,
    },
    /// A lock or a protection that the credentials cannot lift.
    #[error("locked ({code}){}", because(by))]
    Locked {
        /// The cloud's code.
        code: String,
        /// The lock, as far as the cloud names it.
        by: String,
    },
    /// It is not there.
    #[error("not found")]
    Gone,
    /// The call may succeed later: a failed connection, a deadline, an internal error of the cloud.
    #[error("transient failure: {why}")]
    Transient {
        /// The failure, cut and cleaned.
        why: String,
    },
    /// Everything else.
    #[error("refused ({code}){}", because(message))]
    Other {
        /// The cloud's code.
        code: String,
        /// Its message, cut and cleaned.
        message: String,
    },
}

impl Refusal {
    /// A bounded code, for metrics and to tell whether several accounts meet the same refusal.
    pub fn code(&self) -> &str {
        match self {
            Self::Blocked { code, .. }
            | Self::Denied { code, .. }
            | Self::Locked { code, .. }
            | Self::Other { code, .. } => code,
            Self::Throttled { .. } => "Throttled",
            Self::Gone => "Gone",
            Self::Transient { .. } => "Transient",
        }
    }

    /// Whether the same call may succeed later without anybody acting.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Blocked { .. } | Self::Throttled { .. } | Self::Transient { .. })
    }

    /// The permission that is missing.
    pub fn missing(&self) -> Option<&str> {
        match self {
            Self::Denied { action, .. } => Some(action),
            _ => None,
        }
    }

    /// The blocker or the lock.
    pub fn blocked_by(&self) -> Option<&str> {
        match self {
            Self::Blocked { by, .. } | Self::Locked { by, .. } if !by.is_empty() => Some(by),
            _ => None,
        }
    }
}

/// The most characters of a message that are kept: enough for "has dependencies" with three ids.
const MOST: usize = 200;

/// Makes a cloud's message fit to be shown: one line, cut, and without words that may be a signature, key or token.
///
/// Only words up to 64 characters without `=` and `%` stay. Ids of items are shorter than that; signatures are exactly 64
/// hexadecimal digits and go, too; so do access keys, by their prefix.
pub fn clean_message(message: &str) -> String {
    let line = one_line(message, 4 * MOST);
    let words = line.split_whitespace().map(|word| if is_suspicious(word) { "[redacted]" } else { word });
    one_line(&words.collect::<Vec<_>>().join(" "), MOST)
}

fn is_suspicious(word: &str) -> bool {
    let bare = word.trim_matches(|char: char| !char.is_ascii_alphanumeric());
    let is_key = |start: &str| bare.len() >= 16 && bare.starts_with(start);
    let is_hash = bare.len() >= 40 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
    word.len() > 64 || word.contains('=') || word.contains('%') || is_hash || is_key("AKIA") || is_key("ASIA")
}

fn because(text: &str) -> impl fmt::Display + '_ {
    struct Because<'a>(&'a str);
    impl fmt::Display for Because<'_> {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            if self.0.is_empty() { Ok(()) } else { write!(formatter, ": {}", self.0) }
        }
    }
    Because(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cleaned_message_keeps_ids_and_loses_signatures_keys_and_tokens() {
        let canonical = "The Canonical String for this request should have been\n'POST\n/\n\nhost:ec2\n\
            x-amz-security-token:IQoJb3JpZ2luX2VjEXAMPLE//////////wEaCXVzLWVhc3QtMSJHMEUCIQDexampleTOKENtoken==\n\n\
            e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' AKIAIOSFODNN7EXAMPLE Signature=abc";
        let clean = clean_message(canonical);
        for secret in ["IQoJ", "TOKEN", "e3b0c442", "AKIA", "abc"] {
            assert!(!clean.contains(secret), "{clean}");
        }
        let blocked = "resource sg-0123456789abcdef0 has a dependent object";
        assert_eq!(clean_message(blocked), blocked);
        assert!(clean_message(&"x ".repeat(1000)).len() <= MOST + 3);
    }

    #[test]
    fn a_refusal_reads_as_one_sentence() {
        let blocked = Refusal::Blocked { code: "DependencyViolation".to_owned(), by: "eni-1".to_owned() };
        assert_eq!(blocked.to_string(), "blocked (DependencyViolation): eni-1");
        assert!(blocked.is_temporary());
        let denied = Refusal::Denied { code: "AccessDenied".to_owned(), action: "iam:GetRole".to_owned() };
        assert_eq!(denied.to_string(), "denied (AccessDenied): iam:GetRole");
        assert_eq!(denied.missing(), Some("iam:GetRole"));
    }
}
