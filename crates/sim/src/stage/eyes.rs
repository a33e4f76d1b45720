//! What the oracles see: the scene of now, kept up to date by looking at each object that was written.

use crate::{cluster::fleet, hostile};
use allotment_api::{
    kyma::{SubscriptionRequest, SubscriptionRequestStatus},
    names::{annotation, finalizer, label},
};
use allotment_core::{
    check::{Asked, Books, Fleet, Grown, Happened, Held, Isolation, Scene, Seat, Trail, Violation, change},
    pool::{AccountName, Entry, Holding, LabelKeys, PoolKey, RequestUid, Tenant, wanted},
    rules::RuleSet,
};
use allotment_operator::ledger::{About, Account, Ledger, LedgerError};
use futures::FutureExt;
use kube::ResourceExt;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::task::unconstrained;

/// What stands in every Secret of the pool, and must stand nowhere else.
pub(crate) const CREDENTIAL: &str = "the-key-to-the-cloud";

/// How many entries of the history one transaction makes at most, with some to spare.
const ENTRIES: u32 = 100;

pub(crate) struct Eyes {
    pub(crate) scene: Scene,
    /// The requests by name.
    pub(crate) requests: BTreeMap<String, (RequestUid, SubscriptionRequest)>,
    pub(crate) rows: Vec<Account>,
    /// Clusters and what belongs to them.
    pub(crate) fleet: Fleet,
    /// Which namespace has what; empty where everybody is trusted.
    pub(crate) isolation: Isolation,
    /// How often operators wrote to objects of honest tenants.
    pub(crate) honest_writes: u64,
    /// Whether the platform has locked the access of the hostile tenant.
    pub(crate) locked: bool,
    trail: Trail,
    /// The entries of the history that gave requests their accounts.
    assigned_at: BTreeMap<RequestUid, i64>,
    /// The newest entry of the history.
    pub(crate) entry: i64,
    rules: Arc<RuleSet>,
    keys: LabelKeys,
    /// Shoots that name a request and are not its own.
    pub(crate) strays: BTreeSet<String>,
    /// When Shoots came, in milliseconds.
    grown_at: BTreeMap<String, u64>,
}

/// How far the history was read, and where it led.
#[derive(Clone)]
pub(crate) struct Bookmark {
    trail: Trail,
    entry: i64,
}

/// A Shoot that is younger than this need not be known to an operator, in milliseconds: watches stand still for seconds, and
/// processes for a minute.
const YOUNG: u64 = 90_000;

impl Eyes {
    pub(crate) fn new(scene: Scene, rules: Arc<RuleSet>) -> Self {
        let keys = LabelKeys::default();
        let (requests, rows, trail) = (BTreeMap::new(), Vec::new(), Trail::default());
        let (fleet, isolation, locked) = (Fleet::default(), Isolation::default(), false);
        let honest_writes = 0;
        let (strays, grown_at) = (BTreeSet::new(), BTreeMap::new());
        Self {
            scene,
            requests,
            rows,
            fleet,
            isolation,
            honest_writes,
            locked,
            trail,
            assigned_at: BTreeMap::new(),
            entry: 0,
            rules,
            keys,
            strays,
            grown_at,
        }
    }

    /// Shoots that have been there for long are known to everybody.
    pub(crate) fn grow_older(&mut self, now: u64) {
        let Self { scene, grown_at, .. } = self;
        for name in scene.shoots.keys() {
            // What was there before anybody began is in the first list.
            grown_at.entry(name.clone()).or_insert(now);
        }
        grown_at.retain(|name, _| scene.shoots.contains_key(name));
        let is_young = |at: u64| at > 0 && now < at + YOUNG;
        scene.young =
            grown_at.iter().filter(|(_, at)| is_young(**at)).map(|(name, _)| name.clone()).collect();
    }

    /// An object is like this now, or gone.
    pub(crate) fn see(&mut self, plural: &str, name: &str, object: Option<&Value>) -> Vec<Violation> {
        let before = self.scene.clone();
        match plural {
            "subscriptionrequests" => self.see_request(name, object),
            "credentialsbindings" => {
                let account = AccountName::new(name);
                if let Some(object) = object {
                    let credential = object["credentialsRef"]["name"].as_str().unwrap_or(name);
                    self.scene.credentials.insert(account.clone(), credential.to_owned());
                    let made = object["metadata"]["creationTimestamp"].as_str();
                    let made = made.and_then(|made| made.parse().ok());
                    self.scene.made.extend(made.map(|made| (account.clone(), made)));
                }
                match object.map(|object| self.entry_of(object)) {
                    Some(entry) => {
                        if entry.quarantine.is_some() {
                            self.scene.meddled.insert(account.clone());
                        }
                        self.scene.entries.insert(account, entry)
                    }
                    None => self.scene.entries.remove(&account),
                };
            }
            "shoots" => {
                match object.and_then(|object| self.shoot_of(name, object)) {
                    Some(grown) => {
                        if grown.request.is_none() {
                            self.scene.crowded.insert(grown.account.clone());
                        }
                        self.scene.shoots.insert(name.to_owned(), grown)
                    }
                    None => self.scene.shoots.remove(name),
                };
            }
            _ => return Vec::new(),
        }
        self.settle_tampered();
        let mut violations = self.scene.violations();
        violations.extend(change(&before, &self.scene));
        violations
    }

    pub(crate) fn entry_of(&self, object: &Value) -> Entry {
        let texts = |value: &Value| -> BTreeMap<String, String> {
            serde_json::from_value(value.clone()).unwrap_or_default()
        };
        let annotations = texts(&object["metadata"]["annotations"]);
        let quarantine = annotations.get(annotation::QUARANTINE).map(String::as_str);
        Entry::read(&texts(&object["metadata"]["labels"]), quarantine, &self.keys)
    }

    fn see_request(&mut self, name: &str, object: Option<&Value>) {
        if let Some((uid, _)) = self.requests.remove(name) {
            self.scene.requests.remove(&uid);
            self.fleet.requests.remove(&uid);
        }
        let Some(object) = object else { return };
        let Ok(request) = serde_json::from_value::<SubscriptionRequest>(object.clone()) else { return };
        let uid = RequestUid::new(request.metadata.uid.clone().unwrap_or_default());
        let wanted = wanted(&request.spec, &self.rules).ok();
        let status = request.status.clone().unwrap_or_default();
        let SubscriptionRequestStatus { gardener_secret_name, tenant_name, phase, .. } = status;
        let asked = Asked {
            pool: wanted.as_ref().map(|wanted| wanted.pool.clone()),
            tenant: wanted.and_then(|wanted| wanted.tenant),
            phase,
            account: gardener_secret_name.map(AccountName::new),
            published_tenant: tenant_name.map(Tenant::new),
            deleting: request.metadata.deletion_timestamp.is_some(),
            held: request.finalizers().iter().any(|name| name == finalizer::CLUSTER),
        };
        let asked = if hostile::is_qualified(name) {
            self.asked_by_hostile(&uid, asked)
        } else {
            fleet::see_request(&mut self.fleet, &request);
            asked
        };
        self.scene.requests.insert(uid.clone(), asked);
        self.requests.insert(name.to_owned(), (uid, request));
    }

    /// A request of the hostile tenant, who writes its status, and tears it away or holds it for ever: only the ledger counts.
    fn asked_by_hostile(&mut self, uid: &RequestUid, asked: Asked) -> Asked {
        hostile::see_claim(&mut self.isolation, uid, asked.tenant.as_ref());
        self.scene.torn.insert(uid.clone());
        self.scene.untrusted.insert(uid.clone());
        let own = self.isolation.tenants.get(hostile::HOSTILE);
        let may_have = asked.tenant.as_ref().is_none_or(|tenant| own.is_some_and(|own| own.contains(tenant)));
        Asked {
            pool: asked.pool.filter(|_| may_have),
            tenant: asked.tenant.filter(|_| may_have),
            phase: None,
            account: None,
            published_tenant: None,
            ..asked
        }
    }

    /// The ledger was written.
    pub(crate) fn see_ledger(
        &mut self,
        ledger: &Ledger,
        pools: &[PoolKey],
    ) -> Result<Vec<Violation>, LedgerError> {
        let before = self.scene.clone();
        self.rows = now(ledger.accounts())?;
        let mut books = Books::default();
        self.scene.quarantined.clear();
        for row in &self.rows {
            let (account, pool, holding) = (row.account.clone(), row.pool.clone(), row.holding.clone());
            if row.quarantine.is_some() {
                self.scene.quarantined.insert(account.clone());
            }
            books.accounts.push(Held { account, pool, holding });
            books.seats.extend(row.assignments.iter().map(|assignment| Seat {
                request: assignment.request.uid.clone(),
                tenant: assignment.tenant.clone(),
                account: assignment.account.clone(),
            }));
        }
        for pool in pools {
            books.waiting.extend(now(ledger.waiting(pool))?.into_iter().map(|(_, request, _)| request.uid));
        }
        self.scene.books = books;
        let mut violations = Vec::new();
        let (history, last) = (now(ledger.history(About::Everything, ENTRIES))?, self.entry);
        for entry in history.into_iter().filter(|entry| entry.id > last) {
            self.entry = entry.id;
            if entry.because.contains(CREDENTIAL) {
                violations.push(Violation::Told("a credential is in the history".to_owned()));
            }
            let event = entry.event.as_str().to_owned();
            if let (Some(request), "assigned") = (&entry.request_uid, event.as_str()) {
                self.assigned_at.insert(request.clone(), entry.id);
            }
            self.trail.add(&Happened { event, account: entry.account, request: entry.request_uid });
        }
        self.settle_tampered();
        violations.extend(self.isolation.ledger(&self.scene.books).into_iter().map(Violation::from));
        violations.extend(self.trail.violations(&self.scene.books, &self.scene.quarantined));
        violations.extend(self.scene.violations());
        violations.extend(change(&before, &self.scene));
        Ok(violations)
    }

    /// The entry of the history that gave a request its account.
    pub(crate) fn assigned_at(&self, name: &str) -> Option<(RequestUid, i64)> {
        let (uid, _) = self.requests.get(name)?;
        Some((uid.clone(), *self.assigned_at.get(uid)?))
    }

    /// How far the history was read.
    pub(crate) fn bookmark(&self) -> Bookmark {
        Bookmark { trail: self.trail.clone(), entry: self.entry }
    }

    /// The ledger went back to where this was.
    pub(crate) fn go_back_to(&mut self, Bookmark { trail, entry }: Bookmark) {
        (self.trail, self.entry) = (trail, entry);
    }

    /// Whoever led until the ledger went back, or beside it, may write a label that no ledger of now stands for. It makes an account
    /// less available, as if somebody else had written it.
    pub(crate) fn forgive_label(&mut self, account: &AccountName, tenant: &Tenant) {
        let Scene { books, tampered, meddled, .. } = &mut self.scene;
        let row = books.accounts.iter().find(|held| held.account == *account);
        if row.and_then(|held| held.holding.tenant()) != Some(tenant) {
            tampered.insert(account.clone());
            meddled.insert(account.clone());
        }
    }

    /// A ledger that went back, or is made anew, knows of an account that nobody is in only that its label names a tenant. It keeps
    /// the account for that tenant, as if somebody else had written the label.
    pub(crate) fn forgive_adopted(&mut self) {
        let Scene { lost: true, books, tampered, meddled, .. } = &mut self.scene else { return };
        for held in books.accounts.iter().filter(|held| matches!(held.holding, Holding::Claimed(_))) {
            if !books.seats.iter().any(|seat| seat.account == held.account) {
                tampered.insert(held.account.clone());
                meddled.insert(held.account.clone());
            }
        }
    }

    /// An operator has written the status of a request that came back.
    pub(crate) fn forget_return(&mut self, name: &str) {
        if let Some((uid, _)) = self.requests.get(name) {
            self.scene.returned.remove(uid);
        }
    }

    /// Whoever meddled with an account that is free again on all sides has left no trace.
    fn settle_tampered(&mut self) {
        let Scene { tampered, books, entries, .. } = &mut self.scene;
        tampered.retain(|account| {
            let row = books.accounts.iter().find(|held| held.account == *account);
            let free = row.is_none_or(|held| held.holding == Holding::Free);
            let clean = entries.get(account).is_some_and(|entry| entry.tenant.is_none() && !entry.dirty);
            !(free && clean)
        });
    }

    fn shoot_of(&self, name: &str, object: &Value) -> Option<Grown> {
        let account = AccountName::new(object["spec"]["credentialsBindingName"].as_str()?);
        let request = object["metadata"]["labels"][label::SUBSCRIPTION_REQUEST].as_str().map(RequestUid::new);
        // Whoever copies a label does not get an account by that.
        let forged = self.fleet.shoots.get(name).is_some_and(|stand| stand.forged);
        let has_seat = |request: &RequestUid| {
            let mut seats = self.scene.books.seats.iter();
            seats.any(|seat| seat.request == *request && seat.account == account)
        };
        let request = request.filter(|_| !self.strays.contains(name));
        let request = request.filter(|request| !forged || has_seat(request));
        Some(Grown { account, request })
    }

    /// Whether an account that somebody could get is there.
    pub(crate) fn is_exhausted(&self) -> bool {
        let holds = |account: &AccountName| {
            self.rows.iter().any(|row| row.account == *account && row.holding != Holding::Free)
        };
        !self.scene.entries.iter().any(|(account, entry)| entry.is_free() && !holds(account))
    }

    /// The word for where an account is on its way.
    pub(crate) fn holding_of(&self, account: &str) -> &'static str {
        let row = self.rows.iter().find(|row| row.account.as_str() == account);
        row.map_or("free", |row| row.holding.as_str())
    }
}

/// SQLite answers at once.
pub(crate) fn now<T>(future: impl Future<Output = Result<T, LedgerError>>) -> Result<T, LedgerError> {
    let late =
        || LedgerError::Broken { doing: "look at it", because: "it did not answer at once".to_owned() };
    unconstrained(future).now_or_never().unwrap_or_else(|| Err(late()))
}
