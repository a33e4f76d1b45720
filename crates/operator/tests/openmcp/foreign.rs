//! What tenants may refer to, and in which accounts Shoots are made.

use super::{
    desk::{Desk, SHOOT},
    gardens::{Stage, template},
    platform::{Fault, condition, create, patch, phase, that},
};
use allotment_api::{
    gardener::CredentialsBinding,
    openmcp::{AccessRequest, Cluster, ClusterRequest},
};
use allotment_core::openmcp::policy::Policy;
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// The message of ShootManagement, once it has a problem with the configuration.
async fn problem(stage: &Stage, cluster: &str) -> Result<String, Fault> {
    let is = |it: &Cluster| condition(it, "ShootManagement").is_some_and(|it| it.1 == "ConfigurationProblem");
    let cluster = that(&stage.clusters(), cluster, "has a problem", is).await?;
    Ok(condition(&cluster, "ShootManagement").unwrap().2)
}

fn marked(stage: &Stage, name: &str) -> impl Future<Output = Result<Cluster, Fault>> {
    let mark = json!({ "metadata": { "annotations": { "openmcp.cloud/operation": "reconcile" } } });
    let (api, name) = (stage.clusters(), name.to_owned());
    async move { patch(&api, &name, mark).await }
}

pub async fn a_cluster_config_of_a_tenant_does_not_choose_the_account(landscape: Landscape) -> Outcome {
    let mut stage = Stage::new(&landscape).await?;
    stage.platform.policy = Policy::default().into();
    stage.restart();
    stage.plot.add_account("victim", allotment_api::kyma::Provider::Aws, json!({})).await?;
    let profile = stage.ready().await?;
    let add =
        |path: &str, value: Value| json!({ "patches": [{ "op": "add", "path": path, "value": value }] });
    for (name, spec, words) in [
        ("account", add("/spec/credentialsBindingName", json!("victim")), "the ProviderConfig decides"),
        (
            "seed",
            add("/spec/seedSelector", json!({ "matchLabels": { "a": "b" } })),
            "only the platform may set it",
        ),
        (
            "secret",
            json!({ "resources": [{
                "name": "r", "resourceRef": { "apiVersion": "v1", "kind": "Secret", "name": "victim" },
            }] }),
            "Secret \"victim\" is not allowed",
        ),
    ] {
        create(&stage.cluster_configs(), json!({ "name": name }), spec).await?;
        let spec =
            json!({ "profile": profile, "tenancy": "Exclusive", "clusterConfigs": [{ "name": name }] });
        create(&stage.clusters(), json!({ "name": name }), spec).await?;
        let message = problem(&stage, name).await?;
        assert!(message.contains(&format!("ClusterConfig {name}")) && message.contains(words), "{message}");
    }
    assert!(stage.plot.shoots().list(&Default::default()).await?.items.is_empty());
    Ok(())
}

pub async fn no_shoot_is_made_in_an_account_that_is_not_for_it(landscape: Landscape) -> Outcome {
    let stage = Stage::new(&landscape).await?;
    let bindings: Api<CredentialsBinding> =
        Api::namespaced(stage.plot.landscape.garden.clone(), &stage.plot.garden_namespace);
    let change = async |metadata: Value| -> Result<(), Fault> {
        let change = json!({ "metadata": metadata });
        bindings.patch("acc", &PatchParams::default(), &Patch::Merge(&change)).await?;
        Ok(())
    };
    let profile = stage.ready().await?;
    for (name, metadata, words) in [
        ("dirty", json!({ "labels": { "dirty": "true" } }), "waits to be cleaned"),
        ("internal", json!({ "labels": { "dirty": null, "internal": "true" } }), "keeps it from tenants"),
        (
            "tenant",
            json!({ "labels": { "internal": null, "tenantName": "somebody" } }),
            "gives it to a tenant",
        ),
        (
            "quarantine",
            json!({ "labels": { "tenantName": null }, "annotations": { "allotment.dev/quarantine": "bad key" } }),
            "quarantine (bad key)",
        ),
    ] {
        change(metadata).await?;
        stage.cluster(name, &profile).await?;
        let message = problem(&stage, name).await?;
        assert!(message.contains("CredentialsBinding acc") && message.contains(words), "{message}");
        assert!(!message.contains("somebody"), "whose it is, is not told: {message}");
    }
    assert!(stage.plot.shoots().list(&Default::default()).await?.items.is_empty());
    // One that is not there is told, too.
    let mut other = template();
    other["spec"]["credentialsBindingName"] = json!("none");
    stage.config("d", "l", &stage.provider, other).await?;
    that(&stage.configs(), &stage.own("d"), "is ready", |it| phase(it) == "Ready").await?;
    stage.cluster("nowhere", &stage.profile_name("d")).await?;
    let message = problem(&stage, "nowhere").await?;
    assert!(message.contains("has no CredentialsBinding none"), "{message}");
    // Once the account is fine, somebody who asks need not wait.
    change(json!({ "annotations": { "allotment.dev/quarantine": null } })).await?;
    marked(&stage, "dirty").await?;
    stage.cluster_ready("dirty").await?;
    // What runs there stays, whatever becomes of the account.
    change(json!({ "labels": { "dirty": "true" } })).await?;
    let (_, before) = stage.settled("dirty").await?;
    marked(&stage, "dirty").await?;
    stage.cluster_ready("dirty").await?;
    let is = |shoot: Option<&allotment_api::gardener::Shoot>| {
        shoot.is_some_and(|shoot| shoot.metadata.deletion_timestamp.is_none())
    };
    let shoot = stage.shoot_of("dirty").await?;
    stage.plot.wait_for_shoot(&shoot.name_any(), "is there", is).await?;
    assert!(!before.is_empty());
    change(json!({ "labels": { "dirty": null } })).await?;
    Ok(())
}

/// A namespace of somebody else, with the Cluster of the desk and a ClusterRequest that has it.
struct Victim {
    namespace: String,
    namespaces: Api<Namespace>,
}

impl Drop for Victim {
    fn drop(&mut self) {
        let (api, name) = (self.namespaces.clone(), self.namespace.clone());
        tokio::spawn(async move { api.delete(&name, &DeleteParams::default()).await });
    }
}

impl Victim {
    async fn new(desk: &Desk) -> Result<Self, Fault> {
        let client = desk.platform.client();
        let (namespace, namespaces) = (format!("v-{}", desk.platform.plot.project), Api::all(client.clone()));
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        namespaces.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        let victim = Self { namespace, namespaces };
        let spec = json!({ "profile": desk.profile(), "tenancy": "Exclusive", "purposes": ["test"] });
        create(&victim.clusters(desk), json!({ "name": "c" }), spec).await?;
        let plot = &desk.platform.plot;
        let shoot = plot.shoots().get(SHOOT).await?;
        let status = json!({ "status": {
            "phase": "Ready", "observedGeneration": 1,
            "endpoints": [{ "name": "external", "url": "https://somewhere.example.com" }],
            "providerStatus": {
                "landscape": plot.namespace, "project": plot.project,
                "shoot": { "metadata": { "name": SHOOT, "namespace": plot.garden_namespace, "uid": shoot.uid() } },
            },
        } });
        let params = PatchParams::default();
        victim.clusters(desk).patch_status("c", &params, &Patch::Merge(&status)).await?;
        Ok(victim)
    }

    fn clusters(&self, desk: &Desk) -> Api<Cluster> {
        Api::namespaced(desk.platform.client(), &self.namespace)
    }

    fn at(&self, name: &str) -> Value {
        json!({ "name": name, "namespace": self.namespace })
    }
}

/// A ClusterRequest that is granted, as its status says.
async fn granted(requests: &Api<ClusterRequest>, cluster: Value) -> Result<ClusterRequest, Fault> {
    create(requests, json!({ "name": "r" }), json!({ "purpose": "test" })).await?;
    let status = json!({ "status": { "phase": "Granted", "observedGeneration": 1, "cluster": cluster } });
    Ok(requests.patch_status("r", &PatchParams::default(), &Patch::Merge(&status)).await?)
}

async fn ask(desk: &Desk, name: &str, labels: Value, mut spec: Value) -> Result<AccessRequest, Fault> {
    spec["token"] = json!({ "roleRefs": [{ "kind": "ClusterRole", "name": "cluster-admin" }] });
    create(&desk.platform.access_requests(), json!({ "name": name, "labels": labels }), spec).await
}

pub async fn references_into_another_namespace_are_denied_until_they_are_allowed(
    landscape: Landscape,
) -> Outcome {
    let mut desk = Desk::without_cluster(&landscape).await?;
    desk.restart(Policy::default(), true);
    let victim = Victim::new(&desk).await?;
    granted(&Api::namespaced(desk.platform.client(), &victim.namespace), victim.at("c")).await?;
    ask(&desk, "by-cluster", json!({}), json!({ "clusterRef": victim.at("c") })).await?;
    ask(&desk, "by-request", json!({}), json!({ "requestRef": victim.at("r") })).await?;
    for (name, field) in [("by-cluster", "spec.clusterRef"), ("by-request", "spec.requestRef")] {
        let why = desk.because(name, "Denied", "Resolved", "InvalidReference").await?;
        assert!(why.starts_with(field) && why.contains("crossNamespace"), "{why}");
    }
    // Whoever writes labels and status itself gets no further: the provider judges, too.
    desk.restart(Policy::default(), false);
    let labels = json!({
        "clusters.openmcp.cloud/provider": super::desk::PROVIDER, "clusters.openmcp.cloud/profile": desk.profile(),
    });
    ask(&desk, "forged", labels, json!({ "clusterRef": victim.at("c"), "requestRef": victim.at("r") }))
        .await?;
    desk.status_of("forged", json!({ "phase": "Pending", "observedGeneration": 1 })).await?;
    let why = desk.because("forged", "Denied", "FoundClusterAndProfile", "InvalidReference").await?;
    assert!(why.contains("may not refer to namespace"), "{why}");
    assert!(desk.secrets().get_opt("forged.kubeconfig").await?.is_none());
    // The platform allows it.
    let allowed = json!({ "crossNamespace": [{ "from": desk.platform.plot.namespace, "to": "v-*" }] });
    let policy = Policy { openmcp: serde_json::from_value(allowed)?, ..Policy::default() };
    desk.restart(policy, true);
    for name in ["by-cluster", "by-request"] {
        desk.granted(name).await?;
    }
    // It does no longer: what was granted stays, and is not renewed.
    desk.restart(Policy::default(), true);
    desk.operator.look_into_all();
    let is = |request: &AccessRequest| condition(request, "ShootAccess").is_some_and(|it| it.0 == "False");
    let request = that(&desk.platform.access_requests(), "by-cluster", "is not renewed", is).await?;
    assert_eq!(phase(&request), "Granted");
    desk.holder("by-cluster").await?.apiserver_version().await?;
    Ok(())
}

pub async fn a_cluster_that_the_scheduler_gave_away_needs_no_permission(landscape: Landscape) -> Outcome {
    let mut desk = Desk::without_cluster(&landscape).await?;
    desk.restart(Policy::default(), true);
    let victim = Victim::new(&desk).await?;
    // A status alone proves nothing.
    let request = granted(&desk.platform.cluster_requests(), victim.at("c")).await?;
    ask(&desk, "a", json!({}), json!({ "requestRef": desk.platform.here("r") })).await?;
    desk.because("a", "Denied", "Resolved", "InvalidReference").await?;
    // The scheduler writes the UID of the request on the Cluster that it gives away.
    let holder = format!("request.clusters.openmcp.cloud/{}", request.uid().unwrap());
    patch(&victim.clusters(&desk), "c", json!({ "metadata": { "finalizers": [holder] } })).await?;
    desk.granted("a").await?;
    desk.holder("a").await?.apiserver_version().await?;
    patch(&victim.clusters(&desk), "c", json!({ "metadata": { "finalizers": null } })).await?;
    Ok(())
}
