//! The parameters of a call.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Names and values, from the query and the form.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters(pub(super) BTreeMap<String, String>);

impl Parameters {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(super) fn region(&self) -> Option<&str> {
        self.get("RegionId").or_else(|| self.get("regionId"))
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.get(name).and_then(|value| value.parse().ok())
    }

    /// `Name.1`, `Name.2`, …
    pub(super) fn numbered(&self, name: &str) -> Vec<String> {
        (1..).map_while(|number| self.get(&format!("{name}.{number}"))).map(str::to_owned).collect()
    }

    /// `Tag.1.Key`, `Tag.1.Value`, …; some calls say `Tags`.
    pub(super) fn tags(&self) -> Vec<(String, String)> {
        let of = |name: &str| {
            (1..)
                .map_while(|number| {
                    let key = self.get(&format!("{name}.{number}.Key"))?;
                    let value = self.get(&format!("{name}.{number}.Value")).unwrap_or_default();
                    Some((key.to_owned(), value.to_owned()))
                })
                .collect::<Vec<_>>()
        };
        [of("Tag"), of("Tags")].concat()
    }

    /// A value as the cloud shows it: truths are no texts.
    pub(super) fn value(&self, name: &str) -> Option<Value> {
        let text = self.get(name)?;
        Some(match text {
            "True" | "true" => json!(true),
            "False" | "false" => json!(false),
            _ => json!(text),
        })
    }
}
