//! One signed call.

use super::{
    Aws,
    error::{AwsError, EXPIRED, SKEWED},
    rows::Service,
    sigv4::{self, Keys, Unsigned},
};
use crate::{
    Refusal,
    credentials::AwsKeys,
    http::{Access, Response},
};
use allotment_core::cleanup::Place;
use bytes::Bytes;
use futures::FutureExt;
use http::{Method, Request};

/// A call of any service.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) content_type: Option<&'static str>,
    pub(super) body: String,
    /// The permission that it needs.
    pub(super) permission: String,
}

/// An answer without a field that it must have: what it hides is unknown.
pub(super) fn incomplete(action: &str) -> Refusal {
    Refusal::Transient { why: format!("the answer to {action} is incomplete") }
}

/// A request that cannot be written.
pub(super) fn unsendable() -> Refusal {
    Refusal::Other {
        code: "InvalidRequest".to_owned(),
        message: "the endpoint or the credentials cannot be sent in a request".to_owned(),
    }
}

impl Aws {
    /// A call of a service with the query protocol: a form in, XML out.
    pub(super) async fn query(
        &self,
        service: &Service,
        place: &Place,
        action: &str,
        parameters: Vec<(String, String)>,
        access: Access,
    ) -> Result<String, Refusal> {
        let mut form = vec![
            ("Action".to_owned(), action.to_owned()),
            ("Version".to_owned(), service.version.to_owned()),
        ];
        form.extend(parameters);
        let call = Call {
            method: Method::POST,
            path: "/".to_owned(),
            query: Vec::new(),
            content_type: Some("application/x-www-form-urlencoded; charset=utf-8"),
            body: sigv4::encode_query(&form),
            permission: format!("{}:{action}", service.name),
        };
        let body = self.call(service, place, &call, access).await?;
        String::from_utf8(body.to_vec()).map_err(|_| incomplete(action))
    }

    /// Any call, within the limits and with retries.
    pub(super) async fn call(
        &self,
        service: &Service,
        place: &Place,
        call: &Call,
        access: Access,
    ) -> Result<Bytes, Refusal> {
        let region = if service.global || place.is_global() { self.partition.home() } else { place.clone() };
        self.retries.run(place, access, || self.attempt(service, &region, call).boxed()).await
    }

    async fn attempt(&self, service: &Service, region: &Place, call: &Call) -> Result<Bytes, Refusal> {
        let mut keys = self.keys().await?;
        let (mut is_corrected, mut is_renewed) = (false, false);
        loop {
            let response = self.send(&keys, service, region, call).await?;
            if response.status.is_success() {
                return Ok(response.body);
            }
            let error = AwsError::read(&response);
            let is = |codes: &[&str]| codes.contains(&error.code.as_str());
            // A call that was refused for its time or its session was not accepted, so it is made again: once for each.
            if !is_corrected && is(SKEWED) && self.clock.learn(&response.headers, (self.now)()) {
                is_corrected = true;
            } else if !is_renewed
                && is(EXPIRED)
                && let Some(renewed) = self.renewed_keys(&keys).await?
            {
                (keys, is_renewed) = (renewed, true);
            } else {
                return Err(error.refusal(&response, &call.permission));
            }
        }
    }

    /// The address of a service in a region, without a slash at the end.
    pub(super) fn base(&self, service: &Service, region: &Place) -> String {
        match &self.endpoint {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => format!("https://{}", self.partition.host(service.name, region)),
        }
    }

    async fn send(
        &self,
        keys: &AwsKeys,
        service: &Service,
        region: &Place,
        call: &Call,
    ) -> Result<Response, Refusal> {
        let base = self.base(service, region);
        let host = base.split_once("://").map_or(base.as_str(), |(_, host)| host);
        let unsigned = Unsigned {
            method: call.method.as_str(),
            host,
            path: &call.path,
            query: &call.query,
            content_type: call.content_type,
            body: call.body.as_bytes(),
            service: service.name,
            region: region.as_str(),
        };
        let keys = Keys {
            id: &keys.access_key_id,
            secret: &keys.secret_access_key,
            token: keys.session_token.as_ref(),
        };
        let query = sigv4::encode_query(&call.query);
        let separator = if query.is_empty() { "" } else { "?" };
        let mut request =
            Request::builder().method(&call.method).uri(format!("{base}{}{separator}{query}", call.path));
        for (name, value) in sigv4::sign(&keys, &unsigned, self.clock.now((self.now)())) {
            request = request.header(name, value);
        }
        let request = request.body(Bytes::from(call.body.clone()).into());
        self.http.send(request.map_err(|_| unsendable())?).await
    }
}
