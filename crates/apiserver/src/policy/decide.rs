//! What a policy says of a write.

use super::{
    compiled::{Binding, Failure, INVALID, Policy, Reason, Validation},
    request::View,
};
use crate::{
    auth::aggregate,
    schema::{Budget, Inputs, OutOfBudget, Session},
    server::Server,
};
use serde_json::Value;

/// Steps that all validations of a policy may take together, as in a real server.
const STEP_BUDGET: u64 = 10_000_000;
/// The same for its match conditions.
const CONDITION_STEP_BUDGET: u64 = STEP_BUDGET / 4;
/// Bytes that a message which an expression makes may have.
const MESSAGE_LIMIT_BYTES: usize = 5 * 1024;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Why a policy is against a write.
#[derive(Debug)]
pub(super) struct Denial {
    policy: String,
    binding: Option<String>,
    words: String,
    pub(super) reason: Reason,
}

impl Denial {
    fn new(policy: &Policy, binding: &Binding, words: String, reason: Reason) -> Self {
        Self { policy: policy.name.clone(), binding: Some(binding.name.clone()), words, reason }
    }

    /// The policy, or a binding of it, cannot be used.
    pub(super) fn misconfigured(policy: &Policy, binding: Option<&Binding>, why: &str) -> Self {
        let what = if binding.is_some() { "binding" } else { "policy" };
        Self {
            policy: policy.name.clone(),
            binding: binding.map(|binding| binding.name.clone()),
            words: format!("failed to configure {what}: {why}"),
            reason: INVALID,
        }
    }

    pub(super) fn message(&self) -> String {
        let Self { policy, binding, words, reason: _ } = self;
        match binding {
            Some(binding) => {
                format!(
                    "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {words}"
                )
            }
            None => format!("ValidatingAdmissionPolicy '{policy}' denied request: {words}"),
        }
    }

    pub(super) fn warning(&self) -> String {
        let binding = self.binding.as_deref().unwrap_or_default();
        format!(
            "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{binding}': {}",
            self.policy, self.words
        )
    }
}

/// Evaluates a policy with one of its parameters.
pub(super) fn decide(
    policy: &Policy,
    binding: &Binding,
    view: &View<'_>,
    params: &Value,
    server: &Server,
) -> Vec<Denial> {
    let inputs = Inputs {
        object: &view.object,
        old_object: &view.old,
        request: &view.request,
        namespace: &view.namespace,
        params,
        rbac: &server.rbac,
        user: view.user,
        request_resource: &view.request_resource,
    };
    let session = Session::new(&policy.programs, &inputs, true);
    let failed = |why: String| match policy.failure {
        Failure::Fail => vec![Denial::new(policy, binding, why, INVALID)],
        Failure::Ignore => Vec::new(),
    };
    match conditions_hold(policy, &session) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(why) => return failed(why),
    }
    // Messages are made without the authorizer.
    let messages = Session::new(&policy.programs, &inputs, false);
    let mut budget = Budget(STEP_BUDGET);
    let mut denials = Vec::new();
    for validation in &policy.validations {
        let holds = match &validation.program {
            Ok(program) => session.holds(program, &mut budget),
            Err(why) => Ok(Err(format!("compilation error: {why}"))),
        };
        match holds {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => match words(validation, &messages, &mut budget) {
                Ok(words) => denials.push(Denial::new(policy, binding, words, validation.reason)),
                Err(OutOfBudget) => return failed(format!("failed messageExpression: {OUT_OF_BUDGET}")),
            },
            Ok(Err(why)) => denials.extend(failed(why)),
            Err(OutOfBudget) => return failed(OUT_OF_BUDGET.to_owned()),
        }
    }
    denials
}

/// Whether all match conditions hold. One that does not hold counts more than one that fails.
fn conditions_hold<'e>(policy: &'e Policy, session: &Session<'_, 'e>) -> Result<bool, String> {
    let mut budget = Budget(CONDITION_STEP_BUDGET);
    let mut errors = Vec::new();
    for condition in &policy.conditions {
        let holds = match condition {
            Ok(program) => session.holds(program, &mut budget),
            Err(why) => Ok(Err(format!("compilation error: {why}"))),
        };
        match holds {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return Ok(false),
            Ok(Err(why)) => errors.push(why),
            Err(OutOfBudget) => return Err(OUT_OF_BUDGET.to_owned()),
        }
    }
    if errors.is_empty() { Ok(true) } else { Err(aggregate(&errors)) }
}

/// What to say of a validation that does not hold.
fn words<'e>(
    validation: &'e Validation,
    session: &Session<'_, 'e>,
    budget: &mut Budget,
) -> Result<String, OutOfBudget> {
    if let Some(program) = &validation.message_program {
        let made = session.text(program, budget)?.unwrap_or_default();
        let made = made.trim();
        if !made.is_empty() && made.len() <= MESSAGE_LIMIT_BYTES && !made.contains('\n') {
            return Ok(made.to_owned());
        }
    }
    Ok(match validation.message.as_str() {
        "" => format!("failed expression: {}", validation.expression),
        message => message.to_owned(),
    })
}
