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
/// This is the second guard: clients do not pass on messages about credentials at all.
pub fn clean_message(message: &str) -> String {
    let line = one_line(message, 4 * MOST);
    let words = line.split_whitespace().map(|word| if is_suspicious(word) { "[redacted]" } else { word });
    one_line(&words.collect::<Vec<_>>().join(" "), MOST)
}

/// The longest code that is kept.
const LONGEST_CODE: usize = 64;

/// Makes a cloud's code fit to be a label of a metric: letters, digits, dots and underscores, and not many. A server that answers with a
/// key or a token in the place of a code is told by its status.
pub fn clean_code(code: &str, status: u16) -> String {
    let is_allowed = |char: &char| char.is_ascii_alphanumeric() || "._".contains(*char);
    let clean: String = code.chars().filter(is_allowed).take(LONGEST_CODE).collect();
    let is_token = clean.contains("eyJ");
    if clean.is_empty() || is_token || clean.split(['.', '_']).any(is_secret) {
        return format!("HTTP{status}");
    }
    clean
}

/// Ids of items are short, or lower case, or have dashes; hashes are long and hexadecimal; keys and tokens are long and mix
/// cases and digits.
fn is_suspicious(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let names = ["x-amz-", "token:", "signature", "authorization:", "credential", "password"];
    word.len() > 64
        || word.contains(['=', '%'])
        || names.iter().any(|name| lower.contains(name))
        || word.split(|char: char| !char.is_ascii_alphanumeric() && !"+/_".contains(char)).any(is_secret)
}

fn is_secret(part: &str) -> bool {
    let has = |is: fn(&u8) -> bool| part.as_bytes().iter().any(is);
    let is_hash = part.len() >= 40 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_key = part.len() >= 16 && (part.starts_with("AKIA") || part.starts_with("ASIA"));
    let is_mixed = has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
        && part.len() >= 20;
    is_hash || is_key || is_mixed
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
            e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' AKIAIOSFODNN7EXAMPLE Signature=abc \
            short:IQoJb3JpZ2luX2VjEXAMPLETOKEN";
        let clean = clean_message(canonical);
        for secret in ["IQoJ", "TOKEN", "e3b0c442", "AKIA", "abc"] {
            assert!(!clean.contains(secret), "{clean}");
        }
        let blocked = "resource sg-0123456789abcdef0 has a dependent object";
        assert_eq!(clean_message(blocked), blocked);
        assert!(clean_message(&"x ".repeat(1000)).len() <= MOST + 3);
    }

    #[test]
    fn a_code_that_looks_like_a_key_is_none() {
        for code in [
            "SignatureDoesNotMatch",
            "InvalidVpcID.NotFound",
            "UnsupportedFeature.Ipv6",
            "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE",
            "AADSTS700212",
        ] {
            assert_eq!(clean_code(code, 400), code);
        }
        for code in [
            "",
            "abcdEFGH1234ijklMNOP5678qrstUVWX9012yzab",
            "k7Qm2ZpLr8TnWx4YvB1cDsF9hJgE6a",
            "eyJhbGciOiAiUlMyNTYi",
            "AKIAIOSFODNN7EXAMPLE",
        ] {
            assert_eq!(clean_code(code, 403), "HTTP403");
        }
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
