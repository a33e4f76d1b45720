//! Expressions of admission policies: their names, their types, and how they are evaluated.
//!
//! Objects are looked at without their schemas, as a real server does: `object.spec.x` is of any type until it is there.

use super::super::{Pattern, Schema, Type as SchemaType};
use super::ast::{Expr, describe};
use super::authorizer::{self, Authorization, Subject};
use super::checker::check;
use super::compile::collect_pattern;
use super::escape::is_reserved;
use super::eval::Evaluator;
use super::parser::parse;
use super::types::Type;
use super::value::{Failure, Outcome, Val, plain};
use crate::auth::{User, rbac::Rbac};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

pub(crate) use authorizer::ResourceCheck;

/// An expression that was read and checked once.
#[derive(Debug)]
pub(crate) struct Program {
    /// As it was written.
    pub source: String,
    expr: Expr,
}

/// What all expressions of a policy share.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// In the order of their declaration: one may use those before it.
    pub variables: Vec<(String, Result<Program, String>)>,
    patterns: BTreeMap<String, Pattern>,
}

impl Programs {
    /// Notes the regular expressions that a program has, so that they are compiled once.
    pub(crate) fn learn(&mut self, program: &Program) {
        program.expr.walk(&mut |expr| collect_pattern(expr, &mut self.patterns));
    }
}

/// What an expression has to come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Bool,
    Text,
    TextOrNull,
    Anything,
}

/// The names that expressions of a policy may use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    params: bool,
    variables: Option<Arc<BTreeMap<String, Type<'static>>>>,
}

impl Environment {
    /// `params` is a name only if the policy has a kind of parameters.
    pub(crate) fn new(params: bool) -> Self {
        Self { params, variables: None }
    }

    /// Whether a variable may have this name.
    pub(crate) fn is_identifier(name: &str) -> bool {
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let made_of = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        begins && made_of && !is_reserved(name)
    }

    /// Lets `variables` be a name, even before the first is declared.
    pub(crate) fn allow_variables(&mut self) {
        self.variables.get_or_insert_default();
    }

    /// Reads an expression and checks it, or says what is wrong with it.
    pub(crate) fn compile(&self, source: &str, wanted: Wanted, authorizer: bool) -> Result<Program, String> {
        self.compile_typed(source, wanted, authorizer).map(|(program, _)| program)
    }

    /// The same for a variable, which later expressions may use. One that is wrong is of any type for them.
    pub(crate) fn declare(&mut self, name: &str, source: &str) -> Result<Program, String> {
        let compiled = self.compile_typed(source, Wanted::Anything, true);
        let type_ = compiled.as_ref().map_or(Type::Dyn, |(_, type_)| as_declared(type_));
        let variables = self.variables.get_or_insert_default();
        Arc::make_mut(variables).insert(name.to_owned(), type_);
        compiled.map(|(program, _)| program)
    }

    fn compile_typed(
        &self,
        source: &str,
        wanted: Wanted,
        authorizer: bool,
    ) -> Result<(Program, Type<'static>), String> {
        let described = |issues| format!("compilation failed: {}", describe(source, issues));
        let expr = parse(source).map_err(described)?;
        let type_ = check(&expr, self.scope(authorizer)).map_err(described)?;
        let must = match (wanted, &type_) {
            (Wanted::Bool, Type::Bool) | (Wanted::Text | Wanted::TextOrNull, Type::String) => None,
            (Wanted::TextOrNull, Type::Null) | (Wanted::Anything, _) => None,
            (Wanted::Bool, _) => Some("bool"),
            (Wanted::Text, _) => Some("string"),
            (Wanted::TextOrNull, _) => Some("one of [string null_type]"),
        };
        match must {
            None => Ok((Program { source: source.to_owned(), expr }, type_)),
            Some(must) => {
                let found =
                    if matches!(type_, Type::Null) { "null_type".to_owned() } else { type_.to_string() };
                Err(format!("must evaluate to {must} but got {found}"))
            }
        }
    }

    fn scope(&self, authorizer: bool) -> Vec<(String, Type<'static>)> {
        let mut scope = vec![
            ("object".to_owned(), Type::Dyn),
            ("oldObject".to_owned(), Type::Dyn),
            ("namespaceObject".to_owned(), Type::Object(&NAMESPACE, false)),
            ("request".to_owned(), Type::Object(&REQUEST, false)),
        ];
        if self.params {
            scope.push(("params".to_owned(), Type::Dyn));
        }
        if authorizer {
            scope.push(("authorizer".to_owned(), Type::Opaque(authorizer::AUTHORIZER)));
        }
        scope.extend(
            self.variables
                .iter()
                .map(|variables| ("variables".to_owned(), Type::Variables(Arc::clone(variables)))),
        );
        scope
    }
}

/// The type that a variable has for expressions that use it: what is neither simple nor made of simple ones is of any type.
fn as_declared(type_: &Type<'static>) -> Type<'static> {
    let below = |type_: &Type<'static>| Box::new(as_declared(type_));
    match type_ {
        Type::List(item) => Type::List(below(item)),
        Type::Map(key, value) => Type::Map(below(key), below(value)),
        Type::Null | Type::Bool | Type::Int | Type::Uint | Type::Double | Type::String | Type::Bytes => {
            type_.clone()
        }
        Type::Duration | Type::Timestamp => type_.clone(),
        _ => Type::Dyn,
    }
}

fn text() -> Schema {
    Schema { type_: Some(SchemaType::String), ..Schema::default() }
}

fn simple(type_: SchemaType) -> Schema {
    Schema { type_: Some(type_), ..Schema::default() }
}

fn time() -> Schema {
    let mut time = text();
    time.bounds.format = Some("date-time".to_owned());
    time
}

fn list(items: Schema) -> Schema {
    Schema { items: Some(Box::new(items)), ..simple(SchemaType::Array) }
}

fn map(values: Schema) -> Schema {
    Schema { additional_properties: Some(Box::new(values)), ..simple(SchemaType::Object) }
}

fn object<const N: usize>(fields: [(&str, Schema); N]) -> Schema {
    let properties = fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    Schema { properties, ..simple(SchemaType::Object) }
}

static REQUEST: LazyLock<Schema> = LazyLock::new(|| {
    let named = |last: &str| object([("group", text()), ("version", text()), (last, text())]);
    let user = object([
        ("username", text()),
        ("uid", text()),
        ("groups", list(text())),
        ("extra", map(list(text()))),
    ]);
    object([
        ("kind", named("kind")),
        ("resource", named("resource")),
        ("subResource", text()),
        ("requestKind", named("kind")),
        ("requestResource", named("resource")),
        ("requestSubResource", text()),
        ("name", text()),
        ("namespace", text()),
        ("operation", text()),
        ("userInfo", user),
        ("dryRun", simple(SchemaType::Boolean)),
        // Of any type.
        ("options", Schema { int_or_string: true, ..Schema::default() }),
    ])
});

static NAMESPACE: LazyLock<Schema> = LazyLock::new(|| {
    let condition = object([
        ("status", text()),
        ("type", text()),
        ("lastTransitionTime", time()),
        ("message", text()),
        ("reason", text()),
    ]);
    let metadata = object([
        ("name", text()),
        ("generateName", text()),
        ("namespace", text()),
        ("labels", map(text())),
        ("annotations", map(text())),
        ("UID", text()),
        ("creationTimestamp", time()),
        ("deletionGracePeriodSeconds", simple(SchemaType::Integer)),
        ("deletionTimestamp", time()),
        ("generation", simple(SchemaType::Integer)),
        ("resourceVersion", text()),
        ("finalizers", list(text())),
    ]);
    object([
        ("metadata", metadata),
        ("spec", object([("finalizers", list(text()))])),
        ("status", object([("conditions", list(condition)), ("phase", text())])),
    ])
});

/// What complaints call the type of a value with fields, if it is one of these.
pub(super) fn type_name(schema: &Schema) -> Option<&'static str> {
    let is = |known: &Schema| std::ptr::eq(schema, known);
    let field = |of: &'static Schema, name: &str| of.properties.get(name).is_some_and(is);
    Some(match schema {
        _ if is(&REQUEST) => "kubernetes.AdmissionRequest",
        _ if field(&REQUEST, "kind") || field(&REQUEST, "requestKind") => "kubernetes.GroupVersionKind",
        _ if field(&REQUEST, "resource") || field(&REQUEST, "requestResource") => {
            "kubernetes.GroupVersionResource"
        }
        _ if field(&REQUEST, "userInfo") => "kubernetes.UserInfo",
        _ if is(&NAMESPACE) => "kubernetes.Namespace",
        _ if field(&NAMESPACE, "metadata") => "kubernetes.NamespaceMetadata",
        _ if field(&NAMESPACE, "spec") => "kubernetes.NamespaceSpec",
        _ if field(&NAMESPACE, "status") => "kubernetes.NamespaceStatus",
        _ => return None,
    })
}

/// What the names stand for in one request.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub object: &'a Value,
    pub old_object: &'a Value,
    pub request: &'a Value,
    pub namespace: &'a Value,
    pub params: &'a Value,
    pub rbac: &'a Rbac,
    pub user: &'a User,
    pub request_resource: &'a ResourceCheck,
}

/// How many steps are left to the expressions of a policy.
#[derive(Debug)]
pub(crate) struct Budget(pub u64);

/// The expressions of a policy have taken too many steps together.
#[derive(Debug)]
pub(crate) struct OutOfBudget;

/// Evaluates the expressions of a policy for one request.
pub(crate) struct Session<'a, 'e> {
    roots: Vec<(&'e str, Val<'a>)>,
    variables: Option<Variables<'a, 'e>>,
    programs: &'e Programs,
}

impl<'a, 'e> Session<'a, 'e> {
    pub(crate) fn new(programs: &'e Programs, inputs: &Inputs<'a>, authorizer: bool) -> Self {
        let Inputs { object, old_object, request, namespace, params, rbac, user, request_resource } = *inputs;
        let mut roots = vec![
            ("object", plain(object)),
            ("oldObject", plain(old_object)),
            ("request", plain(request)),
            ("namespaceObject", plain(namespace)),
            ("params", plain(params)),
        ];
        if authorizer {
            let subject =
                Subject { rbac, user: Rc::new(user.clone()), request: Rc::new(request_resource.clone()) };
            roots.push(("authorizer", authorizer::value(Authorization::Authorizer(subject))));
        }
        let values = programs.variables.iter().map(|_| None).collect();
        let variables = Some(Variables {
            programs,
            roots: Rc::new(roots.clone()),
            values: Rc::new(RefCell::new(values)),
            steps: Rc::default(),
        });
        Self { roots, variables, programs }
    }

    /// Whether an expression holds, or why that cannot be said.
    pub(crate) fn holds(
        &self,
        program: &'e Program,
        budget: &mut Budget,
    ) -> Result<Result<bool, String>, OutOfBudget> {
        Ok(self.evaluate(program, budget)?.and_then(|value| match value {
            Val::Bool(holds) => Ok(holds),
            _ => Err(failed(program, &Failure::no_overload())),
        }))
    }

    /// The text that an expression comes to; nothing if it fails.
    pub(crate) fn text(
        &self,
        program: &'e Program,
        budget: &mut Budget,
    ) -> Result<Option<String>, OutOfBudget> {
        let value = self.evaluate(program, budget)?.ok();
        Ok(value.and_then(|value| value.text().map(str::to_owned)))
    }

    fn evaluate(
        &self,
        program: &'e Program,
        budget: &mut Budget,
    ) -> Result<Result<Val<'a>, String>, OutOfBudget> {
        let mut evaluator =
            Evaluator::new(&self.programs.patterns, self.roots.clone(), self.variables.clone());
        let value = evaluator.eval(&program.expr);
        let of_variables = self.variables.as_ref().map_or(0, |variables| variables.steps.take());
        let left = budget.0.checked_sub(evaluator.steps.saturating_add(of_variables));
        budget.0 = left.ok_or(OutOfBudget)?;
        Ok(value.map_err(|failure| failed(program, &failure)))
    }
}

fn failed(program: &Program, Failure(why): &Failure) -> String {
    format!("expression '{}' resulted in error: {why}", program.source)
}

/// The variables of a policy: each is evaluated once, when an expression first needs it.
#[derive(Clone)]
pub(super) struct Variables<'a, 'e> {
    programs: &'e Programs,
    roots: Rc<Vec<(&'e str, Val<'a>)>>,
    values: Rc<RefCell<Vec<Option<Outcome<'a>>>>>,
    steps: Rc<Cell<u64>>,
}

impl<'a, 'e> Variables<'a, 'e> {
    pub(super) fn declares(&self, name: &str) -> bool {
        self.programs.variables.iter().any(|(known, _)| known == name)
    }

    pub(super) fn get(&self, name: &str) -> Outcome<'a> {
        // Of two with the same name the later one counts.
        let place = self.programs.variables.iter().rposition(|(known, _)| known == name);
        let Some(place) = place else { return Err(Failure(format!("no such key: {name}"))) };
        if let Some(known) = &self.values.borrow()[place] {
            return known.clone();
        }
        // One that asks for itself, under a name that was declared before, gets this.
        self.values.borrow_mut()[place] = Some(Err(Failure(format!("no such key: {name}"))));
        let outcome = match &self.programs.variables[place].1 {
            Err(why) => Err(Failure(format!("composited variable {name:?} fails to compile: {why}"))),
            Ok(program) => {
                let roots = self.roots.to_vec();
                let mut evaluator = Evaluator::new(&self.programs.patterns, roots, Some(self.clone()));
                let value = evaluator.eval(&program.expr);
                self.steps.set(self.steps.get().saturating_add(evaluator.steps));
                value.map_err(|Failure(why)| {
                    Failure(format!("composited variable {name:?} fails to evaluate: {why}"))
                })
            }
        };
        self.values.borrow_mut()[place] = Some(outcome.clone());
        outcome
    }
}
