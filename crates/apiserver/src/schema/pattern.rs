//! Regular expressions as Go understands them, on top of `regex`.

use regex::Regex;
use std::fmt;

/// A regular expression that was compiled once.
#[derive(Clone)]
pub(crate) struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles an expression; says what is wrong with it.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let regex = regex::RegexBuilder::new(&translate(text))
            // Large enough for what Go takes (a repetition of 1000), small enough not to be felt.
            .size_limit(4 << 20)
            .build()
            .map_err(|error| describe(text, &error))?;
        Ok(Self { text: text.to_owned(), regex })
    }

    /// Whether some part of the text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The parts that match.
    pub(super) fn find_all<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.regex.find_iter(text).map(|found| found.as_str())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// In Go's words, for the mistakes that people make.
fn describe(text: &str, error: &regex::Error) -> String {
    let depth = text.chars().fold((0_i64, false), |(depth, escaped), c| match c {
        _ if escaped => (depth, false),
        '\\' => (depth, true),
        '(' => (depth + 1, false),
        ')' => (depth - 1, false),
        _ => (depth, false),
    });
    match error.to_string() {
        what if what.contains("unclosed group") => {
            format!("error parsing regexp: missing closing ): `{text}`")
        }
        what if what.contains("unopened group") => format!("error parsing regexp: unexpected ): `{text}`"),
        what if what.contains("unclosed character class") => {
            let from = text.find('[').unwrap_or(0);
            format!("error parsing regexp: missing closing ]: `{}`", &text[from..])
        }
        what if what.contains("repetition operator missing expression") => {
            let operator = text.chars().find(|c| matches!(c, '*' | '+' | '?')).unwrap_or('*');
            format!("error parsing regexp: missing argument to repetition operator: `{operator}`")
        }
        what if what.contains("look-around") => {
            let from = text.find("(?").unwrap_or(0);
            let end = text[from..].char_indices().nth(3).map_or(text.len(), |(at, _)| from + at);
            format!("error parsing regexp: invalid or unsupported Perl syntax: `{}`", &text[from..end])
        }
        what => {
            let last = what.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            format!(
                "error parsing regexp: {last}{}: `{text}`",
                if depth.0 > 0 { " (unbalanced)" } else { "" }
            )
        }
    }
}

/// Rewrites what the two dialects read differently: classes like `\d` are ASCII in Go, and inside brackets `[`,
/// `&&`, `--` and `~~` are just characters there.
fn translate(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(class @ ('d' | 'D' | 'w' | 'W' | 's' | 'S')) => {
                    out.push_str(ascii_class(class, in_class));
                }
                Some(word @ ('b' | 'B')) if !in_class => {
                    out.push_str("(?-u:\\");
                    out.push(word);
                    out.push(')');
                }
                Some('Q') => {
                    // Everything up to \E is meant as it is written.
                    let mut literal = String::new();
                    while let Some(c) = chars.next() {
                        if c == '\\' && chars.peek() == Some(&'E') {
                            chars.next();
                            break;
                        }
                        literal.push(c);
                    }
                    out.push_str(&regex::escape(&literal));
                }
                Some(other) => {
                    out.push('\\');
                    out.push(other);
                }
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if chars.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            '[' if chars.peek() == Some(&':') => {
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '[' | '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '-' if in_class && chars.peek() == Some(&'-') => out.push_str("\\-"),
            c => out.push(c),
        }
    }
    out
}

fn ascii_class(class: char, in_class: bool) -> &'static str {
    match (class, in_class) {
        ('d', true) => "0-9",
        ('d', false) => "[0-9]",
        ('D', _) => "[^0-9]",
        ('w', true) => "0-9A-Za-z_",
        ('w', false) => "[0-9A-Za-z_]",
        ('W', _) => "[^0-9A-Za-z_]",
        ('s', true) => r"\t\n\x0c\r ",
        ('s', false) => r"[\t\n\x0c\r ]",
        _ => r"[^\t\n\x0c\r ]",
    }
}
