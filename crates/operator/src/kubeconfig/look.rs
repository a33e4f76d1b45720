//! One look at a request.

use super::{
    RequestName, Trouble,
    index::Known,
    inside::Ended,
    run::{Inner, Policy},
};
use crate::{
    planted::Planted,
    runtime::queue::Outcome,
    target::{Key, Reached},
};
use allotment_api::{
    kyma::{BroughtReference, Cluster, KubeconfigRequest, SecretKeyReference, ShootReference},
    names::{annotation, tenant},
};
use allotment_core::{
    access::{
        self, Access,
        flow::{Decision, Hitch, View, decide, has_foreign_tokens, refuse},
    },
    marks::{self, MARKS_IGNORED, RETURNED, RETURNED_BECAUSE},
    tenancy::{self, Claim, NamespaceRole},
};
use kube::ResourceExt;
use secrecy::SecretString;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The longest way through a look has nine steps.
const STEPS: usize = 20;

const FOREIGN_TOKENS: &str = "the status named tokens that this request never had; the status is what the operator reports, only the \
     operator writes it";

/// What is known of a request and its cluster.
pub(super) struct Scene {
    pub(super) name: RequestName,
    pub(super) request: Arc<KubeconfigRequest>,
    pub(super) has_kubeconfig: bool,
    pub(super) cluster: Option<Arc<Cluster>>,
    pub(super) role: NamespaceRole,
    pub(super) policy: Policy,
    /// The tenant that the Cluster's Shoot was made for.
    tenant: Option<String>,
    /// The Shoots that were made for the Cluster, as the garden knows them. A cluster that the tenant brought is the tenant's own to
    /// sweep.
    pub(super) places: BTreeSet<Key>,
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
        place_of(&self.request, &self.role, self.cluster.as_deref())
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
            is_locked: inner.index().is_locked(&self.request, self.cluster.as_deref())
                && !(inner.planted.has(Planted::LockUndone) && is_restored(&self.request)),
            cluster: self.cluster.as_deref(),
            role: &self.role,
            tenant: self.tenant.as_deref(),
            rotation: &self.rotation,
            place: self.place.as_deref(),
            is_granted: self.is_granted,
            is_ended: self.is_ended,
            is_withdrawn: self.is_withdrawn,
            is_swept: inner.is_swept(&self.name, &self.places),
            is_waiting: self.is_waiting,
            hitch: self.hitch.as_ref(),
            no_token_before: inner.no_token_before(self),
            is_look_due: self.is_look_due,
            now: inner.clock.now(),
        }
    }
}

/// Policies as they were before they knew namespaces of Roles.
fn roles_anywhere() -> Access {
    let all = vec!["*".to_owned()];
    let everywhere = ["*", "kube-system", access::grant::NAMESPACE].map(str::to_owned).to_vec();
    let policy = access::Policy {
        namespaces: all,
        role_namespaces: Some(everywhere),
        dangerous: true,
        ..access::Policy::default()
    };
    Access { policies: vec![policy], ..Access::default() }
}

/// Whether the annotation that revokes was set back.
fn is_restored(request: &KubeconfigRequest) -> bool {
    request.annotations().get(annotation::REVOKE).is_some_and(|value| value == "false")
}

impl Inner {
    pub(super) async fn look_at_request(&self, name: &RequestName) -> Result<Outcome, Trouble> {
        self.tell_marks(name).await;
        self.forget_returned(name).await;
        let role = self.roles.role_now(&name.namespace).await?;
        let Some(mut scene) = self.gather(name, role) else {
            self.looks.forget(name);
            self.ended().remove(name);
            self.minting.taken_back(name);
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

    /// Tells about ownerReferences and tokens that are not ours.
    async fn tell_marks(&self, name: &RequestName) {
        let Some(request) = self.index().take_marked(name) else { return };
        if let Some(verdict) = marks::of_access(&request) {
            self.recorder.warn_once(&*request, MARKS_IGNORED, &verdict.message).await;
        }
        if has_foreign_tokens(&request) {
            self.recorder.warn_once(&*request, "StatusCorrected", FOREIGN_TOKENS).await;
        }
    }

    /// Nothing counts that was done before an API server was put back: tokens may be valid again, and clusters not swept.
    async fn forget_returned(&self, name: &RequestName) {
        let Some(is_back) = self.index().take_returned(name) else { return };
        self.ended().remove(name);
        self.swept().remove(name);
        self.minting.taken_back(name);
        self.looks.hurry([name.clone()]);
        let request = self.index().request(name).map(|known| known.request);
        if let Some(request) = request.filter(|_| is_back) {
            self.recorder.warn_once(&*request, RETURNED, RETURNED_BECAUSE).await;
        }
    }

    fn gather(&self, name: &RequestName, role: NamespaceRole) -> Option<Scene> {
        let (index, mut policy) = (self.index(), self.policy());
        if self.planted.has(Planted::AnyRoleNamespace) {
            policy.access = Arc::new(roles_anywhere());
        }
        let Known { request, has_kubeconfig } = index.request(name)?;
        let cluster = index.cluster_of(&request, &policy.cluster_namespace);
        let rotation = cluster.as_ref().map(|cluster| index.rotation_of(cluster)).unwrap_or_default();
        let tenant = cluster.as_ref().and_then(|cluster| index.remembered_tenant(cluster));
        let (own, found) = (&name.namespace, cluster.as_deref().and_then(ResourceExt::namespace));
        let home = RequestName {
            namespace: found.unwrap_or_else(|| own.clone()),
            name: request.spec.cluster.clone(),
        };
        let places = match may_read(&request, &role, cluster.as_deref(), &home.namespace) {
            true => index.shoots_made_for(&home).collect(),
            false => BTreeSet::new(),
        };
        drop(index);
        Some(Scene {
            is_look_due: Instant::now() >= self.looks.due(name, request.metadata.uid.as_deref()),
            at: place_of(&request, &role, cluster.as_deref()),
            name: name.clone(),
            request,
            has_kubeconfig,
            cluster,
            role,
            policy,
            tenant,
            places,
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

    pub(super) fn swept(&self) -> MutexGuard<'_, BTreeMap<RequestName, BTreeSet<Key>>> {
        self.swept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing of a request is left in these places, and no token of it is believed any more.
    fn is_swept(&self, name: &RequestName, places: &BTreeSet<Key>) -> bool {
        let is_empty =
            places.is_empty() || self.swept().get(name).is_some_and(|swept| places.is_subset(swept));
        is_empty && !self.ended().contains_key(name)
    }

    pub(super) fn ended(&self) -> MutexGuard<'_, BTreeMap<RequestName, Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the state of earlier leader terms: another leader may have granted since, or ended a token that is kept here.
    pub(super) fn forget_terms(&self) {
        self.ended().clear();
        self.swept().clear();
        self.minting.forget_unpublished();
    }

    pub(super) fn has_looked(&self, scene: &Scene) {
        self.looks.have_seen(scene.name.clone(), scene.request.metadata.uid.as_deref());
    }
}

/// Where the status says that the grant is.
fn place_of(request: &KubeconfigRequest, role: &NamespaceRole, cluster: Option<&Cluster>) -> Option<Key> {
    let status = request.status.as_ref()?;
    let brought =
        status.brought.as_ref().filter(|brought| may_read(request, role, cluster, &brought.namespace));
    let brought = brought.map(|BroughtReference { namespace, name, key }| {
        Key::byoc(namespace, &SecretKeyReference { name: name.clone(), key: key.clone() })
    });
    brought.or_else(|| status.shoot.as_ref().map(|ShootReference { name, uid }| Key::shoot(name, uid)))
}

/// Whether a kubeconfig in this namespace may be read for a request. A status may be forged: without this check it would lead to
/// any Secret that we may read.
fn may_read(
    request: &KubeconfigRequest,
    role: &NamespaceRole,
    cluster: Option<&Cluster>,
    namespace: &str,
) -> bool {
    let own = request.namespace().unwrap_or_default();
    let is_of_tenant = |cluster: &Cluster| {
        let selector = cluster.spec.infrastructure.as_ref().map(|it| it.subscription_selector.as_str());
        let label = cluster.labels().get(tenant::GLOBAL_ACCOUNT_ID).map(String::as_str);
        let claim = Claim { selector, label };
        cluster.namespace().as_deref() == Some(namespace)
            && tenancy::claimed(&claim).is_some()
            && tenancy::judge(role, &own, &claim).is_ok()
    };
    own == namespace || role.is_privileged() || cluster.is_some_and(is_of_tenant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_leads_to_secrets_of_the_own_namespace_and_of_the_own_tenant_only() {
        let request = |namespace: &str| -> KubeconfigRequest {
            serde_json::from_value(json!({
                "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "KubeconfigRequest",
                "metadata": {"name": "x", "namespace": "mine"},
                "spec": {"cluster": "c", "expiration": 3600},
                "status": {"brought": {"namespace": namespace, "name": "s"}},
            }))
            .unwrap()
        };
        let cluster = |tenant: &str| -> Cluster {
            serde_json::from_value(json!({
                "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster",
                "metadata": {"name": "c", "namespace": "other", "labels": {"globalaccountid": tenant}},
                "spec": {"byoc": {"kubeconfigSecretRef": {"name": "s"}}},
            }))
            .unwrap()
        };
        let tenants = NamespaceRole::Tenants([allotment_core::pool::Tenant::new("t-1")].into());
        for (namespace, role, of, expected) in [
            ("mine", &tenants, None, true),
            ("other", &tenants, None, false),
            ("other", &tenants, Some("t-1"), true),
            ("other", &tenants, Some("t-2"), false),
            ("third", &tenants, Some("t-1"), false),
            ("other", &NamespaceRole::Platform, None, true),
        ] {
            let cluster = of.map(cluster);
            let place = place_of(&request(namespace), role, cluster.as_ref());
            assert_eq!(place.is_some(), expected, "{namespace} {role:?} {of:?}");
        }
    }
}
