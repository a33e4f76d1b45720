//! Giving back: the account of a request stays its own until a live read shows that its Shoot is gone.

use super::{
    Task, Trouble,
    run::Inner,
    term::{Term, key_of},
};
use crate::{
    ledger::{Assignment, Left, Released},
    planted::Planted,
    runtime::{call::call, events::Tone, queue::Outcome},
};
use allotment_api::{
    gardener::Shoot,
    kyma::SubscriptionRequest,
    names::{finalizer, label},
};
use allotment_core::pool::{Progress, RequestUid};
use kube::{Api, ResourceExt, api::ListParams};
use std::{sync::Arc, time::Duration};

/// A Shoot that goes wakes the request; this is for the case that it was missed.
const RELEASING_LOOK: Duration = Duration::from_secs(60);

/// The cache shows a Shoot of the request that a live read does not: it is gone, or it was released and is foreign now, and keeps
/// the account. The watch tells which in a moment.
const CACHE_LAGS: Duration = Duration::from_millis(500);

impl Inner {
    pub(super) async fn release(
        &self,
        term: Term,
        request: &Arc<SubscriptionRequest>,
    ) -> Result<Outcome, Trouble> {
        if !request.finalizers().iter().any(|name| name == finalizer::SUBSCRIPTION) {
            return Ok(Outcome::Done);
        }
        // A Shoot may be under way that no read shows yet: whoever makes it says when there will be none any more.
        if request.finalizers().iter().any(|name| name == finalizer::CLUSTER) {
            // But it gets none any more: others must not wait behind it.
            let uid = key_of(request).uid;
            if self.ledger.assignment(&uid).await?.is_none() {
                self.withdraw(term, &uid, "the request is deleted").await?;
            }
            let because = "the Cluster that the account is for still needs it".to_owned();
            self.publish(request, &Progress::Releasing { because }).await?;
            return Ok(Outcome::Done);
        }
        let key = key_of(request);
        if let Some(assignment) = self.ledger.assignment(&key.uid).await? {
            if let Some(shoot) = self.shoot_of(&key.uid).await? {
                let because = format!("Shoot {shoot} is still in account {}", assignment.account);
                self.publish(request, &Progress::Releasing { because }).await?;
                return Ok(Outcome::After(RELEASING_LOOK));
            }
            if self.shows_shoot_of(&assignment) {
                return Ok(Outcome::After(CACHE_LAGS));
            }
            let because = "the request is deleted and its Shoot is gone";
            self.give_back(term, &assignment, because).await?;
            let note = format!("account {} is given back: {because}", assignment.account);
            self.recorder.say(&**request, Tone::Normal, "AccountReleased", &note).await;
        } else {
            // It may be in a queue.
            let left = Left { foreign: 0, drain: false };
            self.ledger
                .release(term.epoch, &key.uid, left, "the request is deleted", self.clock.now())
                .await?;
            self.left(&key.uid);
        }
        let finalizers: Vec<String> =
            request.finalizers().iter().filter(|name| *name != finalizer::SUBSCRIPTION).cloned().collect();
        match self.write_finalizers(request, &finalizers).await {
            Err(Trouble::Call(error)) if error.is_not_found() => Ok(Outcome::Done),
            result => result.map(|_| Outcome::Done),
        }
    }

    /// A request that is gone without having given back, its finalizer removed by hand: its account, or its place in a
    /// queue.
    pub(super) async fn look_at_orphan(&self, term: Term, uid: &RequestUid) -> Result<Outcome, Trouble> {
        if self.index().request_of(uid).is_some() {
            return Ok(Outcome::Done);
        }
        self.assigned().remove(uid);
        let Some(assignment) = self.ledger.assignment(uid).await? else {
            return self.leave_queue(term, uid).await;
        };
        let api: Api<SubscriptionRequest> =
            Api::namespaced(self.control_plane.clone(), &assignment.request.namespace);
        let name = &assignment.request.name;
        let live = call(|| format!("read SubscriptionRequest {name}"), api.get_opt(name)).await?;
        if live.is_some_and(|live| live.uid().as_deref() == Some(uid.as_str())) {
            return Ok(Outcome::Done);
        }
        if self.shoot_of(uid).await?.is_some() {
            return Ok(Outcome::After(RELEASING_LOOK));
        }
        if self.shows_shoot_of(&assignment) {
            return Ok(Outcome::After(CACHE_LAGS));
        }
        self.give_back(term, &assignment, "the request is gone and so is its Shoot").await?;
        Ok(Outcome::Done)
    }

    /// Nobody is hurt if the request is there after all: it queues again when it is next looked at.
    async fn leave_queue(&self, term: Term, uid: &RequestUid) -> Result<Outcome, Trouble> {
        self.withdraw(term, uid, "the request is gone").await?;
        Ok(Outcome::Done)
    }

    /// Takes a request out of its queue, if it is in one.
    pub(super) async fn withdraw(&self, term: Term, uid: &RequestUid, because: &str) -> Result<(), Trouble> {
        self.ledger.withdraw(term.epoch, uid, because, self.clock.now()).await?;
        self.left(uid);
        Ok(())
    }

    async fn give_back(&self, term: Term, assignment: &Assignment, because: &str) -> Result<(), Trouble> {
        let in_twins = self.assignments_in_twins(&assignment.account).await?;
        let left = {
            let index = self.index();
            let entry = index.entry(&assignment.account);
            let foreign = if self.ledger.has(Planted::ReleaseLooksOnlyAtShoots) {
                index.count_shoots(&assignment.account).all
            } else {
                index.count_foreign_but(&assignment.account, &assignment.request.uid)
            };
            // The account is in use by them, too: it must not be cleaned.
            let foreign = foreign.saturating_add(in_twins);
            Left { foreign, drain: entry.is_none_or(|entry| entry.entry.is_dedicated()) }
        };
        let now = self.clock.now();
        let released = self.ledger.release(term.epoch, &assignment.request.uid, left, because, now).await;
        if released.is_err() {
            // It may have come about all the same.
            self.add(Task::Account(assignment.account.clone()));
        }
        let released = released?;
        tracing::info!(request = %assignment.request, account = %assignment.account, %released, because, "released");
        match released {
            Released::Emptied { account } => self.add(Task::Account(account)),
            // There is room now: somebody of the same tenant may wait for it.
            Released::Kept { .. } => assignment.tenant.iter().for_each(|tenant| self.wake_tenant(tenant)),
            Released::NotHeld | Released::Queued => (),
        }
        Ok(())
    }

    /// Whether the cache shows a Shoot of the request that has an account. With the planted fault nobody asks it: a read that
    /// failed is the last word.
    fn shows_shoot_of(&self, assignment: &Assignment) -> bool {
        !self.ledger.has(Planted::FailedReadIsGone)
            && self.index().shows_shoot_of(&assignment.account, &assignment.request.uid)
    }

    /// A Shoot of this request, read live: a cache may not have seen it yet.
    pub(super) async fn shoot_of(&self, uid: &RequestUid) -> Result<Option<String>, Trouble> {
        let api: Api<Shoot> = Api::namespaced(self.garden.clone(), &self.settings.garden_namespace);
        let params = ListParams::default().labels(&format!("{}={uid}", label::SUBSCRIPTION_REQUEST)).limit(1);
        let found = call(|| format!("look for the Shoot of request {uid}"), api.list_metadata(&params)).await;
        if found.is_err() && self.ledger.has(Planted::FailedReadIsGone) {
            return Ok(None);
        }
        Ok(found?.items.first().map(ResourceExt::name_any))
    }
}
