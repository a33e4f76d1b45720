//! Words of others, as far as they are kept.

/// The longest text of others that is kept in a status. A message of a condition may have eight times as many characters;
/// nobody reads more than this, and every reader of the object pays for it.
pub const LONGEST_MESSAGE: usize = 4096;

/// At most so many characters, and `...` for the rest.
///
/// ```
/// use allotment_core::text::bounded;
///
/// assert_eq!(bounded("short".to_owned(), 5), "short");
/// assert_eq!(bounded("longer".to_owned(), 5), "longe...");
/// ```
pub fn bounded(mut text: String, most: usize) -> String {
    // Every character has a byte at least.
    if text.len() > most
        && let Some((end, _)) = text.char_indices().nth(most)
    {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// The same on one line: in a log, a line break forges a line.
pub fn one_line(text: &str, most: usize) -> String {
    let text = bounded(text.chars().take(most.saturating_add(1)).collect(), most);
    visible(&text)
}

/// The same text with a space for everything that moves the cursor, colours, hides or turns around what stands beside it: line breaks,
/// control characters, and the marks of right-to-left writing that have no letters of their own.
///
/// ```
/// use allotment_core::text::visible;
///
/// assert_eq!(visible("a\nb\u{9b}31m\u{202e}c"), "a b 31m c");
/// ```
pub fn visible(text: &str) -> String {
    let is_mark = |char| matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    text.chars().map(|char| if char.is_control() || is_mark(char) { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_and_kept_whole() {
        for (text, expected) in [("", ""), ("üüü", "üüü"), ("üüüü", "üüü..."), ("ab\nc", "ab\n...")]
        {
            assert_eq!(bounded(text.to_owned(), 3), expected);
        }
        assert_eq!(one_line("a\nb\u{1b}[0m", 4), "a b ...");
    }
}
