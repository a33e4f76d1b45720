//! `fieldPath` of a rule: the field to blame, below the place of the rule.

use super::super::Schema;
use std::fmt::Write;

/// The path as refusals write it, if the schema has such a field.
pub(in super::super) fn resolve(path: &str, schema: &Schema) -> Result<String, String> {
    let mut schema = schema;
    let mut resolved = String::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (name, after) = step(rest)?;
        rest = after;
        if !schema.properties.is_empty() {
            schema = schema.properties.get(&name).ok_or("does not refer to a valid field")?;
            if !resolved.is_empty() {
                resolved.push('.');
            }
            resolved.push_str(&name);
        } else if let Some(values) = &schema.additional_properties {
            schema = values;
            let _ = write!(resolved, "[{name}]");
        } else {
            return Err("does not refer to a valid field".to_owned());
        }
    }
    Ok(resolved)
}

/// The next name, and what is behind it.
fn step(path: &str) -> Result<(String, &str), String> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        return match end {
            0 => Err("unexpected end of JSON path".to_owned()),
            end => Ok((rest[..end].to_owned(), &rest[end..])),
        };
    }
    let Some(rest) = path.strip_prefix('[') else {
        let end = path.find(['.', '[', ']']).unwrap_or(path.len());
        return Err(format!("expected [ or . but got: {}", &path[..end.max(1).min(path.len())]));
    };
    let Some(rest) = rest.strip_prefix('\'') else {
        return Err(format!("expected single quoted string but got {rest}"));
    };
    let mut name = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => {
                let rest = &rest[at + 1..];
                let after = rest.strip_prefix(']').ok_or_else(|| format!("expected ] but got {rest}"))?;
                return Ok((name, after));
            }
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('a') => name.push('\x07'),
                Some('b') => name.push('\x08'),
                Some('f') => name.push('\x0c'),
                Some('n') => name.push('\n'),
                Some('r') => name.push('\r'),
                Some('t') => name.push('\t'),
                Some('v') => name.push('\x0b'),
                Some(c @ ('\'' | '\\')) => name.push(c),
                other => return Err(format!("invalid string literal: invalid escape char {other:?}")),
            },
            c => name.push(c),
        }
    }
    Err("unexpected end of JSON path".to_owned())
}
