//! The Shoots that we render, on gardens: every provider's is accepted, updates too, and applying again writes nothing.

use allotment_api::{
    gardener::{CloudProfile, Shoot},
    kyma::{Cluster, Provider},
    names::FIELD_MANAGER,
};
use allotment_core::{
    cluster::{Clusters, Input, Rendered, render},
    tenancy::NamespaceRole,
};
use allotment_testing::{Landscape, Outcome, Plot};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{Patch, PatchParams, ValidationDirective},
};
use serde_json::{Value, json};

const NAME: &str = "rendered";

const CONFIGURATION: &str = "
providers:
  aws: {cloudProfile: aws}
  azure: {cloudProfile: az}
  gcp: {cloudProfile: gcp}
  openstack: {cloudProfile: converged-cloud}
  alicloud: {cloudProfile: alicloud}
defaults:
  extensions:
    registry-cache:
      apiVersion: registry.extensions.gardener.cloud/v1alpha3
      kind: RegistryConfig
      caches: [{upstream: docker.io}]
";

type Error = Box<dyn std::error::Error + Send + Sync>;

/// A Cluster, and the plot its Shoot is in.
struct Field {
    plot: Plot,
    clusters: Clusters,
    profile: CloudProfile,
    cluster: Value,
}

impl Field {
    async fn new(
        landscape: &Landscape,
        provider: Provider,
        region: &str,
        machine: &str,
    ) -> Result<Self, Error> {
        let plot = landscape.plot_without_gardenlet().await?;
        plot.add_account("account", provider, json!({ "hyperscalerType": provider })).await?;
        let clusters: Clusters = serde_saphyr::from_str(CONFIGURATION)?;
        let profiles = Api::<CloudProfile>::all(landscape.garden.clone());
        let profile = profiles.get(&clusters.providers[&provider].cloud_profile).await?;
        let cluster = json!({
            "apiVersion": "operator.kyma-project.io/v1alpha1",
            "kind": "Cluster",
            "metadata": { "name": "example", "namespace": plot.namespace, "uid": "of-the-cluster" },
            "spec": {
                "core": { "purpose": "Production", "region": region },
                "infrastructure": {
                    "provider": provider, "machineType": machine, "autoScalerMin": 3, "autoScalerMax": 20,
                    "numberOfZones": 3, "subscriptionSelector": "shared",
                },
            },
        });
        Ok(Self { plot, clusters, profile, cluster })
    }

    fn set(&mut self, path: &str, value: Value) {
        let place = path.split('.').fold(&mut self.cluster["spec"], |place, step| &mut place[step]);
        *place = value;
    }

    fn zones(&self) -> usize {
        let region = self.cluster["spec"]["core"]["region"].as_str().unwrap();
        self.profile.spec.regions.iter().find(|one| one.name == region).map_or(0, |one| one.zones.len())
    }

    fn render(&self, live: Option<&Shoot>) -> Result<Rendered, Error> {
        let cluster: Cluster = serde_json::from_value(self.cluster.clone())?;
        Ok(render(&Input {
            cluster: &cluster,
            role: &NamespaceRole::Platform,
            clusters: &self.clusters,
            profile: &self.profile.spec,
            live,
            name: NAME,
            namespace: &self.plot.garden_namespace,
            binding: "account",
            request: "of-the-request",
            now: Timestamp::now(),
        })?)
    }

    /// Renders with what is there, and applies it as the operator does.
    async fn apply(&self) -> Result<Shoot, Error> {
        let live = self.plot.shoots().get_opt(NAME).await?;
        let rendered = self.render(live.as_ref())?;
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            field_validation: Some(ValidationDirective::Strict),
            force: true,
            ..PatchParams::default()
        };
        if let Some(authentication) = &rendered.authentication {
            let namespace = &self.plot.garden_namespace;
            let maps = Api::<ConfigMap>::namespaced(self.plot.landscape.garden.clone(), namespace);
            let map = Patch::Apply(authentication.config_map(namespace));
            maps.patch(&authentication.name, &parameters, &map).await?;
            return self.apply_once_seen(&parameters, rendered.shoot).await;
        }
        Ok(self.plot.shoots().patch(NAME, &parameters, &Patch::Apply(rendered.shoot)).await?)
    }

    /// gardener-apiserver learns of a ConfigMap by watching, so it may need a moment.
    async fn apply_once_seen(&self, parameters: &PatchParams, shoot: Value) -> Result<Shoot, Error> {
        for _ in 0..100 {
            match self.plot.shoots().patch(NAME, parameters, &Patch::Apply(shoot.clone())).await {
                Err(kube::Error::Api(status)) if status.message.contains("not found") => {
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
                answer => return Ok(answer?),
            }
        }
        Err("the garden never saw the ConfigMap".into())
    }

    /// Applies, and again: the second time nothing is written.
    async fn settle(&self, what: &str) -> Result<Shoot, Error> {
        let first = self.apply().await.map_err(|error| format!("{what}: {error}"))?;
        let second = self.apply().await.map_err(|error| format!("{what}, again: {error}"))?;
        if second.metadata.resource_version != first.metadata.resource_version {
            let (first, second) = (serde_json::to_value(&first)?, serde_json::to_value(&second)?);
            return Err(
                format!("{what}: applying again changed {:?}", differences("", &first, &second)).into()
            );
        }
        Ok(second)
    }

    async fn delete(&self) -> Outcome {
        let confirm =
            json!({ "metadata": { "annotations": { "confirmation.gardener.cloud/deletion": "true" } } });
        self.plot.shoots().patch(NAME, &PatchParams::default(), &Patch::Merge(confirm)).await?;
        self.plot.shoots().delete(NAME, &kube::api::DeleteParams::default()).await?;
        self.plot.wait_for_shoot(NAME, "gone", |shoot| shoot.is_none()).await?;
        Ok(())
    }
}

/// Where two values differ.
fn differences(path: &str, one: &Value, other: &Value) -> Vec<String> {
    let (Value::Object(one), Value::Object(other)) = (one, other) else {
        return (one != other).then(|| format!("{path}: {one} is {other}")).into_iter().collect();
    };
    let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let value =
        |map: &serde_json::Map<String, Value>, key: &String| map.get(key).cloned().unwrap_or_default();
    let below = keys
        .into_iter()
        .flat_map(|key| differences(&format!("{path}/{key}"), &value(one, key), &value(other, key)));
    below.collect()
}

fn pool(name: &str, machine: &str) -> Value {
    json!({
        "name": name, "machineType": machine, "autoScalerMin": 0, "autoScalerMax": 2,
        "labels": { "kind": name }, "taints": [{ "key": "kind", "value": name, "effect": "NoSchedule" }],
    })
}

fn issuer(audience: &str) -> Value {
    json!({
        "issuerURL": "https://issuer.example.org", "clientID": audience, "usernameClaim": "email",
        "groupsClaim": "groups", "signingAlgs": ["RS256"], "requiredClaims": { "tenant": "one" },
    })
}

/// One zone, the most there are, and everything that a Cluster may change.
async fn is_accepted(
    landscape: &Landscape,
    provider: Provider,
    region: &str,
    [machine, other]: [&str; 2],
) -> Outcome {
    let mut field = Field::new(landscape, provider, region, machine).await?;
    field.set("infrastructure.numberOfZones", json!(1));
    let shoot = field.settle("one zone").await?;
    assert_eq!(shoot.spec.provider.workers[0].zones.len(), 1);
    field.delete().await?;

    let most = field.zones();
    field.set("infrastructure.numberOfZones", json!(most));
    let shoot = field.settle("the most zones").await?;
    assert_eq!(shoot.spec.provider.workers[0].zones.len(), most);
    assert_eq!(shoot.spec.purpose.as_deref(), Some("production"));
    assert!(shoot.spec.provider.workers[0].machine.image.is_some(), "Gardener fills the image in");

    field.set("infrastructure.autoScalerMax", json!(40));
    assert_eq!(field.settle("more nodes").await?.spec.provider.workers[0].maximum, 40);
    field.set("infrastructure.machineType", json!(other));
    assert_eq!(field.settle("another machine type").await?.spec.provider.workers[0].machine.type_, other);
    field.set("infrastructure.additionalWorkers", json!([pool("b", machine), pool("a", other)]));
    assert_eq!(field.settle("pools added").await?.spec.provider.workers.len(), 3);
    field.set("infrastructure.additionalWorkers", json!([pool("a", other)]));
    let workers = field.settle("a pool removed").await?.spec.provider.workers;
    assert_eq!(workers.iter().map(|worker| worker.name.as_str()).collect::<Vec<_>>(), ["cpu-worker-0", "a"]);

    let name = |shoot: Shoot| {
        Some(shoot.spec.kubernetes.kube_api_server?.structured_authentication?.config_map_name)
    };
    field.set("oidcConfig", issuer("one"));
    let one = name(field.settle("an issuer").await?);
    field.set("oidcConfig", issuer("two"));
    let two = name(field.settle("another issuer").await?);
    assert!(one.is_some() && two.is_some() && one != two, "{one:?} {two:?}");
    field.set("oidcConfig", json!(null));
    assert_eq!(name(field.settle("no issuer").await?), None);
    field.delete().await
}

pub(crate) async fn shoots_of_aws_are_accepted(landscape: Landscape) -> Outcome {
    is_accepted(&landscape, Provider::Aws, "eu-central-1", ["m6i.large", "m7g.large"]).await
}

pub(crate) async fn shoots_of_gcp_are_accepted(landscape: Landscape) -> Outcome {
    is_accepted(&landscape, Provider::Gcp, "europe-west3", ["n2-standard-4", "n2-standard-8"]).await
}

pub(crate) async fn shoots_of_azure_are_accepted(landscape: Landscape) -> Outcome {
    is_accepted(&landscape, Provider::Azure, "westeurope", ["Standard_D4s_v5", "Standard_D8s_v5"]).await
}

pub(crate) async fn shoots_of_openstack_are_accepted(landscape: Landscape) -> Outcome {
    is_accepted(&landscape, Provider::Openstack, "eu-de-1", ["g_c4_m16", "g_c8_m32"]).await
}

pub(crate) async fn shoots_of_alicloud_are_accepted(landscape: Landscape) -> Outcome {
    is_accepted(&landscape, Provider::Alicloud, "eu-central-1", ["ecs.g8i.large", "ecs.g8i.xlarge"]).await
}

/// A region of azure without zones.
pub(crate) async fn shoots_without_zones_are_accepted(landscape: Landscape) -> Outcome {
    let mut field = Field::new(&landscape, Provider::Azure, "northcentralus", "Standard_D4s_v5").await?;
    field.set("infrastructure.numberOfZones", json!(1));
    assert!(field.settle("no zones").await?.spec.provider.workers[0].zones.is_empty());
    Ok(())
}

/// Everything that can be asked for is accepted, and everything that can be taken back goes.
pub(crate) async fn whatever_can_be_asked_for_comes_and_goes(landscape: Landscape) -> Outcome {
    let mut field = Field::new(&landscape, Provider::Aws, "eu-central-1", "m6i.large").await?;
    field.settle("the least").await?;
    let least = field.cluster.clone();
    field.set("core.purpose", json!("DEVELOPMENT"));
    field.set("extensions", json!({
        "shootNetworkingFilterDisabled": false, "registryCache": true, "auditLog": false, "certService": true,
        "dnsService": true,
    }));
    field.set("maintenance", json!({
        "timeWindow": { "begin": "220000+0100", "end": "230000+0100" }, "autoUpdate": { "kubernetesVersion": false },
    }));
    field.set("infrastructure.labels", json!({ "team": "blue" }));
    field.set("infrastructure.volume", json!({ "type": "io1", "size": "100Gi" }));
    field.set("infrastructure.apiServerACL", json!({ "allowedCIDRs": ["192.0.2.0/24"] }));
    field.set("infrastructure.euAccess", json!(true));
    field.set("infrastructure.networking", json!({ "dualStack": true }));
    field.set(
        "shootTemplate",
        json!({ "spec": {
        "kubernetes": { "kubelet": { "maxPods": 200 } },
        "provider": { "workers": [{ "name": "cpu-worker-0", "priority": 10 }] },
        "extensions": [{ "type": "shoot-oidc-service" }],
    } }),
    );
    let shoot = field.settle("everything").await?;
    assert_eq!(shoot.spec.extensions.len(), 7, "{:?}", shoot.spec.extensions);
    assert_eq!(shoot.spec.access_restrictions.len(), 1);
    let window =
        shoot.spec.maintenance.and_then(|maintenance| maintenance.time_window).map(|window| window.begin);
    assert_eq!(window.as_deref(), Some("220000+0100"));

    field.cluster = least;
    let shoot = field.settle("the least again").await?;
    assert_eq!(shoot.spec.extensions, []);
    assert_eq!(shoot.spec.access_restrictions, []);
    assert_eq!(shoot.spec.purpose.as_deref(), Some("production"));
    let update = shoot.spec.maintenance.and_then(|maintenance| maintenance.auto_update);
    assert!(update.is_some_and(|update| update.kubernetes_version));
    assert!(shoot.spec.provider.workers[0].labels.is_empty());
    Ok(())
}

/// What others put into a list that we write stays, comes and goes as they like.
pub(crate) async fn what_others_add_to_lists_stays(landscape: Landscape) -> Outcome {
    let mut field = Field::new(&landscape, Provider::Gcp, "europe-west3", "n2-standard-4").await?;
    field.set("extensions", json!({ "shootNetworkingFilterDisabled": true }));
    field.settle("ours").await?;
    let types = |shoot: &Shoot| -> Vec<String> {
        shoot.spec.extensions.iter().map(|extension| extension.type_.clone()).collect()
    };
    let theirs =
        json!([{ "op": "add", "path": "/spec/extensions/-", "value": { "type": "shoot-oidc-service" } }]);
    let patch = Patch::Json::<()>(serde_json::from_value(theirs)?);
    field.plot.shoots().patch(NAME, &PatchParams::default(), &patch).await?;
    field.set("extensions", json!({ "certService": true }));
    assert_eq!(
        types(&field.settle("theirs and another of ours").await?),
        ["shoot-oidc-service", "shoot-cert-service"]
    );
    field.set("extensions", json!(null));
    assert_eq!(types(&field.settle("theirs only").await?), ["shoot-oidc-service"]);
    Ok(())
}

/// What Gardener brings up to date is left as it is.
pub(crate) async fn what_gardener_updates_is_not_taken_back(landscape: Landscape) -> Outcome {
    let mut field = Field::new(&landscape, Provider::Aws, "eu-central-1", "m6i.large").await?;
    field.set("core.kubernetesVersion", json!("1.35.1"));
    field.settle("an old version").await?;
    let update = json!({ "spec": { "kubernetes": { "version": "1.35.4" } } });
    field.plot.shoots().patch(NAME, &PatchParams::default(), &Patch::Merge(update)).await?;
    field.set("infrastructure.autoScalerMax", json!(30));
    assert_eq!(field.settle("more nodes").await?.spec.kubernetes.version.as_deref(), Some("1.35.4"));
    field.set("core.kubernetesVersion", json!("1.36"));
    assert_eq!(field.settle("the next one").await?.spec.kubernetes.version.as_deref(), Some("1.36.0"));
    field.set("core.kubernetesVersion", json!(null));
    assert_eq!(field.settle("none").await?.spec.kubernetes.version.as_deref(), Some("1.36.0"));
    Ok(())
}
