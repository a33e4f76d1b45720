//! ValidatingAdmissionPolicies: what the operators refuse in a status is refused at `kubectl apply` already. They are a
//! convenience and a second fence, never the only one.

mod template;

use crate::{
    cluster::AllowedReference,
    openmcp::policy::{CrossNamespace, Policy},
    tenancy::{Mode, Tenancy},
};
use allotment_api::allotment::{
    AdmissionParameters, AdmissionParametersSpec, ListedReference, NamespacePair,
};
use serde_json::{Value, json};

/// The policies, as the chart has them, too. `NAME` and `NAMESPACE` stand for the release.
pub fn text() -> String {
    format!("{}---\n{}", include_str!("policies.yaml"), template::policy())
}

/// Policies that make no sense where every namespace may name any tenant.
const TENANCY_ONLY: [&str; 3] = [".tenants", ".namespaces", ".template"];

/// The release that policies are for.
#[derive(Clone, Copy, Debug)]
pub struct Release<'a> {
    /// What the names of policies begin with; has to be a DNS name.
    pub name: &'a str,
    /// The namespace of the operator, and of the parameter.
    pub namespace: &'a str,
}

impl Release<'_> {
    /// The policies and their bindings. In trusted mode, those that keep tenants apart are left out; the one about openMCP is for
    /// clusters whose provider has this configuration.
    pub fn policies(&self, mode: Mode, has_openmcp: bool) -> Result<Vec<Value>, serde_saphyr::Error> {
        let text = text().replace("NAMESPACE", self.namespace).replace("NAME", self.name);
        let mut policies: Vec<Value> = serde_saphyr::from_multiple(&text)?;
        policies.retain(|policy| {
            let name = policy["metadata"]["name"].as_str().unwrap_or_default();
            let is_about_tenants = TENANCY_ONLY.iter().any(|suffix| name.ends_with(suffix));
            (mode == Mode::Enforced || !is_about_tenants) && (has_openmcp || !name.ends_with(".openmcp"))
        });
        let bindings: Vec<Value> = policies.iter().map(|policy| self.binding(policy)).collect();
        Ok(policies.into_iter().chain(bindings).collect())
    }

    fn binding(&self, policy: &Value) -> Value {
        let mut binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": { "name": policy["metadata"]["name"] },
            "spec": { "policyName": policy["metadata"]["name"], "validationActions": ["Deny"] },
        });
        if policy["spec"]["paramKind"].is_object() {
            binding["spec"]["paramRef"] = json!({
                "name": self.name, "namespace": self.namespace, "parameterNotFoundAction": "Deny",
            });
        }
        binding
    }

    /// The parameter of the policies.
    pub fn parameter(&self, spec: AdmissionParametersSpec) -> AdmissionParameters {
        let mut parameter = AdmissionParameters::new(self.name, spec);
        parameter.metadata.namespace = Some(self.namespace.to_owned());
        parameter
    }
}

/// The controllers of a cluster that delete what belongs to a deleted namespace or owner, with and without ServiceAccounts of
/// their own.
pub const CONTROLLERS: [&str; 3] = [
    "system:serviceaccount:kube-system:namespace-controller",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:kube-controller-manager",
];

/// The parameter for a configuration. `operator` is the user that the operators are.
pub fn parameters(operator: &str, tenancy: &Tenancy, deletion_protection: bool) -> AdmissionParametersSpec {
    let Tenancy { mode: _, namespace_label, namespaces, platform } = tenancy.clone();
    AdmissionParametersSpec {
        operator: operator.to_owned(),
        controllers: CONTROLLERS.map(str::to_owned).to_vec(),
        platform,
        namespace_label: namespace_label.unwrap_or_default(),
        namespaces,
        deletion_protection,
        system_namespaces: Vec::new(),
        references: Vec::new(),
        cross_namespace: Vec::new(),
    }
}

/// `clusters.references` as the policies list them.
pub fn references(allowed: &[AllowedReference]) -> Vec<ListedReference> {
    let listed = |it: &AllowedReference| ListedReference { kind: it.kind.clone(), name: it.name.clone() };
    allowed.iter().map(listed).collect()
}

/// The pairs of namespaces that the configuration of openMCP's provider allows, as the policies list them: every pair in platform
/// namespaces, and where everybody is trusted.
pub fn cross_namespace(policy: &Policy) -> Vec<NamespacePair> {
    let pair = |from: &str, to: &str| NamespacePair { from: from.to_owned(), to: to.to_owned() };
    if policy.tenancy.mode == Mode::Trusted {
        return vec![pair("*", "*")];
    }
    let platform = policy.tenancy.platform.iter().map(|from| pair(from, "*"));
    let allowed = policy.openmcp.cross_namespace.iter();
    platform.chain(allowed.map(|CrossNamespace { from, to }| pair(from, to))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn references_of_openmcp_are_what_the_provider_allows() {
        let mut policy = Policy::default();
        policy.tenancy.platform = vec!["p".to_owned()];
        policy.openmcp.cross_namespace = vec![CrossNamespace { from: "a-*".to_owned(), to: "b".to_owned() }];
        let pairs = |policy: &Policy| json!(cross_namespace(policy));
        assert_eq!(pairs(&policy), json!([{ "from": "p", "to": "*" }, { "from": "a-*", "to": "b" }]));
        assert_eq!(pairs(&Policy::trusted()), json!([{ "from": "*", "to": "*" }]));
    }

    #[test]
    fn every_policy_has_a_binding_and_takes_the_parameter() {
        let release = Release { name: "a.b", namespace: "c" };
        let objects = release.policies(Mode::Enforced, true).unwrap();
        assert_eq!(release.policies(Mode::Trusted, true).unwrap().len(), objects.len() - 6);
        assert_eq!(release.policies(Mode::Enforced, false).unwrap().len(), objects.len() - 2);
        assert_eq!(objects.len() % 2, 0);
        let (policies, bindings) = objects.split_at(objects.len() / 2);
        for (policy, binding) in policies.iter().zip(bindings) {
            assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
            assert_eq!(policy["spec"]["failurePolicy"], "Fail");
            let name = policy["metadata"]["name"].as_str().unwrap();
            assert!(name.starts_with("a.b."));
            let takes_parameter = name != "a.b.platform";
            assert_eq!(
                policy["spec"]["paramKind"]["kind"] == "AdmissionParameters",
                takes_parameter,
                "{name}"
            );
            assert_eq!(binding["spec"]["paramRef"]["name"] == "a.b", takes_parameter, "{name}");
        }
        let tenancy = Tenancy {
            namespaces: BTreeMap::from([("team-a".to_owned(), vec!["t".to_owned(), "u".to_owned()])]),
            ..Tenancy::default()
        };
        let parameter = json!(release.parameter(parameters("o", &tenancy, true)));
        assert_eq!(parameter["metadata"], json!({ "name": "a.b", "namespace": "c" }));
        assert_eq!(parameter["spec"]["namespaces"]["team-a"], json!(["t", "u"]));
        assert_eq!(parameter["spec"]["deletionProtection"], true);
    }
}
