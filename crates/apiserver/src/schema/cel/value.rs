//! Values of expressions. Objects are looked at where they are: nothing is copied until a function needs it.

use super::super::formats::duration_nanos;
use super::super::{ListType, Schema, Type as SchemaType};
use super::authorizer::Authorization;
use super::escape::{escape, unescape};
use super::types::property;
use jiff::Timestamp;
use kube_cel::cel;
use serde_json::{Map, Value as Json};
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::LazyLock;

/// Why an expression has no value, in the words of a real server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure(pub String);

impl Failure {
    pub(super) fn no_overload() -> Self {
        Self("no such overload".to_owned())
    }
}

pub(super) type Outcome<'a> = Result<Val<'a>, Failure>;

#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Text<'a>),
    Bytes(Rc<[u8]>),
    /// In nanoseconds.
    Duration(i64),
    Timestamp(Timestamp),
    /// A list of an object, with the schema of the list.
    JsonList(&'a [Json], &'a Schema),
    List(Rc<Vec<Val<'a>>>),
    /// A map or object, with its schema and whether it is a resource.
    JsonMap(&'a Map<String, Json>, &'a Schema, bool),
    Map(Rc<Vec<(Val<'a>, Val<'a>)>>),
    Optional(Option<Rc<Val<'a>>>),
    /// The name of a type.
    Type(&'static str),
    /// A value of a library.
    Opaque(cel::Value),
    /// What a schema does not describe; it can only be compared.
    Undescribed(&'a Json),
    /// A question to the authorizer, or its answer.
    Authorization(Rc<Authorization<'a>>),
}

#[derive(Clone, Debug)]
pub(super) enum Text<'a> {
    Lent(&'a str),
    Own(Rc<str>),
}

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Lent(text) => text,
            Self::Own(text) => text,
        }
    }
}

impl From<String> for Val<'_> {
    fn from(text: String) -> Self {
        Val::Text(Text::Own(text.into()))
    }
}

fn failure<T>(words: impl Into<String>) -> Result<T, Failure> {
    Err(Failure(words.into()))
}

/// Stands for the schema of values that have none: expressions of admission policies see objects as they are.
static ANYTHING: LazyLock<Schema> = LazyLock::new(Schema::default);

fn is_anything(schema: &Schema) -> bool {
    std::ptr::eq(schema, &*ANYTHING)
}

/// A value without a schema: its fields are whatever is there, under their own names.
pub(super) fn plain(value: &Json) -> Val<'_> {
    match value {
        Json::Null => Val::Null,
        Json::Bool(value) => Val::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Val::Int(number),
            None => Val::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Val::Text(Text::Lent(text)),
        Json::Array(items) => Val::JsonList(items, &ANYTHING),
        Json::Object(fields) => Val::JsonMap(fields, &ANYTHING, false),
    }
}

/// A value of an object, as an expression sees it.
pub(super) fn view<'a>(value: &'a Json, schema: &'a Schema, resource: bool) -> Outcome<'a> {
    if is_anything(schema) {
        return Ok(plain(value));
    }
    if value.is_null() {
        return match schema.nullable {
            true => Ok(Val::Null),
            false => failure("invalid data, got null for schema with nullable=false"),
        };
    }
    if schema.int_or_string {
        return match (value, value.as_i64()) {
            (Json::String(text), _) => Ok(Val::Text(Text::Lent(text))),
            (_, Some(number)) => Ok(Val::Int(number)),
            _ => failure("invalid data, expected XIntOrString value to be either a string or integer"),
        };
    }
    let wrong = |wanted: &str| failure(format!("invalid data, expected {wanted}, got {}", go_type(value)));
    match (schema.type_, value) {
        (Some(SchemaType::Object), Json::Object(fields)) => {
            Ok(Val::JsonMap(fields, schema, resource || schema.embedded_resource))
        }
        (Some(SchemaType::Object), _) => {
            failure("invalid data, expected a map for the provided schema with type=object")
        }
        (Some(SchemaType::Array), Json::Array(items)) => Ok(Val::JsonList(items, schema)),
        (Some(SchemaType::Array), _) => {
            failure("invalid data, expected an array for the provided schema with type=array")
        }
        (Some(SchemaType::String), Json::String(text)) => view_text(text, schema),
        (Some(SchemaType::String), _) => wrong("string"),
        (Some(SchemaType::Number), Json::Number(number)) => {
            Ok(Val::Double(number.as_f64().unwrap_or(f64::NAN)))
        }
        (Some(SchemaType::Number), _) => wrong("float"),
        (Some(SchemaType::Integer), _) => {
            value.as_i64().map_or_else(|| wrong("int"), |number| Ok(Val::Int(number)))
        }
        (Some(SchemaType::Boolean), Json::Bool(value)) => Ok(Val::Bool(*value)),
        (Some(SchemaType::Boolean), _) => wrong("bool"),
        (None, _) => Ok(Val::Undescribed(value)),
    }
}

fn go_type(value: &Json) -> &'static str {
    match value {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_f64() => "float64",
        Json::Number(_) => "int64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}

fn view_text<'a>(text: &'a str, schema: &Schema) -> Outcome<'a> {
    match schema.bounds.format.as_deref() {
        Some("duration") => duration_nanos(text)
            .map(Val::Duration)
            .ok_or_else(|| Failure(format!("Invalid duration {text}: unable to parse {text} as duration"))),
        Some("date") => format!("{text}T00:00:00Z")
            .parse()
            .map(Val::Timestamp)
            .map_err(|error| Failure(format!("Invalid date formatted string {text}: {error}"))),
        Some("date-time") => {
            text.parse().or_else(|_| format!("{text}Z").parse()).map(Val::Timestamp).map_err(
                |error: jiff::Error| Failure(format!("Invalid date-time formatted string {text}: {error}")),
            )
        }
        Some("byte") => match decode_base64(text) {
            Some(bytes) => Ok(Val::Bytes(bytes.into())),
            None => failure(format!("Invalid byte formatted string {text}: illegal base64 data")),
        },
        _ => Ok(Val::Text(Text::Lent(text))),
    }
}

/// Base64 in either alphabet.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bits: u32 = 0;
    let mut count = 0;
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for c in text.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    text.len().is_multiple_of(4).then_some(bytes)
}

impl<'a> Val<'a> {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// The name of its type at run time.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::JsonList(..) | Self::List(_) => "list",
            Self::JsonMap(..) | Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Authorization(question) => question.type_name(),
            Self::Opaque(_) | Self::Undescribed(_) => "unknown",
        }
    }

    pub(super) fn size(&self) -> Option<usize> {
        Some(match self {
            Self::Text(text) => text.as_str().chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::JsonList(items, _) => items.len(),
            Self::List(items) => items.len(),
            Self::JsonMap(fields, ..) => fields.len(),
            Self::Map(entries) => entries.len(),
            _ => return None,
        })
    }

    /// The item of a list.
    pub(super) fn item(&self, index: usize) -> Option<Outcome<'a>> {
        match self {
            Self::JsonList(items, schema) => items.get(index).map(|item| view_item(item, schema)),
            Self::List(items) => items.get(index).cloned().map(Ok),
            _ => None,
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Option<Vec<Outcome<'a>>> {
        match self {
            Self::JsonList(items, schema) => Some(items.iter().map(|item| view_item(item, schema)).collect()),
            Self::List(items) => Some(items.iter().cloned().map(Ok).collect()),
            _ => None,
        }
    }

    /// The items of a list that must all be good.
    pub(super) fn good_items(&self) -> Result<Vec<Val<'a>>, Failure> {
        self.items().ok_or_else(Failure::no_overload)?.into_iter().collect()
    }

    /// The keys of a map, with their values.
    pub(super) fn entries(&self) -> Option<Vec<(Val<'a>, Outcome<'a>)>> {
        match self {
            Self::JsonMap(fields, schema, resource) => {
                let is_object = is_object(schema, *resource);
                let entries = fields.iter().filter_map(|(name, value)| {
                    let below = below(schema, *resource, name)?;
                    let key = match is_object {
                        true => Val::from(escape(name).unwrap_or_else(|| name.clone())),
                        false => Val::Text(Text::Lent(name)),
                    };
                    Some((key, view(value, below, false)))
                });
                Some(entries.collect())
            }
            Self::Map(entries) => {
                Some(entries.iter().map(|(key, value)| (key.clone(), Ok(value.clone()))).collect())
            }
            _ => None,
        }
    }

    /// The value of a key. A field of an object that is `null` is not there.
    pub(super) fn get(&self, key: &Val<'a>) -> Result<Option<Val<'a>>, Failure> {
        match self {
            Self::JsonMap(fields, schema, resource) => {
                let key = key.text().ok_or_else(Failure::no_overload)?;
                let is_object = is_object(schema, *resource);
                let unescaped;
                let name = if is_object && key.contains("__") {
                    let Some(name) = unescape(key) else { return Ok(None) };
                    unescaped = name;
                    unescaped.as_str()
                } else {
                    key
                };
                match (fields.get(name), below(schema, *resource, name)) {
                    (Some(Json::Null), _) if is_object => Ok(None),
                    (Some(value), Some(schema)) => view(value, schema, false).map(Some),
                    _ => Ok(None),
                }
            }
            Self::Map(entries) => Ok(entries
                .iter()
                .find(|(known, _)| known.equals(key) == Ok(true))
                .map(|(_, value)| value.clone())),
            _ => Err(Failure::no_overload()),
        }
    }

    /// Whether two values are the same. Values of different types are not, numbers of different types can be.
    pub(super) fn equals(&self, other: &Val<'a>) -> Result<bool, Failure> {
        if let (Some(size), Some(other_size)) = (self.list_size(), other.list_size()) {
            return if size == other_size { self.list_equals(other) } else { Ok(false) };
        }
        if let (Some(entries), Some(_)) = (self.entries(), other.entries()) {
            return self.map_equals(entries, other);
        }
        Ok(match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a.as_str() == b.as_str(),
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Duration(a), Self::Duration(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Opaque(a), Self::Opaque(b)) => a == b,
            (Self::Undescribed(a), Self::Undescribed(b)) => a == b,
            (Self::Optional(a), Self::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b)?,
                (a, b) => a.is_none() && b.is_none(),
            },
            (a, b) => a.compare_numbers(b) == Some(Ordering::Equal),
        })
    }

    fn list_size(&self) -> Option<usize> {
        matches!(self, Self::JsonList(..) | Self::List(_)).then(|| self.size()).flatten()
    }

    /// Sets are the same in any order, lists that are maps by their keys.
    fn list_equals(&self, other: &Val<'a>) -> Result<bool, Failure> {
        let items = self.good_items()?;
        let others = other.good_items()?;
        let unordered = match self {
            Self::JsonList(_, schema) => &schema.list_type,
            _ => &ListType::Atomic,
        };
        match unordered {
            ListType::Atomic => all_equal(items.iter().zip(&others)),
            ListType::Set => {
                for other in &others {
                    if !any_equal(&items, other)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            ListType::Map(keys) => {
                let key_of = |item: &Val<'a>| -> Result<Vec<Option<Val<'a>>>, Failure> {
                    keys.iter()
                        .map(|key| item.get(&Val::from(escape(key).unwrap_or_else(|| key.clone()))))
                        .collect()
                };
                let keyed: Vec<_> =
                    items.iter().map(|item| Ok((key_of(item)?, item))).collect::<Result<_, _>>()?;
                for other in &others {
                    let wanted = key_of(other)?;
                    let same_key = |known: &[Option<Val<'a>>]| {
                        known.iter().zip(&wanted).all(|(a, b)| match (a, b) {
                            (Some(a), Some(b)) => a.equals(b) == Ok(true),
                            (a, b) => a.is_none() && b.is_none(),
                        })
                    };
                    let Some((_, item)) = keyed.iter().find(|(known, _)| same_key(known)) else {
                        return Ok(false);
                    };
                    if !item.equals(other)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    fn map_equals(&self, entries: Vec<(Val<'a>, Outcome<'a>)>, other: &Val<'a>) -> Result<bool, Failure> {
        if self.size() != other.size() {
            return Ok(false);
        }
        let nothing = |value: &Outcome<'a>| matches!(value, Ok(Val::Null));
        let is_object = matches!(self, Self::JsonMap(_, schema, resource) if is_object(schema, *resource));
        for (key, value) in entries {
            // A field that is null is not there, neither here nor there.
            let value = if is_object && nothing(&value) { None } else { Some(value) };
            match (value, other.get(&key)?) {
                (Some(value), Some(other)) => {
                    if !value?.equals(&other)? {
                        return Ok(false);
                    }
                }
                (None, None) => {}
                _ => return Ok(false),
            }
        }
        // Fields that the schema does not describe are compared as they are.
        if let (Self::JsonMap(fields, schema, resource), Self::JsonMap(others, ..)) = (self, other) {
            let hidden = fields.iter().filter(|(name, _)| below(schema, *resource, name).is_none());
            return Ok(hidden
                .into_iter()
                .all(|(name, value)| others.get(name).is_none_or(|other| other == value)));
        }
        Ok(true)
    }

    pub(super) fn compare(&self, other: &Val<'a>) -> Result<Ordering, Failure> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some(a.as_str().cmp(b.as_str())),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Duration(a), Self::Duration(b)) => Some(a.cmp(b)),
            (Self::Timestamp(a), Self::Timestamp(b)) => Some(a.cmp(b)),
            (Self::Double(a), Self::Double(b)) if a.is_nan() || b.is_nan() => {
                return failure("NaN values cannot be ordered");
            }
            (a, b) => a.compare_numbers(b),
        }
        .ok_or_else(Failure::no_overload)
    }

    fn compare_numbers(&self, other: &Val<'a>) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Uint(a), Self::Uint(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::Uint(a), Self::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(b),
            (Self::Double(a), Self::Int(b)) => a.partial_cmp(&(*b as f64)),
            (Self::Int(a), Self::Double(b)) => (*a as f64).partial_cmp(b),
            (Self::Double(a), Self::Uint(b)) => a.partial_cmp(&(*b as f64)),
            (Self::Uint(a), Self::Double(b)) => (*a as f64).partial_cmp(b),
            _ => None,
        }
    }
}

fn view_item<'a>(item: &'a Json, list: &'a Schema) -> Outcome<'a> {
    match list.items.as_deref() {
        _ if is_anything(list) => Ok(plain(item)),
        Some(schema) => view(item, schema, false),
        None => failure("invalid array type, expected Items with a non-empty Schema"),
    }
}

/// Whether keys are names of fields, which are escaped, and not just keys.
fn is_object(schema: &Schema, resource: bool) -> bool {
    resource || !schema.properties.is_empty()
}

/// The schema below a key.
fn below<'a>(schema: &'a Schema, resource: bool, name: &str) -> Option<&'a Schema> {
    match is_object(schema, resource) {
        _ if is_anything(schema) => Some(schema),
        true => property(schema, resource, name),
        false => schema.additional_properties.as_deref(),
    }
}

fn all_equal<'v, 'a: 'v>(
    mut pairs: impl Iterator<Item = (&'v Val<'a>, &'v Val<'a>)>,
) -> Result<bool, Failure> {
    pairs.try_fold(true, |same, (a, b)| if same { a.equals(b) } else { Ok(false) })
}

/// Whether a value is among others.
pub(super) fn any_equal<'a>(items: &[Val<'a>], wanted: &Val<'a>) -> Result<bool, Failure> {
    for item in items {
        if item.equals(wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}
