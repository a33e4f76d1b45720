//! What policies and bindings have to be like.

use crate::{
    auth::{items, present, quoted, rbac, text, texts},
    error::{FieldError, FieldErrorKind},
    meta,
    names::{self, Unit},
    schema::{Environment, Wanted},
};
use serde_json::{Value, json};

const CONDITION_LIMIT: usize = 64;
const ANNOTATION_LIMIT: usize = 20;
const ANNOTATION_EXPRESSION_LIMIT_BYTES: usize = 5 * 1024;

/// What is wrong with a policy, or with a binding.
pub(crate) fn validate(object: &Value, kind: &str) -> Vec<FieldError> {
    let mut errors = Errors(Vec::new());
    match kind {
        "ValidatingAdmissionPolicy" => errors.policy(object),
        _ => errors.binding(&object["spec"]),
    }
    errors.0
}

struct Errors(Vec<FieldError>);

impl Errors {
    fn required(&mut self, field: impl Into<String>, why: &str) {
        self.0.push(FieldError::bare(field, FieldErrorKind::Required, why));
    }

    fn invalid(&mut self, field: impl Into<String>, value: impl Into<Value>, why: impl Into<String>) {
        self.0.push(FieldError::new(field, FieldErrorKind::Invalid, value, why));
    }

    fn duplicate(&mut self, field: String, value: &str) {
        self.0.push(FieldError::new(field, FieldErrorKind::Duplicate, value, ""));
    }

    fn unless_one_of(&mut self, field: impl Into<String>, value: &str, supported: &[&str]) {
        if !supported.contains(&value) {
            let supported: Vec<String> = supported.iter().map(|value| quoted(value)).collect();
            let why = format!("supported values: {}", supported.join(", "));
            self.0.push(FieldError::new(field, FieldErrorKind::NotSupported, value, why));
        }
    }

    /// One error for each thing that is wrong with a text.
    fn each(&mut self, field: &str, value: &str, wrong: Vec<String>) {
        wrong.into_iter().for_each(|why| self.invalid(field, value, why));
    }

    fn policy(&mut self, object: &Value) {
        let spec = &object["spec"];
        self.unless_one_of("spec.failurePolicy", text(spec, "failurePolicy"), &["Fail", "Ignore"]);
        let param_kind = present(spec, "paramKind");
        if let Some(kind) = param_kind {
            self.param_kind(kind);
        }
        match present(spec, "matchConstraints") {
            None => self.required("spec.matchConstraints", ""),
            Some(matching) => {
                self.matching(matching, "spec.matchConstraints");
                if items(matching, "resourceRules").is_empty() {
                    self.required("spec.matchConstraints.resourceRules", "");
                }
            }
        }
        let mut names = Environment::new(param_kind.is_some());
        self.conditions(items(spec, "matchConditions"), &names);
        if !items(spec, "variables").is_empty() {
            names.allow_variables();
        }
        for (n, variable) in items(spec, "variables").iter().enumerate() {
            self.variable(variable, &mut names, &format!("spec.variables[{n}]"));
        }
        let (validations, annotations) = (items(spec, "validations"), items(spec, "auditAnnotations"));
        if validations.is_empty() && annotations.is_empty() {
            let why = "validations or auditAnnotations must contain at least one item";
            self.required("spec.validations", why);
            self.required("spec.auditAnnotations", why);
        }
        for (n, validation) in validations.iter().enumerate() {
            self.validation(validation, &names, &format!("spec.validations[{n}]"));
        }
        self.annotations(annotations, meta::text(object, "name"), &names);
    }

    fn param_kind(&mut self, kind: &Value) {
        let at = "spec.paramKind.apiVersion";
        let version = text(kind, "apiVersion");
        match version.split('/').collect::<Vec<_>>().as_slice() {
            [""] => self.required(at, ""),
            [version] => self.version(version, version),
            [group, part] => {
                if !group.is_empty() {
                    let wrong = names::subdomain_errors(group, Unit::Characters);
                    self.joined(at, group, &wrong, "");
                }
                self.version(version, part);
            }
            _ => self.invalid(at, version, format!("unexpected GroupVersion string: {version}")),
        }
        let name = text(kind, "kind");
        match name {
            "" => self.required("spec.paramKind.kind", ""),
            _ => {
                let wrong = names::label_1035_errors(&name.to_lowercase());
                let hint = "may have mixed case, but should otherwise match: ";
                self.joined("spec.paramKind.kind", name, &wrong, hint);
            }
        }
    }

    fn version(&mut self, whole: &str, version: &str) {
        let at = "spec.paramKind.apiVersion";
        match version {
            "" => self.invalid(at, whole, "version must be specified"),
            _ => self.joined(at, version, &names::label_1035_errors(version), ""),
        }
    }

    fn joined(&mut self, at: &str, value: &str, wrong: &[String], hint: &str) {
        if !wrong.is_empty() {
            self.invalid(at, value, format!("{hint}{}", wrong.join(",")));
        }
    }

    fn conditions(&mut self, conditions: &[Value], names: &Environment) {
        let at = "spec.matchConditions";
        if conditions.len() > CONDITION_LIMIT {
            let why = format!("must have at most {CONDITION_LIMIT} items");
            self.0.push(FieldError::new(at, FieldErrorKind::TooMany, conditions.len(), why));
        }
        let mut seen: Vec<&str> = Vec::new();
        for (n, condition) in conditions.iter().enumerate() {
            let (name, field) = (text(condition, "name"), format!("{at}[{n}].name"));
            let expression = text(condition, "expression").trim();
            let place = format!("{at}[{n}].expression");
            match expression {
                "" => self.required(place, ""),
                _ => self.compiled(place, expression, names.compile(expression, Wanted::Bool, true)),
            }
            match name {
                "" => self.required(field, ""),
                name => {
                    self.each(&field, name, names::key_errors(name));
                    if seen.contains(&name) {
                        self.duplicate(field, name);
                    }
                    seen.push(name);
                }
            }
        }
    }

    fn compiled<T>(&mut self, at: String, expression: &str, compiled: Result<T, String>) {
        if let Err(why) = compiled {
            self.invalid(at, expression, why);
        }
    }

    fn variable(&mut self, variable: &Value, names: &mut Environment, at: &str) {
        let (name, expression) = (text(variable, "name"), text(variable, "expression"));
        if name.trim().is_empty() {
            self.required(format!("{at}.name"), "name is not specified");
        } else if !Environment::is_identifier(name) {
            self.invalid(format!("{at}.name"), name, "must be a valid CEL identifier");
        }
        match expression.trim() {
            "" => self.required(format!("{at}.expression"), "expression is not specified"),
            _ => self.compiled(format!("{at}.expression"), expression, names.declare(name, expression)),
        }
    }

    fn validation(&mut self, validation: &Value, names: &Environment, at: &str) {
        let expression = text(validation, "expression");
        match expression.trim() {
            "" => self.required(format!("{at}.expression"), "expression is not specified"),
            _ => {
                let compiled = names.compile(expression, Wanted::Bool, true);
                self.compiled(format!("{at}.expression"), expression, compiled);
            }
        }
        let made = text(validation, "messageExpression");
        match (made, made.trim()) {
            ("", _) => {}
            (_, "") => {
                self.invalid(format!("{at}.messageExpression"), made, "must be non-empty if specified");
            }
            _ => {
                let compiled = names.compile(made, Wanted::Text, false);
                self.compiled(format!("{at}.messageExpression"), made, compiled);
            }
        }
        let message = text(validation, "message");
        if !message.is_empty() && message.trim().is_empty() {
            self.invalid(format!("{at}.message"), message, "must be non-empty if specified");
        } else if message.trim().contains(['\n', '\r']) {
            self.invalid(format!("{at}.message"), message, "must not contain line breaks");
        }
        if let Some(reason) = present(validation, "reason") {
            let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
            self.unless_one_of(format!("{at}.reason"), reason.as_str().unwrap_or_default(), &reasons);
        }
    }

    fn annotations(&mut self, annotations: &[Value], policy: &str, names: &Environment) {
        let at = "spec.auditAnnotations";
        if annotations.len() > ANNOTATION_LIMIT {
            let why = format!("must not have more than {ANNOTATION_LIMIT} auditAnnotations");
            self.invalid(at, json!(annotations), why);
        }
        let mut seen: Vec<&str> = Vec::new();
        for (n, annotation) in annotations.iter().enumerate() {
            let (key, field) = (text(annotation, "key"), format!("{at}[{n}].key"));
            let whole = format!("{policy}/{key}");
            self.each(&field, &whole, names::key_errors(&whole));
            let expression = text(annotation, "valueExpression");
            let place = format!("{at}[{n}].valueExpression");
            match expression.trim() {
                "" => self.required(place, "valueExpression is not specified"),
                trimmed if trimmed.len() > ANNOTATION_EXPRESSION_LIMIT_BYTES => {
                    let why = format!("must not exceed {ANNOTATION_EXPRESSION_LIMIT_BYTES} bytes in length");
                    self.required(place, &why);
                }
                trimmed => {
                    let compiled = names.compile(trimmed, Wanted::TextOrNull, true);
                    self.compiled(place, expression, compiled);
                }
            }
            if seen.contains(&key) {
                self.duplicate(field, key);
            }
            seen.push(key);
        }
    }

    fn matching(&mut self, matching: &Value, at: &str) {
        self.unless_one_of(
            format!("{at}.matchPolicy"),
            text(matching, "matchPolicy"),
            &["Equivalent", "Exact"],
        );
        for selector in ["namespaceSelector", "objectSelector"] {
            rbac::selector_errors(&matching[selector], &format!("{at}.{selector}"), &mut self.0);
        }
        for rules in ["resourceRules", "excludeResourceRules"] {
            for (n, rule) in items(matching, rules).iter().enumerate() {
                self.rule(rule, &format!("{at}.{rules}[{n}]"));
            }
        }
    }

    fn rule(&mut self, rule: &Value, at: &str) {
        let mut seen: Vec<String> = Vec::new();
        for (n, name) in texts(rule, "resourceNames").into_iter().enumerate() {
            let field = format!("{at}.resourceNames[{n}]");
            self.each(&field, &name, names::path_segment_errors(&name));
            if seen.contains(&name) {
                self.duplicate(field, &name);
            }
            seen.push(name);
        }
        let operations = texts(rule, "operations");
        self.list(&operations, &format!("{at}.operations"), "operations");
        for (n, operation) in operations.iter().enumerate() {
            let supported = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
            self.unless_one_of(format!("{at}.operations[{n}]"), operation, &supported);
        }
        self.list(&texts(rule, "apiGroups"), &format!("{at}.apiGroups"), "API groups");
        let versions = texts(rule, "apiVersions");
        self.list(&versions, &format!("{at}.apiVersions"), "API versions");
        for (n, _) in versions.iter().enumerate().filter(|(_, version)| version.is_empty()) {
            self.required(format!("{at}.apiVersions[{n}]"), "");
        }
        self.resources(&texts(rule, "resources"), &format!("{at}.resources"));
        if let Some(scope) = present(rule, "scope") {
            let scopes = ["*", "Cluster", "Namespaced"];
            self.unless_one_of(format!("{at}.scope"), scope.as_str().unwrap_or_default(), &scopes);
        }
    }

    fn list(&mut self, list: &[String], at: &str, what: &str) {
        if list.is_empty() {
            self.required(at, "");
        } else if list.len() > 1 && list.iter().any(|item| item == "*") {
            self.invalid(at, json!(list), format!("if '*' is present, must not specify other {what}"));
        }
    }

    fn resources(&mut self, resources: &[String], at: &str) {
        if resources.is_empty() {
            self.required(at, "");
        }
        let (mut whole, mut everywhere): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut plain = false;
        for (n, named) in resources.iter().enumerate() {
            let field = format!("{at}[{n}]");
            let Some((resource, subresource)) = named.split_once('/') else {
                match named.as_str() {
                    "" => self.required(field, ""),
                    named => plain = named != "*",
                }
                continue;
            };
            if whole.contains(&resource) {
                let why = format!("if '{resource}/*' is present, must not specify {named}");
                self.invalid(field.clone(), named.as_str(), why);
            }
            if everywhere.contains(&subresource) {
                let why = format!("if '*/{subresource}' is present, must not specify {named}");
                self.invalid(field, named.as_str(), why);
            }
            if subresource == "*" {
                whole.push(resource);
            }
            if resource == "*" {
                everywhere.push(subresource);
            }
        }
        if resources.len() > 1 && resources.iter().any(|named| named == "*/*") {
            self.invalid(at, json!(resources), "if '*/*' is present, must not specify other resources");
        }
        if plain && resources.iter().any(|named| named == "*") {
            let why = "if '*' is present, must not specify other resources without subresources";
            self.invalid(at, json!(resources), why);
        }
    }

    fn binding(&mut self, spec: &Value) {
        match text(spec, "policyName") {
            "" => self.required("spec.policyName", ""),
            name => self.each("spec.policyName", name, names::subdomain_errors(name, Unit::Characters)),
        }
        if let Some(param) = present(spec, "paramRef") {
            self.param_ref(param);
        }
        if let Some(matching) = present(spec, "matchResources") {
            self.matching(matching, "spec.matchResources");
        }
        let (at, actions) = ("spec.validationActions", texts(spec, "validationActions"));
        for (n, action) in actions.iter().enumerate() {
            self.unless_one_of(format!("{at}[{n}]"), action, &["Audit", "Deny", "Warn"]);
            if actions[..n].contains(action) {
                self.duplicate(format!("{at}[{n}]"), action);
            }
        }
        let has = |wanted: &str| actions.iter().any(|action| action == wanted);
        if has("Deny") && has("Warn") {
            let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
            self.invalid(at, json!(actions), why);
        }
        if actions.is_empty() {
            self.required(at, "at least one validation action is required");
        }
    }

    fn param_ref(&mut self, param: &Value) {
        let at = "spec.paramRef";
        let (name, selector) = (text(param, "name"), present(param, "selector"));
        let both = !name.is_empty() && selector.is_some();
        self.each(&format!("{at}.name"), name, names::path_segment_errors(name));
        let exclusive = |this: &mut Self, field: &str| {
            let why = "name and selector are mutually exclusive";
            this.0.push(FieldError::bare(format!("{at}.{field}"), FieldErrorKind::Forbidden, why));
        };
        if both {
            exclusive(self, "name");
        }
        if let Some(selector) = selector {
            rbac::selector_errors(selector, &format!("{at}.selector"), &mut self.0);
        } else if name.is_empty() {
            self.required(at, "one of name or selector must be specified");
        }
        if both {
            exclusive(self, "selector");
        }
        match text(param, "parameterNotFoundAction") {
            "" => self.required(format!("{at}.parameterNotFoundAction"), ""),
            action => {
                self.unless_one_of(format!("{at}.parameterNotFoundAction"), action, &["Deny", "Allow"]);
            }
        }
    }
}
