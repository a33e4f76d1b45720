//! Policies and bindings, read from their objects once.

use super::matching::Matching;
use crate::{
    auth::{items, present, text, texts},
    meta,
    schema::{Environment, Program, Programs, Wanted},
    selector::LabelSelector,
};
use serde_json::Value;

/// The word and the code of a refusal.
pub(super) type Reason = (&'static str, u16);

/// The reason of a refusal where nobody names another.
pub(super) const INVALID: Reason = ("Invalid", 422);

/// What happens if a policy cannot be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Fail,
    Ignore,
}

/// An expression that was compiled, or why it could not be. A stored policy was compiled when it was written, so this is
/// about one that another version of this program let through.
pub(super) type Compiled = Result<Program, String>;

#[derive(Debug)]
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) failure: Failure,
    /// Group, version and kind of its parameters.
    pub(super) param_kind: Option<[String; 3]>,
    pub(super) constraints: Matching,
    pub(super) conditions: Vec<Compiled>,
    pub(super) validations: Vec<Validation>,
    pub(super) programs: Programs,
}

#[derive(Debug)]
pub(super) struct Validation {
    pub(super) expression: String,
    pub(super) program: Compiled,
    pub(super) message: String,
    pub(super) message_program: Option<Program>,
    pub(super) reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Deny,
    Warn,
}

#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    pub(super) policy: String,
    /// `Audit` is not here: there is no audit log to write to.
    pub(super) actions: Vec<Action>,
    pub(super) limits: Option<Matching>,
    pub(super) param: Option<ParamRef>,
}

#[derive(Debug)]
pub(super) struct ParamRef {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) selector: Option<LabelSelector>,
    pub(super) deny_if_missing: bool,
}

impl Policy {
    pub(super) fn of(object: &Value) -> Self {
        let spec = &object["spec"];
        let param_kind = present(spec, "paramKind").map(group_version_kind);
        let mut names = Environment::new(param_kind.is_some());
        let mut programs = Programs::default();
        let conditions = items(spec, "matchConditions")
            .iter()
            .map(|condition| names.compile(text(condition, "expression"), Wanted::Bool, true))
            .collect::<Vec<_>>();
        for variable in items(spec, "variables") {
            let name = text(variable, "name");
            programs.variables.push((name.to_owned(), names.declare(name, text(variable, "expression"))));
        }
        let validations: Vec<Validation> =
            items(spec, "validations").iter().map(|validation| Validation::of(validation, &names)).collect();
        let mut policy = Self {
            name: meta::text(object, "name").to_owned(),
            failure: if text(spec, "failurePolicy") == "Ignore" { Failure::Ignore } else { Failure::Fail },
            param_kind,
            constraints: Matching::of(&spec["matchConstraints"]),
            conditions,
            validations,
            programs,
        };
        policy.learn();
        policy
    }

    /// Notes the regular expressions of all programs.
    fn learn(&mut self) {
        let Self { conditions, validations, programs, .. } = self;
        let mut learned = Programs::default();
        let variables = programs.variables.iter().filter_map(|(_, program)| program.as_ref().ok());
        let conditions = conditions.iter().filter_map(|program| program.as_ref().ok());
        let validations = validations.iter().flat_map(|validation| {
            validation.program.as_ref().ok().into_iter().chain(&validation.message_program)
        });
        variables.chain(conditions).chain(validations).for_each(|program| learned.learn(program));
        learned.variables = std::mem::take(&mut programs.variables);
        *programs = learned;
    }
}

impl Validation {
    fn of(validation: &Value, names: &Environment) -> Self {
        let message = text(validation, "messageExpression");
        Self {
            expression: text(validation, "expression").trim().to_owned(),
            program: names.compile(text(validation, "expression"), Wanted::Bool, true),
            message: text(validation, "message").trim().to_owned(),
            message_program: match message.is_empty() {
                true => None,
                false => names.compile(message, Wanted::Text, false).ok(),
            },
            reason: match text(validation, "reason") {
                "Forbidden" => ("Forbidden", 403),
                "RequestEntityTooLarge" => ("RequestEntityTooLarge", 413),
                _ => INVALID,
            },
        }
    }
}

impl Binding {
    pub(super) fn of(object: &Value) -> Self {
        let spec = &object["spec"];
        let actions = texts(spec, "validationActions");
        let param = present(spec, "paramRef").map(|param| ParamRef {
            name: text(param, "name").to_owned(),
            namespace: text(param, "namespace").to_owned(),
            selector: present(param, "selector").map(LabelSelector::of_object),
            deny_if_missing: text(param, "parameterNotFoundAction") == "Deny",
        });
        Self {
            name: meta::text(object, "name").to_owned(),
            policy: text(spec, "policyName").to_owned(),
            actions: actions
                .iter()
                .filter_map(|action| match action.as_str() {
                    "Deny" => Some(Action::Deny),
                    "Warn" => Some(Action::Warn),
                    _ => None,
                })
                .collect(),
            limits: present(spec, "matchResources").map(Matching::of),
            param,
        }
    }
}

/// Group, version and kind, from `apiVersion` and `kind`.
fn group_version_kind(kind: &Value) -> [String; 3] {
    let (group, version) = text(kind, "apiVersion").split_once('/').unwrap_or(("", text(kind, "apiVersion")));
    [group.to_owned(), version.to_owned(), text(kind, "kind").to_owned()]
}
