//! The admission policies of the chart, bound to the namespaces of this test.

use super::super::stage::until;
use super::{
    Done,
    table::Who,
    world::{OWN, World},
};
use allotment_api::allotment::AdmissionParametersSpec;
use allotment_core::{
    admission::{Release, parameters},
    tenancy::{Mode, Tenancy},
};
use allotment_testing::Plot;
use http::Request;
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
};
use serde_json::{Value, json};

impl World {
    /// Installs the policies, and waits until each of them is in force.
    pub async fn install_policies(&self) -> Done<()> {
        install(&self.plot, &self.tenancy(), &self.namespaces(), |_| ()).await?;
        self.are_in_force().await
    }

    /// A server learns of policies by watching. Probes are dry runs.
    async fn are_in_force(&self) -> Done<()> {
        let clusters = super::table::clusters(&self.hostile());
        let accesses = super::table::accesses(&self.hostile());
        let role = json!({ "namespace": "kube-system", "rules": super::table::harmless() });
        let probes = [
            (
                "POST",
                clusters.clone(),
                super::table::cluster(&[("/spec/infrastructure/subscriptionSelector", json!("victim"))]),
            ),
            (
                "POST",
                clusters.clone(),
                super::table::cluster(&[("/metadata/finalizers", json!(["allotment.dev/cluster"]))]),
            ),
            (
                "POST",
                clusters.clone(),
                super::table::cluster(&[("/spec/shootTemplate/spec/schedulerName", json!("mine"))]),
            ),
            ("POST", accesses, super::table::access_to(&[("/spec/role", role)])),
            ("PATCH", format!("{clusters}/{OWN}/status"), json!({ "status": { "progress": 1 } })),
        ];
        for (method, path, body) in probes {
            until(&format!("a policy refuses {method} {path}"), async || {
                let kind =
                    if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
                let request = Request::builder()
                    .method(method)
                    .uri(format!("{path}?dryRun=All"))
                    .header("content-type", kind)
                    .body(body.to_string().replace("{id}", "probe").into_bytes())
                    .map_err(|error| error.to_string())?;
                match self.client(Who::Wide).request::<Value>(request).await {
                    Err(kube::Error::Api(status)) if status.code == 422 => Ok(()),
                    other => Err(format!("{other:?}")),
                }
            })
            .await?;
        }
        Ok(())
    }
}

/// Installs the policies for some namespaces: API servers are shared with other tests.
pub async fn install(
    plot: &Plot,
    tenancy: &Tenancy,
    namespaces: &[String],
    change: impl FnOnce(&mut AdmissionParametersSpec),
) -> Done<()> {
    let name = format!("{}.isolation", plot.namespace);
    let release = Release { name: &name, namespace: &plot.namespace };
    let mut spec = parameters("allotment", tenancy, false);
    change(&mut spec);
    let parameter = release.parameter(spec);
    let mut objects = vec![json!(parameter)];
    objects.extend(release.policies(Mode::Enforced, true)?);
    for object in &mut objects {
        if object["kind"] == "ValidatingAdmissionPolicyBinding" {
            let ours =
                json!({ "key": "kubernetes.io/metadata.name", "operator": "In", "values": namespaces });
            object["spec"]["matchResources"] = json!({ "namespaceSelector": { "matchExpressions": [ours] } });
        }
        apply(plot, object).await?;
    }
    Ok(())
}

pub async fn apply(plot: &Plot, object: &Value) -> Done<()> {
    let (api, name) = dynamic(&plot.landscape.control_plane, object);
    api.patch(&name, &PatchParams::apply("isolation-test").force(), &Patch::Apply(object)).await?;
    Ok(())
}

/// What is in no namespace would stay for good.
pub async fn clear_away(plot: &Plot) -> Done<()> {
    let client = &plot.landscape.control_plane;
    let prefix = format!("{}.", plot.namespace);
    let kinds = [
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
    ];
    for (group, kind) in kinds {
        let resource = resource(group, "v1", kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        for object in api.list_metadata(&Default::default()).await? {
            if object.name_any().starts_with(&prefix) {
                api.delete(&object.name_any(), &DeleteParams::default()).await?;
            }
        }
    }
    Ok(())
}

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match kind {
        "ValidatingAdmissionPolicy" => "validatingadmissionpolicies".clone_into(&mut resource.plural),
        "AdmissionParameters" => "admissionparameters".clone_into(&mut resource.plural),
        _ => (),
    }
    resource
}

fn dynamic(client: &Client, object: &Value) -> (Api<DynamicObject>, String) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
    let resource = resource(group, version, text("/kind"));
    let api = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    (api, text("/metadata/name").to_owned())
}
