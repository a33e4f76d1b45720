//! How pools, accounts and findings look to people.

use crate::{
    commands::show::counted,
    output::{self, Paint},
};
use allotment_core::pool::{Complaint, PoolSummary};
use allotment_operator::{
    ledger::{Entry, MonthCount},
    survey::{AccountLine, WaitingLine},
};
use jiff::{SignedDuration, Timestamp};

/// Every pool in a line; those that somebody waits for, or that are used up, stand out.
pub(crate) fn pools(pools: &[PoolSummary]) -> String {
    let paint = Paint::for_standard_output();
    let heading = ["POOL", "TOTAL", "FREE", "CLAIMED", "DIRTY", "QUARANTINED", "OCCUPIED", "WAITING"]
        .map(str::to_owned);
    let row = |pool: &PoolSummary| {
        let PoolSummary { pool, total, free, claimed, dirty, quarantined, occupied, waiting } = pool;
        let numbers =
            [*total, *free, *claimed, *dirty, *quarantined, *occupied].map(|number| number.to_string());
        let [total, free, claimed, dirty, quarantined, occupied] = numbers;
        [pool.to_string(), total, free, claimed, dirty, quarantined, occupied, waiting.to_string()]
    };
    let rows: Vec<_> = std::iter::once(heading).chain(pools.iter().map(row)).collect();
    let table = output::table(&rows);
    let mut lines = table.lines();
    let mut text = lines.next().map_or_else(String::new, |head| paint.bold(head) + "\n");
    for (line, pool) in lines.zip(pools) {
        text.push_str(&match pool {
            pool if pool.waiting > 0 => paint.red(line),
            pool if pool.free == 0 => paint.yellow(line),
            _ => line.to_owned(),
        });
        text.push('\n');
    }
    text
}

/// Every account in a line.
pub(crate) fn accounts(lines: &[AccountLine], now: Timestamp) -> String {
    let paint = Paint::for_standard_output();
    let heading =
        ["ACCOUNT", "POOL", "STATE", "TENANT", "REQUESTS", "SHOOTS", "FOREIGN", "SINCE"].map(str::to_owned);
    let number = |number: Option<String>| number.unwrap_or_else(|| "?".to_owned());
    let row = |line: &AccountLine| {
        [
            line.account.to_string(),
            line.pool.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string),
            line.state.to_owned(),
            line.tenant.as_ref().map(ToString::to_string).unwrap_or_default(),
            number(line.requests.map(|count| count.to_string())),
            shoots(line),
            number(line.foreign.map(|count| count.to_string())),
            line.since.map(|since| age(now.duration_since(since))).unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = std::iter::once(heading).chain(lines.iter().map(row)).collect();
    let table = output::table(&rows);
    let mut shown = table.lines();
    let mut text = shown.next().map_or_else(String::new, |head| paint.bold(head) + "\n");
    for (shown, line) in shown.zip(lines) {
        text.push_str(&match line.state {
            _ if is_above_limit(line) => paint.red(shown),
            "quarantined" | "occupied" | "stranded" => paint.red(shown),
            "dirty" | "draining" => paint.yellow(shown),
            "free" | "shared" => paint.green(shown),
            _ => shown.to_owned(),
        });
        text.push('\n');
    }
    text
}

/// As many Shoots as are in an account, and the limit if there is one: `250/180`.
fn shoots(line: &AccountLine) -> String {
    match line.limit {
        Some(limit) => format!("{}/{limit}", line.shoots),
        None => line.shoots.to_string(),
    }
}

/// Whether more Shoots are in an account than the configuration wants.
pub(crate) fn is_above_limit(line: &AccountLine) -> bool {
    line.limit.is_some_and(|limit| line.shoots > limit.0)
}

/// The accounts that are above their limit, in a line each.
pub(crate) fn above_limit(lines: &[&AccountLine]) -> String {
    let paint = Paint::for_standard_output();
    let line = |line: &&AccountLine| {
        let AccountLine { account, tenant, .. } = line;
        let whose = tenant.as_ref().map_or_else(String::new, |tenant| format!(" of {tenant}"));
        let text = format!("account {account}{whose} is above its limit: {} clusters", shoots(line));
        format!("{}\n", paint.red(&text))
    };
    lines.iter().map(line).collect()
}

/// The requests that wait, in the order in which they are served.
pub(crate) fn waiting(lines: &[WaitingLine], now: Timestamp) -> String {
    // A screen of them; a machine gets all.
    const SHOWN: usize = 20;
    if lines.is_empty() {
        return String::new();
    }
    let paint = Paint::for_standard_output();
    let heading = ["WAITING", "POOL", "TENANT", "SINCE"].map(str::to_owned);
    let row = |line: &WaitingLine| {
        [
            line.request.clone(),
            line.pool.to_string(),
            line.tenant.as_ref().map(ToString::to_string).unwrap_or_default(),
            line.since.map(|since| age(now.duration_since(since))).unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = std::iter::once(heading).chain(lines.iter().take(SHOWN).map(row)).collect();
    let table = output::table(&rows);
    let (head, rest) = table.split_once('\n').unwrap_or((&table, ""));
    let more = match lines.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("{}\n", paint.dim(&format!("and {more} more; -o json lists all"))),
    };
    format!("\n{}\n{rest}{more}", paint.bold(head))
}

/// Every finding with its remedy, how many there are, and how many more follow from the first.
pub(crate) fn complaints(complaints: &[Complaint], not_listed: usize) -> String {
    let paint = Paint::for_standard_output();
    let mut text = String::new();
    for Complaint { code, account: _, message, remedy } in complaints {
        text.push_str(&format!("{}: {message}\n  {} {remedy}\n", paint.red(code.as_str()), paint.dim("->")));
    }
    if not_listed > 0 {
        let more = counted(not_listed, "more finding");
        let line = format!("{more} about the ledger only follow from the first one; --all lists them");
        text.push_str(&format!("{}\n", paint.dim(&line)));
    }
    text.push_str(&match complaints.len() {
        0 => format!("{}\n", paint.green("all is well")),
        count => format!("{}\n", paint.red(&counted(count, "finding"))),
    });
    text
}

/// Prints the counts of old entries, then the entries, a line each.
pub(crate) fn history(months: &[MonthCount], entries: &[Entry]) -> String {
    let paint = Paint::for_standard_output();
    let heading = ["WHEN", "WHAT", "TENANT", "REQUEST", "BY", "WHY"].map(str::to_owned);
    let row = |entry: &Entry| {
        [
            entry.at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
            entry.event.to_string(),
            entry.tenant.as_ref().map(ToString::to_string).unwrap_or_default(),
            entry.request.clone().unwrap_or_default(),
            entry.by.clone(),
            entry.because.clone(),
        ]
    };
    let counted = |count: &MonthCount| {
        [
            count.month.clone(),
            format!("{} × {}", count.entries, count.event),
            count.tenant.as_ref().map(ToString::to_string).unwrap_or_default(),
            String::new(),
            String::new(),
            "counted by month".to_owned(),
        ]
    };
    let lines = months.iter().map(counted).chain(entries.iter().map(row));
    let rows: Vec<_> = std::iter::once(heading).chain(lines).collect();
    let table = output::table(&rows);
    let (head, rest) = table.split_once('\n').unwrap_or((&table, ""));
    format!("{}\n{rest}", paint.bold(head))
}

/// As kubectl says it.
pub(crate) fn age(time: SignedDuration) -> String {
    match time.as_secs() {
        seconds if seconds < 120 => format!("{}s", seconds.max(0)),
        seconds if seconds < 2 * 3600 => format!("{}m", seconds / 60),
        seconds if seconds < 48 * 3600 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use allotment_core::pool::{AccountName, Limit, PoolKey, RequestUid, Tenant};

    fn line(shoots: u32, limit: Option<u32>) -> AccountLine {
        AccountLine {
            account: AccountName::new("aws-01"),
            pool: None,
            state: "claimed",
            tenant: Some(Tenant::new("ga-1")),
            requests: Some(1),
            shoots,
            limit: limit.map(Limit),
            foreign: Some(0),
            since: None,
            quarantine: None,
            occupied: None,
        }
    }

    #[test]
    fn an_account_above_its_limit_stands_out() {
        let (full, above, alone) = (line(180, Some(180)), line(250, Some(180)), line(250, None));
        assert!(is_above_limit(&above) && !is_above_limit(&full) && !is_above_limit(&alone));
        let now = "2026-11-15T12:00:00Z".parse().unwrap();
        let table = accounts(&[full, above.clone(), alone], now);
        assert!(table.contains("180/180") && table.contains("250/180"), "{table}");
        let told = above_limit(&[&above]);
        assert_eq!(told, "account aws-01 of ga-1 is above its limit: 250/180 clusters\n");
    }

    #[test]
    fn whoever_waits_is_named_and_the_rest_is_counted() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        assert_eq!(waiting(&[], now), "");
        let pool = PoolKey { hyperscaler_type: "aws".to_owned(), shared: false, eu_access: true };
        let one = |number: usize| WaitingLine {
            pool: pool.clone(),
            request: format!("n/r{number}"),
            uid: RequestUid::new(format!("u{number}")),
            tenant: Some(Tenant::new("ga-1")),
            since: Some(now - SignedDuration::from_mins(5)),
        };
        let text = waiting(&[one(1)], now);
        assert_eq!(text, "\nWAITING  POOL      TENANT  SINCE\nn/r1     aws (EU)  ga-1    5m\n");
        let text = waiting(&(1..=23).map(one).collect::<Vec<_>>(), now);
        assert!(text.contains("n/r20") && !text.contains("n/r21"), "{text}");
        assert!(text.ends_with("and 3 more; -o json lists all\n"), "{text}");
    }
}
