//! What was in the garden at any time: an attempt that has an effect for a moment is not refused.

use super::{Done, table::Facts, world::World};
use allotment_api::gardener::{CredentialsBinding, Shoot};
use futures::StreamExt;
use kube::{
    Api, ResourceExt,
    api::{WatchEvent, WatchParams},
};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::task::JoinHandle;

/// Shoots with their accounts, and accounts with their holders.
pub struct History {
    seen: Arc<Mutex<BTreeSet<Fact>>>,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    Shoot { uid: String, account: String, is_deleted: bool },
    Account { name: String, holder: String, is_dirty: bool },
}

impl Drop for History {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl History {
    pub async fn of(world: &World) -> Done<Self> {
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let (garden, namespace) = (&world.plot.landscape.garden, &world.plot.garden_namespace);
        let shoots =
            follow(Api::<Shoot>::namespaced(garden.clone(), namespace), &seen, |shoot| Fact::Shoot {
                uid: shoot.uid().unwrap_or_default(),
                account: shoot.spec.credentials_binding_name.clone().unwrap_or_default(),
                is_deleted: shoot.metadata.deletion_timestamp.is_some(),
            });
        let bindings = Api::<CredentialsBinding>::namespaced(garden.clone(), namespace);
        let accounts = follow(bindings, &seen, |binding| {
            let label = |key: &str| binding.labels().get(key).cloned().unwrap_or_default();
            Fact::Account {
                name: binding.name_any(),
                holder: label("tenantName"),
                is_dirty: label("dirty") == "true",
            }
        });
        Ok(Self { tasks: vec![shoots.await?, accounts.await?], seen })
    }

    /// Everything that should never have been.
    pub fn faults(&self, facts: &Facts) -> Vec<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(!seen.is_empty(), "nothing was watched");
        let is_fault = |fact: &Fact| match fact {
            Fact::Shoot { uid, account, is_deleted } => {
                let is_victims = *uid == facts.shoot.uid;
                is_victims != (*account == facts.account) || is_victims && *is_deleted
            }
            Fact::Account { name, holder, is_dirty } => {
                let is_victims = *name == facts.account;
                let known = ["", "victim", "intruder", "landlord"].contains(&holder.as_str());
                is_victims != (holder == "victim") || is_victims && *is_dirty || !known
            }
        };
        seen.into_iter().filter(is_fault).map(|fact| format!("there was {fact:?}")).collect()
    }
}

async fn follow<K>(
    api: Api<K>,
    seen: &Arc<Mutex<BTreeSet<Fact>>>,
    fact: impl Fn(&K) -> Fact + Send + 'static,
) -> Done<JoinHandle<()>>
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let events = api.watch(&WatchParams::default().timeout(290), "0").await?.boxed();
    let seen = seen.clone();
    Ok(tokio::spawn(events.for_each(move |event| {
        if let Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) = event {
            seen.lock().unwrap_or_else(PoisonError::into_inner).insert(fact(&object));
        }
        std::future::ready(())
    })))
}
