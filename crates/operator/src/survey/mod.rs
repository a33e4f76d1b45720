//! Everything read once, for people who ask about the pool: entries, Shoots and requests as the operator sees them, and
//! the ledger if there is one. Nothing is written.

mod clusters;
mod secrets;

use crate::{
    ledger::{Account, Cleaning, Ledger, LedgerError},
    runtime::{
        call::{CallError, call},
        keep::Index as _,
    },
    subscription::{Followed, Index, Settings},
};
use allotment_api::{
    gardener::{CredentialsBinding, SecretBinding, Shoot},
    kyma::{BindingKind, SubscriptionPhase, SubscriptionRequest},
};
use allotment_core::{
    check::Seat,
    cleanup::{CloudAccountId, Stage},
    cluster::flow::forget_managed_fields,
    pool::{
        AccountName, Accounts, Ailment, Asked, Complaint, Grown, Limit, MultiAccount, NotReady, Occupied,
        Patient, PoolKey, PoolSummary, RequestUid, Row, Sides, Tenant, Traces, compare, occupied_account,
        same_cloud_account, same_credentials, state, summarize,
    },
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ListParams, ObjectList},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

/// As many objects come with one answer.
const PAGE: u32 = 500;

/// Where to look.
pub struct Sources<'a> {
    /// Where accounts and Shoots are.
    pub garden: Client,
    /// Where requests are; none: they are not looked at.
    pub control_plane: Option<Client>,
    /// Who sits where; none: labels have to do.
    pub ledger: Option<&'a Ledger>,
    /// What the pool is made of, and where it is.
    pub settings: &'a Settings,
}

/// Why a survey did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// An API server.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Everything that there is to know.
pub struct Survey {
    index: Index,
    settings: Settings,
    rows: BTreeMap<AccountName, Account>,
    /// Accounts of the cloud that several entries are recorded for.
    shared_cloud_accounts: BTreeMap<CloudAccountId, BTreeSet<AccountName>>,
    /// Accounts that may not be cleaned now: why, and since when.
    cleaning_waits: BTreeMap<AccountName, (String, Timestamp)>,
    waiting: BTreeMap<PoolKey, u64>,
    queued: Vec<WaitingLine>,
    limits: MultiAccount,
    awaits_leader: bool,
    missing_secrets: BTreeMap<AccountName, String>,
    not_ready: Vec<NotReady>,
    has_ledger: bool,
    has_requests: bool,
}

/// An account in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountLine {
    /// Which.
    pub account: AccountName,
    /// Its pool; none where its labels put it in none.
    pub pool: Option<PoolKey>,
    /// The word for its state.
    pub state: &'static str,
    /// Who holds it.
    pub tenant: Option<Tenant>,
    /// The requests in it; none without a ledger.
    pub requests: Option<usize>,
    /// The Shoots in it.
    pub shoots: u32,
    /// With so many of them its tenant gets another account; none where there is no limit.
    pub limit: Option<Limit>,
    /// Those of them that nobody asked us for; none where requests were not looked at.
    pub foreign: Option<u32>,
    /// Since when it is in this state, where the ledger knows.
    pub since: Option<Timestamp>,
    /// Why it takes no new clusters.
    pub quarantine: Option<String>,
    /// Why it is not free, though nobody holds it.
    pub occupied: Option<String>,
}

/// A request that waits, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingLine {
    /// The pool that it waits for.
    pub pool: PoolKey,
    /// Its namespace and name.
    pub request: String,
    /// Its UID.
    pub uid: RequestUid,
    /// Whose it is; none for a shared account.
    pub tenant: Option<Tenant>,
    /// Since when it waits, where the ledger knows.
    pub since: Option<Timestamp>,
}

impl Survey {
    /// Reads everything. `progress` is told what is read next.
    pub async fn read(sources: &Sources<'_>, progress: impl Fn(&str)) -> Result<Self, SurveyError> {
        let Sources { garden, control_plane, ledger, settings } = sources;
        let namespace = &settings.garden_namespace;
        let mut index = Index::new(settings.binding_kind, settings.labels.clone());
        let credentials: Api<CredentialsBinding> = Api::namespaced(garden.clone(), namespace);
        let secret_bindings: Api<SecretBinding> = Api::namespaced(garden.clone(), namespace);
        let shoots: Api<Shoot> = Api::namespaced(garden.clone(), namespace);
        progress("the bindings");
        let learn = Index::learn_credentials_binding;
        all(&mut index, Followed::CredentialsBindings, &credentials, |index, one| learn(index, &one)).await?;
        let learn = Index::learn_secret_binding;
        all(&mut index, Followed::SecretBindings, &secret_bindings, |index, one| learn(index, &one)).await?;
        if settings.binding_kind == BindingKind::Secret {
            progress("the Secrets of the pool");
            secrets::learn(&mut index, Api::<Secret>::namespaced(garden.clone(), namespace)).await?;
        }
        progress("the Shoots");
        let owned = RefCell::new(BTreeMap::new());
        let learn = |index: &mut Index, mut one: Shoot| {
            forget_managed_fields(&mut one.metadata);
            let tasks = Index::learn_shoot(index, &one);
            owned.borrow_mut().insert(one.name_any(), one.metadata);
            tasks
        };
        all(&mut index, Followed::Shoots, &shoots, learn).await?;
        let mut not_ready = Vec::new();
        if let Some(control_plane) = control_plane {
            progress("the SubscriptionRequests");
            let requests: Api<SubscriptionRequest> = Api::all(control_plane.clone());
            all(&mut index, Followed::Requests, &requests, Index::learn_request).await?;
            progress("the Clusters");
            not_ready = clusters::not_ready(control_plane.clone(), &index, &owned.into_inner()).await?;
        }
        let mut survey = Self {
            index,
            settings: (*settings).clone(),
            rows: BTreeMap::new(),
            shared_cloud_accounts: BTreeMap::new(),
            cleaning_waits: BTreeMap::new(),
            waiting: BTreeMap::new(),
            queued: Vec::new(),
            limits: MultiAccount::default(),
            awaits_leader: false,
            missing_secrets: BTreeMap::new(),
            not_ready,
            has_ledger: ledger.is_some(),
            has_requests: control_plane.is_some(),
        };
        if let Some(ledger) = ledger {
            progress("the ledger");
            survey.read_ledger(ledger).await?;
        } else {
            survey.count_waiting();
        }
        Ok(survey)
    }

    /// Looks which Secrets are missing, too.
    pub async fn look_for_secrets(
        &mut self,
        garden: &Client,
        progress: impl Fn(&str),
    ) -> Result<(), SurveyError> {
        progress("the Secrets behind the accounts");
        self.missing_secrets = secrets::missing(&self.index, garden).await?;
        Ok(())
    }

    async fn read_ledger(&mut self, ledger: &Ledger) -> Result<(), SurveyError> {
        self.rows = ledger.accounts().await?.into_iter().map(|row| (row.account.clone(), row)).collect();
        self.shared_cloud_accounts = ledger.shared_cloud_accounts().await?;
        let waits = |(account, Cleaning { record, .. }): (AccountName, Cleaning)| {
            // Later on, it waits for nobody but the cloud.
            let waits = record.waits.filter(|_| record.stage == Stage::Checking)?;
            Some((account, (waits, record.since)))
        };
        self.cleaning_waits = ledger.cleanings().await?.into_iter().filter_map(waits).collect();
        self.awaits_leader = ledger.awaits_leader().await?;
        for queue in ledger.queues().await? {
            let waiting = ledger.waiting(&queue.pool).await?;
            self.queued.extend(waiting.into_iter().map(|(waiting, key, since)| WaitingLine {
                pool: queue.pool.clone(),
                request: key.to_string(),
                uid: waiting.request,
                // Requests for a shared account belong to no tenant.
                tenant: (!queue.pool.shared).then_some(waiting.tenant),
                since: Some(since),
            }));
            self.waiting.insert(queue.pool, queue.length);
        }
        Ok(())
    }

    /// Without a ledger, requests say themselves that they wait, though not for a shared or an EU pool.
    fn count_waiting(&mut self) {
        for (name, request) in self.index.requests() {
            let Some(status) = &request.status else { continue };
            if let (Some(SubscriptionPhase::Waiting), Some(type_)) = (status.phase, &status.hyperscaler_type)
            {
                let shared = status.tenant_name.is_none();
                let pool = PoolKey { hyperscaler_type: type_.clone(), shared, eu_access: false };
                self.queued.push(WaitingLine {
                    pool: pool.clone(),
                    request: format!("{}/{}", name.namespace, name.name),
                    uid: RequestUid::new(request.uid().unwrap_or_default()),
                    tenant: status.tenant_name.clone().map(Tenant::new),
                    since: None,
                });
                *self.waiting.entry(pool).or_default() += 1;
            }
        }
    }

    /// Lets accounts be compared with the limits of the configuration.
    pub fn set_limits(&mut self, limits: MultiAccount) {
        self.limits = limits;
    }

    /// The requests that wait, by pool and in the order in which they are served, where the ledger knows it.
    pub fn waiting(&self) -> &[WaitingLine] {
        &self.queued
    }

    /// The limit of an account: a tenant that may have one account only puts every cluster into it, and so do the tenants of a shared one.
    fn limit(&self, pool: Option<&PoolKey>, tenant: Option<&Tenant>) -> Option<Limit> {
        // The type begins with the provider, which has no underscore in it; regions follow.
        let provider = pool?.hyperscaler_type.split('_').next()?;
        match self.limits.of(tenant?, provider) {
            Accounts::One => None,
            Accounts::Several(limit) => Some(limit),
        }
    }

    /// Signs that this garden was served before.
    pub fn traces(&self) -> Traces {
        let has_account = |asked: &Asked| {
            let entry = asked.account.as_ref().and_then(|account| self.index.entry(account));
            let is_bound = asked.phase == Some(SubscriptionPhase::Bound);
            is_bound && entry.is_some_and(|entry| entry.entry.tenant == asked.tenant)
        };
        let requests = self.index.requests().map(|(name, request)| self.asked(name, request).1);
        Traces {
            shoots: self.index.labelled_shoots(),
            requests: requests.filter(|asked| has_account(asked)).count(),
            bound: 0,
        }
    }

    /// Every pool in numbers.
    pub fn pools(&self) -> Vec<PoolSummary> {
        let holding = |account: &AccountName| self.rows.get(account).map(|row| &row.holding);
        let accounts = self.index.entries().map(|(account, entry)| {
            (&entry.entry, holding(account), self.index.why_occupied(account).is_some())
        });
        summarize(accounts, &self.waiting)
    }

    /// Every account, by pool and name.
    pub fn accounts(&self) -> Vec<AccountLine> {
        let line = |(account, found): (&AccountName, &crate::subscription::PoolEntry)| {
            let (entry, row) = (&found.entry, self.rows.get(account));
            let holding = row.map(|row| &row.holding);
            let tenant = holding.and_then(|holding| holding.tenant()).or(entry.tenant.as_ref()).cloned();
            AccountLine {
                account: account.clone(),
                pool: entry.pool.clone(),
                state: state(entry, holding, self.index.why_occupied(account).is_some()),
                limit: self.limit(entry.pool.as_ref(), tenant.as_ref()),
                tenant,
                requests: self.has_ledger.then(|| row.map_or(0, |row| row.assignments.len())),
                shoots: self.index.count_shoots(account).all,
                foreign: self.has_requests.then(|| self.index.count_foreign(account)),
                since: row.map(|row| row.since),
                quarantine: entry.quarantine.clone(),
                occupied: self.index.why_occupied(account).map(ToString::to_string),
            }
        };
        let mut lines: Vec<AccountLine> = self.index.entries().map(line).collect();
        lines.sort_by(|one, other| (&one.pool, &one.account).cmp(&(&other.pool, &other.account)));
        lines
    }

    /// What each side says, to be compared.
    pub fn sides(&self) -> Sides {
        let row = |row: &Account| Row {
            pool: row.pool.clone(),
            holding: row.holding.clone(),
            leaving: row.leaving,
            quarantine: row.quarantine.clone(),
            assignments: u32::try_from(row.assignments.len()).unwrap_or(u32::MAX),
        };
        let seats = self.rows.values().flat_map(|row| &row.assignments).map(|assignment| Seat {
            request: assignment.request.uid.clone(),
            tenant: assignment.tenant.clone(),
            account: assignment.account.clone(),
        });
        let shoots = self.index.entries().flat_map(|(account, _)| {
            let shoots = self.index.shoots_in(account);
            shoots.map(|(name, shoot)| Grown {
                name: name.clone(),
                account: account.clone(),
                request: shoot.request.clone(),
            })
        });
        Sides {
            entries: self
                .index
                .entries()
                .map(|(account, entry)| (account.clone(), entry.entry.clone()))
                .collect(),
            rows: self.rows.iter().map(|(account, found)| (account.clone(), row(found))).collect(),
            seats: seats.collect(),
            waiting: self.queued.iter().map(|waiting| waiting.uid.clone()).collect(),
            awaits_leader: self.awaits_leader,
            requests: self.index.requests().map(|(name, request)| self.asked(name, request)).collect(),
            shoots: shoots.collect(),
            not_ready: self.not_ready.clone(),
        }
    }

    fn asked(
        &self,
        name: &crate::subscription::RequestName,
        request: &SubscriptionRequest,
    ) -> (RequestUid, Asked) {
        let status = request.status.as_ref();
        let binding = status.and_then(|status| status.gardener_secret_name.as_ref());
        let asked = Asked {
            name: format!("{}/{}", name.namespace, name.name),
            phase: status.and_then(|status| status.phase),
            account: binding.and_then(|binding| self.index.account_behind(binding)),
            tenant: status.and_then(|status| status.tenant_name.clone()).map(Tenant::new),
        };
        (RequestUid::new(request.uid().unwrap_or_default()), asked)
    }

    /// Everything that a person should see to.
    pub fn complaints(&self, now: Timestamp) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (account, found) in self.index.entries() {
            let patient = Patient {
                account,
                entry: &found.entry,
                labels: &found.labels,
                missing_secret: self.missing_secrets.get(account).cloned(),
                holding: self.rows.get(account).map(|row| (&row.holding, row.since)),
                stuck: found.stuck.as_deref(),
                waits: self.cleaning_waits.get(account).map(|(because, since)| (because.as_str(), *since)),
            };
            complaints.extend(patient.complaints(&self.settings.labels, now));
        }
        let twice = self.index.used_twice();
        complaints.extend(twice.map(|(credential, twins)| same_credentials(credential, &twins)));
        for (id, entries) in &self.shared_cloud_accounts {
            let there = entries.iter().filter(|entry| self.index.entry(entry).is_some());
            let there: BTreeSet<AccountName> = there.cloned().collect();
            if there.len() > 1 {
                complaints.push(same_cloud_account(id.as_str(), &there));
            }
        }
        for (account, why) in self.index.occupied() {
            // The others with the same credentials are told of together.
            if !matches!(why, Occupied::SameCredentials(_)) {
                let shoots: Vec<&str> =
                    self.index.shoots_in(account).map(|(name, _)| name.as_str()).collect();
                complaints.push(occupied_account(account, why, &shoots));
            }
        }
        complaints.extend(self.waiting.iter().map(|(pool, length)| Complaint {
            code: Ailment::Exhausted,
            account: None,
            message: format!("{length} requests wait for pool {pool}"),
            remedy: "add accounts to it, or clean dirty ones".to_owned(),
        }));
        if self.has_ledger && self.has_requests {
            complaints.extend(compare(&self.sides()).disagreements);
        }
        complaints.sort_by(|one, other| (&one.account, one.code).cmp(&(&other.account, other.code)));
        complaints
    }
}

/// Lists every object of a kind, page by page.
async fn all<K>(
    index: &mut Index,
    what: Followed,
    api: &Api<K>,
    learn: impl Fn(&mut Index, K) -> Vec<crate::subscription::Task>,
) -> Result<(), SurveyError>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    index.kept(what).restart();
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page: ObjectList<K> = call(|| format!("list {}", K::plural(&())), api.list(&params)).await?;
        for object in page.items {
            learn(index, object);
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    index.listed(what);
    Ok(())
}
