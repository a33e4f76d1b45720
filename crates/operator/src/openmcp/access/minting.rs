//! Tokens of AccessRequests: their purpose and their cause.

use super::{inside, look::Scene, run::Inner, trouble::InsideTrouble};
use crate::{minting, openmcp::ObjectName, target::Reached};
use allotment_core::{access::minting::Cause, openmcp::access::Grant};
use kube::ResourceExt;

pub(super) type Minting = minting::Minting<ObjectName, Purpose>;
pub(super) type Given = minting::Given<Purpose>;

/// The purpose of a token: the request, and the cluster with the ServiceAccount that the token ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Purpose {
    uid: Option<String>,
    made_for: String,
}

impl Inner {
    /// Gets a token: the one that is not in its Secret yet, or another one, unless this cause has cost too many.
    pub(super) async fn mint(
        &self,
        scene: &Scene,
        reached: &Reached,
        grant: &Grant,
        (made_for, seconds): (&str, i64),
    ) -> Result<Given, InsideTrouble> {
        let purpose = Purpose { uid: scene.request.uid(), made_for: made_for.to_owned() };
        let issued = self.parts.clock.now();
        if let Some(kept) = self.minting.unpublished(&scene.name, &purpose, issued) {
            tracing::info!(request = %scene.name, because = "it could not be published before", "token used again");
            return Ok(kept);
        }
        let cause = Cause {
            uid: scene.request.uid(),
            generation: scene.request.metadata.generation,
            rotation: made_for.to_owned(),
            is_by_hand: false,
        };
        if let Some(until) = self.minting.none_before(&scene.name, &cause, issued) {
            return Err(InsideTrouble::TooManyTokens { until });
        }
        let namespace = self.access.namespace.as_str();
        let (token, end) = inside::token(reached, namespace, &grant.hash, seconds).await?;
        let given = Given { token, issued, end, purpose };
        self.minting.given(&scene.name, cause, given.clone());
        Ok(given)
    }
}
