//! AccessRequests that upstream's provider has granted, and that ours goes on with.

use super::{
    access::rules,
    desk::{Desk, PROVIDER, code},
    platform::{Fault, create, delete, gone, patch, phase, that, until},
};
use allotment_api::openmcp::AccessRequest;
use allotment_core::openmcp::names::hash8;
use allotment_operator::{
    openmcp::access::{Operator, Settings},
    runtime::controller::Controller as _,
};
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::{
    core::v1::{Namespace, Secret, ServiceAccount},
    rbac::v1::{ClusterRole, ClusterRoleBinding},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ListParams, PostParams, TypeMeta},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::fmt::Debug;

/// Makes an object as upstream's provider does.
async fn put<K>(api: Api<K>, metadata: Value, body: Value) -> Outcome
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    let TypeMeta { api_version, kind } = TypeMeta::resource::<K>();
    let mut object = body;
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    object["metadata"] = metadata;
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}

/// What upstream's provider has in the cluster for request `a`: the role of today, and one that it did not get to remove.
async fn in_the_cluster(desk: &Desk, admin: &Client, role: &str) -> Result<String, Fault> {
    let own = &desk.platform.plot.namespace;
    let hash = hash8(&[own, PROVIDER, own, "a"]);
    let prefix = "gardener.clusters.openmcp.cloud";
    let labels = json!({
        format!("{prefix}/managed-by-name"): "a", format!("{prefix}/managed-by-namespace"): own,
    });
    let named = |name: &str| json!({ "name": name, "labels": labels });
    let namespaces: Api<Namespace> = Api::all(admin.clone());
    // Others may have it already.
    put(namespaces, json!({ "name": "accessrequests" }), json!({})).await.ok();
    put::<ServiceAccount>(Api::namespaced(admin.clone(), "accessrequests"), named(&hash), json!({})).await?;
    let subjects = json!([{ "kind": "ServiceAccount", "name": hash, "namespace": "accessrequests" }]);
    for name in [role.to_owned(), format!("openmcp:permission:{hash}:7")] {
        let body = json!({ "rules": rules("namespaces", &["list"]) });
        put::<ClusterRole>(Api::all(admin.clone()), named(&name), body).await?;
        let reference =
            json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name });
        let body = json!({ "roleRef": reference, "subjects": subjects });
        put::<ClusterRoleBinding>(Api::all(admin.clone()), named(&name), body).await?;
    }
    Ok(hash)
}

pub async fn what_upstreams_provider_granted_is_gone_on_with(landscape: Landscape) -> Outcome {
    let mut desk = Desk::without_provider(&landscape).await?;
    let (admin, role) = (desk.admin().await?, format!("own-{}", desk.platform.plot.namespace));
    let request = desk
        .ask("a", json!({ "token": { "permissions": [{ "name": role, "rules": rules("namespaces", &["list"]) }] } }))
        .await?;
    that(&desk.platform.access_requests(), "a", "is handed over", |it: &AccessRequest| {
        !it.labels().is_empty()
    })
    .await?;
    let hash = in_the_cluster(&desk, &admin, &role).await?;
    let owner = json!([{
        "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "AccessRequest", "name": "a",
        "uid": request.uid(), "controller": true, "blockOwnerDeletion": true,
    }]);
    let metadata = json!({ "name": "a.kubeconfig", "ownerReferences": owner });
    let data = json!({ "kubeconfig": "old", "creationTimestamp": "1", "expirationTimestamp": "2" });
    put::<Secret>(desk.secrets(), metadata, json!({ "stringData": data })).await?;
    let held = json!({ "metadata": { "finalizers": ["gardener.clusters.openmcp.cloud/accessrequest"] } });
    patch(&desk.platform.access_requests(), "a", held).await?;
    let granted =
        json!({ "phase": "Granted", "secretRef": { "name": "a.kubeconfig" }, "observedGeneration": 1 });
    desk.status_of("a", granted).await?;

    let parts = desk.platform.parts(PROVIDER);
    let (operator, landscapes) = (Operator::new(parts.clone(), Settings::default()), parts.landscapes);
    desk.platform.run(async move {
        tokio::join!(operator.run_as_leader(), landscapes.follow());
    });
    until("there is a kubeconfig of ours", async || {
        match desk.kubeconfig("a").await.map_err(|error| error.to_string())?.as_str() {
            "old" => Err("old".to_owned()),
            _ => Ok(()),
        }
    })
    .await?;
    let request = desk.granted("a").await?;
    assert_eq!(phase(&request), "Granted");
    let holder = desk.holder("a").await?;
    assert_eq!(code(Api::<Namespace>::all(holder.clone()).list(&ListParams::default()).await), 200);
    // Everything says by now whose it is, and what was left over is gone.
    let roles: Api<ClusterRole> = Api::all(admin.clone());
    let ours = roles.list(&ListParams::default().labels(&desk.labels("a"))).await?;
    assert_eq!(ours.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), [role]);
    gone(&roles, &format!("openmcp:permission:{hash}:7")).await?;
    delete(&desk.platform.access_requests(), "a").await?;
    gone(&desk.platform.access_requests(), "a").await
}

pub async fn what_upstreams_provider_granted_ends_with_its_request(landscape: Landscape) -> Outcome {
    let mut desk = Desk::without_provider(&landscape).await?;
    let (admin, role) = (desk.admin().await?, format!("own-{}", desk.platform.plot.namespace));
    let labels = json!({
        "clusters.openmcp.cloud/provider": PROVIDER, "clusters.openmcp.cloud/profile": desk.profile(),
    });
    let held = json!(["gardener.clusters.openmcp.cloud/accessrequest"]);
    let metadata = json!({ "name": "a", "labels": labels, "finalizers": held });
    let spec = json!({ "clusterRef": desk.platform.here(&desk.cluster), "token": {} });
    create::<AccessRequest>(&desk.platform.access_requests(), metadata, spec).await?;
    let hash = in_the_cluster(&desk, &admin, &role).await?;
    // It is deleted before ours has ever seen it.
    delete(&desk.platform.access_requests(), "a").await?;
    let parts = desk.platform.parts(PROVIDER);
    let (operator, landscapes) = (Operator::new(parts.clone(), Settings::default()), parts.landscapes);
    desk.platform.run(async move {
        tokio::join!(operator.run_as_leader(), landscapes.follow());
    });
    gone(&desk.platform.access_requests(), "a").await?;
    assert!(
        Api::<ServiceAccount>::namespaced(admin.clone(), "accessrequests").get_opt(&hash).await?.is_none()
    );
    assert!(Api::<ClusterRole>::all(admin.clone()).get_opt(&role).await?.is_none());
    assert!(Api::<ClusterRoleBinding>::all(admin).get_opt(&role).await?.is_none());
    Ok(())
}
