//! A small cloud behind the AWS accounts of the pool, in memory.

use super::GARDEN_NAMESPACE;
use allotment_api::{gardener::CredentialsBinding, names::pool};
use allotment_clouds::{
    Cloud,
    memory::{MemoryCloud, Nature, leftovers_of_shoot},
};
use allotment_core::{
    cleanup::{Cloud as CloudName, CloudAccountId, Place},
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
use kube::{Api, ResourceExt, api::ListParams};
use std::{sync::Arc, time::Duration};

/// The regions of every account.
const REGIONS: [&str; 2] = ["eu-central-1", "us-east-1"];

/// Long enough to see that deletions take time, short enough for a tour.
const SLOWEST: Duration = Duration::from_secs(1);

/// The accounts of AWS in the pool. Clones share them.
#[derive(Clone, Default)]
pub(super) struct SmallCloud(MemoryCloud);

impl SmallCloud {
    /// Puts everything into an account that a Shoot leaves behind if Gardener does not clean up. Returns the number of items.
    pub(super) fn leave_behind(&self, account: &AccountName, technical_id: &str) -> usize {
        let id = self.id(account);
        let leftovers = leftovers_of_shoot(technical_id, &Place::of(REGIONS[0]));
        let count = leftovers.len();
        for (item, nature) in leftovers {
            let delete_takes = nature.delete_takes.min(SLOWEST);
            self.0.put(&id, item, Nature { delete_takes, ..nature });
        }
        count
    }

    /// Everything that is really there and did not come with the account.
    pub(super) fn leftovers(&self, account: &AccountName) -> usize {
        self.0.leftovers(&self.id(account)).len()
    }

    /// The account number behind a pool entry.
    pub(super) fn id(&self, account: &AccountName) -> CloudAccountId {
        let id = account_number(account);
        self.0.add_account(id.clone(), REGIONS.map(Place::of));
        id
    }

    fn client(&self, account: &OpenAccount) -> Result<Arc<dyn Cloud>, OpenError> {
        let OpenAccount { name, cloud, history, .. } = account;
        if *cloud != CloudName::Aws {
            return Err(OpenError::Unusable(format!("the demo has no {}", cloud.as_str())));
        }
        Ok(Arc::new(self.0.client(&self.id(name), history.clone())))
    }
}

impl Clouds for SmallCloud {
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>> {
        async move { self.client(&account) }.boxed()
    }
}

/// The cloud, and the ledger that says what was done in it.
#[derive(Clone)]
pub(super) struct Cleaning {
    pub(super) cloud: SmallCloud,
    pub(super) ledger: Ledger,
}

impl Cleaning {
    /// Records the account ids of accounts that are dirty from the beginning, as `allotment cleanup baseline` does.
    pub(super) async fn record_dirty(&self, landscape: &Landscape) -> Result<()> {
        let selector = format!("{}=true,{}=aws", pool::DIRTY, pool::HYPERSCALER_TYPE);
        let bindings: Api<CredentialsBinding> = Api::namespaced(landscape.garden.clone(), GARDEN_NAMESPACE);
        let dirty = bindings.list_metadata(&ListParams::default().labels(&selector)).await;
        for binding in dirty.context("cannot list the accounts")? {
            let account = AccountName::new(binding.name_any());
            let (id, now) = (self.cloud.id(&account), Timestamp::now());
            let recorded = CloudAccount {
                id,
                recorded_at: now,
                recorded_by: "the demo".to_owned(),
                baseline: None,
                shoots_since: Some(now),
            };
            self.ledger.record_cloud_account_once(&account, &recorded).await?;
        }
        Ok(())
    }
}

/// Twelve digits that follow from the name: a demo that goes on finds the ids that it recorded.
fn account_number(account: &AccountName) -> CloudAccountId {
    const PRIME: u64 = 0x100_0000_01b3;
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    let bytes = account.as_str().bytes();
    let hash = bytes.fold(START, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    CloudAccountId::new(format!("{:012}", hash % 1_000_000_000_000))
}
