//! A Cluster in a file.

use allotment_api::kyma::Cluster;
use allotment_operator::{cluster::ClusterName, runtime::call::call};
use anyhow::{Context, Result};
use http::Request;
use kube::{Client, Resource};
use serde_json::Value;

/// Reads the text of a file; what is wrong with it is for people.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let formatter = &serde_saphyr::UserMessageFormatter;
    let mut object: Value = serde_saphyr::from_str(text).map_err(|error| {
        let words = error.without_snippet().render_with_formatter(formatter);
        format!("it cannot be read as one YAML document: {words}")
    })?;
    let said = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (said("apiVersion"), said("kind"));
    let (wanted_version, wanted_kind) = (Cluster::api_version(&()), Cluster::kind(&()));
    if (version.as_str(), kind.as_str()) != (&*wanted_version, &*wanted_kind) {
        return Err(format!(
            "it has kind {kind:?} of {version:?}; it should have {wanted_kind:?} of {wanted_version:?}"
        ));
    }
    if object["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        return Err("it has no metadata.name".to_owned());
    }
    // Examples show what operators write; a server takes none of it.
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    Ok(object)
}

/// Has the server look at it as it would when it is created, and store nothing: fields that nobody knows and values that
/// cannot be are told before anything else is.
pub(super) async fn try_to_create(client: &Client, name: &ClusterName, object: &Value) -> Result<()> {
    let path = Cluster::url_path(&(), Some(&name.namespace));
    let request = Request::post(format!("{path}?dryRun=All&fieldValidation=Strict"))
        .header("content-type", "application/json")
        .body(serde_json::to_vec(object).context("cannot write it as JSON")?)
        .context("cannot make a request of it")?;
    call(|| format!("create Cluster {name}"), client.request::<Value>(request)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::read;

    const GOOD: &str = "
apiVersion: operator.kyma-project.io/v1alpha1
kind: Cluster
metadata: {name: a}
status: {phase: Ready}
";

    #[test]
    fn what_operators_write_is_left_out() {
        assert!(read(GOOD).unwrap().get("status").is_none());
    }

    #[test]
    fn what_is_no_cluster_is_told() {
        let request = GOOD.replace("kind: Cluster", "kind: KubeconfigRequest");
        for (text, words) in [
            ("", "kind \"\""),
            ("a: [", "line 1"),
            (&format!("{GOOD}---{GOOD}"), "one YAML document"),
            (&request, "kind \"KubeconfigRequest\" of \"operator.kyma-project.io/v1alpha1\""),
            (
                &GOOD.replace("operator.kyma-project.io", "clusters.openmcp.cloud"),
                "clusters.openmcp.cloud/v1alpha1",
            ),
            (&GOOD.replace("name: a", ""), "no metadata.name"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(words) && !why.contains("from_str"), "{text:?}: {why}");
        }
    }
}
