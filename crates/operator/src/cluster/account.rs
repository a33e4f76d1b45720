//! The last check before a Shoot is made: live reads of the request, and of the pool entry itself.

use super::{Trouble, look::Scene, run::Inner};
use crate::runtime::call::call;
use allotment_api::{
    gardener::{CredentialsBinding, SecretBinding},
    kyma::{BindingKind, SubscriptionPhase, SubscriptionRequest},
};
use allotment_core::cluster::{
    account::{LiveEntry, account_refusal},
    flow::request_name,
};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, ResourceExt,
    api::{ListParams, ObjectMeta},
};

/// As many objects come with one answer.
const PAGE: u32 = 500;

impl Inner {
    /// Checks that the request still stands, and that the account is still its tenant's.
    pub(super) async fn check_account(&self, scene: &mut Scene, binding: &str) -> Result<(), Trouble> {
        let request = self.live_request(scene, binding).await?;
        let Some(entries) = self.pool_entries(binding).await? else {
            return Err(trouble(binding, "its CredentialsBinding is gone"));
        };
        let entries: Vec<LiveEntry> = entries.into_iter().map(live_entry).collect();
        let (keys, rules) = (&self.settings.labels, self.rules());
        // Trying again does not help, so the Cluster says why.
        scene.refusal = account_refusal(&request.spec, &entries, keys, rules.as_deref())
            .map(|why| format!("account {binding} is not the Cluster's: {why}"));
        Ok(())
    }

    async fn live_request(&self, scene: &Scene, binding: &str) -> Result<SubscriptionRequest, Trouble> {
        let (api, name) = (self.requests(scene), request_name(&scene.cluster));
        let request = call(|| format!("read SubscriptionRequest {name}"), api.get_opt(&name)).await?;
        let Some(request) = request else {
            return Err(trouble(binding, "its SubscriptionRequest is gone"));
        };
        let known = scene.request.as_ref().and_then(|request| request.uid());
        let status = request.status.as_ref();
        let is_bound = status.and_then(|status| status.phase) == Some(SubscriptionPhase::Bound)
            && status.and_then(|status| status.gardener_secret_name.as_deref()) == Some(binding);
        if request.uid() != known || request.metadata.deletion_timestamp.is_some() || !is_bound {
            let woken = self.index().learn_request(request);
            self.wake_others(&scene.name, woken);
            return Err(trouble(binding, "its SubscriptionRequest has changed"));
        }
        Ok(request)
    }

    /// The pool entries on the credentials of a CredentialsBinding, of the configured kind: only these carry the labels. None if
    /// there is no such binding.
    pub(super) async fn pool_entries(&self, binding: &str) -> Result<Option<Vec<ObjectMeta>>, Trouble> {
        let bindings: Api<CredentialsBinding> = self.in_the_garden();
        let what = || format!("read CredentialsBinding {binding}");
        if self.settings.binding_kind == BindingKind::CredentialsBinding {
            let found = call(what, bindings.get_metadata_opt(binding)).await?;
            return Ok(found.map(|found| vec![found.metadata]));
        }
        let Some(found) = call(what, bindings.get_opt(binding)).await? else { return Ok(None) };
        let reference = found.spec.credentials_ref;
        if reference.kind != "Secret" {
            return Ok(Some(Vec::new()));
        }
        let entries = match self.settings.binding_kind {
            BindingKind::Secret if reference.namespace == self.settings.garden_namespace => {
                self.secret_entry(&reference.name).await?
            }
            BindingKind::SecretBinding => {
                self.secret_bindings_of(binding, &reference.namespace, &reference.name).await?
            }
            BindingKind::Secret | BindingKind::CredentialsBinding => Vec::new(),
        };
        Ok(Some(entries))
    }

    async fn secret_entry(&self, name: &str) -> Result<Vec<ObjectMeta>, Trouble> {
        let secrets: Api<Secret> = self.in_the_garden();
        let found = call(|| format!("read Secret {name}"), secrets.get_metadata_opt(name)).await?;
        Ok(found.map(|found| found.metadata).into_iter().collect())
    }

    /// The SecretBindings of the pool on a Secret. One has the name of the CredentialsBinding that was made for it, unless
    /// there was one before.
    async fn secret_bindings_of(
        &self,
        binding: &str,
        namespace: &str,
        secret: &str,
    ) -> Result<Vec<ObjectMeta>, Trouble> {
        let bindings: Api<SecretBinding> = self.in_the_garden();
        let is_on_it = |found: &SecretBinding| {
            let own = found.spec.secret_ref.namespace.clone().or_else(|| found.namespace());
            own.as_deref() == Some(namespace) && found.spec.secret_ref.name == secret
        };
        let named = call(|| format!("read SecretBinding {binding}"), bindings.get_opt(binding)).await?;
        if let Some(named) = named.filter(is_on_it) {
            return Ok(vec![named.metadata]);
        }
        let mut params = ListParams::default().limit(PAGE).labels(&self.settings.labels.hyperscaler_type);
        let mut entries = Vec::new();
        loop {
            let page =
                call(|| "list the SecretBindings of the pool".to_owned(), bindings.list(&params)).await?;
            entries.extend(page.items.into_iter().filter(is_on_it).map(|found| found.metadata));
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => return Ok(entries),
            }
        }
    }
}

fn trouble(binding: &str, why: &'static str) -> Trouble {
    Trouble::Account { binding: binding.to_owned(), why }
}

fn live_entry(metadata: ObjectMeta) -> LiveEntry {
    LiveEntry {
        labels: metadata.labels.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default(),
    }
}
