//! One look at a SubscriptionRequest.

use super::{
    RequestName, Task, Trouble,
    forged::Bound,
    learn::census_entry,
    run::Inner,
    term::{Term, cluster_of, key_of},
};
use crate::{
    ledger::{Ask, Entries, Who},
    planted::Planted,
    runtime::{events::Tone, queue::Outcome},
};
use allotment_api::{
    kyma::{SecretReference, SubscriptionCondition, SubscriptionPhase, SubscriptionRequest},
    names::{finalizer, tenant},
};
use allotment_core::{
    marks::{RETURNED, RETURNED_BECAUSE},
    pool::{AccountName, Answer, Denial, EXACT_POSITIONS, Holding, Lack, Progress, Wanted, wanted},
    quotas::{Counted, Exceeded, QUOTA_EXCEEDED},
    tenancy::{self, Claim, Judged, NamespaceRole},
};
use kube::ResourceExt;
use std::{sync::Arc, time::Duration};

/// How many free accounts a decision is shown at first. More are only looked at if these are taken.
const FEW: usize = 64;

/// A request whose account the ledger has lost is looked at again so often: labels and Shoots may prove it by then.
const UNPROVEN_LOOK: Duration = Duration::from_secs(60);

/// Whether a namespace may name a tenant.
pub(super) type Judgement = Result<Judged, Denial>;

impl Inner {
    pub(super) async fn look_at_request(&self, term: Term, name: &RequestName) -> Result<Outcome, Trouble> {
        self.tell_marks(name).await;
        let Some(request) = self.index().request(name) else { return Ok(Outcome::Done) };
        let uid = key_of(&request).uid;
        if self.index().returned.remove(name) {
            self.assigned().remove(&uid);
            self.recorder.warn_once(&*request, RETURNED, RETURNED_BECAUSE).await;
        }
        let woken = self.take_wake(&uid);
        let looked = self.look_at_known_request(term, request, woken).await;
        if woken && !matches!(looked, Ok(Outcome::Done | Outcome::After(_))) {
            self.wake_again(&uid);
        }
        looked
    }

    async fn look_at_known_request(
        &self,
        term: Term,
        request: Arc<SubscriptionRequest>,
        woken: bool,
    ) -> Result<Outcome, Trouble> {
        if request.metadata.deletion_timestamp.is_some() {
            return self.release(term, &request).await;
        }
        let (uid, judgement) = (key_of(&request).uid, self.judge(&request).await?);
        let wanted = judgement.clone().and_then(|_| wanted(&request.spec, &self.policy().rules));
        // What is bound stays bound, whatever becomes of the rules and of the namespace's tenants.
        if is_bound(&request) && !self.is_queued(&uid) {
            if self.ledger.has(Planted::BoundNeverCompared) {
                return Ok(Outcome::Done);
            }
            match self.examine(term, &request).await? {
                // Another tool has bound it, or somebody took from it what we write: it is published as any other.
                Bound::Truly if wanted.is_ok() && !is_whole(&request) => (),
                Bound::Truly => {
                    self.report_bound(&request, &judgement, None).await?;
                    return Ok(Outcome::Done);
                }
                Bound::Unproven(why) => {
                    self.report_bound(&request, &judgement, Some(&why)).await?;
                    return Ok(Outcome::After(UNPROVEN_LOOK));
                }
                // The ledger answers with the account that it gave.
                Bound::Elsewhere if wanted.is_ok() => self.tell_elsewhere(&request).await,
                bound => {
                    self.correct(term, &request, &bound).await?;
                    return Ok(Outcome::Again);
                }
            }
        }
        let request = self.with_finalizer(request).await?;
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(denial) => return self.deny(term, &request, denial, "PolicyDenied", &judgement).await,
        };
        // It stands in the queue, and its status says so: it asks again when it is woken.
        let is_told = is_waiting(&request) && matched_rule(&request) == wanted.rule.as_ref();
        if !woken && is_told && self.is_queued_for(&uid, &wanted) {
            return Ok(Outcome::Done);
        }
        // What was refused because of a cap comes back when there is room, and costs nothing until then.
        let exceeded = self.exceeded(&request);
        if let Some(exceeded) = exceeded.as_ref().filter(|_| is_refused(&request)) {
            let denial = exceeded.denial(Counted::WaitingRequests);
            return self.deny(term, &request, denial, QUOTA_EXCEEDED, &judgement).await;
        }
        self.assign(term, &request, wanted, exceeded, &judgement).await
    }

    /// Whether the namespace may name the tenant that the request names.
    pub(super) async fn judge(&self, request: &SubscriptionRequest) -> Result<Judgement, Trouble> {
        let namespace = request.namespace().unwrap_or_default();
        let claim = Claim {
            selector: Some(&request.spec.subscription_selector),
            label: request.labels().get(tenant::GLOBAL_ACCOUNT_ID).map(String::as_str),
        };
        let role = match self.ledger.has(Planted::AnyTenantForAll) {
            true => NamespaceRole::Trusted,
            false => self.roles.role_now(&namespace).await?,
        };
        Ok(tenancy::judge(&role, &namespace, &claim))
    }

    /// Reports on a request that has its account whether its namespace still has the tenant, and whether the ledger still has the
    /// account. Nothing follows from it.
    async fn report_bound(
        &self,
        request: &SubscriptionRequest,
        judgement: &Judgement,
        unproven: Option<&str>,
    ) -> Result<(), Trouble> {
        let mut status = request.status.clone().unwrap_or_default();
        self.report(request, judgement, &mut status);
        self.report_assignment(request, unproven, &mut status);
        if self.write_status(request, &status).await? {
            if let Err(denial) = judgement {
                self.recorder.say(request, Tone::Warning, denial.reason, &denial.message).await;
            }
            if let Some(because) = unproven {
                tracing::error!(request = %key_of(request), because, "the ledger has lost its account");
                self.recorder.say(request, Tone::Warning, "AssignmentLost", because).await;
            }
        }
        Ok(())
    }

    /// Says that a request gets nothing, and keeps nobody else from what is free.
    pub(super) async fn deny(
        &self,
        term: Term,
        request: &Arc<SubscriptionRequest>,
        denial: Denial,
        event: &'static str,
        judgement: &Judgement,
    ) -> Result<Outcome, Trouble> {
        let uid = key_of(request).uid;
        if self.is_queued(&uid) {
            self.withdraw(term, &uid, &denial.message).await?;
        }
        self.hold_fence_if_bound(term, request).await?;
        if self.publish_judged(request, &Progress::Denied(denial.clone()), judgement).await? {
            self.recorder.say(&**request, Tone::Warning, event, &denial.message).await;
        }
        Ok(Outcome::Done)
    }

    /// The cap that leaves no room for a request to wait, unless it stands in a queue already.
    fn exceeded(&self, request: &SubscriptionRequest) -> Option<Exceeded> {
        if self.is_queued(&key_of(request).uid) {
            return None;
        }
        let name = RequestName::of(request);
        let caps = self.fairness().caps(&name.namespace, Counted::WaitingRequests);
        self.index().census.exceeded(&name, &census_entry(request), caps)
    }

    async fn assign(
        &self,
        term: Term,
        request: &Arc<SubscriptionRequest>,
        wanted: Wanted,
        exceeded: Option<Exceeded>,
        judgement: &Judgement,
    ) -> Result<Outcome, Trouble> {
        let started = self.clock.now();
        let may_queue = exceeded.is_none();
        let mut reserved = self.reserve(term, request, &wanted, may_queue, FEW).await?;
        // The first few may all have been taken in the moment since the watch last spoke. Whoever stands further behind than
        // that is woken when its turn comes.
        let is_near = matches!(&reserved.answer, Answer::Wait(position, _) if *position <= EXACT_POSITIONS);
        if is_near && self.index().free(&wanted.pool, FEW).len() == FEW {
            reserved = self.reserve(term, request, &wanted, may_queue, usize::MAX).await?;
        }
        let uid = key_of(request).uid;
        if reserved.queued && !self.is_queued_for(&uid, &wanted) {
            self.left(&uid);
            self.joined(&uid, &wanted);
        }
        let (account, reason, because) = match reserved.answer {
            Answer::Wait(..) if !reserved.queued => {
                self.left(&uid);
                // Between the two looks at the caps somebody else may have left; then it is judged again.
                let Some(exceeded) = exceeded else { return Ok(Outcome::Again) };
                let denial = exceeded.denial(Counted::WaitingRequests);
                return self.deny(term, request, denial, QUOTA_EXCEEDED, judgement).await;
            }
            Answer::Wait(position, lack) => {
                self.hold_fence_if_bound(term, request).await?;
                return self.wait(request, wanted, position, lack, judgement).await;
            }
            Answer::Claim(account) => {
                self.index().take(&account);
                let because = format!("account {account} was free in pool {}", wanted.pool);
                (account, "AccountClaimed", because)
            }
            Answer::Use(account) | Answer::Keep(account) => {
                let because = format!("account {account} of pool {} has room", wanted.pool);
                (account, "AccountAssigned", because)
            }
        };
        self.served(&uid, &wanted);
        if !reserved.confirmed && !self.confirm(term, &account, &wanted).await? {
            return Ok(Outcome::Again);
        }
        self.assigned().insert(uid, account.clone());
        let progress = self.bound(&account, wanted).await?;
        if !self.ledger.has(Planted::BoundBeforeFence) {
            self.secure(term).await?;
        }
        if self.publish_judged(request, &progress, judgement).await? {
            let latency = self.clock.now().duration_since(started);
            self.metrics
                .claimed(if reason == "AccountClaimed" { "claimed" } else { "assigned" }, Some(latency));
            tracing::info!(request = %key_of(request), %account, because, "assigned");
            self.recorder.say(&**request, Tone::Normal, reason, &because).await;
        }
        if self.ledger.has(Planted::BoundBeforeFence) {
            self.secure(term).await?;
        }
        Ok(Outcome::Done)
    }

    /// A status that says Bound is taken back only while the fence is this term's. Otherwise another installation has given it the
    /// account, and the two would overwrite each other until one of them notices.
    async fn hold_fence_if_bound(&self, term: Term, request: &SubscriptionRequest) -> Result<(), Trouble> {
        if is_bound(request) {
            self.hold_fence(term).await?;
        }
        Ok(())
    }

    /// Says that a request waits. It asks again when it is woken.
    async fn wait(
        &self,
        request: &Arc<SubscriptionRequest>,
        wanted: Wanted,
        position: u32,
        lack: Lack,
        judgement: &Judgement,
    ) -> Result<Outcome, Trouble> {
        let message = lack.to_string();
        if !lack.is_for_free_accounts() {
            // Those behind may have had to leave it a free account until now.
            self.wake_pool(&wanted.pool);
        }
        let was_waiting = is_waiting(request);
        let occupied = self.index().occupied_in(&wanted.pool).filter(|_| lack.is_for_free_accounts());
        let progress = Progress::Waiting { wanted, position, lack, occupied };
        if self.publish_judged(request, &progress, judgement).await? && !was_waiting {
            self.metrics.claimed("waiting", None);
            self.recorder.say(&**request, Tone::Warning, "PoolExhausted", &message).await;
        }
        Ok(Outcome::Done)
    }

    /// Asks the ledger, with what is known of the pool now.
    async fn reserve(
        &self,
        term: Term,
        request: &SubscriptionRequest,
        wanted: &Wanted,
        may_queue: bool,
        most: usize,
    ) -> Result<crate::ledger::Reserved, Trouble> {
        let (key, cluster, policy) = (key_of(request), cluster_of(request), self.policy());
        let (accounts, observed) = {
            let index = self.index();
            let accounts =
                if wanted.pool.shared { index.shared(&wanted.pool) } else { index.free(&wanted.pool, most) };
            let own =
                wanted.tenant.as_ref().map(|tenant| index.accounts_of_tenant(tenant)).unwrap_or_default();
            let counted = if wanted.pool.shared { &accounts } else { &own };
            let observed = index.observe(counted, &accounts, &self.assigned());
            (accounts, observed)
        };
        let who = match &wanted.tenant {
            None => Who::Shared { accounts: &accounts },
            Some(tenant) => Who::Dedicated {
                tenant,
                accounts: policy.multi_account.of(tenant, request.spec.provider.as_str()),
                cap: policy.cap.filter(|_| !self.ledger.has(Planted::CapIgnored)),
                free: &accounts,
            },
        };
        let because = wanted
            .rule
            .as_ref()
            .map_or_else(|| "provider and selector".to_owned(), |rule| format!("rule {rule}"));
        let has_entry = |account: &AccountName| self.index().entry(account).is_some();
        let ask = Ask {
            request: &key,
            cluster: cluster.as_deref(),
            pool: &wanted.pool,
            who,
            observed: &observed,
            entries: Entries::of(&has_entry),
            may_queue,
            because: &because,
        };
        let reserved = self.ledger.reserve(term.epoch, &ask, self.clock.now()).await;
        // It went while the ledger was asked: whoever looked for what it left behind may have come too early.
        if self.index().request_of(&key.uid).is_none() {
            self.add(Task::Orphan(key.uid.clone()));
        }
        Ok(reserved?)
    }

    /// Sees to it that the binding carries the tenant's name. Returns whether it does: somebody else may have been faster.
    async fn confirm(&self, term: Term, account: &AccountName, wanted: &Wanted) -> Result<bool, Trouble> {
        let row = self.ledger.account(account).await?;
        self.settle(term, account, row).await?;
        let row = self.ledger.account(account).await?;
        Ok(row.is_some_and(|row| match (&row.holding, &wanted.tenant) {
            (Holding::Claimed(holder), Some(tenant)) => holder == tenant,
            _ => false,
        }))
    }

    /// What the status says of an account.
    async fn bound(&self, account: &AccountName, wanted: Wanted) -> Result<Progress, Trouble> {
        let binding = self.binding_for(account).await?;
        let secret =
            self.index().secret_of(account).map(|(namespace, name)| SecretReference { name, namespace });
        Ok(Progress::Bound {
            wanted,
            account: account.clone(),
            binding,
            kind: self.settings.binding_kind,
            secret,
        })
    }

    async fn with_finalizer(
        &self,
        request: Arc<SubscriptionRequest>,
    ) -> Result<Arc<SubscriptionRequest>, Trouble> {
        if has_finalizer(&request) {
            return Ok(request);
        }
        let mut finalizers = request.finalizers().to_vec();
        finalizers.push(finalizer::SUBSCRIPTION.to_owned());
        Ok(Arc::new(self.write_finalizers(&request, &finalizers).await?))
    }
}

pub(super) fn is_bound(request: &SubscriptionRequest) -> bool {
    request.status.as_ref().is_some_and(|status| {
        status.phase == Some(SubscriptionPhase::Bound) && status.gardener_secret_name.is_some()
    })
}

/// Whether a request that is bound has our finalizer and says why it is.
fn is_whole(request: &SubscriptionRequest) -> bool {
    let is_explained = request.status.as_ref().is_some_and(|status| {
        let ready = SubscriptionCondition::Ready.as_str();
        allotment_core::condition::find(&status.conditions, ready).is_some()
    });
    is_explained && has_finalizer(request)
}

fn has_finalizer(request: &SubscriptionRequest) -> bool {
    request.finalizers().iter().any(|name| name == finalizer::SUBSCRIPTION)
}

fn matched_rule(request: &SubscriptionRequest) -> Option<&String> {
    request.status.as_ref()?.matched_rule.as_ref()
}

fn is_waiting(request: &SubscriptionRequest) -> bool {
    request.status.as_ref().is_some_and(|status| status.phase == Some(SubscriptionPhase::Waiting))
}

/// Whether the status says that a cap leaves no room for it.
pub(super) fn is_refused(request: &SubscriptionRequest) -> bool {
    request.status.as_ref().is_some_and(|status| {
        status.phase == Some(SubscriptionPhase::Denied)
            && status.conditions.iter().any(|condition| condition.reason == QUOTA_EXCEEDED)
    })
}
