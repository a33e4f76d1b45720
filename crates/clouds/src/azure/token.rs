//! Logging in: a token of Microsoft Entra ID for Resource Manager.

use super::{Azure, call::incomplete};
use crate::{
    Refusal,
    credentials::AzureLogin,
    http::{Access, Response},
};
use allotment_core::cleanup::Place;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use futures::FutureExt;
use http::{
    Request, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::sync::Arc;

/// The result of a login.
pub(super) struct Session {
    pub(super) token: SecretString,
    /// The object id of the service principal, which role assignments name.
    pub(super) principal: String,
    expires: Timestamp,
}

/// A token is renewed so long before it ends: the longest call, and a clock that is off.
const EARLY: SignedDuration = SignedDuration::from_mins(5);

/// How a token of a workload identity is told from a secret.
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

impl Azure {
    /// The session, logged in if there is none, or if it ends soon.
    pub(super) async fn session(&self) -> Result<Arc<Session>, Refusal> {
        let mut session = self.session.lock().await;
        let principal = session.as_ref().map(|session| session.principal.clone());
        if let Some(session) = session.as_ref().filter(|session| session.expires > (self.now)()) {
            return Ok(Arc::clone(session));
        }
        // A login changes nothing, so it may be repeated.
        let login = || self.login().boxed();
        let opened = Arc::new(self.retries.run(&Place::GLOBAL, Access::Read, login).await?);
        if principal.is_some_and(|principal| principal != opened.principal) {
            let message = "the credentials are of another principal than before".to_owned();
            return Err(Refusal::Other { code: "PrincipalChanged".to_owned(), message });
        }
        *session = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Another session than this one, which Resource Manager did not accept.
    pub(super) async fn renewed(&self, refused: &Arc<Session>) -> Result<Arc<Session>, Refusal> {
        {
            let mut session = self.session.lock().await;
            // Another call may have renewed it meanwhile.
            if session.as_ref().is_some_and(|session| Arc::ptr_eq(session, refused)) {
                let ended = Session {
                    token: SecretString::default(),
                    principal: refused.principal.clone(),
                    expires: Timestamp::MIN,
                };
                *session = Some(Arc::new(ended));
            }
        }
        self.session().await
    }

    async fn login(&self) -> Result<Session, Refusal> {
        let scope = format!("{}/.default", self.hosts.audience);
        let form = match &self.credentials.login {
            AzureLogin::Secret(secret) => self.form(&scope, &[("client_secret", secret.expose_secret())]),
            AzureLogin::Workload(tokens) => {
                let token = tokens.token().await?;
                let assertion =
                    [("client_assertion_type", ASSERTION), ("client_assertion", token.expose_secret())];
                self.form(&scope, &assertion)
            }
        };
        let tenant = super::call::encode(&self.credentials.tenant);
        let request = Request::post(format!("{}/{tenant}/oauth2/v2.0/token", self.hosts.login))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(Bytes::from(form).into())
            .map_err(|_| Refusal::Other {
                code: "InvalidRequest".to_owned(),
                message: "the tenant cannot be sent in a request".to_owned(),
            })?;
        let response = self.http.send(request).await?;
        if !response.status.is_success() {
            return Err(refused(&response));
        }
        Session::read(&response, (self.now)()).ok_or_else(|| incomplete("the login"))
    }

    /// The form of a login, in the order of the official SDKs.
    fn form(&self, scope: &str, proof: &[(&str, &str)]) -> String {
        let mut pairs = vec![("client_id", self.credentials.client.as_str())];
        pairs.extend(proof);
        pairs.extend([("grant_type", "client_credentials"), ("scope", scope)]);
        let pairs = pairs.into_iter().map(|(name, value)| format!("{name}={}", super::call::encode(value)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

impl Session {
    fn read(response: &Response, now: Timestamp) -> Option<Self> {
        let body: Value = serde_json::from_slice(&response.body).ok()?;
        let token = body.get("access_token")?.as_str().filter(|token| !token.is_empty())?;
        let seconds = body.get("expires_in")?.as_i64()?;
        let lasts = SignedDuration::from_secs(seconds).saturating_sub(EARLY).max(SignedDuration::ZERO);
        let expires = now.checked_add(lasts).ok()?;
        Some(Self { token: token.to_owned().into(), principal: principal(token)?, expires })
    }
}

/// The object id in a token. Nobody but Resource Manager has to check the signature: the token came from the login itself.
fn principal(token: &str) -> Option<String> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?.trim_end_matches('=')).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let id = claims.get("oid")?.as_str().filter(|id| !id.is_empty())?;
    Some(id.to_lowercase())
}

/// A refused login. Its description may repeat what was sent, so only the number of the error is passed on. It is no missing
/// permission: nothing is assumed absent then.
fn refused(response: &Response) -> Refusal {
    match response.status {
        StatusCode::TOO_MANY_REQUESTS => {
            return Refusal::Throttled { after: super::error::retry_after(response) };
        }
        status if status.is_server_error() => {
            return Refusal::Transient { why: format!("the login failed with HTTP{}", status.as_u16()) };
        }
        _ => (),
    }
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let number = body.pointer("/error_codes/0").and_then(Value::as_u64);
    let code = number
        .map_or_else(|| format!("Login{}", response.status.as_u16()), |number| format!("AADSTS{number}"));
    let message = match number {
        Some(7_000_215) => "the clientSecret is wrong",
        Some(7_000_222) => "the clientSecret has expired",
        Some(700_016) => "the tenant has no application with this clientID",
        Some(90_002) => "there is no tenant with this tenantID",
        Some(700_211..=700_213 | 70_021) => "the application does not trust this workload identity",
        _ => "Microsoft Entra ID does not accept the credentials",
    };
    Refusal::Other { code, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;
    use serde_json::json;

    fn response(status: u16, body: &Value) -> Response {
        let status = StatusCode::from_u16(status).unwrap();
        Response { status, headers: HeaderMap::new(), body: body.to_string().into() }
    }

    #[test]
    fn a_refused_login_says_why_and_repeats_nothing() {
        let body = json!({
            "error": "invalid_client",
            "error_description": "AADSTS7000215: Invalid client secret provided: hush-hush",
            "error_codes": [7_000_215],
        });
        let refusal = refused(&response(401, &body));
        assert_eq!(refusal.to_string(), "refused (AADSTS7000215): the clientSecret is wrong");
        assert!(matches!(refused(&response(429, &json!({}))), Refusal::Throttled { .. }));
        assert!(matches!(refused(&response(503, &json!({}))), Refusal::Transient { .. }));
        assert_eq!(refused(&response(400, &json!({}))).code(), "Login400");
    }

    #[test]
    fn the_principal_is_the_object_id_of_the_token() {
        let claims = URL_SAFE_NO_PAD.encode(json!({ "oid": "AB-1", "appid": "x" }).to_string());
        let body =
            json!({ "access_token": format!("h.{claims}.s"), "expires_in": 3599, "token_type": "Bearer" });
        let now = Timestamp::UNIX_EPOCH;
        let session = Session::read(&response(200, &body), now).unwrap();
        assert_eq!(session.principal, "ab-1");
        assert_eq!(session.expires.as_second(), 3599 - 300);
        let opaque = json!({ "access_token": "opaque", "expires_in": 3599 });
        assert!(Session::read(&response(200, &opaque), now).is_none(), "whose assignments would stay?");
    }
}
