//! ClusterRoles that collect the rules of others by label.

use super::{ClusterRole, PolicyRule, Rbac};
use crate::auth::{items, present, text, texts};
use serde_json::Value;
use std::collections::BTreeMap;

/// By which labels a ClusterRole collects the rules of others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Aggregation {
    selectors: Vec<Selector>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Selector {
    labels: BTreeMap<String, String>,
    expressions: Vec<Expression>,
}

#[derive(Clone, Debug, PartialEq)]
struct Expression {
    key: String,
    operator: String,
    values: Vec<String>,
}

impl Aggregation {
    pub(super) fn of(role: &Value) -> Option<Self> {
        let rule = present(role, "aggregationRule")?;
        let selectors = items(rule, "clusterRoleSelectors").iter().map(Selector::from_json).collect();
        Some(Self { selectors })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.selectors.is_empty()
    }
}

impl Selector {
    fn from_json(selector: &Value) -> Self {
        let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
        let expressions = items(selector, "matchExpressions").iter().map(|expression| Expression {
            key: text(expression, "key").to_owned(),
            operator: text(expression, "operator").to_owned(),
            values: texts(expression, "values"),
        });
        Self {
            labels: labels.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect(),
            expressions: expressions.collect(),
        }
    }

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.expressions.iter().all(|expression| expression.matches(labels))
    }
}

impl Expression {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match self.operator.as_str() {
            "In" => value.is_some_and(|value| self.values.contains(value)),
            "NotIn" => value.is_none_or(|value| !self.values.contains(value)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    }
}

/// The rules that a ClusterRole collects: selector by selector, role by role in the order of their names, each rule
/// once. Nothing if it does not collect.
pub(crate) fn collected_rules<'a>(
    role: &ClusterRole,
    all: impl IntoIterator<Item = &'a ClusterRole>,
) -> Option<Vec<PolicyRule>> {
    let aggregation = role.aggregation.as_ref()?;
    let others: BTreeMap<&str, &ClusterRole> =
        all.into_iter().map(|other| (other.name.as_str(), other)).collect();
    let mut rules: Vec<PolicyRule> = Vec::new();
    for selector in &aggregation.selectors {
        let chosen =
            others.values().filter(|other| other.name != role.name && selector.matches(&other.labels));
        for rule in chosen.flat_map(|other| &other.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    Some(rules)
}

/// The same over objects as they are stored.
pub(crate) fn aggregated_rules(role: &Value, all: &[Value]) -> Option<Value> {
    present(role, "aggregationRule")?;
    let all: Vec<ClusterRole> = all.iter().map(ClusterRole::from_json).collect();
    let rules = collected_rules(&ClusterRole::from_json(role), &all)?;
    Some(rules.iter().map(PolicyRule::to_json).collect())
}

impl Rbac {
    /// The ClusterRoles whose rules are not those that they collect, with the rules that they should have. To be
    /// written by the manager `clusterrole-aggregation-controller`, until there are none: one may collect another
    /// that collects.
    pub(crate) fn stale_aggregates(&self) -> Vec<(&str, Vec<PolicyRule>)> {
        let roles = self.cluster_roles.values();
        let stale = roles.filter_map(|role| {
            let rules = collected_rules(role, self.cluster_roles.values())?;
            (rules != role.rules).then_some((role.name.as_str(), rules))
        });
        stale.collect()
    }
}
