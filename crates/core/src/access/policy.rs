//! Who may ask for what at most.

use allotment_api::rbac::PolicyRule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All of something.
const ALL: &str = "*";

/// Verbs that hand out more than their holder has.
const DANGEROUS_VERBS: [&str; 3] = ["bind", "escalate", "impersonate"];

/// What those verbs are about: a wildcard verb on any of them contains one.
const DANGEROUS_RESOURCES: [&str; 6] =
    ["clusterroles", "groups", "roles", "serviceaccounts", "uids", "users"];

/// The `access` section of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Access {
    /// The longest life of a handed-out kubeconfig, in seconds.
    #[schemars(range(min = 600))]
    pub max_expiration: u32,
    /// Which namespaces may ask for which rules on which Clusters, at most. A request has to keep within those that are about
    /// it, taken together. Without any: every namespace, on its own Clusters, all but what `dangerous` is about.
    pub policies: Vec<Policy>,
}

impl Default for Access {
    fn default() -> Self {
        Self { max_expiration: 86400, policies: Vec::new() }
    }
}

/// What some namespaces may ask for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// The namespaces that requests come from; `*` for all.
    pub namespaces: Vec<String>,
    /// The namespaces of the Clusters; `*` for all. Without it, only that of the request.
    #[serde(default)]
    pub cluster_namespaces: Vec<String>,
    /// The names of the Clusters; all of them where it is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<Vec<String>>,
    /// What may be asked for in the whole cluster; everything where it is not set, nothing where it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_role: Option<Vec<PolicyRule>>,
    /// What may be asked for in a namespace; everything where it is not set, nothing where it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Vec<PolicyRule>>,
    /// Allow `bind`, `escalate` and `impersonate`, tokens of ServiceAccounts, and wildcards that take in Secrets.
    #[serde(default)]
    pub dangerous: bool,
}

/// Who asks, and on which Cluster.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The namespace of the request.
    pub namespace: &'a str,
    /// The namespace of the Cluster.
    pub cluster_namespace: &'a str,
    /// The Cluster.
    pub cluster: &'a str,
}

/// What is asked for, normalised.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// In the whole cluster.
    pub cluster_role: &'a [PolicyRule],
    /// In one namespace.
    pub role: &'a [PolicyRule],
    /// For how long, in seconds.
    pub expiration: i64,
}

impl Access {
    /// Why this may not be asked for, if it may not. Names the field and the rule.
    pub fn refusal(&self, asking: &Asking<'_>, asked: &Asked<'_>) -> Option<String> {
        let default = [Policy { namespaces: vec![ALL.to_owned()], ..Policy::default() }];
        let policies = if self.policies.is_empty() { &default[..] } else { &self.policies };
        let about: Vec<&Policy> = policies.iter().filter(|policy| policy.is_about(asking)).collect();
        if about.is_empty() {
            let Asking { namespace, cluster_namespace, cluster } = asking;
            return Some(format!(
                "no policy lets requests of namespace {namespace} have Cluster {cluster_namespace}/{cluster}; see access.policies \
                 of the configuration"
            ));
        }
        if asked.expiration > i64::from(self.max_expiration) {
            return Some(format!(
                "spec.expiration: {} s is longer than the {} s that access.maxExpiration allows",
                asked.expiration, self.max_expiration
            ));
        }
        let rules =
            |field: &'static str, rules: &[PolicyRule], most: fn(&Policy) -> Option<&Vec<PolicyRule>>| {
                rules.iter().enumerate().find_map(|(number, rule)| {
                    let why = why_not(rule, &about, most)?;
                    Some(format!("{field}[{number}]: {why}"))
                })
            };
        rules("spec.clusterRole.rules", asked.cluster_role, |policy| policy.cluster_role.as_ref())
            .or_else(|| rules("spec.role.rules", asked.role, |policy| policy.role.as_ref()))
    }
}

impl Policy {
    fn is_about(&self, asking: &Asking<'_>) -> bool {
        let has = |list: &[String], name: &str| list.iter().any(|one| one == ALL || one == name);
        let is_own = asking.namespace == asking.cluster_namespace;
        has(&self.namespaces, asking.namespace)
            && if self.cluster_namespaces.is_empty() {
                is_own
            } else {
                has(&self.cluster_namespaces, asking.cluster_namespace)
            }
            && self.clusters.as_ref().is_none_or(|clusters| has(clusters, asking.cluster))
    }
}

/// What of a rule no policy allows. A rule is a product; each of its parts has to be allowed by some policy as a whole.
fn why_not(
    rule: &PolicyRule,
    policies: &[&Policy],
    most: fn(&Policy) -> Option<&Vec<PolicyRule>>,
) -> Option<String> {
    let mut refused = None;
    for part in parts(rule) {
        let danger = danger(&part);
        let allowed = policies.iter().any(|policy| {
            (policy.dangerous || danger.is_none())
                && most(policy).is_none_or(|most| most.iter().any(|allowed| covers(allowed, &part)))
        });
        if !allowed {
            let what = danger.unwrap_or("it is more than the policies allow");
            refused = Some(format!("{}: {what}", describe(&part)));
            break;
        }
    }
    refused
}

/// A rule as many with one verb on one thing.
fn parts(rule: &PolicyRule) -> impl Iterator<Item = PolicyRule> {
    let one = |verb: &String| PolicyRule { verbs: vec![verb.clone()], ..PolicyRule::default() };
    let resources = rule.verbs.iter().flat_map(move |verb| {
        rule.api_groups.iter().flat_map(move |group| {
            rule.resources.iter().map(move |resource| PolicyRule {
                api_groups: vec![group.clone()],
                resources: vec![resource.clone()],
                resource_names: rule.resource_names.clone(),
                ..one(verb)
            })
        })
    });
    let urls = rule.verbs.iter().flat_map(move |verb| {
        rule.non_resource_urls
            .iter()
            .map(move |url| PolicyRule { non_resource_urls: vec![url.clone()], ..one(verb) })
    });
    resources.chain(urls)
}

fn covers(allowed: &PolicyRule, part: &PolicyRule) -> bool {
    let has = |list: &[String], words: &[String]| {
        words.iter().all(|word| list.iter().any(|one| one == ALL || one == word))
    };
    if !has(&allowed.verbs, &part.verbs) {
        return false;
    }
    if let [url] = part.non_resource_urls.as_slice() {
        return allowed.non_resource_urls.iter().any(|allowed| {
            allowed == url || allowed.strip_suffix('*').is_some_and(|start| url.starts_with(start))
        });
    }
    let resources = part.resources.iter().all(|resource| {
        let any = resource.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
        allowed.resources.iter().any(|one| one == ALL || one == resource || Some(one) == any.as_ref())
    });
    let names = allowed.resource_names.is_empty()
        || (!part.resource_names.is_empty() && has(&allowed.resource_names, &part.resource_names));
    has(&allowed.api_groups, &part.api_groups) && resources && names
}

/// What makes a part dangerous.
fn danger(part: &PolicyRule) -> Option<&'static str> {
    let (verb, resource) = (part.verbs.first()?.as_str(), part.resources.first().map(String::as_str));
    if DANGEROUS_VERBS.contains(&verb) {
        return Some("it could be used to get more than was asked for");
    }
    let resource = resource?;
    let plain = resource.split('/').next().unwrap_or_default();
    if verb == ALL && (resource == ALL || DANGEROUS_RESOURCES.contains(&plain)) {
        return Some("the wildcard takes in verbs that hand out more than was asked for; name the verbs");
    }
    if matches!(resource, "serviceaccounts/token" | "*/token") && matches!(verb, "create" | ALL) {
        return Some("tokens of other ServiceAccounts could be had with it");
    }
    let is_core = part.api_groups.iter().any(|group| group.is_empty() || group == ALL);
    if is_core && resource == ALL {
        return Some("the wildcard takes in Secrets; name the resources");
    }
    if is_core && resource == "secrets" && verb == ALL {
        return Some("a wildcard on Secrets; name the verbs");
    }
    None
}

fn describe(part: &PolicyRule) -> String {
    let verb = part.verbs.first().map(String::as_str).unwrap_or_default();
    match part.non_resource_urls.first() {
        Some(url) => format!("{verb} {url}"),
        None => {
            let group = part.api_groups.first().map(String::as_str).unwrap_or_default();
            let resource = part.resources.first().map(String::as_str).unwrap_or_default();
            let of = if group.is_empty() { String::new() } else { format!(" of {group}") };
            format!("{verb} {resource}{of}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> PolicyRule {
        serde_json::from_value(json!({"apiGroups": groups, "resources": resources, "verbs": verbs})).unwrap()
    }

    fn refusal(access: &Access, namespace: &str, rules: &[PolicyRule]) -> Option<String> {
        let asking = Asking { namespace, cluster_namespace: "a", cluster: "c" };
        access.refusal(&asking, &Asked { cluster_role: rules, role: &[], expiration: 3600 })
    }

    fn access(policies: serde_json::Value) -> Access {
        serde_json::from_value(json!({ "policies": policies })).unwrap()
    }

    #[test]
    fn without_policies_everybody_has_their_own_clusters() {
        let access = Access::default();
        let pods = [rule(&[""], &["pods"], &["*"])];
        assert_eq!(refusal(&access, "a", &pods), None);
        assert!(refusal(&access, "b", &pods).unwrap().contains("no policy"));
    }

    #[test]
    fn what_hands_out_more_is_refused_unless_allowed() {
        let default = Access::default();
        let free = access(json!([{"namespaces": ["a"], "dangerous": true}]));
        for (groups, resources, verbs) in [
            (&["rbac.authorization.k8s.io"][..], &["roles"][..], &["bind"][..]),
            (&["rbac.authorization.k8s.io"], &["clusterroles"], &["*"]),
            (&["*"], &["*"], &["get"]),
            (&[""], &["secrets"], &["*"]),
            (&[""], &["serviceaccounts/token"], &["create"]),
            (&[""], &["users"], &["impersonate"]),
        ] {
            let rules = [rule(&[""], &["pods"], &["get"]), rule(groups, resources, verbs)];
            let why = refusal(&default, "a", &rules);
            assert!(why.as_ref().is_some_and(|why| why.starts_with("spec.clusterRole.rules[1]")), "{why:?}");
            assert_eq!(refusal(&free, "a", &rules), None);
        }
        for (groups, resources, verbs) in
            [(&["*"][..], &["secrets"][..], &["get", "create"][..]), (&["apps"], &["*"], &["get"])]
        {
            assert_eq!(refusal(&default, "a", &[rule(groups, resources, verbs)]), None, "{groups:?}");
        }
    }

    #[test]
    fn rules_keep_within_the_policies_taken_together() {
        let access = access(json!([
            {"namespaces": ["a"], "clusterRole": [{"apiGroups": [""], "resources": ["pods", "*/log"], "verbs": ["get", "list"]}]},
            {"namespaces": ["*"], "clusterNamespaces": ["a"], "clusters": ["c"],
             "clusterRole": [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"], "verbs": ["get"]}]},
        ]));
        assert_eq!(refusal(&access, "a", &[rule(&[""], &["pods", "pods/log"], &["get", "list"])]), None);
        assert!(
            refusal(&access, "a", &[rule(&[""], &["pods"], &["delete"])]).unwrap().contains("delete pods")
        );
        assert!(
            refusal(&access, "a", &[rule(&[""], &["secrets"], &["get"])]).is_some(),
            "only the one of that name"
        );
        let mut named = rule(&[""], &["secrets"], &["get"]);
        named.resource_names = vec!["one".to_owned()];
        assert_eq!(refusal(&access, "b", &[named.clone()]), None);
        named.resource_names.push("two".to_owned());
        assert!(refusal(&access, "b", &[named]).is_some());
    }

    #[test]
    fn paths_and_lives_have_their_bounds() {
        let access = access(
            json!([{"namespaces": ["a"], "clusterRole": [{"nonResourceURLs": ["/healthz/*"], "verbs": ["get"]}]}]),
        );
        let path = |path: &str| {
            serde_json::from_value(json!({"nonResourceURLs": [path], "verbs": ["get"]})).unwrap()
        };
        assert_eq!(refusal(&access, "a", &[path("/healthz/etcd")]), None);
        assert!(refusal(&access, "a", &[path("/metrics")]).is_some());
        let asking = Asking { namespace: "a", cluster_namespace: "a", cluster: "c" };
        let asked = Asked { cluster_role: &[], role: &[], expiration: 90_000 };
        assert!(access.refusal(&asking, &asked).unwrap().contains("maxExpiration"));
    }
}
