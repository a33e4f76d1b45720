//! A Shoot that exists becomes a Cluster's only by a ShootAdoption of the platform.

use super::{
    clusters::{Play, condition},
    stage::{Fault, until},
};
use allotment_api::{
    allotment::{ShootAdoption, ShootAdoptionPhase},
    gardener::Shoot,
    names::{annotation, label},
};
use allotment_core::cluster::adopt::reported;
use allotment_testing::{Landscape, Outcome};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

impl Play {
    pub fn adoptions(&self) -> Api<ShootAdoption> {
        let plot = &self.stage.plot;
        Api::namespaced(plot.landscape.control_plane.clone(), &plot.namespace)
    }

    /// The platform has a Cluster adopt a Shoot.
    pub async fn adopt(&self, name: &str, cluster: &str, shoot: &str, uid: &str) -> Result<(), Fault> {
        let adoption = json!({
            "apiVersion": "allotment.dev/v1alpha1",
            "kind": "ShootAdoption",
            "metadata": { "name": name },
            "spec": {
                "clusterNamespace": self.stage.plot.namespace, "clusterName": cluster,
                "shootName": shoot, "shootUID": uid,
            },
        });
        self.adoptions().create(&PostParams::default(), &serde_json::from_value(adoption)?).await?;
        Ok(())
    }

    /// Waits until an adoption is in this phase, and returns what it says.
    pub async fn adoption_is(&self, name: &str, phase: ShootAdoptionPhase) -> Result<String, Fault> {
        let api = self.adoptions();
        until(&format!("adoption {name} is {phase:?}"), async || {
            let adoption = api.get(name).await.map_err(|error| error.to_string())?;
            match reported(&adoption) {
                Some((found, message)) if found == phase => Ok(message),
                other => Err(format!("{other:?}")),
            }
        })
        .await
    }

    /// A Shoot of nobody in the tenant's account, and a Cluster of that name.
    pub async fn older(&self, cluster: &str) -> Result<Shoot, Fault> {
        self.stage.ask("first", "t-1").await?;
        let account = self.stage.bound("first").await?;
        let shoot = self.stage.shoot("older", &account, None).await?;
        self.create(cluster, for_older).await?;
        Ok(shoot)
    }
}

/// What fits the Shoot `older`.
pub fn for_older(cluster: &mut Value) {
    cluster["spec"]["core"]["shootName"] = json!("older");
    cluster["spec"]["infrastructure"]["numberOfZones"] = json!(3);
}

pub async fn the_annotation_alone_adopts_nothing(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    let shoot = play.older("one").await?;
    let (uid, before) = (shoot.uid().unwrap(), play.stage.plot.shoots().get("older").await?);
    let message = play.because("one", "ShootTaken").await?;
    assert!(!message.contains(&uid), "tenants are told no UID: {message}");
    play.annotate("one", annotation::ADOPT_SHOOT, &uid).await?;
    play.that("one", "says that the annotation does nothing", |cluster| {
        condition(cluster, "ShootAdopted").is_some_and(|it| it.1 == "AnnotationIgnored")
    })
    .await?;
    play.tells("one", "AnnotationIgnored").await?;
    play.idle().await?;
    let after = play.stage.plot.shoots().get("older").await?;
    assert_eq!(after.labels(), before.labels());
    play.delete("one").await?;
    play.gone("one").await?;
    assert!(play.stage.plot.shoots().get("older").await?.metadata.deletion_timestamp.is_none());
    Ok(())
}

pub async fn the_platform_has_a_shoot_adopted(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    let shoot = play.older("one").await?;
    let uid = shoot.uid().unwrap();
    play.because("one", "ShootTaken").await?;
    play.adopt("it", "one", "older", &uid).await?;
    play.adoption_is("it", ShootAdoptionPhase::Adopted).await?;
    let status = play.ready("one").await?;
    assert_eq!(status.shoot_uid, Some(uid));
    play.tells("one", "ShootAdopted").await?;
    let cluster = play.clusters().get("one").await?;
    let adopted = play.stage.plot.shoots().get("older").await?;
    assert_eq!(adopted.labels().get(label::CLUSTER_UID), cluster.uid().as_ref());
    play.resync_writes_nothing().await?;
    play.delete("one").await?;
    play.gone("one").await?;
    assert!(play.stage.plot.shoots().get_opt("older").await?.is_none(), "it goes with the Cluster");
    Ok(())
}

/// As from a backup: it has the labels of the Cluster's own, and is empty.
pub async fn a_copy_of_the_clusters_own_shoot_is_adopted_too(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", for_older).await?;
    play.ready("one").await?;
    let own = play.stage.plot.shoots().get("older").await?;
    play.stage.delete_shoot("older").await?;
    play.because("one", "ShootMissing").await?;
    play.stage.plot.wait_for_shoot("older", "is gone", |shoot| shoot.is_none()).await?;
    let account = own.spec.credentials_binding_name.clone().unwrap();
    let copy = play.stage.shoot("older", &account, None).await?;
    let cluster = own.annotations().get(annotation::CLUSTER);
    let marks = json!({ "labels": own.labels(), "annotations": { annotation::CLUSTER: cluster } });
    let patch = json!({ "metadata": marks });
    play.stage.plot.shoots().patch("older", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    play.that("one", "tells that it is another one", |cluster| {
        condition(cluster, "ShootHealthy").is_some_and(|it| it.1 == "ShootReplaced")
    })
    .await?;
    play.adopt("it", "one", "older", &copy.uid().unwrap()).await?;
    play.adoption_is("it", ShootAdoptionPhase::Adopted).await?;
    assert_eq!(play.ready("one").await?.shoot_uid, copy.uid());
    Ok(())
}

pub async fn what_stands_against_an_adoption_is_told_to_the_platform_only(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 3).await?;
    let older = play.older("one").await?;
    let uid = older.uid().unwrap();
    let refused = async |name: &str, cluster: &str, shoot: &str, uid: &str, why: &str| -> Outcome {
        play.adopt(name, cluster, shoot, uid).await?;
        let said = play.adoption_is(name, ShootAdoptionPhase::Refused).await?;
        assert!(said.contains(why), "{name}: {said}");
        play.adoptions().delete(name, &Default::default()).await?;
        Ok(())
    };
    refused("no-cluster", "nobody", "older", &uid, "there is no Cluster").await?;
    refused("no-shoot", "one", "nothing", &uid, "there is no Shoot nothing").await?;
    refused("other-uid", "one", "older", "of-another", "there is no Shoot older with the UID").await?;
    // A Shoot of a Cluster that is there, whoever asks.
    play.create("victim", |_| ()).await?;
    let status = play.ready("victim").await?;
    let (theirs, theirs_uid) = (status.shoot_name.unwrap(), status.shoot_uid.unwrap());
    play.create("thief", |cluster| cluster["spec"]["core"]["shootName"] = json!(theirs)).await?;
    refused("of-a-cluster", "thief", &theirs, &theirs_uid, "belongs to Cluster").await?;
    let message = play.because("thief", "ShootTaken").await?;
    assert!(!message.contains("victim") && !message.contains(&theirs_uid), "{message}");
    // Only the request's UID, as older versions wrote it.
    let shoots = play.stage.plot.shoots();
    let unlabel = json!({ "metadata": { "labels": { label::CLUSTER_UID: null } } });
    shoots.patch(&theirs, &PatchParams::default(), &Patch::Merge(&unlabel)).await?;
    refused("of-a-request", "thief", &theirs, &theirs_uid, "belongs to SubscriptionRequest").await?;
    play.ready("victim").await?;
    refused("other-name", "one", &theirs, &theirs_uid, "Shoot is called older").await?;
    // Another tenant's account, and one that waits to be cleaned.
    play.create("tenant", |cluster| {
        for_older(cluster);
        cluster["metadata"]["labels"]["globalaccountid"] = json!("t-2");
        cluster["spec"]["infrastructure"]["subscriptionSelector"] = json!("globalaccount:t-2");
    })
    .await?;
    refused("other-tenant", "tenant", "older", &uid, "is held by t-1").await?;
    play.create("leaving", for_older).await?;
    play.because("leaving", "ShootTaken").await?;
    play.annotate("leaving", annotation::PAUSE, "true").await?;
    play.delete("leaving").await?;
    refused("deleted", "leaving", "older", &uid, "the Cluster is being deleted").await?;
    play.stage.delete_shoot("older").await?;
    let said = match shoots.get_opt("older").await? {
        Some(_) => "the Shoot is being deleted",
        None => "there is no Shoot older",
    };
    play.adopt("deleted-shoot", "one", "older", &uid).await?;
    let found = play.adoption_is("deleted-shoot", ShootAdoptionPhase::Refused).await?;
    assert!(found.contains(said) || found.contains("there is no Shoot older"), "{found}");
    Ok(())
}
