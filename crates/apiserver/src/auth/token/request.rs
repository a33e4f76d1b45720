//! TokenRequest, which makes a token, and TokenReview, which reads one.

use super::{BoundTo, Found, Reference, TokenSigner, claims_for, rfc3339};
use crate::auth::{Randomness, items, present, text, texts, uuid};
use crate::error::{ApiError, FieldError, FieldErrorKind, GroupResource};
use jiff::Timestamp;
use serde_json::{Value, json};

const GROUP: &str = "authentication.k8s.io";
const DEFAULT_EXPIRATION_SECONDS: i64 = 3600;
const MIN_EXPIRATION_SECONDS: i64 = 600;
const MAX_EXPIRATION_SECONDS: i64 = 1 << 32;

impl TokenSigner {
    /// Answers a TokenRequest for an account, which is given as it is stored. `secret_uid` tells the UID of a Secret
    /// in its namespace. Managed fields that are in the body stay in the answer.
    pub(crate) fn issue(
        &self,
        body: &Value,
        account: &Value,
        secret_uid: impl Fn(&str) -> Option<String>,
        random: Randomness<'_>,
        now: Timestamp,
    ) -> Result<Value, ApiError> {
        let account = &account["metadata"];
        let (namespace, name, uid) =
            (text(account, "namespace"), text(account, "name"), text(account, "uid"));
        check_metadata(&body["metadata"], namespace, name, uid)?;
        let spec = &body["spec"];
        let seconds = expiration_seconds(spec)?;
        let bound = present(spec, "boundObjectRef");
        let secret = bound.map(|bound| bound_secret(bound, secret_uid)).transpose()?;
        let audiences = match texts(spec, "audiences") {
            none if none.is_empty() => self.audiences.clone(),
            some => some,
        };
        let service_account = Reference { name: name.to_owned(), uid: uid.to_owned() };
        let bound_to = BoundTo { namespace: namespace.to_owned(), secret, service_account };
        let claims = claims_for(self, bound_to, audiences.clone(), seconds, uuid(random), now);
        let ends_at = Timestamp::from_second(claims.expires_at).map_err(ApiError::internal)?;

        let mut metadata = body["metadata"].as_object().cloned().unwrap_or_default();
        for (key, value) in [("name", name), ("namespace", namespace), ("uid", uid)] {
            metadata.insert(key.to_owned(), json!(value));
        }
        metadata.insert("creationTimestamp".to_owned(), json!(rfc3339(now)));
        Ok(json!({
            "kind": "TokenRequest",
            "apiVersion": format!("{GROUP}/v1"),
            "metadata": metadata,
            "spec": { "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound },
            "status": { "token": self.sign(&claims), "expirationTimestamp": rfc3339(ends_at) },
        }))
    }

    /// Answers a TokenReview. `find` is as for [`Claims::user`](super::Claims::user).
    pub(crate) fn review(
        &self,
        body: &Value,
        now: Timestamp,
        find: impl Fn(&str, &str, &str) -> Option<Found>,
    ) -> Result<Value, ApiError> {
        let spec = &body["spec"];
        let token = text(spec, "token");
        if token.is_empty() {
            return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
        }
        let asked = match texts(spec, "audiences") {
            none if none.is_empty() => self.audiences.clone(),
            some => some,
        };
        let read = self.verify(token, now, &asked);
        let read = read.and_then(|claims| Ok((claims.user(now, find)?, claims.audiences)));
        let status = match read {
            Ok((user, audiences)) => {
                let audiences: Vec<String> = audiences.into_iter().filter(|a| asked.contains(a)).collect();
                json!({ "authenticated": true, "user": user.to_json(), "audiences": audiences })
            }
            Err(error) => json!({ "user": {}, "error": error.to_string() }),
        };
        let mut shown = json!({ "token": token });
        if !items(spec, "audiences").is_empty() {
            shown["audiences"] = spec["audiences"].clone();
        }
        let metadata = body["metadata"].as_object().cloned().unwrap_or_default();
        Ok(json!({
            "kind": "TokenReview",
            "apiVersion": format!("{GROUP}/v1"),
            "metadata": metadata,
            "spec": shown,
            "status": status,
        }))
    }
}

fn check_metadata(metadata: &Value, namespace: &str, name: &str, uid: &str) -> Result<(), ApiError> {
    let differs = |key, expected: &str| !text(metadata, key).is_empty() && text(metadata, key) != expected;
    if differs("namespace", namespace) {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if differs("name", name) {
        let why = "must match the service account name if specified";
        let error = FieldError::new("metadata.name", FieldErrorKind::Invalid, text(metadata, "name"), why);
        return Err(ApiError::invalid(GROUP, "TokenRequest", name, vec![error]));
    }
    if differs("uid", uid) {
        let asked = text(metadata, "uid");
        let why = format!(
            "the UID in the token request ({asked}) does not match the UID of the service account ({uid})"
        );
        let what = GroupResource { group: GROUP, resource: "TokenRequest" };
        return Err(ApiError::conflict(what, name, why));
    }
    Ok(())
}

fn expiration_seconds(spec: &Value) -> Result<i64, ApiError> {
    let Some(value) = present(spec, "expirationSeconds") else { return Ok(DEFAULT_EXPIRATION_SECONDS) };
    let seconds = value.as_i64().ok_or_else(|| {
        let kind = match value {
            Value::String(_) => "string".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(number) => format!("number {number}"),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) | Value::Null => "object".to_owned(),
        };
        ApiError::bad_request(format!(
            "TokenRequest in version \"v1\" cannot be handled as a TokenRequest: json: cannot unmarshal {kind} into \
             Go struct field TokenRequestSpec.spec.expirationSeconds of type int64"
        ))
    })?;
    let why = match seconds {
        ..MIN_EXPIRATION_SECONDS => "may not specify a duration less than 10 minutes",
        MIN_EXPIRATION_SECONDS..=MAX_EXPIRATION_SECONDS => return Ok(seconds),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let error = FieldError::new("spec.expirationSeconds", FieldErrorKind::Invalid, seconds, why);
    Err(ApiError::invalid(GROUP, "TokenRequest", "", vec![error]))
}

/// There are no Pods and no Nodes here, so none of them is ever found.
fn bound_secret(bound: &Value, uid: impl Fn(&str) -> Option<String>) -> Result<Reference, ApiError> {
    let (api_version, kind, name) = (text(bound, "apiVersion"), text(bound, "kind"), text(bound, "name"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = match (group, kind) {
        ("", "Secret") => "secrets",
        ("", "Pod") => "pods",
        ("", "Node") => "nodes",
        _ => {
            let what = format!("{group}/{version}, Kind={kind}");
            return Err(ApiError::bad_request(format!("cannot bind token to object of type {what}")));
        }
    };
    if name.is_empty() {
        return Err(ApiError::bad_request("Name parameter required."));
    }
    let found = if resource == "secrets" { uid(name) } else { None };
    let found = found.ok_or_else(|| ApiError::not_found(GroupResource { group, resource }, name))?;
    let asked = text(bound, "uid");
    if !asked.is_empty() && asked != found {
        let why = format!(
            "the UID in the bound object reference ({asked}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        return Err(ApiError::conflict(GroupResource { group, resource: kind }, name, why));
    }
    Ok(Reference { name: name.to_owned(), uid: found })
}
