//! Where a way into a cluster comes from: the garden, or a Secret of the control plane.
//!
//! kube writes an answer that it does not understand into the log, as it is. These answers are secrets, so they are read
//! here instead.

use super::{Key, Parts, TargetTrouble};
use crate::runtime::call::{CallError, call};
use allotment_api::gardener::{IssuedKubeconfig, KubeconfigAccess, SHORTEST_LIFE_SECONDS, Shoot};
use allotment_core::access::kubeconfig::{self, Given};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::Request;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Resource,
    api::{GetParams, PostParams},
};
use secrecy::{ExposeSecret, SecretString, zeroize::Zeroizing};
use serde::{Deserialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// A kubeconfig, and for how long it is good.
pub(super) struct Fetched {
    pub(super) given: Given,
    /// Of a Shoot: when the server says that it ends.
    pub(super) ends: Option<Timestamp>,
    /// Of a Secret: what was read.
    pub(super) version: Option<Version>,
}

/// Which content of a Secret. Versions of objects of the same name may be alike, so the UID is part of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Version {
    uid: String,
    resource_version: String,
}

/// Fetches a kubeconfig; nothing if it is in the Secret as it was before.
pub(super) async fn fetch(
    parts: &Parts,
    key: &Key,
    known: Option<&Version>,
) -> Result<Option<Fetched>, TargetTrouble> {
    match key {
        Key::Shoot { name, uid } => {
            let asked = of_shoot(parts, key, name, uid).await;
            let outcome = asked.as_ref().map_or_else(TargetTrouble::category, |_| "issued");
            parts.metrics.asked_for_admin_kubeconfig(outcome);
            asked.map(Some)
        }
        Key::Byoc { namespace, secret, key: entry } => {
            of_secret(parts, key, namespace, secret, entry, known).await
        }
    }
}

async fn of_shoot(parts: &Parts, key: &Key, name: &str, uid: &str) -> Result<Fetched, TargetTrouble> {
    let access = KubeconfigAccess::Admin;
    let what = || format!("get an admin kubeconfig of Shoot {name}");
    let unreadable = || TargetTrouble::Unreadable { what: what() };
    let body = serde_json::to_vec(&access.request(SHORTEST_LIFE_SECONDS)).map_err(|_| unreadable())?;
    let path = Shoot::url_path(&(), Some(&parts.garden_namespace));
    let request = kube::core::Request::new(path)
        .create_subresource(access.subresource(), name, &PostParams::default(), body)
        .map_err(|_| unreadable())?;
    let issued: IssuedKubeconfig =
        secret_answer(&parts.garden, what, request).await.map_err(|trouble| of_garden(trouble, name))?;
    let text = decoded(&issued.status.kubeconfig).ok_or_else(unreadable)?;
    let given = kubeconfig::read(&text)
        .map_err(|refusal| TargetTrouble::Refused { target: key.to_string(), refusal })?;
    // Gardener issues it by name. That it was for this Shoot is sure only if that is there afterwards.
    confirm(parts, name, uid).await?;
    Ok(Fetched { given, ends: Some(issued.status.expiration_timestamp.0), version: None })
}

/// Whether a Shoot is there, and is the one that is meant.
pub(super) async fn confirm(parts: &Parts, name: &str, uid: &str) -> Result<(), TargetTrouble> {
    let shoots = Api::<Shoot>::namespaced(parts.garden.clone(), &parts.garden_namespace);
    let shoot = call(|| format!("read Shoot {name}"), shoots.get_metadata_opt(name)).await?;
    match shoot.and_then(|shoot| shoot.metadata.uid) {
        None => Err(TargetTrouble::NoShoot { shoot: name.to_owned() }),
        Some(found) if found != uid => Err(TargetTrouble::OtherShoot { shoot: name.to_owned() }),
        Some(_) => Ok(()),
    }
}

/// What a refusal by the garden means.
fn of_garden(trouble: TargetTrouble, shoot: &str) -> TargetTrouble {
    let TargetTrouble::Call(error) = &trouble else { return trouble };
    let shoot = shoot.to_owned();
    match (error.code(), words(error)) {
        (Some(404), _) => TargetTrouble::NoShoot { shoot },
        (Some(422), _) => {
            TargetTrouble::NotReady { shoot, because: "Gardener has not published its address".to_owned() }
        }
        // It has an address before it has CAs.
        (Some(500), words) if words.contains("client CA") || words.contains("cluster CA") => {
            TargetTrouble::NotReady { shoot, because: "Gardener has not published its CAs".to_owned() }
        }
        _ => trouble,
    }
}

fn words(error: &CallError) -> String {
    match error {
        CallError::Refused { source, .. } => match &**source {
            kube::Error::Api(status) => status.message.clone(),
            _ => String::new(),
        },
        CallError::Deadline { .. } | CallError::Foreign { .. } => String::new(),
    }
}

/// What is read of a Secret. Its values are as they are on the wire, in base64.
#[derive(Deserialize)]
pub(crate) struct SecretContent {
    #[serde(rename = "metadata")]
    pub(crate) version: Version,
    #[serde(default)]
    data: BTreeMap<String, SecretString>,
}

impl SecretContent {
    /// What is under a key, if that is base64.
    pub(crate) fn get(&self, key: &str) -> Option<Option<Zeroizing<Vec<u8>>>> {
        self.data.get(key).map(decoded)
    }
}

/// Reads a Secret that nobody else may see.
pub(crate) async fn read_secret(
    client: &Client,
    namespace: &str,
    secret: &str,
) -> Result<SecretContent, TargetTrouble> {
    let what = || format!("read Secret {namespace}/{secret}");
    let request = kube::core::Request::new(Secret::url_path(&(), Some(namespace)))
        .get(secret, &GetParams::default())
        .map_err(|_| TargetTrouble::Unreadable { what: what() })?;
    secret_answer::<SecretContent>(client, what, request).await
}

async fn of_secret(
    parts: &Parts,
    key: &Key,
    namespace: &str,
    secret: &str,
    entry: &str,
    known: Option<&Version>,
) -> Result<Option<Fetched>, TargetTrouble> {
    let what = || format!("read Secret {namespace}/{secret}");
    let names = || (namespace.to_owned(), secret.to_owned(), entry.to_owned());
    let found = read_secret(&parts.control_plane, namespace, secret).await;
    let content = found.map_err(|trouble| {
        let (namespace, secret, key) = names();
        match &trouble {
            TargetTrouble::Call(error) if error.code() == Some(404) => {
                TargetTrouble::NoSecret { namespace, secret, key }
            }
            TargetTrouble::Call(error) if error.code() == Some(403) => {
                TargetTrouble::SecretForbidden { namespace, secret }
            }
            _ => trouble,
        }
    })?;
    if known == Some(&content.version) {
        return Ok(None);
    }
    let no_key = || {
        let (namespace, secret, key) = names();
        TargetTrouble::NoSecretKey { namespace, secret, key }
    };
    let text = content.get(entry).ok_or_else(no_key)?;
    let text = text.ok_or_else(|| TargetTrouble::Unreadable { what: what() })?;
    let given = kubeconfig::read(&text)
        .map_err(|refusal| TargetTrouble::Refused { target: key.to_string(), refusal })?;
    Ok(Some(Fetched { given, ends: None, version: Some(content.version) }))
}

/// Calls for something that nobody else may see.
async fn secret_answer<T: DeserializeOwned>(
    client: &Client,
    what: impl Fn() -> String,
    request: Request<Vec<u8>>,
) -> Result<T, TargetTrouble> {
    let unreadable = || TargetTrouble::Unreadable { what: what() };
    let answer = call(&what, client.request_text(request)).await.map_err(|error| match &error {
        CallError::Refused { source, .. } => match &**source {
            kube::Error::Api(_) | kube::Error::Service(_) | kube::Error::HyperError(_) => error.into(),
            // Others may quote the answer.
            _ => unreadable(),
        },
        CallError::Deadline { .. } | CallError::Foreign { .. } => error.into(),
    })?;
    let answer = Zeroizing::new(answer);
    serde_json::from_str(&answer).map_err(|_| unreadable())
}

fn decoded(base64: &SecretString) -> Option<Zeroizing<Vec<u8>>> {
    BASE64_STANDARD.decode(base64.expose_secret()).ok().map(Zeroizing::new)
}
