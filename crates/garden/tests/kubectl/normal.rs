//! What no person would compare: ages, times, UIDs, versions, tokens, certificates, temporary files.

use regex::Regex;
use std::sync::LazyLock;

/// The same text, with what is different in every run put aside.
pub fn normal(text: &str) -> String {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            // kubectl's own log: whether its watch or its wait ends first is a race inside kubectl.
            (r"(?m)^[EWI]\d{4} [\d:.]+ +\d+ reflector\.go:.*\n?", ""),
            (r"(?s)-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", "<certificate>"),
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
            (r"\beyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),
            (r"X509SHA256=[0-9a-f]+", "X509SHA256=<hash>"),
            (r"https://127\.0\.0\.1:\d+", "<server>"),
            (r#"Context "[^"]*""#, "Context <name>"),
            (r"Resource Version:\s+\d+", "Resource Version: <version>"),
            (r"/tmp/(\S*/)?(LIVE|MERGED|kubectl-edit)-\d+", "<file>"),
            (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000)", "<time>"),
            (r#"(?m)([rR]esourceVersion"?: *)"?\d+"?"#, "$1<version>"),
            (r"\b(\d+[smhdy]){1,2}( ago)?([^\w=-]|$)", "<age>$3"),
            // Columns are as wide as what is in them; what a line begins with is its place in YAML.
            (r"(?m)(\S) {2,}", "$1  "),
            (r"(?m)[ \t]+$", ""),
        ]
        .map(|(pattern, with)| (Regex::new(pattern).unwrap(), with))
        .into()
    });
    RULES.iter().fold(text.to_owned(), |text, (pattern, with)| pattern.replace_all(&text, *with).into_owned())
}
