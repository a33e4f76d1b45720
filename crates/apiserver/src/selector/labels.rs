//! Label selectors, read as `k8s.io/apimachinery/pkg/labels` reads them: what it refuses is refused in its words.

use crate::error::ApiError;
use crate::{
    auth::{aggregate, items, text, texts},
    names,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// Which labels an object must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

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
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        let parser = Parser { tokens: tokens(text), next: 0 };
        parser.requirements().map(Self).map_err(ApiError::bad_request)
    }

    /// Reads `matchLabels` and `matchExpressions`. An operator that there is not matches nothing.
    pub(crate) fn of_object(selector: &Value) -> Self {
        let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
        let labels = labels.map(|(key, value)| Requirement {
            key: key.clone(),
            is: Is::In(vec![value.as_str().unwrap_or_default().to_owned()]),
        });
        let expressions = items(selector, "matchExpressions").iter().map(|expression| Requirement {
            key: text(expression, "key").to_owned(),
            is: match text(expression, "operator") {
                "In" => Is::In(texts(expression, "values")),
                "NotIn" => Is::NotIn(texts(expression, "values")),
                "Exists" => Is::Present,
                "DoesNotExist" => Is::Absent,
                _ => Is::In(Vec::new()),
            },
        });
        Self(labels.chain(expressions).collect())
    }

    /// Whether nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these labels are enough.
    pub(crate) fn matches(&self, labels: &[(Box<str>, Box<str>)]) -> bool {
        let value = |key: &str| labels.iter().find(|(name, _)| &**name == key).map(|(_, value)| &**value);
        let number = |found: Option<&str>| found.and_then(|found| found.parse::<i64>().ok());
        self.0.iter().all(|Requirement { key, is }| match (is, value(key)) {
            (Is::Present, found) => found.is_some(),
            (Is::Absent, found) => found.is_none(),
            (Is::In(values), found) => found.is_some_and(|found| values.iter().any(|value| value == found)),
            (Is::NotIn(values), found) => found.is_none_or(|found| values.iter().all(|value| value != found)),
            (Is::Above(limit), found) => number(found).is_some_and(|number| number > *limit),
            (Is::Below(limit), found) => number(found).is_some_and(|number| number < *limit),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
        let length = symbol.map_or_else(
            || rest.find(|next: char| next.is_whitespace() || "=!(),><".contains(next)).unwrap_or(rest.len()),
            |symbol| symbol.len(),
        );
        let (token, after) = rest.split_at(length);
        tokens.push(if symbol.is_some() { Token::Symbol(token) } else { Token::Word(token) });
        rest = after.trim_start();
    }
    tokens
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    next: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.next).copied().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn requirements(mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(requirements),
                Token::Word(_) | Token::Symbol("!") => {}
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    ));
                }
            }
            let requirement =
                self.requirement().map_err(|error| format!("unable to parse requirement: {error}"))?;
            requirements.push(requirement);
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Symbol(",") if matches!(self.peek(), Token::Word(_) | Token::Symbol("!")) => {}
                Token::Symbol(",") => {
                    return Err(format!("found '{}', expected: identifier after ','", self.peek().text()));
                }
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == Token::Symbol("!");
        if absent {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => check_key(key)?,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        if absent {
            return Ok(Requirement { key, is: Is::Absent });
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Requirement { key, is: Is::Present });
        }
        let is = match self.take() {
            Token::Word("in") => Is::In(check_values(&key, self.values()?)?),
            Token::Word("notin") => Is::NotIn(check_values(&key, self.values()?)?),
            Token::Symbol("=" | "==") => Is::In(check_values(&key, vec![self.value()?])?),
            Token::Symbol("!=") => Is::NotIn(check_values(&key, vec![self.value()?])?),
            Token::Symbol(">") => Is::Above(number(&self.value()?)?),
            Token::Symbol("<") => Is::Below(number(&self.value()?)?),
            other => {
                return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text()));
            }
        };
        Ok(Requirement { key, is })
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(String::new());
        }
        match self.take() {
            Token::Word(value) => Ok(value.to_owned()),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// `(a,b)`; what is empty between commas is an empty value.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.take() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = BTreeSet::new();
        match self.peek() {
            Token::Word(_) | Token::Symbol(",") => {}
            Token::Symbol(")") => {
                self.take();
                return Ok(vec![String::new()]);
            }
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        loop {
            match self.take() {
                Token::Word(value) => {
                    values.insert(value.to_owned());
                    match self.peek() {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => break,
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() || self.peek() == Token::Symbol(",") {
                        values.insert(String::new());
                    }
                    if self.peek() == Token::Symbol(")") {
                        values.insert(String::new());
                        break;
                    }
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
        self.take();
        Ok(values.into_iter().collect())
    }
}

fn check_key(key: &str) -> Result<String, String> {
    match names::key_errors(key).as_slice() {
        [] => Ok(key.to_owned()),
        wrong => Err(format!("<nil>: Invalid value: {key:?}: {}", wrong.join("; "))),
    }
}

fn check_values(key: &str, values: Vec<String>) -> Result<Vec<String>, String> {
    let wrong =
        values.iter().enumerate().filter_map(|(place, value)| match names::value_errors(value).as_slice() {
            [] => None,
            wrong => Some(format!("values[{place}][{key}]: Invalid value: {value:?}: {}", wrong.join("; "))),
        });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() { Ok(values) } else { Err(aggregate(&wrong)) }
}

fn number(value: &str) -> Result<i64, String> {
    value.parse().map_err(|_| {
        format!("values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Vec<(Box<str>, Box<str>)> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn labels_are_matched_as_kubectl_writes_them() {
        let dirty_gcp = labels(&[("hyperscalerType", "gcp"), ("dirty", "true"), ("n", "3")]);
        for (text, expected) in [
            ("", true),
            ("hyperscalerType=gcp", true),
            ("hyperscalerType==gcp", true),
            (" hyperscalerType = gcp ", true),
            ("hyperscalerType=aws", false),
            ("hyperscalerType!=aws", true),
            ("shared!=true", true),
            ("!dirty", false),
            ("dirty", true),
            ("!shared,dirty", true),
            ("hyperscalerType in (aws, gcp)", true),
            ("hyperscalerType in(aws,gcp)", true),
            ("hyperscalerType in (aws),dirty", false),
            ("hyperscalerType notin (aws,azure),!internal", true),
            ("tenant notin (a)", true),
            ("hyperscalerType in ()", false),
            ("n>2,n<4", true),
            ("n>3", false),
            ("dirty>1", false),
            ("missing<9", false),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(&dirty_gcp), expected, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_in_the_words_of_a_real_server() {
        let why = "unable to parse requirement: ";
        for (text, expected) in [
            ("a=b c", "found 'c', expected: ',' or 'end of string'".to_owned()),
            ("a b c", format!("{why}found 'b', expected: in, notin, =, ==, !=, gt, lt")),
            ("a===b", format!("{why}found '=', expected: identifier")),
            ("a in (b", format!("{why}found '', expected: ',' or ')'")),
            ("a in", format!("{why}found '' expected: '('")),
            ("a=b,,c=d", "found ',', expected: identifier after ','".to_owned()),
            ("=b", "found '=', expected: !, identifier, or 'end of string'".to_owned()),
            (
                "a>b",
                format!(
                    "{why}values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer"
                ),
            ),
        ] {
            let error = LabelSelector::parse(text).expect_err(text);
            assert_eq!(
                (error.code, error.reason, error.message.as_str()),
                (400, "BadRequest", expected.as_str()),
                "{text}"
            );
        }
        assert!(LabelSelector::parse("-a=b").is_err());
        assert!(LabelSelector::parse("a=-b").is_err());
    }
}
