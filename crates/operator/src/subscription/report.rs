//! The condition `Reconciled` of SubscriptionRequests.

use super::{Task, run::Inner, trouble};
use crate::{
    dependencies::Dependency,
    runtime::{
        call::CallError,
        report::{Reporter, Told, lasting_failure, write_failure},
    },
};
use allotment_api::kyma::{SubscriptionPhase, SubscriptionRequest};
use allotment_core::failure::Failure;
use std::time::Duration;

/// No account is handed out or given back without them.
const NEEDED: [Dependency; 4] =
    [Dependency::LedgerRead, Dependency::LedgerWrite, Dependency::GardenRead, Dependency::GardenWrite];

/// A term that could not begin at once may well begin with the next attempt.
const HALTED_FOR: Duration = Duration::from_secs(5);

impl Reporter<Task> for Inner {
    fn objects(&self) -> Vec<Task> {
        self.index().requests().map(|(name, _)| Task::Request(name.clone())).collect()
    }

    fn told(&self, task: &Task) -> Option<Told> {
        let Task::Request(name) = task else { return None };
        let request = self.index().request(name)?;
        let conditions = request.status.as_ref().map(|status| status.conditions.as_slice());
        Some(Told::by(conditions, waits(&request)))
    }

    fn lasting(&self) -> Option<Failure> {
        let is_halted = || self.is_halted_for(HALTED_FOR).then(trouble::halted);
        lasting_failure(self.metrics.dependencies(), &NEEDED).or_else(is_halted)
    }

    async fn until_lasting_may_change(&self) {
        let mut halted = self.halted.subscribe();
        tokio::select! {
            biased;
            // The sender lives as long as this does.
            _ = halted.wait_for(Option::is_some) => (),
            () = self.metrics.dependencies().until_one_fails(&NEEDED) => (),
        }
    }

    async fn write(&self, task: &Task, failure: Option<&Failure>) -> Result<(), CallError> {
        let Task::Request(name) = task else { return Ok(()) };
        let Some(request) = self.index().request(name) else { return Ok(()) };
        let (api, now) = (self.requests_in(&request), self.clock.now());
        let status = request.status.as_ref();
        let written =
            write_failure(&api, &*request, status, |status| &mut status.conditions, failure, now).await?;
        written.into_iter().for_each(|written| self.learn_written_request(written));
        Ok(())
    }
}

/// Whether a request waits for an account, or for giving its account back.
fn waits(request: &SubscriptionRequest) -> bool {
    let phase = request.status.as_ref().and_then(|status| status.phase);
    let has_answer = matches!(phase, Some(SubscriptionPhase::Bound | SubscriptionPhase::Denied));
    !has_answer || request.metadata.deletion_timestamp.is_some()
}
