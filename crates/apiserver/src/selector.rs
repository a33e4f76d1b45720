//! Label and field selectors.

use crate::error::ApiError;
use serde_json::Value;

/// Which labels an object must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    is: Is,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Is {
    Present,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl LabelSelector {
    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let refuse = |why: String| ApiError::bad_request(format!("unable to parse requirement: {why}"));
        let mut requirements = Vec::new();
        for part in split_outside_parentheses(text) {
            let part = part.trim();
            if part.is_empty() {
                if text.trim().is_empty() {
                    continue;
                }
                return Err(refuse("found '', expected: identifier after ','".to_owned()));
            }
            let requirement = parse_requirement(part).map_err(refuse)?;
            requirements.push(requirement);
        }
        Ok(Self(requirements))
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these labels are enough.
    pub fn matches(&self, labels: &[(Box<str>, Box<str>)]) -> bool {
        let value = |key: &str| labels.iter().find(|(name, _)| &**name == key).map(|(_, value)| &**value);
        self.0.iter().all(|Requirement { key, is }| match (is, value(key)) {
            (Is::Present, found) => found.is_some(),
            (Is::Absent, found) => found.is_none(),
            (Is::In(values), found) => found.is_some_and(|found| values.iter().any(|value| value == found)),
            (Is::NotIn(values), found) => found.is_none_or(|found| values.iter().all(|value| value != found)),
        })
    }
}

/// Splits at commas that are not in parentheses.
fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (place, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn parse_requirement(part: &str) -> Result<Requirement, String> {
    let requirement = |key: &str, is| match is_label_key(key) {
        true => Ok(Requirement { key: key.to_owned(), is }),
        false => Err(format!(
            "<nil>: Invalid value: {key:?}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        )),
    };
    if let Some(key) = part.strip_prefix('!') {
        return requirement(key.trim(), Is::Absent);
    }
    if let Some((key, value)) = part.split_once("!=") {
        return requirement(key.trim(), Is::NotIn(vec![label_value(value.trim())?]));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return requirement(key.trim(), Is::In(vec![label_value(value.trim())?]));
    }
    for (word, negated) in [(" notin ", true), (" notin(", true), (" in ", false), (" in(", false)] {
        if let Some((key, list)) = part.split_once(word) {
            let list = list.trim().trim_start_matches('(').trim_end_matches(')');
            let values =
                list.split(',').map(|value| label_value(value.trim())).collect::<Result<Vec<_>, _>>()?;
            return requirement(key.trim(), if negated { Is::NotIn(values) } else { Is::In(values) });
        }
    }
    if part.contains(char::is_whitespace) {
        let word = part.split_whitespace().nth(1).unwrap_or_default();
        return Err(format!("found '{word}', expected: in, notin, =, ==, !=, gt, lt"));
    }
    requirement(part, Is::Present)
}

fn label_value(value: &str) -> Result<String, String> {
    let valid = value.is_empty() || (value.len() <= 63 && is_name_part(value));
    if valid {
        return Ok(value.to_owned());
    }
    Err(format!(
        "values[0][{value}]: Invalid value: {value:?}: a valid label must be an empty string or consist of alphanumeric \
         characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
         'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    ))
}

/// Whether a text can be the key of a label or annotation: `name` or `example.com/name`.
pub(crate) fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    !name.is_empty()
        && name.len() <= 63
        && is_name_part(name)
        && prefix.is_none_or(|prefix| !prefix.is_empty() && prefix.len() <= 253 && is_dns_subdomain(prefix))
}

/// Whether a text is made of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
pub(crate) fn is_name_part(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.bytes().all(inner) && ends(text.bytes().next()) && ends(text.bytes().last())
}

/// Whether a text is a DNS subdomain as RFC 1123 has it.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(|label| !label.is_empty() && is_dns_characters(label))
}

/// Whether a text is a DNS label as RFC 1123 has it.
pub(crate) fn is_dns_label(text: &str) -> bool {
    !text.is_empty() && text.len() <= 63 && is_dns_characters(text)
}

fn is_dns_characters(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    text.bytes().all(inner) && ends(text.bytes().next()) && ends(text.bytes().last())
}

/// Which fields an object must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<FieldRequirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldRequirement {
    field: String,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Reads `metadata.name=a,status.phase!=b`. `supported` has the fields beside name and namespace.
    pub fn parse(text: &str, supported: &[String]) -> Result<Self, ApiError> {
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
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name that is asked for, if it is only that.
    pub fn name(&self) -> Option<&str> {
        match self.0.as_slice() {
            [FieldRequirement { field, value, equal: true }] if field == "metadata.name" => Some(value),
            _ => None,
        }
    }

    /// Whether an object has these fields. One that is not there counts as empty.
    pub fn matches(&self, object: &Value) -> bool {
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

    fn labels(pairs: &[(&str, &str)]) -> Vec<(Box<str>, Box<str>)> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn labels_are_matched_as_kubectl_writes_them() {
        let dirty_gcp = labels(&[("hyperscalerType", "gcp"), ("dirty", "true")]);
        for (text, expected) in [
            ("", true),
            ("hyperscalerType=gcp", true),
            ("hyperscalerType==gcp", true),
            ("hyperscalerType=aws", false),
            ("hyperscalerType!=aws", true),
            ("shared!=true", true),
            ("!dirty", false),
            ("dirty", true),
            ("!shared,dirty", true),
            ("hyperscalerType in (aws, gcp)", true),
            ("hyperscalerType in (aws),dirty", false),
            ("hyperscalerType notin (aws,azure),!internal", true),
            ("tenant notin (a)", true),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(&dirty_gcp), expected, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["a=b c", "a b c", "-a=b", "a=b,,c=d", "a in"] {
            let error = LabelSelector::parse(text).expect_err(text);
            assert_eq!((error.code, error.reason), (400, "BadRequest"), "{text}");
        }
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
