//! What can be the value of a label.

/// The longest value that an API server takes.
pub const MAX_LENGTH: usize = 63;

/// Why a text cannot be the value of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is empty. (A label may have an empty value, but nothing that we put into one may be empty.)
    #[error("it is empty")]
    Empty,
    /// It is too long.
    #[error("it is {0} characters long, and a label value has at most {MAX_LENGTH}")]
    TooLong(usize),
    /// A character that no label value has.
    #[error("{0:?} is not allowed: a label value is made of letters, digits, `-`, `_` and `.`")]
    Character(char),
    /// It starts or ends with `-`, `_` or `.`.
    #[error("it must start and end with a letter or a digit")]
    Ends,
}

/// Tells whether a text can be the value of a label.
pub fn check(value: &str) -> Result<(), Fault> {
    if let Some(character) =
        value.chars().find(|&c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'))
    {
        return Err(Fault::Character(character));
    }
    // From here on bytes are characters.
    match value.as_bytes() {
        [] => Err(Fault::Empty),
        bytes if bytes.len() > MAX_LENGTH => Err(Fault::TooLong(bytes.len())),
        [first, .., last] if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() => Ok(()),
        [only] if only.is_ascii_alphanumeric() => Ok(()),
        _ => Err(Fault::Ends),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_an_api_server_takes() {
        let longest = "a".repeat(MAX_LENGTH);
        for good in ["a", "7", "cf-eu11", "a_b.C-9", longest.as_str()] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let too_long = "a".repeat(MAX_LENGTH + 1);
        for (bad, fault) in [
            ("", Fault::Empty),
            ("-", Fault::Ends),
            ("-a", Fault::Ends),
            ("a_", Fault::Ends),
            ("a b", Fault::Character(' ')),
            ("a\u{a0}b", Fault::Character('\u{a0}')),
            ("é", Fault::Character('é')),
            (too_long.as_str(), Fault::TooLong(MAX_LENGTH + 1)),
        ] {
            assert_eq!(check(bad), Err(fault), "{bad}");
        }
    }
}
