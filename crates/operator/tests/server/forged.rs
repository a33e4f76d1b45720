//! Whose something is follows from UIDs in the garden, and from nothing that a tenant can write.

use super::{
    clusters::{Play, provisioned},
    desk::{Desk, reads_config_maps},
    stage::{Fault, until},
};
use allotment_api::{
    condition::ConditionStatus,
    gardener::names::CONFIRM_DELETION,
    kyma::{Cluster, ClusterPhase, KubeconfigPhase},
    names::{annotation, finalizer, label},
};
use allotment_operator::survey::{Sources, Survey};
use allotment_testing::{Landscape, Outcome};
use k8s_openapi::api::{
    core::v1::{ConfigMap, ServiceAccount},
    events::v1::Event,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// So fast a Cluster says that its Shoot is gone, or somebody else's.
const NOTICED: Duration = Duration::from_secs(15);

impl Play {
    pub async fn write_status(&self, name: &str, status: Value) -> Result<(), Fault> {
        let patch = json!({ "status": status });
        self.clusters().patch_status(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    }

    async fn label_shoot(&self, name: &str, labels: Value) -> Result<(), Fault> {
        let patch = json!({ "metadata": { "labels": labels } });
        self.stage.plot.shoots().patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    }

    fn config_maps(&self) -> Api<ConfigMap> {
        let plot = &self.stage.plot;
        Api::namespaced(plot.landscape.garden.clone(), &plot.garden_namespace)
    }

    /// The names of the ConfigMaps with issuers.
    async fn issuers(&self) -> Result<Vec<String>, Fault> {
        let ours = ListParams::default().labels(label::CLUSTER_UID);
        Ok(self.config_maps().list(&ours).await?.iter().map(ResourceExt::name_any).collect())
    }

    /// Waits until a Cluster is not provisioned for this reason, and fails if that takes too long.
    async fn notices(&self, name: &str, reason: &str) -> Result<(), Fault> {
        let started = Instant::now();
        let message = self.because(name, reason).await?;
        let cluster = self.clusters().get(name).await?;
        assert_eq!(provisioned(&cluster).map(|it| it.0), Some(ConditionStatus::False), "{message}");
        assert_ne!(cluster.status.and_then(|status| status.phase), Some(ClusterPhase::Ready));
        assert!(started.elapsed() < NOTICED, "it took {:?}", started.elapsed());
        self.tells(name, reason).await
    }

    /// Waits for an Event about a Cluster.
    pub async fn tells(&self, name: &str, reason: &str) -> Result<(), Fault> {
        let plot = &self.stage.plot;
        let events: Api<Event> = Api::namespaced(plot.landscape.control_plane.clone(), &plot.namespace);
        until(&format!("an Event {reason} about {name}"), async || {
            let all = events.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
            let is_it = |event: &&Event| {
                event.reason.as_deref() == Some(reason)
                    && event.regarding.as_ref().is_some_and(|it| it.name.as_deref() == Some(name))
            };
            all.iter().find(is_it).map(drop).ok_or_else(|| format!("{} Events", all.items.len()))
        })
        .await
    }
}

fn issuer() -> Value {
    json!({ "clientID": "c", "issuerURL": "https://issuer.example.com", "usernameClaim": "sub" })
}

pub async fn a_forged_status_takes_no_shoot(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 2).await?;
    play.create("victim", |_| ()).await?;
    let status = play.ready("victim").await?;
    let (name, uid) = (status.shoot_name.unwrap(), status.shoot_uid.unwrap());
    let before = play.stage.plot.shoots().get(&name).await?;
    play.create("other", |cluster| cluster["metadata"]["annotations"] = json!({ annotation::PAUSE: "true" }))
        .await?;
    play.write_status("other", json!({ "phase": "Ready", "shootName": name, "shootUID": uid })).await?;
    let marks =
        json!({ annotation::PAUSE: null, annotation::RECREATE_SHOOT: "true", annotation::RECONCILE: "true" });
    play.patch("other", json!({ "metadata": { "annotations": marks } })).await?;
    let message = play.because("other", "ShootMissing").await?;
    assert!(!message.contains(&uid), "{message}");
    play.delete("other").await?;
    play.gone("other").await?;
    let after = play.stage.plot.shoots().get(&name).await?;
    assert_eq!(after.labels(), before.labels());
    assert!(after.metadata.deletion_timestamp.is_none());
    assert!(!after.annotations().contains_key(CONFIRM_DELETION));
    play.operator.resync();
    play.idle().await?;
    assert_eq!(play.ready("victim").await?.shoot_uid, Some(uid));
    Ok(())
}

pub async fn a_forged_shoot_name_makes_no_second_shoot_and_keeps_none(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", |_| ()).await?;
    let name = play.ready("one").await?.shoot_name.unwrap();
    play.write_status("one", json!({ "shootName": "another", "shootUID": null })).await?;
    play.that("one", "knows its Shoot again", |cluster| {
        cluster.status.as_ref().is_some_and(|status| status.shoot_name.as_ref() == Some(&name))
    })
    .await?;
    assert_eq!(play.stage.plot.shoots().list(&ListParams::default()).await?.items.len(), 1);
    play.annotate("one", annotation::PAUSE, "true").await?;
    play.idle().await?;
    play.write_status("one", json!({ "shootName": "another", "shootUID": "of-another" })).await?;
    play.delete("one").await?;
    play.annotate("one", annotation::PAUSE, "false").await?;
    play.gone("one").await?;
    assert!(play.stage.plot.shoots().get_opt(&name).await?.is_none(), "the Shoot goes first");
    Ok(())
}

pub async fn a_forged_owner_and_finalizer_delete_nothing(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    let victim = play.create("victim", |cluster| cluster["spec"]["oidcConfig"] = issuer()).await?;
    play.ready("victim").await?;
    let maps = play.issuers().await?;
    assert_eq!(maps.len(), 1);
    for (name, owner) in [("forged-one", "victim"), ("forged-two", "nobody")] {
        let forged = json!({
            "apiVersion": "control-plane.kyma-project.io/v1alpha1",
            "kind": "SubscriptionRequest",
            "metadata": { "name": name, "finalizers": [finalizer::CLUSTER], "ownerReferences": [{
                "apiVersion": "operator.kyma-project.io/v1alpha1", "kind": "Cluster", "name": owner,
                "uid": victim.uid(),
            }]},
            "spec": { "provider": "aws", "subscriptionSelector": "t-1" },
        });
        let requests = play.stage.requests();
        requests.create(&PostParams::default(), &serde_json::from_value(forged)?).await?;
        play.idle().await?;
        let left = requests.get_opt(name).await?;
        let is_deleted_by_us = left.is_none_or(|left| left.metadata.deletion_timestamp.is_some());
        assert!(
            owner == "nobody" || !is_deleted_by_us,
            "nothing is deleted for a finalizer of somebody else"
        );
        let _ = requests.delete(name, &DeleteParams::default()).await;
        play.stage.gone(name).await?;
    }
    play.idle().await?;
    assert_eq!(play.issuers().await?, maps);
    Ok(())
}

pub async fn a_config_map_that_somebody_deleted_is_put_back(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", |cluster| cluster["spec"]["oidcConfig"] = issuer()).await?;
    play.ready("one").await?;
    let maps = play.issuers().await?;
    play.config_maps().delete(&maps[0], &DeleteParams::default()).await?;
    play.annotate("one", annotation::RECONCILE, "true").await?;
    until("the ConfigMap is put back", async || {
        let now = play.issuers().await.map_err(|error| error.to_string())?;
        if now == maps { Ok(()) } else { Err(format!("{now:?}")) }
    })
    .await?;
    play.resync_writes_nothing().await?;
    Ok(())
}

pub async fn a_cluster_whose_shoot_changed_hands_or_is_gone_is_not_ready(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", |_| ()).await?;
    let name = play.ready("one").await?.shoot_name.unwrap();
    let shoot = play.stage.plot.shoots().get(&name).await?;
    let own = json!(shoot.labels());
    let is_ready = |cluster: &Cluster| {
        cluster.status.as_ref().and_then(|status| status.phase) == Some(ClusterPhase::Ready)
    };
    // Somebody else's, also where the annotation says so.
    let others = json!({ label::CLUSTER_UID: "of-another", label::SUBSCRIPTION_REQUEST: "of-another" });
    let patch =
        json!({ "metadata": { "labels": others, "annotations": { annotation::CLUSTER: "else/where" } } });
    play.stage.plot.shoots().patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    play.notices("one", "ShootMissing").await?;
    let patch = json!({ "metadata": { "labels": own, "annotations": shoot.annotations() } });
    play.stage.plot.shoots().patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    play.that("one", "is ready again", is_ready).await?;
    // Nobody's: it leaves what is watched.
    play.label_shoot(&name, json!({ label::CLUSTER_UID: null, label::SUBSCRIPTION_REQUEST: null })).await?;
    play.notices("one", "ShootMissing").await?;
    play.label_shoot(&name, own).await?;
    play.that("one", "is ready again", is_ready).await?;
    play.stage.delete_shoot(&name).await?;
    play.stage.plot.wait_for_shoot(&name, "is gone", |shoot| shoot.is_none()).await?;
    play.notices("one", "ShootMissing").await?;
    Ok(())
}

pub async fn a_forged_status_opens_no_shoot(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let status = desk.play.ready("home").await?;
    // Nobody puts the forged status right.
    desk.play.stop();
    desk.play.create("other", |_| ()).await?;
    let forged = json!({
        "phase": "Ready", "shootName": status.shoot_name, "shootUID": status.shoot_uid, "apiServer": status.api_server,
    });
    desk.play.write_status("other", forged).await?;
    let mut spec = reads_config_maps();
    spec["cluster"] = json!("other");
    desk.ask("sly", spec).await?;
    let requests = desk.requests();
    until("it is told that the Cluster has no such Shoot", async || {
        let request = requests.get("sly").await.map_err(|error| error.to_string())?;
        let status = request.status.unwrap_or_default();
        assert_ne!(status.phase, Some(KubeconfigPhase::Issued));
        let is_told = status.conditions.iter().any(|condition| condition.reason == "ClusterGone");
        if is_told { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await?;
    let inside = desk.play.inside(&desk.shoot).await?;
    let accounts: Api<ServiceAccount> = Api::all(inside);
    let uid = requests.get("sly").await?.uid().unwrap();
    let own = ListParams::default().labels(&format!("{}={uid}", label::KUBECONFIG_REQUEST));
    assert!(accounts.list(&own).await?.items.is_empty());
    Ok(())
}

pub async fn a_cluster_that_only_says_that_it_is_ready_is_found(landscape: Landscape) -> Outcome {
    let play = Play::new(&landscape, 1).await?;
    play.create("one", |_| ()).await?;
    let name = play.ready("one").await?.shoot_name.unwrap();
    // Nobody puts its status right.
    play.stop();
    let plot = &play.stage.plot;
    let cluster = format!("{}/one", plot.namespace);
    let found = async || -> Result<Option<bool>, Fault> {
        let sources = Sources {
            garden: plot.landscape.garden.clone(),
            control_plane: Some(plot.landscape.control_plane.clone()),
            ledger: Some(&play.stage.ledger),
            settings: &play.stage.settings("verify"),
        };
        let sides = Survey::read(&sources, |_| ()).await?.sides();
        Ok(sides.not_ready.iter().find(|found| found.cluster == cluster).map(|found| found.is_there))
    };
    assert_eq!(found().await?, None);
    let others = json!({ label::CLUSTER_UID: "of-another", label::SUBSCRIPTION_REQUEST: "of-another" });
    play.label_shoot(&name, others).await?;
    assert_eq!(found().await?, Some(true), "it is not its own");
    play.stage.delete_shoot(&name).await?;
    plot.wait_for_shoot(&name, "is gone", |shoot| shoot.is_none()).await?;
    assert_eq!(found().await?, Some(false), "it is not there");
    Ok(())
}
