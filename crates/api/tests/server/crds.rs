//! The definitions themselves.

use allotment_api::crds;
use allotment_testing::{Kubectl, Landscape, Outcome};
use serde_json::json;
use std::time::Duration;

fn kubectl(landscape: &Landscape) -> Kubectl {
    Kubectl::new(&landscape.kubectl, &landscape.control_plane_kubeconfig)
}

pub(crate) async fn are_taken_one_by_one_without_a_warning(landscape: Landscape) -> Outcome {
    for crd in crds::all() {
        let text = serde_saphyr::to_string(&crd)?;
        let said = kubectl(&landscape).run(
            &["apply", "--server-side", "--force-conflicts", "--field-manager=allotment", "-f", "-"],
            &text,
        )?;
        assert!(said.ok, "{}", said.err);
        assert!(!said.err.contains("Warning"), "{}", said.err);
    }
    Ok(())
}

pub(crate) async fn are_taken_as_one_list(landscape: Landscape) -> Outcome {
    let list = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": crds::all() });
    let said = kubectl(&landscape).run(
        &["apply", "--server-side", "--force-conflicts", "--field-manager=allotment", "-f", "-"],
        &list.to_string(),
    )?;
    assert!(said.ok, "{}", said.err);
    assert_eq!(said.out.lines().count(), crds::all().len(), "{}", said.out);
    Ok(())
}

pub(crate) async fn explain_their_fields(landscape: Landscape) -> Outcome {
    landscape.install_crds().await?;
    for field in [
        "clusters.operator.kyma-project.io.spec.infrastructure.autoScalerMin",
        "subscriptionrequests.spec.subscriptionSelector",
        "kubeconfigrequests.spec.expiration",
    ] {
        // A server publishes its OpenAPI document some time after it serves a kind.
        let mut said = kubectl(&landscape).run(&["explain", field], "")?;
        for _ in 0..100 {
            if said.ok {
                break;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            said = kubectl(&landscape).run(&["explain", field], "")?;
        }
        assert!(said.ok && said.out.contains("DESCRIPTION"), "{field}: {}{}", said.out, said.err);
        assert!(!said.out.contains("<empty>"), "{field}: {}", said.out);
    }
    Ok(())
}

pub(crate) async fn show_their_columns(landscape: Landscape) -> Outcome {
    landscape.install_crds().await?;
    let plot = landscape.plot().await?;
    let kubectl = kubectl(&landscape).in_namespace(&plot.namespace);
    let example = include_str!("../../../../examples/cluster-with-bad-issuer.yaml")
        .replace("namespace: cluster-operator", &format!("namespace: {}", plot.namespace));
    kubectl.apply(&example)?;
    let said = kubectl.run(&["get", "kcl", "-o", "wide"], "")?;
    let columns: Vec<&str> = said.out.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(
        columns,
        [
            "NAME", "PROVIDER", "REGION", "PLAN", "PHASE", "REASON", "PROGRESS", "VERSION", "AGE", "BINDING",
            "SHOOT"
        ],
        "{}",
        said.err
    );
    // Embedded and real servers find a condition by its type.
    let reason = json!({ "status": { "conditions": [{
        "type": "ClusterProvisioned", "status": "False", "reason": "ToBeSeen", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] } });
    let patch = [
        "patch",
        "kcl",
        "example-cluster",
        "--subresource=status",
        "--type=merge",
        "-p",
        &reason.to_string(),
    ];
    let said = kubectl.run(&patch, "")?;
    assert!(said.ok, "{}", said.err);
    let said = kubectl.run(&["get", "kcl", "-o", "wide"], "")?;
    let row = said.out.lines().nth(1).unwrap_or_default();
    assert!(row.contains("ToBeSeen"), "{row}");
    assert!(row.contains("aws") && row.contains("eu-central-1") && row.contains("trial"), "{row}");
    let said = kubectl.run(&["get", "allotment", "-o", "name"], "")?;
    assert_eq!(said.out.trim(), "cluster.operator.kyma-project.io/example-cluster", "{}", said.err);
    Ok(())
}
