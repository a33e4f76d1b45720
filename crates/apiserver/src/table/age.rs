//! Ages, as kubectl tells them.

use jiff::Timestamp;

/// How long ago, as kubectl says it: `5s`, `3m20s`, `2d`.
pub(crate) fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - since.as_second();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let with = |big: i64, unit: &str, rest: i64, small: &str| match rest {
        0 => format!("{big}{unit}"),
        rest => format!("{big}{unit}{rest}{small}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => with(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => with(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => with(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => with(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_as_kubectl_does() {
        let ago =
            |seconds: i64| age(Timestamp::from_second(0).unwrap(), Timestamp::from_second(seconds).unwrap());
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (601, "10m"),
            (10_860, "3h1m"),
            (90_000, "25h"),
            (176_400, "2d1h"),
            (864_000, "10d"),
        ] {
            assert_eq!(ago(seconds), text);
        }
        assert_eq!(ago(-5), "<invalid>");
    }
}
