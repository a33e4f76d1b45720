//! Where something stands in the text of a file.

use super::finding::{Code, Finding};
use serde_saphyr::{Location, Spanned};
use std::ops::Range;

/// So many characters of a line are shown. A file can be one line, and every finding has its own copy.
const LONGEST_SHOWN: usize = 200;

/// So many characters are shown before the place in a long line.
const SHOWN_BEFORE: usize = 40;

/// A text in which places can be found.
pub struct Source<'t> {
    text: &'t str,
    /// Where each line starts.
    lines: Vec<usize>,
}

/// A place in a text: a line, a character in it, and how many characters from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    line: usize,
    column: usize,
    width: usize,
}

/// A text in a YAML file, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Scalar {
    pub(super) text: String,
    /// The whole of it.
    pub(super) place: Place,
    /// The bytes of the file that are this text, character for character; not known where it is folded, escaped, or an
    /// alias.
    pub(super) bytes: Option<Range<usize>>,
}

impl Place {
    pub(super) fn line(&self) -> usize {
        self.line
    }

    pub(super) fn column(&self) -> usize {
        self.column
    }
}

impl<'t> Source<'t> {
    /// A text.
    pub fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        // A carriage return alone is the end of a line too: YAML counts so.
        let ends =
            |&at: &usize| bytes[at] == b'\n' || (bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
        let breaks = (0..bytes.len()).filter(ends).map(|at| at + 1);
        Self { text, lines: std::iter::once(0).chain(breaks).collect() }
    }

    /// A finding at a place.
    pub fn finding(&self, code: Code, rule: usize, place: Place, message: String) -> Finding {
        let (source_line, source_column) = window(&without_password(self.line(place.line)), place.column);
        Finding {
            severity: code.severity(),
            code,
            rule,
            line: place.line,
            column: place.column,
            message,
            related: None,
            fix: None,
            source_line,
            source_column,
            width: place.width.min(LONGEST_SHOWN),
        }
    }

    /// Where a value starts, as the YAML reader tells it.
    pub fn place(&self, location: Location) -> Place {
        let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX).max(1);
        Place { line: number(location.line()), column: number(location.column()), width: 1 }
    }

    /// Where the whole of a text stands.
    pub fn place_of(&self, text: &Spanned<String>) -> Place {
        self.key(text).place
    }

    pub(super) fn scalar(&self, text: &str, location: Location) -> Scalar {
        let bytes = self.find(text, location);
        let place = match &bytes {
            Some(bytes) => self.place_of_bytes(bytes),
            None => self.place(location),
        };
        Scalar { text: text.to_owned(), place, bytes }
    }

    pub(super) fn key(&self, Spanned { value, referenced, .. }: &Spanned<String>) -> Scalar {
        self.scalar(value, *referenced)
    }

    /// A part of a scalar, given in bytes of its text; the whole of it if the part cannot be found in the file.
    pub(super) fn part(&self, scalar: &Scalar, part: &Range<usize>) -> Place {
        match &scalar.bytes {
            Some(bytes) => self.place_of_bytes(&(bytes.start + part.start..bytes.start + part.end)),
            None => scalar.place,
        }
    }

    /// Finds the bytes of a scalar that stands in the file as it is, plain or in quotes.
    fn find(&self, value: &str, location: Location) -> Option<Range<usize>> {
        let start = usize::try_from(location.span().byte_offset()?).ok()?;
        let rest = self.text.get(start..)?;
        if !value.is_empty() && rest.starts_with(value) {
            return Some(start..start + value.len());
        }
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let inside = rest[1..].strip_prefix(value)?;
        inside.starts_with(quote).then(|| start + 1..start + 1 + value.len())
    }

    fn place_of_bytes(&self, bytes: &Range<usize>) -> Place {
        let line = self.lines.partition_point(|start| *start <= bytes.start);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let characters = |range: Range<usize>| self.text.get(range).map_or(0, |text| text.chars().count());
        // A byte order mark is not a character of the first line.
        let mark = usize::from(start == 0 && self.text.starts_with('\u{feff}'));
        Place {
            line,
            column: characters(start..bytes.start).saturating_sub(mark) + 1,
            width: characters(bytes.clone()).max(1),
        }
    }

    fn line(&self, number: usize) -> &'t str {
        let Some(&start) = number.checked_sub(1).and_then(|index| self.lines.get(index)) else { return "" };
        let end = self.lines.get(number).copied().unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}')
    }
}

/// The part of a line that is shown for a column, and the column in that part.
fn window(line: &str, column: usize) -> (String, usize) {
    let is_short = line.len() <= LONGEST_SHOWN || line.chars().nth(LONGEST_SHOWN).is_none();
    let skipped = if is_short { 0 } else { column.saturating_sub(1 + SHOWN_BEFORE) };
    (line.chars().skip(skipped).take(LONGEST_SHOWN).collect(), column.saturating_sub(skipped))
}

/// A line without the passwords of its URLs: findings end up in logs. As many stars as there are characters, so that carets still fit.
fn without_password(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        // A password may hold what should have been escaped.
        let url = after.split([' ', '"', '\'']).next().unwrap_or_default();
        let password = url.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
        rest = match password {
            Some((user, password)) => {
                shown.push_str(&format!("{user}:{}", "*".repeat(password.chars().count())));
                after.split_at(user.len() + 1 + password.len()).1
            }
            None => after,
        };
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_urls_are_not_shown() {
        for (line, shown) in [
            (
                "ledger: {url: 'postgress://op:TOP@SEC/RET@h/l1'}",
                "ledger: {url: 'postgress://op:***********@h/l1'}",
            ),
            ("url: postgres://op@h/l1 # a://b:c@d", "url: postgres://op@h/l1 # a://b:*@d"),
            ("url: sqlite:///x", "url: sqlite:///x"),
            ("rule: [aws(PR=a:b) -> EU]", "rule: [aws(PR=a:b) -> EU]"),
        ] {
            assert_eq!(without_password(line), shown);
        }
    }

    #[test]
    fn of_a_long_line_the_part_is_shown_that_a_finding_is_about() {
        assert_eq!(window("short", 3), ("short".to_owned(), 3));
        let long = format!("{}here{}", "ü".repeat(1000), "x".repeat(1000));
        let (shown, column) = window(&long, 1001);
        assert_eq!((shown.chars().count(), column), (LONGEST_SHOWN, 41));
        assert!(shown.chars().skip(column - 1).collect::<String>().starts_with("here"));
        assert_eq!(window(&long, 1).1, 1);
    }
}
