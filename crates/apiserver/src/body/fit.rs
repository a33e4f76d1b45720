//! Makes a value fit its type, as reading it into that type would, or says why it does not.

use super::{
    shape::Shape,
    text::{bytes, micro_time, time},
};
use crate::apply::go;
use serde_json::Value;

/// Which part of a real server reads it: each has its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// The JSON of a body, or of an object after a JSON patch or merge patch.
    Json,
    /// An object after a strategic merge patch: it is never written as JSON.
    Map,
}

/// Where we are: the struct that has the field, and the path from the outermost.
pub(super) struct Fitting<'a> {
    reader: Reader,
    owner: &'a str,
    path: Vec<&'a str>,
}

impl<'a> Fitting<'a> {
    pub(super) fn new(reader: Reader) -> Self {
        Self { reader, owner: "", path: Vec::new() }
    }

    /// The same below a field of an object.
    pub(super) fn below(reader: Reader, owner: &'a str, field: &'a str) -> Self {
        Self { reader, owner, path: vec![field] }
    }

    pub(super) fn fit(&mut self, value: &mut Value, shape: &'a Shape) -> Result<(), String> {
        match (shape, &mut *value) {
            (Shape::Anything, _) | (_, Value::Null) => Ok(()),
            (Shape::Struct { name, fields }, Value::Object(found)) => {
                let owner = std::mem::replace(&mut self.owner, name);
                for (field, shape) in fields {
                    let Some(value) = found.get_mut(field) else { continue };
                    self.path.push(field);
                    self.fit(value, shape)?;
                    self.path.pop();
                }
                // Nothing is the same as what is not there.
                found.retain(|field, value| !value.is_null() || !fields.contains_key(field));
                self.owner = owner;
                Ok(())
            }
            (Shape::Map(values), Value::Object(found)) => {
                found.values_mut().try_for_each(|value| self.item(value, values))
            }
            (Shape::List(items), Value::Array(found)) => {
                found.iter_mut().try_for_each(|item| self.item(item, items))
            }
            (Shape::Bytes, Value::String(text)) => {
                let read = bytes(text).map_err(|why| match self.reader {
                    Reader::Json => why,
                    Reader::Map => format!("error decoding from json: {why}"),
                })?;
                *text = read;
                Ok(())
            }
            (Shape::Time, Value::String(text)) => time(text).map(|read| *text = read),
            (Shape::MicroTime, Value::String(text)) => micro_time(text).map(|read| *text = read),
            (Shape::Text(_), Value::String(_))
            | (Shape::Flag, Value::Bool(_))
            | (Shape::Number, Value::Number(_)) => Ok(()),
            (Shape::Integer(name), Value::Number(number)) if fits(number, name) => Ok(()),
            (Shape::Integer(_), Value::Number(number)) if self.reader == Reader::Map => {
                let whole = whole(number).ok_or_else(|| self.complaint(value, shape))?;
                *value = Value::from(whole);
                Ok(())
            }
            _ => Err(self.complaint(value, shape)),
        }
    }

    fn item(&mut self, value: &mut Value, shape: &'a Shape) -> Result<(), String> {
        if value.is_null() {
            *value = shape.zero();
        }
        self.fit(value, shape)
    }

    fn complaint(&self, value: &Value, shape: &Shape) -> String {
        match self.reader {
            Reader::Json => self.cannot_unmarshal(value, shape),
            Reader::Map => match shape {
                Shape::Struct { .. } => format!("cannot restore struct from: {}", kind(value)),
                Shape::Map(_) => format!("cannot restore map from {}", kind(value)),
                Shape::List(_) | Shape::Bytes => format!("cannot restore slice from {}", kind(value)),
                Shape::Text(name) if value.is_i64() => format!("cannot convert int64 to {name}"),
                Shape::Integer(name) if value.is_f64() => format!("cannot convert float64 to {name}"),
                Shape::Text(_) => "unrecognized type: string".to_owned(),
                _ => format!("unrecognized type: {}", shape.go_name()),
            },
        }
    }

    fn cannot_unmarshal(&self, value: &Value, shape: &Shape) -> String {
        let found = match (shape, value) {
            (Shape::Integer(_), Value::Number(number)) => format!("number {number}"),
            _ => go::json_word(value).to_owned(),
        };
        let target = match shape {
            Shape::Time | Shape::MicroTime => "string".to_owned(),
            shape => shape.go_name(),
        };
        match self.path.is_empty() {
            true => format!("json: cannot unmarshal {found} into Go value of type {target}"),
            false => format!(
                "json: cannot unmarshal {found} into Go struct field {}.{} of type {target}",
                self.owner,
                self.path.join(".")
            ),
        }
    }
}

fn fits(number: &serde_json::Number, name: &str) -> bool {
    number.as_i64().is_some_and(|whole| name != "int32" || i32::try_from(whole).is_ok())
}

/// A number that has a point, and nothing behind it.
fn whole(number: &serde_json::Number) -> Option<i64> {
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    format!("{float:.0}").parse().ok()
}

/// The kind of a value, in Go's sense.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => go::type_of(other),
    }
}
