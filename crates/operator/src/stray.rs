//! Objects of the platform's kinds outside of the operators' namespace. They do nothing; an Event on each tells whoever wrote it.
//!
//! Nothing else reads them: the operators follow the operators' namespace only, so no mistake here makes one of them count.

use crate::runtime::{
    events::Recorder,
    follow::{MetadataOf, Position, Seen, follow},
};
use allotment_api::allotment::{AccessLock, AdmissionParameters, ShootAdoption};
use kube::{Api, Client, Resource, ResourceExt, api::PartialObjectMeta};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use tokio::sync::mpsc;

/// So many wait to be told about. More than that are told about when they change, or after the next start.
const MOST: usize = 1000;

/// Tells about them, for ever. Replicas need not agree on who does: an Event is written once.
pub async fn tell_strays(client: &Client, own_namespace: &str, recorder: &Recorder) {
    tokio::join!(
        tell::<AccessLock>(client, own_namespace, recorder),
        tell::<ShootAdoption>(client, own_namespace, recorder),
        tell::<AdmissionParameters>(client, own_namespace, recorder),
    );
}

async fn tell<K>(client: &Client, own_namespace: &str, recorder: &Recorder)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (send, mut found) = mpsc::channel::<PartialObjectMeta<K>>(MOST);
    let api: Api<K> = Api::all(client.clone());
    let following = follow(MetadataOf(api), None, Position::new(), |seen| {
        if let Seen::Applied(object) = seen
            && object.namespace().is_some_and(|namespace| namespace != own_namespace)
        {
            let _ = send.try_send(object);
        }
    });
    let telling = async {
        while let Some(object) = found.recv().await {
            let note = words(&K::kind(&()), &object.namespace().unwrap_or_default());
            recorder.warn_once(&object, "DoesNothing", &note).await;
        }
    };
    tokio::join!(following, telling);
}

/// As the admission policy has it.
fn words(kind: &str, namespace: &str) -> String {
    format!(
        "{kind} in namespace {namespace} does nothing: only those in the operators' namespace count; delete it"
    )
}
