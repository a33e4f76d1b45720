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

/// The same text without addresses: where servers are is the platform's to know.
///
/// ```
/// use allotment_core::text::without_addresses;
///
/// let text = r#"Post "https://hook.svc:443/a?b=1": dial tcp 10.0.0.7:443: connect: connection refused"#;
/// assert_eq!(without_addresses(text), r#"Post "[address]": dial tcp [address]: connect: connection refused"#);
/// assert_eq!(without_addresses("nodes: 10.250.0.0/16, v1.33.2"), "nodes: 10.250.0.0/16, v1.33.2");
/// ```
pub fn without_addresses(text: &str) -> String {
    let is_edge = |char: char| char.is_whitespace() || "\"'(),;<>".contains(char);
    let (mut kept, mut after_lookup) = (String::with_capacity(text.len()), false);
    for part in text.split_inclusive(is_edge) {
        let word = part.trim_end_matches(is_edge);
        let (core, edge) = (word.trim_end_matches([':', '.']), &part[word.len()..]);
        if !core.is_empty() && (after_lookup || is_address(core)) {
            kept.push_str("[address]");
            kept.push_str(&word[core.len()..]);
        } else {
            kept.push_str(word);
        }
        if !word.is_empty() {
            // Resolvers name the host and then their own address.
            after_lookup = word == "lookup";
        }
        kept.push_str(edge);
    }
    kept
}

fn is_address(word: &str) -> bool {
    let is_host_with_port = || {
        let Some((host, port)) = word.rsplit_once(':') else { return false };
        let is_host = host.contains('.') || host == "localhost";
        is_host && port.len() >= 2 && port.parse::<u16>().is_ok()
    };
    let value = word.rsplit('=').next().unwrap_or(word);
    word.contains("://")
        || value.parse::<std::net::SocketAddr>().is_ok()
        || value.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok()
        || is_host_with_port()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_hidden_and_nothing_else() {
        for (text, expected) in [
            ("dial tcp [::1]:6443: refused", "dial tcp [address]: refused"),
            (
                "lookup api.garden.example on 10.96.0.10:53: no such host",
                "lookup [address] on [address]: no such host",
            ),
            (
                "certificate is valid for fe80::1, not 10.0.0.1.",
                "certificate is valid for [address], not [address].",
            ),
            ("host=10.0.0.1 port=5432", "[address] port=5432"),
            ("db.internal:5432 does not answer", "[address] does not answer"),
            (
                r#"Shoot.core.gardener.cloud "a" is invalid: spec.region: Invalid value: "eu-1""#,
                r#"Shoot.core.gardener.cloud "a" is invalid: spec.region: Invalid value: "eu-1""#,
            ),
            ("", ""),
        ] {
            assert_eq!(without_addresses(text), expected);
        }
    }

    #[test]
    fn characters_are_counted_and_kept_whole() {
        for (text, expected) in [("", ""), ("üüü", "üüü"), ("üüüü", "üüü..."), ("ab\nc", "ab\n...")]
        {
            assert_eq!(bounded(text.to_owned(), 3), expected);
        }
        assert_eq!(one_line("a\nb\u{1b}[0m", 4), "a b ...");
    }
}
