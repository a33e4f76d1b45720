//! How a Landscape becomes a login: the kubeconfig that it names, and the projects that can be used with it.

use crate::{
    runtime::{
        call::{CallError, call},
        queue::Outcome,
        work::Obstacle,
    },
    target::{TargetTrouble, Version, read_secret},
};
use allotment_api::{
    gardener::Project,
    openmcp::{
        ObjectReference,
        gardener::{Landscape, LandscapeAccess},
    },
};
use allotment_core::access::kubeconfig::{self, Given};
use base64::{Engine, prelude::BASE64_STANDARD};
use futures::{StreamExt, stream};
use k8s_openapi::api::authorization::v1::{ResourceRule, SelfSubjectRulesReview, SelfSubjectRulesReviewSpec};
use kube::{Api, Client, api::PostParams};
use secrecy::zeroize::Zeroizing;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// How many projects are read at once.
const AT_ONCE: usize = 8;

/// What a login was made from. The credentials themselves are not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The Landscape itself.
    Inline { uid: Option<String>, generation: Option<i64> },
    /// A Secret.
    Secret(Version),
}

/// Why a try to log in did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginTrouble {
    /// What is there cannot be used: only a change helps.
    #[error("{0}")]
    Refused(String),
    /// A Secret could not be read.
    #[error(transparent)]
    Secret(#[from] TargetTrouble),
    /// The garden could not be asked.
    #[error(transparent)]
    Garden(#[from] CallError),
}

impl Obstacle for LoginTrouble {
    fn category(&self) -> &'static str {
        match self {
            Self::Refused(_) => "invalid",
            Self::Secret(trouble) => trouble.category(),
            Self::Garden(error) => error.category(),
        }
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Refused(_) => Outcome::Done,
            Self::Secret(_) | Self::Garden(_) => Outcome::Failed,
        }
    }
}

/// The kubeconfig that a Landscape names.
pub(super) async fn credentials(
    platform: &Client,
    landscape: &Landscape,
) -> Result<(Given, Origin), LoginTrouble> {
    let LandscapeAccess { inline, secret_ref } = &landscape.spec.access;
    match (inline.as_deref().filter(|text| !text.is_empty()), secret_ref) {
        (Some(text), None) => {
            let given = read(text.as_bytes(), "spec.access.inline")?;
            let metadata = &landscape.metadata;
            Ok((given, Origin::Inline { uid: metadata.uid.clone(), generation: metadata.generation }))
        }
        (None, Some(reference)) => of_secret(platform, reference).await,
        _ => {
            let what = "spec.access must have either inline or secretRef, with a kubeconfig";
            Err(LoginTrouble::Refused(what.to_owned()))
        }
    }
}

async fn of_secret(platform: &Client, reference: &ObjectReference) -> Result<(Given, Origin), LoginTrouble> {
    let ObjectReference { name, namespace } = reference;
    let content = read_secret(platform, namespace, name).await.map_err(|trouble| match trouble {
        TargetTrouble::Call(error) if error.code() == Some(404) => {
            LoginTrouble::Refused(format!("Secret {namespace}/{name} is not there"))
        }
        trouble => trouble.into(),
    })?;
    let unreadable =
        |key: &str| LoginTrouble::Refused(format!("{key} of Secret {namespace}/{name} is not base64"));
    let value = |key: &'static str| match content.get(key) {
        None => Ok(None),
        Some(None) => Err(unreadable(key)),
        Some(Some(bytes)) => Ok(Some(bytes)),
    };
    let place = format!("Secret {namespace}/{name}");
    let given = match value("kubeconfig")? {
        Some(text) => read(&text, &place)?,
        None => match (value("host")?, value("token")?, value("ca.crt")?) {
            (Some(host), Some(token), ca) => read(&composed(&host, &token, ca.as_deref()), &place)?,
            _ => {
                let what =
                    format!("{place} has neither a key kubeconfig nor the keys host, token and ca.crt");
                return Err(LoginTrouble::Refused(what));
            }
        },
    };
    Ok((given, Origin::Secret(content.version)))
}

fn read(text: &[u8], place: &str) -> Result<Given, LoginTrouble> {
    kubeconfig::read(text).map_err(|refusal| {
        LoginTrouble::Refused(format!("the kubeconfig in {place} is not taken: {refusal}"))
    })
}

/// A kubeconfig made of its parts, so that they are looked at as any other is.
fn composed(host: &[u8], token: &[u8], ca: Option<&Vec<u8>>) -> Zeroizing<Vec<u8>> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (host, token) = (text(host), Zeroizing::new(text(token)));
    let mut cluster = json!({ "server": host });
    if let Some(ca) = ca {
        cluster["certificate-authority-data"] = json!(BASE64_STANDARD.encode(ca));
    }
    let kubeconfig = json!({
        "current-context": "garden",
        "contexts": [{ "name": "garden", "context": { "cluster": "garden", "user": "garden" } }],
        "clusters": [{ "name": "garden", "cluster": cluster }],
        "users": [{ "name": "garden", "user": { "token": *token } }],
    });
    Zeroizing::new(kubeconfig.to_string().into_bytes())
}

/// The projects that a login may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Projects {
    /// Their namespaces.
    pub(super) usable: BTreeMap<String, String>,
    /// Why one that somebody names cannot be used.
    pub(super) refused: BTreeMap<String, String>,
}

/// Looks which projects the login may use. `named` are those that ProviderConfigs name: whoever may use all projects is only
/// told about these, since there may be thousands.
pub(super) async fn projects(garden: &Client, named: &BTreeSet<String>) -> Result<Projects, CallError> {
    let api: Api<SelfSubjectRulesReview> = Api::all(garden.clone());
    let review = SelfSubjectRulesReview {
        // Projects have no namespace: what is allowed everywhere is what counts.
        spec: SelfSubjectRulesReviewSpec { namespace: Some("*".to_owned()) },
        ..SelfSubjectRulesReview::default()
    };
    let params = PostParams::default();
    let review =
        call(|| "ask the garden what the login may do".to_owned(), api.create(&params, &review)).await?;
    let rules = review.status.map(|status| status.resource_rules).unwrap_or_default();
    let allowed = allowed(&rules);
    let mut names = named.clone();
    names.extend(allowed.names.iter().cloned());
    let api: Api<Project> = Api::all(garden.clone());
    let looked: Vec<_> = stream::iter(names)
        .map(|name| {
            let (api, allowed) = (api.clone(), &allowed);
            async move {
                let verdict = match allowed.has(&name) {
                    false => Ok(Err("the login may not get and update it".to_owned())),
                    true => namespace_of(&api, &name).await,
                };
                verdict.map(|verdict| (name, verdict))
            }
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let mut projects = Projects::default();
    for looked in looked {
        match looked? {
            (name, Ok(namespace)) => drop(projects.usable.insert(name, namespace)),
            (name, Err(why)) if named.contains(&name) => drop(projects.refused.insert(name, why)),
            (_, Err(_)) => (),
        }
    }
    Ok(projects)
}

async fn namespace_of(api: &Api<Project>, name: &str) -> Result<Result<String, String>, CallError> {
    let project = call(|| format!("read Project {name}"), api.get_opt(name)).await?;
    Ok(match project {
        None => Err("the garden has no such project".to_owned()),
        Some(project) if project.metadata.deletion_timestamp.is_some() => {
            Err("the project is being deleted".to_owned())
        }
        Some(project) => project.spec.namespace.ok_or_else(|| "it has no namespace yet".to_owned()),
    })
}

/// Which projects may be read and changed, which is what its members may.
#[derive(Debug, Default, PartialEq, Eq)]
struct Allowed {
    all: bool,
    names: BTreeSet<String>,
}

impl Allowed {
    fn has(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }
}

fn allowed(rules: &[ResourceRule]) -> Allowed {
    let mut allowed = Allowed::default();
    for ResourceRule { api_groups, resource_names, resources, verbs } in rules {
        let has = |list: &[String], word: &str| list.iter().any(|one| one == word || one == "*");
        let list = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
        let concerns = has(&list(api_groups), "core.gardener.cloud") && has(&list(resources), "projects");
        if !concerns || !has(verbs, "get") || !has(verbs, "update") {
            continue;
        }
        match resource_names.as_deref().unwrap_or_default() {
            [] => allowed.all = true,
            names => allowed.names.extend(names.iter().cloned()),
        }
    }
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_projects_may_read_and_change_them() {
        let rule = |groups: &[&str], resources: &[&str], verbs: &[&str], names: &[&str]| {
            let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            ResourceRule {
                api_groups: Some(list(groups)),
                resources: Some(list(resources)),
                verbs: list(verbs),
                resource_names: Some(list(names)),
            }
        };
        let gardener = ["core.gardener.cloud"];
        let member = rule(&gardener, &["projects"], &["get", "update", "patch"], &["a", "b"]);
        let viewer = rule(&gardener, &["projects"], &["get"], &["c"]);
        let other = rule(&["apps"], &["*"], &["*"], &[]);
        let found = allowed(&[member, viewer, other]);
        assert!(found.has("a") && found.has("b") && !found.has("c") && !found.all);
        assert!(allowed(&[rule(&["*"], &["*"], &["*"], &[])]).has("anything"));
    }

    #[test]
    fn parts_make_a_kubeconfig_that_is_looked_at() {
        let given = kubeconfig::read(&composed(b"https://a.example.com\n", b"t", None)).unwrap();
        assert_eq!(given.server, "https://a.example.com");
        assert!(kubeconfig::read(&composed(b"http://a.example.com", b"t", None)).is_err());
    }
}
