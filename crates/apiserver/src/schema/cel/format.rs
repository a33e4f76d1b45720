//! The places in a text that `format` fills: `%s`, `%.2f`.

/// Digits after the point that a number can be asked to have; more of them mean nothing, and a billion of them
/// would ask for a gigabyte.
const PRECISION_LIMIT: u32 = 100;

/// A place, by the letter that says what goes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clause(char);

impl Clause {
    /// What is wrong with a value of this type here.
    pub(super) fn refuses(self, type_: &str) -> Option<String> {
        if type_ == "dyn" {
            return None;
        }
        let (what, takes) = match self.0 {
            'd' => ("decimal clause can only be used on integers", &["int", "uint", "double"][..]),
            'f' => ("fixed-point clause can only be used on doubles", &["double", "int", "uint"][..]),
            'e' => ("scientific clause can only be used on doubles", &["double", "int", "uint"][..]),
            'b' => ("only integers and bools can be formatted as binary", &["int", "uint", "bool"][..]),
            'x' | 'X' => (
                "only integers, byte buffers, and strings can be formatted as hex",
                &["int", "uint", "string", "bytes"][..],
            ),
            'o' => ("octal clause can only be used on integers", &["int", "uint"][..]),
            _ => return None,
        };
        (!takes.contains(&type_)).then(|| format!("{what}, was given {type_}"))
    }
}

/// The places of a text in their order, or what is no place.
pub(super) fn clauses(text: &str) -> Vec<Result<Clause, String>> {
    let mut found = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' || chars.next_if_eq(&'%').is_some() {
            continue;
        }
        if chars.next_if_eq(&'.').is_some() {
            while chars.next_if(char::is_ascii_digit).is_some() {}
        }
        found.push(match chars.next() {
            Some(c @ ('s' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o')) => Ok(Clause(c)),
            Some(other) => Err(format!("unrecognized formatting clause \"{other}\"")),
            None => Err("unexpected end of string".to_owned()),
        });
    }
    found
}

/// Refuses a text that asks for too many digits.
pub(super) fn check_precision(text: &str) -> Result<(), String> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('%') {
        let digits = after.strip_prefix('.').unwrap_or_default();
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if end > 0 && digits[..end].parse::<u32>().map_or(true, |wanted| wanted > PRECISION_LIMIT) {
            return Err(format!("error during formatting: precision {} is too large", &digits[..end]));
        }
        rest = after.strip_prefix('%').unwrap_or(after);
    }
    Ok(())
}
