//! What a new leader does before it hands anything out: it makes sure that the ledger is the right one, raises the epoch
//! in it, and compares it with the garden.

use super::{RequestName, Task, Trouble, index::Index, run::Inner};
use crate::{
    ledger::{Account, Assignment, RequestKey},
    runtime::call::call,
};
use allotment_api::kyma::{SubscriptionPhase, SubscriptionRequest};
use allotment_core::pool::{AccountName, Epoch, RequestUid, wanted};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// The ConfigMap in the garden that says which ledger the garden is served from.
pub const IDENTITY: &str = "allotment-ledger";

/// A time of leadership.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) epoch: Epoch,
}

/// Why a leader hands nothing out.
#[derive(Debug, thiserror::Error)]
pub enum TermError {
    /// The garden was served from another ledger.
    #[error(
        "this garden was served from ledger {known}, but this one is {found}: it was lost, or another installation serves \
         this garden; stop the other one or bring the ledger back, or run `allotment ledger rebuild`"
    )]
    Foreign {
        /// The ledger that the garden knows.
        known: String,
        /// Ours.
        found: String,
    },
    /// The ledger is older than what the garden has seen.
    #[error(
        "this garden has seen epoch {known} of the ledger, but the ledger is at epoch {found}: it comes from an old backup; \
         bring a newer one back, or run `allotment ledger rebuild`"
    )]
    Old {
        /// The epoch that the garden has seen.
        known: Epoch,
        /// The ledger's.
        found: Epoch,
    },
}

impl Inner {
    /// Begins a term.
    pub(super) async fn begin(&self) -> Result<Term, Trouble> {
        let (uuid, version) = self.fitting().await?;
        let epoch = self.ledger.lead(&self.settings.identity, self.clock.now()).await?;
        self.write_identity(&Identity { uuid, epoch }, version).await?;
        let term = Term { epoch };
        self.compare(term).await?;
        tracing::info!(%epoch, "the ledger is compared with the garden; accounts can be handed out");
        Ok(term)
    }

    /// The ledger's identity and the version of the garden's note about it, if the two fit.
    pub(super) async fn fitting(&self) -> Result<(String, Option<String>), Trouble> {
        let known = self.known_identity().await?;
        let ours = self.ledger.identity().await?;
        if let Some((known, _)) = known.as_ref().filter(|(known, _)| known.uuid != ours.uuid) {
            return Err(TermError::Foreign { known: known.uuid.clone(), found: ours.uuid }.into());
        }
        if let Some((known, _)) = known.as_ref().filter(|(known, _)| known.epoch > ours.epoch) {
            return Err(TermError::Old { known: known.epoch, found: ours.epoch }.into());
        }
        Ok((ours.uuid, known.map(|(_, version)| version)))
    }

    /// Throws away what the ledger says about the present, and makes it anew from the cluster.
    pub(super) async fn rebuild(&self) -> Result<Epoch, Trouble> {
        self.cache.until_complete().await;
        let known = self.known_identity().await?;
        let uuid = self.ledger.identity().await?.uuid;
        let epoch = self.ledger.lead(&self.settings.identity, self.clock.now()).await?;
        self.ledger.clear(epoch, "made anew from the cluster", self.clock.now()).await?;
        self.compare(Term { epoch }).await?;
        // Last: where this breaks off before, a halted operator stays halted.
        self.write_identity(&Identity { uuid, epoch }, known.map(|(_, version)| version)).await?;
        Ok(epoch)
    }

    async fn known_identity(&self) -> Result<Option<(Identity, String)>, Trouble> {
        let api: Api<ConfigMap> = Api::namespaced(self.garden.clone(), &self.settings.garden_namespace);
        let found = call(|| format!("read ConfigMap {IDENTITY}"), api.get_opt(IDENTITY)).await?;
        Ok(found.and_then(|map| {
            let data = map.data.as_ref()?;
            let epoch = data.get("epoch").and_then(|epoch| epoch.parse().ok()).map_or(Epoch(0), Epoch);
            let identity = Identity { uuid: data.get("ledger")?.clone(), epoch };
            Some((identity, map.resource_version().unwrap_or_default()))
        }))
    }

    async fn write_identity(&self, identity: &Identity, version: Option<String>) -> Result<(), Trouble> {
        let api: Api<ConfigMap> = Api::namespaced(self.garden.clone(), &self.settings.garden_namespace);
        let data = BTreeMap::from([
            ("ledger".to_owned(), identity.uuid.clone()),
            ("epoch".to_owned(), identity.epoch.to_string()),
        ]);
        match version {
            None => {
                let metadata = ObjectMeta { name: Some(IDENTITY.to_owned()), ..ObjectMeta::default() };
                let map = ConfigMap { metadata, data: Some(data), ..ConfigMap::default() };
                let params = PostParams::default();
                call(|| format!("create ConfigMap {IDENTITY}"), api.create(&params, &map)).await?;
            }
            Some(version) => {
                let patch = json!({ "metadata": { "resourceVersion": version }, "data": data });
                let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
                call(|| format!("update ConfigMap {IDENTITY}"), api.patch(IDENTITY, &params, &patch)).await?;
            }
        }
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
        let (index, policy) = (self.index(), self.policy());
        let bound = index.requests().filter(|(_, request)| {
            request.status.as_ref().is_some_and(|status| {
                status.gardener_secret_name.is_some()
                    && matches!(status.phase, Some(SubscriptionPhase::Bound | SubscriptionPhase::Releasing))
            })
        });
        let lost = bound
            .filter(|(_, request)| !assigned.contains(&RequestUid::new(request.uid().unwrap_or_default())));
        lost.filter_map(|(_, request)| {
            let wanted = wanted(&request.spec, &policy.rules).ok();
            let account = account_of(&index, request)?;
            let entry = &index.entry(&account)?.entry;
            let pool = entry.pool.clone()?;
            let tenant = request.status.as_ref()?.tenant_name.clone().map(allotment_core::pool::Tenant::new);
            let agrees =
                if pool.shared { tenant.is_none() } else { tenant.is_some() && entry.tenant == tenant };
            (agrees && wanted.is_none_or(|wanted| wanted.tenant == tenant)).then(|| Assignment {
                request: key_of(request),
                tenant,
                account,
                pool,
                cluster: cluster_of(request),
                since: self.clock.now(),
            })
        })
        .collect()
    }
}

/// Which ledger, and how far it was.
struct Identity {
    uuid: String,
    epoch: Epoch,
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
