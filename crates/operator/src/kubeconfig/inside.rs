//! The steps, as far as they are inside a cluster. Everything here can be repeated.

use crate::target::{Key, Reached, TargetTrouble, Targets, rbac::is_as_wanted};
use allotment_api::names::{FIELD_MANAGER, label};
use allotment_core::access::grant::{Grant, Kind, NAMESPACE, Object};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec},
    core::v1::{Namespace, Secret, ServiceAccount},
};
use kube::{
    Api, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
        PostParams, Preconditions,
    },
};
use secrecy::SecretString;
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

/// An API server may believe a token for this long after its Secret is gone; it is 10 s in Kubernetes.
const TOKEN_CACHE: Duration = Duration::from_secs(11);

/// A token that is still taken after this is no matter of a cache any more.
const REFUSED: Duration = Duration::from_secs(20);

/// The longest token that is handed out. It ends in a status or a Secret; those of Kubernetes have about a kilobyte.
const LONGEST_TOKEN_BYTES: usize = 16 << 10;

/// Kubernetes issues no token for less than ten minutes; the rest is for a clock that is behind.
const SHORTEST_LIFE: SignedDuration = SignedDuration::from_mins(1);

/// Makes what a grant is made of, puts back what was changed, and takes away what is no longer asked for. With nothing to do it
/// is one list for each kind.
pub(super) async fn grant(reached: &Reached, grant: &Grant, is_first: bool) -> Result<(), TargetTrouble> {
    let wanted = grant.objects();
    let found = if is_first { Vec::new() } else { found(reached, grant).await? };
    // A namespace is there if something of ours is in it.
    let is_there =
        |name: &str| found.iter().any(|(_, there)| there.metadata.namespace.as_deref() == Some(name));
    let namespace = grant.namespace.as_deref().filter(|name| grant.creates_namespace && !is_there(name));
    if let Some(namespace) = namespace {
        make_namespace(reached, namespace).await?;
    }
    let made = make(reached, &wanted, &found).await;
    // Permissions that are no longer asked for go, also where the new ones cannot be made.
    let is_left = |(kind, there): &&(Kind, DynamicObject)| {
        !wanted.iter().any(|object| object.kind == *kind && is_same_place(there, object))
    };
    for (kind, there) in found.iter().filter(is_left) {
        delete(reached, *kind, there).await?;
    }
    made
}

async fn make(
    reached: &Reached,
    wanted: &[Object],
    found: &[(Kind, DynamicObject)],
) -> Result<(), TargetTrouble> {
    for object in wanted {
        let same = found.iter().find(|(kind, there)| *kind == object.kind && is_same_place(there, object));
        match same {
            Some((_, there)) if is_within(object, there) => continue,
            // What a binding binds cannot be changed.
            Some((_, there)) if there.data.get("roleRef") != object.body.get("roleRef") => {
                delete(reached, object.kind, there).await?;
            }
            _ => (),
        }
        apply(reached, object).await?;
    }
    Ok(())
}

/// The Secret that a token ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoundTo {
    pub(super) name: String,
    uid: Option<String>,
}

/// Makes the Secret of a token, unless it is there.
pub(super) async fn token_secret(
    reached: &Reached,
    grant: &Grant,
    secret: &str,
) -> Result<BoundTo, TargetTrouble> {
    let secrets: Api<Secret> = Api::namespaced(reached.client.clone(), NAMESPACE);
    let body = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": grant.metadata(secret, Some(NAMESPACE)),
    });
    let (params, patch) = (applying(), Patch::Apply(&body));
    let what = || format!("make Secret {NAMESPACE}/{secret} in {}", reached.key);
    let made = reached.call(what, secrets.patch_metadata(secret, &params, &patch)).await?;
    Ok(BoundTo { name: secret.to_owned(), uid: made.metadata.uid })
}

/// Gets a token that ends with its Secret, and when it runs out by itself.
pub(super) async fn token(
    reached: &Reached,
    grant: &Grant,
    bound: &BoundTo,
    seconds: i64,
    now: Timestamp,
) -> Result<(SecretString, Timestamp), TargetTrouble> {
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(seconds),
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Secret".to_owned()),
                name: Some(bound.name.clone()),
                uid: bound.uid.clone(),
            }),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(reached.client.clone(), NAMESPACE);
    let what = || format!("ask {} for a token", reached.key);
    let params = PostParams::default();
    let answer = accounts.create_token_request(&grant.name, &params, &request);
    let status = reached.call(what, answer).await?.status;
    let answer = status.and_then(|status| status.token.zip(status.expiration_timestamp));
    let (token, end) = answer
        .filter(|(token, _)| token.len() <= LONGEST_TOKEN_BYTES)
        .ok_or_else(|| reached.unreadable("ask for a token"))?;
    let end = match reached.key {
        Key::Shoot { .. } => end.0,
        Key::Byoc { .. } => {
            plausible(end.0, seconds, now).ok_or_else(|| reached.unreadable("ask for a token"))?
        }
    };
    Ok((SecretString::from(token), end))
}

/// When a token ends that a server of a tenant issued: one that has ended already would be asked for again at once and without end,
/// and one that never ends would be waited for.
fn plausible(end: Timestamp, seconds: i64, now: Timestamp) -> Option<Timestamp> {
    let latest = now.checked_add(SignedDuration::from_secs(seconds)).ok()?;
    Some(end.min(latest)).filter(|end| end.duration_since(now) >= SHORTEST_LIFE)
}

async fn tokens_of(reached: &Reached, grant: &Grant) -> Result<Vec<String>, TargetTrouble> {
    let secrets: Api<Secret> = Api::namespaced(reached.client.clone(), NAMESPACE);
    let what = || format!("list the tokens of {} in {}", grant.owner, reached.key);
    let tokens = reached.call(what, secrets.list_metadata(&ours(grant))).await?;
    Ok(tokens.iter().map(ResourceExt::name_any).collect())
}

/// Deletes the Secrets of tokens. Their names may come from a forged status: those of other grants stay. Returns whether there was any.
pub(super) async fn delete_tokens(
    reached: &Reached,
    grant: &Grant,
    secrets: &[String],
) -> Result<bool, TargetTrouble> {
    let api: Api<Secret> = Api::namespaced(reached.client.clone(), NAMESPACE);
    let mut was_any = false;
    for secret in secrets.iter().filter(|secret| grant.is_token_secret(secret)) {
        let what = || format!("delete Secret {NAMESPACE}/{secret} in {}", reached.key);
        was_any |= gone(reached.call(what, api.delete(secret, &DeleteParams::default())).await)?;
    }
    Ok(was_any)
}

/// Takes everything of a grant out of the cluster: the tokens first. Returns whether there was anything.
pub(super) async fn withdraw(reached: &Reached, grant: &Grant) -> Result<bool, TargetTrouble> {
    let tokens = tokens_of(reached, grant).await?;
    delete_tokens(reached, grant, &tokens).await?;
    let found = found(reached, grant).await?;
    let was_anything = !tokens.is_empty() || !found.is_empty();
    for (kind, there) in found {
        delete(reached, kind, &there).await?;
    }
    Ok(was_anything)
}

/// What was taken out of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The Secrets of some tokens.
    Tokens(Vec<String>),
    /// Everything.
    All,
}

/// A token whose Secret is gone.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) taken: Taken,
    since: Instant,
    /// Not known after a restart.
    token: Option<SecretString>,
}

impl Ended {
    /// It was taken so long ago.
    pub(super) fn ago(taken: Taken, ago: Duration, token: Option<SecretString>) -> Self {
        let now = Instant::now();
        Self { taken, since: now.checked_sub(ago).unwrap_or(now), token }
    }

    /// Whether no server remembers any more whom it let in. A cluster may have several, and a trial asks one of them.
    pub(super) fn is_forgotten(&self) -> bool {
        self.since.elapsed() >= TOKEN_CACHE
    }
}

/// Whether a token is refused by the server that happens to answer. One that is not known counts as refused.
pub(super) async fn is_refused(
    targets: &Targets,
    reached: &Reached,
    ended: &Ended,
) -> Result<bool, TargetTrouble> {
    let Some(token) = &ended.token else { return Ok(true) };
    let client = targets.with_token(reached, token.clone()).await?;
    let what = || format!("try a token on {}", reached.key);
    let error = reached.ask(what, client.list_core_api_versions()).await.err();
    match error {
        Some(error) if error.code() == Some(401) => Ok(true),
        Some(error) if error.code() != Some(403) => Err(reached.trouble(error)),
        // It knows who asks: that it does not like what is asked is another matter.
        _ if ended.since.elapsed() < REFUSED => Ok(false),
        _ => {
            let because =
                format!("a token is still taken {} s after its Secret was deleted", REFUSED.as_secs());
            Err(TargetTrouble::Unreachable { target: reached.key.to_string(), because })
        }
    }
}

/// Everything that carries the label of a grant, in the order in which it goes.
async fn found(reached: &Reached, grant: &Grant) -> Result<Vec<(Kind, DynamicObject)>, TargetTrouble> {
    let mut all = Vec::new();
    for kind in Kind::ALL {
        let api: Api<DynamicObject> = Api::all_with(reached.client.clone(), &resource(kind));
        let what = || format!("list {kind:?}s in {}", reached.key);
        let list = reached.call(what, api.list(&ours(grant))).await?;
        all.extend(list.items.into_iter().map(|object| (kind, object)));
    }
    Ok(all)
}

async fn apply(reached: &Reached, object: &Object) -> Result<(), TargetTrouble> {
    let api = api(reached, object.kind, object.namespace.as_deref());
    let write = async || {
        let what = || format!("apply {:?} {} in {}", object.kind, object.name, reached.key);
        let (params, patch) = (applying(), Patch::Apply(&object.body));
        reached.call(what, api.patch(&object.name, &params, &patch)).await
    };
    match write().await {
        // Ours is made when the first needs it.
        Err(TargetTrouble::Call(error))
            if error.is_not_found() && object.namespace.as_deref() == Some(NAMESPACE) =>
        {
            make_namespace(reached, NAMESPACE).await?;
            write().await.map(drop)
        }
        result => result.map(drop),
    }
}

async fn make_namespace(reached: &Reached, name: &str) -> Result<(), TargetTrouble> {
    let api: Api<Namespace> = Api::all(reached.client.clone());
    let namespace = Namespace {
        metadata: kube::api::ObjectMeta { name: Some(name.to_owned()), ..Default::default() },
        ..Namespace::default()
    };
    let what = || format!("make namespace {name} in {}", reached.key);
    match reached.call(what, api.create(&PostParams::default(), &namespace)).await {
        Err(TargetTrouble::Call(error)) if error.is_already_there() => Ok(()),
        result => result.map(drop),
    }
}

async fn delete(reached: &Reached, kind: Kind, object: &DynamicObject) -> Result<(), TargetTrouble> {
    let (api, name) = (api(reached, kind, object.namespace().as_deref()), object.name_any());
    let only_this = Preconditions { uid: object.uid(), resource_version: None };
    let params = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
    let what = || format!("delete {kind:?} {name} in {}", reached.key);
    gone(reached.call(what, api.delete(&name, &params)).await).map(drop)
}

/// Whether it was there until now.
fn gone<T>(result: Result<T, TargetTrouble>) -> Result<bool, TargetTrouble> {
    match result {
        Err(TargetTrouble::Call(error)) if error.is_not_found() => Ok(false),
        result => result.map(|_| true),
    }
}

fn api(reached: &Reached, kind: Kind, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(reached.client.clone(), namespace, &resource(kind)),
        None => Api::all_with(reached.client.clone(), &resource(kind)),
    }
}

fn resource(kind: Kind) -> ApiResource {
    let (group, word) = match kind {
        Kind::ClusterRoleBinding => ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        Kind::RoleBinding => ("rbac.authorization.k8s.io", "RoleBinding"),
        Kind::ClusterRole => ("rbac.authorization.k8s.io", "ClusterRole"),
        Kind::Role => ("rbac.authorization.k8s.io", "Role"),
        Kind::ServiceAccount => ("", "ServiceAccount"),
    };
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", word))
}

fn ours(grant: &Grant) -> ListParams {
    ListParams::default().labels(&format!("{}={}", label::KUBECONFIG_REQUEST, grant.uid))
}

fn is_same_place(there: &DynamicObject, object: &Object) -> bool {
    there.metadata.name.as_deref() == Some(object.name.as_str())
        && there.metadata.namespace == object.namespace
}

/// Whether nothing that was asked for is otherwise.
fn is_within(object: &Object, there: &DynamicObject) -> bool {
    let fields = object.body.as_object().into_iter().flatten();
    let mut ours = fields.filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
    ours.all(|(key, value)| there.data.get(key).is_some_and(|there| is_as_wanted(key, value, there)))
}

fn applying() -> PatchParams {
    PatchParams { force: true, ..PatchParams::apply(FIELD_MANAGER) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_a_tenant_cannot_say_when_a_token_ends_as_it_likes() {
        let at = |seconds: i64| Timestamp::from_second(1_800_000_000 + seconds).unwrap();
        for (end, expected) in [
            (at(3600), Some(at(3600))),
            (at(600), Some(at(600))),
            (at(86_400), Some(at(3600))),
            (Timestamp::MAX, Some(at(3600))),
            (at(59), None),
            (at(-1), None),
            (Timestamp::MIN, None),
        ] {
            assert_eq!(plausible(end, 3600, at(0)), expected, "{end}");
        }
    }
}
