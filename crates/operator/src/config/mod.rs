//! The configuration: one YAML file. Everything that is wrong with it is told at once, with its place.
//!
//! The schema is made from the types, and the file is compared with that same schema, so the two cannot differ; what a
//! schema cannot say is checked here. Rules are read by [`allotment_core::rules`].

mod check;
mod cleanup;
mod sections;
#[cfg(test)]
mod tests;

pub use allotment_core::access::address::Byoc;
pub use cleanup::Cleanup;
pub use sections::{
    Config, Controller, Controllers, Gardener, Hap, LedgerAddress, MetricsAccess, Plan, Server,
};

use crate::{ledger::check_url, subscription::Policy};
use allotment_api::{allotment::AdmissionParametersSpec, kyma::Provider};
use allotment_core::{
    admission::{self, Release},
    cluster::Clusters,
    openmcp::{self, policy::Openmcp},
    pool::MultiAccount,
    quotas::Fairness,
    rules::{
        self, Code, Finding, Options, Plans, RuleSet, Severity,
        source::{Place, Source},
        yaml::{self, Node, Value as Yaml},
    },
    tenancy::{self, Tenancy},
};
use serde_json::{Value, json};
use std::{io, net::SocketAddr, path::PathBuf, sync::Arc};

/// What came of a configuration file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it says, unless there is an error.
    pub settled: Option<Settled>,
    /// Everything that was found, in the order of the file.
    pub findings: Vec<Finding>,
}

/// A configuration without errors.
#[derive(Clone, Debug)]
pub struct Settled {
    /// As it is written.
    pub config: Config,
    /// Its rules; none where no operator needs them.
    pub rules: Option<Arc<RuleSet>>,
}

impl Settled {
    /// What can change while the operators run; none without rules.
    pub fn policy(&self) -> Option<Policy> {
        let hap = &self.config.hap;
        Some(Policy {
            rules: self.rules.clone()?,
            multi_account: hap.multi_hyperscaler_account.clone(),
            cap: Some(hap.max_accounts_per_tenant).filter(|cap| *cap > 0),
            tenancy: self.config.tenancy(),
        })
    }
}

impl Config {
    /// Which namespaces are the platform's, and which caps count where.
    pub fn fairness(&self) -> Fairness {
        // Without tenancy nothing runs; where it does all the same, whoever may write requests is trusted.
        self.tenancy.as_ref().map_or_else(Fairness::trusted, |tenancy| Fairness::new(tenancy, &self.quotas))
    }

    /// Which tenants a namespace may name. A configuration that does not say so is refused before anybody asks.
    pub fn tenancy(&self) -> Arc<Tenancy> {
        Arc::new(self.tenancy.clone().unwrap_or_default())
    }

    /// The admission policies for this configuration, their bindings and their parameter. `operator` is the user that the
    /// operators are.
    pub fn admission(
        &self,
        release: &Release<'_>,
        operator: &str,
    ) -> Result<Vec<Value>, serde_saphyr::Error> {
        let tenancy = self.tenancy();
        let protects = self.clusters.defaults.deletion_protection;
        let openmcp = openmcp::policy::Policy { tenancy: (*tenancy).clone(), openmcp: self.openmcp.clone() };
        let has_openmcp = self.openmcp != Openmcp::default();
        let spec = AdmissionParametersSpec {
            system_namespaces: self.access.system_namespaces(),
            references: admission::references(&self.clusters.references),
            cross_namespace: admission::cross_namespace(&openmcp),
            ..admission::parameters(operator, &tenancy, protects)
        };
        let parameter = json!(release.parameter(spec));
        Ok(std::iter::once(parameter).chain(release.policies(tenancy.mode, has_openmcp)?).collect())
    }

    /// What differs from another configuration and cannot be taken over by a running operator.
    pub fn needs_restart(&self, other: &Self) -> Vec<&'static str> {
        let Self {
            hap,
            gardener,
            ledger,
            clusters,
            access: _,
            controllers,
            server,
            tenancy,
            byoc: _,
            metrics,
            quotas: _,
            openmcp: _,
            cleanup,
        } = self;
        let label =
            |tenancy: &Option<Tenancy>| tenancy.as_ref().and_then(|it| it.watched_label().map(str::to_owned));
        let parts = [
            ("hap.bindingKind", hap.binding_kind != other.hap.binding_kind),
            ("hap.labels", hap.labels != other.hap.labels),
            ("gardener", *gardener != other.gardener),
            ("ledger", *ledger != other.ledger),
            (
                "clusters.providers.*.cloudProfileKind",
                other.clusters.follows_namespaced_profiles() && !clusters.follows_namespaced_profiles(),
            ),
            ("controllers", *controllers != other.controllers),
            ("server", *server != other.server),
            ("tenancy.namespaceLabel", label(tenancy) != label(&other.tenancy)),
            ("metrics", *metrics != other.metrics),
            ("cleanup", cleanup.needs_restart(&other.cleanup)),
        ];
        parts.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

impl LedgerAddress {
    /// The URL, read from its file if it is in one. It can have a password in it.
    pub fn read(&self) -> Result<String, AddressError> {
        match (&self.url, &self.url_file) {
            (Some(url), _) => Ok(url.clone()),
            (None, Some(path)) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|source| AddressError::File { path: path.clone(), source })?;
                Ok(text.trim().to_owned())
            }
            (None, None) => Err(AddressError::None),
        }
    }
}

/// Why it is not known where the ledger is.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The configuration does not say.
    #[error("the configuration does not say where the ledger is: set ledger.url or ledger.urlFile")]
    None,
    /// The file cannot be read.
    #[error("cannot read ledger.urlFile {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// The schema of the configuration, as JSON schema.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Config).to_value();
    close(&mut schema);
    schema
}

/// Parts of objects of the API are open, since servers know newer fields; in a file such a key is a typing error.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("properties").is_some_and(Value::is_object) {
                members.entry("additionalProperties").or_insert(Value::Bool(false));
            }
            members.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => (),
    }
}

/// Reads and checks a configuration.
///
/// ```
/// let text = "hap: {rule: [aws], enabledPlans: [aws]}\ntenancy: {mode: trusted}\nledger: {ulr: x}\n";
/// let loaded = allotment_operator::config::load(text);
/// assert_eq!(loaded.findings[0].to_string(), "3:10: error[syntax]: unknown key `ulr`; did you mean `url`?");
/// ```
pub fn load(text: &str) -> Loaded {
    let source = Source::new(text);
    let root = match yaml::read(text) {
        Ok(root) => root,
        // The rules' reader says the same about a file that is none.
        Err(_) => return Loaded { settled: None, findings: rules::load(text, &Options::default()).findings },
    };
    let mut findings = Vec::new();
    let rules = match check::find(&root, &source, &["hap"]).0 {
        Some(_) => {
            let loaded = rules::load(text, &Options::default());
            findings.extend(loaded.findings);
            loaded.rules.map(Arc::new)
        }
        None => None,
    };
    let schema = schema();
    let mut others = check::check(&root, &source, &schema);
    let fits = others.is_empty();
    others.extend(beyond_the_schema(&root, &source, rules.as_deref()));
    merge(&mut findings, others);
    findings.sort_by_key(|finding| (finding.line, finding.column, finding.code));
    let good = fits && findings.iter().all(|finding| finding.severity != Severity::Error);
    let config = good.then(|| serde_json::from_value(without_nulls(check::to_json(&root))));
    let settled = match config {
        Some(Ok(config)) => Some(Settled { config, rules }),
        // The schema is made from the types, so this is a fault of ours; it must not be silent.
        Some(Err(error)) => {
            let place = source.place(root.referenced);
            findings.push(source.finding(Code::InvalidValue, 0, place, error.to_string()));
            None
        }
        None => None,
    };
    Loaded { settled, findings }
}

/// Two findings in one place are one fault. About keys the schema knows better, since it knows all of them; about values the
/// rules' reader does.
fn merge(findings: &mut Vec<Finding>, others: Vec<Finding>) {
    let place = |finding: &Finding| (finding.line, finding.column);
    for other in others {
        match findings.iter_mut().find(|finding| place(finding) == place(&other)) {
            Some(finding) if other.code == Code::Syntax => *finding = other,
            Some(_) => (),
            None => findings.push(other),
        }
    }
}

/// What a schema cannot say.
fn beyond_the_schema(root: &Node, source: &Source<'_>, rules: Option<&RuleSet>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut fault =
        |place: Place, message: String| findings.push(source.finding(Code::InvalidValue, 0, place, message));
    let find = |path: &[&str]| check::find(root, source, path);
    let text = |path: &[&str]| match &find(path).0?.value {
        Yaml::Text(text) => Some(text.clone()),
        _ => None,
    };
    match find(&["tenancy"]) {
        (Some(node), _) if !matches!(node.value, Yaml::Null) => {
            let faults =
                serde_json::from_value::<Tenancy>(check::to_json(node)).map(|tenancy| tenancy.faults());
            for (key, message) in faults.unwrap_or_default() {
                let path = ["tenancy", key];
                fault(find(if key.is_empty() { &path[..1] } else { &path }).1, message);
            }
        }
        (_, place) => {
            fault(place, format!("the key `tenancy` is missing: {}", tenancy::BOTH_WAYS));
        }
    }
    if find(&["hap"]).0.is_none() && wants_rules(find(&["controllers"]).0) {
        fault(find(&[]).1, "the key `hap` is missing: expected the rules below it".to_owned());
    }
    if let Some(address) = text(&["server", "address"])
        && address.parse::<SocketAddr>().is_err()
    {
        let message =
            format!("`address` is `{address}`: expected an IP address and a port, as in 127.0.0.1:8080");
        fault(find(&["server", "address"]).1, message);
    }
    let (url, file) = (text(&["ledger", "url"]), text(&["ledger", "urlFile"]));
    match (&url, &file) {
        (Some(_), Some(_)) => {
            fault(
                find(&["ledger"]).1,
                "`ledger` has both `url` and `urlFile`: expected one of them".to_owned(),
            );
        }
        (Some(url), None) => {
            if let Err(error) = check_url(url) {
                fault(find(&["ledger", "url"]).1, error.to_string());
            }
        }
        _ => (),
    }
    if let Some(node) = find(&["cleanup"]).0
        && let Ok(cleanup) = serde_json::from_value::<Cleanup>(check::to_json(node))
    {
        for (path, message) in cleanup.faults() {
            let path: Vec<&str> = std::iter::once("cleanup").chain(path).collect();
            fault(find(&path).1, message);
        }
    }
    if let Some(node) = find(&["clusters"]).0
        && let Ok(clusters) = serde_json::from_value::<Clusters>(without_nulls(check::to_json(node)))
    {
        for problem in clusters.faults() {
            fault(find(&problem.field.split('.').collect::<Vec<_>>()).1, problem.to_string());
        }
    }
    let multi = ["hap", "multiHyperscalerAccount"];
    if let Some(node) = find(&multi).0
        && let Ok(multi_account) = serde_json::from_value::<MultiAccount>(check::to_json(node))
    {
        let plans = rules.map_or_else(Plans::default, |rules| rules.plans().clone());
        for message in multi_account.faults(&providers(&plans)) {
            let path = message.split(':').next().unwrap_or_default();
            let path: Vec<&str> = std::iter::once("hap").chain(path.split('.')).collect();
            fault(find(&path).1, message.clone());
        }
    }
    findings
}

/// Whether an operator runs that needs rules; by default it does.
fn wants_rules(controllers: Option<&Node>) -> bool {
    let is_subscription = |node: &Node| matches!(&node.value, Yaml::Text(text) if text == "subscription");
    match controllers.map(|node| &node.value) {
        Some(Yaml::List(nodes)) => nodes.iter().any(is_subscription),
        _ => true,
    }
}

/// The clouds that limits can be for.
fn providers(plans: &Plans) -> Vec<&str> {
    let mut providers: Vec<&str> = Provider::ALL.iter().map(|provider| provider.as_str()).collect();
    let named = plans.names().flat_map(|plan| plans.providers(plan).unwrap_or_default());
    providers.extend(named.map(String::as_str));
    providers.sort_unstable();
    providers.dedup();
    providers
}

/// A key with nothing behind it is one that is left out.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
