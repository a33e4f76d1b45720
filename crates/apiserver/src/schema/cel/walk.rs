//! The walk over schema, object and old object.

use super::super::correlate::{Correlated, old_item};
use super::super::path::Path;
use super::super::{Schema, Type};
use super::compile::{Compiled, Tree};
use super::eval::Evaluator;
use super::value::{Failure, Val, view};
use crate::error::{FieldError, FieldErrorKind};
use serde_json::Value;
use std::rc::Rc;

/// Steps that all rules of an object may take together.
const STEP_BUDGET: u64 = 10_000_000;
/// Bytes that a message which a rule makes may have.
const MESSAGE_LIMIT: usize = 5 * 1024;

/// Where the walk is.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub schema: &'a Schema,
    /// The old value of this place.
    pub current: Option<Correlated<'a>>,
    /// The closest place above that has one.
    pub nearest: Option<Correlated<'a>>,
    pub is_root: bool,
}

impl<'a> Place<'a> {
    fn unchanged(&self) -> bool {
        self.current.or(self.nearest).is_some_and(|pair| pair.unchanged())
    }

    fn field(&self, name: &str, schema: &'a Schema) -> Place<'a> {
        let below = Place { schema, is_root: false, ..*self };
        match self.current {
            None => below,
            // Old and new are shown in the version of the request, so a change of these cannot be seen.
            Some(_) if self.is_root && matches!(name, "apiVersion" | "kind") => {
                Place { current: None, nearest: None, ..below }
            }
            Some(pair) => Place { current: pair.field(name), nearest: Some(pair), ..below },
        }
    }

    fn item(&self, index: usize, schema: &'a Schema) -> Place<'a> {
        let below = Place { schema, is_root: false, ..*self };
        match self.current {
            None => below,
            Some(pair) => Place { current: pair.item(index), nearest: Some(pair), ..below },
        }
    }
}

/// What was found so far.
#[derive(Default)]
pub(super) struct Walk {
    pub errors: Vec<FieldError>,
    steps: u64,
    /// Out of steps: no further rule is looked at.
    exhausted: bool,
}

impl Walk {
    pub(super) fn visit<'a>(
        &mut self,
        tree: &Tree,
        path: &Path<'_>,
        new: &'a Value,
        old: Option<&'a Value>,
        place: Place<'a>,
    ) {
        if new.is_null() || self.exhausted {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        self.rules(tree, path, new, old, place);
        match new {
            Value::Object(fields) => {
                let old = old.and_then(Value::as_object);
                if let (Some(tree), Some(schema)) = (&tree.additional, &place.schema.additional_properties) {
                    for (name, value) in fields {
                        let old = old.and_then(|old| old.get(name));
                        self.visit(tree, &path.key(name), value, old, place.field(name, schema));
                    }
                }
                for (name, tree) in &tree.properties {
                    let (Some(value), Some(schema)) = (fields.get(name), place.schema.properties.get(name))
                    else {
                        continue;
                    };
                    let old = old.and_then(|old| old.get(name));
                    self.visit(tree, &path.field(name), value, old, place.field(name, schema));
                }
            }
            Value::Array(items) => {
                let (Some(tree), Some(schema)) = (&tree.items, &place.schema.items) else { return };
                let old = old.and_then(Value::as_array);
                for (index, item) in items.iter().enumerate() {
                    let old = old.and_then(|old| old_item(place.schema, old, item));
                    self.visit(tree, &path.index(index), item, old, place.item(index, schema));
                }
            }
            _ => {}
        }
    }

    fn rules<'a>(
        &mut self,
        tree: &Tree,
        path: &Path<'_>,
        new: &'a Value,
        old: Option<&'a Value>,
        place: Place<'a>,
    ) {
        let type_name = place.schema.type_name();
        for compiled in &tree.rules {
            if self.exhausted {
                return;
            }
            let optional = compiled.rule.optional_old_self == Some(true);
            if compiled.uses_old && old.is_none() && !optional {
                continue;
            }
            let this = view(new, place.schema, tree.resource);
            let old_value = old.map(|old| view(old, place.schema, tree.resource)).transpose();
            let result = match (this, old_value) {
                (Ok(this), Ok(old)) => self.evaluate(compiled, this, old, optional),
                (Err(failure), _) | (_, Err(failure)) => Err(failure),
            };
            match result {
                Ok((true, _)) => {}
                Ok((false, message)) => self.broken(compiled, path, new, place, message),
                Err(Failure(why)) => {
                    let rule = rule_text(compiled);
                    let words = if why.starts_with("no such overload") {
                        let what =
                            "call arguments did not match a supported operator, function or macro signature";
                        format!("'{why}': {what} for rule: {rule}")
                    } else if why.starts_with("operation cancelled") {
                        self.exhausted = true;
                        format!(
                            "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
                        )
                    } else {
                        format!("{why} evaluating rule: {rule}")
                    };
                    self.errors.push(FieldError::new(
                        path.to_field(),
                        FieldErrorKind::Invalid,
                        type_name,
                        words,
                    ));
                }
            }
            if self.steps > STEP_BUDGET && !self.exhausted {
                self.exhausted = true;
                let words = "validation failed due to running out of cost budget, no further validation rules will be run";
                self.errors.push(FieldError::new(path.to_field(), FieldErrorKind::Invalid, type_name, words));
            }
        }
    }

    /// Whether the rule holds, and what it has to say if it does not.
    fn evaluate<'a>(
        &mut self,
        compiled: &Compiled,
        this: Val<'a>,
        old: Option<Val<'a>>,
        optional: bool,
    ) -> Result<(bool, Option<String>), Failure> {
        let shown_old = match optional {
            true => Some(Val::Optional(old.clone().map(Rc::new))),
            false => old.clone(),
        };
        let mut evaluator = Evaluator::of_object(&compiled.patterns, this.clone(), shown_old);
        let result = evaluator.eval(&compiled.expr);
        self.steps += evaluator.steps;
        match result? {
            Val::Bool(true) => return Ok((true, None)),
            Val::Bool(false) => {}
            _ => return Err(Failure::no_overload()),
        }
        let Some(message) = &compiled.message else { return Ok((false, None)) };
        // The real server shows the old value itself here, not an optional of it.
        let mut evaluator = Evaluator::of_object(&compiled.patterns, this, old);
        let text =
            evaluator.eval(message).ok().and_then(|value| value.text().map(|text| text.trim().to_owned()));
        self.steps += evaluator.steps;
        Ok((
            false,
            text.filter(|text| !text.is_empty() && text.len() <= MESSAGE_LIMIT && !text.contains('\n')),
        ))
    }

    fn broken(
        &mut self,
        compiled: &Compiled,
        path: &Path<'_>,
        new: &Value,
        place: Place<'_>,
        made: Option<String>,
    ) {
        if !compiled.uses_old && place.unchanged() {
            return;
        }
        let rule = &compiled.rule;
        let detail = made.unwrap_or_else(|| match &rule.message {
            Some(message) => message.trim().to_owned(),
            None => format!("failed rule: {}", rule.rule.trim()),
        });
        let field = match compiled.field_path.as_deref() {
            Some(below) => path.field(below).to_field(),
            None => path.to_field(),
        };
        let (kind, shows) = match rule.reason.as_deref() {
            Some("FieldValueForbidden") => (FieldErrorKind::Forbidden, true),
            Some("FieldValueRequired") => (FieldErrorKind::Required, true),
            Some("FieldValueDuplicate") => (FieldErrorKind::Duplicate, false),
            _ => (FieldErrorKind::Invalid, true),
        };
        let detail = if shows { detail } else { String::new() };
        let omitted = matches!(place.schema.type_, Some(Type::Object | Type::Array));
        self.errors.push(match omitted {
            true => FieldError::bare(field, kind, detail),
            false => FieldError::new(field, kind, new.clone(), detail),
        });
    }
}

fn rule_text(compiled: &Compiled) -> &str {
    compiled.rule.message.as_deref().unwrap_or(&compiled.rule.rule).trim()
}
