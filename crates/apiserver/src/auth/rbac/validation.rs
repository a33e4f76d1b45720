//! Defaults and validation of the four kinds. What all kinds have in common (`metadata`) is validated elsewhere.

use super::binding::RoleRef;
use super::{GROUP, Kind};
use crate::auth::{items, present, text, texts};
use crate::error::{FieldError, FieldErrorKind};
use crate::names::{self, Unit};
use serde_json::{Value, json};

/// Fills in what a binding may leave out.
pub(crate) fn set_defaults(kind: Kind, object: &mut Value) {
    if !matches!(kind, Kind::RoleBinding | Kind::ClusterRoleBinding) {
        return;
    }
    if let Some(role) = object.get_mut("roleRef").filter(|role| role.is_object())
        && text(role, "apiGroup").is_empty()
    {
        role["apiGroup"] = json!(GROUP);
    }
    let subjects = object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten();
    for subject in subjects.filter(|subject| subject.is_object()) {
        if text(subject, "apiGroup").is_empty() && matches!(text(subject, "kind"), "User" | "Group") {
            subject["apiGroup"] = json!(GROUP);
        }
    }
}

/// What is wrong with an object (after [`set_defaults`]), and with the change if there was one before.
pub(crate) fn validate(kind: Kind, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match kind {
        Kind::Role | Kind::ClusterRole => {
            for (i, rule) in items(new, "rules").iter().enumerate() {
                rule_errors(rule, kind.is_namespaced(), &format!("rules[{i}]"), &mut errors);
            }
            if kind == Kind::ClusterRole {
                aggregation_errors(new, &mut errors);
            }
        }
        Kind::RoleBinding | Kind::ClusterRoleBinding => {
            role_ref_errors(kind, new, &mut errors);
            for (i, subject) in items(new, "subjects").iter().enumerate() {
                subject_errors(subject, kind.is_namespaced(), &format!("subjects[{i}]"), &mut errors);
            }
            if let Some(old) = old {
                let role = RoleRef::of(new);
                if role != RoleRef::of(old) {
                    // The real server shows its inner form here, with Go's names.
                    let shown = json!({ "APIGroup": role.group, "Kind": role.kind, "Name": role.name });
                    errors.push(FieldError::new(
                        "roleRef",
                        FieldErrorKind::Invalid,
                        shown,
                        "cannot change roleRef",
                    ));
                }
            }
        }
    }
    errors
}

fn rule_errors(rule: &Value, is_namespaced: bool, at: &str, errors: &mut Vec<FieldError>) {
    let is_empty = |key| items(rule, key).is_empty();
    if is_empty("verbs") {
        errors.push(required(format!("{at}.verbs"), "verbs must contain at least one value"));
    }
    let urls = texts(rule, "nonResourceURLs");
    if !urls.is_empty() {
        let mut push = |detail| {
            let field = format!("{at}.nonResourceURLs");
            errors.push(FieldError::new(field, FieldErrorKind::Invalid, json!(urls), detail));
        };
        if is_namespaced {
            push("namespaced rules cannot apply to non-resource URLs");
        }
        if !(is_empty("apiGroups") && is_empty("resources") && is_empty("resourceNames")) {
            push("rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    if is_empty("apiGroups") {
        errors.push(required(format!("{at}.apiGroups"), "resource rules must supply at least one api group"));
    }
    if is_empty("resources") {
        errors.push(required(format!("{at}.resources"), "resource rules must supply at least one resource"));
    }
}

fn role_ref_errors(kind: Kind, binding: &Value, errors: &mut Vec<FieldError>) {
    let role = RoleRef::of(binding);
    let kinds: &[&str] = if kind.is_namespaced() { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if role.group != GROUP {
        errors.push(not_supported("roleRef.apiGroup", &role.group, &[GROUP]));
    }
    if !kinds.contains(&role.kind.as_str()) {
        errors.push(not_supported("roleRef.kind", &role.kind, kinds));
    }
    if role.name.is_empty() {
        errors.push(required("roleRef.name".to_owned(), ""));
    }
    for message in names::path_segment_errors(&role.name) {
        errors.push(invalid("roleRef.name", &role.name, message));
    }
}

fn subject_errors(subject: &Value, is_namespaced: bool, at: &str, errors: &mut Vec<FieldError>) {
    let (kind, name, group) = (text(subject, "kind"), text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        errors.push(required(format!("{at}.name"), ""));
    }
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.extend(
                    names::subdomain_errors(name, Unit::Characters)
                        .into_iter()
                        .map(|why| invalid(format!("{at}.name"), name, why)),
                );
            }
            if !group.is_empty() {
                errors.push(not_supported(format!("{at}.apiGroup"), group, &[""]));
            }
            if !is_namespaced && text(subject, "namespace").is_empty() {
                errors.push(required(format!("{at}.namespace"), ""));
            }
        }
        "User" | "Group" if group != GROUP => {
            errors.push(not_supported(format!("{at}.apiGroup"), group, &[GROUP]));
        }
        "User" | "Group" => {}
        kind => {
            errors.push(not_supported(format!("{at}.kind"), kind, &["ServiceAccount", "User", "Group"]));
        }
    }
}

fn aggregation_errors(role: &Value, errors: &mut Vec<FieldError>) {
    const AT: &str = "aggregationRule.clusterRoleSelectors";
    let Some(aggregation) = present(role, "aggregationRule") else { return };
    let selectors = items(aggregation, "clusterRoleSelectors");
    if selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(required(AT.to_owned(), why));
    }
    for (i, selector) in selectors.iter().enumerate() {
        let at = format!("{AT}[{i}]");
        let before = errors.len();
        selector_errors(selector, &at, errors);
        if errors.len() > before {
            errors.push(FieldError::new(at, FieldErrorKind::Invalid, Value::Null, "invalid label selector."));
        }
    }
}

/// What is wrong with a label selector.
pub(crate) fn selector_errors(selector: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    for (key, value) in labels {
        let (field, value) = (format!("{at}.matchLabels"), value.as_str().unwrap_or_default());
        errors.extend(names::key_errors(key).into_iter().map(|why| invalid(field.clone(), key, why)));
        errors.extend(names::value_errors(value).into_iter().map(|why| invalid(field.clone(), value, why)));
    }
    for (j, expression) in items(selector, "matchExpressions").iter().enumerate() {
        requirement_errors(expression, false, &format!("{at}.matchExpressions[{j}]"), errors);
    }
}

/// What is wrong with one requirement of a label selector.
pub(crate) fn requirement_errors(
    requirement: &Value,
    any_operator: bool,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let values = texts(requirement, "values");
    operator_errors(requirement, any_operator, at, errors);
    let key = text(requirement, "key");
    errors.extend(names::key_errors(key).into_iter().map(|why| invalid(format!("{at}.key"), key, why)));
    for (i, value) in values.iter().enumerate() {
        let field = format!("{at}.values[{i}]");
        errors.extend(names::value_errors(value).into_iter().map(|why| invalid(field.clone(), value, why)));
    }
}

/// What is wrong with the operator of a requirement and the number of its values.
pub(crate) fn operator_errors(
    requirement: &Value,
    any_operator: bool,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let has_values = !items(requirement, "values").is_empty();
    match text(requirement, "operator") {
        "In" | "NotIn" if !has_values => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(required(format!("{at}.values"), why));
        }
        "Exists" | "DoesNotExist" if has_values => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::bare(format!("{at}.values"), FieldErrorKind::Forbidden, why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        operator if !any_operator => {
            errors.push(invalid(format!("{at}.operator"), operator, "not a valid selector operator"));
        }
        _ => {}
    }
}

pub(crate) fn required(field: String, detail: &str) -> FieldError {
    FieldError::bare(field, FieldErrorKind::Required, detail)
}

pub(crate) fn invalid(field: impl Into<String>, value: &str, detail: impl Into<String>) -> FieldError {
    FieldError::new(field, FieldErrorKind::Invalid, value, detail)
}

fn not_supported(field: impl Into<String>, value: &str, supported: &[&str]) -> FieldError {
    let supported: Vec<String> = supported.iter().map(|value| crate::auth::quoted(value)).collect();
    let detail = format!("supported values: {}", supported.join(", "));
    FieldError::new(field, FieldErrorKind::NotSupported, value, detail)
}
