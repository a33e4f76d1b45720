//! Tokens that clusters gave: counted for each request, and kept until they are published.
//!
//! A token that could not be published is published with the next attempt; no other one is asked for. It is the only secret that
//! outlives a reconcile, and it is dropped as soon as a status names it. How many tokens one cause may cost is decided by
//! [`allotment_core::access::minting`].

use super::{
    RequestName,
    inside::{self, BoundTo},
    look::Scene,
    run::Inner,
};
use crate::target::{Reached, TargetTrouble};
use allotment_api::{kyma::TokenState, names::annotation};
use allotment_core::access::{
    grant::{Grant, place},
    minting::{Cause, Minted},
};
use jiff::Timestamp;
use kube::ResourceExt;
use secrecy::SecretString;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What is known of the tokens that this process was given.
#[derive(Debug, Default)]
pub(super) struct Minting {
    counted: Mutex<BTreeMap<RequestName, Minted>>,
    unpublished: Mutex<BTreeMap<RequestName, Given>>,
}

/// A token as a cluster gave it.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) token: SecretString,
    pub(super) issued: Timestamp,
    pub(super) end: Timestamp,
    bound: BoundTo,
    place: String,
    seconds: i64,
}

impl Given {
    /// Half of its life must be left: whoever reads it has it for that long at least.
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.end.duration_since(now).as_millis() * 2 >= self.end.duration_since(self.issued).as_millis()
    }
}

impl Minting {
    /// A status names the token: it is not kept any longer.
    pub(super) fn published(&self, name: &RequestName) {
        lock(&self.unpublished).remove(name);
    }

    /// What was given is taken back: whoever is granted access anew has another cause for a token.
    pub(super) fn taken_back(&self, name: &RequestName) {
        lock(&self.unpublished).remove(name);
        lock(&self.counted).remove(name);
    }
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
        let here = place(&reached.server, reached.ca.as_deref());
        let issued = self.clock.now();
        let kept = lock(&self.minting.unpublished).get(&scene.name).cloned();
        let kept = kept.filter(|kept| {
            kept.bound == bound && kept.place == here && kept.seconds == seconds && kept.is_fresh(issued)
        });
        if let Some(kept) = kept {
            tracing::info!(request = %scene.name, secret, because = "it could not be published before", "token used again");
            return Ok(kept);
        }
        let (token, end) = inside::token(reached, grant, &bound, seconds, issued).await?;
        let given = Given { token, issued, end, bound, place: here, seconds };
        lock(&self.minting.unpublished).insert(scene.name.clone(), given.clone());
        let mut counted = lock(&self.minting.counted);
        let before = counted.remove(&scene.name);
        counted.insert(scene.name.clone(), Minted::count(before, cause(scene), issued, end));
        Ok(given)
    }

    /// The moment before which no other token is asked for. One that waits to be published costs nothing.
    pub(super) fn no_token_before(&self, scene: &Scene) -> Option<Timestamp> {
        let tokens = scene.request.status.as_ref().map(|status| status.tokens.as_slice()).unwrap_or_default();
        let is_kept = lock(&self.minting.unpublished).get(&scene.name).is_some_and(|kept| {
            tokens.iter().any(|token| token.state == TokenState::Asked && token.secret == kept.bound.name)
        });
        let counted = lock(&self.minting.counted);
        counted
            .get(&scene.name)
            .filter(|_| !is_kept)
            .and_then(|minted| minted.wait(&cause(scene), self.clock.now()))
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
