//! What whoever writes a Shoot is told of its fields.

use super::super::json::{at, text};
use super::version::Version;
use serde_json::Value;

/// About fields that are on their way out.
pub(in super::super) fn warnings(shoot: &Value) -> Vec<String> {
    let mut warnings: Vec<&str> = Vec::new();
    let since = |minor| Version::at_least(text(shoot, "/spec/kubernetes/version"), 1, minor);
    if since(33) && !text(shoot, "/spec/cloudProfileName").is_empty() {
        warnings.push("you are setting the spec.cloudProfileName field. The field is deprecated and will be forcefully set empty starting with Kubernetes 1.34. Use the new spec.cloudProfile.name field instead.");
    }
    if at(shoot, "/spec/addons").is_some() {
        warnings.push("you are setting the spec.addons field. The field is deprecated and will be forbidden starting with Kubernetes 1.35.");
    }
    if since(35) && text(shoot, "/spec/kubernetes/kubeProxy/mode") == "IPVS" {
        warnings.push("you are using IPVS mode for kube-proxy. The IPVS mode is deprecated starting with Kubernetes 1.35. Please switch to iptables or nftables mode.");
    }
    if at(shoot, "/spec/secretBindingName").is_some() {
        warnings.push("spec.secretBindingName is deprecated and will be disallowed starting with Kubernetes 1.34. For migration instructions, see: https://github.com/gardener/gardener/blob/master/docs/usage/shoot-operations/secretbinding-to-credentialsbinding-migration.md");
    }
    warnings.into_iter().map(str::to_owned).collect()
}
