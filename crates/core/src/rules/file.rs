//! Reads the rule file: the chart's `hap:` block, or the same without `hap:`.

use super::{
    finding::Code,
    findings::Findings,
    plans::Plans,
    source::{Place, Scalar, Source},
    word,
    yaml::{self, Node, Value},
};
use crate::{label, pool::LabelKeys};
use serde_saphyr::Spanned;

/// The keys of the `hap:` block. Those behind the first four are read elsewhere.
const KEYS: [&str; 7] = [
    "rule",
    "enabledPlans",
    "plans",
    "labels",
    "multiHyperscalerAccount",
    "maxAccountsPerTenant",
    "bindingKind",
];

/// What stands beside `hap:` in the chart's values and in the operators' configuration: not ours, but known, so that
/// either file can be checked as it is. A test compares it with the chart.
pub(super) const SECTIONS: [&str; 46] = [
    "access",
    "admission",
    "affinity",
    "byoc",
    "cleanup",
    "clusters",
    "controllers",
    "extraEnv",
    "extraVolumeMounts",
    "extraVolumes",
    "fullnameOverride",
    "garden",
    "gardener",
    "global",
    "hap",
    "image",
    "imagePullSecrets",
    "ledger",
    "lifecycleManager",
    "livenessProbe",
    "logFormat",
    "logLevel",
    "metrics",
    "nameOverride",
    "networkPolicy",
    "nodeSelector",
    "openmcp",
    "persistence",
    "podAnnotations",
    "podDisruptionBudget",
    "podLabels",
    "priorityClassName",
    "quotas",
    "rbac",
    "readinessProbe",
    "replicas",
    "resources",
    "server",
    "service",
    "serviceAccount",
    "serviceMonitor",
    "tenancy",
    "tenantRoles",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
];

/// What a rule file says.
pub(super) struct File {
    /// The rules; `None` where something else than a text stands in the list.
    pub(super) rules: Vec<Option<Scalar>>,
    /// The plans that need a rule, if the file says so.
    pub(super) enabled: Option<Vec<Scalar>>,
    pub(super) plans: Plans,
    pub(super) labels: LabelKeys,
    /// Where findings point that are about no rule.
    pub(super) place: Place,
    pub(super) findings: Findings,
}

pub(super) fn read(text: &str, source: &Source<'_>) -> File {
    let mut reader = Reader { source, findings: Findings::default() };
    let start = source.place(serde_saphyr::Location::UNKNOWN);
    let mut file = File {
        rules: Vec::new(),
        enabled: None,
        plans: Plans::default(),
        labels: LabelKeys::default(),
        place: start,
        findings: Findings::default(),
    };
    match yaml::read(text) {
        Ok(root) => reader.root(&root, &mut file),
        Err(error) => {
            let place = error.location().map_or(start, |location| source.place(location));
            let message = error.without_snippet().to_string();
            // Its place is told apart from it, and how to program the YAML reader is nobody's question here.
            let message = [" at line ", ", set ", "; use "]
                .into_iter()
                .fold(message.as_str(), |rest, mark| rest.split(mark).next().unwrap_or_default());
            reader.fault(place, format!("the file cannot be read as YAML: {message}"));
        }
    }
    file.findings = reader.findings;
    file
}

type Entries = Vec<(Spanned<String>, Node)>;

struct Reader<'s, 't> {
    source: &'s Source<'t>,
    findings: Findings,
}

impl Reader<'_, '_> {
    fn root(&mut self, root: &Node, file: &mut File) {
        let Some(entries) = self.map(root, "a map with the key `rule`, or `hap` with `rule` below it") else {
            return;
        };
        let Some((key, hap)) = entries.iter().find(|(key, _)| key.value == "hap") else {
            return self.block(entries, root, file);
        };
        file.place = self.source.key(key).place;
        for (key, _) in entries {
            if !SECTIONS.contains(&key.value.as_str()) {
                let hint = if KEYS.contains(&key.value.as_str()) {
                    "; it belongs below `hap`".to_owned()
                } else {
                    word::did_you_mean(&key.value, KEYS.into_iter().chain(["hap"]))
                };
                let place = self.source.key(key).place;
                self.fault(place, format!("unknown key `{}` beside `hap`{hint}", key.value));
            }
        }
        if let Some(entries) = self.map(hap, "a map with the key `rule` below `hap`") {
            self.block(entries, hap, file);
        }
    }

    /// What stands below `hap:`.
    fn block(&mut self, entries: &Entries, node: &Node, file: &mut File) {
        let findings_before = self.findings.count();
        let mut rules = None;
        for (key, value) in entries {
            match key.value.as_str() {
                "rule" => rules = Some((key, value)),
                "enabledPlans" => file.enabled = self.enabled(value),
                "plans" => self.plans(value, &mut file.plans),
                "labels" => self.labels(value, &mut file.labels),
                known if KEYS.contains(&known) => {}
                unknown => {
                    let hint = word::did_you_mean(unknown, KEYS.into_iter().chain(["hap"]));
                    let place = self.source.key(key).place;
                    self.fault(place, format!("unknown key `{unknown}`{hint}"));
                }
            }
        }
        match rules {
            Some((key, value)) => {
                file.place = self.source.key(key).place;
                file.rules = self.rules(value, file.place);
            }
            // A misspelt key is told already, and is one fault, not two.
            None if self.findings.count() > findings_before => {}
            None => {
                let place = self.source.place(node.referenced);
                self.fault(place, "the key `rule` is missing: expected a list of rules".to_owned());
            }
        }
    }

    fn rules(&mut self, node: &Node, key: Place) -> Vec<Option<Scalar>> {
        let nodes = match &node.value {
            Value::List(nodes) if !nodes.is_empty() => nodes,
            Value::List(_) | Value::Null => {
                self.fault(key, "the list of rules is empty: expected at least one rule".to_owned());
                return Vec::new();
            }
            other => {
                let place = self.source.place(node.referenced);
                let message = format!("`rule` is {}: expected a list of rules", other.describe());
                self.fault(place, message);
                return Vec::new();
            }
        };
        nodes.iter().enumerate().map(|(index, node)| self.rule(index + 1, node)).collect()
    }

    fn rule(&mut self, number: usize, node: &Node) -> Option<Scalar> {
        if let Some(scalar) = self.text(node) {
            return Some(scalar);
        }
        let hint = match &node.value {
            Value::Map(_) => "; a rule with `: ` or `{` in it must stand in quotes",
            Value::List(_) => "; a rule that starts with `[` is none",
            _ => "",
        };
        let place = self.source.place(node.referenced);
        let message = format!("rule {number} is {}: expected a rule as text{hint}", node.value.describe());
        self.findings.add(self.source, (Code::Syntax, number, place, None), || message);
        None
    }

    fn enabled(&mut self, node: &Node) -> Option<Vec<Scalar>> {
        self.texts(node, "enabledPlans", "plan")
    }

    fn plans(&mut self, node: &Node, plans: &mut Plans) {
        if matches!(node.value, Value::Null) {
            return;
        }
        let Some(entries) = self.map(node, "a map of plans and their `providers`") else { return };
        for (key, value) in entries {
            let plan = self.source.key(key);
            self.check(&plan, "plan");
            let Some(fields) = self.map(value, "a map with the key `providers`") else { continue };
            let findings_before = self.findings.count();
            let mut providers = None;
            for (field, value) in fields {
                if field.value == "providers" {
                    providers = self.texts(value, "providers", "provider");
                } else {
                    let hint = word::did_you_mean(&field.value, ["providers"]);
                    let place = self.source.key(field).place;
                    let message = format!("unknown key `{}` of plan `{}`{hint}", field.value, plan.text);
                    self.fault(place, message);
                }
            }
            let providers = providers.unwrap_or_default();
            if self.findings.count() > findings_before {
                // A misspelt key, say: one fault, not two. The plan itself is known.
                plans.set(plan.text, providers.into_iter().map(|provider| provider.text).collect());
            } else if providers.is_empty() {
                let message = format!("plan `{}` has no provider: expected `providers: [...]`", plan.text);
                self.fault(plan.place, message);
            } else {
                plans.set(plan.text, providers.into_iter().map(|provider| provider.text).collect());
            }
        }
    }

    fn labels(&mut self, node: &Node, labels: &mut LabelKeys) {
        let Some(entries) = self.map(node, "a map of label names") else { return };
        for (key, value) in entries {
            let LabelKeys { hyperscaler_type, tenant_name, dirty, internal, shared, eu_access } =
                &mut *labels;
            let known = [
                ("hyperscalerType", hyperscaler_type),
                ("tenantName", tenant_name),
                ("dirty", dirty),
                ("internal", internal),
                ("shared", shared),
                ("euAccess", eu_access),
            ];
            let names = known.each_ref().map(|(name, _)| *name);
            let label = known.into_iter().find(|(name, _)| *name == key.value);
            match (label, &value.value) {
                (Some((_, label)), Value::Text(text)) if !text.is_empty() => label.clone_from(text),
                (Some(_), other) => {
                    let place = self.source.place(value.referenced);
                    let message =
                        format!("`{}` is {}: expected the name of a label", key.value, other.describe());
                    self.fault(place, message);
                }
                (None, _) => {
                    let hint = word::did_you_mean(&key.value, names);
                    let place = self.source.key(key).place;
                    self.fault(place, format!("unknown key `{}` of `labels`{hint}", key.value));
                }
            }
        }
    }

    /// A list of label values.
    fn texts(&mut self, node: &Node, key: &str, what: &str) -> Option<Vec<Scalar>> {
        let Value::List(nodes) = &node.value else {
            let place = self.source.place(node.referenced);
            let message = format!("`{key}` is {}: expected a list of {what}s", node.value.describe());
            self.fault(place, message);
            return None;
        };
        let mut texts: Vec<Scalar> = Vec::with_capacity(nodes.len());
        for node in nodes {
            match self.text(node) {
                Some(scalar) if texts.iter().any(|other| other.text == scalar.text) => {}
                Some(scalar) => {
                    self.check(&scalar, what);
                    texts.push(scalar);
                }
                None => {
                    let place = self.source.place(node.referenced);
                    let message =
                        format!("{} in `{key}`: expected the name of a {what}", node.value.describe());
                    self.fault(place, message);
                }
            }
        }
        Some(texts)
    }

    fn check(&mut self, scalar: &Scalar, what: &str) {
        if let Err(fault) = label::check(&scalar.text) {
            let message = format!("`{}` cannot be a {what}: {fault}", scalar.text);
            self.findings.add(self.source, (Code::InvalidValue, 0, scalar.place, None), || message);
        }
    }

    fn text(&self, node: &Node) -> Option<Scalar> {
        let Value::Text(text) = &node.value else { return None };
        Some(self.source.scalar(text, node.referenced))
    }

    fn map<'n>(&mut self, node: &'n Node, expected: &str) -> Option<&'n Entries> {
        if let Value::Map(entries) = &node.value {
            return Some(entries);
        }
        let found = node.value.describe();
        let place = self.source.place(node.referenced);
        self.fault(place, format!("expected {expected}, found {found}"));
        None
    }

    fn fault(&mut self, place: Place, message: String) {
        self.findings.add(self.source, (Code::Syntax, 0, place, None), || message);
    }
}
