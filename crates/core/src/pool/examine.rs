//! What a doctor would say of the pool: everything that a person should see to, with the remedy.

use super::{
    AccountName, Ailment, Complaint, Entry, Holding, LabelKeys, Occupied, PoolKey, Twin, is_contested,
    stands_for,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Cleaning takes hours at most; who waits longer has been forgotten.
const LONG: SignedDuration = SignedDuration::from_hours(24);

/// A Shoot that goes, or a cloud that does not answer, keeps an account from being cleaned for minutes.
const WAITS_LONG: SignedDuration = SignedDuration::from_mins(15);

/// An account, as far as a doctor looks at it.
#[derive(Clone, Debug)]
pub struct Patient<'a> {
    /// Which.
    pub account: &'a AccountName,
    /// What its labels say.
    pub entry: &'a Entry,
    /// The labels themselves.
    pub labels: &'a BTreeMap<String, String>,
    /// The Secret behind it, if it is known not to exist.
    pub missing_secret: Option<String>,
    /// What the ledger says, and since when.
    pub holding: Option<(&'a Holding, Timestamp)>,
    /// The reason why its cleaning is stuck, with the remedy.
    pub stuck: Option<&'a str>,
    /// The reason why it may not be cleaned now, and since when.
    pub waits: Option<(&'a str, Timestamp)>,
}

impl Patient<'_> {
    /// Everything that is the matter with one account.
    pub fn complaints(&self, keys: &LabelKeys, now: Timestamp) -> Vec<Complaint> {
        let Self { account, entry, labels, missing_secret, holding, stuck, waits } = self;
        let mut found = Vec::new();
        let mut say = |code, message: String, remedy: String| {
            found.push(Complaint { code, account: Some((*account).clone()), message, remedy });
        };
        if let Some(why) = entry.stranded(labels, keys) {
            let (message, remedy) = why.split_once("; ").unwrap_or((&why, "correct the label"));
            say(Ailment::Stranded, format!("account {account} {message}"), remedy.to_owned());
        }
        if let Some(secret) = missing_secret {
            let message = format!("Secret {secret} behind account {account} does not exist");
            say(
                Ailment::MissingSecret,
                message,
                "make it again, or take the entry out of the pool".to_owned(),
            );
        }
        if let Some(why) = &entry.quarantine {
            let remedy = format!(
                "repair it, then remove the annotation {}",
                allotment_api::names::annotation::QUARANTINE
            );
            say(Ailment::Quarantined, format!("account {account} is in quarantine: {why}"), remedy);
        }
        if let Some(stuck) = stuck.filter(|_| entry.dirty) {
            let message = format!("the cleaning of account {account} is stuck: {stuck}");
            say(Ailment::CleanupStuck, message, format!("see `allotment cleanup plan {account}`"));
        }
        let waits = waits.filter(|(_, since)| entry.dirty && now.duration_since(*since) > WAITS_LONG);
        if let Some((because, since)) = waits {
            let minutes = now.duration_since(since).as_secs() / 60;
            let message =
                format!("the cleaning of account {account} has waited {minutes} minutes: {because}");
            let remedy = "remove the cause; it goes on within a minute".to_owned();
            say(Ailment::CleanupWaits, message, remedy);
        }
        let dirty_since = match holding {
            Some((Holding::Dirty(_), since)) if entry.dirty => Some(*since),
            _ => None,
        };
        if let Some(since) = dirty_since.filter(|since| now.duration_since(*since) > LONG) {
            let hours = now.duration_since(since).as_hours();
            let message = format!("account {account} has waited {hours} hours to be cleaned");
            let remedy = format!("clean it, then remove the labels {} and {}", keys.dirty, keys.tenant_name);
            say(Ailment::DirtyForLong, message, remedy);
        }
        found
    }
}

/// Several entries with the same credentials: one account.
pub fn same_credentials(credential: &str, twins: &[Twin<'_>]) -> Complaint {
    let names: Vec<&str> = twins.iter().map(|twin| twin.account.as_str()).collect();
    let first = names.first().map(|name| AccountName::new(*name));
    let message = format!("entries {} have the same credentials ({credential})", names.join(", "));
    let remedy = match stands_for(twins) {
        _ if is_contested(twins) => {
            "one account is used in two ways and gets nothing new: move the clusters of one side, then delete its entry"
                .to_owned()
        }
        Some(one) => format!("only {one} is handed out: give the others credentials of their own, or delete them"),
        None => "give each credentials of its own, or delete all but one".to_owned(),
    };
    Complaint { code: Ailment::SameCredentials, account: first, message, remedy }
}

/// Several entries that are recorded as one account of the cloud.
pub fn same_cloud_account(id: &str, entries: &BTreeSet<AccountName>) -> Complaint {
    let names: Vec<&str> = entries.iter().map(AccountName::as_str).collect();
    Complaint {
        code: Ailment::SameCloudAccount,
        account: entries.first().cloned(),
        message: format!("entries {} are one account of the cloud ({id})", names.join(", ")),
        remedy: "while one is in use, the others are neither handed out nor cleaned: delete all but one, or correct their credentials and run \
                 `allotment cleanup baseline` for each"
            .to_owned(),
    }
}

/// An account that nobody holds, with Shoots in it.
pub fn occupied_account(account: &AccountName, why: &Occupied, shoots: &[&str]) -> Complaint {
    let named = if shoots.is_empty() { String::new() } else { format!(" ({})", shoots.join(", ")) };
    let message = format!("account {account} is occupied: it {why}{named}");
    let remedy = match why {
        Occupied::EntryGone(other) => {
            format!("make {other} again with its tenant's label, or delete the requests that have it if nobody uses them")
        }
        Occupied::Requests(_) => {
            "label the account with the tenant of the requests, or delete the requests if nobody uses them"
                .to_owned()
        }
        _ => "label the account with the tenant of the Shoots, or have their owner remove them if nobody uses them".to_owned(),
    };
    Complaint { code: Ailment::Occupied, account: Some(account.clone()), message, remedy }
}

/// The word for the state of an account: by the ledger, where it says something, else by the labels. `is_occupied` matters only
/// where both leave it to whoever asks next.
pub fn state(entry: &Entry, holding: Option<&Holding>, is_occupied: bool) -> &'static str {
    let is_held = holding.is_some_and(|holding| *holding != Holding::Free);
    match holding {
        _ if entry.internal => "internal",
        _ if entry.quarantine.is_some() => "quarantined",
        _ if is_occupied && !is_held => "occupied",
        _ if entry.is_shared() => "shared",
        Some(holding) if *holding != Holding::Free => holding.as_str(),
        _ if entry.dirty => "dirty",
        _ if entry.tenant.is_some() => "claimed",
        // A label like `dirty=false` keeps it from being found.
        _ if !entry.selectable => "stranded",
        _ => "free",
    }
}

/// A pool in numbers. Internal accounts do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolSummary {
    /// Which.
    #[serde(flatten)]
    pub pool: PoolKey,
    /// All of its accounts.
    pub total: usize,
    /// Those that can be had.
    pub free: usize,
    /// Those of tenants.
    pub claimed: usize,
    /// Those that wait to be cleaned, or are about to.
    pub dirty: usize,
    /// Those that take no new clusters.
    pub quarantined: usize,
    /// Those that nobody holds and nobody gets: a Shoot is in them, or another entry has the same credentials.
    pub occupied: usize,
    /// The requests that wait.
    pub waiting: u64,
}

/// Sums up. Pools that somebody waits for are there even if they have no account.
pub fn summarize<'a>(
    accounts: impl Iterator<Item = (&'a Entry, Option<&'a Holding>, bool)>,
    waiting: &BTreeMap<PoolKey, u64>,
) -> Vec<PoolSummary> {
    let blank = |pool: &PoolKey| PoolSummary {
        pool: pool.clone(),
        total: 0,
        free: 0,
        claimed: 0,
        dirty: 0,
        quarantined: 0,
        occupied: 0,
        waiting: waiting.get(pool).copied().unwrap_or_default(),
    };
    let mut pools: BTreeMap<PoolKey, PoolSummary> =
        waiting.keys().map(|pool| (pool.clone(), blank(pool))).collect();
    for (entry, holding, is_occupied) in accounts {
        let Some(pool) = entry.pool.as_ref().filter(|_| !entry.internal) else { continue };
        let summary = pools.entry(pool.clone()).or_insert_with(|| blank(pool));
        summary.total += 1;
        match state(entry, holding, is_occupied) {
            "claiming" | "claimed" => summary.claimed += 1,
            "draining" | "dirty" => summary.dirty += 1,
            "quarantined" => summary.quarantined += 1,
            "occupied" => summary.occupied += 1,
            "free" | "shared" => summary.free += 1,
            _ => (),
        }
    }
    pools.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Tenant;

    fn read(labels: &[(&str, &str)], quarantine: Option<&str>) -> (Entry, BTreeMap<String, String>) {
        let labels: BTreeMap<String, String> =
            labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        (Entry::read(&labels, quarantine, &LabelKeys::default()), labels)
    }

    #[test]
    fn every_ailment_of_an_account_is_told_with_its_remedy() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let day_before: Timestamp = "2026-11-13T12:00:00Z".parse().unwrap();
        let dirty = Holding::Dirty(None);
        for (labels, quarantine, missing, holding, expected) in [
            (&[("hyperscalerType", "aws")][..], None, None, None, ""),
            (
                &[],
                None,
                None,
                None,
                "stranded: account a has no label hyperscalerType; set hyperscalerType=<provider>",
            ),
            (
                &[("hyperscalerType", "aws"), ("dirty", "false")],
                None,
                None,
                None,
                "stranded: account a is in no pool: the label dirty=\"false\" counts as set, whatever its value; \
                 remove the label or set it to \"true\"",
            ),
            (
                &[("hyperscalerType", "aws")],
                None,
                Some("n/s"),
                None,
                "missing-secret: Secret n/s behind account a does not exist; make it again, or take the entry out of the \
                 pool",
            ),
            (
                &[("hyperscalerType", "aws")],
                Some("refused"),
                None,
                None,
                "quarantined: account a is in quarantine: refused; repair it, then remove the annotation \
                 allotment.dev/quarantine",
            ),
            (&[("hyperscalerType", "aws"), ("dirty", "true")], None, None, Some((&dirty, now)), ""),
            (
                &[("hyperscalerType", "aws"), ("dirty", "true")],
                None,
                None,
                Some((&dirty, day_before)),
                "dirty-for-long: account a has waited 48 hours to be cleaned; clean it, then remove the labels dirty and \
                 tenantName",
            ),
        ] {
            let (entry, labels) = read(labels, quarantine);
            let account = AccountName::new("a");
            let missing_secret = missing.map(ToOwned::to_owned);
            let patient = Patient {
                account: &account,
                entry: &entry,
                labels: &labels,
                missing_secret,
                holding,
                stuck: None,
                waits: None,
            };
            let found: Vec<String> =
                patient.complaints(&LabelKeys::default(), now).iter().map(ToString::to_string).collect();
            assert_eq!(found.join("\n"), expected);
        }
    }

    #[test]
    fn a_cleaning_that_is_stuck_is_told_while_the_account_is_dirty() {
        let (aws, now) = (("hyperscalerType", "aws"), "2026-11-15T12:00:00Z".parse().unwrap());
        let account = AccountName::new("a");
        let complaints = |labels: &[(&str, &str)]| -> Vec<String> {
            let (entry, labels) = read(labels, None);
            let stuck = Some("volume vol-1 is locked; unlock it");
            let (missing_secret, holding, waits) = (None, None, None);
            let (entry, labels) = (&entry, &labels);
            let patient = Patient { account: &account, entry, labels, missing_secret, holding, stuck, waits };
            patient.complaints(&LabelKeys::default(), now).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            complaints(&[aws, ("dirty", "true")]),
            [
                "cleanup-stuck: the cleaning of account a is stuck: volume vol-1 is locked; unlock it; see `allotment cleanup plan a`"
            ]
        );
        assert!(complaints(&[aws]).is_empty());
    }

    #[test]
    fn a_cleaning_that_waits_for_long_is_told() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let (entry, labels) = read(&[("hyperscalerType", "aws"), ("dirty", "true")], None);
        let complaints = |minutes: i64| -> Vec<String> {
            let since = now - SignedDuration::from_mins(minutes);
            let patient = Patient {
                account: &AccountName::new("a"),
                entry: &entry,
                labels: &labels,
                missing_secret: None,
                holding: None,
                stuck: None,
                waits: Some(("b is the same cloud account, and in use", since)),
            };
            patient.complaints(&LabelKeys::default(), now).iter().map(ToString::to_string).collect()
        };
        assert!(complaints(15).is_empty(), "it may be a matter of minutes");
        assert_eq!(
            complaints(16),
            [
                "cleanup-waits: the cleaning of account a has waited 16 minutes: b is the same cloud account, and in use; remove the \
                 cause; it goes on within a minute"
            ]
        );
    }

    #[test]
    fn a_pool_is_summed_up() {
        let (aws, t) = (("hyperscalerType", "aws"), Tenant::new("t"));
        let (free, _) = read(&[aws], None);
        let (claimed, _) = read(&[aws, ("tenantName", "t")], None);
        let (dirty, _) = read(&[aws, ("dirty", "true")], None);
        let (internal, _) = read(&[aws, ("internal", "true")], None);
        let (stranded, _) = read(&[aws, ("dirty", "false")], None);
        let (broken, _) = read(&[aws], Some("why"));
        let (shared, _) = read(&[aws, ("shared", "true")], None);
        for (labels, expected) in [
            (&[("dirty", "true")][..], "dirty"),
            (&[("tenantName", "t"), ("dirty", "false")], "claimed"),
            (&[], "stranded"),
            (&[aws, ("dirty", "false")], "stranded"),
            (&[aws, ("shared", "true"), ("internal", "false")], "internal"),
        ] {
            assert_eq!(state(&read(labels, None).0, None, false), expected, "{labels:?}");
        }
        let claiming = Holding::Claiming(t);
        let accounts = [
            (&free, None, false),
            (&free, None, true),
            (&free, Some(&claiming), true),
            (&claimed, None, false),
            (&dirty, None, false),
            (&internal, None, false),
            (&stranded, None, false),
            (&broken, None, false),
            (&shared, None, false),
        ];
        let pool =
            |type_: &str, shared| PoolKey { hyperscaler_type: type_.to_owned(), shared, eu_access: false };
        let waiting = BTreeMap::from([(pool("gcp", false), 3)]);
        let summary = summarize(accounts.into_iter(), &waiting);
        let numbers: Vec<_> = summary
            .iter()
            .map(|s| {
                let numbers = [s.total, s.free, s.claimed, s.dirty, s.quarantined, s.occupied];
                (s.pool.to_string(), numbers, s.waiting)
            })
            .collect();
        assert_eq!(
            numbers,
            [
                ("aws".to_owned(), [7, 1, 2, 1, 1, 1], 0),
                ("aws (shared)".to_owned(), [1, 1, 0, 0, 0, 0], 0),
                ("gcp".to_owned(), [0, 0, 0, 0, 0, 0], 3)
            ]
        );
    }
}
