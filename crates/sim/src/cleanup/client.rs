//! Clients of the cloud in memory. Between them and the cloud stand the same faults as between operators and servers.

use super::{ACCOUNT, truth};
use crate::stage::{
    call::{Role, Side},
    coverage,
    rates::Kind,
    script::Harm,
    wire::Wire,
    world::{NAMESPACE, World},
};
use allotment_clouds::{Answer, Caller, Cloud, Page, PageToken, Refusal, memory::MemoryClient};
use allotment_core::{
    cleanup::{
        Cloud as CloudName, CloudAccountId, Count, CountName, Item, KindName, Place, PlaceState, kinds::table,
    },
    pool::AccountName,
};
use allotment_operator::{
    cleanup::{Clouds, OpenAccount, OpenError},
    runtime::call::call,
    subscription::CredentialsName,
};
use futures::{
    FutureExt,
    future::{BoxFuture, pending},
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::sleep;

/// How long a call that is not answered is waited for.
const DEADLINE: Duration = Duration::from_secs(30);

/// Reads that fail are tried again at once. The product tries five times; with two, listings with gaps happen.
const TRIES: usize = 2;

/// The clouds, as one process sees them.
pub(super) struct SimClouds {
    pub(super) world: Arc<World>,
    pub(super) replica: usize,
}

impl Clouds for SimClouds {
    fn open(&self, account: OpenAccount) -> BoxFuture<'_, Result<Arc<dyn Cloud>, OpenError>> {
        async move {
            let (world, replica) = (self.world.clone(), self.replica);
            let Some(CredentialsName { namespace, name, .. }) = account.credentials else {
                return Err(OpenError::Unusable("it has no Secret".to_owned()));
            };
            let garden = Client::new(Wire::new(&world, Side::Garden, Role::Cleanup, replica), NAMESPACE);
            let api: Api<Secret> = Api::namespaced(garden, &namespace);
            let secret = call(|| format!("read Secret {namespace}/{name}"), api.get_opt(&name)).await?;
            let data = secret.and_then(|secret| secret.data).unwrap_or_default();
            let id = data.get(ACCOUNT).and_then(|id| String::from_utf8(id.0.clone()).ok());
            let Some(id) = id.map(CloudAccountId::new) else {
                return Err(OpenError::Unusable(format!("Secret {namespace}/{name} names no account")));
            };
            let inner = world.cloud.client(account.cloud, &id, account.history);
            let client: Arc<dyn Cloud> =
                Arc::new(SimCloud { world, replica, entry: account.name, id, inner });
            Ok(client)
        }
        .boxed()
    }
}

/// A client for one pool entry.
struct SimCloud {
    world: Arc<World>,
    replica: usize,
    entry: AccountName,
    id: CloudAccountId,
    inner: MemoryClient,
}

impl SimCloud {
    /// The way to the cloud.
    async fn before(&self, operation: &'static str, kind: Kind) -> Result<Option<Harm>, Refusal> {
        let Self { world, replica, entry, .. } = self;
        let (harm, latency) = world.begin(*replica, operation, "any", kind);
        world.tried(operation, "any", harm);
        world.tell(|| format!("operator {replica} {operation} of {entry} {}", coverage::word(harm)));
        sleep(Duration::from_millis(latency)).await;
        let refused = match harm {
            Some(Harm::Delay { time }) => {
                sleep(Duration::from_millis(time)).await;
                None
            }
            Some(Harm::Refuse { code: 429 }) => Some(Refusal::Throttled { after: None }),
            Some(Harm::Refuse { .. } | Harm::LoseRequest) => Some(broken()),
            Some(Harm::HangBefore) => {
                sleep(DEADLINE).await;
                Some(broken())
            }
            Some(Harm::CrashBefore) => {
                world.crash(*replica);
                None
            }
            _ => None,
        };
        if world.is_crashed(*replica) {
            return pending().await;
        }
        refused.map_or(Ok(harm), Err)
    }

    /// The way back.
    async fn after<T>(&self, harm: Option<Harm>, answer: Result<T, Refusal>) -> Result<T, Refusal> {
        match harm {
            Some(Harm::LoseAnswer | Harm::RefuseAfter { .. }) => Err(broken()),
            Some(Harm::HangAfter) => {
                sleep(DEADLINE).await;
                Err(broken())
            }
            Some(Harm::CrashAfter) => {
                self.world.crash(self.replica);
                pending().await
            }
            _ => answer,
        }
    }

    async fn whoami_once(&self) -> Result<Caller, Refusal> {
        let harm = self.before("identify cloud account", Kind::Read).await?;
        let answer = self.inner.whoami().await;
        self.after(harm, answer).await
    }

    async fn places_once(&self) -> Result<BTreeMap<Place, PlaceState>, Refusal> {
        let harm = self.before("ask for regions", Kind::Read).await?;
        let answer = self.inner.places().await;
        self.after(harm, answer).await
    }

    async fn list_once(
        &self,
        place: &Place,
        kind: &KindName,
        page: Option<&PageToken>,
    ) -> Result<Page, Refusal> {
        let harm = self.before("page of items", Kind::Read).await?;
        let answer = self.inner.list(place, kind, page).await;
        self.after(harm, answer).await
    }

    async fn delete_once(&self, item: &Item) -> Result<(), Refusal> {
        let Self { world, replica, entry, id, .. } = self;
        let wave = table(self.inner.cloud()).kind(item.kind.as_str()).map_or(0, |kind| kind.wave);
        let forgiven_from = truth::begins_to_delete(world, *replica, entry, wave);
        let harm = self.before("delete item", Kind::Write).await?;
        let stays = truth::why_it_stays(world, *replica, entry, id, &item.key());
        let accepted_before = world.cloud.deletions(id).len();
        let answer = self.inner.delete(item).await;
        if world.cloud.deletions(id).len() > accepted_before {
            world.tell(|| format!("operator {replica} deletes {} for {entry} in {id}", item.key()));
            truth::has_deleted(world, entry, id, &item.key(), forgiven_from, stays);
        }
        self.after(harm, answer).await
    }

    async fn counts_once(&self, place: &Place) -> Result<BTreeMap<CountName, Count>, Refusal> {
        let harm = self.before("count items", Kind::Read).await?;
        let answer = Ok(self.inner.counts(place).await);
        self.after(harm, answer).await
    }
}

impl Cloud for SimCloud {
    fn cloud(&self) -> CloudName {
        self.inner.cloud()
    }

    fn whoami(&self) -> Answer<'_, Caller> {
        async move {
            truth::begins_to_list(&self.world, self.replica, &self.entry);
            for _ in 1..TRIES {
                match self.whoami_once().await {
                    Err(refusal) if is_retried(&refusal) => (),
                    answer => return answer,
                }
            }
            self.whoami_once().await
        }
        .boxed()
    }

    fn places(&self) -> Answer<'_, BTreeMap<Place, PlaceState>> {
        async move {
            for _ in 1..TRIES {
                match self.places_once().await {
                    Err(refusal) if is_retried(&refusal) => (),
                    answer => return answer,
                }
            }
            self.places_once().await
        }
        .boxed()
    }

    fn kinds(&self) -> Vec<KindName> {
        self.inner.kinds()
    }

    fn list<'a>(
        &'a self,
        place: &'a Place,
        kind: &'a KindName,
        page: Option<&'a PageToken>,
    ) -> Answer<'a, Page> {
        async move {
            truth::reads(&self.world, self.replica, &self.entry);
            for _ in 1..TRIES {
                match self.list_once(place, kind, page).await {
                    Err(refusal) if is_retried(&refusal) => (),
                    answer => return answer,
                }
            }
            self.list_once(place, kind, page).await
        }
        .boxed()
    }

    fn delete<'a>(&'a self, item: &'a Item) -> Answer<'a, ()> {
        self.delete_once(item).boxed()
    }

    fn counts<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, BTreeMap<CountName, Count>> {
        async move {
            for _ in 1..TRIES {
                if let Ok(counts) = self.counts_once(place).await {
                    return counts;
                }
            }
            self.counts_once(place).await.unwrap_or_default()
        }
        .boxed()
    }
}

fn is_retried(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Transient { .. } | Refusal::Throttled { .. })
}

fn broken() -> Refusal {
    Refusal::Transient { why: "the connection broke".to_owned() }
}
