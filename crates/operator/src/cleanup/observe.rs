//! Live reads of one account.

use super::{OpenAccount, ReconcileError, run::Inner};
use crate::{
    ledger::{CloudAccount, PastShoot},
    planted::Planted,
    runtime::call::call,
    subscription::{IDENTITY, PoolEntry},
};
use allotment_api::{gardener::Shoot, names::annotation};
use allotment_core::{
    cleanup::{
        AccountFacts, Cloud, Fleet, Identity, Keep, KindName, NotSupported, PoolDirt, ShootHistory, Stage,
    },
    pool::{AccountName, FenceRecord, PoolKey},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, api::ListParams};
use std::{collections::BTreeSet, time::Duration};

/// How long to wait for the cache to show the Shoots of now. A bookmark takes a second.
const CATCH_UP: Duration = Duration::from_secs(10);

/// A pool entry as the server has it now.
pub(super) struct LiveEntry {
    pub(super) entry: PoolEntry,
    /// The annotation that says why the account is stuck.
    pub(super) stuck: Option<String>,
}

impl Inner {
    /// A pool entry as it is now; none if it is gone.
    pub(super) async fn read_entry(
        &self,
        account: &AccountName,
    ) -> Result<Option<LiveEntry>, ReconcileError> {
        let metadata = self.entries.read(account).await?;
        Ok(metadata.map(|metadata| LiveEntry {
            stuck: metadata.annotations.as_ref().and_then(|all| all.get(annotation::CLEANUP_STUCK)).cloned(),
            entry: self.index().pool.read_entry(account, &metadata),
        }))
    }

    /// Everything that a decision about an account needs to know of it, by live reads.
    pub(super) async fn facts(
        &self,
        account: &AccountName,
        live: &LiveEntry,
        recorded: Option<&CloudAccount>,
    ) -> Result<AccountFacts, ReconcileError> {
        let entry = &live.entry.entry;
        let mut held = self.held(account);
        if self.planted.has(Planted::AnyCloudAccount) {
            held.reported = held.reported.and(recorded.map(|recorded| Ok(recorded.id.clone())));
        }
        // A value that is neither true nor false shares nothing, but nobody writes it to have the account emptied.
        let shared = live.entry.labels.get(&self.settings.labels.shared);
        let others = self.others_in_use(account, recorded).await?;
        Ok(AccountFacts {
            dirty: entry.dirty,
            shared: shared.is_some_and(|value| value != "false"),
            internal: entry.internal,
            quarantine: entry.quarantine.clone(),
            shoots: self.count_shoots_now(account).await?,
            assignments: self.count_assignments(account).await?,
            used_by: others.same,
            unidentified: others.unknown,
            cloud: self.cloud_of(account),
            identity: Identity {
                recorded: recorded.map(|recorded| recorded.id.clone()),
                reported: held.reported,
                unusable: held.unusable,
            },
        })
    }

    /// The cloud of an account, by the type of its pool.
    pub(super) fn cloud_of(&self, account: &AccountName) -> Result<Cloud, NotSupported> {
        self.index().pool.provider_of(account).unwrap_or_default().parse()
    }

    /// The Shoots in an account, by a cache that shows every Shoot that exists now.
    pub(super) async fn count_shoots_now(&self, account: &AccountName) -> Result<u32, ReconcileError> {
        let (is_reached, version) = self.shoots.reach_live(self.newest_shoots(), CATCH_UP).await?;
        if !is_reached {
            return Err(ReconcileError::Behind(version));
        }
        Ok(self.index().pool.count_shoots(account).all)
    }

    async fn newest_shoots(&self) -> Result<u64, ReconcileError> {
        let api: Api<Shoot> = Api::namespaced(self.garden.clone(), &self.settings.garden_namespace);
        let params = ListParams::default().limit(1);
        let list =
            call(|| "ask for the newest version of Shoots".to_owned(), api.list_metadata(&params)).await?;
        let version = list.metadata.resource_version.and_then(|version| version.parse().ok());
        Ok(version.unwrap_or(u64::MAX))
    }

    async fn count_assignments(&self, account: &AccountName) -> Result<u32, ReconcileError> {
        let twins = self.index().pool.twins_of(account);
        let mut count = 0;
        for account in std::iter::once(account.clone()).chain(twins) {
            let row = self.ledger.account(&account).await?;
            count += row.map_or(0, |row| u32::try_from(row.assignments.len()).unwrap_or(u32::MAX));
        }
        Ok(count)
    }

    /// Refuses a ledger that is not the one that the garden is served from: its assignments and account ids are another's.
    pub(super) async fn verify_ledger(&self) -> Result<(), ReconcileError> {
        let api: Api<ConfigMap> = Api::namespaced(self.garden.clone(), &self.settings.garden_namespace);
        let found = call(|| format!("read ConfigMap {IDENTITY}"), api.get_opt(IDENTITY)).await?;
        let own = self.ledger.identity().await?.uuid;
        let record = found.and_then(|map| map.data.as_ref().and_then(FenceRecord::read));
        match record {
            Some(record) if record.ledger == own => Ok(()),
            record => {
                let found = record.map_or_else(|| "none".to_owned(), |record| record.ledger);
                Err(ReconcileError::OtherLedger { config_map: IDENTITY, found, own })
            }
        }
    }

    /// All accounts, as far as the guards need them.
    pub(super) fn fleet(&self, pool: Option<&PoolKey>) -> Fleet {
        let index = self.index();
        let records = self.records();
        let stuck = records.iter().filter(|(_, record)| record.stage == Stage::Stuck);
        let stuck = stuck.filter_map(|(account, record)| Some((account.clone(), record.stuck.clone()?)));
        let is_here = |account: &AccountName| {
            let entry = index.pool.entry(account).map(|known| &known.entry);
            // The size of a pool does not count internal accounts, so neither does its share of dirty ones.
            entry.is_some_and(|entry| entry.dirty && !entry.internal && entry.pool.as_ref() == pool)
        };
        let dirty = records.iter().filter(|(account, _)| is_here(account));
        let size = pool.map(|pool| index.pool.size_of(pool).accounts).unwrap_or_default();
        Fleet {
            stuck: stuck.collect(),
            pool: PoolDirt {
                accounts: u32::try_from(size).unwrap_or(u32::MAX),
                dirty_since: dirty.map(|(account, record)| (account.clone(), record.began_at)).collect(),
            },
        }
    }

    /// How to open the account, with the names of its Shoots.
    pub(super) async fn how_to_open(
        &self,
        account: &AccountName,
        cloud: Cloud,
        recorded: Option<&CloudAccount>,
    ) -> Result<OpenAccount, ReconcileError> {
        let shoots = self.ledger.past_shoots(account).await?;
        let is_complete = recorded.is_some_and(|recorded| recorded.shoots_since.is_some());
        let history = if is_complete {
            ShootHistory::Complete(shoots.into_iter().map(|shoot| shoot.technical_id).collect())
        } else {
            ShootHistory::Incomplete
        };
        let credentials = self.index().pool.credentials_of(account);
        Ok(OpenAccount { name: account.clone(), cloud, credentials, history })
    }

    /// Ids that stay: those of the configuration, and existing networks that past Shoots named.
    pub(super) async fn keep(&self, account: &AccountName) -> Result<Keep, ReconcileError> {
        let mut keep = Keep::default();
        let policy = self.policy();
        for id in policy.keep.iter().filter(|_| !self.planted.has(Planted::KeepIgnored)) {
            keep.add(id, "the configuration names it (cleanup.keep)");
        }
        for PastShoot { technical_id, existing } in self.ledger.past_shoots(account).await? {
            for id in existing {
                keep.add(id, format!("the infrastructureConfig of {technical_id} names it as existing"));
            }
        }
        Ok(keep)
    }

    /// Kinds that the configuration declares absent in a cloud.
    pub(super) fn assumed_absent(&self, cloud: Cloud) -> BTreeSet<KindName> {
        self.policy().assume_absent.get(cloud.as_str()).cloned().unwrap_or_default()
    }
}
