//! One call with a token, which is renewed once.

use super::{
    OpenStack,
    error::OpenStackError,
    keystone::{Reach, Session},
    services::Service,
};
use crate::{
    Refusal,
    http::{Access, Response},
};
use allotment_core::cleanup::Place;
use bytes::Bytes;
use futures::FutureExt;
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use secrecy::ExposeSecret;
use serde_json::Value;
use std::sync::Arc;

/// A call of any service.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// The path behind the version, with its query.
    pub(super) path: String,
    /// The body; none is sent if it is null.
    pub(super) body: Value,
    /// Of the body.
    pub(super) content_type: &'static str,
    /// The permission that it needs.
    pub(super) permission: &'a str,
    /// The id of the item that it concerns, to tell it from blockers.
    pub(super) item: &'a str,
}

pub(super) const JSON: &str = "application/json";

impl<'a> Call<'a> {
    pub(super) fn get(path: String, permission: &'a str) -> Self {
        Self { method: Method::GET, path, body: Value::Null, content_type: JSON, permission, item: "" }
    }

    fn access(&self) -> Access {
        if self.method == Method::GET { Access::Read } else { Access::Write }
    }
}

/// The answer of a service that a region may not have.
pub(super) enum Reached<T> {
    /// It has it.
    Here(T),
    /// It does not.
    Absent(String),
}

/// An answer without a field that it must have: what it hides is unknown.
pub(super) fn incomplete(what: &str) -> Refusal {
    Refusal::Transient { why: format!("the answer to {what} is incomplete") }
}

/// Percent-encodes all but the unreserved characters: people choose the names of key pairs.
pub(super) fn encode(text: &str) -> String {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encoded = text
        .bytes()
        .map(|byte| if is_unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    encoded.collect()
}

impl OpenStack {
    /// The session, logged in if there is none.
    pub(super) async fn session(&self) -> Result<Arc<Session>, Refusal> {
        let mut session = self.session.lock().await;
        if let Some(session) = session.as_ref() {
            return Ok(Arc::clone(session));
        }
        // A login changes nothing, so it may be repeated.
        let login = || Session::open(&self.http, &self.auth_url, &self.credentials).boxed();
        let opened = Arc::new(self.retries.run(&Place::GLOBAL, Access::Read, login).await?);
        *session = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Another session than this one, which a service did not accept.
    async fn renewed(&self, refused: &Arc<Session>) -> Result<Arc<Session>, Refusal> {
        {
            let mut session = self.session.lock().await;
            // Another call may have renewed it meanwhile.
            if session.as_ref().is_some_and(|session| Arc::ptr_eq(session, refused)) {
                *session = None;
            }
        }
        let renewed = self.session().await?;
        if renewed.project != refused.project {
            let message = "the credentials are of another project than before".to_owned();
            return Err(Refusal::Other { code: "ProjectChanged".to_owned(), message });
        }
        Ok(renewed)
    }

    /// Any call, within the limits and with retries.
    pub(super) async fn call(
        &self,
        service: &'static Service,
        place: &Place,
        call: &Call<'_>,
    ) -> Result<Reached<Value>, Refusal> {
        self.retries.run(place, call.access(), || self.attempt(service, place, call).boxed()).await
    }

    /// A call of a service that has to be there.
    pub(super) async fn call_present(
        &self,
        service: &'static Service,
        place: &Place,
        call: &Call<'_>,
    ) -> Result<Value, Refusal> {
        match self.call(service, place, call).await? {
            Reached::Here(answer) => Ok(answer),
            Reached::Absent(because) => {
                Err(Refusal::Other { code: "ServiceAbsent".to_owned(), message: because })
            }
        }
    }

    /// Reads from keystone itself.
    pub(super) async fn identity(&self, path: &str) -> Result<Value, Refusal> {
        let call = Call::get(format!("{}{path}", self.auth_url), "identity:get_auth_projects");
        self.retries.run(&Place::GLOBAL, Access::Read, || self.with_session(None, &call).boxed()).await
    }

    async fn attempt(
        &self,
        service: &'static Service,
        place: &Place,
        call: &Call<'_>,
    ) -> Result<Reached<Value>, Refusal> {
        match self.session().await?.reach(service, place) {
            Reach::At(_) => (),
            Reach::Absent => {
                return Ok(Reached::Absent(format!("the catalog has no {} in {place}", service.name)));
            }
            Reach::NotPublic => {
                let message = format!("the catalog has no public endpoint of {} in {place}", service.name);
                return Err(Refusal::Other { code: "NoPublicEndpoint".to_owned(), message });
            }
        }
        self.with_session(Some((service, place)), call).await.map(Reached::Here)
    }

    /// Sends a call, once more with a new token if the service did not accept the first one.
    async fn with_session(
        &self,
        to: Option<(&'static Service, &Place)>,
        call: &Call<'_>,
    ) -> Result<Value, Refusal> {
        let session = self.session().await?;
        let response = self.send(&session, to, call).await?;
        if response.status != StatusCode::UNAUTHORIZED {
            return self.answer(&session, &response, call);
        }
        // A call that was refused for its token was not accepted.
        let session = self.renewed(&session).await?;
        let response = self.send(&session, to, call).await?;
        self.answer(&session, &response, call)
    }

    async fn send(
        &self,
        session: &Session,
        to: Option<(&'static Service, &Place)>,
        call: &Call<'_>,
    ) -> Result<Response, Refusal> {
        let unsendable = |what: &str| Refusal::Other {
            code: "InvalidRequest".to_owned(),
            message: format!("{what} cannot be sent in a request"),
        };
        let (base, microversion) = match to {
            None => (String::new(), None),
            Some((service, place)) => match session.reach(service, place) {
                Reach::At(url) => (url, service.microversion),
                Reach::Absent | Reach::NotPublic => return Err(incomplete("the renewed login")),
            },
        };
        let mut token =
            HeaderValue::from_str(session.token.expose_secret()).map_err(|_| unsendable("the token"))?;
        token.set_sensitive(true);
        let mut request = Request::builder()
            .method(&call.method)
            .uri(format!("{base}{}", call.path))
            .header("x-auth-token", token)
            .header(ACCEPT, JSON);
        if let Some((name, value)) = microversion {
            request = request.header(name, value);
        }
        let body = if call.body.is_null() {
            Bytes::new()
        } else {
            request = request.header(CONTENT_TYPE, call.content_type);
            Bytes::from(call.body.to_string())
        };
        let request = request.body(body.into()).map_err(|_| unsendable("the endpoint of the catalog"))?;
        self.http.send(request).await
    }

    /// The body of a success; deletions have none.
    fn answer(&self, session: &Session, response: &Response, call: &Call<'_>) -> Result<Value, Refusal> {
        if !response.status.is_success() {
            let secrets = [session.token.expose_secret(), self.credentials.login.secret().expose_secret()];
            let error = OpenStackError::read(response).without_secrets(&secrets);
            return Err(error.refusal(response, call.permission, call.item));
        }
        if response.body.is_empty() {
            return Ok(Value::Null);
        }
        match serde_json::from_slice(&response.body) {
            Ok(body) => Ok(body),
            // Nothing is read from the answer to a write.
            Err(_) if call.access() == Access::Write => Ok(Value::Null),
            Err(_) => Err(incomplete("a listing")),
        }
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
