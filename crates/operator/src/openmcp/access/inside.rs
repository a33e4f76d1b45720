//! The steps, as far as they are inside a cluster. Everything here can be repeated.

use super::trouble::InsideTrouble;
use crate::{
    openmcp::ObjectName,
    target::{
        Reached, TargetTrouble,
        rbac::{is_as_wanted, is_within},
    },
};
use allotment_api::names::FIELD_MANAGER;
use allotment_core::openmcp::access::{Found, Grant, KINDS, OPENID_CONNECT, Object, Provider, own, selector};
use jiff::Timestamp;
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::{Namespace, ServiceAccount},
};
use kube::{
    Api, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, ObjectMeta, Patch,
        PatchParams, PostParams, Preconditions,
    },
};
use secrecy::SecretString;
use serde_json::{Value, json};

/// An object that is there, and its kind.
type There = (&'static str, DynamicObject);

/// Whose grant it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    /// The provider.
    pub(super) provider: &'a Provider<'a>,
    /// The request.
    pub(super) request: &'a ObjectName,
}

/// How a grant is seen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Nothing of it can be there yet, unless it is another's.
    First,
    /// All of it is looked for, and what is no longer asked for is taken away.
    Whole,
    /// As well, and what was left behind by another request of its name goes.
    Heir,
    /// What is there stays: a fault that is planted.
    Careless,
}

/// Makes what a grant is made of, puts back what was changed, and takes away what is no longer asked for. It returns the UID of
/// the ServiceAccount. With nothing to do it is one list for each kind.
pub(super) async fn grant(
    reached: &Reached,
    owner: Owner<'_>,
    grant: &Grant,
    care: Care,
) -> Result<Option<String>, InsideTrouble> {
    let found = match care {
        Care::First | Care::Careless => Vec::new(),
        Care::Whole | Care::Heir => found(reached, owner).await?,
    };
    let made = make_all(reached, grant, care, &found).await;
    if matches!(made, Err(InsideTrouble::LeftBehind)) {
        return made;
    }
    // Permissions that are no longer asked for go, also where the new ones cannot be made.
    let is_left = |(kind, there): &&There| {
        !grant.objects.iter().any(|object| object.kind == *kind && is_same_place(there, object))
    };
    for (kind, there) in found.iter().filter(is_left) {
        delete(reached, kind, there).await?;
    }
    made
}

async fn make_all(
    reached: &Reached,
    grant: &Grant,
    care: Care,
    found: &[There],
) -> Result<Option<String>, InsideTrouble> {
    let mut account = None;
    for object in &grant.objects {
        let same = found.iter().find(|(kind, there)| *kind == object.kind && is_same_place(there, object));
        let uid = match same {
            Some((_, there)) if object.is_of_another(there.annotations()) => {
                if care != Care::Heir {
                    return Err(InsideTrouble::LeftBehind);
                }
                // Its tokens end with it.
                delete(reached, object.kind, there).await?;
                Some(make(reached, grant, object, care).await?)
            }
            Some((_, there)) if is_unchanged(object, there) => there.uid(),
            Some((_, there)) => Some(put_back(reached, object, there).await?),
            None => Some(make(reached, grant, object, care).await?),
        };
        if object.kind == "ServiceAccount" {
            account = uid;
        }
    }
    Ok(account)
}

/// Gets a token, and when it runs out by itself. It ends with its ServiceAccount.
pub(super) async fn token(
    reached: &Reached,
    namespace: &str,
    account: &str,
    seconds: i64,
) -> Result<(SecretString, Timestamp), TargetTrouble> {
    let spec = TokenRequestSpec { expiration_seconds: Some(seconds), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
    let accounts: Api<ServiceAccount> = Api::namespaced(reached.client.clone(), namespace);
    let what = || format!("ask {} for a token", reached.key);
    let params = PostParams::default();
    let status = reached.call(what, accounts.create_token_request(account, &params, &request)).await?.status;
    let answer = status.and_then(|status| status.token.zip(status.expiration_timestamp));
    let (token, end) = answer.ok_or_else(|| reached.unreadable("ask for a token"))?;
    Ok((SecretString::from(token), end.0))
}

/// Takes everything of a grant out of the cluster. Namespaces stay: others may have put something there.
pub(super) async fn withdraw(reached: &Reached, owner: Owner<'_>) -> Result<(), TargetTrouble> {
    for (kind, there) in found(reached, owner).await? {
        delete(reached, kind, &there).await?;
    }
    Ok(())
}

/// Everything of a request, in the order in which it goes.
async fn found(reached: &Reached, owner: Owner<'_>) -> Result<Vec<There>, TargetTrouble> {
    let Owner { provider, request: ObjectName { namespace, name } } = owner;
    let (mut all, labelled) = (Vec::new(), ListParams::default().labels(&selector(namespace, name)));
    for (_, kind) in KINDS {
        let api: Api<DynamicObject> = Api::all_with(reached.client.clone(), &resource(kind));
        let list = match reached
            .call(|| format!("list {kind}s in {}", reached.key), api.list(&labelled))
            .await
        {
            Ok(list) => list.items,
            // A cluster that does not know the kind has none.
            Err(TargetTrouble::Call(error)) if error.is_not_found() && kind == OPENID_CONNECT => Vec::new(),
            Err(trouble) => return Err(trouble),
        };
        all.extend(list.into_iter().map(|object| (kind, object)));
    }
    let own = own(provider, namespace, name, &all.iter().map(described).collect::<Vec<_>>());
    Ok(all.into_iter().zip(own).filter(|(_, is_own)| *is_own).map(|(there, _)| there).collect())
}

fn described((kind, there): &There) -> Found<'_> {
    let subjects = there.data.get("subjects").and_then(Value::as_array).into_iter().flatten();
    let accounts = subjects.filter(|subject| subject["kind"] == "ServiceAccount");
    Found {
        kind,
        namespace: there.metadata.namespace.as_deref(),
        name: there.metadata.name.as_deref().unwrap_or_default(),
        labels: there.labels(),
        accounts: accounts.filter_map(|account| account["name"].as_str()).collect(),
    }
}

/// Makes what is not there, or not ours. What others made under a name that only this request has is taken over: it was made
/// for it, by an older provider.
async fn make(
    reached: &Reached,
    grant: &Grant,
    object: &Object,
    care: Care,
) -> Result<String, InsideTrouble> {
    let api = api(reached, object.kind, object.namespace.as_deref());
    let described = serde_json::from_value(object.body.clone())
        .map_err(|error| InsideTrouble::Invalid(format!("{} {}: {error}", object.kind, object.name)))?;
    let create = async || {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let what = || format!("create {} {} in {}", object.kind, object.name, reached.key);
        reached.call(what, api.create(&params, &described)).await
    };
    let mut made = create().await;
    if let (Err(TargetTrouble::Call(error)), Some(namespace)) = (&made, &object.namespace)
        && error.is_not_found()
    {
        if !grant.namespaces.contains(namespace) {
            return Err(InsideTrouble::NoNamespace(namespace.clone()));
        }
        make_namespace(reached, namespace).await?;
        made = create().await;
    }
    match made {
        Ok(made) => Ok(made.uid().unwrap_or_default()),
        Err(TargetTrouble::Call(error)) if error.is_already_there() && care == Care::First => {
            Err(InsideTrouble::LeftBehind)
        }
        Err(TargetTrouble::Call(error)) if error.is_already_there() => {
            let what = || format!("read {} {} in {}", object.kind, object.name, reached.key);
            let there = reached.call(what, api.get(&object.name)).await?;
            if !object.has_name_of(grant) && !is_labelled(object, &there) {
                let place = object.namespace.as_ref().map(|place| format!("{place}/")).unwrap_or_default();
                return Err(InsideTrouble::Taken(format!("{} {place}{}", object.kind, object.name)));
            }
            put_back(reached, object, &there).await
        }
        Err(TargetTrouble::Call(error)) if error.is_not_found() && object.kind == OPENID_CONNECT => {
            Err(InsideTrouble::NoOpenIdConnect)
        }
        Err(trouble) => Err(refused(trouble)),
    }
}

/// Makes of what is there what it should be.
async fn put_back(
    reached: &Reached,
    object: &Object,
    there: &DynamicObject,
) -> Result<String, InsideTrouble> {
    // What a binding binds cannot be changed.
    if object.body.get("roleRef").is_some_and(|wanted| there.data.get("roleRef") != Some(wanted)) {
        delete(reached, object.kind, there).await?;
    }
    let api = api(reached, object.kind, object.namespace.as_deref());
    let params = PatchParams { force: true, ..PatchParams::apply(FIELD_MANAGER) };
    let what = || format!("apply {} {} in {}", object.kind, object.name, reached.key);
    let patch = Patch::Apply(&object.body);
    let applied = reached.call(what, api.patch(&object.name, &params, &patch)).await.map_err(refused)?;
    Ok(applied.uid().unwrap_or_default())
}

/// What the server says is no such object will never be one.
fn refused(trouble: TargetTrouble) -> InsideTrouble {
    match &trouble {
        TargetTrouble::Call(error) if error.code() == Some(422) => {
            InsideTrouble::Invalid(trouble.to_string())
        }
        _ => trouble.into(),
    }
}

async fn make_namespace(reached: &Reached, name: &str) -> Result<(), TargetTrouble> {
    let api: Api<Namespace> = Api::all(reached.client.clone());
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    let what = || format!("make namespace {name} in {}", reached.key);
    match reached.call(what, api.create(&PostParams::default(), &namespace)).await {
        Err(TargetTrouble::Call(error)) if error.is_already_there() => Ok(()),
        result => result.map(drop),
    }
}

async fn delete(reached: &Reached, kind: &str, object: &DynamicObject) -> Result<(), TargetTrouble> {
    let (api, name) = (api(reached, kind, object.namespace().as_deref()), object.name_any());
    let only_this = Preconditions { uid: object.uid(), resource_version: None };
    let params = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
    let what = || format!("delete {kind} {name} in {}", reached.key);
    match reached.call(what, api.delete(&name, &params)).await {
        Err(TargetTrouble::Call(error)) if error.is_not_found() => Ok(()),
        result => result.map(drop),
    }
}

fn api(reached: &Reached, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(reached.client.clone(), namespace, &resource(kind)),
        None => Api::all_with(reached.client.clone(), &resource(kind)),
    }
}

fn resource(kind: &str) -> ApiResource {
    let version = KINDS.iter().find(|(_, known)| *known == kind).map_or("v1", |(version, _)| version);
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn is_same_place(there: &DynamicObject, object: &Object) -> bool {
    there.metadata.name.as_deref() == Some(object.name.as_str())
        && there.metadata.namespace == object.namespace
}

/// Whether nothing that was asked for is otherwise.
fn is_unchanged(object: &Object, there: &DynamicObject) -> bool {
    let fields = object.body.as_object().into_iter().flatten();
    let mut ours = fields.filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
    is_labelled(object, there)
        && ours.all(|(key, value)| there.data.get(key).is_some_and(|there| is_as_wanted(key, value, there)))
}

fn is_labelled(object: &Object, there: &DynamicObject) -> bool {
    is_within(&object.body["metadata"]["labels"], &json!(there.labels()))
}
