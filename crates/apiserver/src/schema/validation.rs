//! Value validation: types, bounds, formats and combinations, with the words of a real server.

use super::correlate::Correlated;
use super::path::Path;
use super::{ListType, Schema, Type, embedded, formats, lists, numbers};
use crate::error::{FieldError, FieldErrorKind};
use serde_json::Value;

/// Refuses values that are not as the schema wants them, without its rules.
///
/// With an old object, what did not change is not refused.
pub(crate) fn validate(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    validate_at("", schema, new, old)
}

/// As [`validate`], for a part of an object; a real server looks at `status` alone when only that is written.
pub(crate) fn validate_at(
    prefix: &str,
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut errors = values(prefix, schema, new, old);
    let path = Path::at(prefix);
    embedded::check(schema, &path, new, &mut errors);
    let mut before = Vec::new();
    if let Some(old) = old {
        lists::duplicates(schema, &path, old, &mut before);
    }
    if before.is_empty() {
        lists::duplicates(schema, &path, new, &mut errors);
    }
    errors
}

/// The note that stands in for the rules of an object that is too wrong for them to be looked at.
pub(crate) fn rules_not_checked() -> FieldError {
    FieldError::new(
        "<nil>",
        FieldErrorKind::Invalid,
        Value::Null,
        "some validation rules were not checked because the object was invalid; correct the existing errors to \
         complete validation",
    )
}

/// Whether an object is too wrong for its rules to be looked at.
pub(crate) fn blocks_rules(errors: &[FieldError]) -> bool {
    use FieldErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    errors.iter().any(|e| matches!(e.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid))
}

/// Only the values; also for defaults in a schema.
pub(super) fn values(prefix: &str, schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let pair = old.map(|old| Correlated { new, old, schema });
    let outcome = check(schema, &Path::ROOT, new, pair);
    let place = |path: String| match (prefix.is_empty(), path.is_empty()) {
        (true, true) => "<nil>".to_owned(),
        (true, false) => path,
        (false, true) => prefix.to_owned(),
        (false, false) => format!("{prefix}.{path}"),
    };
    outcome
        .problems
        .into_iter()
        .map(|problem| FieldError { field: place(problem.error.field), ..problem.error })
        .collect()
}

/// What a check found.
#[derive(Default)]
pub(super) struct Outcome {
    problems: Vec<Problem>,
    /// How much was right; the alternative with most of it is the one whose problems are told.
    pub matches: usize,
}

struct Problem {
    /// Two problems with the same words are one.
    words: String,
    error: FieldError,
}

impl Outcome {
    pub(super) fn merge(&mut self, other: Outcome) {
        self.matches += other.matches;
        other.problems.into_iter().for_each(|problem| self.add(problem));
    }

    fn add(&mut self, problem: Problem) {
        if self.problems.iter().all(|known| known.words != problem.words) {
            self.problems.push(problem);
        }
    }

    pub(super) fn refuse(&mut self, kind: FieldErrorKind, path: &Path<'_>, value: Value, words: String) {
        let field = path.to_dotted();
        let error = match numbers::shown_by_go(&value) {
            // The value is printed differently than JSON writes it.
            Some(shown) => FieldError::bare(field, kind, format!("{shown}: {words}")),
            None => FieldError::new(field, kind, value, words.clone()),
        };
        self.add(Problem { words, error });
    }

    /// A problem that is not about a field, to the real server.
    pub(super) fn complain(&mut self, words: String) {
        let error = FieldError::new("", FieldErrorKind::Invalid, "", words.clone());
        self.add(Problem { words, error });
    }

    fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }
}

fn check(schema: &Schema, path: &Path<'_>, value: &Value, pair: Option<Correlated<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    check_type(schema, path, value, &mut outcome);
    if value.is_null() {
        check_enum(schema, path, value, &mut outcome);
    } else {
        check_combinations(schema, path, value, &mut outcome);
        match value {
            Value::String(text) => check_string(schema, path, text, &mut outcome),
            Value::Number(number) => numbers::check(schema, path, number, &mut outcome),
            Value::Array(items) => check_items(schema, path, items, pair, &mut outcome),
            _ => {}
        }
        check_enum(schema, path, value, &mut outcome);
        if let Value::Object(fields) = value {
            check_fields(schema, path, fields, pair, &mut outcome);
        }
        // One for each check that applied, whatever it found, and one for having been here.
        outcome.matches += 4;
    }
    if !outcome.is_valid() && pair.is_some_and(|pair| pair.unchanged()) {
        outcome.problems.clear();
    }
    outcome
}

fn check_type(schema: &Schema, path: &Path<'_>, value: &Value, outcome: &mut Outcome) {
    let format = supported_format(schema);
    let wanted: &[Type] = match (&schema.type_, schema.int_or_string) {
        (_, true) => &[Type::Integer, Type::String],
        (Some(type_), false) => std::slice::from_ref(type_),
        (None, false) => &[],
    };
    if wanted.is_empty() && format.is_none() {
        return;
    }
    let mut refuse = |wanted: &str, found: &str| {
        let words = format!("{} in body must be of type {wanted}: {found:?}", path.to_dotted());
        outcome.refuse(FieldErrorKind::TypeInvalid, path, found.into(), words);
    };
    let names = || wanted.iter().map(|type_| type_.name()).collect::<Vec<_>>().join(",");
    let (found, found_format) = match value {
        Value::Null if wanted.is_empty() || schema.nullable => return outcome.matches += 1,
        Value::Null => return refuse(&names(), "null"),
        Value::Bool(_) => (Type::Boolean, ""),
        Value::String(_) => (Type::String, ""),
        Value::Array(_) => (Type::Array, ""),
        Value::Object(_) => (Type::Object, ""),
        Value::Number(number) if number.as_i64().is_some() => (Type::Integer, "int64"),
        Value::Number(_) => (Type::Number, "float64"),
    };
    let whole = found == Type::Number && value.as_f64().is_some_and(numbers::is_whole);
    let fits = wanted.contains(&found)
        || whole && wanted.contains(&Type::Integer)
        || found == Type::Integer && wanted.contains(&Type::Number);
    let is_text = matches!(found, Type::String | Type::Array);
    let numeric = wanted.contains(&Type::Integer) || wanted.contains(&Type::Number);
    match format {
        Some(format) if !is_text && !fits && found_format != format => refuse(format, found_format),
        // A format speaks for itself: the format check refuses what is wrong.
        Some(_) if is_text && !numeric => outcome.matches += 1,
        _ if !fits => refuse(&names(), found.name()),
        _ => outcome.matches += 1,
    }
}

pub(super) fn supported_format(schema: &Schema) -> Option<&str> {
    let format = schema.bounds.format.as_deref()?;
    formats::is_supported(schema.type_, schema.int_or_string, format).then_some(format)
}

fn check_enum(schema: &Schema, path: &Path<'_>, value: &Value, outcome: &mut Outcome) {
    let allowed = &schema.bounds.enum_;
    if allowed.is_empty() || allowed.iter().any(|allowed| !allowed.is_null() && same(value, allowed)) {
        return;
    }
    let names: Vec<String> = allowed
        .iter()
        .map(|allowed| match allowed {
            Value::String(text) => format!("{text:?}"),
            other => format!("{:?}", other.to_string()),
        })
        .collect();
    let words = format!("{} in body should be one of {}", path.to_dotted(), names.join(" "));
    let detail = format!("supported values: {}", names.join(", "));
    let error = FieldError::new(path.to_dotted(), FieldErrorKind::NotSupported, value.clone(), detail);
    outcome.add(Problem { words, error });
}

/// Whether a value is an allowed one. A fraction is cut off where whole numbers are allowed, as Go converts it.
fn same(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Number(value), Value::Number(allowed)) => match (value.as_i64(), allowed.as_i64()) {
            (Some(value), Some(allowed)) => value == allowed,
            (None, Some(allowed)) => value.as_f64().is_some_and(|value| value.trunc() == allowed as f64),
            _ => value.as_f64() == allowed.as_f64(),
        },
        (value, allowed) => value == allowed,
    }
}

fn check_string(schema: &Schema, path: &Path<'_>, text: &str, outcome: &mut Outcome) {
    let bounds = &schema.bounds;
    let length = || text.chars().count() as u64;
    if let Some(most) = bounds.max_length.filter(|most| (text.len() as u64) > *most && length() > *most) {
        let unit = if most == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {most} {unit}");
        let error = FieldError::bare(path.to_dotted(), FieldErrorKind::TooLong, detail);
        let words = format!("{} in body should be at most {most} chars long", path.to_dotted());
        outcome.add(Problem { words, error });
    } else if let Some(least) = bounds.min_length.filter(|least| length() < *least) {
        let words = format!("{} in body should be at least {least} chars long", path.to_dotted());
        outcome.refuse(FieldErrorKind::Invalid, path, text.into(), words);
    } else if let Some(pattern) = bounds.pattern.as_ref().filter(|pattern| !pattern.matches(text)) {
        let words = format!("{} in body should match '{pattern}'", path.to_dotted());
        outcome.refuse(FieldErrorKind::Invalid, path, text.into(), words);
    }
    if let Some(format) = supported_format(schema).filter(|format| !formats::has_format(format, text)) {
        let words = format!("{} in body must be of type {format}: {text:?}", path.to_dotted());
        outcome.refuse(FieldErrorKind::TypeInvalid, path, text.into(), words);
    }
}

fn check_items(
    schema: &Schema,
    path: &Path<'_>,
    items: &[Value],
    pair: Option<Correlated<'_>>,
    outcome: &mut Outcome,
) {
    if let Some(item_schema) = &schema.items {
        let keyed = matches!(schema.list_type, ListType::Map(_));
        for (index, item) in items.iter().enumerate() {
            let pair = pair.filter(|_| keyed).and_then(|pair| pair.item(index));
            outcome.merge(check(item_schema, &path.index(index), item, pair));
        }
    }
    let size = items.len() as u64;
    if let Some(least) = schema.bounds.min_items.filter(|least| size < *least) {
        let words = format!("{} in body should have at least {least} items", path.to_dotted());
        outcome.refuse(FieldErrorKind::Invalid, path, size.into(), words);
    }
    if let Some(most) = schema.bounds.max_items.filter(|most| size > *most) {
        too_many(path, size, most, "items", outcome);
    }
    if schema.bounds.unique_items && (1..items.len()).any(|at| items[..at].contains(&items[at])) {
        let words = format!("{} in body shouldn't contain duplicates", path.to_dotted());
        outcome.refuse(FieldErrorKind::Invalid, path, "".into(), words);
    }
    outcome.matches += 1;
}

fn too_many(path: &Path<'_>, size: u64, most: u64, what: &str, outcome: &mut Outcome) {
    let unit = if most == 1 { "item" } else { "items" };
    let detail = format!("must have at most {most} {unit}");
    let error = FieldError::new(path.to_dotted(), FieldErrorKind::TooMany, size, detail);
    let words = format!("{} in body should have at most {most} {what}", path.to_dotted());
    outcome.add(Problem { words, error });
}

fn check_fields(
    schema: &Schema,
    path: &Path<'_>,
    fields: &serde_json::Map<String, Value>,
    pair: Option<Correlated<'_>>,
    outcome: &mut Outcome,
) {
    let size = fields.len() as u64;
    if let Some(least) = schema.bounds.min_properties.filter(|least| size < *least) {
        let words = format!("{} in body should have at least {least} properties", path.to_dotted());
        outcome.refuse(FieldErrorKind::Invalid, path, size.into(), words);
    }
    if let Some(most) = schema.bounds.max_properties.filter(|most| size > *most) {
        too_many(path, size, most, "properties", outcome);
    }
    for (name, value) in fields.iter().filter(|(name, _)| !schema.properties.contains_key(*name)) {
        if let Some(values) = &schema.additional_properties {
            let pair = pair.and_then(|pair| pair.field(name));
            outcome.merge(check(values, &path.key(name), value, pair));
        } else if schema.additional_allowed == Some(false) {
            let words = format!("{}.{name} in body is a forbidden property", path.to_dotted());
            outcome.refuse(FieldErrorKind::Invalid, path, name.as_str().into(), words);
        }
    }
    for (name, property) in &schema.properties {
        let Some(value) = fields.get(name) else { continue };
        // Both are written in the version of the request, so a change of these two cannot be seen.
        let hidden = path.is_root() && matches!(name.as_str(), "apiVersion" | "kind");
        let pair = pair.filter(|_| !hidden).and_then(|pair| pair.field(name));
        outcome.merge(check(property, &path.field(name), value, pair));
    }
    for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
        let words = format!("{}.{name} in body is required", path.to_dotted());
        let path = path.field(name).to_dotted();
        outcome.add(Problem { words, error: FieldError::bare(path, FieldErrorKind::Required, "") });
    }
}

/// Combinations are about the value as it is: what did not change is refused by them all the same.
fn check_combinations(schema: &Schema, path: &Path<'_>, value: &Value, outcome: &mut Outcome) {
    let bounds = &schema.bounds;
    let try_all = |schemas: &[Schema]| -> Vec<Outcome> {
        schemas.iter().map(|schema| check(schema, path, value, None)).collect()
    };
    let best = |outcomes: Vec<Outcome>| -> Option<Outcome> {
        outcomes.into_iter().rev().max_by_key(|outcome| outcome.matches)
    };
    let name = || path.to_dotted();
    if !bounds.any_of.is_empty() {
        let outcomes = try_all(&bounds.any_of);
        match outcomes.iter().position(Outcome::is_valid) {
            Some(at) => outcome.matches += outcomes[at].matches,
            None => {
                outcome.complain(format!("{:?} must validate at least one schema (anyOf)", name()));
                best(outcomes).into_iter().for_each(|best| outcome.merge(best));
            }
        }
    }
    if !bounds.one_of.is_empty() {
        let outcomes = try_all(&bounds.one_of);
        match outcomes.iter().filter(|outcome| outcome.is_valid()).count() {
            1 => outcome.matches += outcomes.iter().find(|o| o.is_valid()).map_or(0, |o| o.matches),
            0 => {
                let rest = "must validate one and only one schema (oneOf). Found none valid";
                outcome.complain(format!("{:?} {rest}", name()));
                best(outcomes).into_iter().for_each(|best| outcome.merge(best));
            }
            count => outcome.complain(format!(
                "{:?} must validate one and only one schema (oneOf). Found {count} valid alternatives",
                name()
            )),
        }
    }
    if !bounds.all_of.is_empty() {
        let outcomes = try_all(&bounds.all_of);
        let valid = outcomes.iter().filter(|outcome| outcome.is_valid()).count();
        let all = outcomes.len();
        outcomes.into_iter().for_each(|one| outcome.merge(one));
        if valid != all {
            let rest = if valid == 0 { ". None validated" } else { "" };
            outcome.complain(format!("{:?} must validate all the schemas (allOf){rest}", name()));
        }
    }
    if bounds.not.as_ref().is_some_and(|not| check(not, path, value, None).is_valid()) {
        outcome.complain(format!("{:?} must not validate the schema (not)", name()));
    }
    outcome.matches += 1;
}
