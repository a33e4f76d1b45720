//! Rules, read and checked once.

use super::super::registration::child;
use super::super::{ListType, Pattern, Rule, Schema};
use super::ast::{Expr, Literal, Node, describe};
use super::checker::check;
use super::escape::escape;
use super::field_path;
use super::parser::parse;
use super::types::{Type, declared};
use crate::error::{FieldError, FieldErrorKind};
use serde_json::{Value, to_string};
use std::collections::BTreeMap;

/// The rules of a schema and of all that is below it. Where there are none there is nothing.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub rules: Vec<Compiled>,
    pub properties: BTreeMap<String, Tree>,
    pub additional: Option<Box<Tree>>,
    pub items: Option<Box<Tree>>,
    /// Whether this is an object of its own, or an embedded one.
    pub resource: bool,
}

/// A rule that can be evaluated.
#[derive(Debug)]
pub(super) struct Compiled {
    pub rule: Rule,
    pub expr: Expr,
    pub message: Option<Expr>,
    pub field_path: Option<String>,
    pub uses_old: bool,
    pub patterns: BTreeMap<String, Pattern>,
}

impl Tree {
    fn is_empty(&self) -> bool {
        let Self { rules, properties, additional, items, resource: _ } = self;
        rules.is_empty() && properties.is_empty() && additional.is_none() && items.is_none()
    }
}

/// Compiles all rules of a schema.
pub(super) struct Compiler {
    pub errors: Vec<FieldError>,
}

impl Compiler {
    /// `no_old` is the place above which old values cannot be told apart.
    pub(super) fn tree(
        &mut self,
        path: &str,
        schema: &Schema,
        resource: bool,
        no_old: Option<&str>,
    ) -> Option<Tree> {
        let mut tree = Tree { resource, ..Tree::default() };
        if let Some(values) = &schema.additional_properties {
            let path = child(path, "additionalProperties");
            let below = self.tree(&path, values, values.embedded_resource, no_old);
            tree.additional = below.map(Box::new);
        }
        for (name, property) in &schema.properties {
            let visible = escape(name).is_none() || declared(property, property.embedded_resource).is_some();
            let below = format!("{}[{name}]", child(path, "properties"));
            if let Some(below) = self.tree(&below, property, property.embedded_resource, no_old)
                && visible
            {
                tree.properties.insert(name.clone(), below);
            }
        }
        if let Some(items) = &schema.items {
            let correlated = matches!(schema.list_type, ListType::Map(_));
            let no_old = no_old.or_else(|| (!correlated).then_some(path));
            let below = self.tree(&child(path, "items"), items, items.embedded_resource, no_old);
            tree.items = below.map(Box::new);
        }
        if !schema.rules.is_empty() {
            self.rules(path, schema, resource, no_old, &mut tree.rules);
        }
        (!tree.is_empty()).then_some(tree)
    }

    fn rules(
        &mut self,
        path: &str,
        schema: &Schema,
        resource: bool,
        no_old: Option<&str>,
        into: &mut Vec<Compiled>,
    ) {
        let path = child(path, "x-kubernetes-validations");
        let Some(this) = declared(schema, resource) else {
            let why = "internal error: failed to retrieve type information for x-kubernetes-validations";
            self.errors.push(FieldError::bare(path, FieldErrorKind::Invalid, why));
            return;
        };
        for (index, rule) in schema.rules.iter().enumerate() {
            // An empty one was refused elsewhere.
            if rule.rule.trim().is_empty() {
                continue;
            }
            let path = format!("{path}[{index}]");
            let old = match rule.optional_old_self {
                Some(true) => Type::Optional(Box::new(this.clone())),
                _ => this.clone(),
            };
            if let Some(compiled) = self.rule(&path, schema, rule, &this, &old) {
                self.check_old(&path, rule, compiled.uses_old, no_old);
                into.push(compiled);
            }
        }
    }

    fn rule(
        &mut self,
        path: &str,
        schema: &Schema,
        rule: &Rule,
        this: &Type<'_>,
        old: &Type<'_>,
    ) -> Option<Compiled> {
        let expr = match typed(&rule.rule, this, old) {
            Ok((expr, Type::Bool)) => expr,
            Ok(_) => return self.refuse(path, "rule", rule, "cel expression must evaluate to a bool"),
            Err(issues) => return self.refuse(path, "rule", rule, &format!("compilation failed: {issues}")),
        };
        let message = match rule.message_expression.as_deref().map(|text| typed(text, this, old)) {
            None => None,
            Some(Ok((expr, Type::String))) => Some(expr),
            Some(Ok(_)) => {
                return self.refuse(
                    path,
                    "messageExpression",
                    rule,
                    "messageExpression must evaluate to a string",
                );
            }
            Some(Err(issues)) => {
                let why = format!("messageExpression compilation failed: {issues}");
                return self.refuse(path, "messageExpression", rule, &why);
            }
        };
        let mut patterns = BTreeMap::new();
        expr.walk(&mut |expr| collect_pattern(expr, &mut patterns));
        if let Some(message) = &message {
            message.walk(&mut |expr| collect_pattern(expr, &mut patterns));
        }
        Some(Compiled {
            uses_old: expr.mentions("oldSelf"),
            field_path: rule.field_path.as_deref().and_then(|path| field_path::resolve(path, schema).ok()),
            rule: rule.clone(),
            expr,
            message,
            patterns,
        })
    }

    fn refuse<T>(&mut self, path: &str, field: &str, rule: &Rule, why: &str) -> Option<T> {
        let detail = format!("{}: {why}", shown(rule));
        self.errors.push(FieldError::bare(child(path, field), FieldErrorKind::Invalid, detail));
        None
    }

    fn check_old(&mut self, path: &str, rule: &Rule, uses_old: bool, no_old: Option<&str>) {
        match (uses_old, no_old, rule.optional_old_self) {
            (true, Some(above), _) => {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {above}"
                );
                let text = rule.rule.as_str();
                self.errors.push(FieldError::new(child(path, "rule"), FieldErrorKind::Invalid, text, why));
            }
            (false, _, Some(optional)) => {
                let why = "may not be set if oldSelf is not used in rule";
                let path = child(path, "optionalOldSelf");
                self.errors.push(FieldError::new(path, FieldErrorKind::Invalid, optional, why));
            }
            _ => {}
        }
    }
}

/// An expression with its type, or the description of what is wrong.
fn typed<'s>(source: &str, this: &Type<'s>, old: &Type<'s>) -> Result<(Expr, Type<'s>), String> {
    let expr = parse(source).map_err(|issues| describe(source, issues))?;
    let scope = vec![("self".to_owned(), this.clone()), ("oldSelf".to_owned(), old.clone())];
    let type_ = check(&expr, scope).map_err(|issues| describe(source, issues))?;
    Ok((expr, type_))
}

pub(super) fn collect_pattern(expr: &Expr, patterns: &mut BTreeMap<String, Pattern>) {
    if let Node::Call { name, args, .. } = &expr.node
        && matches!(name.as_str(), "matches" | "find" | "findAll")
    {
        for arg in args {
            if let Node::Literal(Literal::String(text)) = &arg.node
                && let Ok(pattern) = Pattern::new(text)
            {
                patterns.insert(text.clone(), pattern);
            }
        }
    }
}

/// The rule as a real server shows it: with all its fields in their order, and as Go writes JSON.
fn shown(rule: &Rule) -> String {
    let text = |text: &str| {
        let json = to_string(text).unwrap_or_default();
        json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
    };
    let or_empty = |value: &Option<String>| text(value.as_deref().unwrap_or_default());
    let reason = rule.reason.as_deref().map_or_else(|| "null".to_owned(), &text);
    let optional = rule.optional_old_self.map_or(Value::Null, Value::Bool);
    format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{reason},"FieldPath":{},"OptionalOldSelf":{optional}}}"#,
        text(&rule.rule),
        or_empty(&rule.message),
        or_empty(&rule.message_expression),
        or_empty(&rule.field_path),
    )
}
