//! Two tenants, each with a namespace, a user and a kubeconfig of its own, and the admission policies that keep them apart.

use allotment_core::admission::Release;
use allotment_garden::landscape::Landscape;
use allotment_operator::process;
use anyhow::{Context, Result};
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
};
use serde_json::{Value, json};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// The label of Namespaces that names their tenant.
pub(super) const LABEL: &str = "allotment.dev/tenant";

/// The namespaces of tenants, and whose each is.
pub(super) const TENANTS: [(&str, &str); 2] = [("team-a", "tenant-a"), ("team-b", "tenant-b")];

/// The user of a tenant, in its namespace.
const USER: &str = "developer";

/// A demo does not last longer than a day.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

const MANAGER: &str = "allotment-demo";

/// Where the kubeconfig of a tenant is.
pub(super) fn kubeconfig(folder: &Path, namespace: &str) -> PathBuf {
    folder.join(format!("{namespace}.kubeconfig"))
}

/// Writes a file that only its owner reads.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Makes them, and writes their kubeconfigs. Safe to repeat.
pub(super) async fn settle(landscape: &Landscape, folder: &Path, config: &Path) -> Result<()> {
    let client = &landscape.control_plane;
    apply(client, &tenant_role()).await?;
    for (namespace, tenant) in TENANTS {
        for object in objects(namespace, tenant) {
            apply(client, &object).await?;
        }
        let text = kubeconfig_of(landscape, namespace).await?;
        let path = kubeconfig(folder, namespace);
        write_private(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let release = Release { name: "allotment", namespace: "default" };
    // The demo's operators are administrators, whom the policies let pass.
    let policies = process::read(config)?.1.config.admission(&release, "allotment-demo")?;
    for policy in policies {
        apply(client, &policy).await?;
    }
    Ok(())
}

/// As the chart's …:tenant-edit, with Secrets for clusters that tenants bring.
fn tenant_role() -> Value {
    let verbs = ["get", "list", "watch", "create", "patch", "update", "delete"];
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": "allotment:tenant-edit" },
        "rules": [
            { "apiGroups": ["operator.kyma-project.io"], "resources": ["clusters", "kubeconfigrequests"], "verbs": verbs },
            { "apiGroups": ["control-plane.kyma-project.io"], "resources": ["subscriptionrequests"], "verbs": verbs },
            { "apiGroups": [""], "resources": ["secrets"], "verbs": verbs },
            { "apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["get", "list", "watch"] },
        ],
    })
}

fn objects(namespace: &str, tenant: &str) -> [Value; 3] {
    [
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": namespace, "labels": { LABEL: tenant } },
        }),
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": USER, "namespace": namespace },
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": { "name": "tenant-edit", "namespace": namespace },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "allotment:tenant-edit" },
            "subjects": [{ "kind": "ServiceAccount", "name": USER, "namespace": namespace }],
        }),
    ]
}

async fn apply(client: &Client, object: &Value) -> Result<()> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let gvk = GroupVersionKind::gvk(group, version, kind);
    let resource = match kind {
        // A plural already.
        "AdmissionParameters" => ApiResource::from_gvk_with_plural(&gvk, "admissionparameters"),
        _ => ApiResource::from_gvk(&gvk),
    };
    let api: Api<DynamicObject> = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let params = PatchParams::apply(MANAGER).force();
    let applied = api.patch(name, &params, &Patch::Apply(object)).await;
    applied.map(drop).with_context(|| format!("cannot make {kind} {name}"))
}

/// The control plane's kubeconfig, with the tenant's token instead of the administrator's certificate.
async fn kubeconfig_of(landscape: &Landscape, namespace: &str) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(landscape.control_plane.clone(), namespace);
    let spec = TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
    let answer = accounts.create_token_request(USER, &PostParams::default(), &request).await;
    let answer = answer.with_context(|| format!("cannot get a token for {namespace}/{USER}"))?;
    let token = answer.status.and_then(|status| status.token).unwrap_or_default();
    let path = &landscape.control_plane_kubeconfig;
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let admin: Value =
        serde_saphyr::from_str(&text).with_context(|| format!("cannot read {}", path.display()))?;
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": namespace,
        "clusters": [{ "name": "control-plane", "cluster": admin["clusters"][0]["cluster"] }],
        "users": [{ "name": USER, "user": { "token": token } }],
        "contexts": [{
            "name": namespace,
            "context": { "cluster": "control-plane", "user": USER, "namespace": namespace },
        }],
    });
    serde_saphyr::to_string(&kubeconfig).context("cannot write a kubeconfig")
}
