//! Who may log in by OpenID Connect, as Gardener takes it: a ConfigMap with an AuthenticationConfiguration.
//!
//! The ConfigMap is named by its content. Gardener does not notice a changed ConfigMap, but it does notice a Shoot that
//! names another one.

use super::{
    problem::{Findings, Problem},
    scene::Scene,
};
use allotment_api::{
    kyma::{ClusterCondition, OidcConfig},
    names::{annotation, label},
};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// What kube-apiserver accepts, whatever anybody asks for: a structured configuration cannot narrow it.
const ALGORITHMS: [&str; 9] =
    ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"];

/// The key of the ConfigMap that Gardener reads.
pub const KEY: &str = "config.yaml";

/// Stands between the name of the Shoot and the hash of the content.
const INFIX: &str = "-authentication-";

/// Users and groups of Kubernetes itself begin with `system:`, and `system:masters` may do everything. An issuer without a prefix
/// could give these names to anybody.
const RESERVED: [UserRule; 2] = [
    UserRule {
        expression: "!user.username.startsWith('system:')",
        message: "names of users may not begin with system:",
    },
    UserRule {
        expression: "user.groups.all(group, !group.startsWith('system:'))",
        message: "names of groups may not begin with system:",
    },
];

/// The ConfigMap that has to be there before the Shoot is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// Its name, which follows from its content.
    pub name: String,
    /// Its labels, by which old ones are found and removed: the UIDs of the Cluster and of its request, since a request may
    /// be another one by then.
    pub labels: BTreeMap<String, String>,
    /// The Cluster that it is of, as `<namespace>/<name>`.
    pub cluster: String,
    /// Its content, under [`KEY`]. JSON, which is YAML, because its spelling never changes by itself: the name hangs on it.
    pub config: String,
}

impl Authentication {
    /// The ConfigMap itself.
    pub fn config_map(&self, namespace: &str) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": self.name,
                "namespace": namespace,
                "labels": self.labels,
                "annotations": { (annotation::CLUSTER): self.cluster },
            },
            "data": { (KEY): self.config },
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Configuration<'a> {
    api_version: &'static str,
    kind: &'static str,
    jwt: Vec<Jwt<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Jwt<'a> {
    issuer: Issuer<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    claim_validation_rules: Vec<ClaimRule<'a>>,
    claim_mappings: Mappings<'a>,
    user_validation_rules: [UserRule; 2],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Issuer<'a> {
    url: &'a str,
    audiences: [&'a str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_authority: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClaimRule<'a> {
    claim: &'a str,
    required_value: &'a str,
}

#[derive(Serialize)]
struct UserRule {
    expression: &'static str,
    message: &'static str,
}

#[derive(Serialize)]
struct Mappings<'a> {
    username: Mapping<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Mapping<'a>>,
}

#[derive(Serialize)]
struct Mapping<'a> {
    claim: &'a str,
    prefix: String,
}

/// Renders the ConfigMap; `None` where no issuer is asked for, or one cannot be rolled out.
pub(super) fn render(scene: &Scene<'_>, findings: &mut Findings) -> Option<Authentication> {
    let spec = &scene.input.cluster.spec;
    let first = spec.oidc_config.iter().map(|config| ("spec.oidcConfig".to_owned(), config));
    let more = spec.additional_oidc_configs.iter().enumerate();
    let more = more.map(|(n, config)| (format!("spec.additionalOidcConfigs[{n}]"), config));
    let (mut jwt, mut issuers, mut whole) = (Vec::new(), BTreeSet::new(), true);
    for (field, config) in first.chain(more) {
        let rendered = issuer(&field, config, findings);
        whole &= rendered.is_some();
        let Some(rendered) = rendered else { continue };
        if !issuers.insert(rendered.issuer.url) {
            let what = format!("{} is there twice", rendered.issuer.url);
            findings.problem(oidc(format!("{field}.issuerURL"), what));
            whole = false;
        }
        jwt.push(rendered);
    }
    if !whole || jwt.is_empty() {
        return None;
    }
    let configuration = Configuration {
        api_version: "apiserver.config.k8s.io/v1beta1",
        kind: "AuthenticationConfiguration",
        jwt,
    };
    let config = serde_json::to_string_pretty(&configuration).ok()? + "\n";
    let hash: String = Sha256::digest(&config).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let of = &scene.input.cluster.metadata;
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let labels = BTreeMap::from([
        (label::CLUSTER_UID.to_owned(), part(&of.uid)),
        (label::SUBSCRIPTION_REQUEST.to_owned(), scene.input.request.to_owned()),
    ]);
    let cluster = format!("{}/{}", part(&of.namespace), part(&of.name));
    Some(Authentication { name: format!("{}{INFIX}{hash}", scene.input.name), labels, cluster, config })
}

/// The name of the Shoot that a ConfigMap of ours was made for.
pub fn shoot_of_config_map(name: &str) -> Option<&str> {
    name.rsplit_once(INFIX).map(|(shoot, _)| shoot)
}

fn oidc(field: String, what: impl Into<String>) -> Problem {
    Problem { about: ClusterCondition::OidcApplied, ..Problem::new(field, what) }
}

fn issuer<'a>(field: &str, config: &'a OidcConfig, findings: &mut Findings) -> Option<Jwt<'a>> {
    let OidcConfig {
        client_id,
        groups_claim,
        groups_prefix,
        issuer_url,
        signing_algs,
        username_claim,
        username_prefix,
        required_claims,
        ca_bundle,
    } = config;
    let before = findings.problems.len();
    let url = findings.take(address(field, issuer_url.as_deref()));
    let client =
        findings.take(client_id.as_deref().ok_or_else(|| {
            oidc(format!("{field}.clientID"), "is missing: tokens must be issued for somebody")
        }));
    algorithms(field, signing_algs, findings);
    if let Some(bundle) = ca_bundle
        && !bundle.contains("-----BEGIN CERTIFICATE-----")
    {
        findings.problem(oidc(format!("{field}.caBundle"), "has no certificate in PEM"));
    }
    if required_claims.keys().any(String::is_empty) {
        findings.problem(oidc(format!("{field}.requiredClaims"), "has a claim without a name"));
    }
    let (Some(url), Some(client), true) = (url, client, findings.problems.len() == before) else {
        return None;
    };
    let user = username_claim.as_deref().unwrap_or("sub");
    let prefix = match username_prefix.as_deref() {
        Some("-") => String::new(),
        Some(prefix) => prefix.to_owned(),
        // What kube-apiserver did before its configuration was structured, when nothing was said.
        None if user == "email" => String::new(),
        None => format!("{url}#"),
    };
    let rules = required_claims.iter();
    Some(Jwt {
        issuer: Issuer { url, audiences: [client], certificate_authority: ca_bundle.as_deref() },
        claim_validation_rules: rules
            .map(|(claim, value)| ClaimRule { claim, required_value: value })
            .collect(),
        claim_mappings: Mappings {
            username: Mapping { claim: user, prefix },
            groups: groups_claim
                .as_deref()
                .map(|claim| Mapping { claim, prefix: groups_prefix.clone().unwrap_or_default() }),
        },
        user_validation_rules: RESERVED,
    })
}

/// What kube-apiserver takes as an issuer; it would not start with anything else.
fn address<'a>(field: &str, url: Option<&'a str>) -> Result<&'a str, Problem> {
    let field = format!("{field}.issuerURL");
    let Some(url) = url else { return Err(oidc(field, "is missing")) };
    let Some(rest) = url.strip_prefix("https://") else {
        return Err(oidc(field, format!("{url:?} is not an https address")).allowed(["https://…"]));
    };
    let host = rest.split('/').next().unwrap_or_default();
    let strange =
        rest.contains(['?', '#', '@']) || url.contains(|c: char| c.is_whitespace() || c.is_control());
    if host.is_empty() || strange {
        let what = format!("{url:?} must have a host, and no user, query, fragment or space");
        return Err(oidc(field, what));
    }
    Ok(url)
}

fn algorithms(field: &str, asked: &[String], findings: &mut Findings) {
    let mut known = true;
    for (n, name) in asked.iter().enumerate() {
        if !ALGORITHMS.contains(&name.as_str()) {
            let what = format!("{name:?} is not a signing algorithm that kube-apiserver knows");
            findings.problem(oidc(format!("{field}.signingAlgs[{n}]"), what).allowed(ALGORITHMS));
            known = false;
        }
    }
    let narrowed = ALGORITHMS.iter().any(|name| !asked.iter().any(|asked| asked == name));
    if known && narrowed && !asked.is_empty() {
        let what = format!(
            "the list cannot be narrowed to {}: the API server accepts {}",
            asked.join(", "),
            ALGORITHMS.join(", ")
        );
        findings.note(ClusterCondition::OidcApplied, format!("{field}.signingAlgs"), what);
    }
}
