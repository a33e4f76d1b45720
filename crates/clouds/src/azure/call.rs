//! One call of Resource Manager with a token, which is renewed once.

use super::{Azure, error::AzureError, token::Session};
use crate::{
    Refusal,
    credentials::AzureLogin,
    http::{Access, Response},
};
use allotment_core::cleanup::Place;
use bytes::Bytes;
use futures::FutureExt;
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION},
};
use secrecy::ExposeSecret;
use serde_json::Value;
use std::collections::BTreeSet;

/// A call of Resource Manager.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// The path with its query, as it is sent.
    pub(super) path: String,
    /// The permission that it needs.
    pub(super) permission: &'a str,
    /// The id of the item that it concerns, to tell it from blockers.
    pub(super) item: &'a str,
}

impl<'a> Call<'a> {
    pub(super) fn get(path: String, permission: &'a str) -> Self {
        Self { method: Method::GET, path, permission, item: "" }
    }

    fn access(&self) -> Access {
        if self.method == Method::GET { Access::Read } else { Access::Write }
    }
}

/// The most pages of a list that is read at once: permissions, locations, usages.
const MOST_PAGES: usize = 100;

/// An answer without a field that it must have: what it hides is unknown.
pub(super) fn incomplete(what: &str) -> Refusal {
    Refusal::Transient { why: format!("the answer to {what} is incomplete") }
}

/// Percent-encodes all but the unreserved characters.
pub(super) fn encode(text: &str) -> String {
    encode_except(text, b"")
}

/// The same for a whole path: names of resource groups have brackets and letters of any language.
pub(super) fn encode_path(path: &str) -> String {
    encode_except(path, b"/")
}

fn encode_except(text: &str, others: &[u8]) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || others.contains(&byte);
    let encoded = text
        .bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    encoded.collect()
}

impl Azure {
    /// Any call, within the limits and with retries. The answer is a success.
    pub(super) async fn call(&self, place: &Place, call: &Call<'_>) -> Result<Response, Refusal> {
        self.retries.run(place, call.access(), || self.attempt(call).boxed()).await
    }

    /// Reads one document.
    pub(super) async fn read(&self, place: &Place, call: &Call<'_>) -> Result<Value, Refusal> {
        let response = self.call(place, call).await?;
        serde_json::from_slice(&response.body).map_err(|_| incomplete(call.permission))
    }

    /// Reads all pages of a list.
    pub(super) async fn read_all(&self, place: &Place, call: Call<'_>) -> Result<Vec<Value>, Refusal> {
        let (mut found, mut seen, mut call) = (Vec::new(), BTreeSet::new(), call);
        for _ in 0..MOST_PAGES {
            let body = self.read(place, &call).await?;
            let values = body.get("value").and_then(Value::as_array);
            found.extend(values.ok_or_else(|| incomplete(call.permission))?.iter().cloned());
            match self.next(&body)? {
                None => return Ok(found),
                Some(next) if seen.insert(next.clone()) => call.path = next,
                Some(_) => break,
            }
        }
        Err(incomplete(call.permission))
    }

    /// The path of the next page. A link that leads to another server is not followed: the token would go there.
    pub(super) fn next(&self, body: &Value) -> Result<Option<String>, Refusal> {
        match body.get("nextLink") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(link)) if link.is_empty() => Ok(None),
            Some(Value::String(link)) => {
                self.path_of(link).map(Some).ok_or_else(|| incomplete("a page that leads elsewhere"))
            }
            Some(_) => Err(incomplete("a page")),
        }
    }

    /// The path with its query of a URL on Resource Manager, or on one of its regional hosts.
    pub(super) fn path_of(&self, url: &str) -> Option<String> {
        let uri: http::Uri = url.parse().ok()?;
        let own: http::Uri = self.hosts.manager.parse().ok()?;
        let (host, known) = (uri.host()?.to_lowercase(), own.host()?.to_lowercase());
        let is_regional = host.strip_suffix(&known).is_some_and(|region| region.ends_with('.'));
        let is_ours = uri.scheme() == own.scheme() && uri.port_u16() == own.port_u16();
        let path = uri.path_and_query()?.as_str().to_owned();
        ((host == known || is_regional) && is_ours && path.starts_with('/')).then_some(path)
    }

    /// Sends a call, once more with a new token if the first one was not accepted: such a call was not made.
    async fn attempt(&self, call: &Call<'_>) -> Result<Response, Refusal> {
        let session = self.session().await?;
        let response = self.send(&session, call).await?;
        if response.status != StatusCode::UNAUTHORIZED {
            return self.answer(&session, response, call);
        }
        let session = self.renewed(&session).await?;
        let response = self.send(&session, call).await?;
        self.answer(&session, response, call)
    }

    async fn send(&self, session: &Session, call: &Call<'_>) -> Result<Response, Refusal> {
        let unsendable = |what: &str| Refusal::Other {
            code: "InvalidRequest".to_owned(),
            message: format!("{what} cannot be sent in a request"),
        };
        let bearer = format!("Bearer {}", session.token.expose_secret());
        let mut bearer = HeaderValue::from_str(&bearer).map_err(|_| unsendable("the token"))?;
        bearer.set_sensitive(true);
        let request = Request::builder()
            .method(&call.method)
            .uri(format!("{}{}", self.hosts.manager, call.path))
            .header(AUTHORIZATION, bearer)
            .header(ACCEPT, "application/json");
        let request = request.body(Bytes::new().into()).map_err(|_| unsendable("the id"))?;
        self.http.send(request).await
    }

    fn answer(&self, session: &Session, response: Response, call: &Call<'_>) -> Result<Response, Refusal> {
        if response.status.is_success() {
            return Ok(response);
        }
        let secret = match &self.credentials.login {
            AzureLogin::Secret(secret) => secret.expose_secret(),
            AzureLogin::Workload(_) => "",
        };
        let error =
            AzureError::read(&response.body).without_secrets(&[session.token.expose_secret(), secret]);
        Err(error.refusal(&response, call.permission, call.item))
    }
}
