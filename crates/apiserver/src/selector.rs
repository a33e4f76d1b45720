//! Label and field selectors.

mod labels;

pub(crate) use labels::LabelSelector;

use crate::{error::ApiError, resource::Resource};
use serde_json::Value;

/// Which fields an object must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<FieldRequirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldRequirement {
    field: String,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Reads a selector of objects of this kind.
    pub(crate) fn of(text: &str, resource: &Resource) -> Result<Self, ApiError> {
        Self::parse(text, &resource.selectable_fields).map_err(|error| {
            // Kinds that have no fields of their own here have a message of their own there.
            let plain = !resource.is_untyped() && resource.selectable_fields.is_empty();
            match error.message.strip_prefix("field label not supported: ").filter(|_| plain) {
                Some(field) => ApiError::bad_request(format!(
                    "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                )),
                None => error,
            }
        })
    }

    /// Reads `metadata.name=a,status.phase!=b`. `supported` has the fields beside name and namespace.
    pub(crate) fn parse(text: &str, supported: &[String]) -> Result<Self, ApiError> {
        let mut requirements = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (field, value, equal) = if let Some((field, value)) = part.split_once("!=") {
                (field, value, false)
            } else if let Some((field, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
                (field, value, true)
            } else {
                return Err(ApiError::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            let known = matches!(field, "metadata.name" | "metadata.namespace")
                || supported.iter().any(|path| path.trim_start_matches('.') == field);
            if !known {
                return Err(ApiError::bad_request(format!("field label not supported: {field}")));
            }
            requirements.push(FieldRequirement { field: field.to_owned(), value: value.to_owned(), equal });
        }
        Ok(Self(requirements))
    }

    /// Whether nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name that is asked for, if it is only that.
    pub(crate) fn name(&self) -> Option<&str> {
        match self.0.as_slice() {
            [FieldRequirement { field, value, equal: true }] if field == "metadata.name" => Some(value),
            _ => None,
        }
    }

    /// Whether an object has these fields. One that is not there counts as empty.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|FieldRequirement { field, value, equal }| {
            let found = field.split('.').try_fold(object, |value, name| value.get(name));
            let text = match found {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) | None => String::new(),
                Some(other) => other.to_string(),
            };
            (text == *value) == *equal
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_refused() {
        assert_eq!(
            FieldSelector::parse("spec.x=1", &[]).unwrap_err().message,
            "field label not supported: spec.x"
        );
    }

    #[test]
    fn fields_are_matched() {
        let object = json!({ "metadata": { "name": "a" }, "spec": { "profile": "p", "n": 3 } });
        let supported = [".spec.profile".to_owned(), ".spec.n".to_owned(), ".status.phase".to_owned()];
        for (text, expected) in [
            ("metadata.name=a", true),
            ("metadata.name!=a", false),
            ("spec.profile=p,metadata.name=a", true),
            ("spec.n=3", true),
            ("status.phase=", true),
            ("status.phase!=Ready", true),
        ] {
            assert_eq!(FieldSelector::parse(text, &supported).unwrap().matches(&object), expected, "{text}");
        }
        assert_eq!(FieldSelector::parse("metadata.name=a", &[]).unwrap().name(), Some("a"));
    }
}
