//! The plans that exist, and the clouds that each can be in.

use std::collections::BTreeMap;

/// Plans that need a rule where nothing else is said.
pub const ENABLED_BY_DEFAULT: [&str; 8] =
    ["aws", "azure", "azure_lite", "free", "gcp", "preview", "sap-converged-cloud", "trial"];

/// The built-in table. A plan with several providers takes the one that the request names.
const BUILT_IN: [(&str, &[&str]); 14] = [
    ("alicloud", &["alicloud"]),
    ("aws", &["aws"]),
    ("azure", &["azure"]),
    ("azure_lite", &["azure"]),
    ("build-runtime-alicloud", &["alicloud"]),
    ("build-runtime-aws", &["aws"]),
    ("build-runtime-azure", &["azure"]),
    ("build-runtime-gcp", &["gcp"]),
    ("free", &["aws", "azure"]),
    ("gcp", &["gcp"]),
    ("gdch", &["gdch"]),
    ("preview", &["aws"]),
    ("sap-converged-cloud", &["openstack"]),
    ("trial", &["aws", "azure"]),
];

/// Which plans there are, and which providers each can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plans(BTreeMap<String, Vec<String>>);

impl Default for Plans {
    fn default() -> Self {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Self(BUILT_IN.iter().map(|&(plan, providers)| (plan.to_owned(), owned(providers))).collect())
    }
}

impl Plans {
    /// The providers of a plan, never none of them; `None` if there is no such plan.
    pub fn providers(&self, plan: &str) -> Option<&[String]> {
        self.0.get(plan).map(Vec::as_slice)
    }

    /// All plans, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Adds a plan, or gives a known one other providers.
    pub(super) fn set(&mut self, plan: String, providers: Vec<String>) {
        self.0.insert(plan, providers);
    }
}
