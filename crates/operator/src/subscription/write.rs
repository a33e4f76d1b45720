//! Every call to an API server that is not a watch. Writes carry the version, and where an object could be another one by
//! now the UID, that they were decided on.

use super::{PoolEntry, RequestName, Task, Trouble, request::Judgement, run::Inner};
use crate::{
    planted::Planted,
    runtime::{
        call::call,
        status::{StatusChange, identity, write_status},
    },
};
use allotment_api::{
    gardener::{CredentialsBinding, Shoot},
    kyma::{BindingKind, SubscriptionRequest, SubscriptionRequestStatus},
    names::{annotation, label},
};
use allotment_core::{
    condition,
    marks::{self, MARKS_IGNORED},
    pool::{AccountName, Progress, Tenant},
    tenancy::{self, TENANT_ALLOWED},
};
use kube::{
    Api, Resource, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// The Shoots that there were at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NewestShoots {
    /// None of them is newer.
    pub(super) version: u64,
    /// How many.
    pub(super) count: Option<usize>,
}

impl Inner {
    /// Says how far a request is, if its status does not say so already. Returns whether it had to.
    pub(super) async fn publish(
        &self,
        request: &SubscriptionRequest,
        progress: &Progress,
    ) -> Result<bool, Trouble> {
        let (generation, now) = (request.metadata.generation, self.clock.now());
        let status = progress.status(request.status.as_ref(), generation, now);
        self.write_status(request, &status).await
    }

    /// The same, with what was judged about the tenant it names.
    pub(super) async fn publish_judged(
        &self,
        request: &SubscriptionRequest,
        progress: &Progress,
        judgement: &Judgement,
    ) -> Result<bool, Trouble> {
        let (generation, now) = (request.metadata.generation, self.clock.now());
        let mut status = progress.status(request.status.as_ref(), generation, now);
        self.report(request, judgement, &mut status);
        self.write_status(request, &status).await
    }

    /// Puts into a status what is reported whatever becomes of the request.
    pub(super) fn report(
        &self,
        request: &SubscriptionRequest,
        judgement: &Judgement,
        status: &mut SubscriptionRequestStatus,
    ) {
        let (generation, now) = (request.metadata.generation, self.clock.now());
        let reports =
            [(TENANT_ALLOWED, tenancy::verdict(judgement)), (MARKS_IGNORED, marks::of_subscription(request))];
        for (type_, verdict) in reports {
            condition::set_or_remove(&mut status.conditions, type_, verdict, generation, now);
        }
    }

    /// Writes a status, if it is another one. Returns whether it is.
    pub(super) async fn write_status(
        &self,
        request: &SubscriptionRequest,
        after: &SubscriptionRequestStatus,
    ) -> Result<bool, Trouble> {
        let change = StatusChange::between(request.status.as_ref(), after);
        let written = write_status(&self.requests_in(request), request, &change).await?;
        let is_another = written.is_some();
        if let Some(written) = written {
            self.learn_written_request(written);
        }
        Ok(is_another)
    }

    pub(super) async fn write_finalizers(
        &self,
        request: &SubscriptionRequest,
        finalizers: &[String],
    ) -> Result<SubscriptionRequest, Trouble> {
        let mut metadata = identity(&request.metadata);
        metadata["finalizers"] = json!(finalizers);
        let patch = json!({ "metadata": metadata });
        let (name, api) = (request.name_any(), self.requests_in(request));
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let written = call(
            || format!("write the finalizers of SubscriptionRequest {name}"),
            api.patch(&name, &params, &patch),
        );
        let written = written.await?;
        self.learn_written_request(written.clone());
        Ok(written)
    }

    /// Wakes whom the result of a write of our own concerns, but for the request itself, which is being reconciled. The watch reports
    /// that version too, but the index has it by then, so nobody would wake them.
    pub(super) fn learn_written_request(&self, written: SubscriptionRequest) {
        let own = Task::Request(RequestName::of(&written));
        let woken = self.index().learn_request(written);
        woken.into_iter().filter(|task| *task != own).for_each(|task| self.add(task));
    }

    pub(super) fn requests_in(&self, request: &SubscriptionRequest) -> Api<SubscriptionRequest> {
        Api::namespaced(self.control_plane.clone(), &request.namespace().unwrap_or_default())
    }

    pub(super) async fn write_tenant(
        &self,
        account: &AccountName,
        entry: &PoolEntry,
        tenant: &Tenant,
    ) -> Result<(), Trouble> {
        let labels = json!({ "labels": { &self.settings.labels.tenant_name: tenant } });
        self.write_entry(account, entry, labels).await
    }

    pub(super) async fn write_dirty(&self, account: &AccountName, entry: &PoolEntry) -> Result<(), Trouble> {
        self.write_entry(account, entry, json!({ "labels": { &self.settings.labels.dirty: "true" } })).await
    }

    pub(super) async fn write_quarantine(
        &self,
        account: &AccountName,
        entry: &PoolEntry,
        why: Option<&str>,
    ) -> Result<(), Trouble> {
        self.write_entry(account, entry, json!({ "annotations": { annotation::QUARANTINE: why } })).await
    }

    /// Changes the metadata of an entry, if it is still as it was.
    async fn write_entry(
        &self,
        account: &AccountName,
        entry: &PoolEntry,
        change: Value,
    ) -> Result<(), Trouble> {
        let version =
            Some(entry.version.as_str()).filter(|_| !self.ledger.has(Planted::BindingWithoutVersion));
        let written = self.entries.write(account, &entry.uid, version, change).await?;
        self.index().learn_written(account, &written);
        Ok(())
    }

    /// An entry as it is now; none if it is gone.
    pub(super) async fn read_entry(&self, account: &AccountName) -> Result<Option<PoolEntry>, Trouble> {
        let metadata = self.entries.read(account).await?;
        Ok(metadata.map(|metadata| self.index().read_entry(account, &metadata)))
    }

    /// The Shoots of now: a version that none of them is newer than, and how many there are, if the server says.
    pub(super) async fn newest_shoots(&self) -> Result<NewestShoots, Trouble> {
        let api: Api<Shoot> = self.in_the_garden();
        let params = ListParams::default().limit(1);
        let list =
            call(|| "ask for the newest version of Shoots".to_owned(), api.list_metadata(&params)).await?;
        let version = list.metadata.resource_version.and_then(|version| version.parse().ok());
        let is_all = list.metadata.continue_.is_none_or(|token| token.is_empty());
        let remaining = list.metadata.remaining_item_count.and_then(|count| usize::try_from(count).ok());
        let others = if is_all { Some(0) } else { remaining };
        let count = others.map(|others| others + list.items.len());
        Ok(NewestShoots { version: version.unwrap_or(u64::MAX), count })
    }

    /// How many Shoots carry the label of a request, up to a page.
    pub(super) async fn count_labelled_shoots(&self) -> Result<usize, Trouble> {
        const PAGE: u32 = 100;
        let api: Api<Shoot> = self.in_the_garden();
        let params = ListParams::default().labels(label::SUBSCRIPTION_REQUEST).limit(PAGE);
        let list = call(|| "look for Shoots of ours".to_owned(), api.list_metadata(&params)).await?;
        Ok(list.items.len())
    }

    /// The name that goes into a Shoot. Gardener takes only CredentialsBindings for new ones: where the pool is made of
    /// something else, the one on the same Secret is found or made.
    pub(super) async fn binding_for(&self, account: &AccountName) -> Result<String, Trouble> {
        if self.settings.binding_kind == BindingKind::CredentialsBinding {
            return Ok(account.to_string());
        }
        if let Some(binding) = self.index().credentials_binding_for(account) {
            return Ok(binding);
        }
        let Some((namespace, name)) = self.index().secret_of(account) else { return Ok(account.to_string()) };
        let provider = self.index().provider_of(account);
        let binding = serde_json::from_value(json!({
            "apiVersion": "security.gardener.cloud/v1alpha1",
            "kind": "CredentialsBinding",
            "metadata": { "name": account },
            "provider": { "type": provider },
            "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": name, "namespace": namespace },
        }));
        // It is made of strings of ours only.
        let Ok(binding) = binding else { return Ok(account.to_string()) };
        let api: Api<CredentialsBinding> = self.in_the_garden();
        let params = PostParams::default();
        match call(|| format!("create CredentialsBinding {account}"), api.create(&params, &binding)).await {
            Err(error) if error.is_already_there() => (),
            result => drop(result?),
        }
        Ok(account.to_string())
    }

    fn in_the_garden<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.garden.clone(), &self.settings.garden_namespace)
    }
}
