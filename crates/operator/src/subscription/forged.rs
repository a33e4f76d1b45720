//! A status that somebody else wrote: it says that a request is bound, and the ledger gave it nothing, or another account.

use super::{
    RequestName, Trouble,
    run::Inner,
    term::{account_of, key_of},
};
use allotment_api::kyma::{SecretReference, SubscriptionRequest, SubscriptionRequestStatus};
use allotment_core::{
    marks::{self, MARKS_IGNORED},
    pool::{AccountName, RequestUid, Tenant},
};
use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
};

/// What a status that says Bound is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// It is true.
    Truly,
    /// The ledger has given it another account.
    Elsewhere,
    /// The ledger has given it nothing, and no Shoot says otherwise.
    Never,
}

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
    /// the operators write Shoots.
    pub(super) async fn examine(&self, request: &SubscriptionRequest) -> Result<Bound, Trouble> {
        let uid = key_of(request).uid;
        let known = self.assigned().get(&uid).cloned();
        let account = match known {
            Some(account) => account,
            None => match self.ledger.assignment(&uid).await? {
                Some(assignment) => {
                    self.assigned().insert(uid, assignment.account.clone());
                    assignment.account
                }
                None if self.shoot_of(&uid).await?.is_some() => return Ok(Bound::Truly),
                None => return Ok(Bound::Never),
            },
        };
        // A binding that is gone says nothing.
        let named = account_of(&self.index(), request);
        Ok(if named.is_none_or(|named| named == account) { Bound::Truly } else { Bound::Elsewhere })
    }

    /// Takes back what a forged status says. A request that was given nothing is then judged like any other.
    pub(super) async fn correct(&self, request: &SubscriptionRequest, bound: &Bound) -> Result<(), Trouble> {
        let before = request.status.clone().unwrap_or_default();
        let (status, note) = match (bound, self.ledger.assignment(&key_of(request).uid).await?) {
            (Bound::Elsewhere, Some(assignment)) => {
                let account = &assignment.account;
                let secret = self.index().secret_of(account);
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
