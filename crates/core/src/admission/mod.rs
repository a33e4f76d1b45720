//! ValidatingAdmissionPolicies: what the operators refuse in a status is refused at `kubectl apply` already. They are a
//! convenience and a second fence, never the only one.

use crate::tenancy::{Mode, Tenancy};
use allotment_api::allotment::{AdmissionParameters, AdmissionParametersSpec};
use serde_json::{Value, json};

/// The policies, as the chart has them, too. `NAME` and `NAMESPACE` stand for the release.
pub const POLICIES: &str = include_str!("policies.yaml");

/// Policies that make no sense where every namespace may name any tenant.
const TENANCY_ONLY: [&str; 2] = [".tenants", ".namespaces"];

/// The release that policies are for.
#[derive(Clone, Copy, Debug)]
pub struct Release<'a> {
    /// What the names of policies begin with; has to be a DNS name.
    pub name: &'a str,
    /// The namespace of the operator, and of the parameter.
    pub namespace: &'a str,
}

impl Release<'_> {
    /// The policies and their bindings. In trusted mode, those that keep tenants apart are left out.
    pub fn policies(&self, mode: Mode) -> Result<Vec<Value>, serde_saphyr::Error> {
        let text = POLICIES.replace("NAMESPACE", self.namespace).replace("NAME", self.name);
        let mut policies: Vec<Value> = serde_saphyr::from_multiple(&text)?;
        let is_about_tenants = |policy: &Value| {
            let name = policy["metadata"]["name"].as_str().unwrap_or_default();
            TENANCY_ONLY.iter().any(|suffix| name.ends_with(suffix))
        };
        policies.retain(|policy| mode == Mode::Enforced || !is_about_tenants(policy));
        let bindings: Vec<Value> = policies.iter().map(|policy| self.binding(policy)).collect();
        Ok(policies.into_iter().chain(bindings).collect())
    }

    fn binding(&self, policy: &Value) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": { "name": policy["metadata"]["name"] },
            "spec": {
                "policyName": policy["metadata"]["name"],
                "validationActions": ["Deny"],
                "paramRef": {
                    "name": self.name, "namespace": self.namespace, "parameterNotFoundAction": "Deny",
                },
            },
        })
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_policy_has_a_binding_and_takes_the_parameter() {
        let release = Release { name: "a.b", namespace: "c" };
        let objects = release.policies(Mode::Enforced).unwrap();
        assert_eq!(release.policies(Mode::Trusted).unwrap().len(), objects.len() - 4);
        assert_eq!(objects.len() % 2, 0);
        let (policies, bindings) = objects.split_at(objects.len() / 2);
        for (policy, binding) in policies.iter().zip(bindings) {
            assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
            assert_eq!(policy["spec"]["failurePolicy"], "Fail");
            assert_eq!(policy["spec"]["paramKind"]["kind"], "AdmissionParameters");
            assert!(policy["metadata"]["name"].as_str().unwrap().starts_with("a.b."));
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
