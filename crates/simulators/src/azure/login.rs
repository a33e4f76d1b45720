//! Microsoft Entra ID: tokens for a secret, or for a token of a workload identity.

use super::{
    Answer,
    error::Fault,
    json,
    state::{Known, State},
};
use crate::federation::Mistrust;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use jiff::Timestamp;
use ring::hmac;
use serde_json::{Value, json as document};
use std::collections::BTreeMap;

/// The resources that tokens are given for.
const AUDIENCES: &[&str] = &[
    "https://management.azure.com",
    "https://management.chinacloudapi.cn",
    "https://management.usgovcloudapi.net",
];
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const EXCHANGE: &str = "api://AzureADTokenExchange";
const LIFE_SECONDS: i64 = 3599;

pub(super) fn answer(state: &mut State, request: &Request<Bytes>, path: &[String]) -> Answer {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match (request.method(), path.as_slice()) {
        (&Method::GET, [tenant, "v2.0", ".well-known", "openid-configuration"]) => Ok(discovery(tenant)),
        (&Method::POST, [tenant, "oauth2", "v2.0", "token"]) => {
            let form = form_urlencoded::parse(request.body());
            let form: BTreeMap<String, String> =
                form.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
            let client = form.get("client_id").cloned().unwrap_or_default();
            state.logins.push((client, String::from_utf8_lossy(request.body()).into_owned()));
            Ok(login(state, tenant, &form))
        }
        _ => Err(Fault::new(StatusCode::NOT_FOUND, "NotFound", "There is nothing here.")),
    }
}

/// The SDKs look for the endpoint of tokens first.
fn discovery(tenant: &str) -> Response<Bytes> {
    let at = format!("https://login.microsoftonline.com/{tenant}");
    let found = document!({
        "issuer": format!("{at}/v2.0"),
        "authorization_endpoint": format!("{at}/oauth2/v2.0/authorize"),
        "token_endpoint": format!("{at}/oauth2/v2.0/token"),
    });
    json(StatusCode::OK, &found)
}

fn login(state: &mut State, tenant: &str, form: &BTreeMap<String, String>) -> Response<Bytes> {
    let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    let audience = field("scope").strip_suffix("/.default").unwrap_or_default();
    if field("grant_type") != "client_credentials" || !AUDIENCES.contains(&audience) {
        return refused(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            900_144,
            "The request body must contain more.",
        );
    }
    let is_tenant =
        |subscription: &&super::state::Subscription| subscription.tenant.eq_ignore_ascii_case(tenant);
    let Some(subscription) = state.subscriptions.values().find(is_tenant) else {
        return refused(StatusCode::BAD_REQUEST, "invalid_request", 90_002, "Tenant not found.");
    };
    let client = field("client_id");
    let Some(known) = subscription.principals.iter().find(|known| known.client == client) else {
        return refused(StatusCode::BAD_REQUEST, "unauthorized_client", 700_016, "Application not found.");
    };
    let is_workload = field("client_assertion_type") == JWT_BEARER;
    // Both refusals repeat what was sent, as no server should.
    if is_workload {
        let assertion = field("client_assertion");
        if let Err(mistrust) = trusts(state, known, assertion) {
            let (number, why) = told(mistrust);
            return refused(
                StatusCode::UNAUTHORIZED,
                "invalid_client",
                number,
                &format!("{why}: {assertion}"),
            );
        }
    } else if field("client_secret") != known.secret {
        let told = format!("Invalid client secret provided: {}", field("client_secret"));
        return refused(StatusCode::UNAUTHORIZED, "invalid_client", 7_000_215, &told);
    }
    let now = Timestamp::now().as_second();
    let claims = document!({
        "aud": audience, "tid": subscription.tenant, "oid": known.object, "appid": client,
        "exp": now + LIFE_SECONDS, "number": state.number, "calls": is_workload.then_some(subscription.calls),
    });
    let token = sign(&state.key, &claims);
    let given = document!({ "token_type": "Bearer", "expires_in": LIFE_SECONDS, "ext_expires_in": LIFE_SECONDS, "access_token": token });
    json(StatusCode::OK, &given)
}

fn refused(status: StatusCode, error: &str, number: u64, why: &str) -> Response<Bytes> {
    let description = format!("AADSTS{number}: {why}");
    json(status, &document!({ "error": error, "error_description": description, "error_codes": [number] }))
}

/// A token of a workload identity: issued for this application, and for an exchange.
pub(super) fn assertion(state: &State, client: &str) -> String {
    let exp = Timestamp::now().as_second() + 600;
    sign(&state.key, &document!({ "aud": EXCHANGE, "sub": format!("gardener:{client}"), "exp": exp }))
}

/// Whether an application accepts an assertion: one of ours, or one of the workload identity that it trusts.
fn trusts(state: &State, known: &Known, assertion: &str) -> Result<(), Mistrust> {
    let is_ours = verified(&state.key, assertion).is_some_and(|claims| {
        claims["aud"] == EXCHANGE && claims["sub"].as_str() == Some(&format!("gardener:{}", known.client))
    });
    match &known.trust {
        _ if is_ours => Ok(()),
        Some(trust) => trust.accepts(assertion),
        None => Err(Mistrust::Issuer),
    }
}

fn told(mistrust: Mistrust) -> (u64, &'static str) {
    match mistrust {
        Mistrust::Signature => (700_027, "Client assertion failed signature validation"),
        Mistrust::Time => (700_024, "Client assertion is not within its valid time range"),
        Mistrust::Issuer => {
            (700_211, "No matching federated identity record found for presented assertion issuer")
        }
        Mistrust::Audience => {
            (700_212, "No matching federated identity record found for presented assertion audience")
        }
        Mistrust::Subject => {
            (700_213, "No matching federated identity record found for presented assertion subject")
        }
    }
}

fn sign(key: &hmac::Key, claims: &Value) -> String {
    let header = URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"HS256"}"#);
    let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(key, signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// The claims of a token of ours that has not expired.
pub(super) fn verified(key: &hmac::Key, token: &str) -> Option<Value> {
    let (signed, signature) = token.rsplit_once('.')?;
    hmac::verify(key, signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).ok()?).ok()?;
    let claims = URL_SAFE_NO_PAD.decode(signed.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    (claims["exp"].as_i64()? > Timestamp::now().as_second()).then_some(claims)
}
