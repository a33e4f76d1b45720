//! Pool entries on their server: CredentialsBindings, SecretBindings or Secrets.

use crate::runtime::call::{CallError, call};
use allotment_api::{
    gardener::{CredentialsBinding, SecretBinding},
    kyma::BindingKind,
};
use allotment_core::pool::AccountName;
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ObjectReference, Secret},
};
use kube::{
    Api, Client, Resource,
    api::{ObjectMeta, PartialObjectMeta, Patch, PatchParams},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;

/// The pool entries of a garden project.
#[derive(Clone)]
pub(crate) struct Entries {
    garden: Client,
    namespace: String,
    kind: BindingKind,
}

impl Entries {
    pub(crate) fn new(garden: Client, namespace: &str, kind: BindingKind) -> Self {
        Self { garden, namespace: namespace.to_owned(), kind }
    }

    /// The metadata of an entry as it is now; none if it is gone.
    pub(crate) async fn read(&self, account: &AccountName) -> Result<Option<ObjectMeta>, CallError> {
        match self.kind {
            BindingKind::CredentialsBinding => self.read_as::<CredentialsBinding>(account).await,
            BindingKind::SecretBinding => self.read_as::<SecretBinding>(account).await,
            BindingKind::Secret => self.read_as::<Secret>(account).await,
        }
    }

    /// Changes the metadata of an entry, if it is the one with this UID, and where a version is given, as it was then.
    pub(crate) async fn write(
        &self,
        account: &AccountName,
        uid: &str,
        version: Option<&str>,
        change: Value,
    ) -> Result<ObjectMeta, CallError> {
        let mut metadata = json!({ "resourceVersion": version, "uid": uid });
        if let (Some(all), Value::Object(change)) = (metadata.as_object_mut(), change) {
            all.extend(change);
        }
        let patch = json!({ "metadata": metadata });
        match self.kind {
            BindingKind::CredentialsBinding => self.patch_as::<CredentialsBinding>(account, &patch).await,
            BindingKind::SecretBinding => self.patch_as::<SecretBinding>(account, &patch).await,
            BindingKind::Secret => self.patch_as::<Secret>(account, &patch).await,
        }
    }

    /// An entry, as Events refer to it.
    pub(crate) fn reference(&self, account: &AccountName, uid: &str) -> ObjectReference {
        let (api_version, kind) = match self.kind {
            BindingKind::CredentialsBinding => ("security.gardener.cloud/v1alpha1", "CredentialsBinding"),
            BindingKind::SecretBinding => ("core.gardener.cloud/v1beta1", "SecretBinding"),
            BindingKind::Secret => ("v1", "Secret"),
        };
        ObjectReference {
            api_version: Some(api_version.to_owned()),
            kind: Some(kind.to_owned()),
            name: Some(account.to_string()),
            namespace: Some(self.namespace.clone()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        }
    }

    async fn read_as<K>(&self, account: &AccountName) -> Result<Option<ObjectMeta>, CallError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.garden.clone(), &self.namespace);
        let found = api.get_metadata_opt(account.as_str());
        let found: Option<PartialObjectMeta<K>> =
            call(|| format!("read {} {account}", K::kind(&())), found).await?;
        Ok(found.map(|object| object.metadata))
    }

    async fn patch_as<K>(&self, account: &AccountName, patch: &Value) -> Result<ObjectMeta, CallError>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.garden.clone(), &self.namespace);
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let written = api.patch_metadata(account.as_str(), &params, &patch);
        Ok(call(|| format!("label {} {account}", K::kind(&())), written).await?.metadata)
    }
}
