//! One signed call.

use super::{
    Alicloud,
    acs3::{self, Keys, Unsigned},
    error::{AlicloudError, SKEWED},
    hosts, json,
    rows::Service,
};
use crate::{
    Refusal,
    http::{Access, Response},
};
use allotment_core::cleanup::Place;
use bytes::Bytes;
use futures::FutureExt;
use http::{Method, Request};
use ring::rand::SecureRandom;
use serde_json::Value;

/// The parameters of a call.
pub(super) type Parameters = Vec<(String, String)>;

/// An answer without a field that it must have: what it hides is unknown.
pub(super) fn incomplete(action: &str) -> Refusal {
    Refusal::Transient { why: format!("the answer to {action} is incomplete") }
}

struct Call<'a> {
    service: &'a Service,
    place: &'a Place,
    action: &'a str,
    parameters: Parameters,
    access: Access,
}

impl Alicloud {
    /// A call, within the limits and with retries.
    pub(super) async fn call(
        &self,
        service: &Service,
        place: &Place,
        action: &str,
        parameters: Parameters,
        access: Access,
    ) -> Result<Value, Refusal> {
        let call = Call { service, place, action, parameters, access };
        let body = self.retries.run(place, access, || self.attempt(&call).boxed()).await?;
        json::parse(&body)
    }

    async fn attempt(&self, call: &Call<'_>) -> Result<Bytes, Refusal> {
        let permission = format!("{}:{}", call.service.name, call.action);
        let response = self.send(call).await?;
        if response.status.is_success() {
            return Ok(response.body);
        }
        let error = AlicloudError::read(&response);
        if !(error.code == SKEWED && self.clock.learn(&response.headers, (self.now)())) {
            return Err(error.refusal(&response, &permission));
        }
        // A call that was refused for its time was not accepted.
        let response = self.send(call).await?;
        if response.status.is_success() {
            return Ok(response.body);
        }
        Err(AlicloudError::read(&response).refusal(&response, &permission))
    }

    async fn send(&self, call: &Call<'_>) -> Result<Response, Refusal> {
        let base = match &self.endpoint {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => format!("https://{}", hosts::host(call.service, call.place)),
        };
        let host = base.split_once("://").map_or(base.as_str(), |(_, host)| host);
        let mut parameters = call.parameters.clone();
        if !call.place.is_global() {
            parameters.push(("RegionId".to_owned(), call.place.as_str().to_owned()));
        }
        // As the SDK does: the calls of newer services that change something take a form.
        let is_form = call.service.form && call.access == Access::Write;
        let (query, form) = if is_form { (Vec::new(), parameters) } else { (parameters, Vec::new()) };
        let body = acs3::encode_query(&form);
        let unsigned = Unsigned {
            host,
            action: call.action,
            version: call.service.version,
            query: &query,
            content_type: is_form.then_some("application/x-www-form-urlencoded"),
            body: body.as_bytes(),
        };
        let keys = Keys { id: &self.credentials.access_key_id, secret: &self.credentials.access_key_secret };
        let encoded = acs3::encode_query(&query);
        let separator = if encoded.is_empty() { "" } else { "?" };
        let mut request = Request::builder().method(Method::POST).uri(format!("{base}/{separator}{encoded}"));
        for (name, value) in acs3::sign(&keys, &unsigned, self.clock.now((self.now)()), &self.nonce()?) {
            request = request.header(name, value);
        }
        let request = request.header("accept", "application/json").body(Bytes::from(body).into());
        let request = request.map_err(|_| Refusal::Other {
            code: "InvalidRequest".to_owned(),
            message: "the endpoint or the credentials cannot be sent in a request".to_owned(),
        })?;
        self.http.send(request).await
    }

    fn nonce(&self) -> Result<String, Refusal> {
        let mut bytes = [0; 16];
        let filled = self.random.fill(&mut bytes);
        filled.map_err(|_| Refusal::Transient { why: "there is no randomness for a nonce".to_owned() })?;
        Ok(acs3::hex(&bytes))
    }
}
