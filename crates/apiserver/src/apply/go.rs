//! How a real server prints values in its messages.
//!
//! Clients see these texts, so they have to be equal to the letter: quoting, the order of fields and even the names
//! of the types that a real server is built from.

use serde_json::{Number, Value};
use std::fmt::Write;

/// A string as `%q` prints it.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        // Writing to a string cannot fail.
        let _ = match char {
            '"' => write!(out, "\\\""),
            '\\' => write!(out, "\\\\"),
            '\u{7}' => write!(out, "\\a"),
            '\u{8}' => write!(out, "\\b"),
            '\u{c}' => write!(out, "\\f"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            '\u{b}' => write!(out, "\\v"),
            char if char.is_ascii_control() => write!(out, "\\x{:02x}", u32::from(char)),
            char if char.is_control() => write!(out, "\\u{:04x}", u32::from(char)),
            char => write!(out, "{char}"),
        };
    }
    out.push('"');
    out
}

/// A number as it is printed everywhere: whole ones without a point.
pub(crate) fn number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => {
            // From here on a real server switches to an exponent.
            if float.abs() >= 1e21 || (float != 0.0 && float.abs() < 1e-6) {
                exponent(float)
            } else {
                float.to_string()
            }
        }
        _ => number.to_string(),
    }
}

/// `1e+21`: a sign, and two digits at least.
fn exponent(float: f64) -> String {
    let text = format!("{float:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(("+", exponent), |digits| ("-", digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// A value as `%v` prints it: `map[a:1 b:[x y]]`.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Number(value) => number(value),
        Value::String(text) => text.clone(),
        Value::Array(items) => list(items),
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}:{}", plain(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// A list as `%v` prints it: `[x y]`.
pub(crate) fn list(items: &[Value]) -> String {
    format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" "))
}

/// A value as `%#v` prints it: `map[string]interface {}{"a":1}`.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Number(value) => number(value),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{}:{}", quote(name), syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// Owner references as JSON, in the order in which Go declares their fields.
pub(crate) fn owners(list: &Value) -> String {
    const FIELDS: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    in_order_each(list, &FIELDS)
}

/// A list of objects as JSON, their fields in this order.
pub(crate) fn in_order_each(list: &Value, order: &[&str]) -> String {
    let items = list.as_array().into_iter().flatten();
    let items = items.map(|item| in_order(item, order, |_, value| json(value)));
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// An object as JSON, its fields in this order.
pub(crate) fn in_order(object: &Value, order: &[&str], show: impl Fn(&str, &Value) -> String) -> String {
    let fields = order.iter().filter_map(|field| Some((field, object.get(*field)?)));
    let fields =
        fields.map(|(field, value)| format!("{}:{}", json(&Value::from(*field)), show(field, value)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// The type of a value as `%T` prints it.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The word for a value in "cannot unmarshal …".
pub(crate) fn json_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// JSON with the escapes of a real server: it is careful about HTML, and writes whole numbers without a point.
pub(crate) fn json(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(value) => number(value),
        Value::String(_) => value
            .to_string()
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026")
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029"),
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", json(&Value::String(name.clone())), json(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}
