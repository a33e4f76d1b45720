//! The condition `Reconciled` of KubeconfigRequests.

use super::{RequestName, index::Known, run::Inner};
use crate::{
    dependencies::Dependency,
    runtime::{
        call::CallError,
        report::{Reporter, Told, lasting_failure, write_failure},
    },
};
use allotment_api::kyma::{KubeconfigPhase, KubeconfigRequest};
use allotment_core::failure::Failure;

/// The garden issues the kubeconfigs by which Shoots are reached.
const NEEDED: [Dependency; 2] = [Dependency::GardenRead, Dependency::GardenWrite];

impl Reporter<RequestName> for Inner {
    fn objects(&self) -> Vec<RequestName> {
        self.index().all_requests()
    }

    fn told(&self, name: &RequestName) -> Option<Told> {
        let Known { request, .. } = self.index().request(name)?;
        let conditions = request.status.as_ref().map(|status| status.conditions.as_slice());
        Some(Told::by(conditions, waits(&request)))
    }

    fn lasting(&self) -> Option<Failure> {
        lasting_failure(self.metrics.dependencies(), &NEEDED)
    }

    async fn until_lasting_may_change(&self) {
        self.metrics.dependencies().until_one_fails(&NEEDED).await;
    }

    async fn write(&self, name: &RequestName, failure: Option<&Failure>) -> Result<(), CallError> {
        let Some(Known { request, .. }) = self.index().request(name) else { return Ok(()) };
        let (api, now) = (self.requests_in(&name.namespace), self.clock.now());
        // No cache keeps a kubeconfig: neither status has the field.
        let status = request.status.as_ref();
        let written =
            write_failure(&api, &*request, status, |status| &mut status.conditions, failure, now).await?;
        if let Some(written) = written {
            let woken = self.index().learn_request(written);
            woken.into_iter().filter(|woken| woken != name).for_each(|woken| self.wake(woken));
        }
        Ok(())
    }
}

/// Whether a request waits for a kubeconfig, or for its end.
fn waits(request: &KubeconfigRequest) -> bool {
    let phase = request.status.as_ref().and_then(|status| status.phase);
    matches!(phase, None | Some(KubeconfigPhase::Pending)) || request.metadata.deletion_timestamp.is_some()
}
