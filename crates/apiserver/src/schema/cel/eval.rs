//! Values of expressions, found without a way to end the process: every step is counted, and depth grows the stack.

use super::super::Pattern;
use super::admission::Variables;
use super::ast::{Expr, Fold, FoldKind, Literal, Node};
use super::functions;
use super::value::{Failure, Outcome, Text, Val};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Steps that one expression may take, as in a real server. Ours are counted more coarsely than its costs.
const STEP_LIMIT: u64 = 1_000_000;

/// What an expression is evaluated with.
pub(super) struct Evaluator<'a, 'e> {
    scope: Vec<(&'e str, Val<'a>)>,
    /// Regular expressions that were written down, compiled.
    patterns: &'e BTreeMap<String, Pattern>,
    /// The variables of a policy, found when they are needed.
    variables: Option<Variables<'a, 'e>>,
    /// Steps taken.
    pub steps: u64,
}

impl<'a, 'e> Evaluator<'a, 'e> {
    /// For a rule of a schema.
    pub(super) fn of_object(
        patterns: &'e BTreeMap<String, Pattern>,
        this: Val<'a>,
        old: Option<Val<'a>>,
    ) -> Self {
        let mut scope = vec![("self", this)];
        scope.extend(old.map(|old| ("oldSelf", old)));
        Self::new(patterns, scope, None)
    }

    pub(super) fn new(
        patterns: &'e BTreeMap<String, Pattern>,
        scope: Vec<(&'e str, Val<'a>)>,
        variables: Option<Variables<'a, 'e>>,
    ) -> Self {
        Self { scope, patterns, variables, steps: 0 }
    }

    /// Counts work; a string of ten characters is about as much as a step.
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Failure> {
        self.steps = self.steps.saturating_add(steps as u64);
        match self.steps > STEP_LIMIT {
            true => Err(Failure("operation cancelled: actual cost limit exceeded".to_owned())),
            false => Ok(()),
        }
    }

    pub(super) fn pattern(&self, text: &str) -> Result<Pattern, Failure> {
        match self.patterns.get(text) {
            Some(pattern) => Ok(pattern.clone()),
            None => Pattern::new(text).map_err(Failure),
        }
    }

    pub(super) fn eval(&mut self, expr: &'e Expr) -> Outcome<'a> {
        stacker::maybe_grow(128 << 10, 2 << 20, || self.eval_here(expr))
    }

    fn eval_here(&mut self, expr: &'e Expr) -> Outcome<'a> {
        match &expr.node {
            Node::Literal(literal) => Ok(value_of(literal)),
            Node::Ident(name) => {
                self.spend(1)?;
                self.ident(name)
            }
            Node::Select { operand, field, optional } => self.select(operand, field, *optional),
            Node::Has { operand, field } => self.has(operand, field),
            Node::Index { operand, index, optional } => {
                let operand = self.eval(operand)?;
                let index = self.eval(index)?;
                self.spend(1)?;
                match &operand {
                    Val::Optional(None) => Ok(operand),
                    Val::Optional(Some(inner)) => optional_of(index_of(inner, &index)?.ok()),
                    _ if *optional => optional_of(index_of(&operand, &index)?.ok()),
                    _ => index_of(&operand, &index)?,
                }
            }
            Node::Call { target, name, args } => {
                let mut values = Vec::with_capacity(args.len() + 1);
                for arg in target.iter().map(|target| &**target).chain(args) {
                    values.push(self.eval(arg)?);
                }
                self.spend(1)?;
                functions::call(self, name, target.is_some(), &values)
            }
            Node::And(parts) => self.series(parts, false),
            Node::Or(parts) => self.series(parts, true),
            Node::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                match self.eval(condition)? {
                    Val::Bool(true) => self.eval(yes),
                    Val::Bool(false) => self.eval(no),
                    _ => Err(Failure::no_overload()),
                }
            }
            Node::List(items) => self.list(items),
            Node::Map(entries) => self.map(entries),
            Node::Fold(fold) => self.fold(fold),
            Node::Message(name) => Err(Failure(format!("unknown type: {name}"))),
        }
    }

    fn select(&mut self, operand: &'e Expr, field: &'e str, optional: bool) -> Outcome<'a> {
        if let Some(variables) = self.variables_of(operand) {
            let value = variables.get(field);
            return if optional { optional_of(Some(value?)) } else { value };
        }
        let operand = self.eval(operand)?;
        self.spend(1)?;
        let key = Val::from(field.to_owned());
        match &operand {
            Val::Optional(None) => Ok(operand),
            Val::Optional(Some(inner)) => optional_of(field_of(inner, &key)?),
            _ if optional => optional_of(field_of(&operand, &key)?),
            _ => field_of(&operand, &key)?.ok_or_else(|| no_such_key(&key)),
        }
    }

    fn has(&mut self, operand: &'e Expr, field: &'e str) -> Outcome<'a> {
        if let Some(variables) = self.variables_of(operand) {
            return Ok(Val::Bool(variables.declares(field)));
        }
        let operand = self.eval(operand)?;
        let key = Val::from(field.to_owned());
        let found = match &operand {
            Val::Optional(None) => None,
            Val::Optional(Some(inner)) => field_of(inner, &key)?,
            _ => field_of(&operand, &key)?,
        };
        Ok(Val::Bool(found.is_some()))
    }

    /// The variables of a policy, if that is what a name stands for here.
    fn variables_of(&self, operand: &Expr) -> Option<Variables<'a, 'e>> {
        let variables = self.variables.as_ref()?;
        match &operand.node {
            Node::Ident(name)
                if name == "variables" && !self.scope.iter().any(|(known, _)| known == name) =>
            {
                Some(variables.clone())
            }
            _ => None,
        }
    }

    fn ident(&self, name: &str) -> Outcome<'a> {
        if let Some((_, value)) = self.scope.iter().rev().find(|(known, _)| *known == name) {
            return Ok(value.clone());
        }
        const TYPES: [&str; 11] = [
            "bool",
            "int",
            "uint",
            "double",
            "string",
            "bytes",
            "null_type",
            "list",
            "map",
            "type",
            "optional_type",
        ];
        match TYPES.iter().find(|known| **known == name) {
            Some(type_) => Ok(Val::Type(type_)),
            None => Err(Failure(format!("no such attribute(s): {name}"))),
        }
    }

    /// Ends at the first part that decides; a part that fails counts only if no later one decides.
    fn series(&mut self, parts: &'e [Expr], decisive: bool) -> Outcome<'a> {
        let mut failed = None;
        for part in parts {
            match self.eval(part) {
                Ok(Val::Bool(value)) if value == decisive => return Ok(Val::Bool(decisive)),
                Ok(Val::Bool(_)) => {}
                Ok(_) => failed = failed.or(Some(Failure::no_overload())),
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        failed.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    fn list(&mut self, items: &'e [(Expr, bool)]) -> Outcome<'a> {
        self.spend(10)?;
        let mut values = Vec::with_capacity(items.len());
        for (item, optional) in items {
            match self.eval(item)? {
                Val::Optional(inner) if *optional => values.extend(inner.map(|inner| (*inner).clone())),
                value => values.push(value),
            }
        }
        Ok(Val::List(Rc::new(values)))
    }

    fn map(&mut self, entries: &'e [(Expr, Expr, bool)]) -> Outcome<'a> {
        self.spend(30)?;
        let mut values: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(entries.len());
        for (key, value, optional) in entries {
            let key = self.eval(key)?;
            let value = match self.eval(value)? {
                Val::Optional(None) if *optional => continue,
                Val::Optional(Some(inner)) if *optional => (*inner).clone(),
                value => value,
            };
            if values.iter().any(|(known, _)| known.equals(&key) == Ok(true)) {
                return Err(Failure(format!("Failed with repeated key [{}]", functions::shown(&key))));
            }
            values.push((key, value));
        }
        Ok(Val::Map(Rc::new(values)))
    }

    /// Evaluates with names bound.
    fn with(&mut self, fold: &'e Fold, first: &Val<'a>, second: &Val<'a>, expr: &'e Expr) -> Outcome<'a> {
        let before = self.scope.len();
        self.scope.push((&fold.var, first.clone()));
        if let Some(name) = &fold.second {
            self.scope.push((name, second.clone()));
        }
        let value = self.eval(expr);
        self.scope.truncate(before);
        value
    }

    fn fold(&mut self, fold: &'e Fold) -> Outcome<'a> {
        let range = self.eval(&fold.range)?;
        if let Val::Optional(inner) = &range {
            let (Some(inner), Some(body)) = (inner, &fold.body) else { return Ok(Val::Optional(None)) };
            let value = self.with(fold, inner, &Val::Null, body)?;
            let flat = fold.kind == FoldKind::OptFlatMap;
            return Ok(if flat { value } else { Val::Optional(Some(Rc::new(value))) });
        }
        let pairs = self.pairs(&range, fold.second.is_some())?;
        match fold.kind {
            FoldKind::All | FoldKind::Exists => self.quantified(fold, pairs, fold.kind == FoldKind::Exists),
            _ => self.collected(fold, pairs),
        }
    }

    /// What the names of a macro stand for, in turn.
    fn pairs(&mut self, range: &Val<'a>, two: bool) -> Result<Vec<(Val<'a>, Outcome<'a>)>, Failure> {
        if let Some(items) = range.items() {
            let pairs = items.into_iter().enumerate().map(|(index, item)| match two {
                true => (Val::Int(index as i64), item),
                false => item.map_or_else(|failure| (Val::Null, Err(failure)), |item| (item, Ok(Val::Null))),
            });
            return Ok(pairs.collect());
        }
        let entries = range.entries().ok_or_else(Failure::no_overload)?;
        Ok(match two {
            true => entries,
            false => entries.into_iter().map(|(key, _)| (key, Ok(Val::Null))).collect(),
        })
    }

    fn quantified(
        &mut self,
        fold: &'e Fold,
        pairs: Vec<(Val<'a>, Outcome<'a>)>,
        decisive: bool,
    ) -> Outcome<'a> {
        let Some(filter) = &fold.filter else { return Ok(Val::Bool(!decisive)) };
        let mut failed = None;
        for (first, second) in pairs {
            self.spend(2)?;
            let value = second.and_then(|second| self.with(fold, &first, &second, filter));
            match value {
                Ok(Val::Bool(value)) if value == decisive => return Ok(Val::Bool(decisive)),
                Ok(Val::Bool(_)) => {}
                Ok(_) => failed = failed.or(Some(Failure::no_overload())),
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        failed.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    fn collected(&mut self, fold: &'e Fold, pairs: Vec<(Val<'a>, Outcome<'a>)>) -> Outcome<'a> {
        let mut kept: Vec<(Val<'a>, Val<'a>)> = Vec::new();
        for (first, second) in pairs {
            self.spend(2)?;
            let second = second?;
            if let Some(filter) = &fold.filter {
                match self.with(fold, &first, &second, filter)? {
                    Val::Bool(true) => {}
                    Val::Bool(false) => continue,
                    _ => return Err(Failure::no_overload()),
                }
            }
            let value = match &fold.body {
                Some(body) => self.with(fold, &first, &second, body)?,
                None => first.clone(),
            };
            kept.push((first, value));
        }
        Ok(match fold.kind {
            FoldKind::ExistsOne => Val::Bool(kept.len() == 1),
            FoldKind::TransformMap => Val::Map(Rc::new(kept)),
            FoldKind::SortBy => {
                let mut failed = None;
                kept.sort_by(|(_, a), (_, b)| {
                    a.compare(b).unwrap_or_else(|failure| {
                        failed = Some(failure);
                        Ordering::Equal
                    })
                });
                if let Some(failure) = failed {
                    return Err(failure);
                }
                Val::List(Rc::new(kept.into_iter().map(|(item, _)| item).collect()))
            }
            _ => Val::List(Rc::new(kept.into_iter().map(|(_, value)| value).collect())),
        })
    }
}

fn value_of<'a>(literal: &Literal) -> Val<'a> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(value) => Val::Bool(*value),
        Literal::Int(value) => Val::Int(*value),
        Literal::Uint(value) => Val::Uint(*value),
        Literal::Double(value) => Val::Double(*value),
        Literal::String(text) => Val::Text(Text::Own(text.as_str().into())),
        Literal::Bytes(bytes) => Val::Bytes(bytes.as_slice().into()),
    }
}

fn optional_of<'a>(value: Option<Val<'a>>) -> Outcome<'a> {
    Ok(match value {
        // Optionals do not nest here.
        Some(Val::Optional(inner)) => Val::Optional(inner),
        value => Val::Optional(value.map(Rc::new)),
    })
}

/// The value of a field; `null` and whatever else has no fields has not got this one.
fn field_of<'a>(operand: &Val<'a>, key: &Val<'a>) -> Result<Option<Val<'a>>, Failure> {
    match operand {
        Val::Null | Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Text(_) => Ok(None),
        Val::Authorization(question) => Ok(question.field(key.text().unwrap_or_default())),
        _ => operand.get(key),
    }
}

fn no_such_key(key: &Val<'_>) -> Failure {
    Failure(format!("no such key: {}", functions::shown(key)))
}

/// The item at an index or key; the inner failure says that there is none.
fn index_of<'a>(operand: &Val<'a>, index: &Val<'a>) -> Result<Outcome<'a>, Failure> {
    match (operand, index) {
        (Val::JsonList(..) | Val::List(_), index) => {
            let position = match index {
                Val::Int(index) => usize::try_from(*index).ok(),
                Val::Uint(index) => usize::try_from(*index).ok(),
                Val::Double(index) if index.fract() == 0.0 && *index >= 0.0 => Some(*index as usize),
                _ => return Err(Failure(format!("unsupported index type '{}' in list", index.type_name()))),
            };
            match position.and_then(|position| operand.item(position)) {
                Some(item) => Ok(Ok(item?)),
                None => Ok(Err(Failure(format!("index out of bounds: {}", functions::shown(index))))),
            }
        }
        _ => Ok(field_of(operand, index)?.ok_or_else(|| no_such_key(index))),
    }
}
