//! One look at a request.

use super::{
    RequestName, Trouble,
    index::Known,
    inside::Ended,
    run::{Inner, Policy},
};
use crate::{
    runtime::queue::Outcome,
    target::{Key, Reached},
};
use allotment_api::kyma::{BroughtReference, Cluster, KubeconfigRequest, SecretKeyReference, ShootReference};
use allotment_core::{
    access::flow::{Decision, Hitch, View, decide, refuse},
    tenancy::NamespaceRole,
};
use secrecy::SecretString;
use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The longest way through a look has nine steps.
const STEPS: usize = 20;

/// What is known of a request and its cluster.
pub(super) struct Scene {
    pub(super) name: RequestName,
    pub(super) request: Arc<KubeconfigRequest>,
    pub(super) has_kubeconfig: bool,
    pub(super) cluster: Option<Arc<Cluster>>,
    pub(super) role: NamespaceRole,
    pub(super) policy: Policy,
    pub(super) rotation: String,
    /// The cluster, once it was reached in this look, and what is written of where it is.
    pub(super) reached: Option<Reached>,
    pub(super) at: Option<Key>,
    pub(super) place: Option<String>,
    pub(super) is_granted: bool,
    pub(super) is_ended: bool,
    pub(super) is_withdrawn: bool,
    pub(super) is_waiting: bool,
    pub(super) hitch: Option<Hitch>,
    pub(super) is_look_due: bool,
    /// The token that is replaced, to see that it is refused.
    pub(super) leaked: Option<SecretString>,
}

/// What comes after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next decision.
    Decide,
    /// The status, and then nothing until something changes.
    Publish,
    /// Nothing: the request is gone.
    Nothing,
}

impl Scene {
    pub(super) fn learn(&mut self, known: Known) {
        self.request = known.request;
        self.has_kubeconfig = known.has_kubeconfig;
    }

    /// Where the grant is, or is about to be.
    pub(super) fn place(&self) -> Option<Key> {
        place_of(&self.request)
    }

    /// What was seen in another cluster than the one that is written down now says nothing about this one.
    pub(super) fn turn_to_place(&mut self) {
        let at = self.place();
        if self.at == at {
            return;
        }
        self.at = at;
        (self.reached, self.place, self.hitch, self.leaked) = (None, None, None, None);
        (self.is_granted, self.is_ended, self.is_withdrawn, self.is_waiting) = (false, false, false, false);
    }

    pub(super) fn view<'a>(&'a self, inner: &Inner) -> View<'a> {
        let status = self.request.status.as_ref();
        let is_published = match &self.request.spec.secret_ref {
            None => self.has_kubeconfig,
            Some(wanted) => status.and_then(|status| status.secret_ref.as_ref()) == Some(wanted),
        };
        View {
            request: &self.request,
            is_published,
            access: &self.policy.access,
            // As it is now: a lock that comes while a token is being issued ends it in the same reconcile.
            is_locked: inner.index().is_locked(&self.request, self.cluster.as_deref()),
            cluster: self.cluster.as_deref(),
            role: &self.role,
            rotation: &self.rotation,
            place: self.place.as_deref(),
            is_granted: self.is_granted,
            is_ended: self.is_ended,
            is_withdrawn: self.is_withdrawn,
            is_waiting: self.is_waiting,
            hitch: self.hitch.as_ref(),
            is_look_due: self.is_look_due,
            now: inner.clock.now(),
        }
    }
}

impl Inner {
    pub(super) async fn look_at_request(&self, name: &RequestName) -> Result<Outcome, Trouble> {
        let role = self.roles.role_now(&name.namespace).await?;
        let Some(mut scene) = self.gather(name, role) else {
            self.looks.forget(name);
            self.ended().remove(name);
            return Ok(Outcome::Done);
        };
        let exceeded = self.exceeded(name);
        for _ in 0..STEPS {
            let mut decision = decide(&scene.view(self));
            if let Some(exceeded) = &exceeded {
                refuse(&scene.view(self), &mut decision, exceeded);
            }
            match Box::pin(self.act(&mut scene, &decision)).await? {
                Next::Decide => (),
                Next::Nothing => return Ok(Outcome::Done),
                Next::Publish => {
                    self.write_status(&mut scene, &decision.status, None).await?;
                    if decision.is_failed {
                        let message = scene.hitch.map(|hitch| hitch.message).unwrap_or_default();
                        return Err(Trouble::Hitch(message));
                    }
                    return Ok(self.outcome(&scene, &decision));
                }
            }
        }
        Err(Trouble::Endless)
    }

    fn gather(&self, name: &RequestName, role: NamespaceRole) -> Option<Scene> {
        let (index, policy) = (self.index(), self.policy());
        let Known { request, has_kubeconfig } = index.request(name)?;
        let cluster = index.cluster_of(&request, &policy.cluster_namespace);
        let rotation = cluster.as_ref().map(|cluster| index.rotation_of(cluster)).unwrap_or_default();
        drop(index);
        Some(Scene {
            is_look_due: Instant::now() >= self.looks.due(name, request.metadata.uid.as_deref()),
            at: place_of(&request),
            name: name.clone(),
            request,
            has_kubeconfig,
            cluster,
            role,
            policy,
            rotation,
            reached: None,
            place: None,
            is_granted: false,
            is_ended: false,
            is_withdrawn: false,
            is_waiting: false,
            hitch: None,
            leaked: None,
        })
    }

    /// When to look again though nothing changes.
    fn outcome(&self, scene: &Scene, decision: &Decision) -> Outcome {
        let has_grant = scene.request.status.as_ref().is_some_and(|status| !status.tokens.is_empty());
        let due = self.looks.due(&scene.name, scene.request.metadata.uid.as_deref());
        let look = due.saturating_duration_since(Instant::now());
        let look = Some(look.max(Duration::from_secs(1))).filter(|_| has_grant && decision.is_maintained);
        let waits = [decision.again, look];
        waits.into_iter().flatten().min().map_or(Outcome::Done, Outcome::After)
    }

    pub(super) fn ended(&self) -> MutexGuard<'_, BTreeMap<RequestName, Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_looked(&self, scene: &Scene) {
        self.looks.have_seen(scene.name.clone(), scene.request.metadata.uid.as_deref());
    }
}

fn place_of(request: &KubeconfigRequest) -> Option<Key> {
    let status = request.status.as_ref()?;
    let brought = status.brought.as_ref().map(|BroughtReference { namespace, name, key }| {
        Key::byoc(namespace, &SecretKeyReference { name: name.clone(), key: key.clone() })
    });
    brought.or_else(|| status.shoot.as_ref().map(|ShootReference { name, uid }| Key::shoot(name, uid)))
}
