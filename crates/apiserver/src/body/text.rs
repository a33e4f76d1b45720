//! Texts that stand for something else: bytes and times. What is wrong with them is said in the words of Go's library.

use crate::apply::go;
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{GeneralPurpose, general_purpose::PAD},
    prelude::BASE64_STANDARD,
};
use jiff::Timestamp;

/// Go does not mind bits that mean nothing.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&STANDARD, PAD.with_decode_allow_trailing_bits(true));

/// The same bytes in the one way in which they are shown.
pub(super) fn bytes(text: &str) -> Result<String, String> {
    if let Some(at) = corrupt_at(text.as_bytes()) {
        return Err(format!("illegal base64 data at input byte {at}"));
    }
    let without_breaks: String = text.chars().filter(|char| !matches!(char, '\r' | '\n')).collect();
    let bytes = LENIENT
        .decode(without_breaks)
        .map_err(|_| format!("illegal base64 data at input byte {}", text.len()))?;
    Ok(BASE64_STANDARD.encode(bytes))
}

/// Where base64 goes wrong, if it does. Line breaks are skipped.
fn corrupt_at(text: &[u8]) -> Option<usize> {
    let is_break = |byte: u8| matches!(byte, b'\r' | b'\n');
    let mut at = 0;
    loop {
        let mut digits = 0;
        while digits < 4 {
            let Some(byte) = text.get(at).copied() else {
                return (digits > 0).then_some(at - digits);
            };
            at += 1;
            match byte {
                byte if is_break(byte) => {}
                b'=' if digits < 2 => return Some(at - 1),
                b'=' => {
                    let skip = |mut at: usize| {
                        while text.get(at).copied().is_some_and(is_break) {
                            at += 1;
                        }
                        at
                    };
                    if digits == 2 {
                        at = skip(at);
                        match text.get(at) {
                            None => return Some(text.len()),
                            Some(b'=') => at += 1,
                            Some(_) => return Some(at - 1),
                        }
                    }
                    at = skip(at);
                    return (at < text.len()).then_some(at);
                }
                byte if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') => digits += 1,
                _ => return Some(at - 1),
            }
        }
    }
}

/// A time in seconds, as it is shown.
pub(super) fn time(text: &str) -> Result<String, String> {
    let read = read_time(text, "2006-01-02T15:04:05Z07:00", false)?;
    Ok(read.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// A time in microseconds, as it is shown.
pub(super) fn micro_time(text: &str) -> Result<String, String> {
    let read = read_time(text, "2006-01-02T15:04:05.000000Z07:00", true)?;
    Ok(read.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
}

fn read_time(text: &str, layout: &str, micro: bool) -> Result<Timestamp, String> {
    let wrong = |rest: &str, part: &str| {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            go::quote(text),
            go::quote(layout),
            go::quote(rest),
            go::quote(part)
        )
    };
    let out_of_range = |what: &str| format!("parsing time {}: {what} out of range", go::quote(text));
    let mut rest = text;
    for part in ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"] {
        let (length, range) = match part {
            "2006" => (4, None),
            "01" => (2, Some((1..=12, "month"))),
            "15" => (2, Some((0..=23, "hour"))),
            "04" => (2, Some((0..=59, "minute"))),
            "05" => (2, Some((0..=59, "second"))),
            // Whether a month has that day is seen at the end.
            "02" => (2, None),
            literal => (literal.len(), None),
        };
        let here = rest.get(..length).ok_or_else(|| wrong(rest, part))?;
        let fine = match part {
            "-" | "T" | ":" => here == part,
            _ => here.bytes().all(|byte| byte.is_ascii_digit()),
        };
        if !fine {
            return Err(wrong(rest, part));
        }
        if let Some((range, what)) = range
            && !here.parse().is_ok_and(|number: u32| range.contains(&number))
        {
            return Err(out_of_range(what));
        }
        rest = &rest[length..];
    }
    let fraction =
        rest.strip_prefix('.').map_or(0, |digits| 1 + digits.bytes().take_while(u8::is_ascii_digit).count());
    match (micro, fraction) {
        (true, 0..7) => return Err(wrong(rest, ".000000")),
        (true, _) => rest = &rest[7..],
        (false, 0 | 1) => {}
        (false, length) => rest = &rest[length..],
    }
    if !is_zone(rest) {
        return Err(match rest.strip_prefix('Z') {
            Some(extra) => format!("parsing time {}: extra text: {}", go::quote(text), go::quote(extra)),
            None => wrong(rest, "Z07:00"),
        });
    }
    text.parse().map_err(|_| out_of_range("day"))
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|digit| digit.is_ascii_digit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_goes_wrong_where_a_real_server_says() {
        let table = [
            ("", None),
            ("aGk=", None),
            ("aG\nk=\n", None),
            ("aGl=", None),
            ("not base64!", Some(3)),
            ("a", Some(0)),
            ("aGk", Some(0)),
            ("aGk=x", Some(4)),
            ("aG=k", Some(2)),
            ("=", Some(0)),
        ];
        for (text, at) in table {
            let expected = at.map(|at| format!("illegal base64 data at input byte {at}"));
            assert_eq!(bytes(text).err(), expected, "{text:?}");
        }
    }

    #[test]
    fn times_go_wrong_where_a_real_server_says() {
        let table = [
            ("yesterday", "cannot parse \"yesterday\" as \"2006\""),
            ("2020-01-01T00:00:00Z", "cannot parse \"Z\" as \".000000\""),
            ("2020/01/01", "cannot parse \"/01/01\" as \"-\""),
            ("2020-01-01T00:00:00.000000", "cannot parse \"\" as \"Z07:00\""),
        ];
        for (text, why) in table {
            let layout = "2006-01-02T15:04:05.000000Z07:00";
            assert_eq!(
                micro_time(text).unwrap_err(),
                format!("parsing time \"{text}\" as \"{layout}\": {why}")
            );
        }
        let wrong = time("2020-13-01T00:00:00Z").unwrap_err();
        assert_eq!(wrong, "parsing time \"2020-13-01T00:00:00Z\": month out of range");
        assert_eq!(time("2020-01-01T02:00:00.5+02:00").unwrap(), "2020-01-01T00:00:00Z");
        assert_eq!(micro_time("2020-01-01T00:00:00.123456Z").unwrap(), "2020-01-01T00:00:00.123456Z");
    }
}
