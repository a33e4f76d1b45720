//! What a new leader does before it hands anything out: it makes sure that the ledger is the right one, raises the epoch
//! in it, and compares it with the garden.

use super::{
    IDENTITY, LEASE_NAME, RequestName, Task, Trouble, fence::FoundFence, index::Index, request::is_bound,
    run::Inner,
};
use crate::{
    ledger::{Account, Assignment, LedgerId, Past, RequestKey},
    planted::Planted,
    runtime::{call::call, events::Tone},
};
use allotment_api::kyma::{SubscriptionPhase, SubscriptionRequest};
use allotment_core::pool::{
    AccountName, Entry, Epoch, Fence, Holding, LedgerFacts, LedgerMismatch, RequestUid, Served, Traces,
    verify, wanted,
};
use jiff::SignedDuration;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ObjectReference};
use kube::{Api, ResourceExt};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// While there is no fence, everything is listed anew so often: the caches say whether there are signs of an earlier ledger.
const RELIST_EVERY: Duration = Duration::from_secs(300);

/// A Lease that is older was not made for this first start, however long the database or the garden kept it waiting.
const FIRST_ATTEMPTS: SignedDuration = SignedDuration::from_mins(10);

/// How a ledger is rebuilt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuild {
    /// Also for another control plane than the garden was served for.
    pub force: bool,
    /// The namespace of the operators that go on; none: any.
    pub installation: Option<String>,
}

/// A time of leadership.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) epoch: Epoch,
}

/// Why a leader hands nothing out.
#[derive(Debug, thiserror::Error)]
pub enum TermError {
    /// The ledger does not fit the garden. Somebody has to see to it.
    #[error(transparent)]
    Mismatch(#[from] LedgerMismatch),
    /// The fence is another term's now, or nobody's.
    #[error("another process has taken over ConfigMap {IDENTITY}, or somebody removed it; starting over")]
    Over,
    /// Somebody changes the fence all the time.
    #[error("ConfigMap {IDENTITY} changes all the time: find out who writes it")]
    Contended,
}

impl Inner {
    /// Begins a term.
    pub(super) async fn begin(&self) -> Result<Term, Trouble> {
        // From here on the fence says what must be there.
        self.ledger.forget_past();
        if self.ledger.has(Planted::EpochRaisedFirst) {
            let epoch = self.ledger.epoch().await?;
            self.lead(epoch).await?;
        }
        let Verified { uuid, epoch, found, served } = self.verify_ledger_identity(None).await?;
        self.confirm_caches().await?;
        let (term, id) = self.lead(epoch).await?;
        if found.fence == Fence::Missing {
            // The leader before this one may have written since the ledger was read; from now on it cannot.
            self.verify_ledger_identity(None).await?;
            self.note_used_pool(term).await?;
        }
        self.win_fence(uuid, term, id, &found, &served, self.serves().await?).await?;
        self.compare(term).await?;
        if found.fence == Fence::Missing {
            self.tell_first_start().await?;
        }
        tracing::info!(epoch = %term.epoch, "the ledger is compared with the garden; accounts can be handed out");
        Ok(term)
    }

    /// The ledger's UUID and the fence, if the two fit. Without traces, they are looked for where they matter.
    pub(super) async fn verify_ledger_identity(&self, traces: Option<Traces>) -> Result<Verified, Trouble> {
        // The ledger first: somebody may rebuild it meanwhile, and writes the fence last. The epoch then differs when this term begins.
        let LedgerId { uuid, epoch, is_empty, served } = self.ledger.identity().await?;
        let found = self.read_fence().await?;
        let Past { term, missing } = match &found.fence {
            Fence::Known(known) => self.ledger.past(known.epoch, &known.entries).await?,
            Fence::Missing | Fence::Unreadable => Past { term: None, missing: Vec::new() },
        };
        let serves = self.serves().await?;
        let facts = LedgerFacts {
            uuid: uuid.clone(),
            epoch,
            is_empty,
            term,
            missing,
            serves,
            served: served.clone(),
        };
        let traces = match (&found.fence, traces) {
            (_, Some(traces)) => traces,
            (Fence::Known(_), None) => {
                self.relist_unless_listed_within(Duration::MAX).await?;
                Traces::default()
            }
            (Fence::Missing | Fence::Unreadable, None) => {
                self.relist_unless_listed_within(RELIST_EVERY).await?;
                self.traces().await?
            }
        };
        match verify(&found.fence, &facts, traces) {
            Err(mismatch) if !self.is_overlooked(&mismatch) => return Err(TermError::from(mismatch).into()),
            _ => (),
        }
        Ok(Verified { uuid, epoch, found, served })
    }

    /// Whether a planted fault lets a term begin nevertheless.
    fn is_overlooked(&self, mismatch: &LedgerMismatch) -> bool {
        match mismatch {
            LedgerMismatch::Old { .. } | LedgerMismatch::WentBack { .. } => {
                self.ledger.has(Planted::OlderLedgerLeads)
            }
            LedgerMismatch::Foreign { .. } => self.ledger.has(Planted::AnyLedgerLeads),
            LedgerMismatch::NoFence { .. } => self.ledger.has(Planted::MissingFenceIsFirstStart),
            LedgerMismatch::OtherControlPlane { .. } => self.ledger.has(Planted::AnyControlPlane),
            LedgerMismatch::Copied { .. } | LedgerMismatch::OtherInstallation { .. } => false,
        }
    }

    /// Signs that this garden was served before. Nothing that a tenant can write is one: else anybody could halt a first start.
    async fn traces(&self) -> Result<Traces, Trouble> {
        // The cache may lag, and this is asked once in the life of a garden.
        let (shoots, mut requests) = (self.count_labelled_shoots().await?, 0);
        for assignment in self.proven_assignments(&BTreeSet::new()) {
            requests += usize::from(self.may_heal(&assignment).await?);
        }
        let bound = if self.led_before().await? { self.count_bound() } else { 0 };
        Ok(Traces { shoots, requests, bound })
    }

    /// Whether operators led in this namespace before this process came: tenants do not write there.
    async fn led_before(&self) -> Result<bool, Trouble> {
        if self.installation().is_none() {
            return Ok(false);
        }
        let leases: Api<Lease> = Api::namespaced(self.control_plane.clone(), &self.settings.lease_namespace);
        let found = call(|| format!("read Lease {LEASE_NAME}"), leases.get_metadata_opt(LEASE_NAME)).await?;
        let created = found.and_then(|found| found.metadata.creation_timestamp);
        Ok(created.is_some_and(|created| self.clock.now().duration_since(created.0) > FIRST_ATTEMPTS))
    }

    fn count_bound(&self) -> usize {
        self.index().requests().filter(|(_, request)| is_bound(request)).count()
    }

    /// Raises the epoch in the ledger, unless somebody has done so since it was read.
    async fn lead(&self, after: Epoch) -> Result<(Term, String), Trouble> {
        let (identity, now) = (&self.settings.identity, self.clock.now());
        // The identity is random, so not even a copy of this process has the same one.
        let id = format!("{identity}/{now}");
        let epoch = self.ledger.lead_after(identity, &id, after, now).await?;
        Ok((Term { epoch }, id))
    }

    /// Throws away what the ledger says about the present, and makes it anew from the cluster.
    pub(super) async fn rebuild(&self, rebuild: &Rebuild) -> Result<Epoch, Trouble> {
        self.cache.until_complete().await;
        let found = self.read_fence().await?;
        let serves = self.serves().await?;
        if let (Fence::Known(known), Some(ours)) = (&found.fence, &serves.control_plane)
            && let Some(known) = known.control_plane.as_ref().filter(|known| *known != ours && !rebuild.force)
        {
            let (known, found) = (known.clone(), ours.clone());
            return Err(TermError::from(LedgerMismatch::OtherControlPlane { known, found }).into());
        }
        let serves = Served { installation: rebuild.installation.clone(), ..serves };
        let LedgerId { uuid, epoch, served, .. } = self.ledger.identity().await?;
        self.confirm_caches().await?;
        let (term, id) = self.lead(epoch).await?;
        self.ledger.clear(term.epoch, "made anew from the cluster", self.clock.now()).await?;
        self.compare(term).await?;
        // Last: where this breaks off before, a halted operator stays halted.
        self.win_fence(uuid, term, id, &found, &served, serves).await?;
        Ok(term.epoch)
    }

    /// Notes a pool that was in use before: what was in its accounts is not known. Before the fence is written: a first start that breaks off is one
    /// again.
    async fn note_used_pool(&self, term: Term) -> Result<(), Trouble> {
        let (held, shoots) = {
            let index = self.index();
            let is_held = |entry: &Entry| entry.dirty || entry.tenant.is_some();
            (index.entries().filter(|(_, known)| is_held(&known.entry)).count(), index.shoots())
        };
        if held > 0 || shoots > 0 {
            let because =
                format!("{held} accounts are held by tenants or dirty, and there are {shoots} Shoots");
            self.ledger.take_over(term.epoch, &because, self.clock.now()).await?;
        }
        Ok(())
    }

    /// Says what was found at a first start: a pool that other systems have used is taken over as its labels have it.
    async fn tell_first_start(&self) -> Result<(), Trouble> {
        let rows = self.ledger.accounts().await?;
        let held = rows.iter().filter(|row| row.holding != Holding::Free).count();
        let (accounts, shoots) = {
            let index = self.index();
            (index.entries().count(), index.shoots())
        };
        let because = format!(
            "this garden was not served from a ledger before: {accounts} accounts, {held} of them held by tenants or dirty as their \
             labels have it, {shoots} Shoots"
        );
        tracing::info!(because, "first start");
        let about = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("ConfigMap".to_owned()),
            name: Some(IDENTITY.to_owned()),
            namespace: Some(self.settings.garden_namespace.clone()),
            ..ObjectReference::default()
        };
        self.garden_recorder.say_about(about, Tone::Normal, "FirstStart", &because).await;
        Ok(())
    }

    /// Compares ledger, labels, request statuses and Shoots, and heals what is clear. What is not shows when the account is
    /// looked at.
    async fn compare(&self, term: Term) -> Result<(), Trouble> {
        let rows: BTreeMap<AccountName, Account> =
            self.ledger.accounts().await?.into_iter().map(|row| (row.account.clone(), row)).collect();
        let names: BTreeSet<AccountName> =
            rows.keys().cloned().chain(self.index().entries().map(|(name, _)| name.clone())).collect();
        for account in names {
            self.compare_account(term, &account, rows.get(&account)).await?;
        }
        let assigned: BTreeSet<RequestUid> = rows
            .values()
            .flat_map(|row| &row.assignments)
            .map(|assignment| assignment.request.uid.clone())
            .collect();
        let proven: Vec<Assignment> = self.proven_assignments(&assigned);
        let accounts = rows.values().flat_map(|row| &row.assignments);
        *self.assigned() = accounts.map(|it| (it.request.uid.clone(), it.account.clone())).collect();
        for assignment in proven {
            if !self.may_heal(&assignment).await? {
                tracing::warn!(
                    request = %assignment.request, account = %assignment.account,
                    because = "its namespace has not the tenant, and no Shoot carries its UID", "not healed"
                );
                continue;
            }
            let because = "the request's status names it, and the binding agrees";
            let healed = self.ledger.assign(term.epoch, &assignment, because, self.clock.now()).await;
            if let Err(error) = healed {
                // The request's own look says so to its reader; the others must not wait for it.
                tracing::error!(request = %assignment.request, account = %assignment.account, %error, "cannot heal");
            }
        }
        let mut known = assigned;
        let queued = self.ledger.queued().await?;
        known.extend(queued.iter().map(|(request, ..)| request.uid.clone()));
        self.waiting().reset(queued);
        let index = self.index();
        let gone = known.into_iter().filter(|uid| index.request_of(uid).is_none());
        gone.for_each(|uid| self.add(Task::Orphan(uid)));
        Ok(())
    }

    /// A status may be forged, so a request is counted in a tenant's account only if its namespace has that tenant. Where it has lost the
    /// tenant since, a Shoot with the request's UID proves the same: only the operators write Shoots.
    async fn may_heal(&self, assignment: &Assignment) -> Result<bool, Trouble> {
        let Assignment { request, account, .. } = assignment;
        if self.index().shows_shoot_of(account, &request.uid) {
            return Ok(true);
        }
        let found = self.index().request_of(&request.uid);
        let Some(found) = found else { return Ok(false) };
        Ok(self.judge(&found).await?.is_ok())
    }

    /// Assignments that the ledger has lost: the request says that it is bound, and the entry is the tenant's or shared.
    fn proven_assignments(&self, assigned: &BTreeSet<RequestUid>) -> Vec<Assignment> {
        let index = self.index();
        let is_bound = |request: &SubscriptionRequest| {
            let phase = request.status.as_ref().and_then(|status| status.phase);
            matches!(phase, Some(SubscriptionPhase::Bound | SubscriptionPhase::Releasing))
        };
        let lost = index.requests().map(|(_, request)| request).filter(|request| {
            is_bound(request) && !assigned.contains(&RequestUid::new(request.uid().unwrap_or_default()))
        });
        lost.filter_map(|request| self.proven_assignment(&index, request)).collect()
    }

    /// The assignment that a request's status names, where the entry agrees with it.
    pub(super) fn proven_assignment(
        &self,
        index: &Index,
        request: &SubscriptionRequest,
    ) -> Option<Assignment> {
        let wanted = wanted(&request.spec, &self.policy().rules).ok();
        let account = account_of(index, request)?;
        let entry = &index.entry(&account)?.entry;
        let pool = entry.pool.clone()?;
        let tenant = request.status.as_ref()?.tenant_name.clone().map(allotment_core::pool::Tenant::new);
        let agrees = if pool.shared { tenant.is_none() } else { tenant.is_some() && entry.tenant == tenant };
        (agrees && wanted.is_none_or(|wanted| wanted.tenant == tenant)).then(|| Assignment {
            request: key_of(request),
            tenant,
            account,
            pool,
            cluster: cluster_of(request),
            since: self.clock.now(),
        })
    }
}

/// A ledger that fits the garden.
pub(super) struct Verified {
    uuid: String,
    epoch: Epoch,
    found: FoundFence,
    served: Served,
}

/// The account whose binding a request's status names.
pub(super) fn account_of(index: &Index, request: &SubscriptionRequest) -> Option<AccountName> {
    let name = request.status.as_ref()?.gardener_secret_name.as_ref()?;
    index.account_behind(name)
}

/// A request, as the ledger names it.
pub(super) fn key_of(request: &SubscriptionRequest) -> RequestKey {
    let RequestName { namespace, name } = RequestName::of(request);
    RequestKey { uid: RequestUid::new(request.uid().unwrap_or_default()), namespace, name }
}

/// The object that an account is for, as people write it.
pub(super) fn cluster_of(request: &SubscriptionRequest) -> Option<String> {
    let reference = request.spec.cluster_ref.as_ref()?;
    Some(format!("{} {}/{}", reference.kind, reference.namespace, reference.name))
}
