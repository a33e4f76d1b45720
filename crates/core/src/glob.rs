//! Patterns in the configuration: `*` stands for any characters, and there are no others.

/// Whether a pattern covers a whole text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        // The earliest place leaves most for the parts that follow.
        match text.find(part) {
            Some(place) => text = &text[place + part.len()..],
            None => return false,
        }
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("mcp--*", "mcp--1", true),
            ("mcp--*", "mcp-1", false),
            ("*-prod", "a-prod", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true),
            ("*a*", "bab", true),
            ("**", "x", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
