//! Tokens of KubeconfigRequests: their purpose and their cause.

use super::{
    RequestName,
    inside::{self, BoundTo},
    look::Scene,
    run::Inner,
};
use crate::{
    minting,
    target::{Reached, TargetTrouble},
};
use allotment_api::{kyma::TokenState, names::annotation};
use allotment_core::access::{
    grant::{Grant, place},
    minting::Cause,
};
use jiff::Timestamp;
use kube::ResourceExt;

pub(super) type Minting = minting::Minting<RequestName, Purpose>;
pub(super) type Given = minting::Given<Purpose>;

/// The purpose of a token: the Secret that it ends with, the API server, and its lifetime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Purpose {
    bound: BoundTo,
    place: String,
    seconds: i64,
}

impl Inner {
    /// Gets a token that is bound to this Secret: the one that could not be published, or another one.
    pub(super) async fn mint(
        &self,
        scene: &Scene,
        reached: &Reached,
        grant: &Grant,
        (secret, seconds): (&str, i64),
    ) -> Result<Given, TargetTrouble> {
        let bound = inside::token_secret(reached, grant, secret).await?;
        let place = place(&reached.server, reached.ca.as_deref());
        let (purpose, issued) = (Purpose { bound, place, seconds }, self.clock.now());
        if let Some(kept) = self.minting.unpublished(&scene.name, &purpose, issued) {
            tracing::info!(request = %scene.name, secret, because = "it could not be published before", "token used again");
            return Ok(kept);
        }
        let (token, end) = inside::token(reached, grant, &purpose.bound, seconds, issued).await?;
        let given = Given { token, issued, end, purpose };
        self.minting.given(&scene.name, cause(scene), given.clone());
        Ok(given)
    }

    /// The moment before which no other token is asked for. One that waits to be published costs nothing.
    pub(super) fn no_token_before(&self, scene: &Scene) -> Option<Timestamp> {
        let tokens = scene.request.status.as_ref().map(|status| status.tokens.as_slice()).unwrap_or_default();
        let is_kept = self.minting.keeps(&scene.name, |purpose| {
            let is_asked = |secret: &str| secret == purpose.bound.name;
            tokens.iter().any(|token| token.state == TokenState::Asked && is_asked(&token.secret))
        });
        if is_kept {
            return None;
        }
        self.minting.none_before(&scene.name, &cause(scene), self.clock.now())
    }
}

fn cause(scene: &Scene) -> Cause {
    Cause {
        uid: scene.request.uid(),
        generation: scene.request.metadata.generation,
        rotation: scene.rotation.clone(),
        is_by_hand: scene.request.annotations().get(annotation::ROTATE).is_some_and(|value| value == "true"),
    }
}
