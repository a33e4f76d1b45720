//! AccessRequests that come to an end, in every order.

use super::{
    access::rules,
    desk::{Desk, code},
    platform::{Fault, delete, gone, patch, that, until},
};
use allotment_api::allotment::AccessLock;
use allotment_testing::{Landscape, Outcome, Search, every_object, in_objects};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Namespace, ServiceAccount},
    rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PostParams},
};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

fn token(desk: &Desk) -> Value {
    let namespace = format!("y-{}", desk.platform.plot.namespace);
    json!({ "token": {
        "permissions": [
            { "rules": rules("namespaces", &["list"]) }, { "namespace": namespace, "rules": rules("configmaps", &["get"]) },
        ],
        "roleRefs": [{ "kind": "ClusterRole", "name": "view" }],
    } })
}

/// How many objects a request has in the Shoot.
async fn left(desk: &Desk, admin: &Client, name: &str) -> Result<usize, Fault> {
    let labelled = ListParams::default().labels(&desk.labels(name));
    Ok(Api::<ServiceAccount>::all(admin.clone()).list(&labelled).await?.items.len()
        + Api::<ClusterRole>::all(admin.clone()).list(&labelled).await?.items.len()
        + Api::<ClusterRoleBinding>::all(admin.clone()).list(&labelled).await?.items.len()
        + Api::<Role>::all(admin.clone()).list(&labelled).await?.items.len()
        + Api::<RoleBinding>::all(admin.clone()).list(&labelled).await?.items.len())
}

pub async fn a_deleted_request_leaves_nothing_behind(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", token(&desk)).await?;
    desk.granted("a").await?;
    let (holder, admin) = (desk.holder("a").await?, desk.admin().await?);
    assert_eq!(left(&desk, &admin, "a").await?, 6);
    // The generic controller may be away, and somebody may have changed its labels.
    let labels = json!({ "metadata": { "labels": { "clusters.openmcp.cloud/provider": null } } });
    delete(&desk.platform.access_requests(), "a").await?;
    patch(&desk.platform.access_requests(), "a", labels).await.ok();
    gone(&desk.platform.access_requests(), "a").await?;
    assert_eq!(left(&desk, &admin, "a").await?, 0);
    gone(&desk.secrets(), "a.kubeconfig").await?;
    until("the token is refused", async || {
        match code(Api::<Namespace>::all(holder.clone()).list(&ListParams::default()).await) {
            401 | 403 => Ok(()),
            code => Err(code.to_string()),
        }
    })
    .await
}

pub async fn a_request_inherits_nothing_from_one_that_was_torn_away(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", token(&desk)).await?;
    desk.granted("a").await?;
    let (old, admin) = (desk.holder("a").await?, desk.admin().await?);
    // It is left alone, so that nothing is taken out of the Shoot.
    desk.change("a", json!({ "metadata": { "annotations": { "openmcp.cloud/operation": "ignore" } } }))
        .await?;
    delete(&desk.platform.access_requests(), "a").await?;
    desk.change("a", json!({ "metadata": { "finalizers": null } })).await?;
    gone(&desk.platform.access_requests(), "a").await?;
    delete(&desk.secrets(), "a.kubeconfig").await.ok();
    gone(&desk.secrets(), "a.kubeconfig").await?;
    desk.ask("a", json!({ "token": { "permissions": [{ "rules": rules("configmaps", &["list"]) }] } }))
        .await?;
    desk.granted("a").await?;
    assert_eq!(left(&desk, &admin, "a").await?, 3, "an account, a role and its binding");
    let new = desk.holder("a").await?;
    let (maps, spaces) = (Api::<ConfigMap>::all(new.clone()), Api::<Namespace>::all(new));
    assert!(maps.list(&ListParams::default()).await.is_ok());
    assert_eq!(code(spaces.list(&ListParams::default()).await), 403);
    until("the token of the other one is refused", async || {
        match code(Api::<Namespace>::all(old.clone()).list(&ListParams::default()).await) {
            401 => Ok(()),
            code => Err(code.to_string()),
        }
    })
    .await
}

pub async fn g4_a_request_ends_when_its_cluster_is_gone(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", token(&desk)).await?;
    desk.ask("b", token(&desk)).await?;
    desk.granted("a").await?;
    desk.granted("b").await?;
    // Deleted while nobody can get in: it waits.
    desk.platform.is_cut.store(true, Ordering::Relaxed);
    desk.platform.ahead.store(3600, Ordering::Relaxed);
    delete(&desk.platform.access_requests(), "a").await?;
    desk.because("a", "Granted", "Cleanup", "ShootClusterInteractionProblem").await?;
    delete(&desk.platform.clusters(), &desk.cluster).await?;
    gone(&desk.platform.access_requests(), "a").await?;
    // Deleted after its Cluster.
    desk.because("b", "Pending", "FoundClusterAndProfile", "InvalidReference").await?;
    delete(&desk.platform.access_requests(), "b").await?;
    gone(&desk.platform.access_requests(), "b").await
}

pub async fn g4_a_request_ends_though_its_cluster_is_anothers_now(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", token(&desk)).await?;
    desk.granted("a").await?;
    delete(&desk.platform.clusters(), &desk.cluster).await?;
    gone(&desk.platform.clusters(), &desk.cluster).await?;
    desk.because("a", "Pending", "FoundClusterAndProfile", "InvalidReference").await?;
    // Nobody is there who looks after this one.
    desk.platform.cluster(&desk.cluster, "elsewhere.another.profile").await?;
    delete(&desk.platform.access_requests(), "a").await?;
    gone(&desk.platform.access_requests(), "a").await
}

pub async fn a_request_that_nothing_names_ends_beside_a_cluster_that_nobody_offers(
    landscape: Landscape,
) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", token(&desk)).await?;
    desk.granted("a").await?;
    delete(&desk.platform.clusters(), &desk.cluster).await?;
    gone(&desk.platform.clusters(), &desk.cluster).await?;
    desk.because("a", "Pending", "FoundClusterAndProfile", "InvalidReference").await?;
    // It cannot be granted, so that its Secret goes; and its labels are lost.
    let wrong = json!({ "permissions": null, "roleRefs": [{ "kind": "Role", "name": "nowhere" }] });
    desk.change("a", json!({ "spec": { "token": wrong } })).await?;
    gone(&desk.secrets(), "a.kubeconfig").await?;
    desk.platform.cluster(&desk.cluster, "elsewhere.another.profile").await?;
    let labels = json!({ "clusters.openmcp.cloud/provider": null, "clusters.openmcp.cloud/profile": null });
    desk.change("a", json!({ "metadata": { "labels": labels } })).await?;
    delete(&desk.platform.access_requests(), "a").await?;
    gone(&desk.platform.access_requests(), "a").await
}

pub async fn g4_a_request_ends_when_its_shoot_is_gone(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", token(&desk)).await?;
    let request = desk.granted("a").await?;
    assert!(!request.finalizers().is_empty());
    desk.delete_shoot().await?;
    // A way that is known is forgotten after a minute.
    desk.platform.ahead.store(3600, Ordering::Relaxed);
    delete(&desk.platform.access_requests(), "a").await?;
    gone(&desk.platform.access_requests(), "a").await
}

pub async fn a_request_whose_time_is_over_leaves_nothing_behind(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    let mut access = token(&desk);
    access["ttl"] = json!("2h");
    desk.ask("a", access).await?;
    desk.granted("a").await?;
    let secret = desk.secret("a").await?.data.unwrap();
    let time = |key: &str| String::from_utf8(secret[key].0.clone()).unwrap().parse::<i64>().unwrap();
    let life = time("expirationTimestamp") - time("creationTimestamp");
    assert!((7100..=7200).contains(&life), "{life}");
    // Not ten minutes later: beside a cluster that does not answer then, a request ends without it.
    desk.platform.ahead.store(2 * 3600 + 60, Ordering::Relaxed);
    desk.generic.resync();
    gone(&desk.platform.access_requests(), "a").await?;
    assert_eq!(left(&desk, &desk.admin().await?, "a").await?, 0);
    Ok(())
}

pub async fn a_token_is_in_its_secret_and_nowhere_else(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", token(&desk)).await?;
    desk.granted("a").await?;
    let before = desk.kubeconfig("a").await?;
    let mark = json!({ "openmcp.cloud/operation": "reconcile" });
    desk.change("a", json!({ "metadata": { "annotations": mark } })).await?;
    that(&desk.platform.access_requests(), "a", "was looked at", |it| it.annotations().is_empty()).await?;
    assert_ne!(desk.kubeconfig("a").await?, before, "it was asked for");
    let own = format!("Secret {}/a.kubeconfig", desk.platform.plot.namespace);
    // Whoever reconciles from a cache that still has the mark renews it once more.
    let search = until("it is in its Secret", async || {
        let search = signature(&desk).await.map_err(|error| error.to_string())?;
        let objects = every_object(&desk.platform.client()).await.map_err(|error| error.to_string())?;
        let found = in_objects(&search, &objects).map_err(|error| error.to_string())?;
        assert!(found.iter().all(|it| it.starts_with(&own)), "{found:?}");
        if found.len() == 1 { Ok(search) } else { Err(format!("{found:?}")) }
    })
    .await?;
    for client in [desk.admin().await?, desk.platform.plot.landscape.garden.clone()] {
        assert_eq!(in_objects(&search, &every_object(&client).await?)?, [] as [&str; 0]);
    }
    Ok(())
}

/// A search for the signature of the token of now: the rest is much the same in all tokens of a server.
async fn signature(desk: &Desk) -> Result<Search, Fault> {
    let kubeconfig: Value = serde_json::from_str(&desk.kubeconfig("a").await?)?;
    let token = kubeconfig["users"][0]["user"]["token"].as_str().ok_or("there is no token")?;
    Ok(Search::of([token.rsplit('.').next().unwrap_or_default()]))
}

/// Also where the request is to be ignored.
pub async fn a_lock_takes_access_back_and_its_end_grants_it_again(landscape: Landscape) -> Outcome {
    let desk = Desk::new(&landscape).await?;
    desk.ask("a", token(&desk)).await?;
    desk.granted("a").await?;
    let (holder, admin) = (desk.holder("a").await?, desk.admin().await?);
    let spaces: Api<Namespace> = Api::all(holder);
    assert_eq!(code(spaces.list(&ListParams::default()).await), 200);
    let ignore =
        |value: Value| json!({ "metadata": { "annotations": { "openmcp.cloud/operation": value } } });
    desk.change("a", ignore(json!("ignore"))).await?;
    let namespace = &desk.platform.plot.namespace;
    let locks: Api<AccessLock> = Api::namespaced(desk.platform.client(), namespace);
    let lock = json!({ "apiVersion": "allotment.dev/v1alpha1", "kind": "AccessLock",
                       "metadata": { "name": "all" }, "spec": { "namespace": namespace } });
    locks.create(&PostParams::default(), &serde_json::from_value(lock)?).await?;
    gone(&desk.secrets(), "a.kubeconfig").await?;
    assert_eq!(left(&desk, &admin, "a").await?, 0);
    until("the token is refused", async || match code(spaces.list(&ListParams::default()).await) {
        401 | 403 => Ok(()),
        code => Err(code.to_string()),
    })
    .await?;
    that(&desk.platform.access_requests(), "a", "is locked", |request| {
        let conditions = request.status.as_ref().map(|status| status.common.conditions.as_slice());
        conditions.unwrap_or_default().iter().any(|it| it.reason == "Locked")
    })
    .await?;
    desk.change("a", ignore(Value::Null)).await?;
    delete(&locks, "all").await?;
    desk.granted("a").await?;
    let spaces: Api<Namespace> = Api::all(desk.holder("a").await?);
    assert_eq!(code(spaces.list(&ListParams::default()).await), 200);
    Ok(())
}
