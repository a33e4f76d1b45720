//! Deletion protection: a Cluster that is deleted by accident keeps its Shoot and its account, and says how to go on.

use super::{
    adoptions::for_older,
    clusters::{CONFIGURATION, Play, policy},
    stage::{Fault, until},
};
use allotment_api::{
    allotment::ShootAdoptionPhase,
    crds,
    gardener::{Shoot, names::CONFIRM_DELETION},
    kyma::{Cluster, ClusterStatus},
    names::{annotation, finalizer, label},
};
use allotment_core::pool::AccountName;
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Namespace},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, CustomResourceExt, ResourceExt,
    api::{DeleteParams, ListParams},
};
use serde_json::{Value, json};

fn protected(cluster: &mut Value) {
    cluster["spec"]["deletionProtection"] = json!(true);
    cluster["spec"]["oidcConfig"] =
        json!({ "clientID": "c", "issuerURL": "https://issuer.example.com", "usernameClaim": "sub" });
}

impl Play {
    /// Waits until a Cluster says that it is protected, and looks whether everything is there. Returns its UID, and its Shoot.
    async fn is_kept(&self, name: &str, status: &ClusterStatus) -> Result<(String, Shoot), Fault> {
        self.is_kept_among(name, status, 1).await
    }

    /// The same, in an account with this many Clusters.
    async fn is_kept_among(
        &self,
        name: &str,
        status: &ClusterStatus,
        clusters: usize,
    ) -> Result<(String, Shoot), Fault> {
        let message = self.because(name, "DeletionProtected").await?;
        self.idle().await?;
        let cluster = self.clusters().get(name).await?;
        assert!(cluster.finalizers().iter().any(|name| name == finalizer::CLUSTER));
        let shoot = self.stage.plot.shoots().get(status.shoot_name.as_deref().unwrap()).await?;
        assert!(shoot.metadata.deletion_timestamp.is_none());
        assert!(!shoot.annotations().contains_key(CONFIRM_DELETION));
        let (uid, shoot_uid) = (cluster.uid().unwrap(), shoot.uid().unwrap());
        let ways = [(annotation::CONFIRM_DELETION, &uid), (annotation::RELEASE_SHOOT, &shoot_uid)];
        for (key, value) in ways {
            assert!(message.contains(&format!("{key}={value}")), "{message}");
        }
        assert_eq!(self.assigned("a").await?, clusters);
        Ok((uid, shoot))
    }
}

pub async fn a_protected_cluster_that_is_deleted_keeps_everything_until_it_is_confirmed(
    landscape: Landscape,
) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", protected).await?;
    let status = play.ready("one").await?;
    play.delete("one").await?;
    let (uid, shoot) = play.is_kept("one", &status).await?;
    play.tells("one", "DeletionProtected").await?;
    // Nothing is confirmed by a word, or by the UID of something else.
    for value in ["true", shoot.uid().unwrap().as_str()] {
        play.annotate("one", annotation::CONFIRM_DELETION, value).await?;
    }
    play.is_kept("one", &status).await?;
    play.resync_writes_nothing().await?;
    play.annotate("one", annotation::CONFIRM_DELETION, &uid).await?;
    play.gone("one").await?;
    assert!(play.stage.plot.shoots().get_opt(&shoot.name_any()).await?.is_none());
    assert_eq!(play.assigned("a").await?, 0);
    Ok(())
}

pub async fn whoever_may_edit_a_cluster_lifts_its_protection(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    let text = CONFIGURATION.replace("rollout:", "defaults: {deletionProtection: true}\nrollout:");
    play.operator.set_policy(policy(&play.stage, &text)?);
    play.create("one", |_| ()).await?;
    let status = play.ready("one").await?;
    play.delete("one").await?;
    play.is_kept("one", &status).await?;
    play.patch("one", json!({ "spec": { "deletionProtection": false } })).await?;
    play.gone("one").await?;
    assert_eq!(play.assigned("a").await?, 0);
    Ok(())
}

pub async fn a_released_shoot_keeps_its_account_and_is_adopted(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 2).await?;
    play.create("one", |cluster| {
        protected(cluster);
        for_older(cluster);
    })
    .await?;
    let status = play.ready("one").await?;
    let account = status.subscription.clone().unwrap().binding_name.unwrap();
    play.delete("one").await?;
    let (_, shoot) = play.is_kept("one", &status).await?;
    play.annotate("one", annotation::RELEASE_SHOOT, &shoot.uid().unwrap()).await?;
    play.gone("one").await?;
    play.stage.gone(&status.subscription.unwrap().name).await?;
    let released = play.stage.plot.shoots().get("older").await?;
    assert!(released.metadata.deletion_timestamp.is_none());
    assert!(!released.labels().contains_key(label::CLUSTER_UID));
    assert!(!released.labels().contains_key(label::SUBSCRIPTION_REQUEST));
    let maps: Api<ConfigMap> =
        Api::namespaced(play.stage.plot.landscape.garden.clone(), &play.stage.plot.garden_namespace);
    let issuers = ListParams::default().labels(label::CLUSTER_UID);
    assert_eq!(maps.list(&issuers).await?.items.len(), 1, "the Shoot refers to it");
    // The tenant holds the account: nobody else gets it, and it is not dirty.
    play.stage.labelled(&account, "tenantName", Some("t-1")).await?;
    play.stage.labelled(&account, "dirty", None).await?;
    let row = play.stage.ledger.account(&AccountName::new(&account)).await?.unwrap();
    assert!(row.leaving && row.assignments.is_empty(), "{row:?}");
    // Also a Cluster of the same name gets it only by the platform.
    play.create("two", for_older).await?;
    play.because("two", "ShootTaken").await?;
    play.adopt("it", "two", "older", &shoot.uid().unwrap()).await?;
    play.adoption_is("it", ShootAdoptionPhase::Adopted).await?;
    let adopted = play.ready("two").await?;
    assert_eq!(adopted.shoot_uid, shoot.uid());
    assert_eq!(adopted.subscription.unwrap().binding_name, Some(account));
    play.delete("two").await?;
    play.gone("two").await?;
    assert!(play.stage.plot.shoots().get_opt("older").await?.is_none());
    Ok(())
}

pub async fn a_deleted_namespace_takes_no_protected_shoot(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    let mut kept = Vec::new();
    for name in ["confirmed", "released"] {
        play.create(name, protected).await?;
        kept.push(play.ready(name).await?);
    }
    let plot = &play.stage.plot;
    let namespaces: Api<Namespace> = Api::all(plot.landscape.control_plane.clone());
    namespaces.delete(&plot.namespace, &DeleteParams::default()).await?;
    for (name, status) in ["confirmed", "released"].into_iter().zip(&kept) {
        play.is_kept_among(name, status, 2).await?;
    }
    let uid = play.clusters().get("confirmed").await?.uid().unwrap();
    play.annotate("confirmed", annotation::CONFIRM_DELETION, &uid).await?;
    play.gone("confirmed").await?;
    assert!(plot.shoots().get_opt(kept[0].shoot_name.as_deref().unwrap()).await?.is_none());
    let (_, shoot) = play.is_kept_among("released", &kept[1], 1).await?;
    play.annotate("released", annotation::RELEASE_SHOOT, &shoot.uid().unwrap()).await?;
    until("the namespace is gone", async || match namespaces.get_opt(&plot.namespace).await {
        Ok(None) => Ok(()),
        other => Err(format!("{:?}", other.map(|it| it.and_then(|it| it.status)))),
    })
    .await?;
    let left = plot.shoots().get(&shoot.name_any()).await?;
    assert!(left.metadata.deletion_timestamp.is_none() && left.uid() == shoot.uid());
    play.stage.labelled("a", "tenantName", Some("t-1")).await?;
    Ok(())
}

/// The control plane is the API server of a Shoot, since the definition of Clusters is everybody's.
pub async fn a_deleted_definition_takes_no_protected_shoot(landscape: Landscape) -> Outcome {
    let host = Play::new(&landscape, 1).await?;
    host.create("host", |_| ()).await?;
    let name = host.ready("host").await?.shoot_name.unwrap();
    let control_plane = host.inside(&name).await?;
    let play = Play::new(&Landscape { control_plane: control_plane.clone(), ..landscape }, 1).await?;
    let mut kept = Vec::new();
    for name in ["confirmed", "released"] {
        play.create(name, protected).await?;
        kept.push(play.ready(name).await?);
    }
    let definitions: Api<CustomResourceDefinition> = Api::all(control_plane);
    definitions.delete(&Cluster::crd().name_any(), &DeleteParams::default()).await?;
    for name in ["confirmed", "released"] {
        play.because(name, "DeletionProtected").await?;
    }
    let uid = play.clusters().get("confirmed").await?.uid().unwrap();
    play.annotate("confirmed", annotation::CONFIRM_DELETION, &uid).await?;
    let released = kept[1].shoot_uid.clone().unwrap();
    play.annotate("released", annotation::RELEASE_SHOOT, &released).await?;
    until("the definition is gone", async || match definitions.get_opt(&Cluster::crd().name_any()).await {
        Ok(None) => Ok(()),
        other => Err(format!("{:?}", other.map(|it| it.and_then(|it| it.status)))),
    })
    .await?;
    let shoots = play.stage.plot.shoots();
    assert!(shoots.get_opt(kept[0].shoot_name.as_deref().unwrap()).await?.is_none());
    let left = shoots.get(kept[1].shoot_name.as_deref().unwrap()).await?;
    assert_eq!(left.uid(), Some(released));
    assert!(left.metadata.deletion_timestamp.is_none());
    // For whoever comes to this API server next.
    assert!(crds::all().iter().any(|crd| crd.name_any() == Cluster::crd().name_any()));
    play.stage.plot.landscape.install_crds().await?;
    Ok(())
}
