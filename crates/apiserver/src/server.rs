//! The server: one value, one request at a time. Time and randomness come from outside, so one seed repeats a run exactly.
//!
//! ```
//! use allotment_apiserver::{Server, User, server::Answer};
//! use bytes::Bytes;
//! use http::Request;
//! use jiff::Timestamp;
//!
//! let mut seed = 0_u8;
//! let entropy = Box::new(move |bytes: &mut [u8]| {
//!     seed += 1;
//!     bytes.fill(seed);
//! });
//! let now = Timestamp::UNIX_EPOCH;
//! let mut server = Server::new(entropy, now);
//! let me = User::new("me", ["system:masters"]);
//!
//! let body = r#"{ "metadata": { "name": "first" } }"#;
//! let create = Request::post("/api/v1/namespaces").body(Bytes::from(body)).unwrap();
//! let Answer::Now(reply) = server.handle(create, Some(me.clone()), now) else { panic!("that is no watch") };
//! assert_eq!(reply.code, 201);
//! // What a cluster does by itself: here, the ServiceAccount and the ConfigMap that every namespace has.
//! while server.do_chore(now) {}
//!
//! let watch = Request::get("/api/v1/serviceaccounts?watch=1").body(Bytes::new()).unwrap();
//! let Answer::Watch(mut watch) = server.handle(watch, Some(me), now) else { panic!("that is a watch") };
//! let frames = server.poll(&mut watch).frames;
//! assert!(frames.iter().any(|frame| String::from_utf8_lossy(frame).contains(r#""namespace":"first""#)));
//! ```

use crate::{
    auth::{
        User,
        impersonation::impersonated,
        rbac::{self, Attributes, Rbac},
        token::TokenSigner,
    },
    chores::Chores,
    encode::{Form, check_accept},
    error::ApiError,
    extension::Extension,
    kinds::Kinds,
    planted::Planted,
    policy::Policies,
    request::{self, Query, ResourceRoute, Route, Verb},
    resource::Resource,
    state::State,
    store::Store,
};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, header};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;

pub use crate::watch::{Frames, Watch};

/// What a real server takes at most.
const BODY_LIMIT_BYTES: usize = 3 * 1024 * 1024;

/// Fills a buffer with random bytes: from the system, or from a seed.
pub type Entropy = Box<dyn FnMut(&mut [u8]) + Send>;

/// A Kubernetes API server. See [`Server::handle`].
pub struct Server {
    pub(crate) store: Store,
    pub(crate) kinds: Kinds,
    pub(crate) rbac: Rbac,
    pub(crate) tokens: TokenSigner,
    pub(crate) chores: Chores,
    pub(crate) policies: Policies,
    /// What policies warn of in the request that is being answered.
    pub(crate) warned: Vec<String>,
    pub(crate) extensions: Vec<Box<dyn Extension>>,
    pub(crate) entropy: Entropy,
    /// The CA bundle that every namespace gets as `kube-root-ca.crt`.
    pub(crate) root_ca: String,
    /// Where it remembers, if it does.
    pub(crate) state: Option<State>,
    /// Why it cannot answer any more.
    pub(crate) lost: Option<String>,
    #[cfg(feature = "planted")]
    pub(crate) planted: Option<crate::planted::Planted>,
}

/// What is answered.
#[derive(Debug)]
pub enum Answer {
    /// At once.
    Now(Reply),
    /// Bit by bit: see [`Server::poll`].
    Watch(Box<Watch>),
}

/// An answer that is complete.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status code.
    pub code: u16,
    /// The body.
    pub body: Bytes,
    /// Its media type.
    pub content_type: &'static str,
    /// Warnings for whoever typed the request.
    pub warnings: Vec<String>,
    /// When to try again.
    pub retry_after_seconds: Option<u32>,
}

impl Answer {
    pub(crate) fn json(code: u16, body: Bytes) -> Self {
        Self::Now(Reply {
            code,
            body,
            content_type: "application/json",
            warnings: Vec::new(),
            retry_after_seconds: None,
        })
    }

    pub(crate) fn value(code: u16, value: &Value) -> Self {
        Self::json(code, Bytes::from(value.to_string()))
    }

    pub(crate) fn with_warnings(mut self, texts: Vec<String>) -> Self {
        if let Self::Now(reply) = &mut self {
            reply.warnings = texts;
        }
        self
    }

    fn warning_first(mut self, text: Option<String>) -> Self {
        if let (Self::Now(reply), Some(text)) = (&mut self, text) {
            reply.warnings.insert(0, text);
        }
        self
    }

    /// Adds warnings that are not among them yet.
    fn warning_last(mut self, texts: Vec<String>) -> Self {
        if let Self::Now(reply) = &mut self {
            for text in texts {
                if !reply.warnings.contains(&text) {
                    reply.warnings.push(text);
                }
            }
        }
        self
    }

    /// A refusal.
    pub fn refusal(error: &ApiError) -> Self {
        if error.is_plain() {
            return Self::Now(Reply {
                code: error.code,
                body: Bytes::from(error.message.clone()),
                content_type: "text/plain; charset=utf-8",
                warnings: Vec::new(),
                retry_after_seconds: None,
            });
        }
        let retry_after_seconds = error.details.as_ref().and_then(|details| details.retry_after_seconds);
        let body = Bytes::from(error.to_status().to_string());
        Self::Now(Reply {
            code: error.code,
            body,
            content_type: "application/json",
            warnings: Vec::new(),
            retry_after_seconds,
        })
    }
}

/// A request about objects, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) verb: Verb,
    pub(crate) resource: Arc<Resource>,
    /// Empty for the whole cluster, or all namespaces.
    pub(crate) namespace: String,
    /// Empty for all objects.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    pub(crate) query: Query,
    pub(crate) user: User,
    pub(crate) form: Form,
    pub(crate) content_type: String,
    pub(crate) manager: String,
    pub(crate) body: Bytes,
    pub(crate) now: Timestamp,
}

impl Call {
    /// Whether it is a server-side apply.
    pub(crate) fn is_apply(&self) -> bool {
        self.verb == Verb::Patch && self.content_type.starts_with("application/apply-patch")
    }
}

impl Server {
    /// Answers one request.
    ///
    /// `caller` is who sent it, if the shell knows that (from a client certificate, or because the shell is trusted);
    /// otherwise a bearer token decides, and otherwise it is `system:anonymous`. Nothing in a request can end the server:
    /// what is wrong with it is in the answer.
    pub fn handle(&mut self, request: Request<Bytes>, caller: Option<User>, now: Timestamp) -> Answer {
        if let Some(why) = &self.lost {
            return Answer::refusal(&ApiError::unavailable(why));
        }
        let head = request.method() == Method::HEAD;
        let mut answer = self.answer(request, caller, now).unwrap_or_else(|error| Answer::refusal(&error));
        if let Answer::Now(reply) = &mut answer
            && head
        {
            reply.body = Bytes::new();
        }
        answer
    }

    /// Answers a read as it would have been answered so many revisions ago, as far as the history goes back. A client that
    /// talks to a server whose cache lags behind sees this.
    pub(crate) fn handle_in_the_past(
        &mut self,
        request: Request<Bytes>,
        caller: Option<User>,
        now: Timestamp,
        back: u64,
    ) -> Answer {
        let present = self.store.revision();
        let past = self.store.past(present.saturating_sub(back));
        let present = std::mem::replace(&mut self.store, past);
        let answer = self.handle(request, caller, now);
        self.store = present;
        answer
    }

    /// Puts everything back to how it was so many revisions ago, as far as the history goes back: an etcd that is restored from a
    /// backup. Watches that have seen more go on, and hear nothing of what was undone. Kinds, roles and policies must be the same
    /// then as now. Returns by how many revisions it went back.
    pub fn put_back(&mut self, revisions: u64) -> u64 {
        let now = self.store.revision();
        // Behind that, some kinds would be newer than the whole.
        let revision = now.saturating_sub(revisions).max(self.store.oldest());
        self.store = self.store.past(revision);
        now - revision
    }

    fn answer(
        &mut self,
        request: Request<Bytes>,
        caller: Option<User>,
        now: Timestamp,
    ) -> Result<Answer, ApiError> {
        let (parts, body) = request.into_parts();
        if body.len() > BODY_LIMIT_BYTES {
            return Err(ApiError::too_large(format!("limit is {BODY_LIMIT_BYTES}")));
        }
        let user = self.authenticate(&parts.headers, caller, now)?;
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        match request::route(parts.uri.path())? {
            Route::Resource(route) => {
                let call = self.call(&parts.method, route, query, user, &parts.headers, body, now)?;
                let deprecation = call.resource.defined.as_ref().and_then(|it| it.deprecation.clone());
                let answer = self.dispatch(&call).unwrap_or_else(|error| Answer::refusal(&error));
                let warned = std::mem::take(&mut self.warned);
                Ok(answer.warning_last(warned).warning_first(deprecation))
            }
            other => {
                let verb = parts.method.as_str().to_ascii_lowercase();
                let attributes = Attributes::path(&verb, parts.uri.path());
                let user = self.act_as(user, &parts.headers, &attributes)?;
                self.authorize(&user, &attributes)?;
                if parts.method != Method::GET && parts.method != Method::HEAD {
                    return Err(ApiError::page_not_found());
                }
                self.discover(&other, header_text(&parts.headers, header::ACCEPT))
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a request has that many parts, and this is where they come together"
    )]
    fn call(
        &self,
        method: &Method,
        route: ResourceRoute,
        query: Query,
        user: User,
        headers: &HeaderMap,
        body: Bytes,
        now: Timestamp,
    ) -> Result<Call, ApiError> {
        let verb = Verb::of(method, &route, &query);
        let ResourceRoute { group, version, namespace, plural, name, subresource, watch: _ } = route;
        // Who may not do it does not learn whether it is there.
        // A namespace is in itself, as far as rights go.
        let is_namespace = group.is_empty() && plural == "namespaces";
        let attributes = Attributes {
            verb: verb.map_or("", Verb::as_str),
            group: &group,
            resource: &plural,
            subresource: &subresource,
            namespace: if is_namespace { &name } else { &namespace },
            name: &name,
            path: None,
        };
        let user = self.act_as(user, headers, &attributes)?;
        self.authorize(&user, &attributes)?;
        let nothing = || self.nothing_at(&group);
        let resource = self.kinds.get(&group, &version, &plural).cloned().ok_or_else(nothing)?;
        let everywhere =
            name.is_empty() && resource.defined.is_none() || matches!(verb, Some(Verb::List | Verb::Watch));
        if resource.namespaced == namespace.is_empty() && !(resource.namespaced && everywhere) {
            return Err(nothing());
        }
        let Some(verb) = verb.filter(|_| *method != Method::HEAD || resource.defined.is_some()) else {
            return Err(ApiError::no_such_method());
        };
        let accept = header_text(headers, header::ACCEPT);
        check_accept(accept, &resource, verb)?;
        Ok(Call {
            verb,
            resource,
            namespace,
            name,
            subresource,
            form: Form::of(accept, &query)?,
            content_type: header_text(headers, header::CONTENT_TYPE).to_owned(),
            manager: manager(&query, headers),
            query,
            user,
            body,
            now,
        })
    }

    /// What is said of a path in a group. Groups of definitions are nobody's as long as there is no definition.
    pub(crate) fn nothing_at(&self, group: &str) -> ApiError {
        let built_in = |kind: &Arc<Resource>| kind.group == group && kind.defined.is_none();
        if self.kinds.all().any(built_in) { ApiError::no_such_path() } else { ApiError::page_not_found() }
    }

    fn dispatch(&mut self, call: &Call) -> Result<Answer, ApiError> {
        if call.resource.nature == crate::resource::Nature::Review {
            return self.review(call);
        }
        if !call.subresource.is_empty()
            && let Some(answer) = self.special_subresource(call)?
        {
            return Ok(answer);
        }
        if !matches!(call.verb, Verb::Get | Verb::List | Verb::Watch) {
            self.check_room()?;
        }
        match call.verb {
            Verb::Get => self.get(call),
            Verb::List => self.list(call),
            Verb::Watch => self.start_watch(call),
            Verb::Create => self.create(call),
            Verb::Update => self.update(call),
            Verb::Patch => self.patch(call),
            Verb::Delete => self.delete(call),
            Verb::DeleteCollection => self.delete_collection(call),
        }
    }

    /// Who sent it: the shell knows, or a token tells.
    fn authenticate(
        &self,
        headers: &HeaderMap,
        caller: Option<User>,
        now: Timestamp,
    ) -> Result<User, ApiError> {
        if let Some(caller) = caller {
            return Ok(caller);
        }
        let header = header_text(headers, header::AUTHORIZATION);
        let Some(token) = header.strip_prefix("Bearer ").or_else(|| header.strip_prefix("bearer ")) else {
            return Ok(User::anonymous());
        };
        self.user_of_token(token.trim(), now).map_err(|_| ApiError::unauthorized())
    }

    /// The one whom a user wants to be, if the headers name somebody and the user may.
    fn act_as(&self, user: User, headers: &HeaderMap, request: &Attributes<'_>) -> Result<User, ApiError> {
        Ok(impersonated(&self.rbac, &user, headers, request)?.unwrap_or(user))
    }

    /// Refuses what RBAC does not allow.
    pub(crate) fn authorize(&self, user: &User, attributes: &Attributes<'_>) -> Result<(), ApiError> {
        if self.has(Planted::EverybodyMayEverything) {
            return Ok(());
        }
        self.rbac.check(user, attributes)
    }

    /// Nobody gives away what they do not have.
    pub(crate) fn check_rbac_write(
        &self,
        call: &Call,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), ApiError> {
        let kind =
            (call.resource.group == rbac::GROUP).then(|| rbac::Kind::named(&call.resource.kind)).flatten();
        let Some(kind) = kind.filter(|_| !self.has(Planted::EscalationAllowed)) else { return Ok(()) };
        let write = rbac::Write {
            user: &call.user,
            kind,
            namespace: &call.namespace,
            path_name: &call.name,
            new,
            old,
        };
        self.rbac.check_write(&write)
    }

    /// A new UID.
    pub(crate) fn new_uid(&mut self) -> String {
        let mut bytes = [0_u8; 16];
        (self.entropy)(&mut bytes);
        // Version 4, as RFC 9562 has it.
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// Five characters for the end of a generated name, from those that do not spell anything.
    pub(crate) fn new_suffix(&mut self) -> String {
        const CHARACTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut bytes = [0_u8; 5];
        (self.entropy)(&mut bytes);
        bytes.iter().map(|byte| char::from(CHARACTERS[usize::from(*byte) % CHARACTERS.len()])).collect()
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.store.revision()
    }

    /// Forgets the history, so that watches and lists of the past end with 410.
    pub fn compact(&mut self) {
        self.store.compact();
    }

    /// Adds what a kind of server has beyond Kubernetes itself.
    pub fn extend(&mut self, extension: Box<dyn Extension>) {
        for resource in extension.resources() {
            self.kinds.register(resource);
        }
        self.extensions.push(extension);
    }
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Who is put down as having written a field.
fn manager(query: &Query, headers: &HeaderMap) -> String {
    if let Some(manager) = query.get("fieldManager") {
        return manager.to_owned();
    }
    let agent = header_text(headers, header::USER_AGENT);
    match agent.split('/').next().unwrap_or_default() {
        "" => "unknown".to_owned(),
        name => name.chars().take(128).collect(),
    }
}

/// `{"kind": "Status", "status": "Success"}`, about an object.
pub(crate) fn success(resource: &Resource, name: &str, uid: &str) -> Value {
    let mut details = json!({ "name": name, "kind": resource.plural });
    if !resource.group.is_empty() {
        details["group"] = json!(resource.group);
    }
    if !uid.is_empty() {
        details["uid"] = json!(uid);
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}
