//! One step of a path: a field, an item of a list by its keys or its value, or an index.

use super::go;
use serde_json::{Map, Value};
use std::{cmp::Ordering, fmt};

/// One step of a path.
///
/// The order is that of a real server: fields, then keys, then values, then indices.
#[derive(Clone, Debug)]
pub(crate) enum PathElement {
    /// A field of an object: `f:name`.
    Field(String),
    /// An item of a list by its keys, sorted by name: `k:{"name":"x"}`.
    Key(Vec<(String, Value)>),
    /// An item of a set by its value: `v:"x"`.
    Value(Value),
    /// An item of a list by its index: `i:0`.
    Index(i64),
}

/// Why a step cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnreadableElement {
    /// A later version may know it; it is left out.
    UnknownType,
    /// It is wrong.
    Malformed(String),
}

impl PathElement {
    /// The step to a field.
    pub(crate) fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// The step to an item with these keys.
    pub(crate) fn key(mut fields: Vec<(String, Value)>) -> Self {
        fields.sort_by(|left, right| left.0.cmp(&right.0));
        Self::Key(fields)
    }

    /// The form in `fieldsV1`.
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| {
                        format!("{}:{}", go::json(&Value::String(name.clone())), go::json(value))
                    })
                    .collect();
                format!("k:{{{}}}", fields.join(","))
            }
            Self::Value(value) => format!("v:{}", go::json(value)),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Reads the form in `fieldsV1`.
    pub(crate) fn decode(text: &str) -> Result<Self, UnreadableElement> {
        let malformed = |why: String| UnreadableElement::Malformed(why);
        if text.len() < 2 {
            return Err(malformed("key must be 2 characters long:".to_owned()));
        }
        let Some((kind, rest)) =
            text.split_at_checked(1).and_then(|(kind, rest)| Some((kind, rest.strip_prefix(':')?)))
        else {
            return Err(malformed(format!("missing colon: {text}")));
        };
        match kind {
            "f" => Ok(Self::field(rest)),
            "v" => serde_json::from_str(rest).map(Self::Value).map_err(|error| malformed(error.to_string())),
            "k" => serde_json::from_str::<Map<String, Value>>(rest)
                .map(|fields| Self::key(fields.into_iter().collect()))
                .map_err(|error| malformed(error.to_string())),
            "i" => rest.parse().map(Self::Index).map_err(|error| malformed(format!("{error}: {rest}"))),
            _ => Err(UnreadableElement::UnknownType),
        }
    }
}

/// As messages name it: `.name`, `[port=80,protocol="TCP"]`, `[="x"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}={}", readable(value))).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(f, "[={}]", readable(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

fn readable(value: &Value) -> String {
    match value {
        Value::String(text) => go::quote(text),
        Value::Array(items) => format!("[{}]", items.iter().map(readable).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name}={}", readable(value))).collect::<String>()
        }
        Value::Number(number) => go::number(number),
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |element: &Self| match element {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        };
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => compare_all(left, right, |left, right| {
                left.0.cmp(&right.0).then_with(|| compare(&left.1, &right.1))
            }),
            (Self::Value(left), Self::Value(right)) => compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

/// Whether two values are the same to ownership: `1` and `1.0` are.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(_), Value::Number(_)) => compare(left, right) == Ordering::Equal,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, value)| right.get(name).is_some_and(|other| equal(value, other)))
        }
        (left, right) => left == right,
    }
}

/// The order of values: numbers, strings, booleans, lists, objects, null.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => {
                let (left, right) = (left.as_f64().unwrap_or_default(), right.as_f64().unwrap_or_default());
                left.partial_cmp(&right).unwrap_or(Ordering::Equal)
            }
        },
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => compare_all(left, right, compare),
        (Value::Object(left), Value::Object(right)) => {
            let left: Vec<(&String, &Value)> = left.iter().collect();
            let right: Vec<(&String, &Value)> = right.iter().collect();
            compare_all(&left, &right, |left, right| {
                left.0.cmp(right.0).then_with(|| compare(left.1, right.1))
            })
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn compare_all<T>(left: &[T], right: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Ordering {
    left.iter()
        .zip(right)
        .map(|(left, right)| compare(left, right))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}
