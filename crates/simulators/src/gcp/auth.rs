//! Logins: assertions of service accounts, and exchanges of tokens of workload identities.

use super::{PRIVATE_KEY, controls::Controls, reply::Answer, state::State};
use crate::federation::Mistrust;
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use http::{HeaderMap, header::AUTHORIZATION};
use jiff::Timestamp;
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};

/// Google accepts a clock that is off by so much.
const SKEW_SECONDS: i64 = 300;

/// The principal of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bearer {
    /// The service account of a project.
    Account(String),
    /// A workload identity that a project trusts: it may only become the service account, if that lets it.
    Federated {
        /// The project.
        project: String,
        /// Whether the service account lets it.
        may_impersonate: bool,
    },
}

impl Bearer {
    pub(crate) fn project(&self) -> &str {
        match self {
            Self::Account(project) | Self::Federated { project, .. } => project,
        }
    }
}

pub(crate) fn audience(project: &str) -> String {
    format!(
        "//iam.googleapis.com/projects/{project}/locations/global/workloadIdentityPools/garden/providers/gardener"
    )
}

/// `grant_type=…jwt-bearer&assertion=…`.
pub(crate) fn with_assertion(state: &mut State, body: &[u8]) -> Answer {
    let assertion = field(body, "assertion").unwrap_or_default();
    match verified(&assertion) {
        Ok(claims) => {
            let email = claims.get("iss").and_then(Value::as_str).unwrap_or_default();
            let found = state.projects.iter().find(|(_, project)| project.client_email == email);
            match found {
                Some((id, project)) if !project.controls.revoked => {
                    let id = id.clone();
                    token(state, Bearer::Account(id))
                }
                _ => not_granted("Invalid grant: account not found"),
            }
        }
        // As Google does, with a part of what was sent.
        Err(why) => not_granted(&format!("{why}: {}", assertion.chars().take(200).collect::<String>())),
    }
}

/// A token exchange.
pub(crate) fn exchange(state: &mut State, body: &[u8]) -> Answer {
    let is = |name: &str, value: &str| field(body, name).as_deref() == Some(value);
    let is_well_formed = is("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
        && is("requested_token_type", "urn:ietf:params:oauth:token-type:access_token")
        && is("subject_token_type", "urn:ietf:params:oauth:token-type:jwt")
        && is("scope", "https://www.googleapis.com/auth/cloud-platform");
    if !is_well_formed {
        return Answer { status: 400, body: json!({ "error": "invalid_request" }) };
    }
    let subject = field(body, "subject_token").unwrap_or_default();
    let found = state.projects.iter().find(|(id, _)| is("audience", &audience(id)));
    let federated = found.map(|(id, project)| (id.clone(), federated(&project.controls, &subject)));
    match federated {
        Some((project, Ok(may_impersonate))) => {
            if let Some(of) = state.projects.get_mut(&project) {
                of.exchanges += 1;
            }
            token_of_workload(state, Bearer::Federated { project, may_impersonate })
        }
        // With everything that was sent.
        Some((_, Err(why))) => not_granted(&format!("The token is not trusted ({why:?}): {subject}")),
        None => not_granted("Invalid value for audience"),
    }
}

/// Whether a project accepts a token, and then whether its service account lets the subject act as it.
fn federated(controls: &Controls, token: &str) -> Result<bool, Mistrust> {
    if !token.is_empty() && controls.workload_token.as_deref() == Some(token) {
        return Ok(true);
    }
    let trust = controls.trust.as_ref().ok_or(Mistrust::Issuer)?;
    Ok(trust.subject_of(token)? == trust.subject)
}

/// `{email}:generateAccessToken`, by a workload identity.
pub(crate) fn impersonate(state: &mut State, headers: &HeaderMap, account: &str) -> Answer {
    let email = account.strip_suffix(":generateAccessToken").unwrap_or_default();
    let Some(Bearer::Federated { project: id, may_impersonate }) = bearer(state, headers) else {
        return super::reply::refused(401, "authError", "not a federated identity");
    };
    if !may_impersonate || state.projects.get(&id).is_none_or(|project| project.client_email != email) {
        let permission = json!({ "permission": "iam.serviceAccounts.getAccessToken" });
        return super::reply::refused_with_info(
            403,
            "PERMISSION_DENIED",
            "IAM_PERMISSION_DENIED",
            permission,
        );
    }
    let made = token_of_workload(state, Bearer::Account(id));
    let expires = Timestamp::now() + jiff::SignedDuration::from_secs(3600);
    Answer::ok(json!({ "accessToken": made.body["access_token"], "expireTime": expires.to_string() }))
}

/// The project that a request may reach.
pub(crate) fn project_of(state: &State, headers: &HeaderMap) -> Option<String> {
    match bearer(state, headers)? {
        Bearer::Account(id) => Some(id),
        Bearer::Federated { .. } => None,
    }
}

fn bearer(state: &State, headers: &HeaderMap) -> Option<Bearer> {
    let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
    let (found, since) = state.tokens.get(token)?;
    let project = state.projects.get(found.project())?;
    let until = since.zip(project.controls.session_calls);
    let is_over = until.is_some_and(|(since, lasts)| project.calls >= since + lasts);
    (!project.controls.revoked && !is_over).then(|| found.clone())
}

fn token(state: &mut State, bearer: Bearer) -> Answer {
    token_since(state, bearer, None)
}

/// A token for a workload identity.
fn token_of_workload(state: &mut State, bearer: Bearer) -> Answer {
    let since = state.projects.get(bearer.project()).map(|project| project.calls);
    token_since(state, bearer, since)
}

fn token_since(state: &mut State, bearer: Bearer, since: Option<u64>) -> Answer {
    let token = format!("ya29.simulated-{}", state.next());
    state.tokens.insert(token.clone(), (bearer, since));
    Answer::ok(json!({ "access_token": token, "expires_in": 3599, "token_type": "Bearer" }))
}

fn not_granted(why: &str) -> Answer {
    Answer { status: 400, body: json!({ "error": "invalid_grant", "error_description": why }) }
}

fn field(body: &[u8], name: &str) -> Option<String> {
    form_urlencoded::parse(body).find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

/// The claims of an assertion with a good signature and a good time.
pub(crate) fn verified(assertion: &str) -> Result<Value, &'static str> {
    let (input, signature) = assertion.rsplit_once('.').ok_or("Invalid JWT")?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "Invalid JWT Signature")?;
    let pair = key().ok_or("the key of the simulator is unusable")?;
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref());
    public.verify(input.as_bytes(), &signature).map_err(|_| "Invalid JWT Signature")?;
    let (header, claims) = input.split_once('.').ok_or("Invalid JWT")?;
    let decoded = |part: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| "Invalid JWT")?;
        serde_json::from_slice::<Value>(&bytes).map_err(|_| "Invalid JWT")
    };
    if decoded(header)?.get("alg").and_then(Value::as_str) != Some("RS256") {
        return Err("Invalid JWT: unknown algorithm");
    }
    let claims = decoded(claims)?;
    let time = |name: &str| claims.get(name).and_then(Value::as_i64).unwrap_or_default();
    let now = Timestamp::now().as_second();
    if time("iat") > now + SKEW_SECONDS || time("exp") < now || time("exp") > time("iat") + 3600 {
        return Err("Invalid JWT: Token must be a short-lived token and in a reasonable timeframe");
    }
    Ok(claims)
}

fn key() -> Option<RsaKeyPair> {
    let lines: String = PRIVATE_KEY.lines().filter(|line| !line.starts_with('-')).collect();
    RsaKeyPair::from_pkcs8(&STANDARD.decode(lines).ok()?).ok()
}
