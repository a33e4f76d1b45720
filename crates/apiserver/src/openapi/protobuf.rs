//! Version 2 of OpenAPI in the binary form that kubectl asks for: `openapiv2/OpenAPIv2.proto` of gnostic. Only what
//! describes kinds is in it.

use serde_json::Value;

/// What it is called. Clients ask for it with an `@` before the version, which is no media type.
pub(crate) const MEDIA_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// A document of version 2.
pub(super) fn document(second: &Value) -> Vec<u8> {
    let info =
        Message::default().text(1, text(&second["info"], "title")).text(2, text(&second["info"], "version"));
    Message::default()
        .text(1, text(second, "swagger"))
        .message(2, &info)
        .message(8, &Message::default())
        .message(9, &named(&second["definitions"]))
        .0
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// A message as it is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        // 2 is the wire type of everything that says how long it is.
        self.number(field << 3 | 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Self {
        if text.is_empty() { self } else { self.bytes(field, text.as_bytes()) }
    }

    fn message(self, field: u64, message: &Message) -> Self {
        self.bytes(field, &message.0)
    }

    /// Seven bits at a time, the lowest first.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

/// Schemas by their names.
fn named(schemas: &Value) -> Message {
    schemas.as_object().into_iter().flatten().fold(Message::default(), |all, (name, of)| {
        all.message(1, &Message::default().text(1, name).message(2, &schema(of)))
    })
}

/// Any value: JSON is YAML.
fn any(value: &Value) -> Message {
    Message::default().text(2, &value.to_string())
}

fn schema(of: &Value) -> Message {
    let list = |field: &str| of[field].as_array().into_iter().flatten();
    let mut message = Message::default()
        .text(1, text(of, "$ref"))
        .text(2, text(of, "format"))
        .text(4, text(of, "description"));
    if let Some(default) = of.get("default") {
        message = message.message(5, &any(default));
    }
    message =
        list("required").filter_map(Value::as_str).fold(message, |message, name| message.text(19, name));
    message = list("enum").fold(message, |message, word| message.message(20, &any(word)));
    if of["additionalProperties"].is_object() {
        message = message.message(21, &Message::default().message(1, &schema(&of["additionalProperties"])));
    }
    if let Some(type_) = of["type"].as_str() {
        message = message.message(22, &Message::default().text(1, type_));
    }
    if of["items"].is_object() {
        message = message.message(23, &Message::default().message(1, &schema(&of["items"])));
    }
    if of["properties"].is_object() {
        message = message.message(25, &named(&of["properties"]));
    }
    let extensions = of.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with("x-"));
    extensions.fold(message, |message, (name, value)| {
        message.message(31, &Message::default().text(1, name).message(2, &any(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn is_written_field_by_field() {
        let bytes = document(&json!({
            "swagger": "2.0", "info": { "title": "t" }, "definitions": { "a": { "type": "string", "x-b": 1 } },
        }));
        let a = b"\x0a\x01a\x12\x18\xb2\x01\x08\x0a\x06string\xfa\x01\x0a\x0a\x03x-b\x12\x03\x12\x011";
        let wanted = [b"\x0a\x032.0\x12\x03\x0a\x01t\x42\x00\x4a\x1f\x0a\x1d" as &[u8], a].concat();
        assert_eq!(bytes, wanted, "{bytes:x?}");
    }

    #[test]
    fn long_texts_say_how_long() {
        let message = Message::default().text(1, &"x".repeat(300));
        assert_eq!(message.0[..3], [0x0a, 0xac, 0x02]);
    }
}
