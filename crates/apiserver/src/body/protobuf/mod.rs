//! Bodies in Kubernetes' protobuf, read as the JSON that they stand for. kubectl sends some of what it makes itself in it and
//! does not fall back to JSON; answers are in JSON, which every client takes.
//!
//! An object comes in an envelope: four bytes, then a message with the kind and the bytes of the object. What fields a
//! kind has is in `messages`.

mod messages;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use messages::{Field, Message, Type};
use serde_json::{Map, Value, json};

/// How bodies in protobuf are announced.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every body begins with.
const MAGIC: &[u8; 4] = b"k8s\0";

/// Why a body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is none.
    Malformed(String),
    /// It is of a kind that is not known here: `example.com/v1`, `Thing`.
    UnknownKind(String, String),
}

/// Reads a body, an object with its version and kind.
pub(crate) fn read(body: &[u8]) -> Result<Value, Unread> {
    let malformed = |why: &str| Unread::Malformed(why.to_owned());
    let message = body.strip_prefix(MAGIC).ok_or_else(|| {
        malformed("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    })?;
    let envelope = object(message, &messages::ENVELOPE).map_err(Unread::Malformed)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&envelope["typeMeta"]["apiVersion"]), text(&envelope["typeMeta"]["kind"]));
    if !text(&envelope["contentEncoding"]).is_empty() {
        return Err(malformed("the content is encoded"));
    }
    let raw = STANDARD.decode(text(&envelope["raw"])).map_err(|_| malformed("there is no object in it"))?;
    let Some(message) = messages::of_kind(&version, &kind) else {
        return Err(Unread::UnknownKind(version, kind));
    };
    let mut value = object(&raw, message).map_err(Unread::Malformed)?;
    value["apiVersion"] = json!(version);
    value["kind"] = json!(kind);
    Ok(value)
}

/// A value as it is on the wire.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The rest of a message.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Result<u64, String> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or("unexpected EOF")?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("proto: integer overflow".to_owned())
    }

    fn bytes(&mut self, length: u64) -> Result<&'a [u8], String> {
        let length = usize::try_from(length).map_err(|_| "unexpected EOF")?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or("unexpected EOF")?;
        self.0 = rest;
        Ok(bytes)
    }

    /// The next field: its number, and what is in it.
    fn field(&mut self) -> Result<(u64, Wire<'a>), String> {
        let tag = self.number()?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.number()?),
            1 => Wire::Bytes(self.bytes(8)?),
            2 => {
                let length = self.number()?;
                Wire::Bytes(self.bytes(length)?)
            }
            5 => Wire::Bytes(self.bytes(4)?),
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        match tag >> 3 {
            0 => Err(format!("proto: illegal tag 0 (wire type {tag})")),
            number => Ok((number, wire)),
        }
    }
}

/// A message as a JSON object. Fields that are not known are passed over, as every reader of protobuf does.
fn object(bytes: &[u8], message: &Message) -> Result<Value, String> {
    let mut fields = Map::new();
    let mut reader = Reader(bytes);
    while !reader.0.is_empty() {
        let (number, wire) = reader.field()?;
        let Some(field) = message.0.iter().find(|field| u64::from(field.number) == number) else { continue };
        put(&mut fields, field, &wire)?;
    }
    Ok(Value::Object(fields))
}

fn put(fields: &mut Map<String, Value>, field: &Field, wire: &Wire<'_>) -> Result<(), String> {
    if let Some(of) = field.map {
        let (key, value) = entry(wire, of).map_err(|why| format!("{}: {why}", field.name))?;
        let map = fields.entry(field.name).or_insert_with(|| json!({}));
        map[key] = value;
        return Ok(());
    }
    let value = value(wire, &field.is).map_err(|why| format!("{}: {why}", field.name))?;
    if field.is_list {
        let list = fields.entry(field.name).or_insert_with(|| json!([]));
        list.as_array_mut().into_iter().for_each(|list| list.push(value.clone()));
    } else if field.is_pointer || !is_zero(&value) {
        fields.insert(field.name.to_owned(), value);
    }
    Ok(())
}

/// What Go leaves out, unless it points to it.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// An entry of a map is a message of a key and a value, either of which is left out if it is empty.
fn entry(wire: &Wire<'_>, of: &Type) -> Result<(String, Value), String> {
    let Wire::Bytes(bytes) = wire else { return Err("proto: wrong wireType".to_owned()) };
    let (mut key, mut found) = (String::new(), None);
    let mut reader = Reader(bytes);
    while !reader.0.is_empty() {
        match reader.field()? {
            (1, Wire::Bytes(bytes)) => key = text(bytes)?,
            (2, wire) => found = Some(value(&wire, of)?),
            _ => {}
        }
    }
    let found = match found {
        Some(found) => found,
        None => value(&Wire::Bytes(&[]), of)?,
    };
    Ok((key, found))
}

fn value(wire: &Wire<'_>, is: &Type) -> Result<Value, String> {
    let wrong = || "proto: wrong wireType".to_owned();
    match (is, wire) {
        (Type::Flag, Wire::Number(number)) => Ok(json!(*number != 0)),
        // Negative ones are as large as can be.
        (Type::Number, Wire::Number(number)) => Ok(json!(number.cast_signed())),
        (Type::Text, Wire::Bytes(bytes)) => Ok(json!(text(bytes)?)),
        (Type::Bytes, Wire::Bytes(bytes)) => Ok(json!(STANDARD.encode(bytes))),
        (Type::Message(message), Wire::Bytes(bytes)) => object(bytes, message),
        (Type::Json, Wire::Bytes(bytes)) => json_in(bytes),
        (Type::Texts, Wire::Bytes(bytes)) => {
            Ok(object(bytes, &messages::TEXTS)?.get_mut("items").map_or_else(|| json!([]), Value::take))
        }
        (Type::Time { with_micros }, Wire::Bytes(bytes)) => time(bytes, *with_micros),
        (Type::Flag | Type::Number, Wire::Bytes(_)) | (_, Wire::Number(_)) => Err(wrong()),
    }
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a text is not UTF-8".to_owned())
}

/// JSON that is in a message of its own, as bytes.
fn json_in(bytes: &[u8]) -> Result<Value, String> {
    let raw = object(bytes, &messages::RAW)?;
    let raw = STANDARD.decode(raw["raw"].as_str().unwrap_or_default()).unwrap_or_default();
    serde_json::from_slice(&raw).map_err(|error| format!("it is not JSON: {error}"))
}

/// Seconds and nanoseconds since 1970. None of either is no time at all.
fn time(bytes: &[u8], with_micros: bool) -> Result<Value, String> {
    let parts = object(bytes, &messages::TIME)?;
    let seconds = parts["seconds"].as_i64().unwrap_or(0);
    let nanos = parts["nanos"].as_i64().and_then(|nanos| i32::try_from(nanos).ok()).unwrap_or(0);
    if seconds == 0 && nanos == 0 {
        return Ok(Value::Null);
    }
    let time = Timestamp::new(seconds, nanos).map_err(|_| "there is no such time")?;
    let form = if with_micros { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(json!(time.strftime(form).to_string()))
}

#[cfg(test)]
mod tests;
