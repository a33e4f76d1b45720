//! Small clouds behind the accounts of the pool, in memory.

use super::GARDEN_NAMESPACE;
use allotment_api::{
    gardener::{CredentialsBinding, Shoot},
    names::pool,
};
use allotment_clouds::{
    Cloud,
    memory::{MemoryCloud, Nature, leftovers_of_shoot},
    take_inventory, take_witness,
};
use allotment_core::{
    cleanup::{Baseline, Cloud as CloudName, CloudAccountId, Place, ShootHistory},
    pool::AccountName,
};
use allotment_garden::landscape::Landscape;
use allotment_operator::{
    cleanup::{Clouds, OpenAccount, OpenError},
    ledger::{CloudAccount, Ledger},
};
use anyhow::{Context, Result};
use futures::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use kube::{Api, Client, ResourceExt, api::ListParams};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::time::sleep;

/// Two regions of every account: Shoots are in the first one.
const fn regions(cloud: CloudName) -> [&'static str; 2] {
    match cloud {
        CloudName::Aws | CloudName::Alicloud => ["eu-central-1", "us-east-1"],
        CloudName::Azure => ["westeurope", "eastus"],
        CloudName::Gcp => ["europe-west1", "us-east1"],
        CloudName::OpenStack => ["eu-de-1", "eu-de-2"],
    }
}

/// Long enough to see that deletions take time, short enough for a tour.
const SLOWEST: Duration = Duration::from_secs(1);

/// Shoots take longer than this to grow, so their items are there before they are.
const EVERY: Duration = Duration::from_secs(1);

/// The accounts of the pool, whatever their cloud. Clones share them.
#[derive(Clone, Default)]
pub(super) struct SmallCloud(MemoryCloud);

impl SmallCloud {
    /// Puts everything into an account that a Shoot leaves behind if Gardener does not clean up. Returns the number of items.
    pub(super) fn leave_behind(&self, cloud: CloudName, account: &AccountName, technical_id: &str) -> usize {
        let (id, [region, _]) = (self.id(cloud, account), regions(cloud));
        let leftovers = leftovers_of_shoot(cloud, &id, technical_id, &Place::of(region));
        let count = leftovers.len();
        for (item, nature) in leftovers {
            let delete_takes = nature.delete_takes.min(SLOWEST);
            self.0.put(&id, item, Nature { delete_takes, ..nature });
        }
        count
    }

    /// Everything that is really there and did not come with the account.
    pub(super) fn leftovers(&self, cloud: CloudName, account: &AccountName) -> usize {
        self.0.leftovers(&self.id(cloud, account)).len()
    }

    /// The account number behind a pool entry.
    fn id(&self, cloud: CloudName, account: &AccountName) -> CloudAccountId {
        let id = account_number(account);
        self.0.add_account(cloud, id.clone(), regions(cloud).map(Place::of));
        id
    }
}

impl Clouds for SmallCloud {
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>> {
        let OpenAccount { name, cloud, history, .. } = account;
        let client: Arc<dyn Cloud> = Arc::new(self.0.client(cloud, &self.id(cloud, &name), history));
        async move { Ok(client) }.boxed()
    }
}

/// The cloud, and the ledger that says what was done in it.
#[derive(Clone)]
pub(super) struct Cleaning {
    pub(super) cloud: SmallCloud,
    pub(super) ledger: Ledger,
}

impl Cleaning {
    /// Records the accounts that are there from the beginning, as `allotment cleanup baseline` does: some of them are in use, so the operator does
    /// not know whether the others were.
    pub(super) async fn record_accounts(&self, landscape: &Landscape) -> Result<()> {
        let bindings: Api<CredentialsBinding> = Api::namespaced(landscape.garden.clone(), GARDEN_NAMESPACE);
        let all = bindings.list(&ListParams::default()).await;
        for binding in all.context("cannot list the accounts")? {
            let account = AccountName::new(binding.name_any());
            let Ok(cloud) = binding.spec.provider.type_.parse() else { continue };
            if self.ledger.cloud_account(&account).await?.is_some() {
                continue;
            }
            let (id, now) = (self.cloud.id(cloud, &account), Timestamp::now());
            let is_used =
                [pool::TENANT_NAME, pool::DIRTY].iter().any(|key| binding.labels().contains_key(*key));
            let baseline = match is_used {
                true => None,
                false => {
                    let client = self.cloud.0.client(cloud, &id, ShootHistory::Complete(BTreeSet::new()));
                    let inventory = take_inventory(&client, &Timestamp::now).await?;
                    let witness = take_witness(&client, &inventory, &Timestamp::now).await;
                    Some(Baseline::take(&inventory, Some(&witness)))
                }
            };
            let recorded = CloudAccount {
                id,
                recorded_at: now,
                recorded_by: "the demo".to_owned(),
                baseline,
                shoots_since: Some(now),
            };
            self.ledger.record_cloud_account_once(&account, &recorded).await?;
        }
        Ok(())
    }

    /// Puts the items of every Shoot into its account, for as long as the demo runs: Gardener leaves all of them behind.
    pub(super) async fn follow_shoots(self, garden: Client) {
        let shoots: Api<Shoot> = Api::namespaced(garden, GARDEN_NAMESPACE);
        let mut known = BTreeSet::new();
        loop {
            // A list that fails is made again: nobody waits for it.
            for shoot in shoots.list(&ListParams::default()).await.into_iter().flatten() {
                let cloud = shoot.spec.provider.type_.parse();
                let (Ok(cloud), Some(account)) = (cloud, &shoot.spec.credentials_binding_name) else {
                    continue;
                };
                if known.insert(shoot.uid()) {
                    let account = AccountName::new(account.as_str());
                    self.cloud.leave_behind(cloud, &account, &technical_id(&shoot.name_any()));
                }
            }
            sleep(EVERY).await;
        }
    }
}

/// The name that Gardener gives to everything that it makes for a Shoot of the pool's project.
pub(super) fn technical_id(shoot: &str) -> String {
    format!("shoot--{}--{shoot}", GARDEN_NAMESPACE.trim_start_matches("garden-"))
}

/// Twelve digits that follow from the name: a demo that goes on finds the ids that it recorded.
fn account_number(account: &AccountName) -> CloudAccountId {
    const PRIME: u64 = 0x100_0000_01b3;
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    let bytes = account.as_str().bytes();
    let hash = bytes.fold(START, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    CloudAccountId::new(format!("{:012}", hash % 1_000_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use allotment_clouds::{Patience, delete_all, take_inventory};
    use allotment_core::cleanup::{Keep, ShootHistory, TechnicalId, plan};

    /// Whatever the cloud of an account of the pool: the operator can plan what a Shoot leaves there, and delete it.
    #[tokio::test(start_paused = true)]
    async fn accounts_of_every_cloud_can_be_cleaned() {
        let (small, shoot) = (SmallCloud::default(), technical_id("c1"));
        assert_eq!(shoot, "shoot--kyma--c1");
        for cloud in CloudName::ALL {
            let name = AccountName::new(format!("{cloud}-01"));
            let left = small.leave_behind(cloud, &name, &shoot);
            assert!(left > 20 && small.leftovers(cloud, &name) == left, "{cloud}: {left}");
            let history = ShootHistory::Complete([TechnicalId::new(shoot.as_str())].into());
            let account = OpenAccount { name: name.clone(), cloud, credentials: None, history };
            let client = small.open(account).await.unwrap();
            assert_eq!(client.places().await.unwrap().len(), 2);
            for _ in 0..6 {
                let inventory = take_inventory(&*client, &Timestamp::now).await.unwrap();
                let plan = plan(&inventory, &Keep::default(), None);
                assert!(plan.immovable.is_empty() && plan.unknown.is_empty(), "{cloud}: {plan:?}");
                delete_all(&*client, &plan, Patience::default()).await;
                sleep(SLOWEST).await;
            }
            assert_eq!(small.leftovers(cloud, &name), 0, "{cloud}");
        }
    }
}
