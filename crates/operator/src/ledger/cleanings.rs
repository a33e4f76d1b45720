//! The cleaning of returned accounts: account ids of the cloud, baselines, past Shoots, stages, proofs.
//!
//! A write is conditional on the version of its row, not on an epoch: the cleaner has a Lease of its own, and it never
//! hands anything out. Of two leaders one gets [`LedgerError::Changed`] and begins again with a listing.

use super::{
    Ledger, LedgerError, Mode,
    store::{Row, Value},
    transaction::{Transaction, time},
};
use allotment_core::{
    cleanup::{Baseline, CloudAccountId, Proof, Record, TechnicalId},
    pool::AccountName,
};
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::{BTreeMap, BTreeSet};

/// The account of the cloud behind a pool entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudAccount {
    /// The id that the cloud reported.
    pub id: CloudAccountId,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// The process or person that recorded it.
    pub recorded_by: String,
    /// The items that were there before the first tenant.
    pub baseline: Option<Baseline>,
    /// [`Ledger::past_shoots`] has every Shoot since then; none: some may be missing.
    pub shoots_since: Option<Timestamp>,
}

/// A Shoot that an account has, or has had since it was last proven empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PastShoot {
    /// Its technical id.
    pub technical_id: TechnicalId,
    /// The ids of existing networks and the like that its infrastructureConfig names.
    pub existing: BTreeSet<String>,
}

/// The cleaning of an account, with the version that the next write is conditional on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaning {
    /// The version.
    pub version: i64,
    /// The record.
    pub record: Record,
}

/// A stored proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredProof {
    /// When it was stored.
    pub proven_at: Timestamp,
    /// Its SHA-256.
    pub digest: String,
    /// The proof.
    pub proof: Proof,
}

impl Ledger {
    /// The account of the cloud behind an entry.
    pub async fn cloud_account(&self, account: &AccountName) -> Result<Option<CloudAccount>, LedgerError> {
        in_transaction!(read self, "read a cloud account", |transaction| cloud_account(transaction, account))
    }

    /// Every entry whose account of the cloud is recorded.
    pub async fn recorded_accounts(&self) -> Result<BTreeSet<AccountName>, LedgerError> {
        in_transaction!(read self, "read the recorded accounts", |transaction| async {
            const SQL: &str = "SELECT account FROM cloud_accounts WHERE garden = $1 AND project = $2";
            let rows = transaction.query(SQL, &[]).await?;
            rows.iter().map(|row| row.text(0).map(AccountName::new)).collect()
        })
    }

    /// The entries that lead to an account of the cloud.
    pub async fn entries_of(&self, id: &CloudAccountId) -> Result<Vec<AccountName>, LedgerError> {
        in_transaction!(read self, "read the entries of a cloud account", |transaction| async {
            const SQL: &str = "SELECT account FROM cloud_accounts \
                 WHERE garden = $1 AND project = $2 AND cloud_account = $3 ORDER BY account";
            let rows = transaction.query(SQL, &[Value::from(id.as_str())]).await?;
            rows.iter().map(|row| row.text(0).map(AccountName::new)).collect()
        })
    }

    /// Accounts of the cloud that several entries are recorded for.
    pub async fn shared_cloud_accounts(
        &self,
    ) -> Result<BTreeMap<CloudAccountId, BTreeSet<AccountName>>, LedgerError> {
        in_transaction!(read self, "read the entries of cloud accounts", |transaction| async {
            const SQL: &str = "SELECT one.cloud_account, one.account FROM cloud_accounts one \
                 WHERE one.garden = $1 AND one.project = $2 AND EXISTS (SELECT 1 FROM cloud_accounts other \
                 WHERE other.garden = one.garden AND other.project = one.project \
                 AND other.cloud_account = one.cloud_account AND other.account <> one.account)";
            let mut shared: BTreeMap<CloudAccountId, BTreeSet<AccountName>> = BTreeMap::new();
            for row in &transaction.query(SQL, &[]).await? {
                let entries = shared.entry(CloudAccountId::new(row.text(0)?)).or_default();
                entries.insert(AccountName::new(row.text(1)?));
            }
            Ok(shared)
        })
    }

    /// Records the account of the cloud behind an entry, in the place of an earlier record.
    pub async fn record_cloud_account(
        &self,
        account: &AccountName,
        recorded: &CloudAccount,
    ) -> Result<(), LedgerError> {
        in_transaction!(write self, "record a cloud account", recorded.recorded_at, |transaction| {
            record_cloud_account(transaction, account, recorded).await
        })
    }

    /// Records the account of the cloud behind an entry, unless something is recorded: a person may have been faster.
    pub async fn record_cloud_account_once(
        &self,
        account: &AccountName,
        recorded: &CloudAccount,
    ) -> Result<(), LedgerError> {
        in_transaction!(write self, "record a new cloud account", recorded.recorded_at, |transaction| {
            match cloud_account(transaction, account).await? {
                Some(_) => Ok(()),
                None => record_cloud_account(transaction, account, recorded).await,
            }
        })
    }

    /// Adds a baseline to the record of an account, unless it has one, or is of another account by now.
    pub async fn add_baseline(
        &self,
        account: &AccountName,
        baseline: &Baseline,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        in_transaction!(write self, "add a baseline", now, |transaction| {
            const SQL: &str = "UPDATE cloud_accounts SET baseline = $5 WHERE garden = $1 AND project = $2 \
                 AND account = $3 AND cloud_account = $4 AND baseline IS NULL";
            let text = json(transaction, baseline)?;
            let parameters = [account.as_str(), baseline.account.as_str(), &text].map(Value::from);
            transaction.query(SQL, &parameters).await.map(drop)
        })
    }

    /// The Shoots that an account has, or has had since it was last proven empty.
    pub async fn past_shoots(&self, account: &AccountName) -> Result<Vec<PastShoot>, LedgerError> {
        in_transaction!(read self, "read past Shoots", |transaction| async {
            const SQL: &str = "SELECT technical_id, existing FROM past_shoots \
                 WHERE garden = $1 AND project = $2 AND account = $3 ORDER BY technical_id";
            let rows = transaction.query(SQL, &[Value::from(account.as_str())]).await?;
            rows.iter().map(past_shoot).collect()
        })
    }

    /// Remembers that a Shoot is in an account.
    pub async fn remember_shoot(
        &self,
        account: &AccountName,
        shoot: &PastShoot,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        in_transaction!(write self, "remember a Shoot", now, |transaction| {
            const SQL: &str = "INSERT INTO past_shoots (garden, project, account, technical_id, existing, seen_at) \
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (garden, project, account, technical_id) \
                 DO UPDATE SET existing = excluded.existing, seen_at = excluded.seen_at";
            let existing = json(transaction, &shoot.existing)?;
            let words = [account.as_str(), shoot.technical_id.as_str(), &existing].map(Value::from);
            let parameters: Vec<Value> = words.into_iter().chain([time(now)]).collect();
            transaction.query(SQL, &parameters).await.map(drop)
        })
    }

    /// The cleaning of an account; none if there is none.
    pub async fn cleaning(&self, account: &AccountName) -> Result<Option<Cleaning>, LedgerError> {
        in_transaction!(read self, "read a cleaning", |transaction| async {
            const SQL: &str = "SELECT version, record FROM cleanings \
                 WHERE garden = $1 AND project = $2 AND account = $3";
            let rows = transaction.query(SQL, &[Value::from(account.as_str())]).await?;
            rows.first().map(|row| cleaning(row, 0)).transpose()
        })
    }

    /// All cleanings, by account.
    pub async fn cleanings(&self) -> Result<Vec<(AccountName, Cleaning)>, LedgerError> {
        in_transaction!(read self, "read the cleanings", |transaction| async {
            const SQL: &str = "SELECT account, version, record FROM cleanings \
                 WHERE garden = $1 AND project = $2 ORDER BY account";
            let rows = transaction.query(SQL, &[]).await?;
            rows.iter().map(|row| Ok((AccountName::new(row.text(0)?), cleaning(row, 1)?))).collect()
        })
    }

    /// Writes the record of a cleaning, if its version is still this one (none: there is no record). Returns the new version.
    pub async fn write_cleaning(
        &self,
        account: &AccountName,
        expected: Option<i64>,
        record: &Record,
        now: Timestamp,
    ) -> Result<i64, LedgerError> {
        in_transaction!(write self, "write a cleaning", now, |transaction| {
            write_cleaning(transaction, account, expected, record).await
        })
    }

    /// Writes the record together with the proof that it relies on.
    pub async fn write_proof(
        &self,
        account: &AccountName,
        expected: Option<i64>,
        record: &Record,
        proof: &Proof,
        now: Timestamp,
    ) -> Result<i64, LedgerError> {
        in_transaction!(write self, "write a proof", now, |transaction| {
            const SQL: &str = "INSERT INTO proofs (garden, project, account, proven_at, digest, proof) \
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (garden, project, account) DO UPDATE \
                 SET proven_at = excluded.proven_at, digest = excluded.digest, proof = excluded.proof";
            let version = write_cleaning(transaction, account, expected, record).await?;
            let text = json(transaction, proof)?;
            let digest = proof.digest();
            let parameters =
                [Value::from(account.as_str()), time(now), Value::from(digest.as_str()), Value::from(text.as_str())];
            transaction.query(SQL, &parameters).await?;
            Ok(version)
        })
    }

    /// Ends a cleaning. Shoots that were seen before `proven_at` are forgotten: the account is proven not to hold anything of
    /// theirs. Without it they are remembered.
    pub async fn end_cleaning(
        &self,
        account: &AccountName,
        expected: i64,
        proven_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        in_transaction!(write self, "end a cleaning", now, |transaction| {
            end_cleaning(transaction, account, expected, proven_at).await
        })
    }

    /// The last proof that an account was empty.
    pub async fn proof(&self, account: &AccountName) -> Result<Option<StoredProof>, LedgerError> {
        in_transaction!(read self, "read a proof", |transaction| async {
            const SQL: &str = "SELECT proven_at, digest, proof FROM proofs \
                 WHERE garden = $1 AND project = $2 AND account = $3";
            let rows = transaction.query(SQL, &[Value::from(account.as_str())]).await?;
            let stored = |row: &Row| {
                let (proven_at, digest) = (row.time(0)?, row.text(1)?.to_owned());
                Ok(StoredProof { proven_at, digest, proof: parsed(row, 2)? })
            };
            rows.first().map(stored).transpose()
        })
    }
}

async fn cloud_account(
    transaction: &mut Transaction,
    account: &AccountName,
) -> Result<Option<CloudAccount>, LedgerError> {
    const SQL: &str = "SELECT cloud_account, recorded_at, recorded_by, baseline, shoots_since FROM cloud_accounts \
         WHERE garden = $1 AND project = $2 AND account = $3";
    let rows = transaction.query(SQL, &[Value::from(account.as_str())]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(CloudAccount {
        id: CloudAccountId::new(row.text(0)?),
        recorded_at: row.time(1)?,
        recorded_by: row.text(2)?.to_owned(),
        baseline: row.maybe_text(3)?.map(|_| parsed(row, 3)).transpose()?,
        shoots_since: row.maybe_text(4)?.map(|_| row.time(4)).transpose()?,
    }))
}

async fn record_cloud_account(
    transaction: &mut Transaction,
    account: &AccountName,
    recorded: &CloudAccount,
) -> Result<(), LedgerError> {
    const SQL: &str = "INSERT INTO cloud_accounts \
         (garden, project, account, cloud_account, recorded_at, recorded_by, baseline, shoots_since) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (garden, project, account) DO UPDATE \
         SET cloud_account = excluded.cloud_account, recorded_at = excluded.recorded_at, \
         recorded_by = excluded.recorded_by, baseline = excluded.baseline, shoots_since = excluded.shoots_since";
    let CloudAccount { id, recorded_at, recorded_by, baseline, shoots_since } = recorded;
    let baseline = baseline.as_ref().map(|baseline| json(transaction, baseline)).transpose()?;
    let parameters = [
        Value::from(account.as_str()),
        Value::from(id.as_str()),
        time(*recorded_at),
        Value::from(recorded_by.as_str()),
        Value::from(baseline.as_deref()),
        shoots_since.map_or(Value::Null, time),
    ];
    transaction.query(SQL, &parameters).await.map(drop)
}

async fn write_cleaning(
    transaction: &mut Transaction,
    account: &AccountName,
    expected: Option<i64>,
    record: &Record,
) -> Result<i64, LedgerError> {
    const FIRST: &str = "INSERT INTO cleanings (garden, project, account, version, record) \
         VALUES ($1, $2, $3, 1, $4) ON CONFLICT DO NOTHING RETURNING version";
    const NEXT: &str = "UPDATE cleanings SET version = version + 1, record = $4 \
         WHERE garden = $1 AND project = $2 AND account = $3 AND version = $5 RETURNING version";
    let record = json(transaction, record)?;
    let mut parameters = vec![Value::from(account.as_str()), Value::from(record.as_str())];
    parameters.extend(expected.map(Value::from));
    let rows = transaction.query(if expected.is_some() { NEXT } else { FIRST }, &parameters).await?;
    match rows.first() {
        Some(row) => row.int(0),
        None => Err(LedgerError::Changed { account: account.clone() }),
    }
}

async fn end_cleaning(
    transaction: &mut Transaction,
    account: &AccountName,
    expected: i64,
    proven_at: Option<Timestamp>,
) -> Result<(), LedgerError> {
    const END: &str = "DELETE FROM cleanings \
         WHERE garden = $1 AND project = $2 AND account = $3 AND version = $4 RETURNING version";
    const FORGET: &str =
        "DELETE FROM past_shoots WHERE garden = $1 AND project = $2 AND account = $3 AND seen_at < $4";
    // A proof covers everything, also Shoots that nobody had seen: names that nobody knows are unknown cells, not proven ones.
    const SINCE: &str = "UPDATE cloud_accounts SET shoots_since = $4 \
         WHERE garden = $1 AND project = $2 AND account = $3 AND shoots_since IS NOT NULL";
    let name = Value::from(account.as_str());
    if transaction.query(END, &[name.clone(), Value::from(expected)]).await?.is_empty() {
        return Err(LedgerError::Changed { account: account.clone() });
    }
    let Some(proven_at) = proven_at else { return Ok(()) };
    transaction.query(FORGET, &[name.clone(), time(proven_at)]).await?;
    transaction.query(SINCE, &[name, time(proven_at)]).await.map(drop)
}

fn cleaning(row: &Row, first: usize) -> Result<Cleaning, LedgerError> {
    Ok(Cleaning { version: row.int(first)?, record: parsed(row, first + 1)? })
}

fn past_shoot(row: &Row) -> Result<PastShoot, LedgerError> {
    Ok(PastShoot { technical_id: TechnicalId::new(row.text(0)?), existing: parsed(row, 1)? })
}

fn parsed<T: DeserializeOwned>(row: &Row, column: usize) -> Result<T, LedgerError> {
    serde_json::from_str(row.text(column)?).map_err(|_| row.broken(column, "JSON of this version"))
}

fn json<T: Serialize>(transaction: &Transaction, value: &T) -> Result<String, LedgerError> {
    serde_json::to_string(value)
        .map_err(|error| transaction.broken(&format!("JSON cannot be written: {error}")))
}
