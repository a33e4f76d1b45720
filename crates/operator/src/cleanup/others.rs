//! Other pool entries that are the same account of the cloud. Labels and Secrets do not tell: the cloud is asked.

use super::{ReconcileError, run::Inner};
use crate::{ledger::CloudAccount, subscription::CredentialsName};
use allotment_core::{
    cleanup::{Cloud, CloudAccountId},
    pool::AccountName,
};
use futures::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// An answer is used for so long: somebody may replace the credentials of an entry at any time, and asking all of them before every
/// wave would cost more than the cleaning.
const FRESH: SignedDuration = SignedDuration::from_mins(10);

/// So many entries are asked about at once.
const AT_ONCE: usize = 32;

/// Entries in use, seen from an account that is to be emptied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Others {
    /// They are the same account of the cloud.
    pub(super) same: Vec<String>,
    /// Nobody knows whether they are, because.
    pub(super) unknown: Vec<(String, String)>,
}

/// The accounts of the cloud that an entry leads to, or was recorded for; a reason if neither is known.
type Ids = Result<BTreeSet<CloudAccountId>, String>;

/// The accounts of the cloud behind entries in use, as the cloud reported them to this process.
#[derive(Debug, Default)]
pub(super) struct Asked(tokio::sync::Mutex<BTreeMap<AccountName, Answer>>);

#[derive(Clone, Debug)]
struct Answer {
    ids: Ids,
    credentials: Option<CredentialsName>,
    at: Timestamp,
}

impl Inner {
    /// Other entries in use that are the same account of the cloud, or may be.
    pub(super) async fn others_in_use(
        &self,
        account: &AccountName,
        recorded: Option<&CloudAccount>,
    ) -> Result<Others, ReconcileError> {
        let assigned = self.ledger.assigned_accounts().await?;
        let twins = self.index().pool.twins_of(account);
        let (mut others, mut to_ask) = (Others::default(), Vec::new());
        for other in self.in_use(account, &assigned) {
            if twins.contains(&other) {
                others.same.push(other.to_string());
            } else if self.cloud_of(&other).is_ok() && self.cloud_of(&other) == self.cloud_of(account) {
                to_ask.push(other);
            }
        }
        let (Ok(cloud), Some(recorded)) = (self.cloud_of(account), recorded) else { return Ok(others) };
        for (other, ids) in self.ids_of(cloud, to_ask).await? {
            match ids {
                Ok(ids) if ids.contains(&recorded.id) => others.same.push(other.to_string()),
                Ok(_) => (),
                Err(because) => others.unknown.push((other.to_string(), because)),
            }
        }
        Ok(others)
    }

    /// Entries that somebody uses: a tenant's, shared and internal ones, and all with a Shoot or a request in them, whatever their labels.
    fn in_use(&self, account: &AccountName, assigned: &BTreeSet<AccountName>) -> Vec<AccountName> {
        let index = self.index();
        let others = index.pool.entries().filter(|(other, _)| *other != account);
        let is_in_use = |other: &AccountName, entry: &allotment_core::pool::Entry| {
            let is_held = !entry.dirty && (entry.tenant.is_some() || !entry.is_dedicated());
            is_held || assigned.contains(other) || index.pool.count_shoots(other).all > 0
        };
        others
            .filter(|(other, known)| is_in_use(other, &known.entry))
            .map(|(other, _)| other.clone())
            .collect()
    }

    /// The accounts of the cloud behind each entry.
    async fn ids_of(
        &self,
        cloud: Cloud,
        entries: Vec<AccountName>,
    ) -> Result<BTreeMap<AccountName, Ids>, ReconcileError> {
        // Whoever comes meanwhile waits for the same answers.
        let mut asked = self.asked.0.lock().await;
        let now = self.clock.now();
        let credentials_of = |entry: &AccountName| self.index().pool.credentials_of(entry);
        let is_fresh = |entry: &AccountName| {
            asked.get(entry).is_some_and(|answer| {
                now.duration_since(answer.at) < FRESH && answer.credentials == credentials_of(entry)
            })
        };
        let due: Vec<AccountName> = entries.iter().filter(|entry| !is_fresh(entry)).cloned().collect();
        let asking: Vec<_> = due.into_iter().map(|entry| self.ask_for_ids(cloud, entry)).collect();
        let answers: Vec<_> = stream::iter(asking).buffer_unordered(AT_ONCE).collect().await;
        for answer in answers {
            let (entry, ids) = answer?;
            let credentials = credentials_of(&entry);
            asked.insert(entry, Answer { ids, credentials, at: now });
        }
        Ok(entries
            .into_iter()
            .filter_map(|entry| asked.get(&entry).map(|it| (entry, it.ids.clone())))
            .collect())
    }

    async fn ask_for_ids(
        &self,
        cloud: Cloud,
        entry: AccountName,
    ) -> Result<(AccountName, Ids), ReconcileError> {
        let recorded = self.ledger.cloud_account(&entry).await?;
        let how = self.how_to_open(&entry, cloud, recorded.as_ref()).await?;
        let reported = match self.clouds.open(how).await {
            Ok(client) => {
                let caller = self.identified(&*client).await;
                caller.map(|caller| caller.account).map_err(|refusal| refusal.to_string())
            }
            Err(super::OpenError::Unusable(because)) => Err(because),
            Err(error) => return Err(error.into()),
        };
        let recorded = recorded.map(|recorded| recorded.id);
        let ids = match (reported, recorded) {
            (Err(because), None) => Err(because),
            // Credentials that were replaced lead to another account, and the clusters may still be in the recorded one.
            (reported, recorded) => Ok(reported.ok().into_iter().chain(recorded).collect()),
        };
        Ok((entry, ids))
    }
}
