//! Credentials of accounts, read live from the garden.

use super::OpenError;
use crate::{
    runtime::call::{CallError, call},
    subscription::{CredentialsKind, CredentialsName},
};
use allotment_api::gardener::{
    InternalSecret, IssuedWorkloadToken, SHORTEST_TOKEN_SECONDS, WorkloadIdentity,
    WorkloadIdentityTokenRequest,
};
use allotment_clouds::{
    Answer, Refusal,
    credentials::{SecretData, WorkloadToken},
};
use allotment_core::cleanup::{Cloud, clean_message};
use futures::FutureExt;
use k8s_openapi::{ByteString, NamespaceResourceScope, api::core::v1::Secret};
use kube::{Api, Client, Resource, api::PostParams};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

/// Credentials of an account.
pub(super) enum Found {
    /// The data of a Secret or an InternalSecret.
    Data(SecretData),
    /// A WorkloadIdentity.
    Workload {
        /// Its `providerConfig`; null if it has none.
        config: Value,
        /// Its tokens.
        token: Arc<dyn WorkloadToken>,
    },
}

/// Reads the credentials of an account of a cloud.
pub(super) async fn read(garden: &Client, place: &CredentialsName, cloud: Cloud) -> Result<Found, OpenError> {
    match place.kind {
        CredentialsKind::Secret => {
            let secret: Secret = get(garden, place).await?;
            Ok(Found::Data(data(secret.data.unwrap_or_default())))
        }
        CredentialsKind::InternalSecret => {
            let secret: InternalSecret = get(garden, place).await?;
            Ok(Found::Data(data(secret.spec.data)))
        }
        CredentialsKind::WorkloadIdentity => {
            let identity: WorkloadIdentity = get(garden, place).await?;
            let target = identity.spec.target_system;
            if target.type_ != cloud.as_str() {
                let because = format!("{place} is for {}, and the account is one of {cloud}", target.type_);
                return Err(OpenError::Unusable(because));
            }
            let token = Arc::new(GardenToken { garden: garden.clone(), place: place.clone() });
            Ok(Found::Workload { config: target.provider_config.unwrap_or_default(), token })
        }
    }
}

fn data(data: BTreeMap<String, ByteString>) -> SecretData {
    data.into_iter().map(|(key, value)| (key, value.0)).collect()
}

async fn get<K>(garden: &Client, place: &CredentialsName) -> Result<K, OpenError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(garden.clone(), &place.namespace);
    match call(|| format!("read {place}"), api.get_opt(&place.name)).await {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(OpenError::Unusable(format!("{place} is not there"))),
        Err(error) if error.code() == Some(403) => {
            let because =
                format!("{place} may not be read: grant get on {} in the garden", place.kind.resource());
            Err(OpenError::Unusable(because))
        }
        Err(error) => Err(error.into()),
    }
}

/// The tokens of a WorkloadIdentity.
struct GardenToken {
    garden: Client,
    place: CredentialsName,
}

impl GardenToken {
    async fn issue(&self) -> Result<SecretString, Refusal> {
        let place = &self.place;
        let what = || format!("get a token of {place}");
        let unreadable =
            || Refusal::Transient { why: format!("cannot {}: the answer is not understood", what()) };
        // It is exchanged at once, so the shortest life is enough.
        let body = WorkloadIdentityTokenRequest::new(SHORTEST_TOKEN_SECONDS);
        let body = serde_json::to_vec(&body).map_err(|_| unreadable())?;
        let path = WorkloadIdentity::url_path(&(), Some(&place.namespace));
        let request = kube::core::Request::new(path)
            .create_subresource("token", &place.name, &PostParams::default(), body)
            .map_err(|_| unreadable())?;
        // As text: a typed call logs an answer that it does not understand, and the token with it.
        let answer =
            call(what, self.garden.request_text(request)).await.map_err(|error| self.refused(&error))?;
        let issued: IssuedWorkloadToken = serde_json::from_str(&answer).map_err(|_| unreadable())?;
        Ok(issued.status.token)
    }

    fn refused(&self, error: &CallError) -> Refusal {
        let place = &self.place;
        let other = |code: &str, message: String| Refusal::Other { code: code.to_owned(), message };
        match error.code() {
            Some(401 | 403) => other(
                "TokenForbidden",
                format!("no token of {place}: grant create on workloadidentities/token in the garden"),
            ),
            Some(404) => other("WorkloadIdentityGone", format!("{place} is not there")),
            // A garden without an issuer says so.
            Some(_) => Refusal::Transient { why: clean_message(&error.to_string()) },
            // Other failures may quote an answer.
            None => Refusal::Transient { why: format!("no token of {place}: {}", error.category()) },
        }
    }
}

impl WorkloadToken for GardenToken {
    fn token(&self) -> Answer<'_, SecretString> {
        self.issue().boxed()
    }
}
