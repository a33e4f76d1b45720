//! Compares a file with the schema, and says everything that does not fit, each with its place.

use allotment_core::rules::{
    Code, Finding, MOST_LISTED,
    source::{Place, Source},
    word,
    yaml::{Node, Value as Yaml},
};
use ipnet::IpNet;
use serde_json::{Map, Number, Value};
use std::net::Ipv4Addr;

/// Everything in a file that does not fit a schema.
pub(super) fn check(root: &Node, source: &Source<'_>, schema: &Value) -> Vec<Finding> {
    let mut checker = Checker { source, root: schema, findings: Vec::new(), left_out: 0 };
    checker.node(root, schema, "the file");
    let Checker { mut findings, left_out, .. } = checker;
    if left_out > 0 {
        let place = source.place(root.referenced);
        let message = format!("{left_out} more findings are not listed: correct these first");
        findings.push(source.finding(Code::Truncated, 0, place, message));
    }
    findings
}

/// The same as JSON, which is what types are read from.
pub(super) fn to_json(node: &Node) -> Value {
    match &node.value {
        Yaml::Null => Value::Null,
        Yaml::Text(text) => Value::String(text.clone()),
        Yaml::Bool(value) => Value::Bool(*value),
        Yaml::Number(number) => to_number(*number),
        Yaml::List(nodes) => nodes.iter().map(to_json).collect(),
        Yaml::Map(entries) => {
            let members = entries.iter().map(|(key, value)| (key.value.clone(), to_json(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

/// The node at a path, or as near to it as there is one, with the place of its key.
pub(super) fn find<'n>(root: &'n Node, source: &Source<'_>, path: &[&str]) -> (Option<&'n Node>, Place) {
    let (mut node, mut place) = (root, source.place(root.referenced));
    for name in path {
        let Yaml::Map(entries) = &node.value else { return (None, place) };
        let Some((key, value)) = entries.iter().find(|(key, _)| key.value == *name) else {
            return (None, place);
        };
        (node, place) = (value, source.place_of(key));
    }
    (Some(node), place)
}

#[expect(clippy::cast_possible_truncation, reason = "it has no fraction and is small enough, or saturates")]
fn to_number(number: f64) -> Value {
    if number.fract() == 0.0 {
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

struct Checker<'s, 't> {
    source: &'s Source<'t>,
    root: &'s Value,
    findings: Vec<Finding>,
    /// A file of unknown keys has as many findings, and each holds its line.
    left_out: usize,
}

impl<'s> Checker<'s, '_> {
    fn node(&mut self, node: &Node, schema: &'s Value, name: &str) {
        let schema = self.resolve(schema);
        // Only what may be left out is a choice here: the other way is `null`.
        if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
            let real = choices.iter().find(|choice| choice.get("type") != Some(&Value::from("null")));
            if let (Some(real), false) = (real, matches!(node.value, Yaml::Null)) {
                self.node(node, real, name);
            }
            return;
        }
        if let Some(allowed) = words(schema) {
            let fits = matches!(&node.value, Yaml::Text(text) if allowed.contains(&text.as_str()));
            if !fits {
                let expected = format!("expected {}", word::one_of(allowed.iter()));
                let hint = match &node.value {
                    Yaml::Text(text) => word::did_you_mean(text, allowed.iter().copied()),
                    _ => String::new(),
                };
                self.fault(node, format!("`{name}` is {}: {expected}{hint}", shown(&node.value)));
            }
            return;
        }
        if !self.has_type(node, schema, name) {
            return;
        }
        match &node.value {
            Yaml::Map(entries) => {
                let required = schema.get("required").and_then(Value::as_array);
                for missing in required.into_iter().flatten().filter_map(Value::as_str) {
                    if !entries.iter().any(|(key, _)| key.value == missing) {
                        self.fault(node, format!("`{name}` lacks the key `{missing}`"));
                    }
                }
                for (key, value) in entries {
                    match member(schema, &key.value) {
                        Member::Schema(schema) => self.node(value, schema, &key.value),
                        Member::Anything => (),
                        Member::Unknown(known) => {
                            let hint = word::did_you_mean(&key.value, known.iter().copied());
                            let known = if hint.is_empty() {
                                format!(": expected {}", word::one_of(&known))
                            } else {
                                hint
                            };
                            let place = self.source.place_of(key);
                            self.found(Code::Syntax, place, format!("unknown key `{}`{known}", key.value));
                        }
                    }
                }
            }
            Yaml::List(nodes) => {
                for node in nodes {
                    if let Some(items) = schema.get("items") {
                        self.node(node, items, name);
                    }
                }
            }
            Yaml::Number(number) => self.bounds(node, *number, schema, name),
            Yaml::Text(text) if schema.get("minLength").is_some() && text.is_empty() => {
                self.fault(node, format!("`{name}` is empty"));
            }
            Yaml::Text(text) if is(schema, "ipv4-cidr") && !is_range(text) => {
                self.fault(node, format!("`{name}` is `{text}`: expected a range such as 10.250.0.0/16"));
            }
            Yaml::Text(text) if is(schema, "cidr") && text.parse::<IpNet>().is_err() => {
                self.fault(
                    node,
                    format!("`{name}` is `{text}`: expected a range such as 10.0.0.0/8 or fd00::/8"),
                );
            }
            Yaml::Text(_) | Yaml::Null | Yaml::Bool(_) => (),
        }
    }

    fn has_type(&mut self, node: &Node, schema: &Value, name: &str) -> bool {
        let types: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => return true,
        };
        let fits = types.iter().any(|type_| match (*type_, &node.value) {
            ("null", Yaml::Null) | ("string", Yaml::Text(_)) | ("boolean", Yaml::Bool(_)) => true,
            ("integer", Yaml::Number(number)) => number.fract() == 0.0,
            ("number", Yaml::Number(_)) | ("object", Yaml::Map(_)) | ("array", Yaml::List(_)) => true,
            // A key with nothing behind it is one that is left out.
            ("object", Yaml::Null) => true,
            _ => false,
        });
        if !fits {
            let expected = types.iter().find(|type_| **type_ != "null").copied().unwrap_or_default();
            let expected = match expected {
                "string" => "a text",
                "integer" => "a whole number",
                "number" => "a number",
                "boolean" => "true or false",
                "array" => "a list",
                _ => "a map",
            };
            self.fault(node, format!("`{name}` is {}: expected {expected}", shown(&node.value)));
        }
        fits
    }

    fn bounds(&mut self, node: &Node, number: f64, schema: &Value, name: &str) {
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        if let Some(least) = bound("minimum").filter(|least| number < *least) {
            self.fault(node, format!("`{name}` is {number}: expected at least {least}"));
        }
        if let Some(most) = bound("maximum").filter(|most| number > *most) {
            self.fault(node, format!("`{name}` is {number}: expected at most {most}"));
        }
    }

    fn resolve(&self, schema: &'s Value) -> &'s Value {
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
        reference.and_then(|path| self.root.pointer(path)).unwrap_or(schema)
    }

    fn fault(&mut self, node: &Node, message: String) {
        self.found(Code::InvalidValue, self.source.place(node.referenced), message);
    }

    fn found(&mut self, code: Code, place: Place, message: String) {
        if self.findings.len() < MOST_LISTED {
            self.findings.push(self.source.finding(code, 0, place, message));
        } else {
            self.left_out += 1;
        }
    }
}

enum Member<'s> {
    Schema(&'s Value),
    Anything,
    Unknown(Vec<&'s str>),
}

fn member<'s>(schema: &'s Value, key: &str) -> Member<'s> {
    let known = schema.get("properties").and_then(Value::as_object);
    if let Some(schema) = known.and_then(|known| known.get(key)) {
        return Member::Schema(schema);
    }
    let names = schema.get("propertyNames").and_then(words);
    if let Some(names) = names.filter(|names| !names.contains(&key)) {
        return Member::Unknown(names);
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => {
            Member::Unknown(known.into_iter().flatten().map(|(name, _)| name.as_str()).collect())
        }
        Some(schema @ Value::Object(_)) => Member::Schema(schema),
        _ => Member::Anything,
    }
}

/// The words that an enumeration allows.
fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(Value::as_str).collect();
    }
    let choices = schema.get("oneOf").and_then(Value::as_array)?;
    let mut all = Vec::new();
    for choice in choices {
        match (choice.get("const"), choice.get("enum").and_then(Value::as_array)) {
            (Some(word), _) => all.push(word.as_str()?),
            (None, Some(words)) => all.extend(words.iter().filter_map(Value::as_str)),
            (None, None) => return None,
        }
    }
    Some(all)
}

fn shown(value: &Yaml) -> String {
    match value {
        Yaml::Text(text) => format!("`{text}`"),
        Yaml::Bool(value) => format!("`{value}`"),
        Yaml::Number(number) => format!("`{number}`"),
        other => other.describe().to_owned(),
    }
}

/// Whether a text is to be of this format.
fn is(schema: &Value, format: &str) -> bool {
    schema.get("format").and_then(Value::as_str) == Some(format)
}

/// Whether a text is an IPv4 address and the length of a prefix.
fn is_range(text: &str) -> bool {
    let parts = text.split_once('/');
    parts.is_some_and(|(address, prefix)| {
        address.parse::<Ipv4Addr>().is_ok() && prefix.parse::<u8>().is_ok_and(|prefix| prefix <= 32)
    })
}
