//! One call with a token, which is renewed once.

use super::{Gcp, error::GcpError, session::Session};
use crate::{
    Refusal,
    http::{Access, Response},
};
use allotment_core::cleanup::Place;
use bytes::Bytes;
use futures::FutureExt;
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// The fields of a form.
pub(super) type Form = Vec<(String, String)>;

/// A call of any service.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) url: String,
    /// The body; none is sent if it is null.
    pub(super) body: Value,
    /// The permission that it needs, unless the answer names another one.
    pub(super) permission: &'a str,
}

impl<'a> Call<'a> {
    pub(super) fn get(url: String, permission: &'a str) -> Self {
        Self { method: Method::GET, url, body: Value::Null, permission }
    }

    pub(super) fn post(url: String, body: Value, permission: &'a str) -> Self {
        Self { method: Method::POST, url, body, permission }
    }

    fn access(&self) -> Access {
        if self.method == Method::GET { Access::Read } else { Access::Write }
    }
}

/// An answer without a field that it must have, or only a part of one: what it hides is unknown.
pub(super) fn incomplete(what: &str) -> Refusal {
    Refusal::Transient { why: format!("the answer to {what} is incomplete") }
}

/// Percent-encodes all but the unreserved characters.
pub(super) fn encode(text: &str) -> String {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encoded = text
        .bytes()
        .map(|byte| if is_unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    encoded.collect()
}

fn unsendable() -> Refusal {
    Refusal::Other {
        code: "InvalidRequest".to_owned(),
        message: "the endpoint or the credentials cannot be sent in a request".to_owned(),
    }
}

impl Gcp {
    /// An address of Compute Engine, in the project.
    pub(super) fn compute(&self, path: &str) -> String {
        let base = self.base("https://compute.googleapis.com");
        let separator = if path.is_empty() { "" } else { "/" };
        format!("{base}/compute/v1/projects/{}{separator}{path}", self.credentials.project)
    }

    /// An address of IAM, in the project.
    pub(super) fn iam(&self, path: &str) -> String {
        let base = self.base("https://iam.googleapis.com");
        format!("{base}/v1/projects/{}/{path}", self.credentials.project)
    }

    fn base<'a>(&'a self, google: &'a str) -> &'a str {
        self.endpoint.as_deref().map_or(google, |endpoint| endpoint.trim_end_matches('/'))
    }

    /// Any call, within the limits and with retries.
    pub(super) async fn call(&self, place: &Place, call: &Call<'_>) -> Result<Value, Refusal> {
        self.retries.run(place, call.access(), || self.attempt(call).boxed()).await
    }

    async fn attempt(&self, call: &Call<'_>) -> Result<Value, Refusal> {
        let session = self.session().await?;
        let response = self.send(&session, call).await?;
        if response.status != StatusCode::UNAUTHORIZED {
            return answer(&session, &response, call);
        }
        // A call that was refused for its token was not accepted.
        let session = self.renewed(&session).await?;
        let response = self.send(&session, call).await?;
        answer(&session, &response, call)
    }

    async fn send(&self, session: &Session, call: &Call<'_>) -> Result<Response, Refusal> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(&call.url)
            .header(AUTHORIZATION, bearer(&session.token)?)
            .header(ACCEPT, "application/json");
        let body = if call.body.is_null() {
            Bytes::new()
        } else {
            request = request.header(CONTENT_TYPE, "application/json");
            Bytes::from(call.body.to_string())
        };
        self.http.send(request.body(body.into()).map_err(|_| unsendable())?).await
    }

    /// A form without a token: it is for getting one.
    pub(super) async fn post_form(&self, url: &str, form: &Form) -> Result<Response, Refusal> {
        let pairs: Vec<String> =
            form.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        let request = Request::builder()
            .method(Method::POST)
            .uri(url)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Bytes::from(pairs.join("&")).into());
        self.http.send(request.map_err(|_| unsendable())?).await
    }

    /// A call with another token than that of the session.
    pub(super) async fn post_json(
        &self,
        url: &str,
        token: &SecretString,
        body: &Value,
    ) -> Result<Response, Refusal> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(url)
            .header(AUTHORIZATION, bearer(token)?)
            .header(CONTENT_TYPE, "application/json")
            .body(Bytes::from(body.to_string()).into());
        self.http.send(request.map_err(|_| unsendable())?).await
    }
}

fn bearer(token: &SecretString) -> Result<HeaderValue, Refusal> {
    let header = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
    let mut header = header.map_err(|_| unsendable())?;
    header.set_sensitive(true);
    Ok(header)
}

fn answer(session: &Session, response: &Response, call: &Call<'_>) -> Result<Value, Refusal> {
    if !response.status.is_success() {
        let error = GcpError::read(response).without_secret(session.token.expose_secret());
        return Err(error.refusal(call.permission));
    }
    match serde_json::from_slice(&response.body) {
        Ok(body) => Ok(body),
        Err(_) => Err(incomplete("a call")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_their_segment_of_a_path() {
        assert_eq!(encode("a b/../c?x=ü"), "a%20b%2F..%2Fc%3Fx%3D%C3%BC");
    }
}
