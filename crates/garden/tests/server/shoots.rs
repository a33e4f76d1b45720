//! The life of a Shoot on a garden: accepted, driven to Succeeded, reachable, and gone when that is confirmed.

use allotment_api::{
    gardener::{InternalSecret, KubeconfigAccess, OperationState, Shoot, names},
    kyma::Provider,
};
use allotment_garden::{
    gardenlet::{Failure, Script, ShootKey},
    landscape::client,
};
use allotment_testing::{Kubectl, Landscape, Outcome, Plot};
use k8s_openapi::api::{
    authentication::v1::SelfSubjectReview,
    authorization::v1::SelfSubjectAccessReview,
    core::v1::{ConfigMap, Namespace},
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams, ValidationDirective},
    config::Kubeconfig,
};
use serde_json::{Value, json};

const NAME: &str = "life";

type Error = Box<dyn std::error::Error + Send + Sync>;

fn manifest(provider: Provider) -> &'static str {
    match provider {
        Provider::Aws => include_str!("../../../../landscape/manifests/shoots/aws.yaml"),
        Provider::Gcp => include_str!("../../../../landscape/manifests/shoots/gcp.yaml"),
        Provider::Azure => include_str!("../../../../landscape/manifests/shoots/az.yaml"),
        Provider::Openstack => include_str!("../../../../landscape/manifests/shoots/openstack.yaml"),
        Provider::Alicloud => include_str!("../../../../landscape/manifests/shoots/alicloud.yaml"),
    }
}

/// Puts an account into the plot and creates the provider's Shoot on it, strictly.
async fn create(plot: &Plot, provider: Provider) -> Result<Shoot, Error> {
    plot.add_account("account", provider, json!({ "hyperscalerType": provider.as_str() })).await?;
    let mut shoot: Value = serde_saphyr::from_str(manifest(provider))?;
    shoot["metadata"]["name"] = json!(NAME);
    shoot["metadata"]["namespace"] = json!(plot.garden_namespace);
    shoot["spec"]["credentialsBindingName"] = json!("account");
    let parameters = PatchParams {
        field_manager: Some("test".to_owned()),
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::default()
    };
    Ok(plot.shoots().patch(NAME, &parameters, &Patch::Apply(shoot)).await?)
}

fn state(shoot: Option<&Shoot>) -> Option<OperationState> {
    Some(shoot?.status.as_ref()?.last_operation.as_ref()?.state)
}

async fn ready(plot: &Plot) -> Result<Shoot, Error> {
    let healthy = |shoot: Option<&Shoot>| {
        state(shoot) == Some(OperationState::Succeeded)
            && shoot.and_then(|shoot| shoot.status.as_ref()).is_some_and(|status| {
                !status.conditions.is_empty()
                    && status.conditions.iter().all(|condition| condition.status == "True")
            })
    };
    Ok(plot.wait_for_shoot(NAME, "healthy", healthy).await?.ok_or("it is not there")?)
}

async fn delete(plot: &Plot) -> Outcome {
    let confirm = json!({ "metadata": { "annotations": { (names::CONFIRM_DELETION): "true" } } });
    plot.shoots().patch(NAME, &PatchParams::default(), &Patch::Merge(confirm)).await?;
    plot.shoots().delete(NAME, &DeleteParams::default()).await?;
    plot.wait_for_shoot(NAME, "gone", |shoot| shoot.is_none()).await?;
    Ok(())
}

async fn lives_and_dies(landscape: Landscape, provider: Provider) -> Outcome {
    let plot = landscape.plot().await?;
    let created = create(&plot, provider).await?;
    assert_eq!(created.spec.provider.type_, provider.as_str());
    let shoot = ready(&plot).await?;
    let status = shoot.status.ok_or("no status")?;
    assert_eq!(status.observed_generation, shoot.metadata.generation);
    assert_eq!(status.technical_id, Some(format!("shoot--{}--{NAME}", plot.project)));
    assert_eq!(status.uid, shoot.metadata.uid);
    assert_eq!(status.advertised_addresses.len(), 1);

    works_with_kubectl(&plot, &status.advertised_addresses[0].url).await?;
    delete(&plot).await?;
    // What belonged to it goes with it.
    let secrets = Api::<InternalSecret>::namespaced(landscape.garden.clone(), &plot.garden_namespace);
    let bundles = Api::<ConfigMap>::namespaced(landscape.garden.clone(), &plot.garden_namespace);
    for _ in 0..100 {
        if secrets.get_opt(&names::client_ca(NAME)).await?.is_none()
            && bundles.get_opt(&names::cluster_ca(NAME)).await?.is_none()
        {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    Err("the CAs of the Shoot are still there".into())
}

/// The kubeconfig that the garden issues leads to the Shoot's own API server, as its admin.
async fn works_with_kubectl(plot: &Plot, url: &str) -> Outcome {
    let kubeconfig = plot.kubeconfig(NAME, KubeconfigAccess::Admin).await?;
    let server =
        |kubeconfig: &Kubeconfig| kubeconfig.clusters[0].cluster.as_ref().and_then(|c| c.server.clone());
    assert_eq!(server(&kubeconfig).as_deref(), Some(url));
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), serde_saphyr::to_string(&kubeconfig)?)?;
    let kubectl = Kubectl::new(&plot.landscape.kubectl, file.path());
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": plot.project } });
    kubectl.run(&["create", "-f", "-"], &namespace.to_string())?.expect_ok()?;
    let said = kubectl.run(&["get", "namespace", &plot.project, "-o", "name"], "")?;
    assert_eq!(said.out.trim(), format!("namespace/{}", plot.project), "{}", said.err);
    let admin = client(kubeconfig).await?;
    let review: SelfSubjectReview = serde_json::from_value(
        json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" }),
    )?;
    let review = Api::<SelfSubjectReview>::all(admin).create(&PostParams::default(), &review).await?;
    let groups = review.status.and_then(|status| status.user_info?.groups).unwrap_or_default();
    assert!(groups.contains(&"gardener.cloud:system:admins".to_owned()), "{groups:?}");
    // The server that answered is not the garden.
    let garden = Api::<Namespace>::all(plot.landscape.garden.clone());
    assert!(garden.get_opt(&plot.project).await?.is_none());
    kubectl.run(&["delete", "namespace", &plot.project], "")?.expect_ok()
}

pub(crate) async fn of_aws_live_and_die(landscape: Landscape) -> Outcome {
    lives_and_dies(landscape, Provider::Aws).await
}

pub(crate) async fn of_gcp_live_and_die(landscape: Landscape) -> Outcome {
    lives_and_dies(landscape, Provider::Gcp).await
}

pub(crate) async fn of_azure_live_and_die(landscape: Landscape) -> Outcome {
    lives_and_dies(landscape, Provider::Azure).await
}

pub(crate) async fn of_openstack_live_and_die(landscape: Landscape) -> Outcome {
    lives_and_dies(landscape, Provider::Openstack).await
}

pub(crate) async fn of_alicloud_live_and_die(landscape: Landscape) -> Outcome {
    lives_and_dies(landscape, Provider::Alicloud).await
}

pub(crate) async fn can_be_told_to_fail_and_be_retried(landscape: Landscape) -> Outcome {
    let plot = landscape.plot().await?;
    let key = ShootKey { namespace: plot.garden_namespace.clone(), name: NAME.to_owned() };
    let failing = Script { fail: Some(Failure::with_code("ERR_INFRA_QUOTA_EXCEEDED")), ..Script::default() };
    plot.scripts.set(key.clone(), failing);
    create(&plot, Provider::Aws).await?;
    let failed = |shoot: Option<&Shoot>| state(shoot) == Some(OperationState::Failed);
    let shoot = plot.wait_for_shoot(NAME, "failed", failed).await?.ok_or("it is not there")?;
    assert_eq!(shoot.status.ok_or("no status")?.last_errors[0].codes, ["ERR_INFRA_QUOTA_EXCEEDED"]);
    plot.scripts.clear(&key);
    let retry = json!({ "metadata": { "annotations": { (names::OPERATION): "retry" } } });
    plot.shoots().patch(NAME, &PatchParams::default(), &Patch::Merge(retry)).await?;
    let shoot = ready(&plot).await?;
    assert!(shoot.status.ok_or("no status")?.last_errors.is_empty());
    assert!(!shoot.metadata.annotations.unwrap_or_default().contains_key(names::OPERATION));
    delete(&plot).await
}

pub(crate) async fn are_not_deleted_without_confirmation(landscape: Landscape) -> Outcome {
    let plot = landscape.plot().await?;
    create(&plot, Provider::Gcp).await?;
    ready(&plot).await?;
    match plot.shoots().delete(NAME, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 403, "{}", status.message),
        answer => return Err(format!("not refused: {answer:?}").into()),
    }
    delete(&plot).await
}

pub(crate) async fn give_viewers_less(landscape: Landscape) -> Outcome {
    let plot = landscape.plot().await?;
    create(&plot, Provider::Aws).await?;
    ready(&plot).await?;
    let viewer = client(plot.kubeconfig(NAME, KubeconfigAccess::Viewer).await?).await?;
    for (verb, resource, allowed) in
        [("list", "pods", true), ("delete", "pods", false), ("get", "secrets", false)]
    {
        let review: SelfSubjectAccessReview = serde_json::from_value(json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": { "verb": verb, "resource": resource, "namespace": "default" } }
        }))?;
        let review = Api::<SelfSubjectAccessReview>::all(viewer.clone())
            .create(&PostParams::default(), &review)
            .await?;
        assert_eq!(review.status.map(|status| status.allowed), Some(allowed), "{verb} {resource}");
    }
    delete(&plot).await
}
