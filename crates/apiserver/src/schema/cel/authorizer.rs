//! The authorizer as expressions of admission policies ask it: `authorizer.group('').resource('secrets').check('get')`.

use super::value::{Failure, Outcome, Val};
use crate::auth::{
    User,
    rbac::{Attributes, Rbac},
};
use crate::names::{self, Unit};
use std::fmt;
use std::rc::Rc;

pub(super) const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
pub(super) const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
pub(super) const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
pub(super) const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
pub(super) const DECISION: &str = "kubernetes.authorization.Decision";

/// The field of the authorizer that is about the request itself.
pub(super) const REQUEST_RESOURCE: &str = "requestResource";

pub(super) fn is_type(name: &str) -> bool {
    name.starts_with("kubernetes.authorization.")
}

/// A resource that a policy asks about. Field and label selectors are not here: RBAC does not look at them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResourceCheck {
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

/// Whose rights are asked for, and who knows them.
#[derive(Clone)]
pub(super) struct Subject<'a> {
    pub rbac: &'a Rbac,
    pub user: Rc<User>,
    /// What the request is about.
    pub request: Rc<ResourceCheck>,
}

/// A question to the authorizer on its way, or the answer.
pub(super) enum Authorization<'a> {
    Authorizer(Subject<'a>),
    Path(Subject<'a>, String),
    Group(Subject<'a>, String),
    Resource(Subject<'a>, ResourceCheck),
    Decision { allowed: bool, reason: String },
}

impl fmt::Debug for Authorization<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())
    }
}

impl<'a> Authorization<'a> {
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Authorizer(_) => AUTHORIZER,
            Self::Path(..) => PATH_CHECK,
            Self::Group(..) => GROUP_CHECK,
            Self::Resource(..) => RESOURCE_CHECK,
            Self::Decision { .. } => DECISION,
        }
    }

    pub(super) fn field(&self, name: &str) -> Option<Val<'a>> {
        match self {
            Self::Authorizer(subject) if name == REQUEST_RESOURCE => {
                Some(value(Self::Resource(subject.clone(), (*subject.request).clone())))
            }
            _ => None,
        }
    }
}

pub(super) fn value(question: Authorization<'_>) -> Val<'_> {
    Val::Authorization(Rc::new(question))
}

/// Calls a function of the authorizer, or of what it has made.
pub(super) fn call<'a>(question: &Authorization<'a>, name: &str, args: &[Val<'a>]) -> Outcome<'a> {
    let texts: Vec<&str> = args.iter().filter_map(Val::text).collect();
    if texts.len() != args.len() {
        return Err(Failure::no_overload());
    }
    let failure = |words: &str| Err(Failure(words.to_owned()));
    match (question, name, texts.as_slice()) {
        (Authorization::Authorizer(_), "path", [path]) if path.trim().is_empty() => {
            failure("path must not be empty")
        }
        (Authorization::Authorizer(subject), "path", [path]) => {
            Ok(value(Authorization::Path(subject.clone(), (*path).to_owned())))
        }
        (Authorization::Authorizer(subject), "group", [group]) => {
            Ok(value(Authorization::Group(subject.clone(), (*group).to_owned())))
        }
        (Authorization::Authorizer(subject), "serviceAccount", [namespace, name]) => {
            if !names::subdomain_errors(name, Unit::Characters).is_empty() {
                return failure("Invalid service account name");
            }
            if !names::label_errors(namespace, Unit::Characters).is_empty() {
                return failure("Invalid service account namespace");
            }
            let user = Rc::new(User::service_account(namespace, name, ""));
            Ok(value(Authorization::Authorizer(Subject { user, ..subject.clone() })))
        }
        (Authorization::Group(..), "resource", [resource]) if resource.trim().is_empty() => {
            failure("resource must not be empty")
        }
        (Authorization::Group(subject, group), "resource", [resource]) => {
            let group = group.clone();
            let check = ResourceCheck { group, resource: (*resource).to_owned(), ..ResourceCheck::default() };
            Ok(value(Authorization::Resource(subject.clone(), check)))
        }
        (Authorization::Path(subject, path), "check", [verb]) => {
            Ok(decide(subject, &Attributes::path(verb, path)))
        }
        (Authorization::Resource(subject, check), "check", [verb]) => {
            let ResourceCheck { group, resource, subresource, namespace, name } = check;
            let attributes = Attributes { verb, group, resource, subresource, namespace, name, path: None };
            Ok(decide(subject, &attributes))
        }
        (Authorization::Resource(subject, check), name, [text]) => narrowed(subject, check, name, text),
        (Authorization::Decision { allowed, .. }, "allowed", []) => Ok(Val::Bool(*allowed)),
        (Authorization::Decision { reason, .. }, "reason", []) => Ok(Val::from(reason.clone())),
        // RBAC always comes to a decision: a role that is missing is a reason, not an error.
        (Authorization::Decision { .. }, "errored", []) => Ok(Val::Bool(false)),
        (Authorization::Decision { .. }, "error", []) => Ok(Val::from(String::new())),
        _ => Err(Failure::no_overload()),
    }
}

fn narrowed<'a>(subject: &Subject<'a>, check: &ResourceCheck, name: &str, text: &str) -> Outcome<'a> {
    let mut check = check.clone();
    match name {
        "subresource" => check.subresource = text.to_owned(),
        "namespace" => check.namespace = text.to_owned(),
        "name" => check.name = text.to_owned(),
        "fieldSelector" | "labelSelector" => {}
        _ => return Err(Failure::no_overload()),
    }
    Ok(value(Authorization::Resource(subject.clone(), check)))
}

fn decide<'a>(subject: &Subject<'a>, attributes: &Attributes<'_>) -> Val<'a> {
    let decision = subject.rbac.authorize(&subject.user, attributes);
    value(Authorization::Decision { allowed: decision.is_allowed(), reason: decision.reason() })
}
