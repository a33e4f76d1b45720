//! Kubeconfigs from operators that are killed at any moment, and from two that both believe that they lead.

use super::{
    desk::{Desk, client_of, code, reads_config_maps},
    stage::{Fault, until},
};
use allotment_api::kyma::{KubeconfigPhase, KubeconfigRequest};
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams},
};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    hash::{BuildHasher, RandomState},
    time::Duration,
};

const ROUNDS: usize = 25;
const REQUESTS: u64 = 5;

const LABEL: &str = "allotment.dev/kubeconfig-request";

/// Another number every time.
fn random(below: u64) -> u64 {
    RandomState::new().hash_one(0) % below
}

/// Everything that was ever handed out, by the UID of its request and its text.
type Tokens = BTreeMap<(String, String), Client>;

pub async fn whoever_is_killed_leaves_no_grant_behind_and_no_revoked_token_valid(
    landscape: Landscape,
) -> Outcome {
    let mut desk = Desk::new(&landscape).await?;
    let mut tokens = Tokens::new();
    for _ in 0..ROUNDS {
        let name = format!("r{}", random(REQUESTS));
        // What is not there cannot be changed: that is one of the things that happen.
        let _ = match random(8) {
            0 | 1 => desk.ask(&name, reads_config_maps()).await.map(drop),
            2 => desk.annotate(&name, "rotate", "true").await,
            3 => desk.annotate(&name, "revoke", "true").await,
            4 => desk.annotate(&name, "revoke", "false").await,
            5 => desk.patch(&name, json!({ "spec": { "expiration": 3600 + random(1000) } })).await,
            6 => desk.requests().delete(&name, &DeleteParams::default()).await.map(drop).map_err(Fault::from),
            _ => desk.ask(&format!("r{}", random(REQUESTS)), reads_config_maps()).await.map(drop),
        };
        tokio::time::sleep(Duration::from_millis(random(120))).await;
        if random(3) == 0 {
            desk.start_another()?;
        } else {
            desk.restart()?;
        }
        remember(&desk, &mut tokens).await?;
    }
    let all = until("everything has come to rest", async || {
        let all = desk.requests().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let busy = all.iter().find(|request| !is_at_rest(request));
        if let Some(busy) = busy {
            return Err(format!("{} {:?}", busy.name_any(), busy.status));
        }
        // Somebody who took a revocation back before it was heard of finds a status that was true until then.
        is_true(&desk, &all.items).await.map_err(|error| error.to_string())??;
        Ok(all.items)
    })
    .await?;
    remember(&desk, &mut tokens).await?;
    let granted = granted(&all);
    for ((uid, _), client) in &tokens {
        if !granted.contains(uid) {
            assert_eq!(code(client).await, 401, "a token of {uid}, which is revoked or gone");
        }
    }
    Ok(())
}

/// Whether exactly those have something in the cluster who are said to, and their tokens work.
async fn is_true(desk: &Desk, all: &[KubeconfigRequest]) -> Result<Result<(), String>, Fault> {
    let (found, granted) = (in_the_cluster(desk).await?, granted(all));
    if found != granted {
        return Ok(Err(format!("{found:?} have something in the cluster, and {granted:?} are issued")));
    }
    for request in all.iter().filter(|request| phase(request) == Some(KubeconfigPhase::Issued)) {
        let client = client_of(request.status.as_ref().unwrap()).await?;
        let code = code(&client).await;
        if code != 200 {
            return Ok(Err(format!("the token of {} is answered with {code}", request.name_any())));
        }
    }
    Ok(Ok(()))
}

fn granted(all: &[KubeconfigRequest]) -> BTreeSet<String> {
    let issued = all.iter().filter(|request| phase(request) == Some(KubeconfigPhase::Issued));
    issued.filter_map(ResourceExt::uid).collect()
}

fn phase(request: &KubeconfigRequest) -> Option<KubeconfigPhase> {
    request.status.as_ref().and_then(|status| status.phase)
}

fn is_at_rest(request: &KubeconfigRequest) -> bool {
    let is = |key: &str| {
        request.annotations().get(&format!("operator.kyma-project.io/{key}")).is_some_and(|it| it == "true")
    };
    let wanted = if is("revoke") { KubeconfigPhase::Revoked } else { KubeconfigPhase::Issued };
    let status = request.status.clone().unwrap_or_default();
    request.metadata.deletion_timestamp.is_none()
        && phase(request) == Some(wanted)
        && status.observed_generation == request.metadata.generation
        && (is("revoke") || !is("rotate"))
        && status.tokens.iter().all(|token| token.state != allotment_api::kyma::TokenState::Ending)
}

async fn remember(desk: &Desk, tokens: &mut Tokens) -> Result<(), Fault> {
    for request in desk.requests().list(&ListParams::default()).await? {
        let Some(status) = request.status.as_ref().filter(|status| status.kubeconfig.is_some()) else {
            continue;
        };
        let key = (request.uid().unwrap(), status.kubeconfig.clone().unwrap());
        if let Entry::Vacant(new) = tokens.entry(key) {
            new.insert(client_of(status).await?);
        }
    }
    Ok(())
}

/// Whose ServiceAccounts and token Secrets there are, of the requests of this plot.
async fn in_the_cluster(desk: &Desk) -> Result<BTreeSet<String>, Fault> {
    let inside = desk.play.inside(&desk.shoot).await?;
    let ours = ListParams::default().labels(LABEL);
    let namespace = format!("{}/", desk.play.stage.plot.namespace);
    let is_here = |metadata: &kube::api::ObjectMeta| {
        let annotations = metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(LABEL)).is_some_and(|owner| owner.starts_with(&namespace))
    };
    let of = |metadata: &kube::api::ObjectMeta| {
        metadata.labels.as_ref().and_then(|labels| labels.get(LABEL).cloned())
    };
    let accounts = Api::<ServiceAccount>::all(inside.clone()).list(&ours).await?;
    let secrets = Api::<Secret>::all(inside).list(&ours).await?;
    let all =
        accounts.iter().map(|account| &account.metadata).chain(secrets.iter().map(|secret| &secret.metadata));
    Ok(all.filter(|metadata| is_here(metadata)).filter_map(of).collect())
}
