//! Names of fields as expressions write them: `__dash__`, `__namespace__`.

use super::parser::RESERVED;

pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || matches!(name, "true" | "false" | "null" | "in" | "void")
}

/// The name of a field in expressions; nothing if it cannot be written there.
pub(super) fn escape(name: &str) -> Option<String> {
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        return None;
    }
    if is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (written, length) = match c {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            c if c.is_ascii_alphanumeric() || c == '_' => (&rest[..1], 1),
            _ => return None,
        };
        escaped.push_str(written);
        rest = &rest[length..];
    }
    Some(escaped)
}

/// The field that a name in an expression stands for.
pub(super) fn unescape(written: &str) -> Option<String> {
    if !written.contains("__") {
        return Some(written.to_owned());
    }
    let mut name = String::new();
    let mut rest = written;
    while let Some(at) = rest.find("__") {
        let inner = &rest[at + 2..];
        let Some(end) = inner.find("__").filter(|end| *end > 0 && !inner[..*end].contains('_')) else {
            // Two underscores that begin nothing are just that.
            let taken = at + 1;
            name.push_str(&rest[..taken]);
            rest = &rest[taken..];
            continue;
        };
        name.push_str(&rest[..at]);
        match &inner[..end] {
            "underscores" => name.push_str("__"),
            "dot" => name.push('.'),
            "dash" => name.push('-'),
            "slash" => name.push('/'),
            word if is_reserved(word) && written.len() == word.len() + 4 => name.push_str(word),
            _ => return None,
        }
        rest = &inner[end + 2..];
    }
    name.push_str(rest);
    Some(name)
}
