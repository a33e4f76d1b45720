//! Azure: Microsoft Entra ID and Azure Resource Manager, as far as the account cleaner and the SDKs notice.
//!
//! Everything is a document under its id. Resource groups take minutes to go and fail late; deletions are refused while
//! others refer to an item, or a lock is on it; lists leave out whatever a principal may not read, and say nothing; vaults
//! come back as deleted ones. Not as in Azure: writes are done at once, documents are not checked, everything is of one
//! moment, and role assignments outlive their group (nobody documents whether they do).

mod access;
mod blockers;
mod control;
mod delete;
mod error;
mod login;
mod operation;
mod read;
mod state;
mod usages;
mod write;

pub use control::{Account, Principal, Role, Slow};

use crate::server::{Reply, Server, Simulator};
use bytes::Bytes;
use error::Fault;
use http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use state::{Caller, State, Subscription};
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A running Azure with several subscriptions.
pub struct Azure {
    server: Server,
    state: Shared,
}

/// The state of all subscriptions.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<State>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Azure {
    /// Starts it.
    pub fn start() -> io::Result<Self> {
        let state = Shared::default();
        let server = Server::start(Arc::new(state.clone()))?;
        Ok(Self { server, state })
    }

    /// The endpoint of the login and of Resource Manager.
    pub fn endpoint(&self) -> String {
        self.server.endpoint()
    }

    /// A new subscription with nothing in it. Its tenant is an owner.
    pub fn account(&self) -> Account {
        Account::new(self.state.clone(), self.endpoint())
    }
}

/// A parsed request.
struct Asked<'a> {
    method: &'a Method,
    /// The path behind the subscription, decoded.
    path: Vec<String>,
    query: BTreeMap<String, String>,
    body: Value,
    /// `http://127.0.0.1:PORT`, for links.
    base: String,
    caller: Caller,
}

impl Asked<'_> {
    /// The segments in lower case: Azure ignores the case.
    fn lower(&self) -> Vec<String> {
        self.path.iter().map(|segment| segment.to_lowercase()).collect()
    }
}

type Answer = Result<Response<Bytes>, Fault>;

/// A document as an answer.
fn json(status: StatusCode, body: &Value) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}

fn empty(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

impl Simulator for Shared {
    fn handle(&self, request: Request<Bytes>) -> Reply {
        let mut state = self.lock();
        let answer = answer(&mut state, &request);
        answer.unwrap_or_else(Fault::into_response).into()
    }
}

fn answer(state: &mut State, request: &Request<Bytes>) -> Answer {
    // The SDK encodes the slashes of scopes, too: the path is decoded before it is taken apart.
    let path = percent_decode_str(request.uri().path()).decode_utf8_lossy();
    let path: Vec<String> =
        path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect();
    let query = request.uri().query().unwrap_or_default();
    let query =
        form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.into_owned(), value.into_owned()));
    let host = request.headers().get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_manager = path.first().is_some_and(|first| first.eq_ignore_ascii_case("subscriptions"));
    if !is_manager {
        return login::answer(state, request, &path);
    }
    let caller = access::authenticate(state, request)?;
    let id = path.get(1).map(|id| id.to_lowercase()).unwrap_or_default();
    let subscription = state.subscriptions.get_mut(&id).filter(|known| known.tenant == caller.tenant);
    let subscription = subscription.ok_or_else(|| {
        Fault::new(
            StatusCode::NOT_FOUND,
            "SubscriptionNotFound",
            format!("The subscription '{id}' could not be found."),
        )
    })?;
    let body = if request.body().is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(request.body()).map_err(|_| {
            Fault::new(StatusCode::BAD_REQUEST, "InvalidRequestContent", "The content is no JSON.")
        })?
    };
    let asked = Asked {
        method: request.method(),
        path: path[2..].to_vec(),
        query: query.collect(),
        body,
        base: format!("http://{host}"),
        caller,
    };
    subscription.pass();
    if !asked.query.contains_key("api-version") && !asked.query.contains_key("operation") {
        return Err(Fault::new(
            StatusCode::BAD_REQUEST,
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all requests.",
        ));
    }
    subscription.throttle(&asked)?;
    subscription.pass_list(&asked);
    subscription.answer(&asked)
}

impl Subscription {
    fn answer(&mut self, asked: &Asked<'_>) -> Answer {
        let lower = asked.lower();
        let path: Vec<&str> = lower.iter().map(String::as_str).collect();
        if let ["operations" | "operationresults", id] = path.as_slice() {
            return self.progress(id, path[0] == "operations");
        }
        match *asked.method {
            Method::GET => self.get(asked, &path),
            Method::PUT => self.put(asked, &path),
            Method::DELETE => self.delete(asked, &path),
            Method::POST => self.post(asked, &path),
            _ => Err(Fault::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "Not here.")),
        }
    }
}
