//! The formats of strings and numbers that a real server checks. All others are ignored, with a warning.

use super::Type;
use regex::Regex;
use serde_json::Value;
use std::net::Ipv6Addr;
use std::sync::LazyLock;

/// What is known of a format: nothing is checked where the type does not go with it.
pub(super) fn is_supported(type_: Option<Type>, int_or_string: bool, format: &str) -> bool {
    match type_ {
        // The two types of an int-or-string leave it without a single one.
        _ if int_or_string => is_string_format(format),
        None | Some(Type::String) => is_string_format(format),
        Some(Type::Integer) => matches!(format, "int32" | "int64"),
        Some(Type::Number) => matches!(format, "float" | "double"),
        Some(_) => false,
    }
}

/// The formats in a schema that nobody will check, as the real server warns of them: `unrecognized format "int8"`.
pub(crate) fn unrecognized_formats(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_unrecognized(schema, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

fn collect_unrecognized(schema: &Value, found: &mut Vec<String>) {
    let type_ = schema.get("type").and_then(Value::as_str).and_then(Type::from_name);
    let int_or_string = schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    if let Some(format) = schema.get("format").and_then(Value::as_str).filter(|format| !format.is_empty())
        && !is_supported(type_, int_or_string, format)
    {
        found.push(format.to_owned());
    }
    for name in ["items", "additionalProperties", "not"] {
        schema.get(name).into_iter().for_each(|schema| collect_unrecognized(schema, found));
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        let schemas = schema.get(name).and_then(Value::as_array).into_iter().flatten();
        schemas.for_each(|schema| collect_unrecognized(schema, found));
    }
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.for_each(|(_, schema)| collect_unrecognized(schema, found));
}

fn is_string_format(format: &str) -> bool {
    const FORMATS: [&str; 26] = [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "k8sshortname",
        "k8slongname",
    ];
    FORMATS.contains(&normalized(format).as_str())
}

/// Dashes do not count: `date-time` and `datetime` are one.
fn normalized(format: &str) -> String {
    format.chars().filter(|c| *c != '-').collect()
}

/// Whether a string has a format. One that we do not know has every one.
pub(super) fn has_format(format: &str, text: &str) -> bool {
    match normalized(format).as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|c| c.is_ascii_hexdigit()),
        "uri" => is_request_uri(text),
        "email" => is_email(text),
        "hostname" => {
            text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && matches(&HOSTNAME, text)
        }
        "ipv4" => text.contains('.') && is_ip(text),
        "ipv6" => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => matches(&UUID, text),
        "uuid3" => matches(&UUID3, text),
        "uuid4" => matches(&UUID4, text),
        "uuid5" => matches(&UUID5, text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => text.len() == 11 && matches(&SSN, text),
        "hexcolor" => matches(&HEX_COLOR, text),
        "rgbcolor" => matches(&RGB_COLOR, text),
        "byte" => matches(&BASE64, text),
        "date" => is_date(text),
        "duration" => duration_nanos(text).is_some(),
        "datetime" => is_date_time(text),
        "k8sshortname" => text.len() <= 63 && matches(&SHORT_NAME, text),
        "k8slongname" => text.len() <= 253 && matches(&LONG_NAME, text),
        _ => true,
    }
}

type Lazy = LazyLock<Option<Regex>>;

/// An expression of ours; a test sees to it that all of them compile.
macro_rules! expressions {
    ($($name:ident = $text:expr;)*) => {
        $(static $name: Lazy = LazyLock::new(|| Regex::new($text).ok());)*
        #[cfg(test)]
        pub(super) static EXPRESSIONS: &[&Lazy] = &[$(&$name),*];
    };
}

expressions! {
    HOSTNAME = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
    UUID = "(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID3 = "(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID4 = "(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    UUID5 = "(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    SSN = "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$";
    HEX_COLOR = "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
    RGB_COLOR = r"^rgb\(\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])(\s*,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])){2}\s*\)$";
    // At least one group: an empty string is no base64 to the real server.
    BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
    CREDIT_CARD = "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}|6[27][0-9]{14})$";
    SHORT_NAME = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    LONG_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
    TIME = "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
    ATOM = r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\P{ASCII}]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\P{ASCII}]+)*$";
    DURATION_PART = "([0-9]+)\\s*([A-Za-zµ]+)";
}

fn matches(expression: &Lazy, text: &str) -> bool {
    expression.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// With leading zeros, as the real server still takes them.
fn is_ip(text: &str) -> bool {
    let octets: Vec<&str> = text.split('.').collect();
    let is_octet = |text: &&str| {
        !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()) && text.parse::<u8>().is_ok()
    };
    octets.len() == 4 && octets.iter().all(is_octet) || text.parse::<Ipv6Addr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let digits = !length.is_empty() && length.bytes().all(|c| c.is_ascii_digit());
    let longest = if address.contains(':') { 128 } else { 32 };
    is_ip(address) && digits && length.parse::<u32>().is_ok_and(|length| length <= longest)
}

fn is_mac(text: &str) -> bool {
    let hex = |part: &str, length| part.len() == length && part.bytes().all(|c| c.is_ascii_hexdigit());
    let parts = |separator: char, width| {
        let parts: Vec<&str> = text.split(separator).collect();
        matches!(parts.len() * width / 2, 6 | 8 | 20) && parts.iter().all(|part| hex(part, width))
    };
    parts(':', 2) || parts('-', 2) || parts('.', 4)
}

fn is_isbn10(text: &str) -> bool {
    let text = without_blanks(text);
    let digits: Option<Vec<u32>> = text
        .chars()
        .enumerate()
        .map(|(at, c)| if at == 9 && c == 'X' { Some(10) } else { c.to_digit(10) })
        .collect();
    digits.is_some_and(|digits| {
        digits.len() == 10 && (1..).zip(&digits).map(|(weight, digit)| weight * digit).sum::<u32>() % 11 == 0
    })
}

fn is_isbn13(text: &str) -> bool {
    let text = without_blanks(text);
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(10)).collect();
    digits.is_some_and(|digits| {
        let weighed = digits.iter().enumerate().map(|(at, digit)| digit * if at % 2 == 0 { 1 } else { 3 });
        digits.len() == 13 && weighed.sum::<u32>() % 10 == 0
    })
}

fn is_credit_card(text: &str) -> bool {
    let text = without_blanks(text);
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let digits = text.chars().rev().filter_map(|c| c.to_digit(10)).enumerate();
    let sum: u32 = digits.map(|(at, digit)| if at % 2 == 1 { doubled(digit) } else { digit }).sum();
    matches(&CREDIT_CARD, &text) && sum.is_multiple_of(10)
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect()
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let Some((date, time)) = text.split_once('t') else { return false };
    let captures = TIME.as_ref().and_then(|regex| regex.captures(time));
    is_date(date) && captures.is_some_and(|parts| &parts[1] <= "23" && &parts[2] <= "59" && &parts[3] <= "59")
}

/// A length of time as Go (`1h30m`) or as Scala (`2 days`) writes it.
pub(super) fn duration_nanos(text: &str) -> Option<i64> {
    go_duration_nanos(text).or_else(|| scala_duration_nanos(text))
}

/// A length of time as Go writes it.
pub(super) fn go_duration_nanos(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut nanos: i128 = 0;
    while {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, tail) = rest.split_at(number);
        let unit = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        let scale: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        nanos = nanos.checked_add(scaled(digits, scale)?)?;
        rest = tail;
        !rest.is_empty()
    } {}
    i64::try_from(nanos * sign).ok()
}

/// `1.5` times the scale.
fn scaled(digits: &str, scale: i128) -> Option<i128> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || whole.len() > 19 {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole.checked_mul(scale)?;
    let mut unit = scale;
    for digit in fraction.chars().take(18) {
        unit /= 10;
        nanos += i128::from(digit.to_digit(10)?) * unit;
    }
    Some(nanos)
}

fn scala_duration_nanos(text: &str) -> Option<i64> {
    const UNITS: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], 1_000_000_000),
        (&["m", "min"], 60_000_000_000),
        (&["h", "hr", "hour"], 3_600_000_000_000),
        (&["d", "day"], 86_400_000_000_000),
        (&["w", "wk", "week"], 604_800_000_000_000),
    ];
    let mut total: Option<i64> = None;
    for part in DURATION_PART.as_ref()?.captures_iter(text) {
        let factor: i64 = part[1].parse().ok()?;
        let unit = part[2].to_lowercase();
        for (names, scale) in UNITS {
            for (at, name) in names.iter().enumerate() {
                // The longest name of a unit stands for all that begin with it: `nanoseconds`.
                if unit == *name || at + 1 == names.len() && unit.starts_with(name) {
                    total = Some(total.unwrap_or(0).wrapping_add(factor.wrapping_mul(scale)));
                }
            }
        }
    }
    total
}

/// An absolute URI or an absolute path, as Go reads the first line of a request.
fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|c| c < 0x20 || c == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let scheme_end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
    let (scheme, rest) = match scheme_end {
        Some(0) if text.starts_with(':') => return false,
        Some(end) if text[end..].starts_with(':') && text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            (true, &text[end + 1..])
        }
        _ => (false, text),
    };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        return scheme;
    }
    let (host, path) = match rest.strip_prefix("//").filter(|_| scheme) {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    is_authority(host) && has_good_escapes(path)
}

fn is_authority(text: &str) -> bool {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    let is_user = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    let (name, port) = match (host.strip_prefix('['), host.rfind(':')) {
        (Some(rest), _) => match rest.split_once(']') {
            Some((name, port)) => (name, port),
            None => return false,
        },
        (None, Some(at)) => host.split_at(at),
        (None, None) => (host, ""),
    };
    let is_port = port.is_empty() || port.starts_with(':') && port[1..].bytes().all(|c| c.is_ascii_digit());
    let is_host =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    user.chars().all(is_user) && has_good_escapes(user) && is_port && name.chars().all(is_host)
}

fn has_good_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2)
}

/// An address, with or without a name before it.
fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>') {
        Some(rest) => match rest.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let quoted = local.len() >= 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.starts_with('[') && domain.ends_with(']');
    (quoted || matches(&ATOM, local)) && (literal || matches(&ATOM, domain))
}
