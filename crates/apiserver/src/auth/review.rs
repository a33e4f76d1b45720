//! Questions about who may do what: `SelfSubjectAccessReview` and its siblings. They are answered and not kept.

use super::rbac::{Attributes, PolicyRule, Rbac, invalid, operator_errors, required, requirement_errors};
use super::{User, aggregate, items, present, text, texts};
use crate::error::{ApiError, FieldError, FieldErrorKind};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

const GROUP: &str = "authorization.k8s.io";

/// Answers a review. `kind` is one of `SelfSubjectAccessReview`, `SubjectAccessReview`, `LocalSubjectAccessReview`,
/// `SelfSubjectRulesReview`, `SelfSubjectReview`; `namespace` is that of the request. Managed fields that are in the
/// body stay in the answer.
pub(crate) fn review(
    rbac: &Rbac,
    kind: &str,
    namespace: &str,
    user: &User,
    body: &Value,
    now: Timestamp,
) -> Result<Value, ApiError> {
    match kind {
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            access_review(rbac, kind, namespace, user, body)
        }
        "SelfSubjectRulesReview" => rules_review(rbac, user, body),
        "SelfSubjectReview" => Ok(json!({
            "kind": kind,
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": { "creationTimestamp": super::token::rfc3339(now) },
            "status": { "userInfo": user.to_json() },
        })),
        _ => Err(ApiError::no_such_path()),
    }
}

fn access_review(
    rbac: &Rbac,
    kind: &str,
    namespace: &str,
    user: &User,
    body: &Value,
) -> Result<Value, ApiError> {
    let metadata = metadata(kind, namespace, body)?;
    let spec = &body["spec"];
    let errors = validate(kind, namespace, &metadata, spec);
    if !errors.is_empty() {
        // The real server has forgotten the kind when it comes here.
        return Err(ApiError::invalid(GROUP, "", "", errors));
    }
    let subject = match kind {
        "SelfSubjectAccessReview" => user.clone(),
        _ => User {
            name: text(spec, "user").to_owned(),
            uid: text(spec, "uid").to_owned(),
            groups: texts(spec, "groups"),
            ..User::default()
        },
    };
    let decision = rbac.authorize(&subject, &attributes(spec));
    let mut status = json!({ "allowed": decision.is_allowed() });
    for (key, value) in [("reason", decision.reason()), ("evaluationError", evaluation_error(spec))] {
        if !value.is_empty() {
            status[key] = json!(value);
        }
    }
    Ok(json!({
        "kind": kind,
        "apiVersion": format!("{GROUP}/v1"),
        "metadata": metadata,
        "spec": shown_spec(kind, spec),
        "status": status,
    }))
}

fn rules_review(rbac: &Rbac, user: &User, body: &Value) -> Result<Value, ApiError> {
    let namespace = text(&body["spec"], "namespace");
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let (rules, missing) = rbac.rules_for(user, namespace);
    let shown = |rule: &PolicyRule, keys: &[&str]| {
        let Value::Object(fields) = rule.to_json() else { return Value::Null };
        Value::Object(fields.into_iter().filter(|(key, _)| keys.contains(&key.as_str())).collect())
    };
    let about_resources = rules.iter().filter(|rule| !rule.resources.is_empty());
    let about_paths = rules.iter().filter(|rule| !rule.non_resource_urls.is_empty());
    let resource_keys = ["verbs", "apiGroups", "resources", "resourceNames"];
    let mut status = json!({
        "resourceRules": about_resources.map(|rule| shown(rule, &resource_keys)).collect::<Value>(),
        "nonResourceRules": about_paths.map(|rule| shown(rule, &["verbs", "nonResourceURLs"])).collect::<Value>(),
        "incomplete": false,
    });
    if !missing.is_empty() {
        let errors: Vec<String> = missing.into_iter().map(|missing| missing.for_readers()).collect();
        status["evaluationError"] = json!(aggregate(&errors));
    }
    Ok(json!({
        "kind": "SelfSubjectRulesReview",
        "apiVersion": format!("{GROUP}/v1"),
        "metadata": {},
        "spec": {},
        "status": status,
    }))
}

/// The metadata of a review, with the namespace of the request if it has one.
fn metadata(kind: &str, namespace: &str, body: &Value) -> Result<Map<String, Value>, ApiError> {
    let metadata = body.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut metadata: Map<String, Value> =
        metadata.into_iter().filter(|(_, value)| !is_empty(value)).collect();
    if kind == "LocalSubjectAccessReview" {
        let own = metadata.entry("namespace").or_insert_with(|| json!(namespace));
        if own.as_str() != Some(namespace) {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    Ok(metadata)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn attributes(spec: &Value) -> Attributes<'_> {
    if let Some(resource) = present(spec, "resourceAttributes") {
        Attributes {
            verb: text(resource, "verb"),
            group: text(resource, "group"),
            resource: text(resource, "resource"),
            subresource: text(resource, "subresource"),
            namespace: text(resource, "namespace"),
            name: text(resource, "name"),
            path: None,
        }
    } else {
        let path = &spec["nonResourceAttributes"];
        Attributes::path(text(path, "verb"), text(path, "path"))
    }
}

fn validate(kind: &str, namespace: &str, metadata: &Map<String, Value>, spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (resource, path) = (present(spec, "resourceAttributes"), present(spec, "nonResourceAttributes"));
    let shown_path = |path: &Value| json!({ "Path": text(path, "path"), "Verb": text(path, "verb") });
    let wrong =
        |field: &str, value: Value, why: &str| FieldError::new(field, FieldErrorKind::Invalid, value, why);
    match (resource, path) {
        (Some(_), Some(path)) => errors.push(wrong(
            "spec.nonResourceAttributes",
            shown_path(path),
            "cannot be specified in combination with resourceAttributes",
        )),
        (None, None) => errors.push(wrong(
            "spec.resourceAttributes",
            Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
        _ => {}
    }
    let is_self = kind == "SelfSubjectAccessReview";
    if !is_self && text(spec, "user").is_empty() && items(spec, "groups").is_empty() {
        errors.push(invalid("spec.user", "", "at least one of user or group must be specified"));
    }
    if let Some(resource) = resource {
        selector_errors(resource, "fieldSelector", &mut errors);
        selector_errors(resource, "labelSelector", &mut errors);
    }
    let is_local = kind == "LocalSubjectAccessReview";
    let allowed = |key: &str| key == "managedFields" || (is_local && key == "namespace");
    if metadata.keys().any(|key| !allowed(key)) {
        let why = if is_local { "must be empty except for namespace" } else { "must be empty" };
        errors.push(wrong("metadata", Value::Object(metadata.clone()), why));
    }
    if is_local {
        if let Some(own) = resource.map(|resource| text(resource, "namespace"))
            && own != namespace
        {
            errors.push(invalid("spec.resourceAttributes.namespace", own, "must match metadata.namespace"));
        }
        if let Some(path) = path {
            let why = "disallowed on this kind of request";
            errors.push(wrong("spec.nonResourceAttributes", shown_path(path), why));
        }
    }
    errors
}

fn selector_errors(resource: &Value, key: &str, errors: &mut Vec<FieldError>) {
    let Some(selector) = present(resource, key) else { return };
    let at = format!("spec.resourceAttributes.{key}");
    let (raw, requirements) = (text(selector, "rawSelector"), items(selector, "requirements"));
    match (raw.is_empty(), requirements.is_empty()) {
        (false, false) => {
            let why = "may not specified at the same time as requirements";
            errors.push(invalid(format!("{at}.rawSelector"), raw, why));
        }
        (true, true) => {
            let why = format!("when {at} is specified, requirements or rawSelector is required");
            errors.push(required(format!("{at}.requirements"), &why));
        }
        _ => {}
    }
    for (i, requirement) in requirements.iter().enumerate() {
        let at = format!("{at}.requirements[{i}]");
        if key == "labelSelector" {
            requirement_errors(requirement, true, &at, errors);
        } else {
            if text(requirement, "key").is_empty() {
                errors.push(required(format!("{at}.key"), "must be specified"));
            }
            operator_errors(requirement, true, &at, errors);
        }
    }
}

/// RBAC does not look at selectors; that some of them cannot be read is said nevertheless.
fn evaluation_error(spec: &Value) -> String {
    let mut errors = Vec::new();
    for key in ["fieldSelector", "labelSelector"] {
        let Some(selector) = spec.get("resourceAttributes").and_then(|resource| present(resource, key))
        else {
            continue;
        };
        let raw = text(selector, "rawSelector");
        let is_field = key == "fieldSelector";
        let readable = |requirement: &&Value| match text(requirement, "operator") {
            "In" | "NotIn" => !is_field || items(requirement, "values").len() == 1,
            "Exists" | "DoesNotExist" => !is_field,
            _ => false,
        };
        let requirements = items(selector, "requirements");
        let read = requirements.iter().filter(readable).count();
        let raw_is_unreadable =
            is_field && raw.split(',').any(|term| !term.is_empty() && !term.contains('='));
        if read < requirements.len() || raw_is_unreadable {
            let how_much = if read > 0 { "partially ignored" } else { "ignored" };
            errors.push(format!("spec.resourceAttributes.{key} {how_much} due to parse error"));
        }
    }
    errors.join("; ")
}

/// The fields that there are, without those that are empty.
fn shown_spec(kind: &str, spec: &Value) -> Value {
    const RESOURCE: &[&str] = &[
        "namespace",
        "verb",
        "group",
        "version",
        "resource",
        "subresource",
        "name",
        "fieldSelector",
        "labelSelector",
    ];
    let pick = |object: &Value, keys: &[&str]| -> Map<String, Value> {
        let fields = object.as_object().into_iter().flatten();
        let fields = fields.filter(|(key, value)| keys.contains(&key.as_str()) && !is_empty(value));
        fields.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    let subject: &[&str] =
        if kind == "SelfSubjectAccessReview" { &[] } else { &["user", "groups", "extra", "uid"] };
    let mut shown = pick(spec, subject);
    for (key, keys) in [("resourceAttributes", RESOURCE), ("nonResourceAttributes", &["path", "verb"])] {
        if let Some(attributes) = present(spec, key) {
            shown.insert(key.to_owned(), Value::Object(pick(attributes, keys)));
        }
    }
    Value::Object(shown)
}

#[cfg(test)]
mod tests;
