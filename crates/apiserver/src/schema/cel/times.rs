//! Points in time and lengths of it.

use super::super::formats::go_duration_nanos;
use super::value::{Failure, Outcome, Val};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

pub(super) fn convert<'a>(name: &str, value: &Val<'a>) -> Outcome<'a> {
    let wanted = if name == "duration" { "google.protobuf.Duration" } else { "google.protobuf.Timestamp" };
    let failed = || Failure(format!("type conversion error from '{}' to '{wanted}'", value.type_name()));
    match (name, value) {
        ("duration", Val::Duration(_)) | ("timestamp", Val::Timestamp(_)) => Ok(value.clone()),
        ("duration", Val::Text(text)) => {
            go_duration_nanos(text.as_str()).map(Val::Duration).ok_or_else(failed)
        }
        ("timestamp", Val::Text(text)) => text.as_str().parse().map(Val::Timestamp).map_err(|_| failed()),
        ("timestamp", Val::Int(seconds)) => {
            Timestamp::from_second(*seconds).map(Val::Timestamp).map_err(|_| out_of_range())
        }
        _ => Err(Failure::no_overload()),
    }
}

fn out_of_range() -> Failure {
    Failure("timestamp overflow".to_owned())
}

pub(super) fn arithmetic<'a>(name: &str, a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    let overflow = || Failure("integer overflow".to_owned());
    let moved = |time: &Timestamp, nanos: i64| {
        time.checked_add(SignedDuration::from_nanos(nanos)).map(Val::Timestamp).map_err(|_| out_of_range())
    };
    match (name, a, b) {
        ("_+_", Val::Duration(a), Val::Duration(b)) => {
            a.checked_add(*b).map(Val::Duration).ok_or_else(overflow)
        }
        ("_-_", Val::Duration(a), Val::Duration(b)) => {
            a.checked_sub(*b).map(Val::Duration).ok_or_else(overflow)
        }
        ("_+_", Val::Timestamp(time), Val::Duration(nanos)) => moved(time, *nanos),
        ("_+_", Val::Duration(nanos), Val::Timestamp(time)) => moved(time, *nanos),
        ("_-_", Val::Timestamp(time), Val::Duration(nanos)) => {
            moved(time, nanos.checked_neg().ok_or_else(overflow)?)
        }
        ("_-_", Val::Timestamp(a), Val::Timestamp(b)) => {
            i64::try_from(a.as_nanosecond() - b.as_nanosecond()).map(Val::Duration).map_err(|_| overflow())
        }
        _ => Err(Failure::no_overload()),
    }
}

/// Methods; nothing if there is none of that name.
pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let number = |value: i64| Some(Ok(Val::Int(value)));
    match args {
        [Val::Duration(nanos)] => match name {
            "getHours" => number(nanos / 3_600_000_000_000),
            "getMinutes" => number(nanos / 60_000_000_000),
            "getSeconds" => number(nanos / 1_000_000_000),
            "getMilliseconds" => number(nanos / 1_000_000),
            _ => None,
        },
        [Val::Timestamp(time)] => part(name, *time, TimeZone::UTC),
        [Val::Timestamp(time), Val::Text(zone)] => match time_zone(zone.as_str()) {
            Some(zone) => part(name, *time, zone),
            None => Some(Err(Failure(format!("unknown time zone {}", zone.as_str())))),
        },
        _ => None,
    }
}

/// `UTC`, or an offset such as `-08:00`. Names of places need a database that is not here.
fn time_zone(text: &str) -> Option<TimeZone> {
    if matches!(text, "" | "UTC") {
        return Some(TimeZone::UTC);
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        ("-", rest) => (-1, rest),
        ("+", rest) => (1, rest),
        _ => (1, text),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok().map(TimeZone::fixed)
}

fn part<'a>(name: &str, time: Timestamp, zone: TimeZone) -> Option<Outcome<'a>> {
    let time = time.to_zoned(zone);
    let value = match name {
        "getFullYear" => i64::from(time.year()),
        // Months and days of the week, of the month and of the year are counted from zero; dates are not.
        "getMonth" => i64::from(time.month()) - 1,
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfWeek" => i64::from(time.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        "getMilliseconds" => i64::from(time.millisecond()),
        _ => return None,
    };
    Some(Ok(Val::Int(value)))
}

/// In seconds, as text.
pub(super) fn show_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let (seconds, rest) = (nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000);
    match rest {
        0 => format!("{sign}{seconds}s"),
        rest => format!("{sign}{seconds}.{}s", format!("{rest:09}").trim_end_matches('0')),
    }
}
