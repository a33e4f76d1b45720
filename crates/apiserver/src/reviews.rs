//! Questions about who may do what, tokens, and other subresources.

use crate::{
    apply,
    auth::{
        self,
        token::{Found, TokenError},
    },
    body::{read_as, read_body},
    encode,
    error::ApiError,
    extension::{Objects, SubresourceRequest},
    kinds, meta,
    planted::Planted,
    request::Verb,
    resource::StorageKey,
    schema::Schema,
    server::{Answer, Call, Server},
    store::Key,
    write::apply_context,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// How long a token lives that nobody asked a life for.
const DEFAULT_TOKEN_SECONDS: i64 = 3600;

impl Server {
    /// Answers a review: it is not kept.
    pub(crate) fn review(&mut self, call: &Call) -> Result<Answer, ApiError> {
        if call.verb != Verb::Create {
            return Err(ApiError::no_such_method());
        }
        let mut body = read_body(call)?;
        track(call, &mut body, &call.resource.api_version(), &call.resource.kind);
        let answer = match call.resource.kind.as_str() {
            "TokenReview" => self
                .tokens
                .review(&body, call.now, |plural, namespace, name| self.find(plural, namespace, name))?,
            kind => auth::review::review(&self.rbac, kind, &call.namespace, &call.user, &body, call.now)?,
        };
        Ok(Answer::value(201, &answer))
    }

    /// Subresources other than the status.
    pub(crate) fn special_subresource(&mut self, call: &Call) -> Result<Option<Answer>, ApiError> {
        match (call.resource.group.as_str(), call.resource.plural.as_str(), call.subresource.as_str()) {
            ("", "serviceaccounts", "token") if call.verb == Verb::Create => self.issue_token(call).map(Some),
            ("", "namespaces", "finalize") if call.verb == Verb::Update => {
                self.finalize_namespace(call).map(Some)
            }
            (_, _, "status") if call.resource.status => Ok(None),
            _ => {
                self.enforce_on_extension(call)?;
                let extensions = std::mem::take(&mut self.extensions);
                let request = SubresourceRequest {
                    resource: &call.resource,
                    namespace: &call.namespace,
                    name: &call.name,
                    subresource: &call.subresource,
                    verb: call.verb.as_str(),
                    body: &call.body,
                    user: &call.user,
                    now: call.now,
                };
                let answer =
                    extensions.iter().find_map(|extension| extension.subresource(&request, &Objects(self)));
                self.extensions = extensions;
                match answer {
                    Some(answer) => answer.map(|value| Some(Answer::value(201, &value))),
                    None if call.resource.defined.is_some() => {
                        Err(ApiError::not_found(call.resource.group_resource(), &call.name))
                    }
                    None if is_known(call) => Err(ApiError::no_such_method()),
                    None => Err(ApiError::no_such_path()),
                }
            }
        }
    }

    fn issue_token(&mut self, call: &Call) -> Result<Answer, ApiError> {
        let account = encode::read(&self.stored(call)?.bytes.clone())?;
        let mut body = read_as(call, &kinds::token_request())?;
        if body["spec"]["expirationSeconds"].is_null() {
            body["spec"]["expirationSeconds"] = json!(DEFAULT_TOKEN_SECONDS);
        }
        let mut named = body.clone();
        let metadata = meta::metadata(&mut named);
        metadata.insert("name".into(), json!(call.name));
        metadata.insert("namespace".into(), json!(call.namespace));
        self.enforce_on_subresource(call, ["authentication.k8s.io", "v1", "TokenRequest"], &named)?;
        track(call, &mut body, "authentication.k8s.io/v1", "TokenRequest");
        let secrets = StorageKey { group: String::new(), plural: "secrets".to_owned() };
        let secret_uid = |name: &str| {
            let stored = self.store.get(&secrets, &Key::new(&call.namespace, name))?;
            Some(meta::text(&encode::read(&stored.bytes).ok()?, "uid").to_owned())
        };
        let issued = self.tokens.issue(&body, &account, secret_uid, &mut self.entropy, call.now)?;
        Ok(Answer::value(201, &issued))
    }

    /// The user of a token, if it is ours, has not run out, and what it is bound to is still there.
    pub(crate) fn user_of_token(&self, token: &str, now: Timestamp) -> Result<auth::User, TokenError> {
        let mut claims = self.tokens.verify(token, now, self.tokens.audiences())?;
        if self.has(Planted::TokenOutlivesItsSecret) {
            claims.bound_to.secret = None;
        }
        claims.user(now, |plural, namespace, name| self.find(plural, namespace, name))
    }

    fn find(&self, plural: &str, namespace: &str, name: &str) -> Option<Found> {
        let kind = StorageKey { group: String::new(), plural: plural.to_owned() };
        let object = encode::read(&self.store.get(&kind, &Key::new(namespace, name))?.bytes).ok()?;
        let deleted_at = meta::text(&object, "deletionTimestamp").parse().ok();
        Some(Found { uid: meta::text(&object, "uid").to_owned(), deleted_at })
    }

    fn finalize_namespace(&mut self, call: &Call) -> Result<Answer, ApiError> {
        let old = encode::read(&self.stored(call)?.bytes.clone())?;
        let mut namespace = old.clone();
        let body = read_body(call)?;
        namespace["spec"] = body["spec"].clone();
        apply::update(Some(&old), &mut namespace, &apply_context(call, &call.resource.api_version()));
        self.enforce(call, Some(&old), Some(&namespace))?;
        if kinds::has_own_finalizers(&namespace, &call.resource) || !meta::is_deleting(&namespace) {
            let kept = self.keep(&call.resource.clone(), namespace)?;
            return Ok(Answer::json(200, encode::object(&kept)?));
        }
        self.let_go(&call.resource.clone(), namespace.clone());
        Ok(Answer::json(200, encode::object(&namespace)?))
    }
}

/// A subresource that is there, for other verbs.
fn is_known(call: &Call) -> bool {
    matches!(
        (call.resource.plural.as_str(), call.subresource.as_str()),
        ("serviceaccounts", "token") | ("namespaces", "finalize")
    )
}

/// Even what is answered and not kept says who wrote it.
fn track(call: &Call, body: &mut Value, api_version: &str, kind: &str) {
    let schema = Schema { preserve_unknown_fields: true, ..Schema::default() };
    let empty = match kind {
        "TokenRequest" => json!({ "spec": { "boundObjectRef": {} } }),
        _ => json!({ "spec": {} }),
    };
    let context = apply::Context {
        schema: &schema,
        api_version,
        kind,
        manager: &call.manager,
        subresource: &call.subresource,
        now: call.now,
        ignored: apply::FieldSet::default(),
        empty: Some(&empty),
    };
    match &mut body["spec"] {
        // An empty list is the same as none.
        Value::Object(spec) => spec.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty())),
        spec => *spec = json!({}),
    }
    apply::update(None, body, &context);
}
