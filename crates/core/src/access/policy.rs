//! Who may ask for what at most.

#[cfg(test)]
mod tests;

use super::{
    danger::{ALL, Scope, danger},
    grant,
    rules::malformed,
};
use allotment_api::rbac::PolicyRule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// The namespaces in the target cluster that a Role may be in, with `*` for any characters; all but `kube-*` and our own where it
    /// is not set. Those have to be named in full, together with `dangerous`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_namespaces: Option<Vec<String>>,
    /// Allow the known ways to become cluster-admin; docs/kubeconfigs.md lists them.
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
    /// That namespace, if a Role is asked for.
    pub role_namespace: Option<&'a str>,
    /// For how long, in seconds.
    pub expiration: i64,
}

impl Access {
    /// Namespaces of the system that a dangerous policy names: Roles in others of them are refused at admission already.
    pub fn system_namespaces(&self) -> Vec<String> {
        let dangerous = self.policies.iter().filter(|policy| policy.dangerous);
        let mut named: Vec<String> =
            dangerous.flat_map(|policy| policy.role_namespaces.iter().flatten().cloned()).collect();
        named.sort_unstable();
        named.dedup();
        named
    }

    /// Why this may not be asked for, if it may not. Names the field and the rule.
    pub fn refusal(&self, asking: &Asking<'_>, asked: &Asked<'_>) -> Option<String> {
        let default = [Policy { namespaces: vec![ALL.to_owned()], ..Policy::default() }];
        let policies = if self.policies.is_empty() { &default[..] } else { &self.policies };
        let mut about: Vec<&Policy> = policies.iter().filter(|policy| policy.is_about(asking)).collect();
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
        if let Some(why) = malformed(asked.cluster_role, Scope::ClusterRole) {
            return Some(format!("spec.clusterRole.rules{why}"));
        }
        if let Some(why) = malformed(asked.role, Scope::Role) {
            return Some(format!("spec.role.rules{why}"));
        }
        if let Some(why) = first_refused(asked.cluster_role, &about, Scope::ClusterRole) {
            return Some(format!("spec.clusterRole.rules{why}"));
        }
        let namespace = asked.role_namespace?;
        about.retain(|policy| policy.allows_role_in(namespace));
        if about.is_empty() {
            let why = if is_protected(namespace) {
                "a Role there leads to cluster-admin; only a policy with dangerous: true that names the namespace in full in \
                 roleNamespaces allows it"
            } else {
                "no policy allows a Role there; see roleNamespaces of access.policies of the configuration"
            };
            return Some(format!("spec.role.namespace: {namespace}: {why}"));
        }
        first_refused(asked.role, &about, Scope::Role).map(|why| format!("spec.role.rules{why}"))
    }
}

/// Whether a Role in this namespace reaches what the whole cluster depends on: the system's namespaces, and the ServiceAccounts and
/// tokens of everybody who was granted something.
fn is_protected(namespace: &str) -> bool {
    namespace.starts_with("kube-") || namespace == grant::NAMESPACE
}

/// Whether a text is what a pattern means, in which `*` stands for any characters.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let inner = text.strip_prefix(start).and_then(|text| text.strip_suffix(end));
    // The first place where a part fits leaves the most for those after it.
    let left = inner.and_then(|text| {
        middle
            .split('*')
            .filter(|part| !part.is_empty())
            .try_fold(text, |text, part| Some(text.split_once(part)?.1))
    });
    left.is_some()
}

impl Policy {
    fn most(&self, scope: Scope) -> Option<&Vec<PolicyRule>> {
        match scope {
            Scope::ClusterRole => self.cluster_role.as_ref(),
            Scope::Role => self.role.as_ref(),
        }
    }

    fn allows_role_in(&self, namespace: &str) -> bool {
        let named = self.role_namespaces.as_deref();
        if is_protected(namespace) {
            return self.dangerous && named.is_some_and(|all| all.iter().any(|one| one == namespace));
        }
        named.is_none_or(|all| all.iter().any(|pattern| matches_glob(pattern, namespace)))
    }

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

/// The first rule that no policy allows, by its number, and why.
fn first_refused(rules: &[PolicyRule], policies: &[&Policy], scope: Scope) -> Option<String> {
    rules.iter().enumerate().find_map(|(number, rule)| {
        let why = why_not(rule, policies, scope)?;
        Some(format!("[{number}]: {why}"))
    })
}

/// What of a rule no policy allows. A rule is a product; each of its parts has to be allowed by some policy as a whole.
fn why_not(rule: &PolicyRule, policies: &[&Policy], scope: Scope) -> Option<String> {
    parts(rule).find_map(|part| {
        let danger = danger(&part, scope);
        let allowed = policies.iter().any(|policy| {
            (policy.dangerous || danger.is_none())
                && policy.most(scope).is_none_or(|most| most.iter().any(|allowed| covers(allowed, &part)))
        });
        let why = danger.map_or("it is more than the policies allow", |danger| danger.why);
        (!allowed).then(|| format!("{}: {why}", describe(&part)))
    })
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
