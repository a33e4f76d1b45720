//! Tokens that clusters gave, kept until they are in their Secret: whoever cannot write it asks for no other one.

use super::{inside, look::Scene, run::Inner};
use crate::{
    openmcp::ObjectName,
    target::{Reached, TargetTrouble},
};
use allotment_core::openmcp::access::Grant;
use jiff::Timestamp;
use kube::ResourceExt;
use secrecy::SecretString;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A token that is not in its Secret yet.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) token: SecretString,
    pub(super) created: Timestamp,
    pub(super) expires: Timestamp,
    /// Of the request.
    uid: Option<String>,
    /// The ServiceAccount that it ends with is part of this.
    made_for: String,
}

impl Given {
    /// Half of its life must be left.
    fn is_fresh(&self, now: Timestamp) -> bool {
        let life = self.expires.duration_since(self.created).as_millis();
        self.expires.duration_since(now).as_millis() * 2 >= life
    }
}

/// The tokens that are not in their Secrets yet.
#[derive(Debug, Default)]
pub(super) struct Unpublished(Mutex<BTreeMap<ObjectName, Given>>);

impl Unpublished {
    /// The token is in its Secret, or is of no use.
    pub(super) fn remove(&self, name: &ObjectName) {
        self.lock().remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectName, Given>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Gets a token: the one that is not in its Secret yet, or another one.
    pub(super) async fn mint(
        &self,
        scene: &Scene,
        reached: &Reached,
        grant: &Grant,
        (made_for, seconds): (&str, i64),
    ) -> Result<Given, TargetTrouble> {
        let (uid, created) = (scene.request.uid(), self.parts.clock.now());
        let kept = self.unpublished.lock().get(&scene.name).cloned();
        let is_usable = |kept: &Given| kept.uid == uid && kept.made_for == made_for && kept.is_fresh(created);
        if let Some(kept) = kept.filter(is_usable) {
            tracing::info!(request = %scene.name, because = "it could not be published before", "token used again");
            return Ok(kept);
        }
        let namespace = self.access.namespace.as_str();
        let (token, expires) = inside::token(reached, namespace, &grant.hash, seconds).await?;
        let given = Given { token, created, expires, uid, made_for: made_for.to_owned() };
        self.unpublished.lock().insert(scene.name.clone(), given.clone());
        Ok(given)
    }
}
