//! Calls to an account in memory.

use super::{
    Faults, MemoryCloud,
    account::{Account, Shown},
    row,
};
use crate::{Answer, Caller, Cloud, Page, PageToken, Refusal};
use allotment_core::cleanup::{
    Cloud as CloudName, CloudAccountId, Count, CountKind, CountName, Item, Kind, KindName, Place, PlaceState,
    Scope, ShootHistory,
    attribute::{CLUSTER, DEFAULT},
    kinds::table,
};
use futures::{FutureExt, future::BoxFuture};
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::{Instant, sleep};

/// A client of one account in memory.
#[derive(Clone, Debug)]
pub struct MemoryClient {
    cloud: MemoryCloud,
    credentials_of: CloudAccountId,
    history: ShootHistory,
}

/// The account that a call acts on, and the faults of its credentials.
struct Target<'a> {
    account: &'a mut Account,
    faults: &'a mut Faults,
    now: Instant,
}

impl MemoryClient {
    pub(super) fn new(cloud: MemoryCloud, credentials_of: CloudAccountId, history: ShootHistory) -> Self {
        Self { cloud, credentials_of, history }
    }

    /// Makes one call. It acts when its time is over, so a call that nobody waits for did nothing.
    async fn call<T>(
        &self,
        permission: &str,
        act: impl FnOnce(Target<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let latency = self.cloud.lock().faults.get(&self.credentials_of).map(|faults| faults.latency);
        if let Some(latency) = latency.filter(|latency| !latency.is_zero()) {
            sleep(latency).await;
        }
        let (mut state, now) = (self.cloud.lock(), Instant::now());
        let state = &mut *state;
        state.calls += 1;
        let faults = state.faults.entry(self.credentials_of.clone()).or_default();
        faults.meet(permission)?;
        let acts_as = faults.acts_as.as_ref().unwrap_or(&self.credentials_of);
        let account = state.accounts.get_mut(acts_as).ok_or_else(|| Refusal::Other {
            code: "InvalidClientTokenId".to_owned(),
            message: "the cloud has no such account".to_owned(),
        })?;
        account.advance(now);
        act(Target { account, faults, now })
    }

    /// The names of items that can only be found by name; none for kinds that can be listed.
    fn names(&self, kind: &Kind) -> Result<Option<BTreeSet<String>>, Refusal> {
        if !matches!(kind.scope, Scope::ByName { .. }) {
            return Ok(None);
        }
        let names = kind.names(&self.history).ok_or_else(|| Refusal::Other {
            code: "HistoryIncomplete".to_owned(),
            message: format!("the history does not name all Shoots of the account: {}s", kind.name),
        })?;
        Ok(Some(names.into_iter().collect()))
    }

    async fn list_kind(
        &self,
        place: &Place,
        kind: &KindName,
        page: Option<&PageToken>,
    ) -> Result<Page, Refusal> {
        let kind = row(kind.as_str()).ok_or_else(|| Refusal::Other {
            code: "UnknownKind".to_owned(),
            message: format!("the table has no kind {kind}"),
        })?;
        let names = self.names(kind)?;
        let permission = kind.list.last().copied().unwrap_or_default();
        self.call(permission, |target| {
            target.faults.list(&kind.name(), permission)?;
            let shown = target.shown(place, |item| is_of(item, kind, names.as_ref()))?;
            let items = shown.into_iter().filter(|shown| !shown.is_hidden).map(|shown| shown.item);
            Ok(page_of(items.collect(), page, self.cloud.page_size))
        })
        .await
    }

    async fn count_one(&self, place: &Place, count: &CountKind) -> Result<BTreeSet<String>, Refusal> {
        let kinds: Vec<_> = count.of.iter().filter_map(|kind| row(kind)).collect();
        let names = kinds.iter().map(|kind| self.names(kind)).collect::<Result<Vec<_>, _>>()?;
        self.call(count.permission, |target| {
            target.faults.count(count)?;
            let is_counted = |item: &Item| {
                if count.of.is_empty() {
                    return is_tagged(item);
                }
                let mut kinds = kinds.iter().zip(&names);
                let is_default = item.attribute(DEFAULT) == Some("true");
                !is_default && kinds.any(|(kind, names)| is_of(item, kind, names.as_ref()))
            };
            // Tags are shown as long as their item is.
            let is_there = |shown: &Shown| count.of.is_empty() || !shown.is_gone;
            let counted = target.shown(place, is_counted)?.into_iter().filter(is_there);
            Ok(counted.map(|shown| shown.item.id.as_str().to_owned()).collect())
        })
        .await
    }
}

impl Target<'_> {
    fn is_enabled(&self, place: &Place) -> bool {
        self.account.places.contains(place) && !self.faults.disabled.contains(place)
    }

    fn usable(&self, place: &Place) -> Result<(), Refusal> {
        if place.is_global() || self.is_enabled(place) {
            return Ok(());
        }
        let message = format!("the account cannot use {place}");
        Err(Refusal::Other { code: "OptInRequired".to_owned(), message })
    }

    fn shown(&self, place: &Place, is_asked_for: impl Fn(&Item) -> bool) -> Result<Vec<Shown>, Refusal> {
        self.usable(place)?;
        Ok(self.account.shown(place, self.now, is_asked_for))
    }
}

fn is_of(item: &Item, kind: &Kind, names: Option<&BTreeSet<String>>) -> bool {
    item.kind.as_str() == kind.name && names.is_none_or(|names| names.contains(item.id.as_str()))
}

/// The items after the last one of the page before, in order of their ids: items that go in between hide no others.
fn page_of(items: Vec<Item>, after: Option<&PageToken>, size: usize) -> Page {
    let is_next = |item: &Item| after.is_none_or(|after| item.id.as_str() > after.0.as_str());
    let mut items: Vec<_> = items.into_iter().filter(is_next).collect();
    let is_last = items.len() <= size;
    items.truncate(size);
    let last = items.last().map(|item| PageToken(item.id.as_str().to_owned()));
    Page::Items { items, next: last.filter(|_| !is_last) }
}

/// EC2 lists the tags of its own kinds, also of those without a row in the table.
fn is_tagged(item: &Item) -> bool {
    let is_of_ec2 = row(item.kind.as_str())
        .is_none_or(|kind| kind.list.iter().all(|permission| permission.starts_with("ec2:")));
    is_of_ec2 && item.attribute(CLUSTER).is_some()
}

impl Cloud for MemoryClient {
    fn cloud(&self) -> CloudName {
        CloudName::Aws
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        let caller = |target: Target<'_>| {
            let account = target.account.id.clone();
            Ok(Caller { principal: format!("arn:aws:iam::{account}:user/gardener"), account })
        };
        self.call("sts:GetCallerIdentity", caller).boxed()
    }

    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        let places = |target: Target<'_>| {
            let state = |place: &Place| {
                let disabled = || PlaceState::Disabled { because: "not opted in".to_owned() };
                if target.is_enabled(place) { PlaceState::Enabled } else { disabled() }
            };
            Ok(target.account.places.iter().map(|place| (place.clone(), state(place))).collect())
        };
        self.call("ec2:DescribeRegions", places).boxed()
    }

    fn kinds(&self) -> Vec<KindName> {
        table(CloudName::Aws).kinds.iter().map(Kind::name).collect()
    }

    fn list<'a>(
        &'a self,
        place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page> {
        self.list_kind(place, kind, page).boxed()
    }

    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()> {
        let permission = row(item.kind.as_str()).and_then(|kind| kind.delete.first());
        let delete = |target: Target<'_>| {
            target.usable(&item.place)?;
            target.account.delete(&item.key(), target.now)?;
            target.faults.answer_deletion()
        };
        self.call(permission.copied().unwrap_or_default(), delete).boxed()
    }

    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
        async move {
            let mut counts = BTreeMap::new();
            for count in table(CloudName::Aws).counts {
                if matches!(count.scope, Scope::Regional) != place.is_global() {
                    let count_or_refusal = match self.count_one(place, count).await {
                        Ok(ids) => Count::Seen { ids },
                        Err(refusal) => Count::Refused {
                            because: refusal.to_string(),
                            missing: refusal.missing().map(str::to_owned),
                        },
                    };
                    counts.insert(count.name(), count_or_refusal);
                }
            }
            counts
        }
        .boxed()
    }
}
