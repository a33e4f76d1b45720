//! Several accounts of one cloud in one pool, each with a refusal of its own. All of them are used, returned and cleaned at the same time,
//! so that a case takes as long as its slowest account.

use crate::{
    overheard::{Log, Overheard, OwnClient, shows_no_secret},
    returned::{cleaner, policy, until},
    stage::{Fault, Running, Stage},
};
use allotment_api::{kyma::Provider, kyma::SubscriptionPhase, names::annotation};
use allotment_clouds::{Patience, http::Rates};
use allotment_core::{
    cleanup::{Cloud, GuardLimits, Mode, Timing},
    pool::{AccountName, Holding},
};
use allotment_operator::{
    cleanup::{GardenClouds, Policy},
    ledger::{About, Event},
};
use allotment_testing::{Landscape, cloud_script};
use k8s_openapi::api::{core::v1::Secret, events::v1::Event as GardenEvent};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// Deletions of the simulators end within a few calls. Those that fail late are waited for in vain.
const PATIENCE: Patience = Patience { most: Duration::from_millis(500), every: Duration::from_millis(50) };

/// The cloud of a pool.
pub struct Cleaned {
    pub provider: Provider,
    pub cloud: Cloud,
    pub endpoint: String,
    /// Words that nobody may tell: credentials, and how tokens and signatures begin.
    pub secrets: Vec<String>,
}

/// The data of a Secret, and its account in the environment of the scripts.
pub struct Entry {
    pub name: &'static str,
    pub keys: Value,
    pub environment: Vec<(&'static str, String)>,
    /// Arguments of `fill`; none if nothing is put into the account.
    pub fill: Option<Vec<&'static str>>,
}

/// A pool whose accounts all have a tenant.
pub struct Pool {
    stage: Stage,
    cloud: Cloud,
    entries: Vec<Entry>,
    secrets: Vec<String>,
    cleaner: Overheard,
    _subscriptions: Running,
}

/// All accounts return at once, and some refusals are alike. Two passes and two verdicts are enough where nothing changes by itself.
fn patient() -> Policy {
    let quick = policy(Mode::Delete);
    Policy {
        timing: Timing { passes: 2, disagreements: 2, ..quick.timing },
        limits: GuardLimits { same_refusal: usize::MAX, dirty_percent: 100 },
        ..quick
    }
}

impl Pool {
    /// Waits until the ids of all accounts are recorded, and everything that was in them; then tenants use all of them.
    pub async fn in_use(landscape: &Landscape, cleaned: Cleaned, entries: Vec<Entry>) -> Result<Self, Fault> {
        let Cleaned { provider, cloud, endpoint, secrets } = cleaned;
        let stage = Stage { provider, ..Stage::new(landscape).await? };
        let garden = &stage.plot.landscape.garden;
        let api: Api<Secret> = Api::namespaced(garden.clone(), &stage.plot.garden_namespace);
        for Entry { name, keys, .. } in &entries {
            stage.accounts(&[*name], json!({ "hyperscalerType": cloud.as_str() })).await?;
            let patch = json!({ "stringData": keys });
            api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        }
        let clouds = OwnClient::new(landscape, move |garden: Client| {
            // Each throttled call halves the rate of its place, for half a minute.
            let rates = Rates { reads: 1e6, writes: 1e6 };
            GardenClouds::new(garden, rates).with_endpoint(cloud, Some(endpoint.clone()))
        })?;
        let subscriptions = stage.start();
        let operator = cleaner(&stage, "cleaner", patient(), PATIENCE, Arc::new(clouds));
        let cleaner = Overheard::start(operator);
        let pool = Self { stage, cloud, entries, secrets, cleaner, _subscriptions: subscriptions };
        pool.each_is("taken in", async |account| {
            let recorded =
                pool.stage.ledger.cloud_account(account).await.map_err(|error| error.to_string())?;
            let has_baseline = recorded.is_some_and(|recorded| recorded.baseline.is_some());
            if has_baseline { Ok(()) } else { Err("no baseline".to_owned()) }
        })
        .await?;
        pool.claim().await?;
        Ok(pool)
    }

    fn accounts(&self) -> Vec<AccountName> {
        self.entries.iter().map(|entry| AccountName::new(entry.name)).collect()
    }

    async fn each_is(
        &self,
        what: &str,
        attempt: impl AsyncFn(&AccountName) -> Result<(), String>,
    ) -> Result<(), Fault> {
        for account in self.accounts() {
            until(&format!("{account} is {what}"), async || attempt(&account).await).await?;
        }
        Ok(())
    }

    async fn claim(&self) -> Result<(), Fault> {
        let stage = &self.stage;
        for number in 0..self.entries.len() {
            let (name, tenant) = (format!("first-{number}"), format!("ga-{number}"));
            let request = stage.ask(&name, &tenant).await?;
            let account = stage.bound(&name).await?;
            stage.shoot(&format!("c{number}"), &account, Some(&request)).await?;
        }
        self.each_is("used by a Shoot that is remembered", async |account| {
            let shoots = stage.ledger.past_shoots(account).await.map_err(|error| error.to_string())?;
            if shoots.is_empty() { Err("no Shoot".to_owned()) } else { Ok(()) }
        })
        .await
    }

    /// Fills the accounts through the SDK. Returns what it printed, in their order.
    pub fn fill(&self) -> Result<Vec<Value>, Fault> {
        let filled = self.entries.iter().filter_map(|entry| Some((entry, entry.fill.as_ref()?)));
        let each: Vec<Value> = filled
            .map(|(entry, arguments)| {
                let environment: serde_json::Map<String, Value> = entry
                    .environment
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), json!(value)))
                    .collect();
                json!({ "environment": environment, "arguments": arguments })
            })
            .collect();
        let (cloud, each) = (self.cloud.as_str(), json!(each).to_string());
        let printed = cloud_script(cloud, "../each", &[cloud, "fill"], &[("EACH", &each)])?;
        Ok(serde_json::from_value(printed)?)
    }

    /// All Shoots are force-deleted, so everything is left, and all requests are deleted.
    pub async fn give_back(&self) -> Result<(), Fault> {
        let stage = &self.stage;
        for number in 0..self.entries.len() {
            stage.delete_shoot(&format!("c{number}")).await?;
            stage.delete(&format!("first-{number}")).await?;
        }
        self.each_is("dirty", async |account| {
            let row = stage.ledger.account(account).await.map_err(|error| error.to_string())?;
            let holding = row.map(|row| row.holding);
            // It may have been cleaned meanwhile.
            let is_returned = matches!(holding, None | Some(Holding::Free | Holding::Dirty(_)));
            if is_returned { Ok(()) } else { Err(format!("{holding:?}")) }
        })
        .await
    }

    /// Waits until these accounts are stuck. What people see of each, which is the same in the annotation, the Event and the status,
    /// has all of these words.
    pub async fn are_stuck(&self, accounts: &[(&'static str, &[&str])]) -> Result<(), Fault> {
        let mut missing = Vec::new();
        for (name, words) in accounts {
            let told = self.stuck(name).await?;
            let absent = words.iter().filter(|word| !told.contains(**word));
            missing.extend(absent.map(|word| format!("{name}: {word:?} is not in {told:?}")));
        }
        assert!(missing.is_empty(), "{}", missing.join("\n"));
        Ok(())
    }

    /// The reason why an account is stuck, as all places tell it. Nobody called it clean before.
    async fn stuck(&self, name: &'static str) -> Result<String, Fault> {
        let (stage, account) = (&self.stage, AccountName::new(name));
        let api = stage.bindings();
        let told = until(&format!("{name} is stuck"), async || {
            let binding = api.get(name).await.map_err(|error| error.to_string())?;
            let told = binding.annotations().get(annotation::CLEANUP_STUCK).cloned();
            let cleaning = stage.ledger.cleaning(&account).await.map_err(|error| error.to_string())?;
            told.ok_or_else(|| format!("{:?} {cleaning:?}", binding.labels()))
        })
        .await?;
        stage.labelled(name, "dirty", Some("true")).await?;
        let record = stage.ledger.cleaning(&account).await?.ok_or("there is no record")?.record;
        assert_eq!(record.stuck.map(|stuck| stuck.to_string()).as_deref(), Some(told.as_str()));
        let garden = stage.plot.landscape.garden.clone();
        let events: Api<GardenEvent> = Api::namespaced(garden, &stage.plot.garden_namespace);
        until(&format!("an Event tells that {name} is stuck"), async || {
            let all = events.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
            let about = |event: &&GardenEvent| {
                event.regarding.as_ref().is_some_and(|regarding| regarding.name.as_deref() == Some(name))
                    && event.reason.as_deref() == Some("CleanupStuck")
            };
            let notes: Vec<_> = all.iter().filter(about).filter_map(|event| event.note.clone()).collect();
            if notes.contains(&told) { Ok(()) } else { Err(format!("{notes:?}")) }
        })
        .await?;
        let history = stage.ledger.history(About::Account(&account), 100).await?;
        assert!(history.iter().all(|entry| entry.event != Event::Cleaned), "{name}: {history:?}");
        assert!(stage.ledger.proof(&account).await?.is_none(), "{name} has a proof");
        Ok(told)
    }

    /// The first account that is proven empty goes to another tenant, and no other account goes to anybody.
    pub async fn only_is_handed_on(&self, name: &str) -> Result<(), Fault> {
        self.stage.ask("next", "gb-next").await?;
        assert_eq!(self.stage.bound("next").await?, name);
        self.stage.ask("waits", "gb-waits").await?;
        let request = self.stage.in_phase("waits", SubscriptionPhase::Waiting).await?;
        assert_eq!(request.status.and_then(|status| status.gardener_secret_name), None);
        Ok(())
    }

    /// The refusals are lifted, and a person asks for another attempt: all accounts go to other tenants.
    pub async fn others_are_handed_on(&self, already: &str) -> Result<(), Fault> {
        let stage = &self.stage;
        let patch = json!({ "metadata": { "annotations": { annotation::CLEANUP_STUCK: null } } });
        let names: BTreeSet<&str> =
            self.entries.iter().map(|entry| entry.name).filter(|name| *name != already).collect();
        for name in &names {
            stage.bindings().patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        }
        let mut bound = BTreeSet::new();
        for number in 1..names.len() {
            stage.ask(&format!("second-{number}"), &format!("gb-{number}")).await?;
        }
        let requests = (1..names.len()).map(|number| format!("second-{number}"));
        for request in requests.chain(["waits".to_owned()]) {
            let account = until(&format!("{request} has an account"), async || {
                let request = stage.requests().get(&request).await.map_err(|error| error.to_string())?;
                let status = request.status.unwrap_or_default();
                let is_bound = status.phase == Some(SubscriptionPhase::Bound);
                let account = status.gardener_secret_name.clone().filter(|_| is_bound);
                let seen = self.seen().await?;
                account.ok_or_else(|| format!("{:?}; {seen}", status.phase))
            })
            .await?;
            bound.insert(account);
        }
        assert_eq!(bound.iter().map(String::as_str).collect::<BTreeSet<_>>(), names);
        for account in self.accounts() {
            let proof = stage.ledger.proof(&account).await?.ok_or("there is no proof")?;
            assert_eq!(proof.digest, proof.proof.digest(), "{account}");
        }
        Ok(())
    }

    /// The reasons of all accounts that are stuck.
    async fn seen(&self) -> Result<String, String> {
        let cleanings = self.stage.ledger.cleanings().await.map_err(|error| error.to_string())?;
        let told = cleanings.into_iter().map(|(account, cleaning)| {
            let stuck = cleaning.record.stuck.map(|stuck| stuck.to_string());
            format!("{account} {}: {stuck:?}", cleaning.record.stage.as_str())
        });
        Ok(told.collect::<Vec<_>>().join("; "))
    }

    /// Ends the cleaner. Returns its log, in which, as in everything that it wrote, no secret is.
    pub async fn end(self) -> Result<Log, Fault> {
        let accounts = self.accounts();
        let log = self.cleaner.stop();
        shows_no_secret(&self.stage, &log, &accounts, &self.secrets).await?;
        Ok(log)
    }
}
