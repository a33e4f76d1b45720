//! A Cluster that is ready, and everybody who hands out access to it.

use super::platform::{Fault, Platform, condition, create, patch, phase, that};
use allotment_api::{
    gardener::{KubeconfigAccess, OperationState, Shoot},
    kyma::Provider,
    openmcp::{
        AccessRequest, Cluster, ClusterProfile,
        gardener::{Landscape as GardenLandscape, ProviderConfig},
    },
};
use allotment_core::openmcp::policy::Policy;
use allotment_operator::{
    openmcp::{Parts, access, generic},
    runtime::controller::Controller as _,
};
use allotment_testing::{Landscape, client};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
    config::Kubeconfig,
};
use serde_json::{Value, json};

pub const PROVIDER: &str = "p";
pub const SHOOT: &str = "s";

/// A Cluster that is ready, the generic controller and a provider.
pub struct Desk {
    pub platform: Platform,
    pub operator: access::Operator,
    pub generic: generic::Operator,
    pub cluster: String,
}

/// What has no namespace would be in the way of every test after this one.
impl Drop for Desk {
    fn drop(&mut self) {
        let (client, own, profile) =
            (self.platform.client(), self.platform.plot.namespace.clone(), self.profile());
        tokio::spawn(async move {
            let params = DeleteParams::default();
            let _ = Api::<ClusterProfile>::all(client.clone()).delete(&profile, &params).await;
            let _ = Api::<ProviderConfig>::all(client.clone()).delete(&own, &params).await;
            let _ = Api::<GardenLandscape>::all(client).delete(&own, &params).await;
        });
    }
}

impl Desk {
    pub async fn new(landscape: &Landscape) -> Result<Self, Fault> {
        let desk = Self::without_cluster(landscape).await?;
        desk.make_cluster().await?;
        desk.cluster_is_ready().await?;
        Ok(desk)
    }

    /// With a Shoot, and no Cluster that leads to it.
    pub async fn without_cluster(landscape: &Landscape) -> Result<Self, Fault> {
        let (mut desk, parts) = Self::prepared(landscape).await?;
        let operator = desk.operator.clone();
        desk.platform.run(async move {
            tokio::join!(operator.run_as_leader(), parts.landscapes.follow());
        });
        Ok(desk)
    }

    /// With a Cluster, and nobody who hands out access to it.
    pub async fn without_provider(landscape: &Landscape) -> Result<Self, Fault> {
        let (desk, _) = Self::prepared(landscape).await?;
        desk.make_cluster().await?;
        desk.cluster_is_ready().await?;
        Ok(desk)
    }

    /// Crashes, and comes back where namespaces may refer to something else; with the generic controller, or without.
    pub fn restart(&mut self, policy: Policy, is_generic: bool) {
        self.platform.crash();
        self.platform.policy = policy.into();
        let parts = self.platform.parts(PROVIDER);
        self.operator = access::Operator::new(parts.clone(), access::Settings::default());
        self.generic = generic::Operator::new(parts.clone());
        let (operator, generic) = (self.operator.clone(), self.generic.clone());
        self.platform.run(async move {
            tokio::join!(operator.run_as_leader(), parts.landscapes.follow());
        });
        if is_generic {
            self.platform.run(async move { generic.run_as_leader().await });
        }
    }

    async fn prepared(landscape: &Landscape) -> Result<(Self, Parts), Fault> {
        let mut platform = Platform::with_gardenlet(landscape).await?;
        let plot = &platform.plot;
        plot.add_account("account", Provider::Aws, json!({})).await?;
        let mut shoot: Value =
            serde_saphyr::from_str(include_str!("../../../../landscape/manifests/shoots/aws.yaml"))?;
        shoot["metadata"] = json!({ "name": SHOOT, "namespace": plot.garden_namespace });
        shoot["spec"]["credentialsBindingName"] = json!("account");
        plot.create_shoot(&serde_json::from_value(shoot)?).await?;
        let own = plot.namespace.clone();
        let kubeconfig = std::fs::read_to_string(&landscape.garden_kubeconfig)?;
        let spec = json!({ "access": { "inline": kubeconfig } });
        create::<GardenLandscape>(&Api::all(platform.client()), json!({ "name": own }), spec).await?;
        let spec = json!({
            "providerRef": { "name": PROVIDER }, "landscapeRef": { "name": own }, "project": plot.project,
            "shootTemplate": {},
        });
        create::<ProviderConfig>(&Api::all(platform.client()), json!({ "name": own }), spec).await?;
        platform.profile(PROVIDER, &own).await?;
        let succeeded = |shoot: Option<&Shoot>| {
            let status = shoot.and_then(|shoot| shoot.status.as_ref());
            status.and_then(|status| status.last_operation.as_ref()).map(|operation| operation.state)
                == Some(OperationState::Succeeded)
        };
        platform.plot.wait_for_shoot(SHOOT, "is ready", succeeded).await?;
        let parts = platform.parts(PROVIDER);
        let operator = access::Operator::new(parts.clone(), access::Settings::default());
        let generic = generic::Operator::new(parts.clone());
        let running = generic.clone();
        platform.run(async move { running.run_as_leader().await });
        Ok((Self { platform, operator, generic, cluster: "c".to_owned() }, parts))
    }

    pub fn profile(&self) -> String {
        format!("{0}.{PROVIDER}.{0}", self.platform.plot.namespace)
    }

    pub async fn make_cluster(&self) -> Result<Cluster, Fault> {
        self.platform.cluster(&self.cluster, &self.profile()).await
    }

    /// As the Cluster controller says it.
    pub async fn cluster_is_ready(&self) -> Result<(), Fault> {
        let shoot = self.platform.plot.shoots().get(SHOOT).await?;
        let plot = &self.platform.plot;
        let status = json!({
            "phase": "Ready",
            "observedGeneration": 1,
            "endpoints": [{ "name": "external", "url": "https://somewhere.example.com" }],
            "providerStatus": {
                "landscape": plot.namespace, "project": plot.project,
                "shoot": { "metadata": { "name": SHOOT, "namespace": plot.garden_namespace, "uid": shoot.uid() } },
            },
        });
        let (params, patch) = (PatchParams::default(), json!({ "status": status }));
        self.platform.clusters().patch_status(&self.cluster, &params, &Patch::Merge(&patch)).await?;
        Ok(())
    }

    pub async fn ask(&self, name: &str, access: Value) -> Result<AccessRequest, Fault> {
        let mut spec = access;
        spec["clusterRef"] = self.platform.here(&self.cluster);
        create(&self.platform.access_requests(), json!({ "name": name }), spec).await
    }

    pub async fn change(&self, name: &str, change: Value) -> Result<AccessRequest, Fault> {
        patch(&self.platform.access_requests(), name, change).await
    }

    pub async fn status_of(&self, name: &str, status: Value) -> Result<(), Fault> {
        let (api, patch) = (self.platform.access_requests(), json!({ "status": status }));
        api.patch_status(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    }

    /// Waits until it is granted as it is now.
    pub async fn granted(&self, name: &str) -> Result<AccessRequest, Fault> {
        that(&self.platform.access_requests(), name, "is granted", |request| {
            let status = request.status.as_ref();
            phase(request) == "Granted"
                && status.map(|status| status.common.observed_generation) == request.metadata.generation
        })
        .await
    }

    /// Waits until it is in this phase and a condition has this reason, and returns the message.
    pub async fn because(
        &self,
        name: &str,
        phase_is: &str,
        type_: &str,
        reason: &str,
    ) -> Result<String, Fault> {
        let is = |request: &AccessRequest| {
            phase(request) == phase_is && condition(request, type_).is_some_and(|it| it.1 == reason)
        };
        let what = format!("is {phase_is} with {type_} {reason}");
        let request = that(&self.platform.access_requests(), name, &what, is).await?;
        Ok(condition(&request, type_).unwrap().2)
    }

    pub fn secrets(&self) -> Api<Secret> {
        self.platform.api()
    }

    pub async fn secret(&self, name: &str) -> Result<Secret, Fault> {
        Ok(self.secrets().get(&format!("{name}.kubeconfig")).await?)
    }

    /// The kubeconfig that was handed out.
    pub async fn kubeconfig(&self, name: &str) -> Result<String, Fault> {
        let secret = self.secret(name).await?;
        Ok(String::from_utf8(secret.data.unwrap().remove("kubeconfig").unwrap().0)?)
    }

    /// Whoever was handed the kubeconfig.
    pub async fn holder(&self, name: &str) -> Result<Client, Fault> {
        Ok(client(Kubeconfig::from_yaml(&self.kubeconfig(name).await?)?).await?)
    }

    /// The admin of the Shoot.
    pub async fn admin(&self) -> Result<Client, Fault> {
        let kubeconfig = self.platform.plot.kubeconfig(SHOOT, KubeconfigAccess::Admin).await?;
        Ok(client(kubeconfig).await?)
    }

    pub async fn delete_shoot(&self) -> Result<(), Fault> {
        let confirm =
            json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": "true" } } });
        let shoots = self.platform.plot.shoots();
        shoots.patch(SHOOT, &PatchParams::default(), &Patch::Merge(&confirm)).await?;
        shoots.delete(SHOOT, &DeleteParams::default()).await?;
        self.platform.plot.wait_for_shoot(SHOOT, "is gone", |shoot| shoot.is_none()).await?;
        Ok(())
    }

    /// What finds everything of a request in the Shoot.
    pub fn labels(&self, name: &str) -> String {
        let prefix = "gardener.clusters.openmcp.cloud";
        let environment = &self.platform.plot.namespace;
        format!(
            "{prefix}/managed-by-name={name},{prefix}/managed-by-namespace={environment},\
             {prefix}/provider-name={PROVIDER},{prefix}/environment={environment}"
        )
    }
}

/// The HTTP code of a refusal; 200 where there was none.
pub fn code<T>(result: Result<T, kube::Error>) -> u16 {
    match result {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}
