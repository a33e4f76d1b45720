//! Accounts in memory, cleaned by the same code as real ones.

mod blocking;
mod cleaning;
mod every_cloud;
mod faults;

use super::*;
use crate::{Cloud, Patience, Refusal, delete_all, take_inventory, take_witness};
use allotment_core::cleanup::{
    Inventory, ItemId, Keep, KindName, Plan, Question, RefusedItem, TechnicalId, Verdict, Witness, attribute,
    plan, verdict,
};
use jiff::{SignedDuration, Timestamp};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::sleep;

const SHOOT: &str = "shoot--p--c";
const HERE: Place = Place::of("eu-1");
const THERE: Place = Place::of("us-1");
const SETTLE: SignedDuration = SignedDuration::from_mins(10);

/// More passes than the leftovers of a Shoot need.
const MOST_PASSES: usize = 6;

fn account() -> CloudAccountId {
    CloudAccountId::of("123456789012")
}

fn history() -> ShootHistory {
    ShootHistory::Complete([TechnicalId::of(SHOOT)].into_iter().collect())
}

/// A cloud with one account of AWS, in two places.
fn fresh() -> MemoryCloud {
    let cloud = MemoryCloud::new();
    cloud.add_account(CloudName::Aws, account(), [HERE, THERE]);
    cloud
}

/// What a Shoot leaves in that account.
fn left_by_shoot() -> Vec<(Item, Nature)> {
    leftovers_of_shoot(CloudName::Aws, &account(), SHOOT, &HERE)
}

/// The same with the leftovers of a Shoot.
fn filled() -> MemoryCloud {
    let cloud = fresh();
    for (item, nature) in left_by_shoot() {
        cloud.put(&account(), item, nature);
    }
    cloud
}

/// An item that Gardener tagged.
fn tagged(kind: &'static str, id: &str) -> Item {
    Item::new(KindName::of(kind), HERE, ItemId::new(id)).with(attribute::CLUSTER, SHOOT)
}

fn keys(items: &[Item]) -> BTreeSet<ItemKey> {
    items.iter().map(Item::key).collect()
}

/// A whole cleaning.
struct Cleaned {
    passes: Vec<Vec<RefusedItem>>,
    second: Inventory,
    witness: Witness,
    verdict: Verdict,
}

/// Cleans accounts by a clock that only the runtime moves.
struct Cleaner {
    client: MemoryClient,
    start: Instant,
}

impl Cleaner {
    fn of(cloud: &MemoryCloud) -> Self {
        Self::on(cloud, CloudName::Aws)
    }

    fn on(cloud: &MemoryCloud, name: CloudName) -> Self {
        Self { client: cloud.client(name, &account(), history()), start: Instant::now() }
    }

    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::try_from(self.start.elapsed()).unwrap()
    }

    async fn list(&self) -> Inventory {
        take_inventory(&self.client, &|| self.now()).await.unwrap()
    }

    async fn plan(&self) -> Plan {
        plan(&self.list().await, &Keep::default(), None)
    }

    /// Deletes until a listing finds nothing, lists again after the settle time, and judges.
    async fn clean(&self) -> Cleaned {
        let mut passes = Vec::new();
        let mut first = self.list().await;
        while passes.len() < MOST_PASSES {
            let plan = plan(&first, &Keep::default(), None);
            if plan.remaining().is_empty() {
                break;
            }
            passes.push(delete_all(&self.client, &plan, Patience::default()).await);
            sleep(Duration::from_secs(20)).await;
            first = self.list().await;
        }
        sleep(Duration::from_secs(600)).await;
        let second = self.list().await;
        let witness = take_witness(&self.client, &second, &|| self.now()).await;
        let verdict = verdict(&Question {
            first: &first,
            second: &second,
            witness: &witness,
            keep: &Keep::default(),
            baseline: None,
            settle: SETTLE,
            assume_absent: &BTreeSet::new(),
        });
        Cleaned { passes, second, witness, verdict }
    }
}
