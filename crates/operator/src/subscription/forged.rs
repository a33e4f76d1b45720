//! A status that somebody else wrote: it says that a request is bound, and the ledger gave it nothing, or another account.

use super::{
    RequestName, Task, Trouble,
    request::is_bound,
    run::Inner,
    term::{Term, account_of, key_of},
};
use crate::{
    ledger::{About, Event, LedgerError},
    runtime::{events::Tone, queue::Outcome},
};
use allotment_api::{
    condition::ConditionStatus,
    kyma::{SecretReference, SubscriptionRequest, SubscriptionRequestStatus},
};
use allotment_core::{
    condition::{self, Verdict},
    marks::{self, MARKS_IGNORED},
    pool::{AccountName, RequestUid, Tenant},
};
use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

/// What a status that says Bound is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// It is true.
    Truly,
    /// The ledger has given it another account.
    Elsewhere,
    /// The ledger has given it nothing, and neither a Shoot nor the history says otherwise.
    Never,
    /// The ledger has lost it: a Shoot or the history says that there was an account, but not enough to give it back.
    Unproven(String),
}

/// Evidence that a request was given an account that the ledger has lost.
#[derive(Clone, Copy, Debug)]
enum Trace {
    /// A Shoot with the request's UID: only the operators write Shoots.
    Shoot,
    /// The history, which outlives a rebuild.
    History,
}

impl Trace {
    fn restored(self) -> &'static str {
        match self {
            Self::Shoot => "the ledger had lost it; its Shoot is in the account, and the binding agrees",
            Self::History => "the ledger had lost it; its history says so, and the binding agrees",
        }
    }

    fn unproven(self) -> &'static str {
        match self {
            Self::Shoot => {
                "its Shoot is in another account than its status names, or the binding is gone or its labels disagree"
            }
            Self::History => {
                "the history says that it was given the account, and the labels of the binding disagree"
            }
        }
    }
}

/// As many entries of the history as are read about one request. The last one that matters is among them: a request that has an
/// account makes no more.
const REMEMBERED: u32 = 50;

/// The condition of a request whose account the ledger has lost.
pub(super) const ASSIGNMENT_KNOWN: &str = "AssignmentKnown";

/// Every request that says Bound is compared with the ledger so often. It reads all assignments at once.
pub(super) const BOUND_RESYNC: Duration = Duration::from_secs(600);

const NEVER: &str = "the status said that there is an account, and none was given to this request; the status is what the operator \
     reports, only the operator writes it";
const ELSEWHERE: &str = "the status named another account than this request was given; the status is what the operator reports, \
     only the operator writes it";

impl Inner {
    /// Accounts of requests, as far as the ledger was asked. A request that is bound and not among them is looked up in the ledger,
    /// so that an honest one costs no read.
    pub(super) fn assigned(&self) -> MutexGuard<'_, BTreeMap<RequestUid, AccountName>> {
        self.assigned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a status that says Bound is true. A Shoot with the request's UID proves it, too, whatever became of the ledger: only
    /// the operators write Shoots. So does the history. The assignment is given back to the request then.
    pub(super) async fn examine(&self, term: Term, request: &SubscriptionRequest) -> Result<Bound, Trouble> {
        let uid = key_of(request).uid;
        let known = self.assigned().get(&uid).cloned();
        let account = match known {
            Some(account) => account,
            None => match self.ledger.assignment(&uid).await? {
                Some(assignment) => {
                    self.assigned().insert(uid, assignment.account.clone());
                    assignment.account
                }
                None if self.shoot_of(&uid).await?.is_some() => {
                    return self.restore(term, request, Trace::Shoot).await;
                }
                None if self.is_remembered(request).await? => {
                    return self.restore(term, request, Trace::History).await;
                }
                None => return Ok(Bound::Never),
            },
        };
        // A binding that is gone says nothing.
        let named = account_of(&self.index(), request);
        Ok(if named.is_none_or(|named| named == account) { Bound::Truly } else { Bound::Elsewhere })
    }

    /// Whether the history says that a request was given the account that its status names, and has not given it back.
    async fn is_remembered(&self, request: &SubscriptionRequest) -> Result<bool, Trouble> {
        let Some(named) = account_of(&self.index(), request) else { return Ok(false) };
        let entries = self.ledger.history(About::Request(&key_of(request).uid), REMEMBERED).await?;
        let last = entries.into_iter().rev().find(|entry| {
            matches!(entry.event, Event::Assigned | Event::Kept | Event::Released | Event::Lost)
        });
        let is_given = |event| matches!(event, Event::Assigned | Event::Kept);
        Ok(last.is_some_and(|last| is_given(last.event) && last.account == Some(named)))
    }

    /// Gives a request back the account that it was given, if the binding agrees.
    async fn restore(
        &self,
        term: Term,
        request: &SubscriptionRequest,
        trace: Trace,
    ) -> Result<Bound, Trouble> {
        let proven = {
            let index = self.index();
            let proven = self.proven_assignment(&index, request);
            proven.filter(|it| match trace {
                Trace::Shoot => index.shows_shoot_of(&it.account, &it.request.uid),
                Trace::History => true,
            })
        };
        let Some(assignment) = proven else { return Ok(Bound::Unproven(trace.unproven().to_owned())) };
        let because = trace.restored();
        match self.ledger.assign(term.epoch, &assignment, because, self.clock.now()).await {
            Ok(()) => {
                let note = format!(
                    "account {} is written down for this request again: {because}",
                    assignment.account
                );
                tracing::warn!(request = %assignment.request, account = %assignment.account, because, "assignment restored");
                self.recorder.say(request, Tone::Warning, "AssignmentRestored", &note).await;
                self.assigned().insert(assignment.request.uid, assignment.account);
                Ok(Bound::Truly)
            }
            Err(LedgerError::Refused { because, .. }) => Ok(Bound::Unproven(because)),
            Err(error) => Err(error.into()),
        }
    }

    /// Compares every request that says Bound with the ledger.
    pub(super) async fn look_at_bound(&self) -> Result<Outcome, Trouble> {
        let rows = self.ledger.accounts().await?;
        let assignments = rows.into_iter().flat_map(|row| row.assignments);
        let fresh: BTreeMap<RequestUid, AccountName> =
            assignments.map(|it| (it.request.uid, it.account)).collect();
        let differ: Vec<RequestName> = {
            let index = self.index();
            let bound = index.requests().filter(|(_, request)| is_bound(request));
            let differs = |request: &SubscriptionRequest| {
                let named = account_of(&index, request);
                fresh.get(&key_of(request).uid) != named.as_ref()
            };
            bound.filter(|(_, request)| differs(request)).map(|(name, _)| name.clone()).collect()
        };
        *self.assigned() = fresh;
        differ.into_iter().for_each(|name| self.add(Task::Request(name)));
        Ok(Outcome::After(BOUND_RESYNC))
    }

    /// Reports whether the ledger has the account of a request that says Bound.
    pub(super) fn report_assignment(
        &self,
        request: &SubscriptionRequest,
        unproven: Option<&str>,
        status: &mut SubscriptionRequestStatus,
    ) {
        let verdict = unproven.map(|because| Verdict {
            type_: ASSIGNMENT_KNOWN,
            status: ConditionStatus::False,
            reason: "AssignmentLost",
            message: format!(
                "the ledger does not have the account of this request, and it cannot be given back: {because}; nobody else gets the \
                 account while this request is there"
            ),
        });
        let (generation, now) = (request.metadata.generation, self.clock.now());
        condition::set_or_remove(&mut status.conditions, ASSIGNMENT_KNOWN, verdict, generation, now);
    }

    /// Takes back what a forged status says. A request that was given nothing is then judged like any other.
    pub(super) async fn correct(
        &self,
        term: Term,
        request: &SubscriptionRequest,
        bound: &Bound,
    ) -> Result<(), Trouble> {
        let before = request.status.clone().unwrap_or_default();
        let (status, note) = match (bound, self.ledger.assignment(&key_of(request).uid).await?) {
            (Bound::Elsewhere, Some(assignment)) => {
                let account = &assignment.account;
                let secret = self.index().secret_of(account);
                self.secure(term).await?;
                let status = SubscriptionRequestStatus {
                    gardener_secret_name: Some(self.binding_for(account).await?),
                    binding_kind: Some(self.settings.binding_kind),
                    secret_ref: secret.map(|(namespace, name)| SecretReference { name, namespace }),
                    tenant_name: assignment.tenant.as_ref().map(Tenant::to_string),
                    ..before
                };
                (status, ELSEWHERE)
            }
            _ => {
                // Another installation may have given it the account, and this one has not noticed yet that it is over.
                self.hold_fence(term).await?;
                let conditions = before.conditions;
                (SubscriptionRequestStatus { conditions, ..SubscriptionRequestStatus::default() }, NEVER)
            }
        };
        self.write_status(request, &status).await?;
        self.tell_corrected(request, note).await;
        Ok(())
    }

    /// Tells that a status names another account than the ledger gave; the request's own look then writes the right one.
    pub(super) async fn tell_elsewhere(&self, request: &SubscriptionRequest) {
        self.tell_corrected(request, ELSEWHERE).await;
    }

    async fn tell_corrected(&self, request: &SubscriptionRequest, note: &'static str) {
        tracing::warn!(request = %key_of(request), because = note, "status corrected");
        self.recorder.warn_once(request, "StatusCorrected", note).await;
    }

    /// Tells about finalizers and ownerReferences in our name, also where the garbage collector has taken the request by now.
    pub(super) async fn tell_marks(&self, name: &RequestName) {
        let marked = self.index().take_marked(name);
        if let Some((request, verdict)) =
            marked.and_then(|it| marks::of_subscription(&it).map(|told| (it, told)))
        {
            self.recorder.warn_once(&*request, MARKS_IGNORED, &verdict.message).await;
        }
    }
}
