//! ValidatingAdmissionPolicies: expressions that every write has to satisfy, wherever a binding puts them to work.
//!
//! A policy is compiled when it is written, and takes effect with the next request; a real server takes up to a second.
//! A server without bindings pays for one look at an empty map.
//!
//! | file | what is in it |
//! |---|---|
//! | `compiled` | a policy and a binding, read from their objects |
//! | `matching` | which writes they are about |
//! | `request` | a write as policies see it |
//! | `params` | the objects that a binding hands to its policy |
//! | `decide` | what a policy says of a write |
//! | `rights` | who may name which parameters |
//! | `controllers` | deletions that a cluster does by itself |

mod compiled;
mod controllers;
mod decide;
mod matching;
mod params;
mod request;
mod rights;
#[cfg(test)]
mod tests;

pub(crate) use controllers::Controller;

use crate::{
    error::{ApiError, Cause},
    meta,
    planted::Planted,
    request::Verb,
    resource::{Resource, StorageKey},
    server::{Call, Server},
    store::Key,
};
use compiled::{Action, Binding, Failure, Policy};
use decide::Denial;
use request::Admission;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The group of policies and their bindings.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";
/// The plural of policies.
pub(crate) const POLICIES: &str = "validatingadmissionpolicies";
/// The plural of bindings.
pub(crate) const BINDINGS: &str = "validatingadmissionpolicybindings";

/// All policies and bindings, compiled. It is told of every change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policies {
    policies: BTreeMap<String, Arc<Policy>>,
    bindings: BTreeMap<String, Arc<Binding>>,
}

impl Policies {
    /// An object of one of the two kinds was written or removed.
    pub(crate) fn noticed(&mut self, kind: &StorageKey, key: &Key, object: Option<&Value>) {
        if kind.group != GROUP {
            return;
        }
        let name = key.name.to_string();
        match (kind.plural.as_str(), object) {
            (POLICIES, Some(object)) => drop(self.policies.insert(name, Arc::new(Policy::of(object)))),
            (POLICIES, None) => drop(self.policies.remove(&name)),
            (BINDINGS, Some(object)) => drop(self.bindings.insert(name, Arc::new(Binding::of(object)))),
            (BINDINGS, None) => drop(self.bindings.remove(&name)),
            _ => {}
        }
    }

    /// Whether nothing is put to work: a policy without a binding is none.
    fn is_idle(&self) -> bool {
        self.bindings.is_empty() || self.policies.is_empty()
    }

    /// The policies that are put to work, with their bindings.
    fn active(&self) -> impl Iterator<Item = (&Policy, Vec<&Binding>)> {
        self.policies.values().map(Arc::as_ref).filter_map(|policy| {
            let bindings = self.bindings.values().map(Arc::as_ref);
            let bindings: Vec<&Binding> = bindings.filter(|binding| binding.policy == policy.name).collect();
            (!bindings.is_empty()).then_some((policy, bindings))
        })
    }
}

impl Server {
    /// Refuses a write of an object that a policy denies. Warnings are kept for the answer.
    pub(crate) fn enforce(
        &mut self,
        call: &Call,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<(), ApiError> {
        if self.policies.is_idle() {
            return Ok(());
        }
        let options = request::write_options(call, old.is_some());
        let dry_run = call.query.dry_run(call.verb.options())?;
        self.enforce_on(&Admission::of(call, old, new, options, dry_run))
    }

    /// The same for a deletion, which has options of its own.
    pub(crate) fn enforce_deletion(
        &mut self,
        call: &Call,
        object: &Value,
        options: &Value,
        dry_run: bool,
    ) -> Result<(), ApiError> {
        if self.policies.is_idle() || self.has(Planted::PolicyIgnoresDeletion) {
            return Ok(());
        }
        let object = request::in_version_of(&call.resource, object);
        let options = request::delete_options(options);
        self.enforce_on(&Admission::of(call, Some(&object), None, options, dry_run))
    }

    /// The same for a subresource with a kind of its own, such as `serviceaccounts/token`.
    pub(crate) fn enforce_on_subresource(
        &mut self,
        call: &Call,
        kind: [&str; 3],
        body: &Value,
    ) -> Result<(), ApiError> {
        if self.policies.is_idle() || call.verb != Verb::Create {
            return Ok(());
        }
        let options = request::write_options(call, false);
        let dry_run = call.query.dry_run(call.verb.options())?;
        self.enforce_on(&Admission { kind, ..Admission::of(call, None, Some(body), options, dry_run) })
    }

    /// The same for a subresource that an extension answers.
    pub(crate) fn enforce_on_extension(&mut self, call: &Call) -> Result<(), ApiError> {
        if self.policies.is_idle() {
            return Ok(());
        }
        let mut subresources =
            self.extensions.iter().flat_map(|extension| extension.subresources(&call.resource));
        let Some(found) = subresources.find(|found| found.name == call.subresource) else { return Ok(()) };
        drop(subresources);
        let Resource { group, version, .. } = &*call.resource;
        let (group, version) = found.group_version.unwrap_or((group, version));
        // What cannot be read is refused by the extension.
        let body = serde_json::from_slice(&call.body).unwrap_or_default();
        self.enforce_on_subresource(call, [group, version, found.kind], &body)
    }

    fn enforce_on(&mut self, admission: &Admission<'_>) -> Result<(), ApiError> {
        // Otherwise nobody could take back a policy that denies everything.
        if admission.resource.group == GROUP || self.has(Planted::PolicyNotEnforced) {
            return Ok(());
        }
        let mut warnings = Vec::new();
        let denials = self.judge(admission, &mut warnings);
        self.warned.extend(warnings);
        match denials.into_iter().next() {
            Some(denial) => Err(refusal(admission, &denial)),
            None => Ok(()),
        }
    }

    /// What all policies have against a write, in the order of their names.
    fn judge(&self, admission: &Admission<'_>, warnings: &mut Vec<String>) -> Vec<Denial> {
        let mut denials = Vec::new();
        for (policy, bindings) in self.policies.active() {
            let Some(matched) = policy.constraints.matches(admission, self) else { continue };
            let misconfigured = |binding: Option<&Binding>, why: String| {
                (policy.failure == Failure::Fail).then(|| Denial::misconfigured(policy, binding, &why))
            };
            let param_kind = match params::kind_of(policy, self) {
                Ok(kind) => kind,
                Err(why) => {
                    denials.extend(misconfigured(None, why));
                    continue;
                }
            };
            let view = request::View::of(admission, &matched, self);
            for binding in bindings {
                if binding.limits.as_ref().is_some_and(|limits| limits.matches(admission, self).is_none()) {
                    continue;
                }
                let params = match params::collect(param_kind.as_deref(), binding, admission, self) {
                    Ok(params) => params,
                    Err(why) => {
                        denials.extend(misconfigured(Some(binding), why));
                        continue;
                    }
                };
                for param in &params {
                    for denial in decide::decide(policy, binding, &view, param, self) {
                        if binding.actions.contains(&Action::Warn) {
                            warnings.push(denial.warning());
                        }
                        if binding.actions.contains(&Action::Deny) {
                            denials.push(denial);
                        }
                    }
                }
            }
        }
        denials
    }
}

fn refusal(admission: &Admission<'_>, denial: &Denial) -> ApiError {
    let name = match (admission.name, admission.object) {
        ("", Some(object)) => meta::text(object, "name"),
        (name, _) => name,
    };
    let name = if name.is_empty() { "Unknown" } else { name };
    let message = denial.message();
    let mut error = ApiError::forbidden(admission.resource.group_resource(), name, &message);
    (error.reason, error.code) = denial.reason;
    if let Some(details) = &mut error.details {
        details.causes.push(Cause { reason: "", message, field: String::new() });
    }
    error
}
