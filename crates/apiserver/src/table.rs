//! Tables: what `kubectl get` shows.

use crate::{encode, error::ApiError, meta, resource::Resource, store::Stored};
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

/// A column of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// `string`, `integer`, `date`, …
    pub type_: String,
    /// As OpenAPI has it; empty for none.
    pub format: String,
    /// What is in it.
    pub description: String,
    /// Above 0, only `-o wide` shows it.
    pub priority: i64,
    /// Where it comes from: `.spec.provider`.
    pub path: String,
}

/// The columns of a kind that does not say which it has.
pub fn default_columns() -> Vec<Column> {
    vec![Column {
        name: "Age".to_owned(),
        type_: "date".to_owned(),
        format: String::new(),
        description: "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata".to_owned(),
        priority: 0,
        path: ".metadata.creationTimestamp".to_owned(),
    }]
}

/// A table with these rows. `metadata` is that of the list, or of nothing.
pub(crate) fn table(resource: &Resource, metadata: Value, rows: Vec<Value>) -> Value {
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "priority": 0,
        "description": "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    });
    let columns = resource.columns.iter().map(|column| {
        json!({
            "name": column.name, "type": column.type_, "format": column.format,
            "description": column.description, "priority": column.priority,
        })
    });
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": std::iter::once(name).chain(columns).collect::<Vec<_>>(), "rows": rows,
    })
}

/// The row of an object.
pub(crate) fn row(object: &Value, resource: &Resource, now: Timestamp) -> Value {
    let name = json!(meta::text(object, "name"));
    let cells = resource.columns.iter().map(|column| cell(object, column, now));
    json!({
        "cells": std::iter::once(name).chain(cells).collect::<Vec<_>>(),
        "object": {
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"],
        },
    })
}

/// A table with one row, as a get or an event of a watch has it.
pub(crate) fn of_one(stored: &Stored, resource: &Resource, now: Timestamp) -> Result<Bytes, ApiError> {
    let object = encode::read(&encode::show(stored, resource, encode::Form::Whole)?)?;
    let metadata = json!({ "resourceVersion": meta::text(&object, "resourceVersion") });
    Ok(Bytes::from(table(resource, metadata, vec![row(&object, resource, now)]).to_string()))
}

fn cell(object: &Value, column: &Column, now: Timestamp) -> Value {
    let Some(found) = find(object, &column.path) else { return Value::Null };
    match (column.type_.as_str(), found) {
        (_, Value::Null) => Value::Null,
        ("date", Value::String(time)) => match time.parse::<Timestamp>() {
            Ok(time) => json!(age(time, now)),
            Err(_) => json!("<invalid>"),
        },
        ("integer", Value::Number(number)) => json!(number),
        ("number", Value::Number(number)) => json!(number),
        ("boolean", Value::Bool(flag)) => json!(flag),
        (_, Value::String(text)) => json!(text),
        (_, other) => json!(other.to_string()),
    }
}

/// Follows a path such as `.metadata.labels.example\.com/name`.
fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = object;
    for name in path_parts(path) {
        value = match name.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
            Some((name, index)) => value.get(name)?.get(index.parse::<usize>().ok()?)?,
            None => value.get(&name)?,
        };
    }
    Some(value)
}

fn path_parts(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = path.trim_start_matches('.').chars();
    while let Some(character) = characters.next() {
        match (character, parts.last_mut()) {
            ('.', _) => parts.push(String::new()),
            ('\\', Some(part)) => part.extend(characters.next()),
            (character, Some(part)) => part.push(character),
            (_, None) => {}
        }
    }
    parts
}

/// How long ago, as kubectl says it: `5s`, `3m20s`, `2d`.
fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - since.as_second();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let with = |big: i64, unit: &str, rest: i64, small: &str| match rest {
        0 => format!("{big}{unit}"),
        rest => format!("{big}{unit}{rest}{small}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => with(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => with(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => with(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => with(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_as_kubectl_does() {
        let ago =
            |seconds: i64| age(Timestamp::from_second(0).unwrap(), Timestamp::from_second(seconds).unwrap());
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (601, "10m"),
            (10_860, "3h1m"),
            (90_000, "25h"),
            (176_400, "2d1h"),
            (864_000, "10d"),
        ] {
            assert_eq!(ago(seconds), text);
        }
        assert_eq!(ago(-5), "<invalid>");
    }

    #[test]
    fn paths_may_have_dots_in_names() {
        let object = json!({ "metadata": { "labels": { "a.b/c": "x" } }, "list": [{ "n": 1 }] });
        assert_eq!(find(&object, ".metadata.labels.a\\.b/c"), Some(&json!("x")));
        assert_eq!(find(&object, ".list[0].n"), Some(&json!(1)));
        assert_eq!(find(&object, ".nothing.here"), None);
    }
}
