//! Types of expressions, found before anything is evaluated.

use super::super::Pattern;
use super::super::formats::go_duration_nanos;
use super::ast::{Expr, Fold, FoldKind, Issue, Literal, Node};
use super::authorizer;
use super::escape::unescape;
use super::format;
use super::signatures::signatures;
use super::types::{Type, declared, property};

/// Finds the type of an expression over these names, or what is wrong with it.
pub(super) fn check<'s>(expr: &Expr, scope: Vec<(String, Type<'s>)>) -> Result<Type<'s>, Vec<Issue>> {
    let mut checker = Checker { scope, issues: Vec::new() };
    let type_ = checker.type_of(expr);
    if checker.issues.is_empty() { Ok(type_) } else { Err(checker.issues) }
}

struct Checker<'s> {
    scope: Vec<(String, Type<'s>)>,
    issues: Vec<Issue>,
}

impl<'s> Checker<'s> {
    fn complain(&mut self, at: usize, words: String) -> Type<'s> {
        self.issues.push(Issue::new(at, words));
        Type::Unknown
    }

    fn variable(&self, name: &str) -> Option<&Type<'s>> {
        self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, type_)| type_)
    }

    fn type_of(&mut self, expr: &Expr) -> Type<'s> {
        stacker::maybe_grow(128 << 10, 2 << 20, || self.type_here(expr))
    }

    fn type_here(&mut self, expr: &Expr) -> Type<'s> {
        match &expr.node {
            Node::Literal(literal) => match literal {
                Literal::Null => Type::Null,
                Literal::Bool(_) => Type::Bool,
                Literal::Int(_) => Type::Int,
                Literal::Uint(_) => Type::Uint,
                Literal::Double(_) => Type::Double,
                Literal::String(_) => Type::String,
                Literal::Bytes(_) => Type::Bytes,
            },
            Node::Ident(name) => self.ident(expr.at, name),
            Node::Select { operand, field, optional } => {
                let operand = self.type_of(operand);
                let found = self.select(expr.at, operand, field);
                match (optional, found) {
                    (true, Type::Optional(item)) => Type::Optional(item),
                    (true, found) => Type::Optional(Box::new(found)),
                    (false, found) => found,
                }
            }
            Node::Has { operand, field } => {
                let operand = self.type_of(operand);
                self.select(expr.at, operand, field);
                Type::Bool
            }
            Node::Index { operand, index, optional } => {
                let (operand, was_optional) = match self.type_of(operand) {
                    Type::Optional(item) => (*item, true),
                    other => (other, false),
                };
                let index = self.type_of(index);
                let item = self.resolve(expr.at, "_[_]", false, &[operand, index]);
                if *optional || was_optional { Type::Optional(Box::new(item)) } else { item }
            }
            Node::Call { target, name, args } => self.call(expr.at, target.as_deref(), name, args),
            Node::And(parts) | Node::Or(parts) => {
                parts.iter().for_each(|part| self.want_bool(part));
                Type::Bool
            }
            Node::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                let types = [self.type_of(condition), self.type_of(yes), self.type_of(no)];
                let mut letters = [Some(types[1].clone()), None, None];
                let same = Type::Param(0).accepts(&types[2], &mut letters);
                if same && Type::Bool.accepts(&types[0], &mut [None, None, None]) {
                    return Type::Param(0).with(&letters);
                }
                self.no_overload(expr.at, "_?_:_", false, &types)
            }
            Node::List(items) => {
                let mut item_type = None;
                for (item, optional) in items {
                    let type_ = self.type_of(item);
                    let type_ = unwrapped(type_, *optional);
                    self.same(item.at, &mut item_type, type_);
                }
                Type::List(Box::new(item_type.unwrap_or(Type::Dyn)))
            }
            Node::Map(entries) => {
                let (mut key_type, mut value_type) = (None, None);
                for (key, value, optional) in entries {
                    let type_ = self.type_of(key);
                    self.same(key.at, &mut key_type, type_);
                    let type_ = self.type_of(value);
                    self.same(value.at, &mut value_type, unwrapped(type_, *optional));
                }
                let unknown = || Box::new(Type::Dyn);
                Type::Map(key_type.map_or_else(unknown, Box::new), value_type.map_or_else(unknown, Box::new))
            }
            Node::Fold(fold) => self.fold(expr.at, fold),
            Node::Message(name) => self.undeclared(expr.at, name),
        }
    }

    fn undeclared(&mut self, at: usize, name: &str) -> Type<'s> {
        self.complain(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn ident(&mut self, at: usize, name: &str) -> Type<'s> {
        if let Some(type_) = self.variable(name) {
            return type_.clone();
        }
        let dyn_ = || Box::new(Type::Dyn);
        let named = match name {
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "null_type" => Type::Null,
            "list" => Type::List(dyn_()),
            "map" => Type::Map(dyn_(), dyn_()),
            "type" => Type::Meta(dyn_()),
            "optional_type" => Type::Optional(dyn_()),
            _ => return self.undeclared(at, name),
        };
        Type::Meta(Box::new(named))
    }

    fn select(&mut self, at: usize, operand: Type<'s>, field: &str) -> Type<'s> {
        match operand {
            Type::Object(schema, resource) => {
                let name = unescape(field);
                let found = name.and_then(|name| property(schema, resource, &name));
                match found.and_then(|schema| declared(schema, schema.embedded_resource)) {
                    Some(type_) => type_,
                    None => self.complain(at, format!("undefined field '{field}'")),
                }
            }
            Type::Variables(declared) => match declared.get(field) {
                Some(type_) => type_.clone(),
                None => self.complain(at, format!("undefined field '{field}'")),
            },
            Type::Opaque(authorizer::AUTHORIZER) if field == authorizer::REQUEST_RESOURCE => {
                Type::Opaque(authorizer::RESOURCE_CHECK)
            }
            Type::Opaque(name) if authorizer::is_type(name) => {
                self.complain(at, format!("unexpected failed resolution of '{name}'"))
            }
            Type::Map(_, value) => *value,
            Type::Optional(item) => Type::Optional(Box::new(self.select(at, *item, field))),
            Type::Dyn | Type::Unknown => Type::Dyn,
            other => self.complain(at, format!("type '{other}' does not support field selection")),
        }
    }

    fn want_bool(&mut self, expr: &Expr) {
        let type_ = self.type_of(expr);
        if !Type::Bool.accepts(&type_, &mut [None, None, None]) {
            self.complain(expr.at, format!("expected type 'bool' but found '{type_}'"));
        }
    }

    /// All items of a list are of one type.
    fn same(&mut self, at: usize, known: &mut Option<Type<'s>>, type_: Type<'s>) {
        match known {
            None => *known = Some(type_),
            Some(known) => {
                // What is of any type goes only with its like.
                let one_is_dyn = matches!(known, Type::Dyn) != matches!(type_, Type::Dyn);
                if one_is_dyn || !known.accepts(&type_, &mut [None, None, None]) {
                    let words = format!("expected type '{known}' but found '{type_}'");
                    self.complain(at, words);
                }
            }
        }
    }

    fn call(&mut self, at: usize, target: Option<&Expr>, name: &str, args: &[Expr]) -> Type<'s> {
        self.check_literals(name, args);
        if let (Some(target), "format", [Expr { node: Node::List(items), .. }]) = (target, name, args) {
            return self.format(at, target, items);
        }
        let mut types: Vec<Type<'s>> = target.iter().map(|target| self.type_of(target)).collect();
        types.extend(args.iter().map(|arg| self.type_of(arg)));
        self.resolve(at, name, target.is_some(), &types)
    }

    /// Texts that are written down can be checked before they are used.
    fn check_literals(&mut self, name: &str, args: &[Expr]) {
        let Some(Expr { at, node: Node::Literal(Literal::String(text)), .. }) = args.last() else { return };
        let wrong = match name {
            "matches" => Pattern::new(text).is_err(),
            "duration" => go_duration_nanos(text).is_none(),
            "timestamp" => text.parse::<jiff::Timestamp>().is_err(),
            _ => false,
        };
        if wrong {
            self.complain(*at, format!("invalid {name} argument"));
        }
    }

    /// The items of what is formatted can be of any type, but of those that their places are for.
    fn format(&mut self, at: usize, target: &Expr, items: &[(Expr, bool)]) -> Type<'s> {
        let target_type = self.type_of(target);
        let types: Vec<Type<'s>> = items.iter().map(|(item, _)| self.type_of(item)).collect();
        if let Node::Literal(Literal::String(text)) = &target.node {
            for (index, clause) in format::clauses(text).into_iter().enumerate() {
                let issue = match (clause, items.get(index).zip(types.get(index))) {
                    (Err(words), _) => Some((at, format!("could not parse formatting clause: {words}"))),
                    (Ok(_), None) => Some((at, format!("index {index} out of range"))),
                    (Ok(clause), Some(((item, _), type_))) => clause
                        .refuses(&type_.to_string())
                        .map(|words| (item.at, format!("error during formatting: {words}"))),
                };
                if let Some((at, words)) = issue {
                    self.complain(at, words);
                    return Type::String;
                }
            }
        }
        self.resolve(at, "format", true, &[target_type, Type::List(Box::new(Type::Dyn))])
    }

    fn resolve(&mut self, at: usize, name: &str, method: bool, types: &[Type<'s>]) -> Type<'s> {
        let Some(ways) = signatures(name) else { return self.undeclared(at, name) };
        let mut result: Option<Type<'s>> = None;
        for way in ways.iter().filter(|way| way.method == method && way.args.len() == types.len()) {
            let mut letters = [None, None, None];
            if way.args.iter().zip(types).all(|(wanted, found)| {
                let wanted: &Type<'s> = wanted;
                wanted.accepts(found, &mut letters)
            }) {
                let given: &Type<'s> = &way.result;
                let found = given.with(&letters);
                result = Some(match result {
                    Some(known) if !known.is_same(&found) => Type::Dyn,
                    _ => found,
                });
            }
        }
        match result {
            Some(result) => result,
            None => self.no_overload(at, name, method, types),
        }
    }

    fn no_overload(&mut self, at: usize, name: &str, method: bool, types: &[Type<'s>]) -> Type<'s> {
        let names: Vec<String> = types.iter().map(ToString::to_string).collect();
        let applied = match (method, names.split_first()) {
            (true, Some((target, args))) => format!("{target}.({})", args.join(", ")),
            _ => format!("({})", names.join(", ")),
        };
        self.complain(at, format!("found no matching overload for '{name}' applied to '{applied}'"))
    }

    fn fold(&mut self, at: usize, fold: &Fold) -> Type<'s> {
        let range = self.type_of(&fold.range);
        let opt = matches!(fold.kind, FoldKind::OptMap | FoldKind::OptFlatMap);
        let (first, second) = match (&range, fold.second.is_some()) {
            (Type::Optional(item), _) if opt => ((**item).clone(), Type::Dyn),
            (Type::List(item), false) => ((**item).clone(), Type::Dyn),
            (Type::List(item), true) => (Type::Int, (**item).clone()),
            (Type::Map(key, value), _) => ((**key).clone(), (**value).clone()),
            (Type::Dyn | Type::Unknown, _) => (Type::Dyn, Type::Dyn),
            (other, _) => {
                let words = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                (self.complain(fold.range.at, words), Type::Unknown)
            }
        };
        let before = self.scope.len();
        self.scope.push((fold.var.clone(), first.clone()));
        self.scope.extend(fold.second.clone().map(|name| (name, second)));
        let bool_result = matches!(fold.kind, FoldKind::All | FoldKind::Exists);
        let filter = fold.filter.as_ref().map(|filter| match bool_result {
            true => {
                self.want_bool(filter);
                Type::Bool
            }
            false => self.type_of(filter),
        });
        let body = fold.body.as_ref().map_or(Type::Dyn, |body| self.type_of(body));
        self.scope.truncate(before);
        let list = |item: Type<'s>| Type::List(Box::new(item));
        let result = match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => Type::Bool,
            FoldKind::Filter => list(first),
            FoldKind::Map => list(body),
            FoldKind::SortBy => range,
            FoldKind::TransformMap => match range {
                Type::Map(key, _) => Type::Map(key, Box::new(body)),
                _ => Type::Map(Box::new(Type::Int), Box::new(body)),
            },
            FoldKind::OptMap => Type::Optional(Box::new(body)),
            FoldKind::OptFlatMap => body,
        };
        if let Some(filter) = filter
            && !Type::Bool.accepts(&filter, &mut [None, None, None])
        {
            let each = if fold.kind == FoldKind::ExistsOne { Type::Int } else { result.clone() };
            self.no_overload(at, "_?_:_", false, &[filter, each.clone(), each]);
        }
        result
    }
}

/// What is behind an optional entry of a list or map.
fn unwrapped(type_: Type<'_>, optional: bool) -> Type<'_> {
    match type_ {
        Type::Optional(item) if optional => *item,
        other => other,
    }
}
