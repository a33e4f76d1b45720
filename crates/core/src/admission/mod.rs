//! ValidatingAdmissionPolicies: what the operators refuse in a status is refused at `kubectl apply` already. They are a
//! convenience and a second fence, never the only one.

use crate::tenancy::{Mode, Tenancy};
use serde_json::{Value, json};
use std::collections::BTreeMap;

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
                    "name": self.parameter_name(), "namespace": self.namespace, "parameterNotFoundAction": "Deny",
                },
            },
        })
    }

    fn parameter_name(&self) -> String {
        format!("{}-admission", self.name)
    }

    /// The parameter of the policies.
    pub fn parameter(&self, parameter: &Parameter<'_>) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": self.parameter_name(), "namespace": self.namespace },
            "data": parameter.data(),
        })
    }
}

/// What policies have to know of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// The user that the operators are.
    pub operator: &'a str,
    /// Which tenants a namespace may name.
    pub tenancy: &'a Tenancy,
    /// `clusters.defaults.deletionProtection`.
    pub deletion_protection: bool,
    /// Namespaces inside clusters that are the system's, and that a dangerous policy names.
    pub system_namespaces: &'a [String],
}

impl Parameter<'_> {
    /// As the policies read it: CEL has no JSON.
    fn data(&self) -> BTreeMap<String, String> {
        let Self { operator, tenancy, deletion_protection, system_namespaces } = self;
        let mut data = BTreeMap::from([
            ("operator".to_owned(), (*operator).to_owned()),
            ("platform".to_owned(), tenancy.platform.join(",")),
            ("label".to_owned(), tenancy.namespace_label.clone().unwrap_or_default()),
            ("deletionProtection".to_owned(), deletion_protection.to_string()),
            ("systemNamespaces".to_owned(), system_namespaces.join(",")),
        ]);
        let tenants = tenancy.namespaces.iter();
        data.extend(tenants.map(|(namespace, tenants)| (format!("tenants.{namespace}"), tenants.join(","))));
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(policy["spec"]["paramKind"]["kind"], "ConfigMap");
            assert!(policy["metadata"]["name"].as_str().unwrap().starts_with("a.b."));
        }
        let tenancy = Tenancy {
            namespaces: BTreeMap::from([("team-a".to_owned(), vec!["t".to_owned(), "u".to_owned()])]),
            ..Tenancy::default()
        };
        let parameter =
            Parameter { operator: "o", tenancy: &tenancy, deletion_protection: true, system_namespaces: &[] };
        let parameter = release.parameter(&parameter);
        assert_eq!(parameter["metadata"], json!({ "name": "a.b-admission", "namespace": "c" }));
        assert_eq!(parameter["data"]["tenants.team-a"], "t,u");
        assert_eq!(parameter["data"]["deletionProtection"], "true");
    }
}
