//! `shoots/adminkubeconfig` and `shoots/viewerkubeconfig`: a client certificate of a Shoot, for whoever asks.
//!
//! The certificate is signed with the client CA that the gardenlet left in an InternalSecret, so the API server of the
//! Shoot believes it. Nothing is kept, and what was issued cannot be taken back.

use super::{
    facts::Facts,
    json::{items, text},
    kinds::CORE,
    refusals::{invalid, too_long},
};
use allotment_api::gardener::names;
use allotment_apiserver::{
    auth::{
        Attributes, Randomness, User,
        certificate::{CertificateAuthority, KeyKind},
    },
    error::{ApiError, FieldError, FieldErrorKind, GroupResource},
    extension::{Subresource, SubresourceRequest},
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use serde_json::{Value, json};

const GROUP: &str = "authentication.gardener.cloud";
const DEFAULT_LIFE_SECONDS: i64 = 60 * 60;
const SHORTEST_LIFE_SECONDS: i64 = 10 * 60;
/// `--shoot-admin-kubeconfig-max-expiration` of gardener-apiserver, where nobody sets it.
const LONGEST_LIFE_SECONDS: i64 = 24 * 60 * 60;
/// Addresses of a Shoot that lead to its API server.
const ADDRESSES: [&str; 4] = ["external", "internal", "wildcard-tls-seed-bound", "unmanaged"];

/// As discovery lists them.
pub(super) const SUBRESOURCES: [Subresource; 2] = [
    Subresource {
        name: "adminkubeconfig",
        kind: "AdminKubeconfigRequest",
        group_version: Some((GROUP, "v1alpha1")),
        verbs: &["create"],
    },
    Subresource {
        name: "viewerkubeconfig",
        kind: "ViewerKubeconfigRequest",
        group_version: Some((GROUP, "v1alpha1")),
        verbs: &["create"],
    },
];

/// For whom a kubeconfig is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Admin,
    Viewer,
}

impl Access {
    fn kind(self) -> &'static str {
        match self {
            Self::Admin => "AdminKubeconfigRequest",
            Self::Viewer => "ViewerKubeconfigRequest",
        }
    }

    /// What somebody has to be allowed in the garden to count as one of its operators. Group and kind are what
    /// gardener-apiserver really asks about.
    fn question(self) -> Attributes<'static> {
        let (group, resource) = match self {
            Self::Admin => ("v1", "Secret"),
            Self::Viewer => ("core.gardener.cloud/v1beta1", "Project"),
        };
        Attributes { verb: "list", group, resource, ..Attributes::default() }
    }

    fn user(self, name: &str) -> String {
        match self {
            Self::Admin => format!("gardener.cloud:admin:{name}"),
            Self::Viewer => format!("gardener.cloud:viewer:{name}"),
        }
    }

    fn group(self, operator: bool) -> String {
        let whose = if operator { "system" } else { "project" };
        match self {
            Self::Admin => format!("gardener.cloud:{whose}:admins"),
            Self::Viewer => format!("gardener.cloud:{whose}:viewers"),
        }
    }
}

/// Answers the two subresources, and leaves others alone.
pub(super) fn answer(
    request: &SubresourceRequest<'_>,
    facts: &dyn Facts,
    random: Randomness<'_>,
) -> Option<Result<Value, ApiError>> {
    let access = match (request.resource.plural.as_str(), request.subresource) {
        ("shoots", "adminkubeconfig") => Access::Admin,
        ("shoots", "viewerkubeconfig") => Access::Viewer,
        _ => return None,
    };
    Some(issue(access, request, facts, random))
}

fn issue(
    access: Access,
    request: &SubresourceRequest<'_>,
    facts: &dyn Facts,
    random: Randomness<'_>,
) -> Result<Value, ApiError> {
    if request.verb != "create" {
        let message = "the server does not allow this method on the requested resource".to_owned();
        return Err(ApiError {
            code: 405,
            reason: "MethodNotAllowed",
            message,
            details: Some(Box::default()),
        });
    }
    let seconds = life_seconds(access, request.body)?;
    let shoot = facts.get(CORE, "shoots", request.namespace, request.name).ok_or_else(|| {
        ApiError::not_found(GroupResource { group: CORE, resource: "shoots" }, request.name)
    })?;
    let addresses = addresses(access, &shoot)?;
    let authority = client_ca(request, facts)?;
    let bundle = cluster_ca(request, facts)?;
    let seconds = seconds.min(LONGEST_LIFE_SECONDS);
    let end = whole_seconds(request.now) + SignedDuration::from_secs(seconds);
    let groups = [groups(access, request.user, facts)];
    let user = access.user(&request.user.name);
    let issued = authority
        .issue_client(KeyKind::P256, &user, &groups, request.now, end, random)
        .map_err(ApiError::internal)?;
    let context = format!("{}--{}", request.namespace, request.name);
    let credentials = json!({
        "client-certificate-data": base64(&issued.certificate_pem()), "client-key-data": base64(&issued.key_pem()),
    });
    let kubeconfig = kubeconfig(&context, &addresses, &bundle, &credentials);
    Ok(json!({
        "kind": access.kind(), "apiVersion": format!("{GROUP}/v1alpha1"),
        "metadata": { "namespace": request.namespace },
        "spec": { "expirationSeconds": seconds },
        "status": {
            "kubeconfig": base64(&kubeconfig),
            "expirationTimestamp": end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        },
    }))
}

fn life_seconds(access: Access, body: &[u8]) -> Result<i64, ApiError> {
    let kind = access.kind();
    let body: Value = serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    let sent = text(&body, "/kind");
    if !sent.is_empty() && sent != kind {
        return Err(ApiError::bad_request(format!(
            "{sent} in version \"v1alpha1\" cannot be handled as a {kind}: converting (v1alpha1.{sent}) to (v1alpha1.{kind}): unknown conversion"
        )));
    }
    let seconds = body["spec"]["expirationSeconds"].as_i64().unwrap_or(DEFAULT_LIFE_SECONDS);
    let field = "spec.expirationSeconds";
    let wrong = if seconds < SHORTEST_LIFE_SECONDS {
        invalid(field, seconds, "may not specify a duration less than 10 minutes")
    } else if seconds > i64::from(u32::MAX) {
        too_long(field, 4_294_967_295)
    } else {
        return Ok(seconds);
    };
    Err(ApiError::invalid(GROUP, kind, "", vec![wrong]))
}

/// Name and URL of the addresses that lead to the API server.
fn addresses(access: Access, shoot: &Value) -> Result<Vec<(String, String)>, ApiError> {
    let advertised = items(shoot, "/status/advertisedAddresses");
    let suitable: Vec<(String, String)> = advertised
        .iter()
        .map(|address| (text(address, "/name").to_owned(), text(address, "/url").to_owned()))
        .filter(|(name, _)| ADDRESSES.contains(&name.as_str()))
        .collect();
    if !suitable.is_empty() {
        return Ok(suitable);
    }
    // Go shows the fields by their own names and in their own order.
    let shown: Vec<String> = advertised
        .iter()
        .map(|address| {
            format!(
                "{{\"Name\":{},\"URL\":{},\"Application\":{}}}",
                address["name"], address["url"], address["application"]
            )
        })
        .collect();
    let shown = if shown.is_empty() { "null".to_owned() } else { format!("[{}]", shown.join(",")) };
    let detail = format!(
        "{shown}: no suitable advertised address for kube-apiserver found in .status.advertisedAddresses"
    );
    let error = FieldError::bare("status.status", FieldErrorKind::Invalid, detail);
    Err(ApiError::invalid(GROUP, access.kind(), text(shoot, "/metadata/name"), vec![error]))
}

fn client_ca(request: &SubresourceRequest<'_>, facts: &dyn Facts) -> Result<CertificateAuthority, ApiError> {
    let name = names::client_ca(request.name);
    let secret = facts.get(CORE, "internalsecrets", request.namespace, &name).ok_or_else(|| {
        ApiError::internal(format!(
            "could not get client CA secret: internalsecret.core.gardener.cloud {name:?} not found"
        ))
    })?;
    let unreadable =
        |why: &str| ApiError::internal(format!("could not load client CA certificate from secret: {why}"));
    let (key, certificate) = (decoded(&secret["data"]["ca.key"]), decoded(&secret["data"]["ca.crt"]));
    // PKCS#1 is all that Gardener reads.
    if !key.trim_start().starts_with("-----BEGIN RSA PRIVATE KEY-----") {
        return Err(unreadable("could not decode the PEM-encoded RSA private key"));
    }
    if !certificate.trim_start().starts_with("-----BEGIN CERTIFICATE-----") {
        return Err(unreadable("PEM block type must be CERTIFICATE"));
    }
    CertificateAuthority::from_pem(&certificate, &key).map_err(|error| unreadable(&error.to_string()))
}

fn cluster_ca(request: &SubresourceRequest<'_>, facts: &dyn Facts) -> Result<String, ApiError> {
    let name = names::cluster_ca(request.name);
    let bundle = match facts.get("", "configmaps", request.namespace, &name) {
        Some(bundle) => bundle["data"]["ca.crt"].as_str().unwrap_or_default().to_owned(),
        None => match facts.get("", "secrets", request.namespace, &name) {
            Some(bundle) => decoded(&bundle["data"]["ca.crt"]),
            None => {
                return Err(ApiError::internal(format!(
                    "could not get cluster CA secret: secret {name:?} not found"
                )));
            }
        },
    };
    match bundle.is_empty() {
        true => Err(ApiError::internal("could not load cluster CA bundle")),
        false => Ok(bundle),
    }
}

fn groups(access: Access, user: &User, facts: &dyn Facts) -> String {
    access.group(facts.allowed(user, &access.question()))
}

/// One cluster and one context per address, the first of which is the current one; one user.
fn kubeconfig(context: &str, addresses: &[(String, String)], bundle: &str, credentials: &Value) -> String {
    let name = |address: &str| format!("{context}-{address}");
    let user = addresses.first().map(|(address, _)| name(address)).unwrap_or_default();
    let clusters: Vec<Value> = addresses
        .iter()
        .map(|(address, url)| {
            let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            let host = host.split(['/', '?', '#']).next().unwrap_or_default();
            let mut cluster = json!({ "server": format!("https://{host}") });
            // The certificate behind the wildcard one is from an authority that everybody knows.
            if address != "wildcard-tls-seed-bound" {
                cluster["certificate-authority-data"] = base64(bundle);
            }
            json!({ "name": name(address), "cluster": cluster })
        })
        .collect();
    let contexts: Vec<Value> = addresses
        .iter()
        .map(|(address, _)| json!({ "name": name(address), "context": { "cluster": name(address), "user": user } }))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": user, "clusters": clusters, "contexts": contexts,
        "users": [{ "name": user, "user": credentials }],
    })
    .to_string()
}

fn whole_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

fn base64(text: &str) -> Value {
    json!(ByteString(text.as_bytes().to_vec()))
}

fn decoded(value: &Value) -> String {
    let bytes: Option<ByteString> = serde_json::from_value(value.clone()).ok();
    bytes.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).unwrap_or_default()
}
