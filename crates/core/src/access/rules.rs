//! Rules as people write them, and as RBAC takes them.
//!
//! `apiGroups: [example.com/v1]` and `resources: [Secret]` are accepted by every API server and match nothing. What they can
//! only have meant is put in their place, and said so.

use super::danger::Scope;
use allotment_api::rbac::PolicyRule;

/// What could be made of a word that matches nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// Where it stands.
    pub field: String,
    /// The word.
    pub found: String,
    /// What is granted instead.
    pub used: String,
}

impl std::fmt::Display for Mended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { field, found, used } = self;
        write!(f, "{field}: {found:?} matches nothing in RBAC; {used:?} is granted instead")
    }
}

/// Rules that match what they mean. `field` is where they stand.
pub fn normalise(field: &str, rules: &[PolicyRule]) -> (Vec<PolicyRule>, Vec<Mended>) {
    let mut mended = Vec::new();
    let rules = rules
        .iter()
        .enumerate()
        .map(|(number, rule)| {
            let mut mend = |part: &str, words: &[String], as_meant: fn(&str) -> String| {
                let mut all = Vec::new();
                for found in words {
                    let used = as_meant(found);
                    if used != *found {
                        let field = format!("{field}[{number}].{part}");
                        mended.push(Mended { field, found: found.clone(), used: used.clone() });
                    }
                    if !all.contains(&used) {
                        all.push(used);
                    }
                }
                all
            };
            PolicyRule {
                api_groups: mend("apiGroups", &rule.api_groups, group),
                resources: mend("resources", &rule.resources, resource),
                verbs: mend("verbs", &rule.verbs, verb),
                resource_names: rule.resource_names.clone(),
                non_resource_urls: rule.non_resource_urls.clone(),
            }
        })
        .collect();
    (rules, mended)
}

/// Why every API server refuses a role with these rules, if it does: the first rule that is none, by its number. Admission says the
/// same; a request may be older than that.
pub fn malformed(rules: &[PolicyRule], scope: Scope) -> Option<String> {
    rules.iter().enumerate().find_map(|(number, rule)| {
        let names_resources = !rule.api_groups.is_empty() && !rule.resources.is_empty();
        let names_any =
            !(rule.api_groups.is_empty() && rule.resources.is_empty() && rule.resource_names.is_empty());
        let why = if rule.verbs.is_empty() {
            "it has no verbs"
        } else if rule.non_resource_urls.is_empty() {
            if names_resources {
                return None;
            }
            "a rule has apiGroups and resources; the core group is \"\""
        } else if scope == Scope::Role {
            "nonResourceURLs only work in clusterRole"
        } else if names_any {
            "nonResourceURLs go into a rule of their own"
        } else {
            return None;
        };
        Some(format!("[{number}]: {why}"))
    })
}

/// A group has no version: `example.com/v1` is `example.com`, and `v1` is the core group.
fn group(word: &str) -> String {
    match word.split_once('/') {
        Some((group, version)) if is_version(version) => group.to_owned(),
        None if is_version(word) => String::new(),
        _ => word.to_owned(),
    }
}

/// `v1`, `v1alpha1`, `v2beta3`.
fn is_version(word: &str) -> bool {
    let Some(rest) = word.strip_prefix('v') else { return false };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let stage = rest.strip_prefix("alpha").or_else(|| rest.strip_prefix("beta"));
    let had_digits = word.len() - rest.len() > 1;
    had_digits
        && (rest.is_empty()
            || stage.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())))
}

/// A capital letter is only in the name of a kind, whose resource is its plural in lower case: Kubernetes guesses it so too.
fn resource(word: &str) -> String {
    let (kind, subresource) = word.split_once('/').map_or((word, None), |(kind, rest)| (kind, Some(rest)));
    if !kind.starts_with(|c: char| c.is_ascii_uppercase()) {
        return word.to_owned();
    }
    let mut plural = kind.to_ascii_lowercase();
    if plural.ends_with('y') && !ends_with_vowel_y(&plural) {
        plural.pop();
        plural.push_str("ies");
    } else if plural.ends_with('s') || plural.ends_with("ch") || plural.ends_with('x') {
        plural.push_str("es");
    } else {
        plural.push('s');
    }
    if kind == "Endpoints" {
        // The one kind that is a plural.
        plural = "endpoints".to_owned();
    }
    match subresource {
        None => plural,
        Some(subresource) => format!("{plural}/{subresource}"),
    }
}

/// `gateways`, not `gatewaies`.
fn ends_with_vowel_y(word: &str) -> bool {
    ["ay", "ey", "oy", "uy"].iter().any(|end| word.ends_with(end))
}

fn verb(word: &str) -> String {
    word.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_only_have_meant_one_thing_is_mended() {
        for (word, expected) in [
            ("application-connector.kyma-project.io/v1alpha1", "application-connector.kyma-project.io"),
            ("v1", ""),
            ("v2beta3", ""),
            ("apps", "apps"),
            ("v", "v"),
            ("vendor", "vendor"),
            ("a/b", "a/b"),
            ("*", "*"),
        ] {
            assert_eq!(group(word), expected, "{word}");
        }
        for (word, expected) in [
            ("Application", "applications"),
            ("Secret", "secrets"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Ingress", "ingresses"),
            ("Endpoints", "endpoints"),
            ("Pod/log", "pods/log"),
            ("secrets", "secrets"),
            ("*", "*"),
            ("secret", "secret"),
        ] {
            assert_eq!(resource(word), expected, "{word}");
        }
    }

    #[test]
    fn what_every_server_refuses_is_known() {
        let rule = |text: &str| serde_json::from_str::<PolicyRule>(text).unwrap();
        for (text, cluster, role) in [
            (r#"{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}"#, None, None),
            (r#"{"resources": ["pods"], "verbs": ["get"]}"#, Some("apiGroups"), Some("apiGroups")),
            (r#"{"apiGroups": [""], "verbs": ["get"]}"#, Some("resources"), Some("resources")),
            (r#"{"apiGroups": [""], "resources": ["pods"], "verbs": []}"#, Some("verbs"), Some("verbs")),
            (r#"{"nonResourceURLs": ["/a"], "verbs": ["get"]}"#, None, Some("only work in clusterRole")),
            (
                r#"{"nonResourceURLs": ["/a"], "resources": ["pods"], "verbs": ["get"]}"#,
                Some("of their own"),
                Some("only work in clusterRole"),
            ),
        ] {
            for (scope, expected) in [(Scope::ClusterRole, cluster), (Scope::Role, role)] {
                let found = malformed(&[rule(text)], scope);
                let is_right = match (&found, expected) {
                    (Some(found), Some(expected)) => found.starts_with("[0]: ") && found.contains(expected),
                    (None, None) => true,
                    _ => false,
                };
                assert!(is_right, "{text}: {found:?}");
            }
        }
    }

    #[test]
    fn it_says_what_it_mended() {
        let rule = PolicyRule {
            api_groups: vec!["a.b/v1".to_owned(), "a.b".to_owned()],
            resources: vec!["Secret".to_owned()],
            verbs: vec!["GET".to_owned()],
            ..PolicyRule::default()
        };
        let (rules, mended) = normalise("spec.clusterRole.rules", std::slice::from_ref(&rule));
        assert_eq!(rules[0].api_groups, ["a.b"]);
        assert_eq!(rules[0].verbs, ["get"]);
        let said: Vec<String> = mended.iter().map(ToString::to_string).collect();
        assert_eq!(
            said[0],
            "spec.clusterRole.rules[0].apiGroups: \"a.b/v1\" matches nothing in RBAC; \"a.b\" is granted instead"
        );
        assert_eq!(said.len(), 3);
        assert!(normalise("x", &rules).1.is_empty(), "once is enough");
    }
}
